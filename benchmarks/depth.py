"""How deep the constructions are, and how far from what counting allows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

import lntheory
from benchmarks.page import Page, show, timed
from benchmarks.problems import Problem
from lntheory.construct import guaranteed_depth
from lntheory.data import load_dataset, random_labels
from lntheory.vc import least_depth

TEXT = (
    "LN layers by method; *projection-merge* is the depth that the paper's construction never exceeds, m - 2 "
    "for m distinct samples. *Counting* is a depth below which not every labeling in two classes of so many "
    "samples can be fitted. Planar: Gaussian points, balanced random labels, medians of five seeds; the rest "
    "of one. Seconds of fold search: processor seconds, its default budget. The nets that it finds itself "
    "are right in plain float64."
)
HEADER = ("problem", "samples", "projection-merge", "minority-merge", "pairs", "fold", "counting", "fold s")
SIZES = (100, 200, 500, 1000)
SEEDS = range(5)
FIGURE = Path(__file__).parents[1] / "docs" / "depth.png"


def balanced(n_samples: int, seed: int) -> Problem:
    """Gaussian points of the plane, half of them, chosen at random, of either label."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n_samples, 2)), rng.permutation(np.arange(n_samples) % 2)
    return Problem(f"planar Gaussian, {n_samples}", X, y)


def bundled() -> Iterator[Problem]:
    """Data sets that come with scikit-learn, with their labels and with random ones."""
    digits = load_dataset("digits").X[:300]
    yield Problem("digits, two random labels", digits, random_labels(digits, 2, 0))
    yield Problem("digits, ten random labels", digits, random_labels(digits, 10, 0))
    for name in ("iris", "wine", "breast_cancer"):
        data = load_dataset(name)
        yield Problem(f"{name}, true labels", data.X, np.unique(data.y, return_inverse=True)[1])
        yield Problem(f"{name}, random labels", data.X, random_labels(data.X, len(data.classes), 0))


def _depths(problems: list[Problem]) -> tuple[dict[str, float], float]:
    """Median depth by method, and median seconds of fold search."""
    depths: dict[str, list[int]] = {"minority-merge": [], "pairs": [], "fold": []}
    seconds = []
    for seed, problem in enumerate(problems):
        for method, found in depths.items():
            spent, net = timed(
                lambda p=problem, m=method, s=seed: lntheory.shatter(p.X, p.y, method=m, random_state=s), 1
            )
            found.append(net.depth)
        seconds.append(spent)  # of the last method
    return {method: median(found) for method, found in depths.items()}, median(seconds)


def _row(problems: list[Problem]) -> tuple[tuple[str, ...], dict[str, float]]:
    first = problems[0]
    distinct, kept = np.unique(first.X, axis=0, return_index=True)
    paper = guaranteed_depth(np.bincount(first.y[kept]).tolist(), method="projection-merge")
    depths, seconds = _depths(problems)
    least = least_depth(len(distinct), first.X.shape[1]) if first.n_classes == 2 else None
    cells = (first.name, str(len(distinct)), str(paper), *(f"{depth:g}" for depth in depths.values()))
    values = {"projection-merge": paper, **depths, "counting": float(least or 0)}
    return (*cells, "" if least is None else str(least), show(seconds)), values


def draw(sizes: list[int], depths: dict[str, list[float]], path: Path = FIGURE) -> None:
    """Depth against samples, by method, on logarithmic axes."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, values in depths.items():
        slope = np.polyfit(np.log(sizes), np.log(values), 1)[0]
        style = "k--" if name == "counting" else "o-"
        axes.loglog(sizes, values, style, label=f"{name} (slope {slope:.2f})", markersize=4)
    axes.set(xlabel="samples m", ylabel="LN layers", title="Random labels of planar points, width 3")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def pages() -> Iterator[Page]:
    """One page; draws the figure of the documentation."""
    rows, series = [], {}
    for size in SIZES:
        row, values = _row([balanced(size, seed) for seed in SEEDS])
        rows.append(row)
        for name, value in values.items():
            series.setdefault(name, []).append(value)
    draw(list(SIZES), series)
    rows += [_row([problem])[0] for problem in bundled()]
    yield Page("Depth", TEXT, HEADER, rows)
