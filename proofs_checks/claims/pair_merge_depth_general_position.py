"""Two pairs a layer in general position: ceil(k/2) layers, but for a triangle with a point inside."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from lntheory import exact, shatter
from lntheory.vc import witness

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Method,
    Theory,
    Topic,
    Verdict,
    combine,
)
from ..tools.arrangement import fewest_runs
from ..tools.labelings import deepest
from ..tools.merge_lemmas import halved, one_point_is_cut_off, only_that_pair
from ..tools.orientations import axioms, orientations
from ..tools.solver import for_all
from .nine_points_three_layers import LABELS, POINTS

Exception_ = Callable[[bool], int]


def proof(extra: Exception_) -> Evidence:
    """The first layer merges as well: two opposite sides of a convex quadrilateral of minority points.

    ```
        a ────── b
       ╱          ╲           the lines a b and c d meet outside both segments
      d ─────────── c
    ```

    Five points in general position contain such a quadrilateral, and a class of two or three one pair.
    """
    return _proof(extra, (4, 5, 7))


def deep(extra: Exception_) -> Evidence:
    """All labelings of nine points as well."""
    return _proof(extra, (4, 5, 6, 7, 8, 9))


def _proof(extra: Exception_, sizes: tuple[int, ...]) -> Evidence:
    def count(z3: Any) -> Any:
        m, k, layers, half = z3.Ints("m k L half")
        rarer = z3.And(k >= 1, 2 * k <= m, m == 4 * layers + 1, layers >= 1)
        return z3.Implies(z3.And(rarer, 2 * half >= k, 2 * half <= k + 1), half <= layers)

    return combine(
        [
            *only_that_pair(),
            one_point_is_cut_off(),
            halved(),
            _opposite_sides(),
            axioms(),
            _convex_quadrilateral(),
            for_all(Theory.LIA, count, "of 4L + 1 samples the rarer label has k with ceil(k/2) <= L"),
            deepest([witness(m, 2) for m in sizes], lambda m, k: max(1, (k + 1) // 2), "pairs", "ceil(k/2)"),
            _triangle_with_a_point_inside(extra),
        ],
        claimed="at most ceil(k/2) layers, 3 for a triangle and a point inside",
    )


def _opposite_sides() -> Evidence:
    """If c and d are on one side of the line a b, and a and b on one side of c d, they meet outside both."""

    def statement(z3: Any) -> Any:
        fc, fd, ga, gb, s, t = z3.Reals("f_c f_d g_a g_b s t")
        # f vanishes on a b, g on c d; o = a + s (b - a) has g = 0, and o = c + t (d - c) has f = 0.
        sides = z3.And(fc * fd > 0, ga * gb > 0)
        meets = z3.And(ga + s * (gb - ga) == 0, fc + t * (fd - fc) == 0)
        return z3.Implies(z3.And(sides, meets), z3.And(z3.Or(s < 0, s > 1), z3.Or(t < 0, t > 1)))

    return for_all(Theory.NRA, statement, "opposite sides of a convex quadrilateral meet outside both")


def _convex_quadrilateral() -> Evidence:
    """In every orientation of five points some four have no point inside the triangle of the others."""

    def convex(system: dict[tuple[int, int, int], bool], four: tuple[int, ...]) -> bool:
        a, b, c, d = four
        signs = [system[a, b, c], not system[a, b, d], system[a, c, d], not system[b, c, d]]
        return sum(signs) == 2  # the affine dependence has two positive and two negative coefficients

    systems = list(orientations(5))
    good = sum(any(convex(system, four) for four in combinations(range(5), 4)) for system in systems)
    verdict = Verdict.PROVED if good == len(systems) else Verdict.REFUTED
    computed = f"a convex quadrilateral in {good} of {len(systems)} orientations of five points"
    detail = f"each of the {len(systems)} orientations of five points has four in convex position"
    return Evidence(Method.EXHAUSTIVE, computed, "in each", verdict, detail)


def _triangle_with_a_point_inside(extra: Exception_) -> Evidence:
    """The nine points of nine-points-three-layers: depth three, and no less."""
    X = np.array(POINTS, dtype=float)
    net = shatter(X, LABELS, method="pairs")
    exact.certify(net, X, LABELS)
    allowed = 2 + extra(True)
    least = 3 if fewest_runs(POINTS, LABELS) > 4 else 2
    detail = f"nine points of the plane with a non-convex minority of four need {least} layers"
    if allowed < least:
        return Evidence(Method.EXHAUSTIVE, f"least depth {least}", str(allowed), Verdict.REFUTED, detail)
    verdict = Verdict.PROVED if net.depth <= allowed else Verdict.UNDECIDED
    return Evidence(
        Method.EXHAUSTIVE, f"depth {net.depth} for the nine points", str(allowed), verdict, detail
    )


CLAIM = Claim(
    name="pair-merge-depth-general-position",
    topic=Topic.DEPTH,
    title="Two minority pairs a layer",
    statement="Two-class labels with k samples of the rarer class are fitted by a width-3 LN-Net of at most "
    "ceil(k/2) LN layers; of at most 3 where these are four points of a plane, one inside the triangle of "
    "the others.",
    latex=r"L \le \lceil k/2 \rceil",
    hypotheses=(
        "samples in general position in d >= 2 dimensions: in a generic projection to the plane no three are "
        "collinear, no three lines through disjoint pairs are concurrent or parallel",
    ),
    source="ours",
    kind=ClaimKind.UPPER,
    form=lambda inside: 1 if inside else 0,
    proof=proof,
    deep=deep,
    twin=FalseTwin("At most ceil(k/2) layers suffice without exception.", lambda inside: 0),
)
