r"""How far a plain floating-point pass of a net can be from the true scores, on any machine.

A certificate speaks of real arithmetic. Frameworks compute in float64 or float32, each in its own order. This
module bounds the difference for *every* such computation. A margin of more than twice the bound (once for
each of the two scores compared) carries the certificate over::

    true point p ───── e, proved small ─────► computed point p̃          margin > 2 · |score error|
        │                                        │                      ⇒ the computed label is right
        ▼ exact layer                            ▼ layer, every operation off by at most u

What is assumed of a pass
-------------------------
The affine maps compute products and sums in any order, with or without fused multiply-add (the standard model
fl(a ∘ b) = (a ∘ b)(1 + δ), |δ| ≤ u, u = 2⁻⁵³ or 2⁻²⁴; subnormal results may be flushed to zero). A
normalization subtracts a mean before it divides; mean and variance come from sums in any order, by two
passes or by Welford's updates; the root is off by at most 2 u. This holds in numpy, in torch (if matmul
uses the full type, not TF32) and in the ONNX files of this library.

Derivation
----------
The error of a point is split, e = a + f. The part **a** was passed on by earlier layers and is tangent to the
sphere that the layer's outputs lie on (‖a‖ ≤ α, perpendicular to the point and, where there is a mean, to 1);
the part **f** was made by this layer (‖f‖ ≤ φ, any direction). Let h = W p + b, u = P h with P the centring
of a group (for RMSNorm P = 1), n = u/‖u‖, s the group's size and q(u) = √(‖u‖²/s + eps), so that the exact
output is u/q(u).

1. The computed u is u + v + ξ. Here v = P(W a + W f + η), |η| ≤ γ (|W||p̃| + |b|), γ = k u/(1 - k u) for k =
   n_in + 2 operations in a row. ξ comes from the subtraction, at most u ‖u + v‖, and from the mean: √s times
   its error, at most (s/2 + 2) u max|h| for a sum in any order and 5 u ‖u‖/√s more for Welford's updates; we
   allow s/2 + 4, which covers x/σ - mean/σ too. Call the part from the mean (the *shift*) τ.
2. Let w = ‖(1 - n nᵀ) P W T‖ α + ‖(1 - n nᵀ) P W‖ φ + ‖η‖, with T the projection to the tangent space. It
   bounds ‖(1 - n nᵀ) v‖, the part of an error that LN passes on. For three neurons the first norm is the
   derivative of a map of the circle, so nothing is lost from layer to layer.
3. (u + v)/q(u + v) has a part perpendicular to n of at most w/q₋, where q₋ = q at length ℓ = ‖u‖ - ‖v‖ - τ:
   the next **α**. Along n it differs from ‖u‖/q(u) by at most ‖v‖ eps/q₋³ + √s (w/ℓ)². The sum of this,
   ‖ξ‖/q₋ and ‖y‖ (ρ + 5 u) is the next **φ**; y is the output, and ρ the relative error of q without the
   roundings of q itself.
4. The relative error of the variance is at most (s + 12) u + 3 τ/ℓ + (τ/ℓ)²: sums of squares have s + 3
   roundings; a wrong mean enters squared where two passes are used; Welford's products
   (x - mean before)(x - mean after) are off by the errors of both means, and Σ (x - mean before)² ≤ 2 ‖u‖²,
   so by 2√2 τ/ℓ in all. ρ is 0.52 times this bound if the bound is below 0.01; otherwise nothing is claimed.

The true points are not available, so both the true run (u = 0) and the computed one are compared with a
reference, the float64 points of `LNNet.trace`. The reference's own rounding is charged to each of the two
runs (u + 2⁻⁵³ takes the place of u), and the score error is the sum of both deviations. The bounds themselves
are computed in float64: each norm is raised by 2⁻⁴⁵ of ‖W‖, which covers the rounding of n and T, and the
sums of positive terms by 2⁻²⁰ of themselves.

References
----------
N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., SIAM 2002, sections 1.9, 3.1, 3.5.
T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample variance", American Statistician 37
(1983).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lntheory.base.types import FloatArray
from lntheory.base.validation import as_exact_samples
from lntheory.errors import InvalidInputError
from lntheory.network.layer import Layer, Normalization
from lntheory.network.net import LNNet

__all__ = ["DTypeName", "score_error"]

DTypeName = Literal["float64", "float32"]

_UNIT = {"float64": 2.0**-53, "float32": 2.0**-24}
_TINY = {"float64": 2.0**-1022, "float32": 2.0**-126}  # smaller results may be flushed to zero
_HUGE = {"float64": 2.0**1000, "float32": 2.0**120}  # magnitudes below this overflow nowhere, sums included
_REFERENCE = 2.0**-53
_SLACK = 2.0**-45  # times ‖W‖: covers a few dozen roundings in the computation of the bound itself
_RAISE = 1 + 2.0**-20
_SMALL = 400  # norms are taken sample by sample for weights of at most this many entries


def score_error(net: LNNet, X: ArrayLike, dtype: DTypeName = "float64") -> FloatArray:
    """A bound, for each sample, on how far any plain pass in `dtype` is from the true scores.

    The statement: whatever order of summation a machine uses, each of its scores of sample i differs by at
    most ``score_error(net, X, dtype)[i]`` from what the net gives in real arithmetic. The parameters are
    taken as they are (in float32 they must be float32 numbers); the samples are rounded to `dtype` first.

    Parameters
    ----------
    net : LNNet
        With float64 parameters.
    X : array_like, shape (n_samples, n_features)
    dtype : {"float64", "float32"}

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        Infinite where no bound is proved: an error may be as large as the value itself, or a value overflow.

    Raises
    ------
    InvalidInputError
        If the dtype is neither of the two, a parameter is not a number of this dtype, or X does not fit.
    DegenerateInputError
        If a sample has zero variance at a layer.

    Examples
    --------
    >>> from lntheory.network import Layer, LNNet
    >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
    >>> X = [[-2.0], [3.0]]
    >>> bool((score_error(net, X) < 1e-13).all()), bool((score_error(net, X, "float32") < 1e-4).all())
    (True, True)
    """
    if dtype not in _UNIT:
        raise InvalidInputError(f"dtype={dtype!r}; choose float64 or float32")
    _require_parameters(net, dtype)
    samples = as_exact_samples(X, net.n_features)
    trace = net.trace(samples)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        given = samples.astype(dtype).astype(np.float64)
        start = np.sqrt(((given - samples) ** 2).sum(axis=1))
        computed = _deviation(net, samples, trace, start, _Model(_UNIT[dtype], _TINY[dtype], _HUGE[dtype]))
        true = _deviation(net, samples, trace, np.zeros_like(start), _Model(0.0, 0.0, np.inf))
        total: FloatArray = computed + true
    total[np.isnan(total)] = np.inf
    return total


class _Model(NamedTuple):
    """An arithmetic: its unit roundoff, and the magnitudes at which it may flush to zero or overflow."""

    unit: float
    tiny: float
    huge: float

    @property
    def unit_and_reference(self) -> float:
        return self.unit + _REFERENCE

    def gamma(self, count: int) -> float:
        """Relative error of `count` operations in a row; the reference run's is included."""
        product = count * self.unit_and_reference
        return product / (1 - product) if product < 1 else np.inf


