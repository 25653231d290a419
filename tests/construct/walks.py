"""What a construction believed of itself, layer by layer, and what is true of the net it made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from lntheory.construct import plane, projection_merge
from lntheory.construct.arithmetic import Dyadic
from lntheory.construct.built import Built
from lntheory.exact import enclose
from lntheory.network import Layer, LNNet

BITS = 500


@dataclass(frozen=True)
class Step:
    """A layer's weight and its arithmetic, the walk after it, and the pair (moved, onto) that it merged."""

    weight: Any
    arithmetic: Any
    walk: Any
    pair: tuple[int, ...]


def record(monkeypatch: Any) -> list[list[Step]]:
    """A list that will hold the steps of every attempt that constructions make from now on."""
    attempts: list[list[Step]] = []
    lifted, merged = projection_merge.lifted, projection_merge.merged_layer

    def recording_lift(task: Any, projection: Any, arithmetic: Any, arc: float) -> Any:
        layer, walk = lifted(task, projection, arithmetic, arc)
        attempts.append([Step(layer[0], arithmetic, walk, projection.pair or ())])
        return layer, walk

    def recording_merge(walk: Any, arithmetic: Any) -> Any:
        layer, after, pair = merged(walk, arithmetic)
        attempts[-1].append(Step(layer[0], arithmetic, after, pair))
        return layer, after, pair

    monkeypatch.setattr(projection_merge, "lifted", recording_lift)
    monkeypatch.setattr(projection_merge, "merged_layer", recording_merge)
    return attempts


def steps_of(net: LNNet | Built, attempts: list[list[Step]]) -> list[Step]:
    """The attempt that became the net."""
    return next(
        steps
        for steps in attempts
        if len(steps) == len(net.layers)
        and all(_is_finite(value) for step in steps for value in step.weight.flat)
        and all(
            (step.arithmetic.exported(step.weight) == layer.weight).all()
            for step, layer in zip(steps, net.layers, strict=True)
        )
    )


def standing(steps: list[Step], n_samples: int, layer: int) -> list[int]:
    """For every sample the one that stands for it after this layer: merges are followed by identity."""
    representative = list(range(n_samples))
    for step in steps[: layer + 1]:
        if step.pair:
            moved, onto = step.pair
            representative = [onto if r == moved else r for r in representative]
    return representative


def planar_points(net: LNNet, X: Any, layer: int, bits: int = BITS) -> Any:
    """The true points after a layer, as balls in the plane, shape (n_samples, 2)."""
    n_classes = len(net.classes)
    start = LNNet(net.layers[: layer + 1], Layer(np.zeros((n_classes, 3)), np.zeros(n_classes)), net.classes)
    enclosure = enclose(start, np.asarray(X, dtype=float), precision=bits)
    with flint.ctx.workprec(bits):
        return np.array(enclosure.points, dtype=object) @ plane.basis(Dyadic(bits)) / flint.arb(3).sqrt()


def worst_ratio(net: LNNet, X: Any, steps: list[Step], layer: int, bits: int = BITS) -> float:
    """Largest (true distance of a sample from its representative) / (bound) after a layer."""
    points = planar_points(net, X, layer, bits)
    walk = steps[layer].walk
    place = {int(sample): k for k, sample in enumerate(walk.samples)}
    with flint.ctx.workprec(bits):
        ratios = []
        for i, r in enumerate(standing(steps, len(points), layer)):
            x, y = (_ball(value) for value in walk.points[place[r]])
            distance = ((points[i][0] - x) ** 2 + (points[i][1] - y) ** 2).sqrt()
            ratios.append(float((distance / _ball(walk.errors[place[r]])).upper()))
    return max(ratios)


def _is_finite(value: Any) -> bool:
    return bool(value.is_finite() if isinstance(value, flint.arb) else np.isfinite(value))


def _ball(value: Any) -> Any:
    return value if isinstance(value, flint.arb) else flint.arb(float(value))
