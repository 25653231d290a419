"""Layer normalization and related norms as torch modules, on torch's own kernels.

The norms differ in which numbers of a sample, C channels at some positions (pixels), share a mean and a
variance:

```
     channels together      all positions together        each position alone
     all C                  LayerNorm                     LayerNormPosition
     C / num_groups         GroupLayerNorm, GroupNorm     GroupLayerNormPosition
     one                    InstanceNorm                  (zero whatever x is)
```

A vector, or a token of a sequence, has one position: the two columns agree, and LN is over the last axis.
`RMSNorm` and `GroupRMSNorm` pool the same numbers as LayerNorm and GroupLayerNorm, and divide by the root
mean square without centring.

*Layout.* With ``dim=0``, the default, features are last, under any leading shape: (..., C). With ``dim=1``,
2 or 3 channels are second, and so many axes of positions follow: (N, C, L), (N, C, H, W), (N, C, D, H, W).
So LN of an image (``dim=2``) pools C, H and W, which is what GroupNorm with one group does;
``nn.LayerNorm(C)`` on images of shape (N, H, W, C) is LN-Position.

*Affine map.* Every norm has a weight and a bias of shape (C,), one for each feature; RMS norms have no bias,
as in torch. State dicts are those of ``nn.LayerNorm(C)``, ``nn.GroupNorm(g, C)`` and ``nn.RMSNorm(C)``.
`GroupNorm` and `GroupLayerNorm` compute the same.

*Epsilon.* The divisor is sqrt(variance + eps). A constant row gives zeros (plus the bias) for every positive
eps, and so here for ``eps=0`` too, with zero gradient; the function `lntheory.layer_norm` raises an error
instead. With ``eps=0`` a variance must not underflow: in float32 keep standard deviations above 1e-18.

*Accuracy.* Half types are computed in float32. The mean is rounded to the type of the computation, with unit
roundoff u, so entries are off by about u max|x| / sigma: by 1e-4 in float32 if x is 2000 standard deviations
from zero.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lntheory.base.validation import as_count, as_eps
from lntheory.errors import InvalidInputError, excerpt

__all__ = [
    "GroupLayerNorm",
    "GroupLayerNormPosition",
    "GroupNorm",
    "GroupRMSNorm",
    "InstanceNorm",
    "LayerNorm",
    "LayerNormPosition",
    "Norm",
    "NormEntry",
    "RMSNorm",
]

Device = torch.device | str | int | None

_HALF = (torch.float16, torch.bfloat16)
_TINY = torch.finfo(torch.float32).tiny
_LAYOUTS = ("(..., {0})", "(N, {0}, L)", "(N, {0}, H, W)", "(N, {0}, D, H, W)")

_VECTOR = 8
"""On a CPU, groups smaller than this are slower in torch's layer_norm than in its group_norm."""


