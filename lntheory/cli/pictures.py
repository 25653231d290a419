"""The pictures of a net's action on data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lntheory.base.terminal import progress_bar
from lntheory.data import Dataset

if TYPE_CHECKING:
    from lntheory.network import LNNet

__all__ = ["save_net_pictures"]


def save_net_pictures(
    net: LNNet, dataset: Dataset, directory: Path, layers: list[int] | None = None
) -> list[Path]:
    """Write the pictures into a directory; none for a net without normalization, which has no circle."""
    if net.depth == 0:
        return []
    from lntheory import plotting
    from lntheory.circle import Trajectory

    with progress_bar("following the samples") as progress:
        path = Trajectory.of(net, dataset.X, dataset.y, progress=progress)
    with progress_bar("drawing") as progress:
        return plotting.save_pictures(path, directory, layers=layers, progress=progress)
