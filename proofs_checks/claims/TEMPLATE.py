"""SSR of two classes of two samples on a line. Copy this file, and register the copy by one line.

```
cp proofs_checks/claims/TEMPLATE.py proofs_checks/claims/my_claim.py     the file's name is the claim's,
                                                                         with underscores for hyphens
registry.py:  NAMES = (..., "my-claim", ...)                             the one line
python -m proofs_checks --only my-claim                                  claim proved, false twin refuted
```

The *form* is what the true statement and its false twin differ in, here a number. Proof, instances and
property take it as their argument, so that the machinery which accepts the claim is seen to refuse the twin.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy as sp

from lntheory import exact

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Topic, combine
from ..tools.identities import identity, symbols


def proof(factor: int) -> Evidence:
    """Classes {0, a} and {b, a + b}: SS_w is a^2/2 + a^2/2 and SS is a^2 + b^2, for all a and b."""
    a, b = symbols("a b")
    within = _sum_of_squares([sp.Integer(0), a]) + _sum_of_squares([b, a + b])
    total = _sum_of_squares([sp.Integer(0), a, b, a + b])
    return combine(
        [
            identity(total, a**2 + b**2, "SS = a^2 + b^2"),
            # `value` is what the table shows as computed; it has to come from the computation.
            identity(within / total, factor * a**2 / (a**2 + b**2), "SSR", value=sp.factor(within / total)),
        ],
        claimed=f"{factor} a^2/(a^2 + b^2)",
    )


def _sum_of_squares(values: list[Any]) -> Any:
    """The sum of squares about the mean."""
    mean = sum(values) / sp.Integer(len(values))
    return sum((value - mean) ** 2 for value in values)


def examples(factor: int) -> Iterator[Instance]:
    """The library's exact SSR of concrete samples."""
    for a, b in [(1, 2), (3, -5), (10, 1)]:
        computed = exact.ssr([[0], [a], [b], [a + b]], list("ppqq"))
        yield Instance(f"a = {a}, b = {b}", computed, sp.Rational(factor * a**2, a**2 + b**2))


def _strategy() -> Any:
    from hypothesis import strategies as st  # here, so that the claims need no Hypothesis

    return st.tuples(st.integers(1, 50), st.integers(1, 50))


def _holds(factor: int, drawn: tuple[int, int]) -> bool:
    a, b = drawn
    ssr = exact.ssr([[0], [a], [b], [a + b]], list("ppqq"))
    return bool(ssr * (a**2 + b**2) == factor * a**2)


CLAIM = Claim(
    name="template",
    topic=Topic.SEPARABILITY,
    title="SSR of two pairs on a line",
    statement="The classes {0, a} and {b, a + b} on a line have SSR a^2/(a^2 + b^2).",
    latex=r"\mathrm{SSR} = \frac{a^2}{a^2 + b^2}",
    hypotheses=("a and b are not both 0",),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=1,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("Their SSR is 2 a^2/(a^2 + b^2).", 2),
)
