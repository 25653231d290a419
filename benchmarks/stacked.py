"""What stacking is worth: runs trained many at once, against the same runs one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.page import Page, show

if TYPE_CHECKING:  # torch is imported only when the page is run
    from training import RunConfig
    from training.data import ImageData
    from training.run.result import RunResult

REPEATS, EPOCHS, DEPTH, BATCH = 3, 2, 4, 128
NETS = (("ln", None), ("ln-g", 16), ("bn", None))
TEXT = (
    "The same runs by `training.train_grid` and, one after another, by `training.train`: "
    f"depth {DEPTH}, random labels, float32, batches of {BATCH}, {EPOCHS} epochs with the evaluation after "
    "each; every member has its own seed, every other one a ten times larger learning rate. Medians of "
    f"{REPEATS} runs of both sides in turn: on a CPU processor seconds of one thread, on a GPU seconds on "
    "the wall. *Differing*: members whose accuracy is off by more than a thousandth; float32 rounds "
    "otherwise in stacks, and training magnifies it."
)
HEADER = ("device", "data", "samples", "width", "norm", "optimizer", "members", "one by one s", "stacked s",
          "ratio", "differing")  # fmt: skip


def _row(device: str, data: ImageData, configs: Sequence[RunConfig]) -> tuple[str, ...]:
    from training import train, train_grid

    sides: dict[str, Callable[[], list[RunResult]]] = {
        "one by one": lambda: [train(None, data, config, device=device, threads=1) for config in configs],
        "stacked": lambda: train_grid(configs, data, device=device),
    }
    clock = time.process_time if device == "cpu" else time.perf_counter  # the results are on the CPU by then
    once = configs[0].replaced(epochs=1)
    train(None, data, once, device=device)  # what is done once, before the clock runs
    train_grid([once], data, device=device)
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    results: dict[str, list[RunResult]] = {}
    for _ in range(REPEATS):
        for name, side in sides.items():
            start = clock()
            results[name] = side()
            seconds[name].append(clock() - start)
    one, many = (median(seconds[name]) for name in sides)
    pairs = zip(*results.values(), strict=True)
    differing = sum(
        a.diverged != b.diverged or abs((a.accuracy or 0) - (b.accuracy or 0)) > 1e-3 for a, b in pairs
    )
    first = configs[0]
    return (
        device,
        data.name,
        str(len(data.train)),
        str(first.model.width),
        first.label.partition(" ")[0],
        first.optimizer.name,
        str(len(configs)),
        show(one),
        show(many),
        f"{one / many:.2g}",
        str(differing),
    )


def _configs(
    data: str, width: int, norm: str, num_groups: int | None, optimizer: str, members: int
) -> list[RunConfig]:
    from training import RunConfig
    from training.models import MLP
    from training.run.config import varied

    net = MLP(norm=norm, num_groups=num_groups, width=width, depth=DEPTH)
    base = RunConfig(
        data={"name": data, "label_seed": 0}, model=net, optimizer={"name": optimizer, "momentum": 0.1},
        schedule={"name": "step"}, batch_size=BATCH, epochs=EPOCHS,
    )  # fmt: skip
    low, high = (1e-3, 1e-2) if optimizer == "adam" else (1e-2, 1e-1)
    return [varied(base, {"seed": s, "optimizer.lr": high if s % 2 else low}) for s in range(members)]


def pages() -> Iterator[Page]:
    """One page; none, with a word why, where torch or lightning is not installed."""
    try:
        import lightning  # noqa: F401
        import torch
    except ImportError as error:
        print(f"stacked: left out, {error.name} is not installed (pip install -e '.[train]')")
        return
    from training.data import load

    torch.set_num_threads(1)
    digits = load("digits")
    work = [("cpu", digits, width, 16) for width in (64, 256)]
    if torch.cuda.is_available():
        work += [("cuda", digits, 256, 64), ("cuda", load("synthetic-cifar", n_samples=8192), 256, 64)]
    rows = [
        _row(device, data, _configs(data.name, width, norm, num_groups, optimizer, members))
        for device, data, width, members in work
        for norm, num_groups in NETS
        for optimizer in ("sgd", "adam")
    ]
    where = "" if torch.cuda.is_available() else " No GPU was at hand: there the ratio is unmeasured."
    yield Page("Many runs at once", TEXT + where, HEADER, rows)
