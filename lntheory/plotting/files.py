"""Pictures in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from lntheory.base.files import replaced_file
from lntheory.base.types import Progress
from lntheory.circle import Trajectory
from lntheory.plotting.animation import save_animation
from lntheory.plotting.circle import plot_layers
from lntheory.plotting.curves import plot_runs

__all__ = ["save_figure", "save_pictures"]


def save_figure(figure: Figure, file: str | os.PathLike[str]) -> None:
    """Write a figure to a ``.png``, ``.svg`` or ``.pdf`` file that appears whole or not at all.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    file : str or path
        The suffix determines the format.
    """
    with replaced_file(file) as beside:
        figure.savefig(beside)


def save_pictures(
    path: Trajectory,
    directory: str | os.PathLike[str],
    *,
    layers: Sequence[int] | None = None,
    max_frames: int = 60,
    size: int = 520,
    progress: Progress | None = None,
) -> list[Path]:
    """Write ``layers.png``, ``runs.png`` and ``animation.gif`` into a directory that exists.

    Parameters
    ----------
    path : Trajectory
    directory : str or path
    layers : sequence of int, optional
        As in `plot_layers`.
    max_frames, size : int
        As in `save_animation`.
    progress : callable, optional
        Called as ``progress(frames done, frames in all)`` for the animation, which takes the longest.

    Returns
    -------
    list of Path
        The files that were written.
    """
    files = [Path(directory, name) for name in ("layers.png", "runs.png", "animation.gif")]
    save_figure(plot_layers(path, layers), files[0])
    save_figure(plot_runs(path), files[1])
    save_animation(path, files[2], max_frames=max_frames, size=size, progress=progress)
    return files
