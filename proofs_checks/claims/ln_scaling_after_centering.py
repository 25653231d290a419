"""LN is centering, a projection, followed by scaling onto a sphere."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Topic, combine
from ..tools.identities import identities, identity, symbols
from ..tools.identity_plus_ones import SIZE, IdentityPlusOnes, dense


def proof(centering: IdentityPlusOnes) -> Evidence:
    """The identities of P hold for every d in the algebra of the matrices a I + b J; for d <= 8 they are also
    written out in coordinates."""
    nothing = IdentityPlusOnes(0, 0).pair()
    return combine(
        [
            identity((centering @ centering).pair(), centering.pair(), "P P = P for every d"),
            identity((centering @ IdentityPlusOnes(0, 1)).pair(), nothing, "P 1 = 0 for every d"),
            *(_by_coordinates(centering, d) for d in range(2, 9)),
        ],
        claimed="LN(x) = sqrt(d) P x/|P x|",
    )


def _by_coordinates(centering: IdentityPlusOnes, d: int) -> Evidence:
    """x - mean(x) = P x and mean((x - mean)^2) = |P x|^2/d, which is the claim squared, with its sign."""
    x = sp.Matrix(symbols(f"x:{d}"))
    mean = sum(x) / d
    projected = dense(centering, d) * x
    pairs = [(x[i] - mean, projected[i]) for i in range(d)]
    variance = sum((value - mean) ** 2 for value in x) / d
    return identities([*pairs, (variance, projected.dot(projected) / d)], "coordinates, d <= 8")


def examples(centering: IdentityPlusOnes) -> Iterator[Instance]:
    """The signs and squares of the entries of LN(x), for concrete rows."""
    for row in ([1, 2], [3, -1, 4], [2, 7, 1, 8], [0, 0, 0, 0, 5]):
        x, d = sp.Matrix(row), len(row)
        u = dense(centering, d) * x
        mean = sum(x) / sp.Integer(d)
        sigma = sp.sqrt(sum((value - mean) ** 2 for value in x) / d)
        left = [sp.nsimplify((value - mean) / sigma) for value in x]
        right = [sp.nsimplify(sp.sqrt(d) * value / sp.sqrt(u.dot(u))) for value in u]
        yield Instance(f"x = {row}", [sp.simplify(v) for v in left], [sp.simplify(v) for v in right])


CLAIM = Claim(
    name="ln-scaling-after-centering",
    topic=Topic.NORMALIZATION,
    title="LN is scaling after centering",
    statement="Layer normalization projects onto the hyperplane orthogonal to (1, ..., 1) and then scales to "
    "length sqrt(d).",
    latex=r"\mathrm{LN}(x) = \sqrt d\,\frac{Px}{\lVert Px\rVert},"
    r"\quad P = I - \tfrac1d \mathbf 1\mathbf 1^\top,\quad P^2 = P,\quad P\mathbf 1 = 0",
    hypotheses=("sigma(x) > 0",),
    source="paper",
    kind=ClaimKind.EQUALITY,
    form=IdentityPlusOnes(1, -1 / SIZE),
    proof=proof,
    examples=examples,
    twin=FalseTwin(
        "The projection is I - 11^T/(d - 1), as in the unbiased variance.",
        IdentityPlusOnes(1, -1 / (SIZE - 1)),
    ),
)
