"""Which cyclic labelings affine scores can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np

from lntheory.circle.runs import is_readable
from lntheory.construct.readout import planar_readout

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Method,
    Property,
    Tally,
    Theory,
    Topic,
    Verdict,
    combine,
)
from ..tools.identities import identities, identity, symbols
from ..tools.rational_plane import area, circle_point
from ..tools.solver import for_all

Labels = Sequence[int]
# The criterion for labels in cyclic order.
Criterion = Callable[[Labels], bool]

MAX_POINTS, MAX_CLASSES = 7, 4
# Parameters t = tan(angle/2) of points of the circle, unevenly spaced.
PARAMETERS = tuple(Fraction(k, 6) for k in (-40, -11, -5, -1, 2, 3, 13, 15, 60, 99))


def no_crossing(labels: Labels) -> bool:
    """No pattern a..b..a..b: the classes' hulls do not cross. By looking at all quadruples."""
    return not any(a == c != b == d for a, b, c, d in combinations(labels, 4))


def one_arc_a_class(labels: Labels) -> bool:
    """As many runs as classes."""
    runs = sum(label != labels[i - 1] for i, label in enumerate(labels))
    return max(runs, 1) == len(set(labels))


def proof(criterion: Criterion) -> Evidence:
    """Necessary: chords p r of class a and q s of class b cross, and at the crossing neither score is larger.

    Sufficient: some class sits in one run, cut off by a chord; score the rest first, by induction, and give
    it the score of any one of them plus a large multiple of the distance to the chord. That this works for
    one sample is the solver's; that it ends is checked for all labelings of up to 7 points in up to 4
    classes (up to names): scores for each are built and compared in rational arithmetic.
    """
    return combine(
        chain(
            [_counter_clockwise_areas(), _crossing(), _no_scores_at_a_crossing(), _induction()],
            (_all_labelings(criterion, n) for n in range(1, MAX_POINTS + 1)),
        ),
        claimed="affine scores exist iff no pattern a..b..a..b",
    )


def deep(criterion: Criterion) -> Evidence:
    """All labelings of up to nine points."""
    return combine(
        [proof(criterion), _all_labelings(criterion, 8), _all_labelings(criterion, 9)],
        claimed="affine scores exist iff no pattern a..b..a..b",
    )


def _counter_clockwise_areas() -> Evidence:
    t = symbols("t:3")
    product = (t[1] - t[0]) * (t[2] - t[1]) * (t[2] - t[0])
    denominator = (1 + t[0] ** 2) * (1 + t[1] ** 2) * (1 + t[2] ** 2)
    points = [circle_point(value) for value in t]
    return identity(area(*points), 4 * product / denominator, "points in order span positive areas")


def _crossing() -> Evidence:
    """[qrs] p + [pqs] r = [prs] q + [pqr] s, with equal sums of weights: the chords p r and q s cross."""
    p, q, r, s = (symbols(f"{name}:2") for name in "pqrs")
    weights = area(q, r, s), area(p, q, s), area(p, r, s), area(p, q, r)
    pairs = [(weights[0] * p[i] + weights[1] * r[i], weights[2] * q[i] + weights[3] * s[i]) for i in range(2)]
    return identities([*pairs, (weights[0] + weights[1], weights[2] + weights[3])], "where the chords cross")


def _no_scores_at_a_crossing() -> Evidence:
    """g = score_a - score_b is affine: positive weights would make a positive sum equal a negative one."""

    def statement(z3: Any) -> Any:
        weights, values = z3.Reals("k0 k1 k2 k3"), z3.Reals("g_p g_r g_q g_s")
        terms = [k * g for k, g in zip(weights, values, strict=True)]
        right = z3.And(values[0] > 0, values[1] > 0, values[2] < 0, values[3] < 0)
        given = z3.And([k > 0 for k in weights] + [terms[0] + terms[1] == terms[2] + terms[3]])
        return z3.Implies(given, z3.Not(right))

    return for_all(Theory.NRA, statement, "no affine scores at a crossing")


def _induction() -> Evidence:
    """A sample on the new class's side (h > 0) is won by a large M; on the other (h < 0) its winner stays."""

    def statement(z3: Any) -> Any:
        score, rival, winner, h, M = z3.Reals("score rival winner h M")
        own = z3.Implies(z3.And(h > 0, M * h > rival - score), score + M * h > rival)
        others = z3.Implies(z3.And(h < 0, M > 0, winner >= score), score + M * h < winner)
        return z3.And(own, others)

    return for_all(Theory.NRA, statement, "one class more, by induction")


