"""XOR: no linear map helps, one LN layer does, two finish."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sympy as sp

from lntheory import exact
from lntheory.network import Layer, LNNet

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Method, Topic, Verdict

XOR = [[0, 0], [1, 1], [0, 1], [1, 0]]
EVEN, ODD = XOR[:2], XOR[2:]

# With s = x + y - 1 and d = x - y the first layer is 6 s (1, -1, 0) + (2 - d) (1, 1, -2): seen from a centre
# on the line of the odd points, they merge; the even ones are mirror images, 60 degrees to either side, and
# share their third neuron, the only one that the second layer looks at.
FIRST = ([[5, 7], [-7, -5], [2, -2]], [-4, 8, -4])
SECOND = ([[0, 0, 1], [0, 0, 0], [0, 0, 0]], [1, 0, 0])

# What is claimed: SSR of the samples, after one layer, and after two.
SSRS = (sp.Integer(1), sp.Rational(6, 7), sp.Integer(0))
NORMALIZED = list[Any]  # points as sympy columns

# A normalization of a batch of points.
BatchMap = Callable[[list[Any]], list[Any]]


def layer_norm(points: list[Any]) -> list[Any]:
    """Each point centred and scaled by itself."""
    result = []
    for point in points:
        u = point - sp.ones(point.rows, 1) * (sum(point) / point.rows)
        result.append((u * sp.sqrt(point.rows) / sp.sqrt(u.dot(u))).applyfunc(sp.radsimp))
    return result


def batch_norm(points: list[Any]) -> list[Any]:
    """Each neuron centred and scaled over the batch; one that does not vary is left at 0."""
    rows = []
    for row in sp.Matrix.hstack(*points).tolist():
        mean = sum(row) / len(row)
        variance = sum((v - mean) ** 2 for v in row) / len(row)
        rows.append([(v - mean) / sp.sqrt(variance) if variance else sp.Integer(0) for v in row])
    return [sp.Matrix(column) for column in zip(*rows, strict=True)]


def ssr(points: list[Any]) -> Any:
    """SSR of two even points followed by two odd ones."""
    within = _squares(points[:2]) + _squares(points[2:])
    return sp.radsimp(sp.simplify(within / _squares(points)))


def _squares(points: list[Any]) -> Any:
    mean = sum(points[1:], points[0]) / len(points)
    return sum((p - mean).dot(p - mean) for p in points)


def proof(norm: BatchMap) -> Evidence:
    """All four samples are taken through both layers in algebraic numbers."""
    computed = ssrs(norm)
    verdict = Verdict.PROVED if computed == SSRS else Verdict.REFUTED
    detail = "both class means are (1/2, 1/2), so LSSR = 1; integer weights, algebraic images"
    return Evidence(
        Method.EXHAUSTIVE,
        f"SSR {_listed(computed)}",
        f"SSR {_listed(SSRS)}",
        verdict,
        f"{detail}: {_listed(computed)}",
    )


def ssrs(norm: BatchMap) -> tuple[Any, ...]:
    """SSR of the samples, after one layer, and after two."""
    points = [sp.Matrix(x) for x in XOR]
    ratios = [ssr(points)]
    for weight, bias in (FIRST, SECOND):
        points = norm([sp.Matrix(weight) * point + sp.Matrix(bias) for point in points])
        ratios.append(ssr(points))
    return tuple(ratios)


def _listed(values: tuple[Any, ...]) -> str:
    return ", ".join(str(value) for value in values)


def examples(norm: BatchMap) -> Iterator[Instance]:
    """LSSR of XOR, the same net in ball arithmetic, and how far one such layer can go."""
    yield Instance("LSSR before", exact.lssr(XOR, list("aabb")), 1)
    net = LNNet([Layer(*FIRST)], Layer([[0, 0, 1]], [1]), ["odd", "even"])
    certificate = exact.certify(net, XOR, ["even", "even", "odd", "odd"])
    assert certificate.ssr_after is not None
    lower, upper = certificate.ssr_after
    yield Instance("certificate encloses it from below", sp.Rational(lower), ssrs(norm)[1], "<=")
    yield Instance("certificate encloses it from above", sp.Rational(upper), ssrs(norm)[1], ">=")
    k = sp.Symbol("k", positive=True)
    # With any stretch k for 6: tan(angle) = k/(2 sqrt 3) for the even points, SSR -> 2/3 as they near 90
    # degrees.
    cosine = 1 / sp.sqrt(1 + k**2 / 12)
    general = 2 * (1 + cosine) / (2 * (1 + cosine) + (1 - cosine))
    yield Instance("stretch 6", sp.simplify(general.subs(k, 6)), ssrs(norm)[1])
    yield Instance("stretch without bound", sp.limit(general, k, sp.oo), sp.Rational(2, 3))


CLAIM = Claim(
    name="xor-one-ln-layer",
    topic=Topic.SEPARABILITY,
    title="XOR: LSSR = 1, SSR 6/7 after one LN layer and 0 after two",
    statement="XOR has LSSR 1, so no linear network lowers its SSR below 1. One LN layer of three neurons "
    "with integer weights takes SSR to 6/7, and a second one to exactly 0.",
    latex=r"\mathrm{LSSR} = 1,\qquad \mathrm{SSR}:\ 1 \to \tfrac67 \to 0",
    hypotheses=(),
    source="paper",
    kind=ClaimKind.EQUALITY,
    form=layer_norm,
    proof=proof,
    examples=examples,
    twin=FalseTwin("Batch normalization in place of LN does the same.", batch_norm),
)
