"""The points on their circle after chosen layers, with the next layer's centre and the chords it merges.

::

      ┌──────────────────────────┐
      │     .-''''''-.    ring   │    ring: runs of equal label; after the last layer, the read-out's class
      │   .'  a──────b'──── o    │    a──b: a chord that the next layer merges, on a line with its centre o
      │  (            )          │
      │   '.        .'           │
      │     '-....-'             │
      │ ▓▓▓▓▓▓░░░▓▓▓▓░░░░░░▓▓▓▓▓ │    strip: every sample, one bar each, in its order around the circle
      └──────────────────────────┘
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch
from matplotlib.path import Path
from numpy.typing import NDArray

from lntheory.base.types import FloatArray
from lntheory.circle import Arcs, Centre, Trajectory, circle_points, readout_arcs
from lntheory.errors import InvalidInputError
from lntheory.plotting.style import class_styles, label_text, net_title, new_figure

__all__ = ["REACH", "STRIP_LENGTH", "draw_stage", "legend_handles", "plot_layers", "prepare"]

_VIEW = 1.75  # half-width of a panel
_RING = (1.09, 1.21)  # radii of the ring
_STRIP = (-2.05, -1.85)  # bottom and top of the strip below the circle

STRIP_LENGTH = 1.9 * _VIEW
"""Length of the strip, in radii of the circle."""

REACH = 0.03
"""The most radians by which a run's sector of the ring extends beyond its points."""


def plot_layers(path: Trajectory, layers: Sequence[int] | None = None, n_panels: int = 6) -> Figure:
    """The points on their circle after chosen layers, with the next layer's centre and the chords it merges.

    Parameters
    ----------
    path : Trajectory
    layers : sequence of int, optional
        The numbers of layers after which the points are shown, from 0 (the samples under the first affine
        map) to the depth. By default `n_panels` numbers, evenly spread, with the first and the last.
    n_panels : int

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidInputError
        If a layer is out of range.

    Examples
    --------
    >>> from lntheory import shatter
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> figure = plot_layers(Trajectory.of(shatter(X, y), X, y))
    >>> [axes.get_title() for axes in figure.axes]
    ['samples, seen by layer 1 of 1', 'after layer 1 of 1: 2 runs, read out']
    """
    if layers is None:
        layers = np.unique(np.linspace(0, path.depth, max(2, n_panels)).round().astype(int)).tolist()
    wrong = [k for k in layers if not 0 <= k <= path.depth]
    if wrong or not layers:
        raise InvalidInputError(f"layer {wrong[0] if wrong else None}: choose layers from 0 to {path.depth}")
    n_columns = min(3, len(layers)) if len(layers) != 4 else 2
    n_rows = math.ceil(len(layers) / n_columns)
    figure = new_figure(3.5 * n_columns + 2.3, 3.9 * n_rows + 0.3)
    grid = figure.subplots(n_rows, n_columns, squeeze=False)
    for axes, stage in zip(grid.flat, layers, strict=False):
        prepare(axes)
        draw_stage(axes, path, stage)
    for axes in grid.flat[len(layers) :]:
        axes.remove()
    figure.legend(handles=legend_handles(path), loc="outside right center", fontsize=8, frameon=False)
    figure.suptitle(net_title(path), fontsize=11, x=0.01, ha="left")
    return figure


def prepare(axes: Axes) -> None:
    """Set up the axes of a panel: limits, aspect, ticks and labels."""
    axes.set(xlim=(-_VIEW, _VIEW), ylim=(_STRIP[0] - 0.1, _VIEW), aspect="equal")
    axes.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    axes.set_xlabel("plane coordinate $z_1$")
    axes.set_ylabel("plane coordinate $z_2$")


