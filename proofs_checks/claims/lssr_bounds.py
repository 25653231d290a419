"""0 <= LSSR <= SSR <= 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import sympy as sp

from lntheory import exact

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Theory, Topic, combine
from ..tools.identities import identity, symbols
from ..tools.rational_scatter import eigenvalues, sum_of_squares_ratio
from ..tools.solver import for_all

# The four numbers in the order that is claimed.
Chain = Callable[[Any, Any], list[Any]]


def proof(chain: Chain) -> Evidence:
    """SS splits into within and between, so ratios lie in [0, 1]; SSR is a mediant, and LSSR bounds those."""
    return combine(
        [_sums_of_squares_split(), _ordered(chain)],
        claimed="0 <= LSSR <= SSR <= 1",
    )


def _sums_of_squares_split() -> Evidence:
    """For one feature, with class counts, means and sums of squares as symbols."""
    n1, n2 = symbols("n1 n2", positive=True)
    a, b, q1, q2 = symbols("a b q1 q2")  # means; sums of squared samples
    mean = (n1 * a + n2 * b) / (n1 + n2)
    total = q1 + q2 - (n1 + n2) * mean**2
    within = (q1 - n1 * a**2) + (q2 - n2 * b**2)
    between = n1 * (a - mean) ** 2 + n2 * (b - mean) ** 2
    return identity(total, within + between, "SS = SS_w + SS_b")


def _ordered(chain: Chain) -> Evidence:
    def statement(z3: Any) -> Any:
        w1, b1, w2, b2, lssr, ssr = z3.Reals("w1 b1 w2 b2 lssr ssr")
        squares = z3.And(w1 >= 0, b1 >= 0, w2 >= 0, b2 >= 0, w1 + b1 + w2 + b2 > 0)
        ratio = ssr * (w1 + b1 + w2 + b2) == w1 + w2
        bound = z3.And(lssr * (w1 + b1) <= w1, lssr * (w2 + b2) <= w2)
        attained = z3.Or(
            z3.And(w1 + b1 > 0, lssr * (w1 + b1) == w1), z3.And(w2 + b2 > 0, lssr * (w2 + b2) == w2)
        )
        claimed = chain(lssr, ssr)
        ordered = z3.And([p <= q for p, q in pairwise(claimed)])
        return z3.Implies(z3.And(squares, ratio, bound, attained), ordered)

    return for_all(Theory.NRA, statement, "two features in the pencil's eigenbasis; more by the mediant")


CASES: tuple[tuple[str, list[list[int]], str], ...] = (
    ("XOR", [[0, 0], [1, 1], [0, 1], [1, 0]], "aabb"),
    ("a separating direction under noise", [[-10, 0], [10, 0], [-10, 1], [10, 1]], "aabb"),
    ("five samples", [[0, 0], [1, 2], [3, 1], [2, 5], [4, 4]], "aabbb"),
    ("one sample a class", [[0, 1], [2, 3], [5, 5]], "ab" + "c"),
)


def examples(chain: Chain) -> Iterator[Instance]:
    """Values of `lntheory.exact`."""
    for name, X, y in CASES:
        lssr = exact.lssr(X, list(y))
        value = lssr if isinstance(lssr, Fraction) else lssr.lower
        claimed = chain(value, exact.ssr(X, list(y)))
        yield Instance(name, claimed, sorted(claimed))


def _strategy() -> Any:
    from ..tools.small_data import labelled_rows

    return labelled_rows()


def _holds(chain: Chain, drawn: Any) -> bool:
    X, y = drawn
    claimed = chain(eigenvalues(X, y)[0], sp.Rational(sum_of_squares_ratio(X, y)))
    return all(bool(p <= q) for p, q in pairwise(claimed))


CLAIM = Claim(
    name="lssr-bounds",
    topic=Topic.SEPARABILITY,
    title="0 <= LSSR <= SSR <= 1",
    statement="LSSR lies between 0 and SSR, and SSR is at most 1.",
    latex=r"0 \le \mathrm{LSSR}(X, y) \le \mathrm{SSR}(X, y) \le 1",
    hypotheses=("not all samples coincide",),
    source="paper",
    kind=ClaimKind.TIGHT,
    form=lambda lssr, ssr: [0, lssr, ssr, 1],
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin(
        "SSR lies between 0 and LSSR, and LSSR is at most 1.", lambda lssr, ssr: [0, ssr, lssr, 1]
    ),
)
