r"""What the layers of an LN-Net do to samples, in ball arithmetic (python-flint's `arb`).

Every number is an interval that is proved to contain the true value. There are two kinds of enclosure:

*Balls* (any widths, normalization and eps): every operation is evaluated on balls. This is sound, but balls
forget that the coordinates of a point move together, and lose 3 to 4 bits a layer.

*Arcs* (LayerNorm of three neurons, eps = 0): such a layer maps a circle to a circle, so a sample is one
angle. It is held as a base direction v and an angle r: the true point lies within r of v::

                · · v                    An arc moves as a whole: its new half-width is at most
            ·      ╱╲                    r · sup |f'| over the arc (mean value theorem), plus the
           ·      o──► true point        angle by which rounding moved the base. Nothing is lost per
            ·   (at most r away)         layer: arcs widen and narrow as the net stretches and merges.

Derivation of the arcs
----------------------
LN(h) = √3 u/‖u‖ for h in R³, where u is h with its mean taken away. Write u by its first two coordinates
(u₃ = -u₁ - u₂): then ‖u‖² = Q(u) = 2(u₁² + u₁u₂ + u₂²), and the points after a layer lie on the circle Q = 3.
The next layer is an affine map u = A p + c of the plane, followed by u -> √3 u/‖u‖. A and c are exact: they
come from W and b by subtractions, times 3 (LN does not see the factor).

1. *Any length of v will do.* The base is the direction of a vector v of exact binary coordinates, so nothing
   is ever normalized. Let s = √(v₁² + v₁v₂ + v₂²), so ‖v‖ = √2 s, and λ = ‖v‖/√3 = √(2/3) s. The point is
   v/λ, and u' = A v + λ c has the direction of its image A v/λ + c. Let s' belong to u' as s to v.
2. *Derivative.* Turning by 90 degrees in the geometry of Q is J = K/√3, K = [[-1, -2], [2, 1]], and its area
   form is √3 det. When p moves by dθ, u moves by A J p dθ, so its angle moves by √3 det(u, A J p)/Q(u) dθ:
   f' = det(u, A K p)/Q(u). As det(p, K p) = Q(p) = 3, the numerator is 3 det A + g·p, affine in p, where
   g·p = det(c, A K p). In terms of v: **f' = s n/s'²** with **n = det(A) s + g·v/√6**.
3. *Over the arc.* A point at angle at most r from p is p + d with ‖d‖ ≤ √3 r (chord ≤ arc), so |d₁|, |d₂| ≤
   √2 r, as Q(d) ≥ 3/2 d₁² whatever d₂ is. Let ρ = s r. Then n moves by at most (2/√3) ρ (|g₁| + |g₂|)/√6, and
   s' by at most ‖λ A d‖/√2 ≤ (2/√3) ρ Σ|aᵢⱼ|, since ‖e‖² ≤ 2(|e₁| + |e₂|)². We use 1.2 > 2/√3.
   If the enclosure of s' reaches zero, the quotient is NaN and remains so: the sample is reported as lost.
4. *Rounding.* u' is computed as a ball of componentwise radii e₁, e₂, and its midpoint is the next v. The
   exact vector is within √2 (e₁ + e₂) of v in norm, so s' is off by at most e₁ + e₂ and the direction by an
   angle of at most π (e₁ + e₂)/s' (for x ≤ 1, arcsin x ≤ π x; beyond, no angle exceeds π). We use 3.2 > π.

Together, with ρ' = s' r':  **ρ' = ρ |n ± ...| s'/(s' ± ...)² + 3.2 (e₁ + e₂)**. At the end the coordinates of
the point, the third included, are √3 v/‖v‖ ± √2 r.

The working precision is global state in python-flint; it is set locally here and restored.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
F. Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval arithmetic", IEEE Transactions on
Computers 66 (2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import flint
import numpy as np
from flint import arb, arb_mat, fmpq, fmpz, fmpz_mat
from numpy.typing import NDArray

from lntheory.base.types import FloatArray, Progress
from lntheory.errors import DegenerateInputError, UndecidedError
from lntheory.network.labels import Label
from lntheory.network.layer import ArithmeticName, Layer, Normalization
from lntheory.network.numbers import as_integers

__all__ = [
    "Enclosure",
    "Network",
    "centred_row",
    "decided_classes",
    "enclose",
    "rounded_scores",
    "rounded_trace",
    "scaled_row",
    "starting_precision",
    "winner",
]

_T = TypeVar("_T")

MAX_PRECISION = 1 << 16
"""Limit of the precision, in bits, for predictions of a dyadic net; beyond it `UndecidedError` is raised."""


def centred_row(row: Sequence[Any], norm: Normalization) -> list[Any]:
    """The row with each group's mean subtracted (unchanged for RMSNorm), in the arithmetic of its entries."""
    if norm.kind == "rms_norm":
        return list(row)
    size = len(row) // (norm.num_groups or 1)
    result = []
    for start in range(0, len(row), size):
        group = row[start : start + size]
        total = sum(group[1:], group[0])
        mean = total / size
        result += [value - mean for value in group]
    return result