def draw_stage(axes: Axes, path: Trajectory, stage: int, points: FloatArray | None = None) -> None:
    """Draw one panel; `points` replaces the points of the stage (for frames between two layers)."""
    moving = points is not None
    if stage > 0:
        read_out = stage == path.depth and not moving
        axes.add_patch(Circle((0, 0), 1, fill=False, color="0.75", lw=0.8, zorder=1))
        _draw_ring(axes, path, readout_arcs(path.net) if read_out else path.arcs(stage, REACH))
        _draw_strip(axes, path, stage)
    if not moving and stage < path.depth:
        _draw_merging(axes, path, stage)
    _draw_points(axes, path, path.stages[stage] if points is None else points)
    axes.set_title(_stage_title(path, stage), fontsize=10)


def _stage_title(path: Trajectory, stage: int) -> str:
    if stage == 0:
        return f"samples, seen by layer 1 of {path.depth}"
    runs = path.runs[stage - 1]
    title = f"after layer {stage} of {path.depth}: {runs} run{'s' if runs != 1 else ''}"
    return title + (", read out" if stage == path.depth else "")


def _draw_points(axes: Axes, path: Trajectory, points: FloatArray) -> None:
    size = float(np.clip(2500 / len(points), 7, 42))
    for k, (colour, marker) in enumerate(class_styles(len(path.classes))):
        own = points[path.labels == k]
        axes.scatter(
            own[:, 0], own[:, 1], s=size, color=[colour], marker=marker, edgecolors="white",
            linewidths=0 if size < 15 else 0.6, zorder=4 + k / 1000,
        )  # fmt: skip


def _draw_ring(axes: Axes, path: Trajectory, arcs: Arcs) -> None:
    """Annular sectors coloured by class."""
    inner, outer = _RING
    sectors = []
    for start, end in zip(arcs.starts, arcs.ends, strict=True):
        rim = circle_points(np.linspace(start, end, max(2, int(abs(end - start) / 0.03))))
        sectors.append(np.concatenate([inner * rim, outer * rim[::-1]]))
    _draw_polygons(axes, path, sectors, arcs.labels, alpha=0.85, gid="ring")


def _draw_strip(axes: Axes, path: Trajectory, stage: int) -> None:
    """One bar of equal width for every sample, in order around the circle; ticks at those merged next.

    Hundreds of runs may share an arc too short for the ring to show them; here each of them counts.
    """
    order = path.order(stage)
    labels = path.labels[order]
    left, width = -STRIP_LENGTH / 2, STRIP_LENGTH / len(order)
    edges = np.flatnonzero(np.diff(labels, prepend=-1, append=-1))
    bottom, top = _STRIP
    left_right = left + width * np.column_stack([edges[:-1], edges[1:]])
    heights = np.tile([bottom, bottom, top, top], (len(edges) - 1, 1))
    bars = np.stack([left_right[:, [0, 1, 1, 0]], heights], 2)
    _draw_polygons(axes, path, list(bars), labels[edges[:-1]], gid="strip")
    merged = np.isin(order, np.array(path.chords(stage), dtype=np.intp).ravel()).nonzero()[0]
    ticks = left + (merged + 0.5) * width
    axes.plot(
        ticks, np.full(len(ticks), top + 0.07), marker="v", ms=4, ls="none", color="black", zorder=3,
        gid="merged",
    )  # fmt: skip


def _draw_polygons(
    axes: Axes, path: Trajectory, polygons: Sequence[FloatArray], labels: NDArray[np.intp], **style: Any
) -> None:
    """Draw one compound path for each class; a path for each polygon would slow animations down."""
    colours = class_styles(len(path.classes))
    compounds, present = [], np.unique(labels)
    for label in present.tolist():
        own = [polygons[k] for k in np.flatnonzero(labels == label).tolist()]
        codes = [_closed(len(polygon)) for polygon in own]
        vertices = [np.concatenate([polygon, polygon[:1]]) for polygon in own]
        compounds.append(Path(np.concatenate(vertices), np.concatenate(codes)))
    facecolors = [colours[k][0] for k in present]
    axes.add_collection(
        PathCollection(compounds, facecolors=facecolors, edgecolors="none", zorder=2, **style)
    )


