"""Along a line, one LN layer turns at most once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import sympy as sp

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Method,
    Property,
    Topic,
    Verdict,
    combine,
)
from ..tools.identities import identity, symbols

# The form is the number of stationary points that there are at most.

T = sp.Symbol("t", real=True)


def proof(most: int) -> Evidence:
    """Along x = p + t q the centred neurons are a + t b, of squared length Q(t) = A + 2 B t + C t^2.

    A read-out is (alpha + beta t)/sqrt(Q(t)) + constant, whatever the width (sqrt(d) is part of alpha, beta).
    If Q has no zero, the derivative is (beta Q - (alpha + beta t) Q'/2)/Q^(3/2), whose numerator is linear:
    it has one zero at most, or the read-out is constant. If Q(t0) = 0, then a = -t0 b and the read-out is
    sign(t - t0) times a constant. If b = 0 it is constant.
    """
    return combine(
        [_derivative(), _numerator(most), _through_the_undefined_point()],
        claimed=f"at most {most} stationary point{'' if most == 1 else 's'}",
    )


def _quadratic() -> tuple[Any, ...]:
    alpha, beta, A, B, C = symbols("alpha beta A B C")
    return alpha, beta, A, B, C, A + 2 * B * T + C * T**2


def _derivative() -> Evidence:
    """d/dt (alpha + beta t)/r with r r' = Q'/2 and r^2 = Q: times r^3 it is the numerator."""
    alpha, beta, _, _, _, Q = _quadratic()
    (r,) = symbols("r", positive=True)
    slope = sp.diff(Q, T) / 2 / r  # r'
    derivative = (beta * r - (alpha + beta * T) * slope) / r**2
    numerator = beta * Q - (alpha + beta * T) * sp.diff(Q, T) / 2
    return identity(derivative * r**3, numerator, "the derivative's numerator", modulo=[(r, Q)])


def _numerator(most: int) -> Evidence:
    """Its degree in t, for generic coefficients."""
    alpha, beta, _, _, _, Q = _quadratic()
    numerator = sp.Poly(sp.expand(beta * Q - (alpha + beta * T) * sp.diff(Q, T) / 2), T)
    degree = int(numerator.degree())
    verdict = Verdict.PROVED if degree <= most else Verdict.REFUTED
    detail = f"the numerator {numerator.as_expr()} has degree {degree} in t"
    return Evidence(
        Method.SYMBOLIC,
        f"numerator {numerator.as_expr()}, of degree {degree} in t",
        f"at most {most}",
        verdict,
        detail,
    )


def _through_the_undefined_point() -> Evidence:
    """a = -t0 b: (r.a + t r.b)/|a + t b| = (t - t0) r.b/(|t - t0| |b|), of absolute value |r.b|/|b|."""
    rb, bb, t0 = symbols("rb bb t0")
    square = (rb * (T - t0)) ** 2 / (bb * (T - t0) ** 2)
    return identity(square, rb**2 / bb, "constant on each side of an undefined point")


def examples(most: int) -> Iterator[Instance]:
    """Sign changes of the derivative of concrete one-layer nets, by Sturm's theorem."""
    for name, a, b, r in (
        ("1/sqrt(1 + t^2), the bump", [0, 1], [1, 0], [0, 1]),
        ("t/sqrt(1 + t^2), a sigmoid", [0, 1], [1, 0], [1, 0]),
        ("three neurons", [1, 2, -3], [2, -1, -1], [1, 5, -2]),
        ("five neurons", [1, 2, -3, 4, -4], [2, -1, -1, 3, -3], [1, 5, -2, 0, 7]),
    ):
        yield Instance(name, _n_stationary(a, b, r), most, "<=")


def _n_stationary(a: list[int], b: list[int], r: list[int]) -> int:
    """Distinct real zeros of the derivative of r.(a + t b)/|a + t b|, differentiated directly."""
    u = [p + T * q for p, q in zip(a, b, strict=True)]
    Q = sp.expand(sum(v * v for v in u))
    value = sum(k * v for k, v in zip(r, u, strict=True)) / sp.sqrt(Q)
    numerator = sp.simplify(sp.diff(value, T) * sp.sqrt(Q) ** 3)
    return int(sp.Poly(numerator, T).count_roots()) if numerator.has(T) else 0


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import integer_vectors

    vectors = st.integers(2, 6).flatmap(lambda d: st.tuples(*[integer_vectors(d)] * 3))
    return st.tuples(vectors, st.lists(st.integers(-20, 20), min_size=4, max_size=6, unique=True).map(sorted))


def _holds(most: int, drawn: Any) -> bool:
    """Values at points where the net is defined turn no more often than stationary points allow, exactly.

    A net that is undefined somewhere is constant on either side instead.
    """
    (a, b, r), times = drawn
    a, b = ([len(v) * entry - sum(v) for entry in v] for v in (a, b))  # centred, times d
    if sum(p * p for p in a) * sum(q * q for q in b) == sum(p * q for p, q in zip(a, b, strict=True)) ** 2:
        return True  # a + t b vanishes for some t, or b = 0
    values = [_signed_square(a, b, r, t) for t in times]
    steps = [later - earlier for earlier, later in pairwise(values) if later != earlier]
    return sum(bool(p * q < 0) for p, q in pairwise(steps)) <= most


def _signed_square(a: list[int], b: list[int], r: list[int], t: int) -> Any:
    """s |s| for the value s = r.u/|u|: an increasing function of it, and rational."""
    u = [p + t * q for p, q in zip(a, b, strict=True)]
    top = sum(k * v for k, v in zip(r, u, strict=True))
    return sp.Rational(top * abs(top), sum(v * v for v in u))


CLAIM = Claim(
    name="one-turning-point",
    topic=Topic.DEPTH,
    title="One LN layer has at most one stationary point along a line",
    statement="Along any line a read-out of a network with one LN layer, of any width, is constant on each "
    "side of at most one undefined point, or has at most one stationary point (or is constant).",
    latex=r"f(t) = \frac{\alpha + \beta t}{\sqrt{A + 2Bt + Ct^2}} + \gamma,\qquad"
    r" f'(t)\,Q(t)^{3/2} = (\beta A - \alpha B) + (\beta B - \alpha C)\,t",
    hypotheses=("one LN layer over all neurons, without epsilon", "affine maps before and after it"),
    source="ours",
    kind=ClaimKind.UPPER,
    form=1,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("It is monotone.", 0),
)
