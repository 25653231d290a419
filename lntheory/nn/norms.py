"""Layer normalization and its kin as torch modules, on torch's own kernels.

Which numbers share a mean and a variance? Of an image (N, C, H, W), one sample seen as C channels by
H W pixels:

```
              channels ->          all pixels together          each pixel alone
              all C                LayerNorm                    LayerNormPosition
              C / num_groups       GroupLayerNorm = GroupNorm   GroupLayerNormPosition
              one                  InstanceNorm                 (zero whatever x is)
```

Of a vector or a token there are no pixels: the columns agree, and LN is LN over the last axis. `RMSNorm` and
`GroupRMSNorm` divide by the root mean square over what LayerNorm and GroupLayerNorm pool, without centring.

*Layout.* ``dim=0`` (default): features last, under any leading shape, (..., C). ``dim=1, 2, 3``: channels first
with so many axes of positions, (N, C, L), (N, C, H, W), (N, C, D, H, W), as torch's convolutions have them.

*Affine.* One weight and one bias a feature (channel), shape (C,), for every kind; RMS kinds have no bias, as in
torch. A state dict is thus that of ``nn.LayerNorm(C)``, ``nn.GroupNorm(g, C)`` or ``nn.RMSNorm(C)``.
`GroupNorm` differs from `GroupLayerNorm` in nothing but its name.

*Epsilon.* The divisor is sqrt(variance + eps). A constant row gives zeros (before the bias) whatever eps > 0 is,
so also at ``eps=0``, where `lntheory.layer_norm` raises: a layer must not depend on a look at the data.

*Accuracy.* Half types are computed in float32 and rounded once. The mean is a number of the computing type, so
entries are off by a few u (1 + |mean| / sigma), with u its unit roundoff; see ``tests/tolerances.py``.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lntheory.errors import InvalidInputError, excerpt
from lntheory.validation import as_eps

__all__ = [
    "GroupLayerNorm",
    "GroupLayerNormPosition",
    "GroupNorm",
    "GroupRMSNorm",
    "InstanceNorm",
    "LayerNorm",
    "LayerNormPosition",
    "RMSNorm",
    "make_norm",
]

_TINY = torch.finfo(torch.float32).tiny
_HALF = (torch.float16, torch.bfloat16)
_LAYOUTS = ("(..., {0})", "(N, {0}, L)", "(N, {0}, H, W)", "(N, {0}, D, H, W)")


class Norm(nn.Module):
    """What the norms of this module share; make one of its subclasses.

    Attributes
    ----------
    num_features, num_groups, group_size, dim : int
    eps : float
    weight, bias : Parameter of shape (num_features,), or None
    """

    centred: ClassVar[bool] = True
    """Is the mean subtracted?"""
    per_position: ClassVar[bool] = False
    """Does each pixel have its own statistics?"""

    num_features: int
    num_groups: int
    group_size: int
    dim: int
    eps: float
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
        device: Any,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__()
        if dim not in range(len(_LAYOUTS)):
            raise InvalidInputError(
                f"dim={excerpt(dim)}; pass the number of axes after the channels: 2 for images (N, C, H, W), "
                "1 for (N, C, L), 0 for vectors and sequences with features last."
            )
        self.num_features, self.num_groups = num_features, num_groups
        self.group_size = num_features // num_groups
        self.dim, self.eps = dim, as_eps(eps)
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = nn.Parameter(torch.empty(num_features, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight one, bias zero."""
        if self.weight is not None:
            nn.init.ones_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize; the result has the shape and type of x (float32 under autocast on a GPU, as in torch)."""
        self._check(x)
        weight, bias = self.weight, self.bias
        if x.dtype in _HALF and x.device.type == "cpu":
            # torch's half kernels multiply before they centre here: a constant row of 1234 would come to 0.01.
            weight, bias = (None if p is None else p.float() for p in (weight, bias))
            return self._normalize(x.float(), weight, bias).to(x.dtype)
        return self._normalize(x, weight, bias)

    def _normalize(self, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        if self.dim == 0:
            return self._rows(x, weight, bias)
        if self.per_position:
            return self._rows(x.movedim(1, -1), weight, bias).movedim(-1, 1)
        positions = x.shape[2:]
        groups = x.reshape(len(x), self.num_groups, self.group_size * math.prod(positions))
        return _affine(self._last_axis(groups).view(x.shape), weight, bias, self.dim)

    def _rows(self, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        """Normalize the groups of the last axis."""
        if self.num_groups == 1:
            return _affine(self._last_axis(x), weight, bias)
        groups = x.unflatten(-1, (self.num_groups, self.group_size))
        return _affine(self._last_axis(groups).flatten(-2), weight, bias)

    def _last_axis(self, x: Tensor) -> Tensor:
        shape = x.shape[-1:]
        return F.layer_norm(x, shape, eps=self.eps) if self.centred else F.rms_norm(x, shape, eps=self.eps)

    def _check(self, x: Tensor) -> None:
        axis = 1 if self.dim else -1
        if x.ndim != self.dim + 2 if self.dim else x.ndim == 0:
            problem = f"{x.ndim} axes"
        elif x.shape[axis] != self.num_features:
            problem = f"{x.shape[axis]} features"
        else:
            return
        expected = _LAYOUTS[self.dim].format(self.num_features)
        raise InvalidInputError(
            f"{type(self).__name__} expected {self.num_features} features in the shape {expected}, found "
            f"{problem} in the shape {tuple(x.shape)}; change num_features or dim (axes after the channels)."
        )

    def extra_repr(self) -> str:
        """The arguments, as torch's layers print them."""
        groups = f", num_groups={self.num_groups}" if self.num_groups > 1 else ""
        bias = "" if self.weight is None or not self.centred else f", bias={self.bias is not None}"
        return (
            f"{self.num_features}{groups}, dim={self.dim}, eps={self.eps}, "
            f"affine={self.weight is not None}{bias}"
        )


