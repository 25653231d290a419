r"""Bounds of the VC dimension and of the depth of width-3 LN-Nets, as numbers; no net is built here.

For the nets of L LN layers of width 3 on R^d whose read-out is the sign of one affine score:

======================  ===========================================================================
lower, the paper's      L + 2
lower, ours             4L + 1 for d >= 2, but 6 at L = 1 and 13 at L = 2; 4L - 3 and 2L + 1 for d = 1;
                        d + 1 for every d
upper, ours             of order P L with P = 2d + 4L - 2 effective parameters (`counting_bound`);
                        2^L + 1 for d = 1; 6 at L = 1, d = 2
======================  ===========================================================================

So the VC dimension is 3, 5 and 9 at L = 1, 2, 3 on a line, and 6 at L = 1 in the plane.

**Lower.** With m = 4L + 1 points in convex position the rarer label has k <= 2L of them, and ``pairs`` (two
merges a layer) needs max(1, ceil(k / 2)) <= L layers; for m = 4L - 3 distinct points of any dimension,
k <= 2L - 2 and 1 + ceil(k / 2) <= L. One and two layers do more on points that are not in convex position:
`SIX` and `THIRTEEN`. `lntheory.vc.build_lower_bound` does not rely on that argument: it builds a net for each
labeling and records them all, and `lntheory.exact.verify_shattering` proves each one right.

**Upper, on a line** [ours]. A layer's preimage of an arc of the circle is at most two arcs, so the positive
part of the first circle is at most 2^(L-1) arcs, with 2^L ends; each end is the image of at most one point of
the line, so a score changes sign at most 2^L times: 2^L + 2 alternating points are out of reach.

**Upper, one layer in the plane** [ours]. On finite sets, one layer and an affine score realise exactly the
labelings whose positive points are cut out by the intersection or the union of two half-planes (a wedge with
the centre as its apex, or a strip). Whether a labeling is of this kind depends only on the orientations of
the triples of points. For each of the 908 normalised orientations of seven points some labeling is not (the
claim ``vc-dimension-one-layer`` enumerates them).

**Upper, by counting** [ours]. Up to rotations and positive factors, which the next layer absorbs, a net is
determined by ``P = 2d + 4(L - 1) + 2`` numbers and one sign: layer 1 sends x to the direction of A x + c with
A in R^(2 x d), the later ones z to that of T z + c with T = [[1, s], [0, t]] (nets with singular A or T can
be perturbed, as strict signs are stable), the read-out is a direction and an offset. Write ``v_1 = A x + c``,
``q_k = |v_k|^2``, ``r_k = sqrt(q_k)`` and ``v_{k+1} = T v_k + c r_k``: the score has the sign of
``S = n . v_L + h r_L``, an element of R[parameters][r_1, ..., r_L] of weighted degree L + 1, where r_k has
weight k. The sign of ``a + b r_L`` follows from the signs of a, b and ``a^2 - b^2 q_L``, so eliminating r_L,
..., r_1 leaves at most 3^L polynomials in P variables for each sample, of degree at most D = (L + 1) 2^L.
Strict signs being stable, parameters can be chosen off the zero sets, and by Warren's theorem the m 3^L
polynomials leave at most (4 e D m 3^L / P)^P sign patterns. Shattering m points needs 2^m labelings, so
``2^m <= 2 (4 e D m 3^L / P)^P``.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255), section 4.
Warren, "Lower bounds for approximation by nonlinear manifolds", Trans. AMS 133 (1968), theorem 2.
"""

from __future__ import annotations

import flint

from lntheory.base.validation import as_count

__all__ = [
    "SIX",
    "THIRTEEN",
    "alternating_depth",
    "counting_bound",
    "least_depth",
    "lower_bound",
    "most_sign_changes",
    "paper_lower_bound",
    "upper_bound",
]

SIX = ((0.0, 6.0), (0.0, 1.0), (6.0, 2.0), (5.0, 6.0), (4.0, 0.0), (1.0, 3.0))
"""Six points of the plane that one layer shatters; no six points in convex position are shattered by one."""
THIRTEEN = (
    (-66.0, 258.0),
    (-34.0, 136.0),
    (-103.0, -151.0),
    (218.0, 128.0),
    (22.0, 135.0),
    (4.0, -183.0),
    (-169.0, -48.0),
    (156.0, -69.0),
    (-179.0, 24.0),
    (-44.0, -69.0),
    (-88.0, 45.0),
    (38.0, 5.0),
    (34.0, -38.0),
)
"""Thirteen points of the plane that two layers shatter; in convex position they shatter at most nine."""


def paper_lower_bound(depth: int) -> int:
    """The paper's lower bound of the VC dimension, ``depth + 2`` (any dimension, depth >= 1).

    Examples
    --------
    >>> paper_lower_bound(10)
    12
    """
    as_count(depth, "depth", 1)
    return depth + 2


