"""Four cyclic runs of two labels are settled by one layer and the read-out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lntheory import exact
from lntheory.network import Layer, LNNet

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Theory, Topic, combine
from ..tools.identities import identity, symbols
from ..tools.solver import for_all

FloatArray = NDArray[np.float64]
Quadrants = Callable[[Any, Any, Any], Any]


def proof(negative: Quadrants) -> Evidence:
    """One line closes each negative gap; in their values (u, v) the positives fill the open first quadrant.

    The two lines meet outside the circle, in o say, so (u, v) is a linear function of z - o: a layer. (Lines
    that are parallel can be turned a little, their ends lie in open gaps.) No point is beyond both lines.
    """

    def read(z3: Any) -> Any:
        u, v, r = z3.Reals("u v r")
        on_circle = z3.And(r > 0, r * r == u * u + v * v)
        positive = z3.Implies(z3.And(on_circle, u > 0, v > 0), u + v - r > 0)
        return z3.And(positive, z3.Implies(z3.And(on_circle, negative(z3, u, v)), u + v - r < 0))

    x, y, a, b, c = symbols("x y a b c")
    o = symbols("o_x o_y")
    line = a * x + b * y + c
    through = line.subs(c, -a * o[0] - b * o[1])
    return combine(
        [
            identity(through, a * (x - o[0]) + b * (y - o[1]), "a line through o is linear in z - o"),
            for_all(Theory.NRA, read, "u + v - |(u, v)| has the label's sign"),
        ],
        claimed="one layer",
    )


def examples(negative: Quadrants) -> Iterator[Instance]:
    """The explicit net is certified on points of the circle in four runs of one to three points each."""
    generator = np.random.default_rng(0)
    for sizes in ([1, 1, 1, 1], [2, 1, 3, 1], [3, 2, 1, 2]):
        angles = np.sort(generator.uniform(-3.0, 2.5, sum(sizes)))
        ends = np.append((angles[1:] + angles[:-1]) / 2, np.pi)
        cuts = ends[np.cumsum(sizes) - 1]
        points = np.column_stack([np.cos(angles), np.sin(angles)])
        net = _net(_line(cuts[0], cuts[1]), _line(cuts[2], cuts[3]))
        certificate = exact.certify(net, points, np.repeat([1, 0, 1, 0], sizes))
        yield Instance(f"runs {sizes}: margin", certificate.margin, 0, ">=")
        yield Instance(f"runs {sizes}: layers", certificate.depth, 1)


def _line(start: float, end: float) -> tuple[FloatArray, float]:
    """Normal and offset of the chord between two angles, negative on the arc that it cuts off."""
    middle, half = (start + end) / 2, (end - start) / 2
    return -np.array([np.cos(middle), np.sin(middle)]), float(np.cos(half))


def _net(first: tuple[FloatArray, float], second: tuple[FloatArray, float]) -> LNNet:
    """LN of the distances (u, v) to two lines, in an orthonormal basis of the plane that LN centres onto."""
    basis = np.array([[1, 1], [-1, 1], [0, -2]]) / np.sqrt([2, 6])
    layer = Layer(basis @ np.stack([first[0], second[0]]), basis @ [first[1], second[1]])
    return LNNet((layer,), Layer([basis.sum(axis=1) / np.sqrt(3)], [-1.0]), (0, 1))


CLAIM = Claim(
    name="four-runs-one-layer",
    topic=Topic.DEPTH,
    title="Four runs are settled by the last layer",
    statement="Two labels in four cyclic runs on the circle are separated by one more layer and an affine "
    "read-out.",
    latex=r"u, v > 0 \iff u + v > \sqrt{u^2 + v^2}",
    hypotheses=("u, v: signed distances to a line closing each negative gap", "no point beyond both lines"),
    source="ours",
    kind=ClaimKind.UPPER,
    form=lambda z3, u, v: z3.Or(z3.And(u < 0, v > 0), z3.And(u > 0, v < 0)),
    proof=proof,
    twin=FalseTwin(
        "The same read-out separates negatives that touch a closing line.",
        lambda z3, u, v: z3.Or(z3.And(u <= 0, v > 0), z3.And(u > 0, v <= 0)),
    ),
)
