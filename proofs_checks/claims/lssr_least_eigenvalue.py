"""LSSR is the least eigenvalue of the pencil (S_w, S_t)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy as sp

from lntheory import exact

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Theory, Topic, combine
from ..tools.identities import identity, symbols
from ..tools.rational_scatter import eigenvalues, generic_symmetric, mapped, ratio_along, sum_of_squares_ratio
from ..tools.solver import for_all

# Which end of the spectrum bounds every ratio from below: index 0, or -1 in the twin.
LEAST, GREATEST = 0, -1

CASES: dict[str, tuple[list[list[int]], str]] = {
    "XOR": ([[0, 0], [1, 1], [0, 1], [1, 0]], "aabb"),
    "two pairs on a line": ([[0], [1], [3], [4]], "aabb"),
    "rank 2 of 3": ([[0, 1, 1], [2, 0, 2], [1, 5, 6], [3, 3, 6], [4, 1, 5]], "aabbb"),
    "three classes, algebraic": ([[0, 0], [1, 0], [2, 1], [2, 2], [0, 3], [1, 4]], "aabbcc"),
    "four classes": ([[0, 0], [1, 0], [2, 1], [2, 2], [0, 3], [1, 4], [5, 5], [6, 1]], "aabbccdd"),
}


def proof(end: int) -> Evidence:
    """SSR of a map is a mediant of ratios, and a mediant lies above the least of them.

    With rows w_r of the map, SSR = sum_r w_r' S_w w_r / sum_r w_r' S_t w_r. On range(S_t), in coordinates in
    which S_t = I and S_w is diagonal (spectral theorem), one row's ratio is again a mediant, of the
    eigenvalues, and a row along an eigenvector has its eigenvalue for ratio. Rows in the kernel of S_t add
    nothing, as 0 <= S_w <= S_t.
    """
    return combine(
        [_rows_make_a_mediant(), _mediant(end)],
        claimed="inf SSR = least eigenvalue of (S_w, S_t)",
    )


def _rows_make_a_mediant() -> Evidence:
    """tr(W S W') is the sum over the rows w of W of w' S w. Entry by entry: 2 x 2 stands for every size."""
    rows = sp.Matrix(2, 2, symbols("w:4"))
    S = generic_symmetric("s", 2)
    total = sum((rows.row(r) * S * rows.row(r).T)[0] for r in range(2))
    return identity((rows * S * rows.T).trace(), total, "tr(W S W') = sum of w' S w over the rows of W")


def _mediant(end: int) -> Evidence:
    def statement(z3: Any) -> Any:
        a, b, c, d, bound = z3.Reals("a b c d bound")
        sane = z3.And(a >= 0, a <= b, c >= 0, c <= d, b + d > 0)
        if end == LEAST:
            given = z3.And(bound * b <= a, bound * d <= c)
        else:
            given = z3.And(bound * b >= a, bound * d >= c)
        return z3.Implies(z3.And(sane, given), bound * (b + d) <= a + c)

    which = "least" if end == LEAST else "greatest"
    return for_all(
        Theory.NRA, statement, f"the {which} of a/b, c/d is at most (a + c)/(b + d); then by induction"
    )


def examples(end: int) -> Iterator[Instance]:
    """The pencil's eigenvalue against `lntheory.exact.lssr`, and against concrete linear maps."""
    for name, (X, y) in CASES.items():
        root = eigenvalues(X, y)[end]
        yield Instance(f"{name}: exact.lssr", _same_number(exact.lssr(X, list(y)), root), True)
        for B in ([[1] * len(X[0])], [[2, -1, 1][: len(X[0])], [0, 1, -3][: len(X[0])]]):
            ratio = sum_of_squares_ratio(mapped(B, X), y)
            if ratio is not None:
                yield Instance(f"{name}: SSR under {B}", sp.Rational(ratio) >= root, True)


def _same_number(value: Any, root: Any) -> bool:
    if not isinstance(value, exact.AlgebraicEnclosure):
        return bool(root == sp.Rational(value))
    polynomial = sp.Poly(value.polynomial[::-1], sp.Symbol("t"))
    inside = sp.Rational(value.lower) <= root and root <= sp.Rational(value.upper)
    return bool(inside) and sp.minimal_polynomial(root, sp.Symbol("t")) in [
        factor.as_expr() for factor, _ in polynomial.factor_list()[1]
    ]


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import integer_vectors, labelled_rows

    return labelled_rows().flatmap(lambda data: st.tuples(st.just(data), integer_vectors(len(data[0][0]))))


def _holds(end: int, drawn: Any) -> bool:
    """No direction has a ratio below the eigenvalue."""
    (X, y), w = drawn
    within, total = ratio_along(X, y, w)
    return bool(sp.Rational(within) >= eigenvalues(X, y)[end] * sp.Rational(total))


CLAIM = Claim(
    name="lssr-least-eigenvalue",
    topic=Topic.SEPARABILITY,
    title="LSSR is the least eigenvalue of the pencil (S_w, S_t)",
    statement="The infimum of SSR over all linear maps, of any output dimension, is attained by one "
    "direction and equals the least eigenvalue of the within-class against the total scatter matrix on the "
    "range of the latter.",
    latex=r"\inf_\varphi \mathrm{SSR}(\varphi(X), y) = \lambda_{\min}(S_w, S_t)\big|_{\mathrm{range}\,S_t}",
    hypotheses=("not all samples coincide",),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=LEAST,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("It equals the greatest eigenvalue of that pencil.", GREATEST),
)