def scaled_row(row: Sequence[Any], norm: Normalization) -> list[arb] | None:
    """A centred row with each group divided by sqrt(mean of its squares + eps), as balls.

    The result is None if a divisor is proved to be zero; a group whose divisor may be zero becomes NaN.
    """
    size = len(row) // (norm.num_groups or 1)
    result = []
    for start in range(0, len(row), size):
        group = row[start : start + size]
        square = sum((value * value for value in group[1:]), group[0] * group[0])
        if square == 0 and norm.eps == 0:  # for balls, == holds only if it is proved
            return None
        factor = (arb(square) / size + arb(norm.eps)).rsqrt()
        result += [arb(value) * factor for value in group]
    return result


# ---------------------------------------------------------------------------------------- whole nets


class Network(Protocol):
    """The attributes of a net that this module reads. `LNNet`, which calls this module, has them."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The normalized layers."""
        ...

    @property
    def readout(self) -> Layer:
        """The affine map to the scores."""
        ...

    @property
    def normalization(self) -> Normalization:
        """The normalization that follows every layer."""
        ...

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes of the scores."""
        ...

    @property
    def depth(self) -> int:
        """Number of layers."""
        ...

    @property
    def arithmetic(self) -> ArithmeticName:
        """How the parameters are held."""
        ...


@dataclass(frozen=True)
class Enclosure:
    """Balls around the points and the scores that a net gives to samples.

    Attributes
    ----------
    points : list of rows of arb
        The points after the last layer, one row for each sample (the samples themselves at depth 0).
    scores : list of rows of arb
        The read-out's scores, one row for each sample.
    lost : dict
        Index of a sample -> index of the first layer at which it is not excluded that the sample's variance
        is zero. The balls of such a sample are not finite.
    degenerate : dict
        Index of a sample -> index of the first layer at which its variance is proved to be zero. The balls of
        such a sample are not finite.
    method : str
        The kind of enclosure, ``"arcs"`` or ``"balls"`` (see the module's docstring).
    precision : int
        Working precision in bits.
    """

    points: list[list[arb]]
    scores: list[list[arb]]
    lost: dict[int, int]
    degenerate: dict[int, int]
    method: str
    precision: int


def enclose(net: Network, X: FloatArray, *, precision: int, progress: Progress | None = None) -> Enclosure:
    """Enclose the points after the last layer and the scores of every sample, at one precision.

    Parameters
    ----------
    net : LNNet, or any object with the attributes of `Network`
    X : ndarray of float64, shape (n_samples, n_features)
        Finite numbers, read as the rationals that they are.
    precision : int
        Working precision in bits.
    progress : callable (done, total), optional
        Called after every layer.

    Returns
    -------
    Enclosure

    Examples
    --------
    >>> from lntheory.network import Layer, LNNet
    >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
    >>> print(enclose(net, np.array([[3.0]]), precision=53).scores[0][0])
    [2.40535117721182 +/- 2.62e-15]
    """
    with flint.ctx.workprec(precision):
        state = propagation(net, X)
        for k in range(net.depth):
            state.advance(k)
            if progress is not None:
                progress(k + 1, net.depth)
        points = state.points()
        scores = _affine(net.readout, points)
        return Enclosure(points, scores, state.lost, state.degenerate, state.method, precision)


def starting_precision(net: Network) -> int:
    """The precision to try first, in bits: that of the parameters, in whole 64-bit words, at least two."""
    if net.arithmetic == "float64":
        return 128
    parameters = (
        value for layer in (*net.layers, net.readout) for value in (*layer.weight.flat, *layer.bias)
    )
    widest = max(abs(value.numerator).bit_length() for value in parameters)
    return int(64 * max(2, -(-widest // 64)))


class Propagation(Protocol):
    """Enclosures of all samples, one layer further at every `advance` (called at the working precision)."""

    method: str
    lost: dict[int, int]
    degenerate: dict[int, int]

    def advance(self, k: int) -> None: ...
    def points(self) -> list[list[arb]]: ...
    def rounded(self) -> tuple[FloatArray, NDArray[np.bool_]]: ...


def propagation(net: Network, X: FloatArray) -> Propagation:
    """The samples before the first layer: arcs if every layer is a LayerNorm of three neurons, else balls."""
    norm = net.normalization
    on_circle = norm.kind == "layer_norm" and norm.eps == 0 and all(layer.n_out == 3 for layer in net.layers)
    return Arcs(net, X) if on_circle and net.depth else Balls(net, X)


class Arcs:
    """The arcs of the module's docstring: per sample v₁, v₂ (exact), s (a ball) and [-ρ, ρ] (a ball)."""

    method = "arcs"

    def __init__(self, net: Network, X: FloatArray) -> None:
        self.net = net
        self.lost: dict[int, int] = {}
        self.degenerate: dict[int, int] = {}
        self.arcs: list[tuple[arb, arb, arb, arb]] = []
        self._first = _exact_affine(net.layers[0], X)[0]

    def advance(self, k: int) -> None:
        if k == 0:
            self._begin()
            return
        plane = plane_of(self.net.layers[k])
        if plane.is_zero:
            self.degenerate.update((i, k) for i in range(len(self.arcs)) if i not in self.degenerate)
        # What is linear in (v₁, v₂, s, ρ) is one product for all samples; the rest is computed one by one.
        count = len(self.arcs)
        columns = arb_mat(4, count, [value for row in zip(*self.arcs, strict=True) for value in row])
        images = arb_mat([[*plane.a1, plane.c[0], 0], [*plane.a2, plane.c[1], 0]]) * columns
        bases = images.mid()
        rounding = arb_mat([[1, 1]]) * (images - bases)
        numerators = arb_mat([[*plane.g, plane.det, plane.slack_n]]) * columns
        slacks = rounding + arb_mat([[0, 0, 0, plane.slack_s]]) * columns
        more_than_pi = arb("3.2")
        base = bases.entries()
        arcs = []
        for (_, _, _, rho), v1, v2, n, e, slack in zip(
            self.arcs, base[:count], base[count:], numerators.entries(), rounding.entries(), slacks.entries(),
            strict=True,
        ):  # fmt: skip
            s = (v1 * (v1 + v2) + v2 * v2).sqrt()
            lower = s + slack
            arcs.append((v1, v2, s, rho * n * s / (lower * lower) + e * more_than_pi))
        self.keep(arcs, k)

    def _begin(self) -> None:
        """The first layer, exact but for one rounding: its inputs are samples, not points of a circle."""
        arcs = []
        more_than_pi = arb("3.2")
        for i, (h1, h2, h3) in enumerate(self._first):
            total = h1 + h2 + h3
            u1, u2 = 3 * h1 - total, 3 * h2 - total
            if not (u1 or u2):
                self.degenerate[i] = 0
            # The first two of three exact coordinates, rounded to the working precision as balls.
            ball1, ball2 = arb(u1) * 1, arb(u2) * 1
            v1, v2 = ball1.mid(), ball2.mid()
            s = (v1 * (v1 + v2) + v2 * v2).sqrt()
            arcs.append((v1, v2, s, ((ball1 - v1) + (ball2 - v2)) * more_than_pi))
        self.keep(arcs, 0)

    def keep(self, arcs: list[tuple[arb, arb, arb, arb]], k: int) -> None:
        self.arcs = arcs
        for i, arc in enumerate(arcs):
            if not arc[3].is_finite() and i not in self.degenerate:
                self.lost.setdefault(i, k)

    def points(self) -> list[list[arb]]:
        rows = []
        length, reach = arb("1.5").sqrt(), arb(2).sqrt()
        for v1, v2, s, rho in self.arcs:
            off = rho * reach / s
            scale = length / s
            rows.append([v1 * scale + off, v2 * scale + off, -(v1 + v2) * scale + off])
        return rows

    def rounded(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The points as float64, and a mask of those that are proved to be accurate.

        Accurate means off by at most 8u times the largest coordinate, which is at least 1 (u = 2^-53).
        v₁/s, √1.5 and their product are rounded once each, so x₁ and x₂ are off by at most 3u of themselves,
        and x₃ = -(x₁ + x₂), rounded once more, by at most 7u of the largest. That leaves u for √2 ρ/s.
        """
        narrow = arb((1, -55))
        numbers = [(float(v1 / s), float(v2 / s), rho < s * narrow) for v1, v2, s, rho in self.arcs]
        rows = np.array(numbers).reshape(-1, 3)
        plane = math.sqrt(1.5) * rows[:, :2]
        return np.column_stack([plane, -plane.sum(axis=1)]) + 0.0, rows[:, 2].astype(np.bool_)


class Balls:
    """The general enclosure, in which every coordinate is a ball."""

    method = "balls"

    def __init__(self, net: Network, X: FloatArray) -> None:
        self.net = net
        self.lost: dict[int, int] = {}
        self.degenerate: dict[int, int] = {}
        integers, exponent = as_integers(X)
        unit = arb(2) ** exponent
        self.rows: list[list[arb]] = [[arb(value) * unit for value in row] for row in integers]
        self._first = _exact_affine(net.layers[0], X) if net.depth else None

    def advance(self, k: int) -> None:
        norm = self.net.normalization
        if k == 0:  # centring is exact, so a far shift of the samples costs nothing
            assert self._first is not None
            integers, exponent = self._first
            unit = fmpq(2) ** exponent
            rows: list[list[Any]] = [[value * unit for value in row] for row in integers]
        else:
            rows = _affine(self.net.layers[k], self.rows)
        self.rows = []
        for i, row in enumerate(rows):
            scaled = scaled_row(centred_row(row, norm), norm)
            if scaled is None:
                self.degenerate.setdefault(i, k)
            elif i not in self.degenerate and not all(ball.is_finite() for ball in scaled):
                self.lost.setdefault(i, k)
            self.rows.append(scaled or [arb.nan()] * len(row))

    def points(self) -> list[list[arb]]:
        return self.rows

    def rounded(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The points as float64, and a mask of those whose coordinates are off by less than a unit in the
        last place each; the others are NaN."""
        rounded = [rounded_row(row) for row in self.rows]
        unknown = [math.nan] * len(self.rows[0])
        points = np.array([unknown if row is None else row for row in rounded], dtype=np.float64)
        return points, np.array([row is not None for row in rounded])


def _affine(layer: Layer, rows: list[list[arb]]) -> list[list[arb]]:
    weight, bias = arb_mat(_arbs(layer.weight)).transpose(), _arbs(layer.bias[None, :])[0]
    product = arb_mat(rows) * weight
    entries, width = product.entries(), len(bias)
    return [
        [value + shift for value, shift in zip(entries[i : i + width], bias, strict=True)]
        for i in range(0, len(entries), width)
    ]


class PlaneMap(NamedTuple):
    """A layer that maps the circle to itself, in the symbols of the module's docstring."""

    a1: tuple[arb, arb]  # A, exact
    a2: tuple[arb, arb]
    c: tuple[arb, arb]  # c √(2/3), to be multiplied by s
    g: tuple[arb, arb]  # g/√6
    det: arb
    slack_n: arb  # how far n moves for every unit of ρ
    slack_s: arb  # how far s' moves for every unit of ρ
    is_zero: bool  # whether the layer maps every point to zero variance


def plane_of(layer: Layer) -> PlaneMap:
    """A layer of three inputs and three neurons as a map of the plane, at the working precision."""
    rows = as_integers(np.column_stack([layer.weight, layer.bias]))[0]
    # On the circle x₃ = -x₁ - x₂, hence the differences of columns. The three outputs are centred and
    # multiplied by 3, hence the column sums.
    columns = [[row[0] - row[2], row[1] - row[2], row[3]] for row in rows]
    totals = [a + b + c for a, b, c in zip(*columns, strict=True)]
    plane = [[3 * value - total for value, total in zip(row, totals, strict=True)] for row in columns[:2]]
    (a11, a12, c1), (a21, a22, c2) = plane
    root_6, root_2_3 = arb(6).sqrt(), (arb(2) / 3).sqrt()
    g1 = arb(c1 * (2 * a22 - a21) - c2 * (2 * a12 - a11)) / root_6
    g2 = arb(c1 * (a22 - 2 * a21) - c2 * (a12 - 2 * a11)) / root_6
    more_than_2_over_root_3 = arb("1.2")
    return PlaneMap(
        a1=(arb(a11), arb(a12)),
        a2=(arb(a21), arb(a22)),
        c=(arb(c1) * root_2_3, arb(c2) * root_2_3),
        g=(g1, g2),
        det=arb(a11 * a22 - a12 * a21),
        slack_n=(g1.abs_upper() + g2.abs_upper()) * more_than_2_over_root_3,
        slack_s=arb(abs(a11) + abs(a12) + abs(a21) + abs(a22)) * more_than_2_over_root_3,
        is_zero=not any((*plane[0], *plane[1])),
    )


def _exact_affine(layer: Layer, X: FloatArray) -> tuple[list[list[fmpz]], int]:
    """``weight @ x + bias`` for every sample x, as (integers, exponent): value = integer * 2**exponent."""
    samples, below = as_integers(X)
    rows, exponent = as_integers(np.column_stack([layer.weight, layer.bias]))
    weight = fmpz_mat([row[:-1] for row in rows]).transpose()
    bias = [row[-1] << -below for row in rows]
    products = (fmpz_mat(samples) * weight).tolist()
    return [[a + b for a, b in zip(row, bias, strict=True)] for row in products], below + exponent


def _arbs(array: NDArray[Any]) -> list[list[arb]]:
    """A matrix of floats or dyadic Fractions as exact balls."""
    if array.dtype != object:
        return [[arb(value) for value in row] for row in array.tolist()]
    return [[arb((value.numerator, 1 - value.denominator.bit_length())) for value in row] for row in array]


# ------------------------------------------------------------------------------- decisions and rounding


def winner(scores: list[arb], n_classes: int) -> int | None:
    """Index of the class that provably wins (of equal scores the first one wins); None if undecided."""
    if n_classes == 1:
        return 0
    if len(scores) == 1:
        return 1 if scores[0] > 0 else 0 if scores[0] <= 0 else None
    for j, score in enumerate(scores):
        if all(_beats(score - other, j < k) for k, other in enumerate(scores) if k != j):
            return j
    return None


def _beats(lead: arb, wins_ties: bool) -> bool:
    return bool(lead > 0) or (wins_ties and bool(lead >= 0))


def decided_classes(net: Network, X: FloatArray) -> NDArray[np.intp]:
    """Proved index of every sample's predicted class, shape (n_samples,); raises as `LNNet.predict` does."""

    def decide(left: list[int], precision: int) -> list[int | None]:
        enclosure = enclose(net, X[left], precision=precision)
        _require_defined(enclosure.degenerate, left)
        return [winner(scores, len(net.classes)) for scores in enclosure.scores]

    return np.array(_until_decided(net, X, decide), dtype=np.intp)


def rounded_scores(net: Network, X: FloatArray) -> FloatArray:
    """The scores as float64, shape (n_samples, n_scores), each off by less than a unit in the last place."""

    def decide(left: list[int], precision: int) -> list[list[float] | None]:
        enclosure = enclose(net, X[left], precision=precision)
        _require_defined(enclosure.degenerate, left)
        return [rounded_row(scores) for scores in enclosure.scores]

    return np.array(_until_decided(net, X, decide), dtype=np.float64)


def rounded_trace(net: Network, X: FloatArray, progress: Progress | None = None) -> list[FloatArray]:
    """The points after every layer as float64; see `LNNet.trace`."""
    layers = [np.empty((len(X), layer.n_out)) for layer in net.layers]

    def decide(left: list[int], precision: int) -> list[bool | None]:
        decided = np.ones(len(left), dtype=np.bool_)
        with flint.ctx.workprec(precision):
            state = propagation(net, X[left])
            for k, points in enumerate(layers):
                state.advance(k)
                _require_defined(state.degenerate, left)
                points[left], good = state.rounded()
                decided &= good
                if progress is not None:
                    progress(k + 1, net.depth)
        return [True if good else None for good in decided.tolist()]

    _until_decided(net, X, decide)
    return layers


def _require_defined(degenerate: dict[int, int], left: list[int]) -> None:
    for i, k in degenerate.items():
        raise DegenerateInputError(
            f"layers[{k}]: sample {left[i]} has zero variance, proved exactly; move the layer's bias"
        )


def _until_decided(
    net: Network, X: FloatArray, decide: Callable[[list[int], int], Sequence[_T | None]]
) -> list[_T]:
    """Decide every sample; the precision doubles for those that are still undecided (None)."""
    results: dict[int, _T] = {}
    precision = starting_precision(net)
    left = list(range(len(X)))
    while True:
        decisions = decide(left, precision)
        results.update((i, d) for i, d in zip(left, decisions, strict=True) if d is not None)
        left = [i for i in left if i not in results]
        if not left:
            return [results[i] for i in range(len(X))]
        if 2 * precision > MAX_PRECISION:
            raise UndecidedError(
                f"{len(left)} samples, the first of them {left[0]}, are undecided at {precision} bits: "
                "an exact tie or a zero variance cannot be told from a near one; change the net",
                left,
                precision,
            )
        precision *= 2


def rounded_row(balls: list[arb]) -> list[float] | None:
    """The midpoints as float64 if each ball is much narrower than its last place there; else None."""
    smallest = arb((1, -1080))
    if all(ball.rel_accuracy_bits() >= 60 or abs(ball) < smallest for ball in balls):
        return [float(ball.mid()) + 0.0 for ball in balls]
    return None
