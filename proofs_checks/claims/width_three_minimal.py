"""Two neurons are too few: LN of two numbers is a sign."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import sympy as sp

from lntheory import exact
from lntheory.network import Layer, LNNet

from ..claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Method,
    Property,
    Topic,
    Verdict,
    combine,
)
from ..tools.identities import identities, symbols

# The form is a labeling of SQUARE that width 2 is said not to realise.

SQUARE = [[0, 0], [1, 1], [0, 1], [1, 0]]
Labels = tuple[int, ...]
PARITY: Labels = (1, 1, -1, -1)
AND: Labels = (-1, 1, -1, -1)


def proof(labels: Labels) -> Evidence:
    """LN(x1, x2) = +-(1, -1) by the sign of x1 - x2: later layers and the read-out map two values to two.

    So a width-2 LN-Net with any number of layers realises only {w.x + b > 0} and its complement, w and b
    being the differences of the first layer's two rows. Width 1 is 0/0. Width 3 does XOR: the instances.
    """
    return combine(
        [_two_values(), _not_separable(labels)],
        claimed="no width-2 LN-Net realises the labels",
    )


def _two_values() -> Evidence:
    """With D = x1 - x2: the centred values are D/2 and -D/2, the variance D^2/4, so LN is (D, -D)/|D|."""
    x1, x2 = symbols("x1 x2")
    mean, D = (x1 + x2) / 2, x1 - x2
    variance = ((x1 - mean) ** 2 + (x2 - mean) ** 2) / 2
    pairs = [(x1 - mean, D / 2), (x2 - mean, -D / 2), (variance, (D / 2) ** 2)]
    return identities(pairs, "LN of two = (1, -1) sign")


def _not_separable(labels: Labels) -> Evidence:
    """By Farkas: the four inequalities y_i (w.x_i + b) > 0 contradict each other iff a positive combination
    is 0.

    The four points have one affine dependence, so its signs decide.
    """
    rows = sp.Matrix([[y * v for v in (*x, 1)] for x, y in zip(SQUARE, labels, strict=True)])
    (dependence,) = rows.T.nullspace()
    weights = list(dependence / next(v for v in dependence if v != 0))
    refutes = all(v >= 0 for v in weights)
    computed = f"multipliers {', '.join(str(v) for v in weights)}"
    detail = f"{computed} add the inequalities up to 0 > 0" if refutes else f"{computed}: a half-space exists"
    verdict = Verdict.PROVED if refutes else Verdict.REFUTED
    return Evidence(Method.SYMBOLIC, computed, "none negative", verdict, detail)


def examples(labels: Labels) -> Iterator[Instance]:
    """Every half-space with small coefficients is wrong at some point; a width-3 net is certified right."""
    right = sum(_realised(labels, w) for w in product(range(-3, 4), repeat=3))
    yield Instance("half-spaces with coefficients up to 3 that are right", right, 0)
    net = LNNet([Layer([[5, 7], [-7, -5], [2, -2]], [-4, 8, -4])], Layer([[0, 0, 1]], [1]), [-1, 1])
    yield Instance("width of a net for XOR", exact.certify(net, SQUARE, list(PARITY)).width, 3)


def _realised(labels: Labels, w: tuple[int, ...]) -> bool:
    values = [w[0] * x[0] + w[1] * x[1] + w[2] for x in SQUARE]
    return all(v * y > 0 for v, y in zip(values, labels, strict=True))


def _strategy() -> Any:
    from ..tools.small_data import matrices

    return matrices(4, 4)


def _holds(labels: Labels, drawn: list[list[int]]) -> bool:
    """A random width-2 net of two layers, run exactly, gets some label wrong or is undefined."""
    first, second = (drawn[0], drawn[1]), (drawn[2], drawn[3])
    values = []
    for x in SQUARE:
        difference = sum((a - b) * v for a, b, v in zip(*first, [*x, 1], strict=False))
        if difference == 0:
            return True
        sign = 1 if difference > 0 else -1
        again = sum((a - b) * v for a, b, v in zip(*second, [sign, -sign, 1], strict=False))
        if again == 0:
            return True
        values.append(1 if again > 0 else -1)
    return tuple(values) != labels and tuple(-v for v in values) != labels


CLAIM = Claim(
    name="width-three-minimal",
    topic=Topic.CIRCLE,
    title="Width 2 realises only half-spaces, so 3 is minimal",
    statement="LN of two neurons takes two values only, so an LN-Net of width 2 realises half-space "
    "dichotomies and fails XOR, whatever its depth; width 1 is 0/0; width 3 realises XOR.",
    latex=r"\mathrm{LN}(x_1, x_2) = \operatorname{sign}(x_1 - x_2)\,(1, -1)",
    hypotheses=("x1 and x2 differ",),
    source="ours",
    kind=ClaimKind.TIGHT,
    form=PARITY,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("An LN-Net of width 2 fails AND.", AND),
)
