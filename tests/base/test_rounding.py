"""Bounds that are rounded to float64 stay bounds, and are the nearest ones."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from lntheory.base.rounding import float_down, float_up, rounded_outward

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, st.floats(0, 1e300), st.integers(-1200, 1200))
def test_balls_are_rounded_outward_and_tightly(mid: float, rad: float, shift: int) -> None:
    with flint.ctx.workprec(200):
        ball = arb(mid, rad) * arb(2) ** shift / 3
        low, high = float_down(ball), float_up(ball)
        assert arb(low) <= ball.lower()
        assert arb(high) >= ball.upper()
        assert arb(math.nextafter(low, math.inf)) > ball.lower()
        assert arb(math.nextafter(high, -math.inf)) < ball.upper()


def test_balls_that_are_not_finite_have_no_bounds() -> None:
    assert float_down(arb("nan")) == -math.inf
    assert float_up(arb("nan")) == math.inf
    assert float_down(arb(1, float("inf"))) == -math.inf


@given(st.fractions(), st.integers(-1100, 1100))
def test_fractions_are_rounded_outward_and_tightly(value: Fraction, shift: int) -> None:
    value *= Fraction(2) ** shift
    low, high = rounded_outward(value, value)
    assert low <= value <= high
    assert low == high or math.nextafter(low, math.inf) == high


def test_numbers_beyond_float64_get_the_greatest_one_or_infinity() -> None:
    huge = Fraction(10) ** 400
    assert rounded_outward(-huge, huge) == (-math.inf, math.inf)
    assert float_down(huge) == -float_up(-huge) == math.nextafter(math.inf, 0.0)


def test_zero_has_no_sign() -> None:
    for zero in (Fraction(0), arb(0)):
        assert math.copysign(1.0, float_up(zero)) == math.copysign(1.0, float_down(zero)) == 1.0
