"""Exact numbers and balls, rounded outward to float64: a bound stays a bound.

::

    float_down        lower   ball   upper         float_up
        │  ◄── at most ──├─────●─────┤── at most ──►  │
    ────┴────────────────────────────────────────────┴────   neighbouring float64 numbers
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

__all__ = ["float_down", "float_up", "rounded_outward"]


def float_down(value: arb | Fraction) -> float:
    """The largest float64 that is at most the number, or at most every number of the ball.

    The result is minus infinity if there is none (a ball that is not finite, a number below every float64).

    Examples
    --------
    >>> float_down(Fraction(1, 3)) < Fraction(1, 3) < float_up(Fraction(1, 3))
    True
    >>> float_down(arb("nan"))
    -inf
    """
    if isinstance(value, arb):
        lower = value.lower()
        if lower.is_nan():
            return -math.inf
        nearest = float(lower)
        while arb(nearest) > lower:
            nearest = math.nextafter(nearest, -math.inf)
        return nearest + 0.0
    try:
        nearest = float(value)
    except OverflowError:
        return math.nextafter(math.inf, 0.0) if value > 0 else -math.inf
    return (math.nextafter(nearest, -math.inf) if Fraction(nearest) > value else nearest) + 0.0


def float_up(value: arb | Fraction) -> float:
    """The smallest float64 that is at least the number, or at least every number of the ball.

    The result is infinity if there is none.
    """
    return -float_down(-value) + 0.0


def rounded_outward(lower: arb | Fraction, upper: arb | Fraction) -> tuple[float, float]:
    """The narrowest pair of float64 numbers that encloses ``[lower, upper]``.

    Examples
    --------
    >>> rounded_outward(Fraction(1, 4), Fraction(1, 2))
    (0.25, 0.5)
    """
    return float_down(lower), float_up(upper)
