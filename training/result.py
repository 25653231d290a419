"""What a run gives: metrics of every epoch, and whether it diverged. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

from training.config import RunConfig

__all__ = ["EpochMetrics", "RunResult"]


@dataclass(frozen=True)
class EpochMetrics:
    """State of the net at the end of an epoch, from a full pass over all training samples in eval mode.

    Attributes
    ----------
    epoch : int
        Counted from 1.
    loss : float
        Mean cross-entropy over the training samples, finite.
    accuracy : float
        Fraction of the training samples whose label has the largest score.
    lr : float
        The learning rate that the epoch was trained with.
    seconds : float
        Wall time of the epoch and its evaluation.
    """

    epoch: int
    loss: float
    accuracy: float
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
        The loss became infinite or NaN in epoch ``len(epochs) + 1``.
    seconds : float
        Wall time of all parts of the run together.
    """

    config: RunConfig
    epochs: tuple[EpochMetrics, ...]
    diverged: bool
    seconds: float

    @property
    def finished(self) -> bool:
        """Whether nothing is left to train: all epochs are done, or the run diverged."""
        return self.diverged or len(self.epochs) == self.config.epochs

    @property
    def accuracy(self) -> float | None:
        """Final training accuracy; None if the run diverged or has not finished."""
        return self.epochs[-1].accuracy if self.finished and not self.diverged else None
