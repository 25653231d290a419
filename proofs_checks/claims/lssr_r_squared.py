"""Two classes: LSSR is what least squares leaves unexplained."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from lntheory import exact

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Topic, combine
from ..tools.identities import identity, symbols
from ..tools.rational_scatter import dense_rational, eigenvalues

# The form is whether the fit has an intercept, that is, whether features and labels are centred.


def proof(intercept: bool) -> Evidence:
    """The normal equations are S_t beta = (m1 m2/m) delta, and R^2 = (beta' S_t beta)/SS(labels).

    With q = delta' S_t^+ delta that is (m1 m2/m)^2 q/(m1 m2/m). Any two label values do: R^2 does not see
    affine maps of the labels. Labels are 1 in class 1 and 0 in class 2; s1, s2 are sums of one feature.
    """
    m1, m2 = symbols("m1 m2", positive=True)
    s1, s2, q = symbols("s1 s2 q")
    m, weight = m1 + m2, m1 * m2 / (m1 + m2)
    cross = s1 - (s1 + s2) * m1 / m if intercept else s1
    squares = m1 - m1 * m1 / m if intercept else m1
    parts = [
        identity(cross, weight * (s1 / m1 - s2 / m2), "features times labels = (m1 m2/m) delta"),
        identity(squares, weight, "SS(labels) = m1 m2/m"),
        identity(weight**2 * q / weight, weight * q, "R^2 = (m1 m2/m) delta' S_t^+ delta"),
    ]
    return combine(parts, "LSSR = 1 - R^2")


def r_squared(intercept: bool, X: Any, y: Any) -> Fraction:
    """R^2 of least squares in rationals: explained over total sum of squares, about the mean or zero."""
    labels = [Fraction(int(own == y[0])) for own in y]
    rows = [[Fraction(v) for v in row] for row in X]
    if intercept:
        means = [Fraction(sum(column), len(rows)) for column in zip(*rows, strict=True)]
        rows = [[v - mean for v, mean in zip(row, means, strict=True)] for row in rows]
        mean = Fraction(sum(labels), len(labels))
        labels = [label - mean for label in labels]
    features, target = dense_rational(rows), dense_rational([[label] for label in labels])
    reduced, rank = (features.transpose() * features).rref()
    kept = [next(j for j in range(features.ncols()) if reduced[i, j] != 0) for i in range(rank)]
    chosen = dense_rational([[Fraction(int(row[j].numer()), int(row[j].denom())) for j in kept] for row in
                             features.tolist()])  # fmt: skip
    moments = chosen.transpose() * target
    explained = (moments.transpose() * (chosen.transpose() * chosen).solve(moments))[0, 0]
    total = sum((label * label for label in labels), Fraction(0))
    return Fraction(int(explained.numer()), int(explained.denom())) / total


def examples(intercept: bool) -> Iterator[Instance]:
    """Against `lntheory.exact.lssr`."""
    for name, X, y in (
        ("two pairs on a line", [[0], [1], [3], [4]], "aabb"),
        ("unequal classes", [[0, 0], [1, 2], [3, 1], [2, 5], [4, 4]], "aabbb"),
        ("XOR", [[0, 0], [1, 1], [0, 1], [1, 0]], "aabb"),
        ("labels of different lengths", [[1], [2], [4]], "abb"),
    ):
        yield Instance(name, 1 - r_squared(intercept, X, y), exact.lssr(X, list(y)))


def _strategy() -> Any:
    from ..tools.small_data import labelled_rows

    return labelled_rows()


def _holds(intercept: bool, drawn: Any) -> bool:
    X, y = drawn
    return bool(sp.Rational(1 - r_squared(intercept, X, y)) == eigenvalues(X, y)[0])


CLAIM = Claim(
    name="lssr-r-squared",
    topic=Topic.SEPARABILITY,
    title="Two classes: LSSR = 1 - R^2 of least squares",
    statement="For two classes, LSSR is one minus the coefficient of determination of the least-squares "
    "fit, with intercept, of the labels (any two numbers) on the features.",
    latex=r"\mathrm{LSSR}(X, y) = 1 - R^2",
    hypotheses=("two classes", "not all samples coincide"),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=True,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("The same without an intercept.", False),
)
