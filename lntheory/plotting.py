r"""Pictures of what a width-3 LN-Net does to its points.

LN on R^3 maps onto a circle of radius sqrt(3) in the plane orthogonal to (1, 1, 1). All pictures are
drawn in

    z = (h . e1, h . e2) / sqrt(3),   e1 = (1, -1, 0) / sqrt(2),   e2 = (1, 1, -2) / sqrt(6),

the plane coordinates of h: an isometry, scaled so that the circle has radius 1. There a layer sends z to
the direction of A(z - o); two points whose line passes through the *centre* o, outside the
segment between them, are merged::

             . - ~ a ~ - .
          .'        \      '.              a and b see o in one direction: the layer maps them to one point
        ,            \       ,
        .             \      .        A(z - o)
         '.            \    .'      ───────────►     every line through o becomes one point of the new circle
            ' - . _ . - b '
                         \
                          o

Figures are built without pyplot: nothing global is touched, no window is opened, any backend will do.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch
from matplotlib.path import Path as Path2D
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from lntheory.base.files import replaced_file
from lntheory.base.types import Progress
from lntheory.base.validation import as_samples
from lntheory.errors import InvalidInputError
from lntheory.network import Layer, LNNet
from lntheory.nonlinearity import amplification, amplification_bound, best_num_groups

__all__ = [
    "Centre",
    "Trajectory",
    "layer_centre",
    "plane_coordinates",
    "plot_amplification",
    "plot_layers",
    "plot_runs",
    "save_animation",
    "save_figure",
    "save_pictures",
]


_E1 = np.array([1.0, -1.0, 0.0]) / math.sqrt(2)
_E2 = np.array([1.0, 1.0, -2.0]) / math.sqrt(6)
_VIEW = 1.75  # half-width of a panel that shows the circle
_RING = (1.09, 1.21)  # radii of the ring that shows runs, or what the read-out says
_STRIP = (-2.05, -1.85)  # bottom and top of the strip below the circle
_REACH = 0.03  # radians that a run's sector of the ring extends beyond its points at most


# ------------------------------------------------------------------------------------- plane and centre


def plane_coordinates(points: ArrayLike) -> NDArray[np.float64]:
    """Plane coordinates of points of R^3, shape (n, 3) -> (n, 2); LN's circle becomes the unit circle.

    Examples
    --------
    >>> h = np.array([[1.0, 0.0, -1.0]]) * np.sqrt(3 / 2)  # LN([1, 0, -1])
    >>> plane_coordinates(h).round(3).tolist()
    [[0.5, 0.866]]
    """
    result: NDArray[np.float64] = (
        np.asarray(points, dtype=np.float64) @ np.stack([_E1, _E2], 1) / math.sqrt(3)
    )
    return result


@dataclass(frozen=True)
class Centre:
    """The point that a planar layer looks from, possibly at infinity (a parallel projection).

    Attributes
    ----------
    direction : tuple of two floats
        Unit vector from the circle's middle towards the centre; (0, 0) if the centre is the middle itself.
    distance : float
        From the circle's middle, in radii; infinite for a parallel projection.
    """

    direction: tuple[float, float]
    distance: float

    @property
    def point(self) -> NDArray[np.float64]:
        """Plane coordinates; not finite if `distance` is not."""
        return np.array(self.direction) * self.distance


def layer_centre(layer: Layer) -> Centre | None:
    """The centre o of a 3 -> 3 layer that follows an LN: where its affine map meets the axis of (1, 1, 1).

    Computed in rational arithmetic, rounded at the end.

    Returns
    -------
    Centre or None
        None if the layer maps the whole plane to one point, so that no centre exists.

    Raises
    ------
    InvalidInputError
        If the layer is not 3 -> 3.

    Examples
    --------
    >>> layer_centre(Layer(np.eye(3), [-1, 1, 0]))  # z -> direction of z - o
    Centre(direction=(1.0, 0.0), distance=0.816496580927726)
    """
    if layer.weight.shape != (3, 3):
        raise InvalidInputError(
            f"a centre belongs to a 3 -> 3 layer, this one is {layer.n_in} -> {layer.n_out}"
        )
    W = [[Fraction(value) for value in row] for row in layer.weight.tolist()]
    b = [Fraction(value) for value in layer.bias.tolist()]
    # Coordinates along (1,-1,0) and (1,1,-2), which keep everything rational: u = (E h) / |E|^2.
    E = ((1, -1, 0), (1, 1, -2))
    lengths = (2, 6)
    image = [[_dot(axis, row) for row in W] for axis in E]
    A = [[_dot(E[i], image[j]) / lengths[i] for j in range(2)] for i in range(2)]
    c = [_dot(E[i], b) / lengths[i] for i in range(2)]
    det = A[0][0] * A[1][1] - A[0][1] * A[1][0]
    if det != 0:
        u = ((A[0][1] * c[1] - A[1][1] * c[0]) / det, (A[1][0] * c[0] - A[0][0] * c[1]) / det)
        return _centre_at(u)
    row = A[0] if any(A[0]) else A[1]
    if not any(row):
        return None
    largest = max(abs(row[0]), abs(row[1]))
    null = np.array([float(-row[1] / largest) * math.sqrt(2), float(row[0] / largest) * math.sqrt(6)])
    null /= np.hypot(*null)
    return Centre((float(null[0]), float(null[1])), math.inf)


def _dot(a: Sequence[int], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), start=Fraction(0))


def _centre_at(u: tuple[Fraction, Fraction]) -> Centre:
    largest = max(abs(u[0]), abs(u[1]))
    if largest == 0:
        return Centre((0.0, 0.0), 0.0)
    x, y = float(u[0] / largest) * math.sqrt(2 / 3), float(u[1] / largest) * math.sqrt(2)
    length = math.hypot(x, y)
    try:
        distance = length * float(largest)
    except OverflowError:
        distance = math.inf
    return Centre((x / length, y / length), distance)


# -------------------------------------------------------------------------------------------- trajectory


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Labelled points on their way through a width-3 LN-Net.

    Attributes
    ----------
    net : LNNet
    classes : tuple
        The net's classes.
    labels : ndarray of int, shape (n_samples,)
        Index of every sample's own label in `classes`.
    stages : tuple of ndarray, shape (n_samples, 2) each
        ``stages[0]``: the samples under the first affine map, scaled into view, where the first layer's
        centre is the origin. ``stages[k]``: plane coordinates after layer k, for k = 1 .. depth.

    Examples
    --------
    >>> from lntheory import shatter
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> path = Trajectory.of(shatter(X, y), X, y)
    >>> path.depth, path.classes, [stage.shape for stage in path.stages]
    (1, (0, 1), [(4, 2), (4, 2)])
    """

    net: LNNet
    labels: NDArray[np.intp]
    stages: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(cls, net: LNNet, X: ArrayLike, y: ArrayLike, *, progress: Progress | None = None) -> Trajectory:
        """Send the samples X with labels y through the net, with `progress` as in `LNNet.trace`.

        Raises
        ------
        InvalidInputError
            If the net is not all LN of width 3 with at least one layer, or a label is not among its classes.
        """
        _require_width_3(net)
        labels = _label_indices(net, y)
        points = net.trace(X, progress=progress)
        if len(labels) != len(points[0]):
            raise InvalidInputError(
                f"{len(points[0])} samples but {len(labels)} labels; give each sample one"
            )
        return cls(net, labels, (_samples_in_view(net, X), *map(plane_coordinates, points)))

    @property
    def classes(self) -> tuple[Any, ...]:
        """The net's classes."""
        return self.net.classes

    @property
    def depth(self) -> int:
        """Number of layers."""
        return self.net.depth

    def centre(self, stage: int) -> Centre | None:
        """Centre of the layer that acts on this stage, in the stage's coordinates."""
        return Centre((0.0, 0.0), 0.0) if stage == 0 else layer_centre(self.net.layers[stage])

    def chords(self, stage: int) -> list[tuple[int, int]]:
        """Pairs of samples that the layer acting on this stage merges, if the net's provenance tells."""
        merges = (self.net.provenance or {}).get("merges", ())
        entry = merges[stage] if isinstance(merges, Sequence) and stage < len(merges) else None
        if not entry:
            return []
        pairs = [entry] if isinstance(entry[0], int) else entry
        return [(int(i), int(j)) for i, j in pairs if max(i, j) < len(self.labels)]

    @cached_property
    def runs(self) -> NDArray[np.intp]:
        """Number of maximal cyclic runs of equal label after layer 1, 2, ..., depth."""
        return np.array([len(_runs(stage, self.labels)[0]) for stage in self.stages[1:]])

    @cached_property
    def gaps(self) -> NDArray[np.float64]:
        """Smallest angle (radians) between neighbours of unequal label after layer 1, 2, ..., depth."""
        return np.array([_smallest_gap(stage, self.labels) for stage in self.stages[1:]])


