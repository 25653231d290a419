"""Counting sign patterns bounds the VC dimension from above."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lntheory import vc

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Method,
    Theory,
    Topic,
    Verdict,
    combine,
)
from ..tools.solver import for_all

Bound = Callable[[int, int], int]


def proof(bound: Bound) -> Evidence:
    """A layer's root is eliminated by three signs; degrees add up; Warren's theorem counts the patterns."""
    parts = [
        for_all(
            Theory.NRA, _signs_decide, "the sign of a + b sqrt(q) follows from those of a, b, a^2 - b^2 q"
        ),
        for_all(Theory.NIA, _degrees, "weights at most w become at most 2w when a root is eliminated"),
    ]
    return combine(
        [*parts, _allows_what_is_shattered(bound)],
        claimed="2^m <= 2 (4 e D m 3^L/P)^P",
    )


def _signs_decide(z3: Any) -> Any:
    """In each of the six combinations of strict signs that can occur, a + b r has one sign."""
    a, b, q, r = z3.Reals("a b q r")
    roots = z3.And(r > 0, r * r == q)
    norm, value = a * a - b * b * q, a + b * r
    return z3.Implies(
        roots,
        z3.And(
            z3.Implies(z3.And(a > 0, b > 0), value > 0),
            z3.Implies(z3.And(a < 0, b < 0), value < 0),
            z3.Implies(z3.And(a > 0, b < 0, norm > 0), value > 0),
            z3.Implies(z3.And(a > 0, b < 0, norm < 0), value < 0),
            z3.Implies(z3.And(a < 0, b > 0, norm > 0), value < 0),
            z3.Implies(z3.And(a < 0, b > 0, norm < 0), value > 0),
        ),
    )


def _degrees(z3: Any) -> Any:
    """Of a + b r of weight w with r of weight k: a has w, b has w - k, q has 2k, so a^2 - b^2 q has 2w."""
    w, k, a, b = z3.Ints("w k a b")
    return z3.Implies(
        z3.And(k >= 1, w >= k, a <= w, b <= w - k), z3.And(2 * a <= 2 * w, 2 * b + 2 * k <= 2 * w)
    )


def _allows_what_is_shattered(bound: Bound) -> Evidence:
    """Certified sets, none of which may be larger than the bound allows."""
    compared = []
    with TemporaryDirectory() as folder:
        for depth, dim, n_samples in ((1, 1, 3), (1, 2, 6), (2, 2, 7)):
            record = Path(folder, "record.json.gz")
            n_shattered = vc.build_lower_bound(depth, dim, path=record, n_samples=n_samples).n_samples
            allowed = bound(depth, dim)
            compared.append(f"{n_shattered} shattered, at most {allowed} at L = {depth}, d = {dim}")
            if n_shattered > allowed:
                detail = f"{n_shattered} points of R^{dim} are shattered at L = {depth}, certified"
                return Evidence(Method.EXHAUSTIVE, compared[-1], str(allowed), Verdict.REFUTED, detail)
    detail = "no set that was shattered is larger than the bound"
    return Evidence(Method.EXHAUSTIVE, tuple(compared), "shattered <= bound", Verdict.PROVED, detail)


def examples(bound: Bound) -> Iterator[Instance]:
    """The last m that the inequality allows and the first that it does not, with rational bounds of e."""
    for depth, dim in ((1, 1), (1, 2), (2, 2), (5, 3)):
        parameters = 2 * dim + 4 * depth - 2
        for m, e, relation in (
            (bound(depth, dim), 2718281828, "<="),
            (bound(depth, dim) + 1, 2718281829, ">="),
        ):
            base = 4 * e * (depth + 1) * 2**depth * m * 3**depth
            left = 2 ** (m - 1) * (parameters * 10**9) ** parameters
            yield Instance(f"L = {depth}, d = {dim}, m = {m}", left, base**parameters, relation)


CLAIM = Claim(
    name="vc-dimension-counting",
    topic=Topic.DEPTH,
    title="VC dimension of order P L at most",
    statement="Width-3 LN-Nets with L >= 1 LN layers on R^d shatter no m points with "
    "2^m > 2 (4 e D m 3^L/P)^P, where P = 2d + 4L - 2 and D = (L + 1) 2^L.",
    latex=r"2^m \le 2\left(\frac{4 e D m 3^L}{P}\right)^{P},\quad P = 2d + 4L - 2,\ D = (L + 1)2^L",
    hypotheses=("Warren's theorem (1968) on sign patterns of polynomials",),
    source="ours",
    kind=ClaimKind.UPPER,
    form=vc.counting_bound,
    proof=proof,
    examples=examples,
    twin=FalseTwin("They shatter no more than 2L + 2 points.", lambda depth, dim: 2 * depth + 2),
)
