"""The style of all pictures: colours and markers of classes, sizes, titles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from lntheory.circle import Trajectory

__all__ = ["BLUE", "GREY", "ORANGE", "class_styles", "finish_curves", "label_text", "net_title", "new_figure"]

# Okabe and Ito's colours and Tol's "muted" ones are chosen so that colour-blind readers tell them apart;
# beyond eleven classes lightness (viridis) and the marker do. Markers repeat after twelve, out of step.
_FEW = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
_MORE = (
    "#332288", "#DDCC77", "#CC6677", "#44AA99", "#882255", "#88CCEE", "#999933", "#AA4499", "#117733",
    "#BBBBBB", "#000000",
)  # fmt: skip
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p", "h")

BLUE, ORANGE, GREY = _FEW[0], _FEW[1], "0.45"
"""The colours of curves that do not stand for a class."""


def class_styles(n_classes: int) -> list[tuple[Any, str]]:
    """Colour and marker of every class."""
    if n_classes <= len(_MORE):
        colours: Sequence[Any] = _FEW if n_classes <= len(_FEW) else _MORE
    else:
        colours = [colormaps["viridis"](k / (n_classes - 1)) for k in range(n_classes)]
    return [(colours[k], _MARKERS[k % len(_MARKERS)]) for k in range(n_classes)]


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches."""
    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08), dpi=150)


def finish_curves(axes: Axes) -> None:
    """A faint grid, and no frame but the axes."""
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def label_text(label: Any) -> str:
    """A class label as text that matplotlib takes literally, of 24 characters at most."""
    text = str(label).replace("$", r"\$")
    return text if len(text) <= 24 else f"{text[:21]}..."


def net_title(path: Trajectory) -> str:
    """A title with the numbers of samples, classes and layers, and the construction."""
    net = path.net
    method = (net.provenance or {}).get("method")
    how = f" by {method}" if isinstance(method, str) else ""
    layers = f"{net.depth} LN layer{'s' if net.depth != 1 else ''}"
    return f"{len(path.labels)} samples, {len(net.classes)} classes, width {net.width}, {layers}{how}"
