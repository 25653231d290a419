"""LSSR does not see invertible affine maps of the features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from lntheory import exact

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Topic, combine
from ..tools.identities import identity, symbols
from ..tools.rational_scatter import eigenvalues, generic_symmetric, mapped, sum_of_squares_ratio


@dataclass(frozen=True)
class Quantity:
    """What is said to be invariant: for generic scatter matrices, for data, and as the library has it."""

    of_pencil: Callable[[sp.Matrix, sp.Matrix], Any]
    of_data: Callable[[Any, Any], Any]
    of_library: Callable[[Any, Any], Any]


def proof(quantity: Quantity) -> Evidence:
    """x -> A x + b turns every scatter matrix S into A S A', a congruence of the pencil.

    In every dimension: w' (A S A') w = (A' w)' S (A' w), and w -> A' w is onto, so the ratios are the same
    set. Dimensions 1 and 2 directly, with generic A; in dimension 3 with generic elementary matrices (a
    scaling and a shear, up to the order of the axes), whose products are all invertible matrices.
    """
    a, b, c, d = symbols("a b c d")
    shear, scaling = sp.eye(3), sp.diag(a, 1, 1)
    shear[0, 1] = b
    maps = [sp.Matrix([[a]]), sp.Matrix([[a, b], [c, d]]), scaling, shear]
    parts = [_scatter_is_transformed(), *(_congruence(quantity, A) for A in maps)]
    return combine(parts, "LSSR(A X + b) = LSSR(X)")


def _scatter_is_transformed() -> Evidence:
    """Scatter is quadratic in differences of samples: two samples, two features show every term."""
    A, b = sp.Matrix(2, 2, symbols("a:4")), sp.Matrix(symbols("b:2"))
    p, q = sp.Matrix(symbols("p:2")), sp.Matrix(symbols("q:2"))
    image = (A * p + b) - (A * q + b)
    return identity(image * image.T, A * (p - q) * (p - q).T * A.T, "the scatter of A x + b is A S A'")


def _congruence(quantity: Quantity, A: sp.Matrix) -> Evidence:
    within, total = generic_symmetric("w", A.rows), generic_symmetric("t", A.rows)
    image = quantity.of_pencil(A * within * A.T, A * total * A.T)
    return identity(image, quantity.of_pencil(within, total), "invariant under generic A, d <= 3")


def _monic(within: sp.Matrix, total: sp.Matrix) -> Any:
    """det(lambda S_t - S_w)/det(S_t), whose roots are the eigenvalues."""
    return (sp.Symbol("t", real=True) * total - within).det(method="berkowitz") / total.det()


CASES: tuple[tuple[str, list[list[int]], list[list[int]], str], ...] = (
    ("a shear", [[1, 3], [0, 1]], [[0, 0], [1, 2], [3, 1], [2, 5], [4, 4]], "aabbb"),
    ("a stretch by 1000", [[1000, 0], [0, 1]], [[0, 0], [1, 2], [3, 1], [2, 5], [4, 4]], "aabbb"),
    (
        "a mixture of three",
        [[1, 2, 0], [0, 1, 5], [3, 0, 1]],
        [[0, 1, 1], [2, 0, 2], [1, 5, 6], [3, 3, 1]],
        "aabb",
    ),
)


def examples(quantity: Quantity) -> Iterator[Instance]:
    """The library's own value before and after."""
    for name, A, X, y in CASES:
        image = mapped(A, X, [Fraction(7, 3)] * len(A))
        yield Instance(name, quantity.of_library(image, list(y)), quantity.of_library(X, list(y)))


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import integer_vectors, invertible, labelled_rows

    def with_map(data: Any) -> Any:
        d = len(data[0][0])
        return st.tuples(st.just(data), invertible(d), integer_vectors(d, 50))

    return labelled_rows().flatmap(with_map)


def _holds(quantity: Quantity, drawn: Any) -> bool:
    (X, y), A, b = drawn
    return bool(quantity.of_data(mapped(A, X, b), y) == quantity.of_data(X, y))


CLAIM = Claim(
    name="lssr-affine-invariance",
    topic=Topic.SEPARABILITY,
    title="LSSR is invariant under invertible affine maps",
    statement="LSSR of A X + b is that of X for every invertible A.",
    latex=r"\mathrm{LSSR}(XA^\top + \mathbf 1 b^\top, y) = \mathrm{LSSR}(X, y)\quad (\det A \ne 0)",
    hypotheses=("A invertible", "not all samples coincide"),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=Quantity(_monic, lambda X, y: eigenvalues(X, y)[0], exact.lssr),
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin(
        "SSR itself is invariant.",
        Quantity(lambda within, total: within.trace() / total.trace(), sum_of_squares_ratio, exact.ssr),
    ),
)