def _all_labelings(criterion: Criterion, n: int) -> Evidence:
    count = 0
    for labels in _growth_strings(n, MAX_CLASSES):
        if criterion(labels) != _readable(labels):
            detail = f"labels {''.join(map(str, labels))}: scores exist is {_readable(labels)}"
            return Evidence(
                Method.EXHAUSTIVE, detail, f"criterion says {criterion(labels)}", Verdict.REFUTED, detail
            )
        count += 1
    return Evidence(
        Method.EXHAUSTIVE,
        Tally("labeling decided alike", count),
        str(count),
        Verdict.PROVED,
        f"{count} labelings of {n} points",
    )


def _growth_strings(n: int, n_classes: int) -> Iterator[tuple[int, ...]]:
    """All labelings up to the names of the classes: each new label is the least that is unused."""
    if n == 0:
        yield ()
        return
    for head in _growth_strings(n - 1, n_classes):
        for label in range(min(max(head, default=-1) + 2, n_classes)):
            yield (*head, label)


def _readable(labels: Labels) -> bool:
    """Decided with a proof either way: scores whose strict argmax is right, or two chords that cross."""
    points = [circle_point(t) for t in PARAMETERS[: len(labels)]]
    if not no_crossing(labels):
        assert any(_crosses(points, quadruple, labels) for quadruple in combinations(range(len(labels)), 4))
        return False
    weight, bias = planar_readout(
        np.array(points, dtype=float), np.array(labels, dtype=np.int64), len(set(labels))
    )
    scores = [[Fraction(float(v)) for v in (*row, b)] for row, b in zip(weight, bias, strict=True)]
    for (x, y), label in zip(points, labels, strict=True):
        values = [a * x + b * y + c for a, b, c in scores]
        if not all(values[label] > value for k, value in enumerate(values) if k != label):
            raise ArithmeticError(f"scores for the labels {labels} fail at a point of class {label}")
    return True


def _crosses(points: Sequence[Any], quadruple: Sequence[int], labels: Labels) -> bool:
    """The pattern a..b..a..b with all four areas positive, which excludes scores."""
    p, q, r, s = (points[i] for i in quadruple)
    a, b, c, d = (labels[i] for i in quadruple)
    return a == c != b == d and min(area(q, r, s), area(p, q, s), area(p, r, s), area(p, q, r)) > 0


def examples(criterion: Criterion) -> Iterator[Instance]:
    """Named labelings, and the library's linear-time test against the criterion on all of 8 points."""
    for text, readable in (
        ("01", True),
        ("0101", False),
        ("0102", True),
        ("012012", False),
        ("010203", True),
    ):
        yield Instance(text, criterion([int(c) for c in text]), readable)
    for n in range(1, 9):
        labelings = list(_growth_strings(n, MAX_CLASSES))
        agreeing = sum(is_readable(labels) == criterion(labels) for labels in labelings)
        yield Instance(f"is_readable agrees, n = {n}", agreeing, len(labelings))


def _strategy() -> Any:
    from hypothesis import strategies as st

    return st.lists(st.integers(0, 4), min_size=1, max_size=10).map(_renamed)


def _renamed(labels: list[int]) -> list[int]:
    names = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return [names[label] for label in labels]


def _holds(criterion: Criterion, labels: list[int]) -> bool:
    return criterion(labels) == _readable(labels)


CLAIM: Claim[Criterion] = Claim(
    name="readout-iff-no-crossing",
    topic=Topic.CIRCLE,
    title="Labels can be read out iff no cyclic pattern a..b..a..b",
    statement="Labelled points of a circle are separated by the argmax of affine scores exactly if no two "
    "classes alternate a, b, a, b around it. (Necessity is proved for every number of points; sufficiency "
    "by induction, whose combinatorics are checked for all labelings of up to 7 points.) C runs of C "
    "classes suffice.",
    latex=r"\exists\,\text{affine } s_1, \dots, s_C:\ y_i = \arg\max_k s_k(z_i)"
    r" \iff \text{no cyclic pattern } a \dots b \dots a \dots b",
    hypotheses=(
        "distinct points of a circle",
        "up to 7 points and 4 classes for sufficiency (9 with --deep)",
    ),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=no_crossing,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    deep=deep,
    twin=FalseTwin("They are separated exactly if every class is one run.", one_arc_a_class),
)