def lower_bound(depth: int, dim: int) -> int:
    """Our lower bound of the VC dimension of width-3 LN-Nets with `depth` LN layers on R^dim.

    ``4 depth + 1`` for dim >= 2 (6 at depth 1, 13 at depth 2), ``4 depth - 3`` and at least ``2 depth + 1``
    for dim = 1, and never less than the ``dim + 1`` of affine classifiers, which is exact at depth 0.
    `lntheory.vc.build_lower_bound` certifies it for a given depth.

    Raises
    ------
    InvalidInputError
        For a negative depth or a dimension below 1.

    Examples
    --------
    >>> lower_bound(5, 2), lower_bound(5, 1), lower_bound(0, 7)
    (21, 17, 8)
    """
    as_count(depth, "depth", 0)
    as_count(dim, "dim", 1)
    if depth == 0:
        return dim + 1
    if dim == 1:
        return max(2 * depth + 1, 4 * depth - 3)
    return max(dim + 1, {1: len(SIX), 2: len(THIRTEEN)}.get(depth, 4 * depth + 1))


def upper_bound(depth: int, dim: int) -> int:
    """The best proved upper bound of the VC dimension of width-3 LN-Nets with `depth` LN layers on R^dim.

    It is `counting_bound`, or ``2^depth + 1`` for dim = 1 and 6 for depth 1 and dim 2 if that is smaller; the
    module's docstring has the proofs.

    Raises
    ------
    InvalidInputError
        For a negative depth or a dimension below 1.

    Examples
    --------
    >>> [upper_bound(depth, 1) == lower_bound(depth, 1) for depth in (0, 1, 2, 3)]
    [True, True, True, True]
    >>> upper_bound(0, 2), upper_bound(1, 2)
    (3, 6)
    """
    counted = counting_bound(depth, dim)
    if dim == 1:
        return min(counted, most_sign_changes(min(depth, 64)) + 1)
    return min(counted, 6) if (depth, dim) == (1, 2) else counted


def counting_bound(depth: int, dim: int) -> int:
    """An upper bound of the VC dimension by counting sign patterns.

    The largest m with ``2^m <= 2 (4 e D m 3^L / P)^P`` where ``P = 2 dim + 4 L - 2`` and ``D = (L + 1) 2^L``;
    the module's docstring has the proof. At depth 0 it is dim + 1, exactly. It is computed in ball
    arithmetic: the inequality provably fails for m + 1 and beyond, where the left side grows faster.

    Raises
    ------
    InvalidInputError
        For a negative depth or a dimension below 1.

    Examples
    --------
    >>> counting_bound(0, 2), counting_bound(2, 2) >= lower_bound(2, 2)
    (3, True)
    """
    as_count(depth, "depth", 0)
    as_count(dim, "dim", 1)
    if depth == 0:
        return dim + 1
    low, high = 1, 2
    while not _too_many(high, depth, dim):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _too_many(middle, depth, dim) else (middle, high)
    return low


def least_depth(n_samples: int, dim: int) -> int:
    """A depth below which width-3 LN-Nets shatter no set of n_samples points of R^dim.

    It is the least depth whose `upper_bound` is at least n_samples.

    Examples
    --------
    >>> least_depth(3, 2), least_depth(1000, 2) > 1
    (0, True)
    """
    as_count(n_samples, "n_samples", 1)
    depth = 0
    while upper_bound(depth, dim) < n_samples:
        depth += 1
    return depth


def _too_many(n_samples: int, depth: int, dim: int) -> bool:
    """Whether 2^m provably exceeds the count of sign patterns, for this m and every larger one.

    m - log2 of the count is convex in m and increases from m = P / ln 2 on, where it is still negative.
    """
    parameters = 2 * dim + 4 * depth - 2
    with flint.ctx.workprec(128):
        m, p = flint.arb(n_samples), flint.arb(parameters)
        degree = flint.arb(depth + 1) * flint.arb(2) ** depth
        patterns = p * (4 * flint.arb(1).exp() * degree * m * flint.arb(3) ** depth / p).log()
        return bool(m > p / flint.arb.const_log2()) and bool((m - 1) * flint.arb.const_log2() > patterns)


def most_sign_changes(depth: int) -> int:
    """The most sign changes that the difference of two scores can have along a line: ``2^depth`` [ours].

    Examples
    --------
    >>> most_sign_changes(3)
    8
    """
    return 1 << as_count(depth, "depth", 0)


def alternating_depth(n_samples: int) -> int:
    """Least depth that fits alternating labels of points in convex position: ``ceil(log2(floor(m / 2)))``.

    This is ours: a layer at most halves the number of runs (claim ``alternating-depth-lower-bound``).

    Examples
    --------
    >>> [alternating_depth(m) for m in (3, 4, 8, 9, 16, 17)]
    [0, 1, 2, 2, 3, 3]
    """
    return max(0, (as_count(n_samples, "n_samples", 1) // 2 - 1).bit_length())