def _require_width_3(net: LNNet) -> None:
    if net.depth == 0:
        raise InvalidInputError(
            "the net has no LN layer (the samples are linearly separable): no circle to draw"
        )
    widths = sorted({layer.n_out for layer in net.layers})
    if widths != [3] or net.normalization.kind != "layer_norm":
        raise InvalidInputError(
            f"pictures are of LN-Nets of width 3; this one has {net.normalization.kind} and widths {widths}"
        )


def _label_indices(net: LNNet, y: ArrayLike) -> NDArray[np.intp]:
    index = {label: k for k, label in enumerate(net.classes)}
    labels: list[Any] = np.asarray(y, dtype=None if isinstance(y, np.ndarray) else object).tolist()
    for i, label in enumerate(labels):
        if label not in index:
            raise InvalidInputError(
                f"sample {i} has the label {label!r}, which is none of the net's {len(index)} classes"
            )
    return np.array([index[label] for label in labels], dtype=np.intp)


def _samples_in_view(net: LNNet, X: ArrayLike) -> NDArray[np.float64]:
    """The samples under the first affine map, in the plane, scaled so that all fit the panel."""
    first = net.layers[0]
    samples = np.asarray(X, dtype=np.float64)
    image = plane_coordinates(samples @ first.weight.astype(np.float64).T + first.bias.astype(np.float64))
    result: NDArray[np.float64] = image / (np.abs(image).max() / (0.85 * _VIEW))
    return result


