"""What one would do instead: a torch MLP, trained by Adam until it knows the same random labels by heart."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import Any, NamedTuple

from benchmarks.page import Page, show
from benchmarks.problems import Problem, problems
from benchmarks.shattering import shattered

WIDTH, BATCH, LEARNING_RATE = 256, 128, 1e-3
MOST_EPOCHS, MOST_SECONDS = 5000, 30.0
SEEDS = (0, 1, 2)

TEXT = (
    f"The same samples and labels: an MLP with two hidden layers of {WIDTH} ReLUs (standardised features, "
    f"cross-entropy, Adam at {LEARNING_RATE:g}, batches of {BATCH}, float32, one thread), trained until its "
    f"argmax is right on all samples or {MOST_SECONDS:.0f} processor seconds have passed; median of three "
    "seeds. It comes with no proof. Beside it the LN-Net of width 3, built and proved (seed 0). The "
    "ratio is MLP over LN-Net, a lower bound where training ran out of time."
)
HEADER = (
    "samples", "MLP parameters", "MLP epochs", "MLP s", "MLP wrong",
    "LN-Net parameters", "LN layers", "build + prove s", "MLP / LN-Net",
)  # fmt: skip


class Trained(NamedTuple):
    """What training came to."""

    n_parameters: int
    epochs: int
    seconds: float
    wrong: int


def train(problem: Problem, seed: int) -> Trained:
    """Train until nothing is wrong, or time is up."""
    import torch

    torch.manual_seed(seed)
    spread = problem.X.std(axis=0)
    X = torch.tensor((problem.X - problem.X.mean(axis=0)) / (spread + (spread == 0)), dtype=torch.float32)
    y = torch.tensor(problem.y)
    net = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], WIDTH), torch.nn.ReLU(),
        torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(),
        torch.nn.Linear(WIDTH, problem.n_classes),
    )  # fmt: skip
    optimizer = torch.optim.Adam(net.parameters(), lr=LEARNING_RATE)
    loss: Any = torch.nn.CrossEntropyLoss()
    start, epochs, wrong = time.process_time(), 0, len(y)
    while wrong and epochs < MOST_EPOCHS and time.process_time() - start < MOST_SECONDS:
        for batch in torch.randperm(len(y)).split(BATCH):
            optimizer.zero_grad()
            loss(net(X[batch]), y[batch]).backward()
            optimizer.step()
        epochs += 1
        with torch.no_grad():
            wrong = int((net(X).argmax(dim=1) != y).sum())
    seconds = time.process_time() - start
    return Trained(sum(p.numel() for p in net.parameters()), epochs, seconds, wrong)


def _row(problem: Problem) -> tuple[str, ...]:
    runs = [train(problem, seed) for seed in SEEDS]
    net, _, building, proving = shattered(problem)
    seconds = building + proving
    theirs = median(run.seconds for run in runs)
    wrong = median(run.wrong for run in runs)
    return (
        problem.name,
        str(runs[0].n_parameters),
        f"{median(run.epochs for run in runs):g}",
        show(theirs),
        f"{wrong:g}",
        str(net.n_parameters),
        str(net.depth),
        show(seconds),
        f"{theirs / seconds:.2g}" if wrong == 0 else f"> {theirs / seconds:.2g}",
    )


def pages() -> Iterator[Page]:
    """One page; none, with a word why, where torch is not installed."""
    try:
        import torch
    except ImportError:
        print("perceptron: left out, torch is not installed (pip install -e '.[torch]')")
        return
    torch.set_num_threads(1)
    rows = [_row(problem) for problem in problems()]
    yield Page("What training would take", TEXT, HEADER, rows)
