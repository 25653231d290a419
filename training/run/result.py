"""What a run gives: metrics of every epoch, by name, and whether it diverged. No torch here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .config import RunConfig

__all__ = ["EpochMetrics", "RunResult"]


@dataclass(frozen=True)
class EpochMetrics:
    """State of the net at the end of an epoch, from a full pass over each split in eval mode.

    Attributes
    ----------
    epoch : int
        Counted from 1.
    metrics : mapping of str to float
        Such as ``{"train_loss": 0.5, "train_accuracy": 0.9, "test_loss": …}``; losses are finite.
    lr : float
        The learning rate of its last step.
    seconds : float
        Wall time of the epoch and its evaluation; of runs trained together, this one's share.
    """

    epoch: int
    metrics: Mapping[str, float]
    lr: float
    seconds: float


@dataclass(frozen=True)
class RunResult:
    """A run as far as it went.

    Attributes
    ----------
    config : RunConfig
    epochs : tuple of EpochMetrics
        The finished epochs. A diverged run ends before the first epoch whose loss is not finite.
    diverged : bool
        A loss became infinite or NaN in epoch ``len(epochs) + 1``.
    finished : bool
        Whether nothing is left to train.
    seconds : float
        Wall time of all parts of the run together.
    final : mapping of str to float
        What is measured once: ``samples_per_second`` of training and evaluation, ``peak_memory`` in bytes
        (of the GPU's tensors; without a GPU of the whole process).
    model : nn.Module or None
        The trained net.
    """

    config: RunConfig
    epochs: tuple[EpochMetrics, ...]
    diverged: bool
    finished: bool
    seconds: float
    final: Mapping[str, float] = field(default_factory=dict)
    model: Any = field(default=None, compare=False, repr=False)

    def value(self, metric: str) -> float | None:
        """A metric at the end; None if the run diverged or has not finished."""
        if self.diverged or not self.finished or not self.epochs:
            return None
        return self.epochs[-1].metrics[metric]

    @property
    def accuracy(self) -> float | None:
        """Final training accuracy; None if the run diverged or has not finished."""
        return self.value("train_accuracy")