def _angles(points: NDArray[np.float64]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = np.arctan2(points[:, 1], points[:, 0])
    return result


def _sorted(points: NDArray[np.float64], labels: NDArray[np.intp]) -> tuple[NDArray[Any], ...]:
    """Angles and labels around the circle, and after which positions the label changes (cyclically)."""
    angles = _angles(points)
    order = np.lexsort((labels, angles))
    angles, labels = angles[order], labels[order]
    return angles, labels, np.flatnonzero(labels != np.roll(labels, -1))


def _runs(
    points: NDArray[np.float64], labels: NDArray[np.intp], reach: float = math.inf
) -> tuple[NDArray[Any], ...]:
    """Start angle, end angle and label of every run; neighbouring runs meet halfway between their points.

    With a finite `reach` no run extends further than that beyond its points, and one whose points lie more
    than twice as far apart comes in pieces.
    """
    angles, labels, last = _sorted(points, labels)
    following = np.append(angles[1:], angles[0] + 2 * math.pi)
    last = np.union1d(last, np.flatnonzero(following - angles > 2 * reach))
    if len(last) == 0:
        return np.array([-math.pi]), np.array([math.pi]), labels[:1]
    middle = (angles + following)[last] / 2
    ends = np.minimum(middle, angles[last] + reach)
    starts = np.roll(np.maximum(middle, following[last] - reach), 1)
    starts[0] -= 2 * math.pi
    return starts, ends, labels[last]


def _order(points: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """The samples in their order around the circle, starting after the widest gap."""
    angles = _angles(points)
    order = np.lexsort((labels, angles))
    gaps = np.diff(angles[order], append=angles[order[0]] + 2 * math.pi)
    result: NDArray[np.intp] = np.roll(order, -int(np.argmax(gaps)) - 1)
    return result


def _smallest_gap(points: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    angles, _, last = _sorted(points, labels)
    following = np.append(angles[1:], angles[0] + 2 * math.pi)
    return float((following - angles)[last].min()) if len(last) else math.nan


# ------------------------------------------------------------------------------------ colours and markers

# Okabe and Ito's colours and Tol's "muted" ones are chosen so that colour-blind readers tell them apart;
# beyond eleven classes lightness (viridis) and the marker do. Markers repeat after twelve, out of step.
_FEW = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
_MORE = (
    "#332288",
    "#DDCC77",
    "#CC6677",
    "#44AA99",
    "#882255",
    "#88CCEE",
    "#999933",
    "#AA4499",
    "#117733",
    "#BBBBBB",
    "#000000",
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p", "h")


def _styles(n_classes: int) -> list[tuple[Any, str]]:
    """Colour and marker of every class."""
    if n_classes <= len(_MORE):
        colours: Sequence[Any] = _FEW if n_classes <= len(_FEW) else _MORE
    else:
        from matplotlib import colormaps

        colours = [colormaps["viridis"](k / (n_classes - 1)) for k in range(n_classes)]
    return [(colours[k], _MARKERS[k % len(_MARKERS)]) for k in range(n_classes)]


# --------------------------------------------------------------------------------------------- the circle


def _prepare(axes: Axes) -> None:
    """What all panels have in common."""
    axes.set(xlim=(-_VIEW, _VIEW), ylim=(_STRIP[0] - 0.1, _VIEW), aspect="equal")
    axes.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    axes.set_xlabel("plane coordinate $z_1$")
    axes.set_ylabel("plane coordinate $z_2$")


def _draw_stage(axes: Axes, path: Trajectory, stage: int, points: NDArray[np.float64] | None = None) -> None:
    """One panel; `points` overrides where the points are (for frames between two layers)."""
    moving = points is not None
    points = path.stages[stage] if points is None else points
    on_circle = stage > 0
    if on_circle:
        axes.add_patch(Circle((0, 0), 1, fill=False, color="0.75", lw=0.8, zorder=1))
        if stage < path.depth or moving:
            _draw_ring(axes, path, *_runs(path.stages[stage], path.labels, _REACH))
        else:
            _draw_ring(axes, path, *_readout_arcs(path.net))
        _draw_strip(axes, path, stage)
    if not moving and stage < path.depth:
        _draw_centre(axes, path, stage)
    _draw_points(axes, path, points)
    axes.set_title(_stage_title(path, stage), fontsize=10)


def _stage_title(path: Trajectory, stage: int) -> str:
    if stage == 0:
        return f"samples, seen by layer 1 of {path.depth}"
    runs = path.runs[stage - 1]
    title = f"after layer {stage} of {path.depth}: {runs} run{'s' if runs != 1 else ''}"
    return title + (", read out" if stage == path.depth else "")


def _draw_points(axes: Axes, path: Trajectory, points: NDArray[np.float64]) -> None:
    size = float(np.clip(2500 / len(points), 7, 42))
    for k, (colour, marker) in enumerate(_styles(len(path.classes))):
        own = points[path.labels == k]
        axes.scatter(
            own[:, 0],
            own[:, 1],
            s=size,
            color=[colour],
            marker=marker,
            edgecolors="white",
            linewidths=0 if size < 15 else 0.6,
            zorder=4 + k / 1000,
        )


def _draw_ring(
    axes: Axes, path: Trajectory, starts: Iterable[float], ends: Iterable[float], labels: Iterable[int]
) -> None:
    """Annular sectors coloured by class."""
    inner, outer = _RING
    sectors = []
    for start, end in zip(starts, ends, strict=True):
        arc = np.linspace(start, end, max(2, int(abs(end - start) / 0.03)))
        rim = np.column_stack([np.cos(arc), np.sin(arc)])
        sectors.append(np.concatenate([inner * rim, outer * rim[::-1]]))
    _draw_polygons(axes, path, sectors, np.fromiter(labels, dtype=np.intp), alpha=0.85, gid="ring")


def _draw_polygons(
    axes: Axes, path: Trajectory, polygons: Sequence[Any], labels: NDArray[np.intp], **style: Any
) -> None:
    """One compound path a class: a path a polygon would take most of an animation's time."""
    colours = _styles(len(path.classes))
    compounds, present = [], np.unique(labels)
    for label in present.tolist():
        own = [polygons[k] for k in np.flatnonzero(labels == label).tolist()]
        codes = [_closed(len(polygon)) for polygon in own]
        vertices = [np.concatenate([polygon, polygon[:1]]) for polygon in own]
        compounds.append(Path2D(np.concatenate(vertices), np.concatenate(codes)))
    axes.add_collection(
        PathCollection(
            compounds, facecolors=[colours[k][0] for k in present], edgecolors="none", zorder=2, **style
        )
    )


@cache
def _closed(n_vertices: int) -> NDArray[np.uint8]:
    """Path codes of a polygon whose first vertex is repeated at its end."""
    codes = np.full(n_vertices + 1, Path2D.LINETO, dtype=np.uint8)
    codes[0], codes[-1] = Path2D.MOVETO, Path2D.CLOSEPOLY
    return codes


def _draw_strip(axes: Axes, path: Trajectory, stage: int) -> None:
    """One bar of equal width for every sample, in order around the circle; ticks at those merged next.

    Hundreds of runs may share an arc too short for the ring to show them; here each of them counts.
    """
    order = _order(path.stages[stage], path.labels)
    labels = path.labels[order]
    left, width = -0.95 * _VIEW, 1.9 * _VIEW / len(order)
    edges = np.flatnonzero(np.diff(labels, prepend=-1, append=-1))
    bottom, top = _STRIP
    left_right = left + width * np.column_stack([edges[:-1], edges[1:]])
    bars = np.stack(
        [left_right[:, [0, 1, 1, 0]], np.tile([bottom, bottom, top, top], (len(edges) - 1, 1))], 2
    )
    _draw_polygons(axes, path, list(bars), labels[edges[:-1]], gid="strip")
    merged = np.isin(order, np.array(path.chords(stage), dtype=np.intp).ravel()).nonzero()[0]
    ticks = left + (merged + 0.5) * width
    axes.plot(
        ticks,
        np.full(len(ticks), top + 0.07),
        marker="v",
        ms=4,
        ls="none",
        color="black",
        zorder=3,
        gid="merged",
    )


def _readout_arcs(net: LNNet, n_angles: int = 3600) -> tuple[NDArray[Any], ...]:
    """Where on the circle the read-out says which class (sampled every tenth of a degree)."""
    angles = np.linspace(-math.pi, math.pi, n_angles, endpoint=False)
    circle = math.sqrt(3) * (np.cos(angles)[:, None] * _E1 + np.sin(angles)[:, None] * _E2)
    scores = circle @ net.readout.weight.astype(np.float64).T + net.readout.bias.astype(np.float64)
    winners = net.winners(scores[:, 0] if scores.shape[1] == 1 else scores)
    return _runs(np.column_stack([np.cos(angles), np.sin(angles)]), np.asarray(winners, dtype=np.intp))


def _draw_centre(axes: Axes, path: Trajectory, stage: int) -> None:
    """The chords that the next layer merges, and the centre o on their line (or an arrow to it)."""
    centre = path.centre(stage)
    points = path.stages[stage]
    pairs = np.array(path.chords(stage), dtype=np.intp).reshape(-1, 2)
    if centre is None:
        return
    visible = math.isfinite(centre.distance) and bool(np.all(np.abs(centre.point) < 0.97 * _VIEW))
    reach = [_towards(points[j], centre) for j in pairs.ravel()]
    axes.add_collection(
        LineCollection(
            list(np.stack([points[pairs.ravel()], reach], 1)) if len(pairs) else [],
            colors="0.25",
            linewidths=0.8,
            linestyles="dashed",
            zorder=2.5,
            gid="sight line",
        )
    )
    axes.add_collection(
        LineCollection(list(points[pairs]), colors="black", linewidths=1.8, zorder=3, gid="chord")
    )
    ends = points[pairs.ravel()]
    axes.scatter(
        ends[:, 0], ends[:, 1], s=85, facecolors="none", edgecolors="black", linewidths=1.2, zorder=6
    )
    if visible:
        axes.plot(*centre.point, marker="+", color="black", ms=11, mew=2.2, ls="none", zorder=7, gid="centre")
        return
    x, y = centre.direction
    far = "$o$ at infinity" if math.isinf(centre.distance) else f"$|o| = {centre.distance:.3g}$"
    axes.annotate(
        "",
        (1.68 * x, 1.68 * y),
        (1.38 * x, 1.38 * y),
        arrowprops={"arrowstyle": "-|>", "lw": 1.8, "color": "black"},
        zorder=7,
    )
    axes.text(0.98, 0.98, far, transform=axes.transAxes, ha="right", va="top", fontsize=8)


def _towards(point: NDArray[np.float64], centre: Centre) -> NDArray[np.float64]:
    """The end of a line from `point` to the centre, cut at a length that leaves the panel."""
    step = np.array(centre.direction) if math.isinf(centre.distance) else centre.point - point
    length = float(np.hypot(*step))
    return (
        point + step * min(1.0, 4 * _VIEW / length)
        if length > 4 * _VIEW or math.isinf(centre.distance)
        else point + step
    )


def _legend(path: Trajectory) -> list[Any]:
    handles: list[Any] = [
        Line2D([], [], color=colour, marker=marker, ls="none", ms=7, label=f"class {_label_text(label)}")
        for label, (colour, marker) in zip(path.classes, _styles(len(path.classes)), strict=True)
    ]
    handles.append(
        Patch(
            facecolor="0.6", label="strip: the samples in their order\naround the circle (ticks: merged next)"
        )
    )
    handles.append(
        Patch(facecolor="0.6", label="ring: runs of equal label;\nat the end, the read-out's class")
    )
    handles.append(
        Line2D(
            [],
            [],
            color="black",
            marker="+",
            ms=10,
            mew=2.2,
            ls="none",
            label="centre $o$ of the next layer\n(arrow: outside the view)",
        )
    )
    if any(path.chords(stage) for stage in range(path.depth)):
        handles.append(
            Line2D([], [], color="black", lw=1.8, marker="o", mfc="none", ms=8, label="chord that it merges")
        )
        handles.append(
            Line2D([], [], color="0.25", lw=0.8, ls="dashed", label="line of the chord through $o$")
        )
    return handles


def _label_text(label: Any) -> str:
    text = str(label).replace("$", r"\$")
    return text if len(text) <= 24 else f"{text[:21]}..."


def _figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08), dpi=150)


def plot_layers(path: Trajectory, layers: Sequence[int] | None = None, n_panels: int = 6) -> Figure:
    """The points on their circle after chosen layers, with the next layer's centre and the chord it merges.

    Parameters
    ----------
    path : Trajectory
    layers : sequence of int, optional
        Show the points after these many layers, 0 (the samples under the first affine map) to depth.
        By default `n_panels` of them, evenly spread, first and last included.
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
    figure = _figure(3.5 * n_columns + 2.3, 3.9 * n_rows + 0.3)
    grid = figure.subplots(n_rows, n_columns, squeeze=False)
    for axes, stage in zip(grid.flat, layers, strict=False):
        _prepare(axes)
        _draw_stage(axes, path, stage)
    for axes in grid.flat[len(layers) :]:
        axes.remove()
    figure.legend(handles=_legend(path), loc="outside right center", fontsize=8, frameon=False)
    figure.suptitle(_net_title(path.net, len(path.labels)), fontsize=11, x=0.01, ha="left")
    return figure


def _net_title(net: LNNet, n_samples: int) -> str:
    method = (net.provenance or {}).get("method")
    how = f" by {method}" if isinstance(method, str) else ""
    layers = f"{net.depth} LN layer{'s' if net.depth != 1 else ''}"
    return f"{n_samples} samples, {len(net.classes)} classes, width {net.width}, {layers}{how}"


# --------------------------------------------------------------------------------------- runs and gaps


def plot_runs(path: Trajectory) -> Figure:
    """Number of runs, and smallest gap between neighbours of unequal label, against the layer.

    A gap that is zero in float64 (a dyadic net's points may lie closer than float64 can tell) is drawn at the
    bottom with a marker of its own.

    Parameters
    ----------
    path : Trajectory

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from lntheory import shatter
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> figure = plot_runs(Trajectory.of(shatter(X, y), X, y))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['number of runs', 'smallest gap (radians)']
    """
    figure = _figure(7.5, 6.0)
    above, below = figure.subplots(2, 1, sharex=True)
    layer = np.arange(1, path.depth + 1)
    blue, orange, grey = _FEW[0], _FEW[1], "0.45"
    style: dict[str, Any] = {"marker": "o", "ms": 4} if path.depth <= 40 else {}
    above.step(
        layer, path.runs, where="mid", color=blue, label="runs of equal label around the circle", **style
    )
    present = len(np.unique(path.labels))
    above.axhline(
        present, color=grey, ls="dashed", lw=1, label=f"one run for each of {present} classes present"
    )
    above.set_ylabel("number of runs")
    above.set_ylim(bottom=0)
    above.yaxis.set_major_locator(MaxNLocator(integer=True))
    above.legend(frameon=False, fontsize=9)
    _plot_gaps(below, path, layer, orange, style)
    below.set_xlabel("layers applied")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    below.set_xlim(0.5, path.depth + 0.5)
    for axes in (above, below):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(_net_title(path.net, len(path.labels)), fontsize=11)
    return figure


def _plot_gaps(axes: Axes, path: Trajectory, layer: NDArray[Any], colour: str, style: dict[str, Any]) -> None:
    gaps = path.gaps
    axes.set_ylabel("smallest gap (radians)")
    if np.isnan(gaps).all():
        axes.text(0.5, 0.5, "one class only: no gap to show", transform=axes.transAxes, ha="center")
        return
    axes.set_yscale("log")
    resolution = float(np.finfo(np.float64).eps)
    positive = np.where(gaps > 0, gaps, np.nan)
    axes.plot(
        layer, positive, color=colour, label="smallest gap between neighbours of unequal label", **style
    )
    if np.nanmin(gaps) < 1e-9:
        axes.axhline(resolution, color="0.45", ls="dotted", lw=1, label="resolution of float64 at 1")
    if (gaps == 0).any():
        axes.plot(
            layer[gaps == 0],
            np.full(int((gaps == 0).sum()), resolution / 4),
            "x",
            color="black",
            ms=4,
            label="no gap that float64 can show",
        )
    axes.legend(frameon=False, fontsize=9)


# --------------------------------------------------------------------------------------------- animation


def _frames(path: Trajectory, max_frames: int) -> Iterator[tuple[int, float]]:
    """(stage, how far on the way to the next) of every frame; deep nets skip stages, shallow ones glide."""
    stages = np.unique(np.linspace(0, path.depth, min(path.depth + 1, max_frames)).round().astype(int))
    between = min(10, max_frames // len(stages) - 1)
    for stage in stages.tolist():
        yield stage, 0.0
        if stage < path.depth and between > 1:
            for t in np.linspace(0, 1, between + 1)[1:-1]:
                yield stage, float(t * t * (3 - 2 * t))


def save_animation(
    path: Trajectory,
    file: str | os.PathLike[str],
    *,
    max_frames: int = 60,
    size: int = 520,
    progress: Progress | None = None,
) -> None:
    """Write the whole construction as an animated GIF.

    Parameters
    ----------
    path : Trajectory
    file : str or path
        ``*.gif``; appears whole or not at all.
    max_frames : int
        A net of more layers is sampled evenly, first and last stage included; between the layers of a shallow
        one the points glide in straight lines (a help to the eye, the net itself jumps).
    size : int
        Pixels a side.
    progress : callable, optional
        Called with (frames done, frames in all).

    Raises
    ------
    InvalidInputError
        If the file is named otherwise.
    """
    if Path(file).suffix.lower() != ".gif":
        raise InvalidInputError(f"{file}: the animation is saved to a file named *.gif")
    frames = list(_frames(path, max_frames))
    figure = Figure(figsize=(size / 100, size / 100), dpi=100)
    axes = figure.add_axes((0.13, 0.1, 0.84, 0.84))  # laying out anew would shake the picture, and take time
    _prepare(axes)
    legend = _drawn(_legend_figure(path, size))  # drawn once: it never changes
    palette = _palette(len(path.classes))
    images, durations = [], []
    gliding = any(t > 0 for _, t in frames)
    for done, (stage, t) in enumerate(frames):
        for artist in [*axes.patches, *axes.collections, *axes.lines, *axes.texts]:
            artist.remove()  # axes.clear() would set up the axes anew as well
        between = None if t == 0 else (1 - t) * path.stages[stage] + t * path.stages[stage + 1]
        _draw_stage(axes, path, stage, between)
        picture = Image.new("RGB", (size + legend.width, size))
        picture.paste(_drawn(figure))
        picture.paste(legend, (size, 0))
        images.append(picture.quantize(palette=palette, dither=Image.Dither.NONE))
        durations.append(_milliseconds(stage, t, path.depth, gliding))
        if progress is not None:
            progress(done + 1, len(frames))
    with replaced_file(file) as beside:
        images[0].save(
            beside, save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=True
        )


def _legend_figure(path: Trajectory, size: int) -> Figure:
    figure = Figure(figsize=(round(0.48 * size) / 100, size / 100), dpi=100)
    figure.legend(handles=_legend(path), loc="upper left", fontsize=7.5, frameon=False)
    return figure


def _palette(n_classes: int) -> Image.Image:
    """Greys, and every class's colour in a few tints.

    A palette chosen by frequency would fade the colours of rare classes.
    """
    tints = max(1, min(6, 240 // n_classes))
    colours = [np.full(3, grey) for grey in np.linspace(0, 1, 16)]
    for colour, _ in _styles(min(n_classes, 240)):
        colours += [w + (1 - w) * np.array(to_rgb(colour)) for w in np.arange(tints) * 0.15]
    palette = Image.new("P", (1, 1))
    palette.putpalette((255 * np.array(colours)).round().astype(np.uint8).tobytes())
    return palette


def _drawn(figure: Figure) -> Image.Image:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="rgba")
    size = (round(figure.get_figwidth() * figure.dpi), round(figure.get_figheight() * figure.dpi))
    return Image.frombytes("RGBA", size, buffer.getvalue()).convert("RGB")


def _milliseconds(stage: int, t: float, depth: int, gliding: bool) -> int:
    if t > 0:
        return 50
    if stage in (0, depth):
        return 2000
    return 900 if gliding else 100


# --------------------------------------------------------------------------------- amplification by groups


def plot_amplification(X: ArrayLike) -> Figure:
    """H(LN-G(g); x) / H(LN; x) of every sample, and the least it can be, against the number of groups g.

    Groups of three features or more are shown; with groups of two, ratio and bound are 0. The title says how
    close the samples come to the bound, which no sample goes below (but for rounding).

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features), n_features >= 3
        Points of the layer that is normalized.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidInputError
        For fewer than three features; naming the sample (and group) if a variance is zero.

    Examples
    --------
    >>> figure = plot_amplification(np.random.default_rng(0).normal(size=(50, 48)))
    >>> figure.axes[0].get_xlabel()
    'number of groups g'
    """
    samples = as_samples(X)
    n_samples, d = samples.shape
    best = best_num_groups(d)
    groups = [g for g in range(1, d // 3 + 1) if d % g == 0]
    bounds = np.array([float(amplification_bound(d, g)) for g in groups])
    ratios = np.stack([np.asarray(amplification(samples, g)) for g in groups])
    figure = _figure(7.5, 4.8)
    axes = figure.subplots()
    blue, orange, grey = _FEW[0], _FEW[1], "0.45"
    # Samples side by side within a column, in their order, so that nothing is random.
    spread = 2 ** np.linspace(-0.12, 0.12, n_samples) if n_samples > 1 else np.ones(1)
    axes.scatter(
        np.outer(groups, spread).ravel(), ratios.ravel(), s=9, color=blue, alpha=0.35, lw=0, gid="samples",
        label="samples",
    )  # fmt: skip
    axes.plot(groups, np.median(ratios, axis=1), "_", color=blue, ms=22, mew=2, label="median", gid="median")
    real = np.geomspace(1, d / 3, 200)
    axes.plot(real, real * (d - 2 * real) / (d - 2), color=orange, lw=1.2, label="bound $g(d - 2g)/(d - 2)$")
    axes.plot(groups, bounds, "o", color=orange, ms=5, gid="bound")
    axes.axhline(d / 8, color=grey, ls="dashed", lw=1, label=f"$d/8 = {d / 8:g}$")
    axes.axvline(best, color=grey, ls="dotted", lw=1, label=f"largest bound: $g = {best}$")
    axes.set(xscale="log", yscale="log", xlabel="number of groups g")
    axes.set_ylabel("H(LN-G(g); x) / H(LN; x)")
    axes.set_xticks(groups, _labels_apart(groups))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    closest = float((ratios / bounds[:, np.newaxis])[1:].min()) if len(groups) > 1 else 1.0
    told = f"{n_samples} samples of {d} features: measured over bound at least {closest:.4g} for g > 1"
    figure.suptitle(told, fontsize=11)
    return figure


def _labels_apart(groups: Sequence[int]) -> list[str]:
    """Tick labels, empty where they would overlap on a logarithmic axis."""
    labels, last = [], 0.0
    for g in groups:
        apart = g >= last * groups[-1] ** 0.055
        labels.append(str(g) if apart else "")
        last = g if apart else last
    return labels


# --------------------------------------------------------------------------------------------------- files


def save_figure(figure: Figure, file: str | os.PathLike[str]) -> None:
    """Write a figure to a ``.png``, ``.svg`` or ``.pdf`` file that appears whole or not at all.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    file : str or path
        Its suffix says which format.
    """
    with replaced_file(file) as beside:
        figure.savefig(beside)


def save_pictures(
    path: Trajectory,
    directory: str | os.PathLike[str],
    *,
    layers: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write ``layers.png``, ``runs.png`` and ``animation.gif`` into a directory that exists.

    Parameters
    ----------
    path : Trajectory
    directory : str or path
    layers : sequence of int, optional
        As in `plot_layers`.
    progress : callable, optional
        Called with (frames done, frames in all) of the animation, which takes the longest.

    Returns
    -------
    list of Path
        What was written.
    """
    files = [Path(directory, name) for name in ("layers.png", "runs.png", "animation.gif")]
    save_figure(plot_layers(path, layers), files[0])
    save_figure(plot_runs(path), files[1])
    save_animation(path, files[2], progress=progress)
    return files
