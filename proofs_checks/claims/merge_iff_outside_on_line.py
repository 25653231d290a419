"""Which centres merge two points, and which make them antipodal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from ..claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Property, Theory, Topic, combine
from ..tools.identities import identities, identity, symbols
from ..tools.rational_plane import Vector, cross, dot, minus, same_direction, times
from ..tools.solver import for_all

# For which s the centre o = p + s (q - p) merges p and q; z3's Or and And, or Python's.
Merging = Callable[[Any, Any], Any]


def proof(merging: Merging) -> Evidence:
    """A layer sends z to the direction of A (z - o).

    ```
          o   p       q   o             merged: both in one direction from o
        ──●───●───────●───●──
    ```

    Equal directions mean A (p - o) = t A (q - o) with t > 0, that is p - o = t (q - o), A being invertible;
    antipodal ones the same with t < 0. A centre at infinity is an A of rank one, A z + c = n(z) a + c.
    """
    return combine(
        [_invertible(), _on_the_line(), _only_on_the_line(), _which_side(merging), _at_infinity()],
        claimed="merged iff on the line outside the segment; antipodal iff strictly inside",
    )


def _invertible() -> Evidence:
    """adj(A) A = det(A) I, so A v = 0 only for v = 0 = p - o - t (q - o)."""
    A = sp.Matrix(2, 2, symbols("a:4"))
    return identity(A.adjugate() * A, A.det() * sp.eye(2), "adj(A) A = det(A) I")


def _on_the_line() -> Evidence:
    """o = p + s (q - p) is seen so: (s - 1) (p - o) = s (q - o)."""
    p, q, (s,) = symbols("p:2"), symbols("q:2"), symbols("s")
    o = tuple(p[i] + s * (q[i] - p[i]) for i in range(2))
    return identities(
        [((s - 1) * (p[i] - o[i]), s * (q[i] - o[i])) for i in range(2)], "p - o = s/(s - 1) (q - o)"
    )


def _only_on_the_line() -> Evidence:
    """p - o = t (q - o) with p != q has t != 1 and o = p + s (q - p), s = t/(t - 1)."""
    p, q, (t,) = symbols("p:2"), symbols("q:2"), symbols("t")
    o = tuple((p[i] - t * q[i]) / (1 - t) for i in range(2))
    pairs = [(p[i] - o[i], t * (q[i] - o[i])) for i in range(2)]
    pairs += [(o[i], p[i] + t / (t - 1) * (q[i] - p[i])) for i in range(2)]
    return identities(pairs, "no other centre")


def _which_side(merging: Merging) -> Evidence:
    def statement(z3: Any) -> Any:
        s, t = z3.Reals("s t")
        defined = z3.And(s != 0, s != 1, t * (s - 1) == s)
        merged = (t > 0) == merging(s, z3.Or)
        antipodal = (t < 0) == z3.And(s > 0, s < 1)
        return z3.Implies(defined, z3.And(merged, antipodal))

    return for_all(Theory.NRA, statement, "t > 0 iff s < 0 or s > 1")


def _at_infinity() -> Evidence:
    """Images t1 a + c and t2 a + c, t = n.z, are parallel iff t1 = t2, a and c being independent."""
    a, c, (t1, t2) = symbols("a:2"), symbols("c:2"), symbols("t1 t2")
    images = [tuple(t * a[i] + c[i] for i in range(2)) for t in (t1, t2)]
    return identity(
        cross(*images), (t1 - t2) * cross(a, c), "a parallel projection merges along its direction"
    )


def python_or(*alternatives: bool) -> bool:
    """z3.Or for Python's truth values."""
    return any(alternatives)


def examples(merging: Merging) -> Iterator[Instance]:
    """Two points and a generic A, with centres on their line and off it."""
    p, q, A = (1, 2), (4, -3), [[2, 1], [1, 5]]
    for s in (
        Fraction(-2),
        Fraction(-1, 10**6),
        Fraction(1, 3),
        Fraction(1, 2),
        Fraction(7, 5),
        Fraction(10**6),
    ):
        o = _point(p, q, s)
        u, v = (times(A, minus(point, o)) for point in (p, q))
        yield Instance(f"s = {s} merges", same_direction(u, v), merging(s, python_or))
        yield Instance(f"s = {s} makes antipodal", cross(u, v) == 0 and dot(u, v) < 0, 0 < s < 1)
    o = (0, 0)
    yield Instance(
        "a centre off the line", same_direction(times(A, minus(p, o)), times(A, minus(q, o))), False
    )


def _point(p: Vector, q: Vector, s: Any) -> Vector:
    return p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1])


def _strategy() -> Any:
    from hypothesis import strategies as st

    from ..tools.small_data import fractions, integer_vectors, invertible

    pairs = st.tuples(integer_vectors(2), integer_vectors(2)).filter(lambda pair: pair[0] != pair[1])
    return st.tuples(pairs, fractions().filter(lambda s: s not in (0, 1)), fractions(), invertible(2))


def _holds(merging: Merging, drawn: Any) -> bool:
    """The centre lies at p + s (q - p), or off the line by `off` times its normal."""
    (p, q), s, off, A = drawn
    on_line = _point(p, q, s)
    o = (on_line[0] - off * (q[1] - p[1]), on_line[1] + off * (q[0] - p[0]))
    merged = same_direction(times(A, minus(p, o)), times(A, minus(q, o)))
    return merged == bool(off == 0 and merging(s, python_or))


CLAIM: Claim[Merging] = Claim(
    name="merge-iff-outside-on-line",
    topic=Topic.CIRCLE,
    title="Two points merge iff the centre is on their line, outside the segment",
    statement="The layer z -> A(z - o)/|A(z - o)|, A invertible, merges p and q exactly if o is on the line "
    "through them and outside the closed segment; it makes them antipodal exactly if o is strictly inside "
    "the segment.",
    latex=r"\frac{A(p-o)}{\lVert A(p-o)\rVert} = \frac{A(q-o)}{\lVert A(q-o)\rVert}"
    r" \iff o = p + s(q-p),\ s \notin [0, 1]",
    hypotheses=("p and q differ", "o is neither of them", "A invertible"),
    source="ours",
    kind=ClaimKind.EQUALITY,
    form=lambda s, either: either(s < 0, s > 1),
    proof=proof,
    examples=examples,
    property_test=Property(_strategy, _holds),
    twin=FalseTwin(
        "They merge exactly if o is on the line through them, other than p and q.",
        lambda s, either: either(s == s),
    ),
)
