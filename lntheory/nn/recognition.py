"""Recognition of norms: the kind, features, groups, layout and epsilon of a module that normalizes.

torch's norms and ours are recognised by their classes. Any other module (Llama's RMSNorm, T5's "layer norm",
a subclass with a forward of its own) is recognised only by a trial: a copy with random parameters has to give

    weight * LN(x) + bias      or      weight * RMSNorm(x) + bias

on random rows, some of them large and some so small that epsilon matters. So Gemma's RMSNorm, which scales by
1 + weight, is not taken for one that scales by weight.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from lntheory.errors import InvalidInputError
from lntheory.nn import registry
from lntheory.nn.norms import (
    Norm,
)

__all__ = ["NormDescription", "describe", "looks_like_a_norm", "require_initialized"]

_BATCH: dict[type[nn.Module], int | None] = {
    nn.BatchNorm1d: None,
    nn.BatchNorm2d: 2,
    nn.BatchNorm3d: 3,
    nn.SyncBatchNorm: None,
}
_INSTANCE: dict[type[nn.Module], int] = {nn.InstanceNorm1d: 1, nn.InstanceNorm2d: 2, nn.InstanceNorm3d: 3}
_EPS = ("eps", "variance_epsilon", "epsilon")


@dataclass(frozen=True)
class NormDescription:
    """The normalization that a module computes.

    Attributes
    ----------
    kind : str
        A name that `lntheory.nn.make_norm` knows.
    num_features, num_groups : int
    dim : int or None
        Axes after the channels, 0 for features last; None for a module that takes several layouts.
    eps : float
    """

    kind: str
    num_features: int
    num_groups: int
    dim: int | None
    eps: float


def looks_like_a_norm(module: nn.Module) -> bool:
    """Whether the module is a leaf with "norm" in its class's name, so that reports should mention it."""
    return "norm" in type(module).__name__.lower() and next(module.children(), None) is None


def require_initialized(module: nn.Module) -> None:
    """Raise InvalidInputError if the module is lazy and has seen no batch."""
    if any(is_lazy(parameter) for parameter in module.parameters()):
        raise InvalidInputError("its number of features is not known before the first batch: run one")


def describe(module: nn.Module) -> NormDescription:
    """The normalization that the module computes.

    Raises
    ------
    InvalidInputError
        If the module is not recognised as a norm of a known kind; the message says why.

    Examples
    --------
    >>> describe(nn.GroupNorm(4, 12))
    NormDescription(kind='gn', num_features=12, num_groups=4, dim=None, eps=1e-05)
    """
    require_initialized(module)
    known = _describe_ours(module) or _describe_torch(module)
    return known or _describe_by_trial(module)


def _describe_ours(module: nn.Module) -> NormDescription | None:
    kinds = [kind for kind, entry in registry.NORMS.items() if entry.make is type(module)]
    if not kinds or not isinstance(module, Norm):
        return None
    return NormDescription(kinds[0], module.num_features, module.num_groups, module.dim, module.eps)


def _describe_torch(module: nn.Module) -> NormDescription | None:
    kind = type(module)
    if kind is nn.LayerNorm or kind is nn.RMSNorm:
        shape = tuple(int(size) for size in module.normalized_shape)  # type: ignore[union-attr]
        if len(shape) > 1:
            raise InvalidInputError(
                f"it normalizes over {len(shape)} axes, {shape}, with a weight for every element; "
                "ours have one a feature"
            )
        name: str = "ln" if kind is nn.LayerNorm else "rms"
        return NormDescription(name, shape[0], 1, 0, _eps(module))
    if isinstance(module, nn.GroupNorm) and kind is nn.GroupNorm:
        return NormDescription("gn", module.num_channels, module.num_groups, None, module.eps)
    if kind in _BATCH:
        return NormDescription("bn", _count(module), 1, _BATCH[kind], _eps(module))
    if kind in _INSTANCE:
        return NormDescription("in", _count(module), _count(module), _INSTANCE[kind], _eps(module))
    return None


def _count(module: nn.Module) -> int:
    return int(module.num_features)  # type: ignore[arg-type]


def _eps(module: nn.Module) -> float:
    value: Any = next((getattr(module, name) for name in _EPS if hasattr(module, name)), 0.0)
    if value is None:  # torch's RMSNorm: the epsilon of the type
        weight = next(module.parameters(), torch.empty(0))
        return float(torch.finfo(weight.dtype).eps)
    return float(value)


def _describe_by_trial(module: nn.Module) -> NormDescription:
    weight = getattr(module, "weight", None)
    shape = tuple(weight.shape) if isinstance(weight, Tensor) else getattr(module, "normalized_shape", ())
    if len(shape) != 1:
        raise InvalidInputError(f"{type(module).__name__} does not say how many features it has")
    eps = _eps(module)
    try:
        kind = _tried(module, int(shape[0]), eps)
    except Exception as error:  # foreign code on an input that it was not made for may raise anything
        name = type(error).__name__
        raise InvalidInputError(f"{type(module).__name__} did not take rows of {shape[0]}: {name}") from error
    if kind is None:
        raise InvalidInputError(
            f"{type(module).__name__} computes neither weight * LN(x) + bias nor weight * RMSNorm(x) + bias"
        )
    return NormDescription(kind, int(shape[0]), 1, 0, eps)


def _tried(module: nn.Module, n_features: int, eps: float) -> str | None:
    """The kind that a copy with random parameters agrees with, on the CPU."""
    trial = copy.deepcopy(module).to("cpu", torch.float32).eval()
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    with torch.no_grad():
        for parameter in trial.parameters():
            parameter.copy_(random(*parameter.shape))
        small = eps**0.5 if eps > 0 else 1.0
        rows = torch.cat([3 * random(4, n_features) + 1, small * (random(4, n_features) + 1)])[None]
        outputs = trial(rows)[0].double()
        x = rows[0].double()
        weight, bias = (
            value.double() if isinstance(value := getattr(trial, name, None), Tensor) else default
            for name, default in (("weight", 1.0), ("bias", 0.0))
        )
        centred = x - x.mean(dim=-1, keepdim=True)
        for kind, part in (("ln", centred), ("rms", x)):
            expected = weight * part / (part.square().mean(dim=-1, keepdim=True) + eps).sqrt() + bias
            # Float32 against float64: a wrong formula is off by a thousand times as much.
            if torch.allclose(outputs, expected, rtol=1e-4, atol=1e-4):
                return "ln" if kind == "ln" else "rms"
    return None