def _affine(y: Tensor, weight: Tensor | None, bias: Tensor | None, dim: int = 0) -> Tensor:
    """Weight and bias of each feature; `dim` axes stand behind the features."""
    if weight is None:
        return y
    shape = (-1, *(1,) * dim)
    weight = weight.view(shape)
    return y * weight if bias is None else torch.addcmul(bias.view(shape), y, weight)


class LayerNorm(Norm):
    """LN."""

    def __init__(
        self,
        num_features: int,
        *,
        dim: int = 0,
        eps: float = 1e-5,
        affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            as_num_features(num_features),
            1,
            dim=dim,
            eps=eps,
            affine=affine,
            bias=bias,
            device=device,
            dtype=dtype,
        )


class LayerNormPosition(LayerNorm):
    """LN-Position."""

    per_position = True


class GroupLayerNorm(Norm):
    """LN-G."""

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
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        groups = resolve_num_groups(num_features, num_groups, group_size)
        super().__init__(
            num_features, groups, dim=dim, eps=eps, affine=affine, bias=bias, device=device, dtype=dtype
        )


class GroupLayerNormPosition(GroupLayerNorm):
    """LN-G-Position."""

    per_position = True


class GroupNorm(GroupLayerNorm):
    """GN."""


class InstanceNorm(Norm):
    """IN."""

    def __init__(
        self,
        num_features: int,
        *,
        dim: int = 2,
        eps: float = 1e-5,
        affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if dim == 0:
            raise InvalidInputError(
                "dim=0: InstanceNorm pools the pixels of one channel, and a vector has none; pass dim=1, 2 or 3."
            )
        size = as_num_features(num_features)
        super().__init__(size, size, dim=dim, eps=eps, affine=affine, bias=bias, device=device, dtype=dtype)


class RMSNorm(Norm):
    """RMSNorm."""

    centred = False

    def __init__(
        self,
        num_features: int,
        *,
        dim: int = 0,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            as_num_features(num_features),
            1,
            dim=dim,
            eps=eps,
            affine=affine,
            bias=False,
            device=device,
            dtype=dtype,
        )


class GroupRMSNorm(Norm):
    """RMSNorm of each group."""

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
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        groups = resolve_num_groups(num_features, num_groups, group_size)
        super().__init__(
            num_features, groups, dim=dim, eps=eps, affine=affine, bias=False, device=device, dtype=dtype
        )


def as_num_features(num_features: Any) -> int:
    """A positive int."""
    if isinstance(num_features, bool) or not isinstance(num_features, int) or num_features < 1:
        raise InvalidInputError(f"num_features={excerpt(num_features)}; pass a positive integer.")
    return num_features


def resolve_num_groups(num_features: Any, num_groups: Any, group_size: Any) -> int:
    """The number of groups, from exactly one of it and the size of equal groups."""
    features = as_num_features(num_features)
    if (num_groups is None) == (group_size is None):
        raise InvalidInputError(
            f"Pass exactly one of num_groups and group_size, got num_groups={num_groups}, group_size={group_size}."
        )
    name, given = ("group_size", group_size) if num_groups is None else ("num_groups", num_groups)
    if isinstance(given, bool) or not isinstance(given, int) or given < 1 or features % given:
        raise InvalidInputError(
            f"{name}={excerpt(given)} does not divide num_features={features} into equal groups; "
            f"pass a positive divisor of {features}."
        )
    return given if num_groups is not None else features // given


_PLAIN: dict[str, Callable[..., nn.Module]] = {
    "ln": LayerNorm,
    "ln-position": LayerNormPosition,
    "in": InstanceNorm,
    "rms": RMSNorm,
}
_GROUPED: dict[str, Callable[..., nn.Module]] = {
    "ln-g": GroupLayerNorm,
    "ln-g-position": GroupLayerNormPosition,
    "gn": GroupNorm,
    "rms-g": GroupRMSNorm,
}
_BATCH = (nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)

KINDS = (*_PLAIN, *_GROUPED, "bn", "none")
"""What `make_norm` makes."""


def make_norm(
    kind: str,
    num_features: int,
    *,
    num_groups: int | None = None,
    group_size: int | None = None,
    eps: float = 1e-5,
    affine: bool = True,
    dim: int = 0,
    device: Any = None,
    dtype: torch.dtype | None = None,
) -> nn.Module:
    """The norm of a name."""
    if kind in _GROUPED:
        return _GROUPED[kind](
            num_features, num_groups=num_groups, group_size=group_size, eps=eps, affine=affine, dim=dim,
            device=device, dtype=dtype,
        )  # fmt: skip
    if num_groups is not None or group_size is not None:
        raise InvalidInputError(
            f"num_groups={num_groups} and group_size={group_size} mean nothing to norm {kind!r}; leave them out, "
            f"or take one of {', '.join(_GROUPED)}."
        )
    if kind in _PLAIN:
        return _PLAIN[kind](num_features, eps=eps, affine=affine, dim=dim, device=device, dtype=dtype)
    if kind == "bn":
        return _BATCH[dim](num_features, eps=eps, affine=affine, device=device, dtype=dtype)
    if kind == "none":
        return nn.Identity()
    raise InvalidInputError(f"norm {excerpt(kind)}; choose one of {', '.join(KINDS)}.")
