"""A norm to copy: name the file by its noun, replace `normalize_rows`, register it in `registry.py`.

This one is complete: LN with the mean absolute deviation in place of the standard deviation.

```
x ──► x - mean(x) ──► (x - mean(x)) / (mean |x - mean(x)| + eps) ──► weight * · + bias
```

A norm has to keep these promises: constant rows give zeros for every eps, 0 included, with zero gradient
(`Norm` keeps them away from 0/0); half types on a CPU are computed in float32 (`Norm` does so); and it takes
the layouts of `lntheory.nn.norms`. A norm with groups takes ``num_groups`` and ``group_size``, as
`GroupLayerNorm` does.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from lntheory.base.validation import as_count
from lntheory.nn.norms import Device, Norm, NormEntry, apply_affine


class AbsoluteDeviationNorm(Norm):
    """Each sample minus its mean, divided by its mean absolute deviation.

    Parameters
    ----------
    num_features : int
    dim : {0, 1, 2, 3}, default 0
        Axes after the channels; 0 for features last.
    eps : float, default 1e-5
        Added to the deviation.
    affine : bool, default True
        Whether to learn a weight and a bias for each feature.
    device, dtype
        Device and type of the parameters.

    Raises
    ------
    InvalidInputError
        If a number is out of its range.

    Examples
    --------
    >>> AbsoluteDeviationNorm(3, eps=0)(torch.tensor([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])).detach()
    tensor([[-1.5000,  0.0000,  1.5000],
            [ 0.0000,  0.0000,  0.0000]])
    """

    has_group_kernel: ClassVar[bool] = False

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
        super().__init__(size, 1, dim=dim, eps=eps, affine=affine, bias=affine, device=device, dtype=dtype)

    def normalize_rows(self, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        """Normalize the last axis and apply weight and bias."""
        centred = x - x.mean(dim=-1, keepdim=True)
        return apply_affine(centred / (centred.abs().mean(dim=-1, keepdim=True) + self.eps), weight, bias)


ENTRY = NormEntry(AbsoluteDeviationNorm, "LN by the mean absolute deviation")
"""In `registry.NORMS`: ``"abs": ENTRY``."""
