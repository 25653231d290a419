"""The register of norms, and the one factory that every model uses.

A new norm is a copy of `TEMPLATE.py`; it is imported here and named in `NORMS`. `make_norm`, `swap_norms`,
the models of `training` and the tests that all norms have to pass read this register.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from lntheory.base.validation import as_count, as_eps
from lntheory.errors import InvalidInputError, excerpt
from lntheory.nn.norms import (
    Device,
    FeatureBatchNorm,
    GroupLayerNorm,
    GroupLayerNormPosition,
    GroupNorm,
    GroupRMSNorm,
    InstanceNorm,
    LayerNorm,
    LayerNormPosition,
    NormEntry,
    RMSNorm,
    as_dim,
)

__all__ = ["NORMS", "list_norms", "make_norm"]


def _batch_norm(num_features: int, *, dim: int, **options: Any) -> nn.Module:
    return (FeatureBatchNorm, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[dim](num_features, **options)


def _identity(num_features: int, **options: Any) -> nn.Module:
    return nn.Identity()


NORMS: Mapping[str, NormEntry] = MappingProxyType(
    {
        "ln": NormEntry(LayerNorm, "one mean and variance a sample"),
        "ln-position": NormEntry(LayerNormPosition, "one mean and variance a pixel"),
        "in": NormEntry(InstanceNorm, "one mean and variance a channel and sample"),
        "rms": NormEntry(RMSNorm, "one root mean square a sample"),
        "ln-g": NormEntry(GroupLayerNorm, "one mean and variance a group and sample", grouped=True),
        "ln-g-position": NormEntry(GroupLayerNormPosition, "the same of each pixel", grouped=True),
        "gn": NormEntry(GroupNorm, "another name of ln-g", grouped=True),
        "rms-g": NormEntry(GroupRMSNorm, "one root mean square a group and sample", grouped=True),
        "bn": NormEntry(_batch_norm, "torch's batch normalization"),
        "none": NormEntry(_identity, "no normalization"),
    }
)
"""Every norm by its name, in the order in which messages list them."""


def list_norms() -> tuple[str, ...]:
    """The names that `make_norm` knows.

    Examples
    --------
    >>> list_norms()
    ('ln', 'ln-position', 'in', 'rms', 'ln-g', 'ln-g-position', 'gn', 'rms-g', 'bn', 'none')
    """
    return tuple(NORMS)


def make_norm(
    kind: str,
    num_features: int,
    *,
    num_groups: int | None = None,
    group_size: int | None = None,
    eps: float = 1e-5,
    affine: bool = True,
    dim: int = 0,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> nn.Module:
    """Make the norm of a name: the one factory that every model uses.

    Parameters
    ----------
    kind : str
        ``"ln"``, ``"ln-position"``, ``"ln-g"``, ``"ln-g-position"``, ``"gn"``, ``"in"``, ``"rms"`` or
        ``"rms-g"``; ``"bn"`` for torch's batch normalization; ``"none"`` for the identity.
    num_features : int
    num_groups, group_size : int, optional
        Exactly one of them for ``"ln-g"``, ``"ln-g-position"``, ``"gn"`` and ``"rms-g"``, none for the rest.
    eps : float, default 1e-5
        For every kind, RMSNorm included, whose default in torch depends on the type.
    affine : bool, default True
    dim : {0, 1, 2, 3}, default 0
        Axes after the channels: 2 for images, 0 for vectors and sequences with features last.
    device, dtype
        Device and type of the parameters.

    Returns
    -------
    Module

    Raises
    ------
    InvalidInputError
        For an unknown kind, groups that do not divide the features, or groups for a kind that takes none.

    Examples
    --------
    >>> make_norm("ln-g", 256, num_groups=32)
    GroupLayerNorm(256, num_groups=32, dim=0, eps=1e-05, affine=True, bias=True)
    >>> make_norm("bn", 64, dim=2)
    BatchNorm2d(64, eps=1e-05, momentum=0.1, affine=True, ...track_running_stats=True)
    """
    if not isinstance(kind, str) or kind not in NORMS:
        raise InvalidInputError(f"The norm {excerpt(kind)} is not known; choose one of {', '.join(NORMS)}.")
    entry, size = NORMS[kind], as_count(num_features, "num_features", 1)
    options: dict[str, Any] = {
        "dim": as_dim(dim), "eps": as_eps(eps), "affine": affine, "device": device, "dtype": dtype
    }  # fmt: skip
    if entry.grouped:
        return entry.make(size, num_groups=num_groups, group_size=group_size, **options)
    if num_groups is not None or group_size is not None:
        grouped = [name for name, other in NORMS.items() if other.grouped]
        raise InvalidInputError(
            f"num_groups={excerpt(num_groups)} and group_size={excerpt(group_size)} mean nothing to the norm "
            f"{kind!r}; leave them out or choose one of {', '.join(grouped)}."
        )
    return entry.make(size, **options)
