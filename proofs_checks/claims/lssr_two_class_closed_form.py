"""Two classes: LSSR is rational, in closed form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from lntheory import exact

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Topic, combine
from ..tools.identities import identity, symbols
from ..tools.rational_scatter import dense_rational, eigenvalues, generic_symmetric, scatter_matrices

# c(m1, m2) in S_b = c delta delta'.
Coefficient = Callable[[Any, Any], Any]


def proof(coefficient: Coefficient) -> Evidence:
    """S_b = c delta delta' has rank one, so the pencil's only eigenvalue besides 1 is 1 - c delta' S_t^-1
    delta.

    In every dimension: w with w' delta = 0 has (S_t - c delta delta') w = S_t w, eigenvalue 1; and
    w = S_t^-1 delta has (S_t - c delta delta') w = (1 - c delta' S_t^-1 delta) S_t w. On range(S_t), where
    delta lies because S_b <= S_t, S_t^+ is the inverse.
    """
    parts = [_between(coefficient), *(_determinant(d) for d in (1, 2, 3)), _eigenvector()]
    return combine(parts, "the least eigenvalue of (S_w, S_t)")


def _between(coefficient: Coefficient) -> Evidence:
    """Entry (i, j) of S_b involves features i and j only: two features stand for every dimension."""
    m1, m2 = symbols("m1 m2", positive=True)
    p, q = sp.Matrix(symbols("p:2")), sp.Matrix(symbols("q:2"))
    mean = (m1 * p + m2 * q) / (m1 + m2)
    between = m1 * (p - mean) * (p - mean).T + m2 * (q - mean) * (q - mean).T
    return identity(between, coefficient(m1, m2) * (p - q) * (p - q).T, "S_b = (m1 m2/m) delta delta'")


def _determinant(d: int) -> Evidence:
    """det(S_t - c delta delta' - t S_t) = (1 - t)^(d - 1) ((1 - t) det S_t - c delta' adj(S_t) delta)."""
    S, delta = generic_symmetric("s", d), sp.Matrix(symbols(f"e:{d}"))
    c, t = symbols("c t")
    left = ((1 - t) * S - c * delta * delta.T).det(method="berkowitz")
    right = (1 - t) ** (d - 1) * ((1 - t) * S.det() - c * (delta.T * S.adjugate() * delta)[0])
    return identity(left, right, "the pencil's determinant, d <= 3")


def _eigenvector() -> Evidence:
    """(S - c delta delta') w = (1 - c q) S w for S w = delta and q = delta' w, in every dimension."""
    c, q, delta = symbols("c q delta")
    return identity(delta - c * delta * q, (1 - c * q) * delta, "the eigenvector S_t^-1 delta, every d")


def closed_form(coefficient: Coefficient, X: Any, y: Any) -> Fraction:
    """1 - c delta' S_t^+ delta from the definitions; any solution w of S_t w = delta will do."""
    first = y[0]
    ones = [row for row, own in zip(X, y, strict=True) if own == first]
    twos = [row for row, own in zip(X, y, strict=True) if own != first]
    delta = [
        Fraction(sum(a), len(ones)) - Fraction(sum(b), len(twos))
        for a, b in zip(zip(*ones, strict=True), zip(*twos, strict=True), strict=True)
    ]
    _, total = scatter_matrices(X, y)
    reduced, rank = total.rref()
    kept = [next(j for j in range(total.ncols()) if reduced[i, j] != 0) for i in range(rank)]
    column = dense_rational([[delta[j]] for j in kept])
    minor = type(total)([[total[i, j] for j in kept] for i in kept])
    product = (column.transpose() * minor.solve(column))[0, 0]
    return 1 - Fraction(coefficient(Fraction(len(ones)), Fraction(len(twos)))) * Fraction(
        int(product.numer()), int(product.denom())
    )


def examples(coefficient: Coefficient) -> Iterator[Instance]:
    """Against `lntheory.exact.lssr`."""
    for name, X, y in (
        ("two pairs on a line", [[0], [1], [3], [4]], "aabb"),
        ("unequal classes", [[0, 0], [1, 2], [3, 1], [2, 5], [4, 4]], "aabbb"),
        ("third feature the sum of two", [[0, 1, 1], [2, 0, 2], [1, 5, 6], [3, 3, 6], [4, 1, 5]], "aabbb"),
        ("one direction separates", [[-10, 0], [10, 0], [-10, 1], [10, 1]], "aabb"),
    ):
        yield Instance(name, closed_form(coefficient, X, y), exact.lssr(X, list(y)))


def _strategy() -> Any:
    from ..tools.small_data import labelled_rows

    return labelled_rows()


def _holds(coefficient: Coefficient, drawn: Any) -> bool:
    X, y = drawn
    return bool(sp.Rational(closed_form(coefficient, X, y)) == eigenvalues(X, y)[0])


CLAIM = Claim(
    name="lssr-two-class-closed-form",
    topic=Topic.SEPARABILITY,
    title="Two classes: LSSR in closed form",
    statement="For two classes of m1 and m2 samples, LSSR is 1 - (m1 m2/m) delta' S_t^+ delta, delta the "
    "difference of the class means: a rational number for rational data.",
    latex=r"\mathrm{LSSR}(X, y) = 1 - \frac{m_1 m_2}{m}\,\delta^\top S_t^{+}\delta",
    hypotheses=("two classes", "not all samples coincide"),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=lambda m1, m2: m1 * m2 / (m1 + m2),
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("The factor is m1 m2/m^2, as for covariances.", lambda m1, m2: m1 * m2 / (m1 + m2) ** 2),
)
