"""How deep the constructions are, and how far from what counting allows."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import lntheory
from benchmarks.page import Page, show
from benchmarks.problems import Problem
from lntheory.base.files import replaced_file
from lntheory.construct import guaranteed_depth
from lntheory.data import load_dataset, random_labels
from lntheory.exact import certify
from lntheory.vc import least_depth

TEXT = (
    "LN layers by method; *projection-merge* is the depth that the paper's construction never exceeds, m - 2 "
    "for m distinct samples. *Counting* is a depth below which not every labeling in two classes of so many "
    "samples can be fitted. Planar: Gaussian points, balanced random labels; fold search of five seeds, the "
    "median and all, the rest of the first. *Bits a layer*: the labels' entropy over that depth. "
    "Seconds of fold search on all cores, by the clock, its default budget; where its own net was right in "
    "plain float64, *fold* says so by \\*."
)
HEADER = (
    "problem", "samples", "projection-merge", "minority-merge", "pairs", "fold", "of seeds", "counting",
    "bits a layer", "fold s",
)  # fmt: skip
TEXT32 = (
    'Fold search with `target="float32"`, five seeds, default budget: the net is right in a plain float32 '
    "pass and under sixteen sets of random roundings. *Carried*: seeds for which there was such a net; for "
    "others the merges' is taken. Problems as above; pairs of the first seed."
)
HEADER32 = ("problem", "pairs", "fold", "of seeds", "carried", "fold s")
SIZES32 = (50, 100, 200, 300)
SIZES = (20, 50, 100, 200, 500, 1000)
SEEDS = range(5)
METHODS = ("projection-merge", "minority-merge", "pairs", "fold", "counting")
FIGURE = Path(__file__).parents[1] / "docs" / "depth.png"


@dataclass(frozen=True)
class Depths:
    """Layers by method, for problems that differ in their seed only."""

    name: str
    n_samples: int
    bits: float
    by_method: dict[str, float]
    fold: tuple[int, ...]
    in_float64: bool
    seconds: float

    def row(self) -> tuple[str, ...]:
        """The cells of the table."""
        depth = {name: f"{self.by_method[name]:g}" if name in self.by_method else "" for name in METHODS}
        star = "\\*" if self.in_float64 else ""
        return (
            self.name, str(self.n_samples), depth["projection-merge"], depth["minority-merge"],
            depth["pairs"], depth["fold"] + star, ", ".join(map(str, self.fold)), depth["counting"],
            f"{self.bits / self.by_method['fold']:.1f}" if self.by_method["fold"] else "", show(self.seconds),
        )  # fmt: skip


def balanced(n_samples: int, seed: int) -> Problem:
    """Gaussian points of the plane, half of them, chosen at random, of either label."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n_samples, 2)), rng.permutation(np.arange(n_samples) % 2)
    return Problem(f"planar Gaussian, {n_samples}", X, y)


def bundled() -> Iterator[Problem]:
    """Data sets that come with scikit-learn, with their labels and with random ones."""
    digits = load_dataset("digits")
    X = digits.X[:300]
    yield Problem("digits (300), odd or even", X, digits.y[:300].astype(np.int64) % 2)
    yield Problem("digits (300), ten true labels", X, digits.y[:300].astype(np.int64))
    yield Problem("digits (300), two random labels", X, random_labels(X, 2, 0))
    yield Problem("digits (300), ten random labels", X, random_labels(X, 10, 0))
    for name in ("iris", "wine", "breast_cancer"):
        data = load_dataset(name)
        yield Problem(f"{name}, true labels", data.X, np.unique(data.y, return_inverse=True)[1])
        yield Problem(f"{name}, random labels", data.X, random_labels(data.X, len(data.classes), 0))


