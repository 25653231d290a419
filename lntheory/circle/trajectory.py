"""Labelled points on their way through a width-3 LN-Net."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lntheory.base.types import FloatArray, Progress
from lntheory.circle.plane import Centre, layer_centre, plane_coordinates, polar_angles
from lntheory.circle.runs import Arcs, Labels, arcs, cyclic_order, n_runs, smallest_gap
from lntheory.errors import InvalidInputError
from lntheory.network import LNNet

__all__ = ["Trajectory"]

_EXTENT = 1.4875
"""Largest coordinate of stage 0, whose scale is arbitrary; pictures show a little more than that."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Labelled points on their way through a width-3 LN-Net.

    ::

        X ──► affine map ──► stages[0] ──► LN ──► stages[1] ──► layer 2 ──► ... ──► stages[depth] ──► read-out
                             centre(0)            centre(1): the point from which layer 2 looks

    Attributes
    ----------
    net : LNNet
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
    labels: Labels
    stages: tuple[FloatArray, ...]

    @classmethod
    def of(cls, net: LNNet, X: ArrayLike, y: ArrayLike, *, progress: Progress | None = None) -> Trajectory:
        """Send the samples X with labels y through the net, with `progress` as in `LNNet.trace`.

        Raises
        ------
        InvalidInputError
            If the net has no layer, or a layer that is not an LN of width 3; if a label is not among its
            classes; or if there is not one label for each sample.
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
        """Centre of the layer that acts on this stage, in the stage's coordinates; None if it has none."""
        return Centre((0.0, 0.0), 0.0) if stage == 0 else layer_centre(self.net.layers[stage])

    def chords(self, stage: int) -> list[tuple[int, int]]:
        """Pairs of samples that the layer acting on this stage merges, if the net's provenance names them."""
        merges = (self.net.provenance or {}).get("merges", ())
        entry = merges[stage] if isinstance(merges, Sequence) and stage < len(merges) else None
        if not entry:
            return []
        pairs = [entry] if isinstance(entry[0], int) else entry
        return [(int(i), int(j)) for i, j in pairs if max(i, j) < len(self.labels)]

    def angles(self, stage: int) -> FloatArray:
        """Angles of the samples at this stage, in radians from -pi to pi."""
        return polar_angles(self.stages[stage])

    def order(self, stage: int) -> NDArray[np.intp]:
        """The samples in their order around the circle, starting after the widest gap."""
        return cyclic_order(self.stages[stage], self.labels)

    def arcs(self, stage: int, reach: float = math.inf) -> Arcs:
        """The runs of equal label at this stage as arcs, as in `lntheory.circle.arcs`."""
        return arcs(self.stages[stage], self.labels, reach)

    @cached_property
    def runs(self) -> NDArray[np.intp]:
        """Number of maximal cyclic runs of equal label after layer 1, 2, ..., depth."""
        stages = range(1, self.depth + 1)
        return np.array([n_runs(self.labels[self.order(stage)]) for stage in stages], dtype=np.intp)

    @cached_property
    def gaps(self) -> FloatArray:
        """Smallest angle (radians) between neighbours of unequal label after layer 1, 2, ..., depth."""
        return np.array([smallest_gap(stage, self.labels) for stage in self.stages[1:]])


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


def _label_indices(net: LNNet, y: ArrayLike) -> Labels:
    index = {label: k for k, label in enumerate(net.classes)}
    labels: list[Any] = np.asarray(y, dtype=None if isinstance(y, np.ndarray) else object).tolist()
    for i, label in enumerate(labels):
        if label not in index:
            raise InvalidInputError(
                f"sample {i} has the label {label!r}, which is none of the net's {len(index)} classes"
            )
    return np.array([index[label] for label in labels], dtype=np.intp)


def _samples_in_view(net: LNNet, X: ArrayLike) -> FloatArray:
    """The samples under the first affine map, in the plane, scaled so that a picture shows all."""
    first = net.layers[0]
    samples = np.asarray(X, dtype=np.float64)
    image = plane_coordinates(samples @ first.weight.astype(np.float64).T + first.bias.astype(np.float64))
    scaled: FloatArray = image / (np.abs(image).max() / _EXTENT)
    return scaled