@cache
def _closed(n_vertices: int) -> NDArray[np.uint8]:
    """Path codes of a polygon whose first vertex is repeated at its end."""
    codes = np.full(n_vertices + 1, Path.LINETO, dtype=np.uint8)
    codes[0], codes[-1] = Path.MOVETO, Path.CLOSEPOLY
    return codes


def _draw_merging(axes: Axes, path: Trajectory, stage: int) -> None:
    """The chords that the next layer merges, and the centre o on their line (or an arrow to it)."""
    centre = path.centre(stage)
    if centre is None:
        return
    _draw_chords(axes, path.stages[stage], path.chords(stage), centre)
    if math.isfinite(centre.distance) and np.all(np.abs(centre.point) < 0.97 * _VIEW):
        axes.plot(*centre.point, marker="+", color="black", ms=11, mew=2.2, ls="none", zorder=7, gid="centre")
    else:
        _draw_arrow(axes, centre)


def _draw_chords(axes: Axes, points: FloatArray, chords: list[tuple[int, int]], centre: Centre) -> None:
    pairs = np.array(chords, dtype=np.intp).reshape(-1, 2)
    ends = points[pairs.ravel()]
    lines = [(end, _towards(end, centre)) for end in ends]
    axes.add_collection(
        LineCollection(
            lines, colors="0.25", linewidths=0.8, linestyles="dashed", zorder=2.5, gid="sight line"
        )
    )
    axes.add_collection(
        LineCollection(list(points[pairs]), colors="black", linewidths=1.8, zorder=3, gid="chord")
    )
    axes.scatter(
        ends[:, 0], ends[:, 1], s=85, facecolors="none", edgecolors="black", linewidths=1.2, zorder=6
    )


def _towards(point: FloatArray, centre: Centre) -> FloatArray:
    """The end of a line from `point` to the centre, cut at a length that leaves the panel."""
    longest = 4 * _VIEW
    if math.isinf(centre.distance):
        return point + longest * np.array(centre.direction)
    step = centre.point - point
    length = float(np.hypot(*step))
    return point + (step if length <= longest else step * (longest / length))


def _draw_arrow(axes: Axes, centre: Centre) -> None:
    """Draw an arrow towards a centre outside the view, with its distance."""
    x, y = centre.direction
    arrow = {"arrowstyle": "-|>", "lw": 1.8, "color": "black"}
    axes.annotate("", (1.68 * x, 1.68 * y), (1.38 * x, 1.38 * y), arrowprops=arrow, zorder=7)
    distance = "$o$ at infinity" if math.isinf(centre.distance) else f"$|o| = {centre.distance:.3g}$"
    axes.text(0.98, 0.98, distance, transform=axes.transAxes, ha="right", va="top", fontsize=8)


def legend_handles(path: Trajectory) -> list[Any]:
    """The legend of the panels: the meaning of every colour, marker and line."""
    handles: list[Any] = [
        Line2D([], [], color=colour, marker=marker, ls="none", ms=7, label=f"class {label_text(label)}")
        for label, (colour, marker) in zip(path.classes, class_styles(len(path.classes)), strict=True)
    ]
    strip = "strip: the samples in their order\naround the circle (ticks: merged next)"
    ring = "ring: runs of equal label;\nat the end, the read-out's class"
    centre = "centre $o$ of the next layer\n(arrow: outside the view)"
    handles += [Patch(facecolor="0.6", label=strip), Patch(facecolor="0.6", label=ring)]
    handles.append(Line2D([], [], color="black", marker="+", ms=10, mew=2.2, ls="none", label=centre))
    if any(path.chords(stage) for stage in range(path.depth)):
        chord, line = "chord that it merges", "line of the chord through $o$"
        handles.append(Line2D([], [], color="black", lw=1.8, marker="o", mfc="none", ms=8, label=chord))
        handles.append(Line2D([], [], color="0.25", lw=0.8, ls="dashed", label=line))
    return handles
