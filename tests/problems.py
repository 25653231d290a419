"""Named data sets with exact SSR and LSSR, worked out by hand.

For two classes LSSR = 1 - (m1 m2/m) delta' S_t^+ delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from lntheory.network import Layer, LNNet


@dataclass(frozen=True)
class Problem:
    """Labelled samples whose separabilities are known rationals.

    The answers are for the samples as given: a float entry is the dyadic rational that it is, a Decimal
    what it reads.
    """

    name: str
    X: Sequence[Sequence[Any]]
    y: Sequence[Any]
    ssr: Fraction | None
    lssr: Fraction
    rank: int

    @property
    def has_float_reading(self) -> bool:
        """Whether every entry is a float64 number, so that float routines see the same samples."""
        return all(Fraction(float(v)) == Fraction(v) for row in self.X for v in row)


def _rows(kind: type) -> list[list[Any]]:
    texts = [(".1", ".1", ".2"), (".7", ".7", "1.4"), (".1", ".7", ".8"), (".7", ".1", ".8")]
    return [[kind(text) for text in row] for row in texts]


_XOR = [[0, 0], [1, 1], [0, 1], [1, 0]]
_PARITY = ["even", "even", "odd", "odd"]

PROBLEMS = [
    # Both class means are (1/2, 1/2).
    Problem("xor", _XOR, _PARITY, Fraction(1), Fraction(1), 2),
    Problem(
        "xor-far-and-huge",
        [[10**8 + 2**500 * v for v in row] for row in _XOR],
        _PARITY,
        Fraction(1),
        Fraction(1),
        2,
    ),
    # The third column is the sum of the others: still rank two, still XOR.
    Problem("xor-plus-sums-as-decimals", _rows(Decimal), _PARITY, Fraction(1), Fraction(1), 2),
    # As doubles .7 + .1 is not the double .8 is, and the third column separates the classes after all.
    Problem("xor-plus-sums-as-doubles", _rows(float), _PARITY, None, Fraction(0), 3),
    # Class 0 is a point, class 1 another: no scatter within.
    Problem("lda-degenerate-fit", [[0], [1], [1]], [0, 1, 1], Fraction(0), Fraction(0), 1),
    Problem(
        "same-points-in-both-classes",
        [[0, 0], [1, 2], [0, 0], [1, 2]],
        list("aabb"),
        Fraction(1),
        Fraction(1),
        1,
    ),
    # 0, 1 | 3, 4: within 1/2 + 1/2, total 4 + 1 + 1 + 4.
    Problem("two-pairs-on-a-line", [[0], [1], [3], [4]], list("aabb"), Fraction(1, 10), Fraction(1, 10), 1),
    # + - + on a line: means 1 and 1.
    Problem("collinear-alternating", [[0, 0], [1, 1], [2, 2]], list("aba"), Fraction(1), Fraction(1), 1),
    # 0, 1 | 2 on a line: within 1/2, total 2.
    Problem("collinear-split", [[0, 0], [1, 1], [2, 2]], list("aab"), Fraction(1, 4), Fraction(1, 4), 1),
    Problem("one-class", [[0, 1], [2, 3], [5, 5]], ["only"] * 3, Fraction(1), Fraction(1), 2),
    Problem("one-sample-a-class", [[0, 1], [2, 3], [5, 5]], [1, 2, 3], Fraction(0), Fraction(0), 2),
    # The second coordinate is constant on each class; the first is noise without mean difference.
    Problem(
        "separating-direction-under-noise",
        [[-1000, 0], [1000, 0], [-1000, 1], [1000, 1]],
        list("aabb"),
        Fraction(4_000_000, 4_000_001),
        Fraction(0),
        2,
    ),
    # Three classes at the corners of a symmetric cross: x separates a from c, b lies between both.
    # S_w = diag(0, 6), S_t = diag(4, 6) with rows (-1, +-1), (0, +-1), (1, +-1).
    Problem(
        "three-columns",
        [[-1, -1], [-1, 1], [0, -1], [0, 1], [1, -1], [1, 1]],
        list("aabbcc"),
        Fraction(3, 5),
        Fraction(0),
        2,
    ),
]

CLASSES_WITH_SQRT = (
    # Means (0, 0), (1, 0), (1, 2); about each of them four points one unit away along the axes.
    [[1, 0], [-1, 0], [0, 1], [0, -1]] + [[2, 0], [0, 0], [1, 1], [1, -1]] + [[2, 2], [0, 2], [1, 3], [1, 1]],
    list("aaaabbbbcccc"),
)
"""S_w = diag(6, 6) and S_b = 4 [[2/3, 2/3], [2/3, 8/3]], whose eigenvalues are (20 +- 4 sqrt(13))/3: so
LSSR = 6/(6 + (20 + 4 sqrt(13))/3) = 3 (19 - 2 sqrt(13))/103, a root of 103 t**2 - 114 t + 27."""


def exact_xor_net() -> LNNet:
    """Integer weights that classify XOR and end on exactly one point a class: SSR is exactly 0.

    With s = x + y - 1 and d = x - y the first layer is s (1, -1, 0) + (2 - d) (1, 1, -2), seen from a centre
    on the line d of the odd points, which therefore merge; the even ones are mirror images, exchanged by
    swapping the
    first two neurons, so they share the third one, on which alone the second layer depends::

            s                            (0,0) -> ( 1, 3, -4)    third after LN: -4/sqrt(26/3)
        (1,1) ·                          (1,1) -> ( 3, 1, -4)                    the same
          ─── · ─── · ─── o ──► d        (1,0) -> ( 1, 1, -2)                    -sqrt(2)
            (0,1) (1,0)                  (0,1) -> ( 3, 3, -6)                    the same
        (0,0) ·
    """
    first = Layer([[0, 2], [-2, 0], [2, -2]], [1, 3, -4])
    second = Layer([[0, 0, 18], [0, 0, 0], [0, 0, 0]], [25, 1, 0])
    return LNNet([first, second], Layer([[1, 0, -1]], [0]), ["odd", "even"])
