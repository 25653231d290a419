"""LSSR = 1: the class means say nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from lntheory import exact

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Theory, Topic, combine
from ..tools.rational_scatter import eigenvalues
from ..tools.solver import for_all

# What has to coincide: a function of a class's count and its mean along a direction.
Statistic = Callable[[Any, Any], Any]


def proof(statistic: Statistic) -> Evidence:
    """Along w, 1 - ratio = sum_k n_k (w' mean_k - w' mean)^2/(w' S_t w): LSSR = 1 iff that is 0 for all w."""
    parts = [_between_vanishes(statistic, 2), _between_vanishes(statistic, 3), _any_number_of_terms()]
    return combine(parts, "LSSR = 1 iff they do")


def _between_vanishes(statistic: Statistic, n_classes: int) -> Evidence:
    def statement(z3: Any) -> Any:
        counts = z3.Reals([f"n{k}" for k in range(n_classes)])
        means = z3.Reals([f"a{k}" for k in range(n_classes)])
        mean = z3.Real("mean")
        between = sum(n * (a - mean) ** 2 for n, a in zip(counts, means, strict=True))
        centred = sum(n * (a - mean) for n, a in zip(counts, means, strict=True)) == 0
        statistics = [statistic(n, a) for n, a in zip(counts, means, strict=True)]
        equal = z3.And([value == statistics[0] for value in statistics[1:]])
        return z3.Implies(z3.And([n >= 1 for n in counts] + [centred]), (between == 0) == equal)

    return for_all(Theory.NRA, statement, "sum n_k (a_k - a)^2 = 0 iff all a_k are equal, C <= 3")


def _any_number_of_terms() -> Evidence:
    """By induction: a sum of terms n (a - mean)^2, n > 0, vanishes only with each of them."""

    def statement(z3: Any) -> Any:
        rest, n, e = z3.Reals("rest n e")
        given = z3.And(rest >= 0, n > 0)
        return z3.Implies(given, (rest + n * e * e == 0) == z3.And(rest == 0, e == 0))

    return for_all(Theory.NRA, statement, "more classes by induction on the terms")


def examples(statistic: Statistic) -> Iterator[Instance]:
    """`lntheory.exact.lssr` against the means, computed here."""
    for name, X, y in (
        ("XOR", [[0, 0], [1, 1], [0, 1], [1, 0]], "aabb"),
        ("+ - + on a line", [[0], [1], [2]], "aba"),
        ("means apart, sums equal", [[1], [3], [4]], "aab"),
        ("three classes about one point", [[-1, 0], [1, 0], [0, -1], [0, 1], [0, 0]], "aabbc"),
        ("two of three means coincide", [[-1, 0], [1, 0], [0, 0], [0, 2]], "aabc"),
    ):
        yield Instance(name, float(exact.lssr(X, list(y))) == 1, _coincide(statistic, X, y))


def _coincide(statistic: Statistic, X: Any, y: Any) -> bool:
    statistics = []
    for label in dict.fromkeys(y):
        rows = [row for row, own in zip(X, y, strict=True) if own == label]
        means = [Fraction(sum(column), len(rows)) for column in zip(*rows, strict=True)]
        statistics.append([statistic(len(rows), mean) for mean in means])
    return all(value == statistics[0] for value in statistics)


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import labelled_rows

    narrow = labelled_rows(max_samples=6, max_features=2, bound=1)
    return st.one_of(narrow, labelled_rows(n_classes=3, max_samples=6, max_features=1, bound=1), narrow)


def _holds(statistic: Statistic, drawn: Any) -> bool:
    X, y = drawn
    return bool(eigenvalues(X, y)[0] == 1) == _coincide(statistic, X, y)


CLAIM = Claim(
    name="lssr-one-iff-means-coincide",
    topic=Topic.SEPARABILITY,
    title="LSSR = 1 iff the class means coincide",
    statement="LSSR is 1 exactly if all classes have the same mean.",
    latex=r"\mathrm{LSSR}(X, y) = 1 \iff \mu_1 = \dots = \mu_C",
    hypotheses=("not all samples coincide",),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=lambda count, mean: mean,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("LSSR is 1 exactly if all classes have the same sum.", lambda count, mean: count * mean),
)
