"""What is reported of the paper's random-label table: targets to print beside ours, and no more than that.

The numbers come from a summary of the paper (Ni, Guo, Jia, Huang, ICML 2024, arXiv 2406.01255) and have not
been compared with its PDF: wherever one is shown, `NOTE` is shown with it. Nothing that is not listed here is
known of the paper's accuracies.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DISPLAYED", "FULL_SIZES", "NOTE", "QUALITATIVE", "REPORTED", "Reported", "reported_accuracy"]

NOTE = "reported, not verified against the PDF"


@dataclass(frozen=True)
class Reported:
    """A final training accuracy on random labels, in percent: of 256 neurons a layer, and the best found."""

    data: str
    norm: str
    percent: float


REPORTED = (
    Reported("cifar10", "linear", 18.51),
    Reported("cifar10", "ln", 55.85),
    Reported("mnist", "linear", 15.38),
    Reported("mnist", "ln", 19.44),
)

FULL_SIZES = {"cifar10": 50_000, "mnist": 60_000}
"""Training samples of the sets that numbers are reported of; a subset is easier to fit."""

DISPLAYED = {"cifar10": "CIFAR-10-RL", "mnist": "MNIST-RL"}
"""What the paper's data, with random labels, are called."""

QUALITATIVE = {
    "ln": "LN-Net exceeds the linear bound",
    "bn": "BN-Net does not exceed the linear bound",
    "ln-g": "LN-G with more groups helps (32 groups of 8 neurons), groups of 2 neurons hurt (128 of 256)",
}
"""What the paper's tables say without a number."""


def reported_accuracy(data: str, norm: str) -> float | None:
    """In percent; None where nothing is reported.

    Examples
    --------
    >>> reported_accuracy("cifar10", "ln"), reported_accuracy("digits", "ln")
    (55.85, None)
    """
    return next((r.percent for r in REPORTED if (r.data, r.norm) == (data, norm)), None)