class _Spread(NamedTuple):
    """Bounds of the error of each sample's point after a layer, in the two parts of the module's derivation.

    One part was passed on by earlier layers and is tangent; the other is the layer's own, in any direction.
    """

    passed: FloatArray
    fresh: FloatArray


def _require_parameters(net: LNNet, dtype: DTypeName) -> None:
    if net.arithmetic == "dyadic":
        raise InvalidInputError(
            "the net is dyadic: its parameters are wider than float64, so no plain pass can hold them; "
            "LNNet.predict evaluates it in ball arithmetic"
        )
    if dtype == "float32":
        for layer in (*net.layers, net.readout):
            for values in (layer.weight, layer.bias):
                with np.errstate(over="ignore"):
                    if not np.array_equal(values.astype(np.float32).astype(np.float64), values):
                        raise InvalidInputError(
                            "the net has parameters that are no float32 numbers; round them"
                        )


def _deviation(
    net: LNNet, samples: FloatArray, trace: list[FloatArray], start: FloatArray, model: _Model
) -> FloatArray:
    """A bound for each sample on how far the scores of a run in this arithmetic are from the reference's."""
    points, spread = samples, _Spread(np.zeros(len(samples)), start)
    directions: FloatArray | None = None
    for layer, after in zip(net.layers, trace, strict=True):
        spread, directions = _step(layer, net.normalization, points, directions, spread, model)
        points = after
    rounding = _rounding(net.readout, points, spread, model)
    passed, fresh = _norms(net.readout.weight[:, None, :], None, directions, net.normalization)
    error = passed * spread.passed[:, None] + fresh * spread.fresh[:, None] + rounding
    error[_magnitudes(net.readout, points, spread).max(axis=1) > model.huge] = np.inf
    result: FloatArray = error.max(axis=1) * _RAISE
    return result


def _magnitudes(layer: Layer, points: FloatArray, spread: _Spread) -> FloatArray:
    """Bounds on the partial sums of ``weight @ p + bias``, shape (n_samples, n_out)."""
    reach = np.abs(points) + (spread.passed + spread.fresh)[:, None]
    result: FloatArray = reach @ np.abs(layer.weight).T + np.abs(layer.bias)
    return result


