"""LSSR = 0: a direction on which every class is one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from lntheory import exact

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Theory, Topic, combine
from ..tools.rational_scatter import eigenvalues
from ..tools.solver import for_all

# What the values of two classes along some direction have to do; `both` is a conjunction, z3's or Python's.
Separation = Callable[[list[Any], list[Any], Callable[[list[Any]], Any]], Any]


def proof(separation: Separation) -> Evidence:
    """LSSR, a least eigenvalue, is attained: it is 0 iff some w has w' S_w w = 0 < w' S_t w."""
    parts = [_along_a_direction(separation, n, m) for n, m in ((1, 2), (2, 2), (2, 3))]
    return combine(parts, "LSSR = 0 iff such a w")


def _along_a_direction(separation: Separation, n: int, m: int) -> Evidence:
    def statement(z3: Any) -> Any:
        ones, twos = z3.Reals([f"a{i}" for i in range(n)]), z3.Reals([f"b{i}" for i in range(m)])
        within = _squares(ones) + _squares(twos)
        return z3.And(within == 0, _squares(ones + twos) > 0) == separation(ones, twos, z3.And)

    return for_all(Theory.NRA, statement, "values of up to 2 and 3 samples along w")


def _squares(values: list[Any]) -> Any:
    """The sum of squares about the mean, times the number of values: over pairs, without division."""
    return sum((p - q) ** 2 for i, p in enumerate(values) for q in values[:i]) if len(values) > 1 else 0


def constant_and_apart(ones: list[Any], twos: list[Any], both: Callable[[list[Any]], Any]) -> Any:
    """One value a class, and not the same one."""
    return both([v == ones[0] for v in ones[1:]] + [v == twos[0] for v in twos[1:]] + [ones[0] != twos[0]])


def linearly_separated(ones: list[Any], twos: list[Any], both: Callable[[list[Any]], Any]) -> Any:
    """All values of one class below those of the other."""
    return both([a < b for a, b in product(ones, twos)])


CASES: tuple[tuple[str, list[list[int]], str], ...] = (
    ("second feature", [[-10, 0], [10, 0], [-10, 1], [10, 1]], "aabb"),
    ("difference of features", [[0, 0], [3, 3], [0, 1], [4, 5]], "aabb"),
    ("XOR", [[0, 0], [1, 1], [0, 1], [1, 0]], "aabb"),
    ("separable, but not constant", [[0], [1], [3], [4]], "aabb"),
)


def examples(separation: Separation) -> Iterator[Instance]:
    """`lntheory.exact.lssr` against a search of directions with entries up to 3."""
    for name, X, y in CASES:
        yield Instance(name, exact.lssr(X, list(y)) == 0, _some_direction(separation, X, y))


def _some_direction(separation: Separation, X: Any, y: Any) -> bool:
    for w in product(range(-3, 4), repeat=len(X[0])):
        values = [sum(a * v for a, v in zip(w, row, strict=True)) for row in X]
        ones = [v for v, own in zip(values, y, strict=True) if own == y[0]]
        twos = [v for v, own in zip(values, y, strict=True) if own != y[0]]
        if separation(ones, twos, all):
            return True
    return False


def _strategy() -> Any:
    from ..tools.small_data import labelled_rows

    # Up to two features with entries in -1..1: a direction constant on a class is a multiple of one found.
    return labelled_rows(max_samples=5, max_features=2, bound=1)


def _holds(separation: Separation, drawn: Any) -> bool:
    X, y = drawn
    return bool(eigenvalues(X, y)[0] == 0) == _some_direction(separation, X, y)


CLAIM: Claim[Separation] = Claim(
    name="lssr-zero-iff-separating-direction",
    topic=Topic.SEPARABILITY,
    title="LSSR = 0 iff some direction is constant on each class and separates them",
    statement="For two classes, LSSR is 0 exactly if some linear functional takes one value on the first "
    "class and another on the second.",
    latex=r"\mathrm{LSSR}(X, y) = 0 \iff \exists w:\ w^\top x_i = c_{y_i},\ c_1 \ne c_2",
    hypotheses=("two classes", "not all samples coincide"),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=constant_and_apart,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("LSSR is 0 exactly if the classes are linearly separable.", linearly_separated),
)
