"""The one place where the nets here get their norms."""

from __future__ import annotations

import torch
from torch import nn

from lntheory.nn import make_norm

from .parameters import Norm

__all__ = ["norm_layer"]


def norm_layer(
    parameters: Norm, num_features: int, dim: int = 0, dtype: torch.dtype | None = None
) -> nn.Module:
    """The norm that `parameters` names, for so many features with `dim` axes behind them.

    Examples
    --------
    >>> from training.models.parameters import MLP
    >>> norm_layer(MLP(norm="ln-g", num_groups=2, width=8), 8)
    GroupLayerNorm(8, num_groups=2, dim=0, eps=1e-05, affine=True, bias=True)
    """
    return make_norm(
        parameters.norm, num_features, num_groups=parameters.num_groups, group_size=parameters.group_size,
        eps=parameters.eps, affine=parameters.affine, dim=dim, dtype=dtype,
    )  # fmt: skip