def _rounding(layer: Layer, points: FloatArray, spread: _Spread, model: _Model) -> FloatArray:
    """Bounds on what rounding does to ``weight @ p + bias``, shape (n_samples, n_out)."""
    rounded = model.gamma(layer.n_in + 2) * _magnitudes(layer, points, spread)
    return rounded + 2 * model.tiny * (layer.n_in + 1)


def _step(
    layer: Layer,
    norm: Normalization,
    points: FloatArray,
    directions: FloatArray | None,
    spread: _Spread,
    model: _Model,
) -> tuple[_Spread, FloatArray]:
    """One layer: the spread of its outputs, and their directions, shape (n_samples, n_groups, group_size)."""
    n_groups = norm.num_groups or 1
    size = layer.n_out // n_groups
    values = (points @ layer.weight.T + layer.bias).reshape(len(points), n_groups, size)
    weight = layer.weight.reshape(n_groups, size, layer.n_in)
    centred = values
    if norm.kind != "rms_norm":
        centred = values - values.mean(axis=2, keepdims=True)
        weight = weight - weight.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=2)
    unit = centred / np.where(length > 0, length, 1.0)[:, :, None]
    passed, fresh = _norms(weight, unit, directions, norm)
    whole_passed, whole_fresh = _norms(weight, None, directions, norm)
    affine = np.linalg.norm(_rounding(layer, points, spread, model).reshape(values.shape), axis=2)

    u, root, centres = model.unit_and_reference, np.sqrt(size), norm.kind != "rms_norm"
    largest = (np.abs(values) + affine[:, :, None]).max(axis=2)
    shift = centres * u * (root * (size / 2 + 4) * largest + 5 * length)
    alpha, phi = spread.passed[:, None], spread.fresh[:, None]
    v = whole_passed * alpha + whole_fresh * phi + affine
    shorter = np.where(v + shift < length, length - v - shift, np.nan)
    w = passed * alpha + fresh * phi + affine + v * shift / shorter
    least = np.sqrt(shorter**2 / size + norm.eps)
    xi = shift + centres * u * (length + v)
    variance = (size + 12) * u + 3 * shift / shorter + (shift / shorter) ** 2 + size * model.tiny / least**2
    rho = np.where(variance < 0.01, 0.52 * variance, np.nan)
    next_passed = w / least
    next_fresh = (
        1.02 * xi / least
        + np.minimum(root, (length + v) / least) * (rho + 5 * u)
        + v * norm.eps / least**3
        + root * (w / shorter) ** 2
    )
    largest_sum = _magnitudes(layer, points, spread).max(axis=1)
    next_fresh[largest_sum**2 * layer.n_out + norm.eps > model.huge] = np.inf
    return (
        _Spread(
            np.linalg.norm(next_passed, axis=1) * _RAISE,
            np.linalg.norm(next_fresh, axis=1) * _RAISE,
        ),
        unit,
    )


def _norms(
    weight: FloatArray, unit: FloatArray | None, directions: FloatArray | None, norm: Normalization
) -> tuple[FloatArray, FloatArray]:
    """Norms of Q W T and Q W for every sample and group, shape (n_samples or 1, n_groups).

    Q removes the direction `unit` (nothing if it is None), and T projects to the tangent space at the layer's
    input. Large weights and the first layer get the norm of W itself, which is at least as large.
    """
    everything = np.linalg.norm(weight, axis=(1, 2))
    slack = _SLACK * everything
    if weight.size > _SMALL or directions is None:
        spectral = np.linalg.norm(weight, ord=2, axis=(1, 2))[None, :]
        return spectral + slack, spectral + slack
    restricted = _tangent(np.broadcast_to(weight, (len(directions), *weight.shape)), directions, norm)
    left, right = restricted, np.broadcast_to(weight, restricted.shape)
    if unit is not None:
        left, right = _perpendicular(left, unit), _perpendicular(right, unit)
    return (
        np.linalg.norm(left, ord=2, axis=(2, 3)) + slack,
        np.linalg.norm(right, ord=2, axis=(2, 3)) + slack,
    )


def _perpendicular(matrices: FloatArray, unit: FloatArray) -> FloatArray:
    """(1 - n nᵀ) M for every sample and group."""
    along = np.einsum("ngs,ngsd->ngd", unit, matrices)
    result: FloatArray = matrices - unit[:, :, :, None] * along[:, :, None, :]
    return result


def _tangent(matrices: FloatArray, directions: FloatArray, norm: Normalization) -> FloatArray:
    """M T for every sample: columns restricted to what is perpendicular to the point and to the mean."""
    n_samples, n_groups, n_rows, _ = matrices.shape
    blocks = matrices.reshape(n_samples, n_groups, n_rows, *directions.shape[1:])
    if norm.kind != "rms_norm":
        blocks = blocks - blocks.mean(axis=4, keepdims=True)
    along = np.einsum("ngrks,nks->ngrk", blocks, directions)
    result: FloatArray = blocks - along[..., None] * directions[:, None, None]
    return result.reshape(matrices.shape)
