"""No linear network, and no batch normalization of a fixed batch, goes below LSSR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import sympy as sp

from lntheory import exact

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Topic, combine
from ..tools.identities import identity, symbols
from ..tools.rational_scatter import eigenvalues, mapped

# A map of samples: (matrix B, shift b, sample x) -> image, on sympy columns.
Map = Callable[[Any, Any, Any], Any]


def proof(phi: Map) -> Evidence:
    """Every linear read-out of the image is an affine read-out of the samples, whose scatter does not see
    shifts.

    So w' S(phi(X)) w = v' S(X) v with v = B' w for S_w and S_t alike: the ratios of phi(X) are among those of
    X, and an infimum over fewer is no smaller.
    """
    return combine(
        chain(
            (_affine_along_every_direction(phi, p, d) for p in (1, 2, 3) for d in (1, 2, 3)),
            (_batch_norm_is_affine(n) for n in (2, 3)),
        ),
        claimed="LSSR(phi(X)) >= LSSR(X)",
    )


def _affine_along_every_direction(phi: Map, p: int, d: int) -> Evidence:
    """Differences of w' phi are v' times differences of samples, v = B' w."""
    B, b, w = (
        sp.Matrix(p, d, symbols(f"b:{p * d}")),
        sp.Matrix(symbols(f"c:{p}")),
        sp.Matrix(symbols(f"w:{p}")),
    )
    x, z = sp.Matrix(symbols(f"x:{d}")), sp.Matrix(symbols(f"z:{d}"))
    image = (w.T * (phi(B, b, x) - phi(B, b, z)))[0]
    return identity(image, ((B.T * w).T * (x - z))[0], "read-outs of phi(x), up to 3 x 3")


def _batch_norm_is_affine(n: int) -> Evidence:
    """One feature of a batch of n: (x_i - mean)/s is x_i times a number plus a number, whatever s is."""
    x, (s,) = symbols(f"x:{n}"), symbols("s", positive=True)
    mean = sum(x) / n
    return identity((x[0] - mean) / s, x[0] / s - mean / s, "BN of a fixed batch is affine per feature")


def linear(B: Any, b: Any, x: Any) -> Any:
    """B x + b."""
    return B * x + b


def with_layer_norm(B: Any, b: Any, x: Any) -> Any:
    """LN(B x + b) (scaling alone where there is one neuron)."""
    u = B * x + b
    if u.rows > 1:
        u = u - sp.ones(u.rows, 1) * (sum(u) / u.rows)
    return u * sp.sqrt(u.rows) / sp.sqrt(u.dot(u))


XOR = [[0, 0], [1, 1], [0, 1], [1, 0]]
CASES: tuple[tuple[str, list[list[int]], list[int]], ...] = (
    # From the centre (-1, -1), two steps off: the diagonal is one direction, the others lie beside it.
    ("XOR into three neurons", [[5, 7], [-7, -5], [2, -2]], [-4, 8, -4]),
    ("XOR mixed", [[1, 2], [3, 4]], [5, 1]),
    ("XOR projected", [[2, 1]], [3]),
)


def examples(phi: Map) -> Iterator[Instance]:
    """LSSR before and after, of XOR (where it is 1) and of data where it is not."""
    for name, B, b in CASES:
        images = [list(phi(sp.Matrix(B), sp.Matrix(b), sp.Matrix(x))) for x in XOR]
        yield Instance(name, _least_ratio(images, "aabb"), sp.Integer(1), ">=")
    X, y = [[0, 0], [1, 2], [3, 1], [2, 5], [4, 4]], "aabbb"
    for B in ([[1, 2], [3, 4]], [[1, 1]], [[2, 4], [1, 2]]):
        yield Instance(f"mapped by {B}", exact.lssr(mapped(B, X), list(y)), exact.lssr(X, list(y)), ">=")


def _least_ratio(images: list[list[Any]], y: str) -> Any:
    """The least eigenvalue for algebraic images: of two classes, 1 - (m1 m2/m) delta' S_t^+ delta."""
    points = [sp.Matrix(image) for image in images]
    mean = sum(points, sp.zeros(len(images[0]), 1)) / len(points)
    total = sum(((p - mean) * (p - mean).T for p in points), sp.zeros(len(images[0])))
    groups = [[p for p, own in zip(points, y, strict=True) if own == label] for label in sorted(set(y))]
    means = [sum(group[1:], group[0]) / len(group) for group in groups]
    delta, weight = means[0] - means[1], sp.Rational(len(groups[0]) * len(groups[1]), len(points))
    return sp.simplify(1 - weight * (delta.T * total.pinv() * delta)[0])


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import integer_vectors, labelled_rows, matrices

    def with_map(data: Any) -> Any:
        sizes = st.integers(1, 3)
        return sizes.flatmap(
            lambda p: st.tuples(st.just(data), matrices(p, len(data[0][0])), integer_vectors(p))
        )

    return labelled_rows().flatmap(with_map)


def _holds(phi: Map, drawn: Any) -> bool:
    """By the pencil of the definitions. A map that leaves no distinct images, or none, says nothing."""
    (X, y), B, b = drawn
    if phi is linear:
        images = mapped(B, X, b)
        return images.count(images[0]) == len(images) or eigenvalues(images, y)[0] >= eigenvalues(X, y)[0]
    signs = [[sp.sign(v) for v in phi(sp.Matrix(B), sp.Matrix(b), sp.Matrix(row))] for row in X]
    if len(B) != 1 or any(0 in row or sp.nan in row for row in signs) or signs.count(signs[0]) == len(signs):
        return True  # one neuron is scaled to its sign, a rational number: enough to refute
    return bool(eigenvalues([[int(v) for v in row] for row in signs], y)[0] >= eigenvalues(X, y)[0])


CLAIM: Claim[Map] = Claim(
    name="lssr-monotone",
    topic=Topic.SEPARABILITY,
    title="No linear map lowers LSSR",
    statement="LSSR of phi(X) is at least that of X for every affine phi that does not merge all samples; "
    "so no linear network, and no batch normalization of a fixed batch, has an SSR below LSSR.",
    latex=r"\mathrm{LSSR}(\varphi(X), y) \ge \mathrm{LSSR}(X, y)\quad\text{for affine }\varphi",
    hypotheses=("the images do not all coincide",),
    source="ours",
    kind=ClaimKind.LOWER,
    form=linear,
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin("The same for a linear map followed by layer normalization.", with_layer_norm),
)