class Norm(nn.Module):
    """The base class of all norms of this module; the subclasses say which numbers they pool.

    Attributes
    ----------
    num_features, num_groups, group_size : int
        ``num_groups * group_size == num_features``.
    dim : int
        The number of axes after the channels; 0 if features are last.
    eps : float
    weight, bias : Parameter of shape (num_features,), or None
    """

    centred: ClassVar[bool] = True
    """Whether the mean is subtracted."""
    per_position: ClassVar[bool] = False
    """Whether each position has its own statistics."""
    has_group_kernel: ClassVar[bool] = True
    """Whether torch's group_norm, which is faster on a CPU for small groups, computes the same."""

    weight: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(
        self,
        num_features: int,
        num_groups: int,
        *,
        dim: int,
        eps: float,
        affine: bool,
        bias: bool,
        device: Device,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__()
        self.num_features, self.num_groups = num_features, num_groups
        self.group_size = num_features // num_groups
        self.dim, self.eps = as_dim(dim), as_eps(eps)
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = nn.Parameter(torch.empty(num_features, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to one and the bias to zero."""
        if self.weight is not None:
            nn.init.ones_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize `x`; the result has the shape of `x` and, except under autocast on a GPU, its type.

        Raises
        ------
        InvalidInputError
            If `x` does not have the number of features or axes that the layer was made for, or is not real.
        """
        _check_input(x, self.num_features, self.dim, type(self).__name__)
        if x.dtype in _HALF and x.device.type == "cpu":
            # Torch's half kernels on a CPU scale before they centre: a constant row of 1234 would give 0.01.
            weight, bias = (None if p is None else p.float() for p in (self.weight, self.bias))
            return self._normalize(x.float(), weight, bias).to(x.dtype)
        return self._normalize(x, self.weight, self.bias)

    def _normalize(self, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        if self.dim == 0:
            return self._rows(x, weight, bias)
        if self.per_position:
            return self._rows(x.movedim(1, -1), weight, bias).movedim(-1, 1)
        positions = math.prod(x.shape[2:])
        if positions and self._has_group_norm(x):
            return self._group_norm(x, weight, bias)
        rows = self._last_axis(x.reshape(x.shape[0], self.num_groups, self.group_size * positions))
        return apply_affine(rows.reshape(x.shape), weight, bias, self.dim)

    def _rows(self, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        """Normalize each group of the last axis."""
        if self.num_groups == 1:
            return self._last_axis(x, weight, bias)
        if self.group_size < _VECTOR and self._has_group_norm(x):
            rows = x.reshape(-1, self.num_features)
            return self._group_norm(rows, weight, bias).reshape(x.shape)
        groups = x.reshape(*x.shape[:-1], self.num_groups, self.group_size)
        return apply_affine(self._last_axis(groups).reshape(x.shape), weight, bias)

    def _has_group_norm(self, x: Tensor) -> bool:
        return self.has_group_kernel and self.centred and self.eps >= _TINY and x.device.type == "cpu"

    def _group_norm(self, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        """Normalize groups of axis 1 together with all axes after it, by torch's kernel for CPUs.

        That kernel scales before it centres, so that constant groups give up to 0.1 in float32; and in
        channels_last it subtracts the square of the mean from the mean of squares, which is off by 3 at 2000
        standard deviations from zero. So each group is first shifted by one of its entries, which counts as a
        constant in the gradient, since the result does not depend on the shift.
        """
        first = (slice(None), slice(None, None, self.group_size), *(slice(1),) * (x.ndim - 2))
        anchor = x.detach()[first].repeat_interleave(self.group_size, dim=1)
        return torch.group_norm(x - anchor, self.num_groups, weight, bias, self.eps)

    def _last_axis(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        if self.eps >= _TINY:
            return self.normalize_rows(x, weight, bias)
        # Rows of 0/0 are kept out of the kernel, where they would spoil the gradient too. NaN and inf pass.
        constant = (x == x[..., :1] if self.centred else x == 0).all(dim=-1, keepdim=True)
        other = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype, device=x.device)
        y = self.normalize_rows(torch.where(constant, other, x), None, None)
        return apply_affine(torch.where(constant, x - x, y), weight, bias)

    def normalize_rows(self, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        """Normalize the last axis and apply weight and bias; this is the method that a new norm overrides.

        If epsilon is zero, it gets no rows on which the quotient is 0/0.
        """
        shape = x.shape[-1:]
        if self.centred:
            return F.layer_norm(x, shape, weight, bias, self.eps)
        return F.rms_norm(x, shape, weight, self.eps)

    def extra_repr(self) -> str:
        """The arguments for the repr, as torch's layers show theirs."""
        given = [f"{self.num_features}"]
        if isinstance(self, (GroupLayerNorm, GroupRMSNorm)):
            given.append(f"num_groups={self.num_groups}")
        given += [f"dim={self.dim}", f"eps={self.eps}", f"affine={self.weight is not None}"]
        if self.weight is not None and self.centred:
            given.append(f"bias={self.bias is not None}")
        return ", ".join(given)


class LayerNorm(Norm):
    """LN: each sample, or each token of a sequence, has one mean and one variance.

    Parameters
    ----------
    num_features : int
        Features of a vector or token, channels of an image.
    dim : {0, 1, 2, 3}, default 0
        Axes after the channels: 2 for images (N, C, H, W), which are pooled over C, H and W; 0 for features
        last.
    eps : float, default 1e-5
        Added to the variance. Constant samples give zeros, also for eps = 0.
    affine : bool, default True
        Whether to learn a weight for each feature and, if `bias` is true, a bias for each.
    bias : bool, default True
    device, dtype
        Device and type of the parameters.

    Raises
    ------
    InvalidInputError
        If a number is out of its range.

    Examples
    --------
    >>> LayerNorm(3, eps=0)(torch.tensor([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])).detach()
    tensor([[-1.2247,  0.0000,  1.2247],
            [ 0.0000,  0.0000,  0.0000]])
    >>> LayerNorm(64, dim=2)
    LayerNorm(64, dim=2, eps=1e-05, affine=True, bias=True)
    """

    def __init__(
        self,
        num_features: int,
        *,
        dim: int = 0,
        eps: float = 1e-5,
        affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        size = as_count(num_features, "num_features", 1)
        super().__init__(size, 1, dim=dim, eps=eps, affine=affine, bias=bias, device=device, dtype=dtype)


class LayerNormPosition(LayerNorm):
    """LN-Position: each pixel has its own mean and variance, over its channels.

    The parameters are those of `LayerNorm`. The features of a pixel have to be neighbours in memory, so the
    result is stored channels_last, whatever the memory format of x is.

    Examples
    --------
    >>> LayerNormPosition(2, dim=2, eps=0)(torch.tensor([[[[1.0, 2.0]], [[5.0, 0.0]]]])).detach()
    tensor([[[[-1.,  1.]],
    <BLANKLINE>
             [[ 1., -1.]]]])
    """

    per_position = True


class GroupLayerNorm(Norm):
    """LN-G: the features are split into equal groups of neighbours, with LN on each.

    Parameters
    ----------
    num_features : int
    num_groups, group_size : int
        Exactly one of them; ``num_groups * group_size == num_features``. Groups of two numbers give nearly
        +-1; a group of one number gives zero.
    dim, eps, affine, bias, device, dtype
        As in `LayerNorm`. For images (``dim=2``) a group is pooled over its channels, H and W.

    Raises
    ------
    InvalidInputError
        If the groups do not divide the features, or a number is out of its range.

    Examples
    --------
    >>> GroupLayerNorm(4, group_size=2, eps=0)(torch.tensor([1.0, 5.0, 7.0, 2.0])).detach()
    tensor([-1.,  1.,  1., -1.])
    >>> GroupLayerNorm(6, num_groups=5)
    Traceback (most recent call last):
    lntheory.errors.InvalidInputError: num_groups=5 does not divide num_features=6 ...
    """

    def __init__(
        self,
        num_features: int,
        *,
        num_groups: int | None = None,
        group_size: int | None = None,
        dim: int = 0,
        eps: float = 1e-5,
        affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        size, groups = _as_groups(num_features, num_groups, group_size)
        super().__init__(size, groups, dim=dim, eps=eps, affine=affine, bias=bias, device=device, dtype=dtype)


class GroupLayerNormPosition(GroupLayerNorm):
    """LN-G-Position: each group of a pixel's channels has its own mean and variance.

    The parameters are those of `GroupLayerNorm`; the result is stored like that of `LayerNormPosition`.

    Examples
    --------
    >>> GroupLayerNormPosition(64, group_size=4, dim=2)
    GroupLayerNormPosition(64, num_groups=16, dim=2, eps=1e-05, affine=True, bias=True)
    """

    per_position = True


class GroupNorm(GroupLayerNorm):
    """GN: `GroupLayerNorm` under the name that is usual for images.

    Examples
    --------
    >>> ours, theirs = GroupNorm(6, num_groups=3, dim=2), nn.GroupNorm(3, 6)
    >>> ours.load_state_dict(theirs.state_dict())
    <All keys matched successfully>
    """


class InstanceNorm(Norm):
    """IN: each channel of each image has its own mean and variance, over the pixels.

    The parameters are those of `LayerNorm`, except that `dim` is at least 1, and 2 by default. An image of
    one pixel gives zeros.

    Examples
    --------
    >>> InstanceNorm(1, dim=1, eps=0)(torch.tensor([[[3.0, 4.0]]])).detach()
    tensor([[[-1.,  1.]]])
    """

    def __init__(
        self,
        num_features: int,
        *,
        dim: int = 2,
        eps: float = 1e-5,
        affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if as_dim(dim) == 0:
            raise InvalidInputError(
                "dim=0: instance normalization pools the positions of one channel, and a vector has only "
                "one; pass dim=1, 2 or 3."
            )
        size = as_count(num_features, "num_features", 1)
        super().__init__(size, size, dim=dim, eps=eps, affine=affine, bias=bias, device=device, dtype=dtype)


class RMSNorm(Norm):
    """RMSNorm: x / sqrt(mean(x**2) + eps), times a weight for each feature, without centring and bias.

    Parameters are those of `LayerNorm`, without `bias`. Zero rows give zeros, also for eps = 0.

    Examples
    --------
    >>> RMSNorm(4, eps=0)(torch.tensor([3.0, -4.0, 0.0, 0.0])).detach()
    tensor([ 1.2000, -1.6000,  0.0000,  0.0000])
    """

    centred = False

    def __init__(
        self,
        num_features: int,
        *,
        dim: int = 0,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        size = as_count(num_features, "num_features", 1)
        super().__init__(size, 1, dim=dim, eps=eps, affine=affine, bias=False, device=device, dtype=dtype)


class GroupRMSNorm(Norm):
    """Grouped RMSNorm: the features are split into equal groups of neighbours, with RMSNorm on each.

    Parameters are those of `GroupLayerNorm`, without `bias`.

    Examples
    --------
    >>> GroupRMSNorm(4, num_groups=2, eps=0)(torch.tensor([3.0, 4.0, 5.0, -5.0])).detach()
    tensor([ 0.8485,  1.1314,  1.0000, -1.0000])
    """

    centred = False

    def __init__(
        self,
        num_features: int,
        *,
        num_groups: int | None = None,
        group_size: int | None = None,
        dim: int = 0,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        size, groups = _as_groups(num_features, num_groups, group_size)
        super().__init__(
            size, groups, dim=dim, eps=eps, affine=affine, bias=False, device=device, dtype=dtype
        )


class FeatureBatchNorm(nn.BatchNorm1d):
    """``nn.BatchNorm1d`` for features last, under any leading shape.

    For the shape (N, L, C) torch's own module would take L for the channels, silently if L = C.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalize each feature over all rows."""
        _check_input(input, self.num_features, 0, type(self).__name__)
        return super().forward(input.reshape(-1, self.num_features)).reshape(input.shape)


@dataclass(frozen=True)
class NormEntry:
    """A norm of the register.

    Attributes
    ----------
    make : callable
        Makes the module: ``make(num_features, *, dim, eps, affine, device, dtype)``, with ``num_groups`` and
        ``group_size`` too if `grouped`. For a subclass of `Norm` it is the class itself.
    summary : str
        One line that says what the norm does.
    grouped : bool
        Whether the norm takes groups.
    """

    make: Callable[..., nn.Module]
    summary: str
    grouped: bool = False


def apply_affine(y: Tensor, weight: Tensor | None, bias: Tensor | None, dim: int = 0) -> Tensor:
    """Multiply by the weight and add the bias of each feature; the features' axis has `dim` axes after it."""
    shape = (-1, *(1,) * dim)
    if weight is None:
        return y
    if bias is None:
        return y * weight.view(shape)
    return torch.addcmul(bias.view(shape), y, weight.view(shape))


def _check_input(x: Tensor, num_features: int, dim: int, layer: str) -> None:
    if not x.is_floating_point():
        raise InvalidInputError(f"{layer} got a tensor of {x.dtype}; pass real numbers, as x.float().")
    if x.ndim != dim + 2 if dim else x.ndim == 0:
        given = f"{x.ndim} axes"
    elif x.shape[1 if dim else -1] != num_features:
        given = f"{x.shape[1 if dim else -1]} features"
    else:
        return
    raise InvalidInputError(
        f"{layer} expected {num_features} features in the shape {_LAYOUTS[dim].format(num_features)}, found "
        f"{given} in {tuple(x.shape)}; change num_features, or dim={dim}, the axes after the channels."
    )


def as_dim(dim: Any) -> int:
    if isinstance(dim, bool) or dim not in range(len(_LAYOUTS)):
        raise InvalidInputError(
            f"dim={excerpt(dim)}; pass the number of axes after the channels: 2 for images (N, C, H, W), "
            "1 for (N, C, L), 0 for vectors and sequences with features last."
        )
    return int(dim)


def _as_groups(num_features: Any, num_groups: Any, group_size: Any) -> tuple[int, int]:
    """The number of features and the number of groups, given exactly one of the groups' number and size."""
    size = as_count(num_features, "num_features", 1)
    if (num_groups is None) == (group_size is None):
        raise InvalidInputError(
            f"Pass exactly one of num_groups and group_size for {size} features, got "
            f"num_groups={excerpt(num_groups)}, group_size={excerpt(group_size)}."
        )
    name, given = ("group_size", group_size) if num_groups is None else ("num_groups", num_groups)
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 1 or size % given:
        raise InvalidInputError(
            f"{name}={excerpt(given)} does not divide num_features={size} into equal groups; "
            f"pass a positive divisor of {size}."
        )
    return size, int(given) if num_groups is not None else size // int(given)
