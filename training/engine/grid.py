"""Many runs: those of one shape as stacks, stacks shared among the processes of torchrun, results in order.

::

    configs ─► members of one shape ─► stacks that fit the memory (on a CPU: its cache)
                                        stack 0 ─► process 0 ─┐
                                        stack 1 ─► process 1 ─┼─► results of all, in the order of the configs
                                        stack 2 ─► process 0 ─┘

Each stack is trained by the loop that trains one net, and has a checkpoint of its own, so that any number of
processes can go on from where others were interrupted.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.fabric import Fabric
from torch import nn

from lntheory.base import jsonfile
from lntheory.base.types import Progress
from lntheory.base.validation import as_count
from lntheory.errors import FileFormatError, InvalidInputError

from ..data import ImageData, RandomLabels
from ..models import build
from ..run.config import Optimizer, RunConfig, Schedule
from ..run.result import RunResult
from . import checkpoint as checkpoints
from .fabric import gathered, make_fabric, own_torch, rank, with_batch_norm, world_size
from .interruption import Interruption, deferred_interruption
from .loop import Loop
from .measures import default_metrics, loss_of, metrics_of
from .nets import NetStack, OneNet
from .samples import Splits, TensorSamples, as_splits, parameter_dtype

__all__ = ["load_weights", "partition", "train_grid"]


def train_grid(
    configs: Sequence[RunConfig],
    data: ImageData,
    *,
    device: str = "auto",
    threads: int = 1,
    folder: str | os.PathLike[str] | None = None,
    weights: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    members_at_once: int | None = None,
) -> list[RunResult]:
    """Train all runs of a grid, those of one shape together.

    Parameters
    ----------
    configs : sequence of RunConfig
        In any order, of any shapes; each names a model of `training.models`.
    data : ImageData
        As `training.data.load` gives it: the set that all configs name.
    device : str
        "auto" takes a GPU if there is one.
    threads : int
        CPU threads while it trains. Stacks grow with them, since every thread takes members of its own.
    folder : path, optional
        For the checkpoints of the stacks. If they are there already, training goes on from them: to
        bit-identical results on a CPU. Ctrl-C costs the step in hand, no more.
    weights : path, optional
        A folder to keep the trained weights of every run in, for `load_weights`.
    progress : callable, optional
        Called with (steps done, steps in all) of this process's runs after every step.
    members_at_once : int, optional
        The most members of a stack; by default as many as fit.

    Returns
    -------
    list of RunResult
        In the order of `configs`, the same in every process. The seconds of a member are its part of its
        stack's.

    Raises
    ------
    InvalidInputError
        If a config is for other data, or its net cannot be trained in such batches.
    FileFormatError
        If a checkpoint is corrupt, or one of other runs or other data.

    Examples
    --------
    >>> from training.data import load
    >>> from training.run.config import varied
    >>> data = {"name": "digits", "n_samples": 64}
    >>> base = RunConfig(data=data, model={"name": "mlp", "width": 8}, epochs=2)
    >>> rates = [varied(base, {"optimizer.lr": lr}) for lr in (0.001, 0.01)]
    >>> results = train_grid(rates, load("digits"), device="cpu")
    >>> [len(result.epochs) for result in results]
    [2, 2]
    """
    configs = tuple(configs)
    place = None if folder is None else checkpoints.checked_folder(Path(folder))
    kept = None if weights is None else checkpoints.checked_folder(Path(weights))
    runs = _Runs(configs, data, device)
    with own_torch(runs.device, 0, threads):
        stacks = runs.stacks(place, members_at_once)
        own = range(rank(), len(stacks), world_size())
        total = sum(runs.n_steps(index) for number in own for index in stacks[number])
        done = 0
        results: dict[int, RunResult] = {}
        for number in own:
            members = stacks[number]
            shown = None if progress is None else _after(progress, done, total)
            loop = runs.loop(members, None if place is None else place / f"stack-{number:03}")
            with deferred_interruption() if place else nullcontext(Interruption()) as interruption:
                loop.run(None, shown, interruption)
            results.update(zip(members, loop.results(), strict=True))
            if kept is not None:
                runs.keep_weights(kept, loop)
            done += loop.done
        if progress is not None:
            progress(done, total)
    of_all: dict[int, RunResult] = {}
    for part in gathered(results):
        of_all.update(part)  # type: ignore[call-overload]
    return [of_all[index] for index in range(len(configs))]


def _after(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _: progress(before + done, total)


class _Runs:
    """What stays the same while stacks come and go: the configs, and the data on the device."""

    def __init__(self, configs: Sequence[RunConfig], data: ImageData, device: str) -> None:
        self.configs, self.data, self.name = configs, data, device
        self.device = make_fabric("32-true", device, divided=False).device
        self._images: dict[str, Splits] = {}

    def n_steps(self, index: int) -> int:
        """Of a run."""
        config = self.configs[index]
        return config.n_steps(self.true_splits(config).train.n_batches(config.batch_size))

    def true_splits(self, config: RunConfig) -> Splits:
        """The samples of a config with the true labels, once for all that share them."""
        if config.model is None or config.data is None:
            raise InvalidInputError("a config of a grid must name its data and its model")
        asked = config.data.replaced(label_seed=None, root=None)
        key = jsonfile.canonical([asked.to_dict(), config.precision, config.model.flat])
        if key not in self._images:
            self._images[key] = as_splits(self.data, config.replaced(data=asked), self.device)
        return self._images[key]

    def splits(self, config: RunConfig) -> Splits:
        """The same with the labels of the config; random labels are for training only."""
        true = self.true_splits(config)
        assert isinstance(true.train, TensorSamples)
        seed = config.data.label_seed if config.data else None
        if seed is None:
            return true
        X, y = true.train.columns
        drawn = torch.from_numpy(RandomLabels(seed, self.data.n_classes).labels(len(y)))
        return replace(true, train=TensorSamples((X, drawn), self.device, true.train.sha256), test=None)

    def stacks(self, folder: Path | None, members_at_once: int | None) -> list[list[int]]:
        """Which runs train together: as the folder says, if it does; the same in every process.

        On another machine stacks may be split otherwise, but checkpoints are of the stacks that there were.
        """
        plan = {"configs": [config.sha256 for config in self.configs], "data": self.data.sha256}
        path = None if folder is None else folder / "stacks.json"
        for config in self.configs:
            self.true_splits(config)  # refuses what the data cannot give, before any training
        if path is not None and path.exists():
            stacks = _planned(path, plan)
        else:
            shape, n_classes = self.data.shape, self.data.n_classes
            stacks = partition(
                self.configs, shape, n_classes, device=self.device, members_at_once=members_at_once
            )
        for members in stacks:
            config = self.configs[members[0]]
            with_batch_norm(
                self._net(config), config, len(self.true_splits(config).train), self._fabric(config)
            )
        stacks = gathered(stacks)[0]  # type: ignore[assignment]
        if path is not None and rank() == 0 and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            jsonfile.write(path, jsonfile.canonical({**plan, "stacks": stacks}))
        return stacks

    def loop(self, members: Sequence[int], folder: Path | None) -> Loop:
        """The loop of a stack, or of a single run."""
        configs = [self.configs[index] for index in members]
        fabric, first = self._fabric(configs[0]), self.splits(configs[0])
        nets: OneNet | NetStack
        if len(configs) == 1:
            net = self._net(configs[0]).to(fabric.device, parameter_dtype(configs[0]))
            nets = OneNet(net, net, configs[0])
        else:
            labels = [self.splits(config).train.columns[-1] for config in configs]  # type: ignore[attr-defined]
            nets = NetStack(configs, first, torch.stack(labels), fabric.device)
        loss = loss_of(configs[0].loss)
        metrics = metrics_of(default_metrics(configs[0].loss, None), loss)
        return Loop(nets, first, fabric, loss, metrics, folder)

    def _fabric(self, config: RunConfig) -> Fabric:
        return make_fabric(config.precision, self.name, divided=False)

    def _net(self, config: RunConfig) -> nn.Module:
        assert config.model is not None
        return build(config.model, self.data.shape, self.data.n_classes, config.seed)

    def keep_weights(self, folder: Path, loop: Loop) -> None:
        """A file for each run of a loop that is done."""
        for member, config in enumerate(loop.nets.configs):
            state = {
                "config": config.canonical_json,
                "shape": list(self.data.shape),
                "n_classes": self.data.n_classes,
                "model": loop.nets.weights(member),
            }
            checkpoints.save(folder / f"{config.sha256[:16]}.ckpt", state)


def _planned(path: Path, plan: dict[str, Any]) -> list[list[int]]:
    """The stacks of an interrupted training of the same runs."""
    saved = jsonfile.read(path)
    if not isinstance(saved, dict) or {name: saved.get(name) for name in plan} != plan:
        raise FileFormatError(
            f"{path}: of other runs, or of other data; give another folder, or remove this one"
        )
    stacks: Any = saved.get("stacks")
    try:
        if sorted(itertools.chain(*stacks)) == list(range(len(plan["configs"]))):
            return [list(members) for members in stacks]
    except TypeError:
        pass
    raise FileFormatError(f"{path}: stacks are no partition of the runs; remove the folder to start anew")


def load_weights(path: str | os.PathLike[str]) -> nn.Module:
    """The trained net that `train_grid` kept, in evaluation mode on the CPU.

    Raises
    ------
    FileFormatError
        If the file is no such checkpoint, or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from training.data import load
    >>> data = {"name": "digits", "n_samples": 64}
    >>> config = RunConfig(data=data, model={"name": "mlp", "width": 8}, epochs=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = train_grid([config], load("digits"), device="cpu", weights=folder)
    ...     load_weights(Path(folder, f"{config.sha256[:16]}.ckpt"))[0]
    Linear(in_features=64, out_features=8, bias=True)
    """
    state = checkpoints.load(path)
    try:
        config = RunConfig.from_dict(json.loads(state["config"]), str(path))
        net = build(config.model, state["shape"], state["n_classes"], config.seed)  # type: ignore[arg-type]
        net = net.to(parameter_dtype(config))
        net.load_state_dict(state["model"])
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise FileFormatError(f"{path}: holds no weights of a run ({type(error).__name__})") from None
    return net.eval()


# ---------------------------------------------------------------------------------------------- partition


def partition(
    configs: Sequence[RunConfig],
    shape: Sequence[int],
    n_classes: int,
    *,
    device: str | torch.device = "cpu",
    members_at_once: int | None = None,
) -> list[list[int]]:
    """Indices of the configs that train together, stack by stack.

    Members of a stack differ in seeds, rates and schedules alone. A stack that would not fit is split into
    equal ones. Equal rates stand together, since a fused optimizer takes one at a time.

    Parameters
    ----------
    configs : sequence of RunConfig
    shape : sequence of int
        Of one sample.
    n_classes : int
    device, members_at_once
        As for `train_grid`.

    Examples
    --------
    >>> from training.run.config import varied
    >>> base = RunConfig(data={"name": "digits"}, model={"name": "mlp", "width": 8}, epochs=1)
    >>> configs = [varied(base, {"model.norm": norm, "optimizer.lr": lr})
    ...            for lr in (0.1, 0.2, 0.1) for norm in ("ln", "bn")]
    >>> partition(configs, (64,), 10)
    [[0, 4, 2], [1, 5, 3]]
    >>> partition(configs, (64,), 10, members_at_once=2)
    [[0, 4], [2], [1, 5], [3]]
    """
    if members_at_once is not None:
        as_count(members_at_once, "members_at_once", 1)
    groups: dict[str, list[int]] = {}
    for index, config in enumerate(configs):
        groups.setdefault(_shared(config), []).append(index)
    stacks: list[list[int]] = []
    for members in groups.values():
        config = configs[members[0]]
        members.sort(key=lambda index: _rates(configs[index]))
        most = members_at_once or _most_members(config, shape, n_classes, torch.device(device))
        most = most if config.model is not None and config.model.stackable else 1
        parts = np.array_split(np.array(members), math.ceil(len(members) / most))
        stacks += [part.tolist() for part in parts]
    return stacks


def _shared(config: RunConfig) -> str:
    """What members of a stack have in common."""
    data = config.data and config.data.replaced(label_seed=None if config.data.label_seed is None else 0)
    optimizer = Optimizer(name=config.optimizer.name)
    return config.replaced(data=data, optimizer=optimizer, schedule=Schedule(), seed=0).canonical_json


def _rates(config: RunConfig) -> str:
    return jsonfile.canonical([config.optimizer.to_dict(), config.schedule.to_dict()])


_CACHE = 2**20
"""Bytes of the largest activation of a stack, per CPU thread: about an L2 cache."""


def _most_members(config: RunConfig, shape: Sequence[int], n_classes: int, device: torch.device) -> int:
    """How many members a stack may have: what fits in cache on a CPU, in half of the free memory on a GPU."""
    assert config.model is not None
    net = build(config.model, shape, n_classes, 0).to("meta")  # shapes without numbers
    sizes: list[int] = []
    for part in net.modules():
        if not list(part.children()):
            part.register_forward_hook(lambda _, __, output: sizes.append(output.numel()))
    sample = (math.prod(shape),) if config.model.flat else tuple(shape)
    net(torch.empty(config.batch_size, *sample, dtype=torch.float64, device="meta"))
    item = parameter_dtype(config).itemsize
    if device.type != "cuda":
        return max(1, _CACHE * torch.get_num_threads() // (item * max(sizes)))
    weights = sum(p.numel() for p in net.parameters())  # with gradients, two moments and room for copies
    inputs = config.batch_size * math.prod(sample)
    member = item * (6 * weights + 3 * sum(sizes) + 16 * max(*sizes, inputs))
    free, _ = torch.cuda.mem_get_info(device)
    return max(1, free // 2 // member)
