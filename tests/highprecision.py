"""A second opinion on LN-Nets: a plain forward pass in mpmath, with no arithmetic of the library."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath as mp

from lntheory.network import LNNet

DIGITS = 700


def forward(net: LNNet, x: Any, digits: int = DIGITS) -> tuple[list[list[Any]], list[Any]] | None:
    """Points after every layer and scores of one sample; None if some deviation is zero or next to it."""
    with mp.workdps(digits):
        point = [_number(value) for value in x]
        trace = []
        for layer in net.layers:
            values = _affine(layer, point)
            groups = net.normalization.num_groups or 1
            size = len(values) // groups
            point = []
            for start in range(0, len(values), size):
                group = values[start : start + size]
                if net.normalization.kind != "rms_norm":
                    mean = mp.fsum(group) / size
                    group = [value - mean for value in group]
                variance = mp.fsum(value * value for value in group) / size + _number(net.normalization.eps)
                if variance < mp.mpf(10) ** (-digits / 4):
                    return None
                point += [value / mp.sqrt(variance) for value in group]
            trace.append(point)
        return trace, _affine(net.readout, point)


def margins(scores: list[Any], n_classes: int) -> list[Any]:
    """For every class, by how much it wins (negative if it loses)."""
    if n_classes == 1:
        return [mp.inf]
    if len(scores) == 1:
        return [-2 * scores[0], 2 * scores[0]]
    return [score - max(s for k, s in enumerate(scores) if k != j) for j, score in enumerate(scores)]


def _affine(layer: Any, point: list[Any]) -> list[Any]:
    rows = zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
    return [
        mp.fsum([_number(b), *(_number(w) * x for w, x in zip(row, point, strict=True))]) for row, b in rows
    ]


def _number(value: Any) -> Any:
    exact = Fraction(value)
    return mp.mpf(exact.numerator) / mp.mpf(exact.denominator)
