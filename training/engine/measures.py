"""Losses and metrics: means over samples or tokens, added up over batches, processes and parts alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from lntheory.errors import InvalidInputError

from ..run.config import Loss

__all__ = ["METRICS", "Mean", "default_metrics", "loss_of", "metrics_of"]

IGNORED = -100
"""The target that counts for nothing, as in torch: padding."""


@dataclass(frozen=True)
class Mean:
    """A mean that can be taken in parts: a total and a count, both sums.

    Attributes
    ----------
    name : str
    total : callable
        Of (outputs, targets) of a batch: the sum, a tensor without axes.
    count : callable
        Of targets: how many entries the sum is over.
    finish : callable
        What is shown of the mean.
    larger_is_better : bool
    """

    name: str
    total: Callable[[Any, Any], Tensor]
    count: Callable[[Any], Tensor]
    finish: Callable[[float], float] = float
    larger_is_better: bool = False


def _n_targets(targets: Tensor) -> Tensor:
    return (targets != IGNORED).sum()


def _n_samples(targets: Tensor) -> Tensor:
    return torch.full((), len(targets), device=targets.device)


def _cross_entropy(smoothing: float) -> Callable[[Tensor, Tensor], Tensor]:
    def total(scores: Tensor, targets: Tensor) -> Tensor:
        flat = scores.flatten(0, -2)
        return F.cross_entropy(flat, targets.flatten(), reduction="sum", label_smoothing=smoothing)

    return total


def _squares(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.mse_loss(outputs, targets, reduction="sum")


def _right(scores: Tensor, targets: Tensor) -> Tensor:
    return (scores.argmax(-1) == targets).sum()


def _exponential(mean: float) -> float:
    return math.exp(mean) if mean < 700 else math.inf


METRICS = {
    "accuracy": Mean("accuracy", _right, _n_targets, larger_is_better=True),
    "perplexity": Mean("perplexity", _cross_entropy(0.0), _n_targets, _exponential),
}
"""The metrics with a name, beside "loss": how many targets have the largest score, and exp(cross-entropy)."""


def loss_of(loss: Loss, own: Callable[[Any, Any], Tensor] | None = None) -> Mean:
    """The loss of a config, or the caller's own, a mean over the samples of a batch.

    Examples
    --------
    >>> loss = loss_of(Loss())
    >>> scores, targets = torch.zeros(3, 4), torch.tensor([0, 1, -100])
    >>> loss.total(scores, targets) / loss.count(targets)  # log(4)
    tensor(1.3863)
    """
    if own is not None:
        return _of_callable("loss", own)
    if loss.name == "mse":
        return Mean("loss", _squares, lambda targets: torch.full((), targets.numel(), device=targets.device))
    return Mean("loss", _cross_entropy(loss.label_smoothing), _n_targets)


def _of_callable(name: str, mean: Callable[[Any, Any], Tensor]) -> Mean:
    return Mean(name, lambda outputs, targets: mean(outputs, targets) * len(targets), _n_samples)


def default_metrics(loss: Loss, own: object) -> tuple[str, ...]:
    """What is measured if nothing else is asked for."""
    return ("loss", "accuracy") if own is None and loss.name == "cross-entropy" else ("loss",)


def metrics_of(metrics: Iterable[str | Callable[[Any, Any], Tensor]], loss: Mean) -> Sequence[Mean]:
    """The metrics of these names, or of callables, which are called by their ``__name__``.

    Raises
    ------
    InvalidInputError
        For an unknown name.
    """
    known = {"loss": loss, **METRICS}
    means = []
    for metric in metrics:
        if callable(metric):
            means.append(_of_callable(getattr(metric, "__name__", "metric"), metric))
        elif metric in known:
            means.append(known[metric])
        else:
            raise InvalidInputError(
                f"metric {metric!r}; choose one of {', '.join(known)}, or give a callable"
            )
    return means
