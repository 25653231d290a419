"""How far plain float64 carries a construction."""

from __future__ import annotations

from collections.abc import Iterator

import lntheory
from benchmarks.page import Page, show, timed
from benchmarks.problems import planar

TEXT = (
    'Planar Gaussian points, two random labels, seeds 0, 1 and 2. `net.arithmetic` is "float64" where a '
    "plain float64 pass was shown to classify every sample right; beyond, the parameters are wider (dyadic): "
    "as certain, but predicted in ball arithmetic. *Safety* is the smallest gap/error ratio on the way, in "
    "the arithmetic that the net ended with. Processor seconds of the construction, median of three."
)
HEADER = ("samples", "in float64", "LN layers", "safety", "build s")
SAMPLES = (300, 500, 700, 1000, 1400)
SEEDS = (0, 1, 2)


def _row(n_samples: int) -> tuple[str, ...]:
    seconds, nets = [], []
    for seed in SEEDS:
        problem = planar(n_samples, seed)
        spent, net = timed(
            lambda p=problem, s=seed: lntheory.shatter(p.X, p.y, method="minority-merge", random_state=s), 1
        )
        seconds.append(spent)
        nets.append(net)
    carried = sum(net.arithmetic == "float64" for net in nets)
    return (
        str(n_samples),
        f"{carried} of {len(SEEDS)}",
        ", ".join(str(net.depth) for net in nets),
        ", ".join(f"{(net.provenance or {})['safety']:.1e}" for net in nets),
        show(sorted(seconds)[len(seconds) // 2]),
    )


def pages() -> Iterator[Page]:
    """One page."""
    yield Page("How far float64 carries", TEXT, HEADER, [_row(n_samples) for n_samples in SAMPLES])