def measured(problems: Sequence[Problem]) -> Depths:
    """Fold search on every problem, the merges on the first; every net is certified."""
    first = problems[0]
    distinct, kept = np.unique(first.X, axis=0, return_index=True)
    sizes = np.bincount(first.y[kept])
    depths: dict[str, float] = {
        "projection-merge": guaranteed_depth(sizes.tolist(), method="projection-merge")
    }
    for method in ("minority-merge", "pairs"):
        depths[method] = _certified(first, method, 0).depth
    start = time.perf_counter()
    nets = [_certified(problem, "fold", seed) for seed, problem in enumerate(problems)]
    seconds = (time.perf_counter() - start) / len(nets)
    depths["fold"] = median(net.depth for net in nets)
    if first.n_classes == 2:
        depths["counting"] = least_depth(len(distinct), first.X.shape[1])
    shares = sizes[sizes > 0] / sizes.sum()
    bits = -float((shares * np.log2(shares)).sum()) * len(distinct)
    own = all(
        (net.provenance or {}).get("construction") == "fold" and net.arithmetic == "float64" for net in nets
    )
    return Depths(first.name, len(distinct), bits, depths, tuple(net.depth for net in nets), own, seconds)


def measured_in_float32(problems: Sequence[Problem]) -> tuple[str, ...]:
    """A row of the table for float32: fold search on every problem; every net is certified."""
    start = time.perf_counter()
    nets = [_certified(problem, "fold", seed, target="float32") for seed, problem in enumerate(problems)]
    seconds = (time.perf_counter() - start) / len(nets)
    carried = [(net.provenance or {})["target"] == "float32" for net in nets]
    return (
        problems[0].name, str(_certified(problems[0], "pairs", 0).depth),
        f"{median(net.depth for net in nets):g}", ", ".join(str(net.depth) for net in nets),
        f"{sum(carried)} of {len(nets)}", show(seconds),
    )  # fmt: skip


def _certified(problem: Problem, method: str, seed: int, **options: Any) -> lntheory.LNNet:
    net = lntheory.shatter(
        problem.X, problem.y, method=method, random_state=seed, n_jobs=os.cpu_count() or 1, **options
    )
    certify(net, problem.X, problem.y)
    return net


def draw(series: Sequence[Depths], path: Path = FIGURE) -> None:
    """Depth against samples, and bits gained a layer, by method."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    names = {
        "projection-merge": "paper", "minority-merge": "one pair", "pairs": "two pairs",
        "fold": "fold search", "counting": "counting bound",
    }  # fmt: skip
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    sizes = np.array([depths.n_samples for depths in series])
    for method, name in names.items():
        layers = np.array([depths.by_method[method] for depths in series])
        bits = np.array([depths.bits for depths in series])
        slope = np.polyfit(np.log(sizes), np.log(np.maximum(layers, 1)), 1)[0]
        style = "k--" if method == "counting" else "o-"
        left.loglog(sizes, layers, style, label=f"{name} (slope {slope:.2f})", markersize=4)
        right.loglog(sizes, bits / np.maximum(layers, 1), style, label=name, markersize=4)
    left.set(xlabel="samples m", ylabel="LN layers", title="Depth")
    right.set(xlabel="samples m", ylabel="bits of the labels a layer", title="Bits gained a layer")
    left.legend(fontsize=8)
    figure.suptitle("Balanced random labels of planar Gaussian points, nets of width 3")
    with replaced_file(path) as beside:
        figure.savefig(beside, dpi=120, format="png")
    plt.close(figure)


def pages() -> Iterator[Page]:
    """Two pages; draws the figure of the documentation."""
    series = [measured([balanced(size, seed) for seed in SEEDS]) for size in SIZES]
    draw(series)
    rows = [depths.row() for depths in series]
    rows += [measured([problem]).row() for problem in bundled()]
    yield Page("Depth", TEXT, HEADER, rows)
    rows32 = [measured_in_float32([balanced(size, seed) for seed in SEEDS]) for size in SIZES32]
    yield Page("Depth in float32", TEXT32, HEADER32, rows32)
