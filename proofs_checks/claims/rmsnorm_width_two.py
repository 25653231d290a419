"""RMSNorm needs one neuron less: two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy as sp

from lntheory import exact
from lntheory.network import Layer, LNNet, Normalization

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Topic, combine
from ..tools.identities import identity, symbols

# The form is the width that is said to do.


def proof(width: int) -> Evidence:
    """RMSNorm(E u) = sqrt(width) E u/|u| for an embedding E of the plane with |E u| = |u|.

    That is the planar form of a width-3 LN layer, LN(F u) = sqrt(3) F u/|u|, and E' undoes E for the layer
    that follows: every width-3 LN-Net is an RMSNorm-Net of this width. One neuron has no room for the plane.
    """
    u = sp.Matrix(symbols("u:2"))
    embedding = sp.eye(2)[:width, :] if width < 2 else sp.eye(width)[:, :2]
    image = embedding * u
    mean_square = image.dot(image) / width
    scale = f"RMSNorm(E u) = {sp.sqrt(sp.simplify(u.dot(u) / mean_square))} E u/|u|"
    parts = [
        identity(image.dot(image), u.dot(u), "|E u| = |u|"),
        identity(embedding.T * image, u, "E' E = I"),
        identity(width * mean_square, u.dot(u), "RMSNorm(E u) = sqrt(width) E u/|u|", value=scale),
    ]
    return combine(parts, f"width {width} does what width 3 does for LN")


def examples(width: int) -> Iterator[Instance]:
    """XOR by one RMSNorm layer, certified: from (-1, -1) the diagonal is one direction."""
    planar = sp.Matrix([[1, 0], [0, 1]])[:width, :]
    weight = [[int(v) for v in planar.row(i)] for i in range(width)]
    net = LNNet(
        [Layer(weight, [1] * width)],
        Layer([[128] * width], [-253]),
        ["apart", "diagonal"],
        Normalization("rms_norm"),
    )
    # Along the diagonal 128 (z1 + z2) is 256, off it 128 * 6/sqrt(10) = 242.9.
    certificate = exact.certify(net, [[0, 0], [1, 1], [0, 1], [1, 0]], ["diagonal"] * 2 + ["apart"] * 2)
    yield Instance("width of the certified net", certificate.width, 2)


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import integer_vectors

    vectors = integer_vectors(2).filter(any)
    return st.tuples(vectors, vectors)


def _holds(width: int, drawn: Any) -> bool:
    """Images coincide exactly where directions do: in squares with signs, RMSNorm being defined at both."""
    u, v = ([*vector, *[0] * (width - 2)][:width] for vector in drawn)
    if not any(u) or not any(v):
        return True
    coincide = _signature(u) == _signature(v)
    (a, b), (c, d) = drawn
    return coincide == bool(a * d == b * c and a * c + b * d > 0)


def _signature(row: list[int]) -> list[Any]:
    total = sum(value * value for value in row)
    return [(sp.sign(value), sp.Rational(value * value, total)) for value in row]


CLAIM = Claim(
    name="rmsnorm-width-two",
    topic=Topic.CIRCLE,
    title="RMSNorm-Nets need width 2 only",
    statement="RMSNorm of two neurons is the planar form of LN of three, so RMSNorm-Nets of width 2 realise "
    "whatever LN-Nets of width 3 do.",
    latex=r"\mathrm{RMSNorm}(u) = \sqrt2\,u/\lVert u\rVert,\qquad"
    r" \mathrm{LN}(Eu) = \sqrt3\,Eu/\lVert u\rVert\quad (u \in \mathbb R^2)",
    hypotheses=("u is not 0",),
    source="ours",
    kind=ClaimKind.UPPER,
    form=2,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("RMSNorm-Nets of width 1 realise whatever LN-Nets of width 3 do.", 1),
)
