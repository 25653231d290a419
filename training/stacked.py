"""Many runs at once: members of one shape are stacked, and trained by batched matrix products.

::

    configs ─► members of one shape ─► stacks that fit the memory (on a CPU: its cache), one after another

                        linear0.weight   linear0.bias  norm0.weight …
             member 0  ┌───────────────┬─────────────┬──────────────┬──┐  lr 0.01 ┐ one parameter group of
    stack    member 1  │               │             │              │  │  lr 0.01 ┘ torch's fused optimizer
             member 2  │               │             │              │  │  lr 0.1    the next one
                       └───────────────┴─────────────┴──────────────┴──┘
                       one row a member: parameters, and likewise momenta and running statistics

Every member has its own initial weights, batches, labels, learning rate and optimizer state, and no operation
mixes rows: each member is the run that `training.engine.train` makes of its config alone, up to rounding, and
what becomes NaN in one row stays there.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lntheory.errors import FileFormatError, InvalidInputError, excerpt
from training import checkpoint as checkpoints
from training.batches import batch_slices, epoch_order, prepared, require_variance, tensors
from training.config import RunConfig
from training.data import ImageData, RandomLabels
from training.interruption import deferred_interruption
from training.models import build, linear_shapes, mlp, parameter_dtype
from training.progress import Callback
from training.result import EpochMetrics, RunResult

__all__ = ["partition", "train_many"]

_OWN: Mapping[str, Any] = {
    "lr": 1.0, "lr_step": 1, "lr_gamma": 1.0, "momentum": 0.0, "betas": (0.0, 0.0),
    "seed": 0, "label_seed": 0, "data_root": None,
}  # fmt: skip
"""What every member has for itself, with a common value for it: configs equal after this can be stacked."""


def train_many(
    configs: Sequence[RunConfig],
    data: ImageData,
    *,
    device: str | torch.device = "auto",
    threads: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callback | None = None,
    members_at_once: int | None = None,
) -> list[RunResult]:
    """Train all runs of a grid, those of one shape together.

    Parameters
    ----------
    configs : sequence of RunConfig
        In any order, of any shapes.
    data : ImageData
        As `training.data.load` gives it: the set that all configs name.
    device : str or torch.device
        "auto" takes a GPU if there is one.
    threads : int
        CPU threads while it trains. Stacks grow with them, since every thread takes members of its own.
    checkpoint : path, optional
        A file written after every epoch. If it is there already, training goes on from it: to bit-identical
        results on a CPU. Ctrl-C costs the epoch in hand, no more.
    progress : callable, optional
        Called with (epochs done, epochs in all), counted over all members, after every epoch of a stack and
        once at the start. An exception that it raises ends the training; the checkpoint is whole.
    members_at_once : int, optional
        The most members of a stack; by default as many as fit.

    Returns
    -------
    list of RunResult
        In the order of `configs`. The seconds of a member are its part of its stack's.

    Raises
    ------
    InvalidInputError
        If a config is for other data, or its net cannot be trained in such batches.
    FileFormatError
        If the checkpoint is corrupt, or one of other runs or other data.

    Examples
    --------
    >>> from training.data import load
    >>> base = RunConfig(n_samples=64, width=8, epochs=2)
    >>> configs = [replace(base, lr=lr, depth=depth) for lr in (0.001, 0.01) for depth in (1, 2)]
    >>> results = train_many(configs, load("digits"), device="cpu")
    >>> [len(result.epochs) for result in results]
    [2, 2, 2, 2]
    """
    configs = tuple(configs)
    if threads < 1:
        raise InvalidInputError(f"threads is {threads}; give 1 or more")
    path = None if checkpoint is None else checkpoints.checked_path(Path(checkpoint))
    source = _Source(data, _device(device))
    for config in configs:
        require_variance(config, len(source.images(config)[0]))
    with _own_threads(threads):
        runs = _Runs(configs, source, members_at_once)
        if path is not None and path.exists():
            runs.load(path)
        _train(runs, path, progress)
    return runs.results()


def _train(runs: _Runs, checkpoint: Path | None, progress: Callback | None) -> None:
    total = sum(config.epochs for config in runs.configs)
    if progress is not None:
        progress(runs.done, total)
    while not runs.finished:
        runs.train_epoch()
        if checkpoint is not None:
            with deferred_interruption():
                runs.save(checkpoint)
        if progress is not None:
            progress(runs.done, total)


@contextmanager
def _own_threads(threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def partition(
    configs: Sequence[RunConfig],
    n_in: int,
    n_classes: int,
    *,
    device: str | torch.device = "cpu",
    members_at_once: int | None = None,
) -> list[list[int]]:
    """Indices of the configs that train together, stack by stack.

    Members of a stack have one shape of net, batch size, optimizer, number of epochs and samples. A stack
    that would not fit is split into equal ones. Equal learning rates stand together, since a fused optimizer
    takes one learning rate at a time.

    Examples
    --------
    >>> base = RunConfig(width=8)
    >>> configs = [replace(base, norm=norm, lr=lr) for lr in (0.1, 0.2, 0.1) for norm in ("ln", "bn")]
    >>> partition(configs, 64, 10)
    [[0, 4, 2], [1, 5, 3]]
    >>> partition(configs, 64, 10, members_at_once=2)
    [[0, 4], [2], [1, 5], [3]]
    """
    if members_at_once is not None and members_at_once < 1:
        raise InvalidInputError(f"members_at_once = {members_at_once}; give at least 1, or None")
    groups: dict[RunConfig, list[int]] = {}
    for index, config in enumerate(configs):
        groups.setdefault(replace(config, **_OWN), []).append(index)
    stacks: list[list[int]] = []
    for shape, members in groups.items():
        members.sort(key=lambda index: _schedule(configs[index]))
        most = members_at_once or _most_members(shape, n_in, n_classes, torch.device(device))
        parts = np.array_split(np.array(members), math.ceil(len(members) / most))
        stacks += [part.tolist() for part in parts]
    return stacks


def _schedule(config: RunConfig) -> tuple[Any, ...]:
    """What two members have to share to be stepped by one call of the optimizer."""
    return config.lr, config.lr_step, config.lr_gamma, config.momentum, config.betas


_CACHE = 2**20
"""Bytes of the activations behind one layer of a stack, per CPU thread: about an L2 cache."""


def _most_members(config: RunConfig, n_in: int, n_classes: int, device: torch.device) -> int:
    """How many members a stack may have: what fits in cache on a CPU, in half of the free memory on a GPU."""
    size = parameter_dtype(config).itemsize
    if device.type != "cuda":
        activations = size * config.batch_size * config.width
        return max(1, _CACHE * torch.get_num_threads() // activations)
    shapes = linear_shapes(n_in, config.width, config.depth, n_classes).values()
    n_parameters = sum(n_out * (n_features + 3) for n_out, n_features in shapes)  # with bias, scale and shift
    rows = _EVALUATION_BATCHES * config.batch_size
    member = size * (6 * n_parameters + rows * (n_in + 8 * (config.depth + 1) * max(config.width, n_classes)))
    free, _ = torch.cuda.mem_get_info(device)
    return max(1, free // 2 // member)


def _device(name: str | torch.device) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InvalidInputError(f"device is {excerpt(name)}; choose auto, cpu or cuda") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidInputError(f"device is {name!s:.40}, but torch finds no CUDA device; choose cpu")
    return device


class _Source:
    """The data on the device: the images once for each number of samples and precision."""

    def __init__(self, data: ImageData, device: torch.device) -> None:
        self.data, self.device = data, device
        self._images: dict[tuple[int | None, torch.dtype], tuple[Tensor, Tensor]] = {}

    def images(self, config: RunConfig) -> tuple[Tensor, Tensor]:
        """X (n, d) and the true labels (n,)."""
        key = config.n_samples, parameter_dtype(config)
        if config.data != self.data.name or key not in self._images:
            X, y = tensors(config, prepared(replace(config, label_seed=None), self.data))
            self._images[key] = X.to(self.device), y.to(self.device)
        return self._images[key]

    def labels(self, configs: Sequence[RunConfig]) -> Tensor:
        """Labels (members, n) of configs with the same images."""
        _, true = self.images(configs[0])
        drawn = {
            seed: true if seed is None else
            torch.from_numpy(RandomLabels(seed, self.data.n_classes).labels(len(true))).to(self.device)
            for seed in {config.label_seed for config in configs}
        }  # fmt: skip
        return torch.stack([drawn[config.label_seed] for config in configs])


class _Net:
    """The net that all members of a stack have, on stacked parameters; it has none of its own."""

    def __init__(self, config: RunConfig, n_in: int, n_classes: int, device: torch.device) -> None:
        self.device, self.dtype = device, parameter_dtype(config)
        self.half = config.precision == "bf16-mixed"
        shape = config.norm, n_in, config.width, config.depth, n_classes, config.num_groups
        with torch.device(
            "meta"
        ):  # no numbers: Linears are read for their place, norms without scale have none
            layers = mlp(*shape, eps=config.norm_eps, affine=False)
        self.layers = dict(layers.named_children())

    def scores(self, arrays: Mapping[str, Tensor], x: Tensor, *, training: bool) -> Tensor:
        """Scores (members, batch, n_classes) of x (members, batch, n_in); in training moves statistics."""
        with self._autocast():
            for name, layer in self.layers.items():
                weight, bias = arrays.get(f"{name}.weight"), arrays.get(f"{name}.bias")
                if isinstance(layer, nn.Linear):
                    assert weight is not None
                    assert bias is not None
                    x = torch.baddbmm(bias.unsqueeze(1), x, weight)
                elif isinstance(layer, nn.BatchNorm1d):
                    statistics = arrays[f"{name}.running_mean"], arrays[f"{name}.running_var"]
                    x = _batch_norm(layer, x, *statistics, weight, bias, training=training)
                else:
                    x = _scaled(layer(x.flatten(0, 1)).view_as(x), weight, bias)
        return x.to(self.dtype)

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.half:
            return torch.autocast(self.device.type, torch.bfloat16)
        return nullcontext()


def _scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """weight x + bias, each member its own."""
    if weight is None:
        return x
    x = x * weight.unsqueeze(1)
    return x if bias is None else x.add_(bias.unsqueeze(1))  # addcmul's gradient goes over x once more


def _batch_norm(
    layer: nn.BatchNorm1d,
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    *,
    training: bool,
) -> Tensor:
    """Batch norm of every member's own batch: the features of all members as channels of one batch norm.

    ::

        (members, batch, features) ─► (batch, members · features) ─► batch_norm ─► back

    Measured on a CPU, torch's kernel and two transpositions take a third of the time, or less, of means and
    variances over the middle axis.
    """
    members, batch, features = x.shape
    flat = F.batch_norm(
        x.transpose(0, 1).reshape(batch, members * features),
        mean.view(-1),
        variance.view(-1),
        None if weight is None else weight.reshape(-1),
        None if bias is None else bias.reshape(-1),
        training,
        layer.momentum or 0.0,
        layer.eps,
    )
    return flat.view(batch, members, features).transpose(0, 1)


_EVALUATION_BATCHES = 8
"""Training batches in a batch of the evaluation on a GPU: nothing has to be kept for a backward pass."""


class _Stack:
    """Members that train together. Row k of every array belongs to member k."""

    def __init__(self, members: Sequence[int], configs: Sequence[RunConfig], source: _Source) -> None:
        self.members = list(members)  # indices of the runs
        self.configs = list(configs)
        self.epoch = 0
        self.device = source.device
        self.X, _ = source.images(configs[0])
        self.y = source.labels(configs)
        n_in, n_classes = self.X.shape[1], source.data.n_classes
        self.net = _Net(configs[0], n_in, n_classes, self.device)
        models = [build(config, n_in, n_classes) for config in configs]
        self.trained = [name for name, _ in models[0].named_parameters()]
        self.arrays = {name: value.to(self.device) for name, value in self._initial(models).items()}

    def _initial(self, models: Sequence[nn.Module]) -> dict[str, Tensor]:
        """Parameters, running statistics and moments, by name. Weights of Linears are (members, in, out)."""
        states = [model.state_dict() for model in models]
        arrays = {
            name: torch.stack([state[name] for state in states])
            for name, value in states[0].items()
            if value.ndim
        }  # not how many batches a BatchNorm has seen: at a fixed momentum nothing depends on it
        for name in self.trained:
            if arrays[name].ndim == 3:  # so that the gradient of x @ weight comes out as the weight lies
                arrays[name] = arrays[name].mT.contiguous()
            for moment in _moments(self.configs[0]):
                arrays[f"{name}.{moment}"] = torch.zeros_like(arrays[name])
        return arrays

    def resume(self, epoch: int, arrays: Mapping[str, Tensor]) -> None:
        """Go on after `epoch` epochs, which led to `arrays`."""
        for name, value in self.arrays.items():
            if arrays[name].shape != value.shape:
                raise ValueError(
                    f"{name} of shape {tuple(arrays[name].shape)}, expected {tuple(value.shape)}"
                )
            value.copy_(arrays[name])
        self.epoch = epoch

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone."""
        if len(rows) == len(self.members):
            return
        self.members = [self.members[row] for row in rows]
        self.configs = [self.configs[row] for row in rows]
        index = torch.tensor(rows, dtype=torch.int64, device=self.device)
        self.y = self.y[index]
        self.arrays = {name: value[index] for name, value in self.arrays.items()}

    def train_epoch(self) -> tuple[list[float], list[float]]:
        """One epoch; loss and accuracy of every member after it."""
        parts = batch_slices(len(self.X), self.configs[0].batch_size)
        optimizer = self._optimizer(self.epoch * len(parts))
        blocks = [group["params"] for group in optimizer.param_groups]
        sizes = [len(group[0]) for group in blocks]
        parameters = [self.arrays[name].requires_grad_() for name in self.trained]
        order = self._order()
        for part in parts:
            index = order[:, part]
            scores = self.net.scores(self.arrays, self.X[index], training=True)
            labels = self.y.gather(1, index)
            # A mean over each member's batch, a sum over members: every row gets its own gradient.
            loss = F.cross_entropy(scores.flatten(0, 1), labels.flatten(), reduction="sum") / index.shape[1]
            gradients = torch.autograd.grad(loss, parameters)
            for place, gradient in enumerate(gradients):
                for group, rows in zip(blocks, torch.split(gradient, sizes), strict=True):
                    group[place].grad = rows
            optimizer.step()
        for parameter in parameters:
            parameter.requires_grad_(False)
        self.epoch += 1
        return self._evaluate()

    def _order(self) -> Tensor:
        """Order of the samples, (members, n)."""
        seeds = [config.seed for config in self.configs]
        orders = {seed: epoch_order(seed, self.epoch, len(self.X)) for seed in set(seeds)}
        return torch.stack([orders[seed] for seed in seeds]).to(self.device)

    def _optimizer(self, step: int) -> torch.optim.Optimizer:
        """Torch's own, a parameter group for rows of one learning rate, its state in rows of our arrays."""
        sgd = self.configs[0].optimizer == "sgd"
        groups: list[dict[str, Any]] = []
        state: dict[Tensor, dict[str, Tensor]] = {}
        for _, equal in itertools.groupby(
            range(len(self.configs)), key=lambda row: _schedule(self.configs[row])
        ):
            first, *others = equal
            rows = slice(first, first + 1 + len(others))
            config = self.configs[first]
            blocks = [self.arrays[name].detach()[rows] for name in self.trained]
            own = {"momentum": config.momentum} if sgd else {"betas": config.betas}
            groups.append({"params": blocks, "lr": config.learning_rate(self.epoch), **own})
            for name, block in zip(self.trained, blocks, strict=True):
                state[block] = {moment: self.arrays[f"{name}.{moment}"][rows] for moment in _moments(config)}
                if not sgd:
                    state[block]["step"] = torch.tensor(float(step), device=self.device)
        optimizer = torch.optim.SGD(groups, fused=True) if sgd else torch.optim.Adam(groups, fused=True)
        optimizer.state.update(state)
        return optimizer

    @torch.no_grad()
    def _evaluate(self) -> tuple[list[float], list[float]]:
        """Mean loss and accuracy of every member over all samples, in eval mode."""
        members, n_samples = self.y.shape
        loss = torch.zeros(members, dtype=torch.float64, device=self.device)
        right = torch.zeros(members, dtype=torch.int64, device=self.device)
        batch = self.configs[0].batch_size * (_EVALUATION_BATCHES if self.device.type == "cuda" else 1)
        for part in batch_slices(n_samples, batch):
            labels = self.y[:, part]
            x = self.X[part].expand(members, -1, -1)
            scores = self.net.scores(self.arrays, x, training=False)
            each = F.cross_entropy(scores.flatten(0, 1).double(), labels.flatten(), reduction="none")
            loss += each.view(members, -1).sum(1)
            right += (scores.argmax(2) == labels).sum(1)
        return (loss / n_samples).tolist(), (right.double() / n_samples).tolist()


def _moments(config: RunConfig) -> tuple[str, ...]:
    """Names that torch's optimizer gives its state."""
    return ("momentum_buffer",) if config.optimizer == "sgd" else ("exp_avg", "exp_avg_sq")


def _difference(name: str, theirs: Any, ours: Any) -> str:
    """In what a checkpoint is another's, in a few words."""
    if name != "configs" or not isinstance(theirs, list):
        return f"{name} is {theirs!s:.12}, here {ours!s:.12}"
    if len(theirs) != len(ours):
        return f"configs of {len(theirs)} runs, here {len(ours)}"
    index = next(k for k, (a, b) in enumerate(zip(theirs, ours, strict=True)) if a != b)
    try:
        a, b = json.loads(theirs[index]), json.loads(ours[index])
        told = ", ".join(
            f"{field} = {a.get(field)!r}, not {b[field]!r}" for field in b if a.get(field) != b[field]
        )
    except (TypeError, AttributeError, ValueError):
        told = "no config"
    return f"configs differ, first that of run {index}: {told}"


class _Runs:
    """All runs: what has been measured of each, and the stack in training."""

    def __init__(self, configs: Sequence[RunConfig], source: _Source, members_at_once: int | None) -> None:
        self.configs, self.source = configs, source
        self.stacks = partition(
            configs, source.data.n_features, source.data.n_classes,
            device=source.device, members_at_once=members_at_once,
        )  # fmt: skip
        self.metrics: list[list[EpochMetrics]] = [[] for _ in configs]
        self.diverged = [False] * len(configs)
        self.lost_seconds = [0.0] * len(configs)  # those of the epoch in which a run diverged
        self.place = 0  # of the stack in training
        self.stack: _Stack | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing is left to train."""
        return self.place == len(self.stacks)

    @property
    def done(self) -> int:
        """Epochs done; a diverged run has none left."""
        runs = zip(self.configs, self.metrics, self.diverged, strict=True)
        return sum(config.epochs if diverged else len(metrics) for config, metrics, diverged in runs)

    def results(self) -> list[RunResult]:
        """A result of each run, in order."""
        return [
            RunResult(config, tuple(metrics), diverged, sum(m.seconds for m in metrics) + lost)
            for config, metrics, diverged, lost in zip(
                self.configs, self.metrics, self.diverged, self.lost_seconds, strict=True
            )
        ]

    def train_epoch(self) -> None:
        """One epoch of the stack in training; runs that diverged in it leave the stack."""
        started = time.perf_counter()
        stack = self.stack or self._stack(self.stacks[self.place])
        measured = stack.train_epoch()
        seconds = (time.perf_counter() - started) / len(stack.members)
        for index, loss, accuracy in zip(stack.members, *measured, strict=True):
            if math.isfinite(loss):
                rate = self.configs[index].learning_rate(stack.epoch - 1)
                self.metrics[index].append(EpochMetrics(stack.epoch, loss, accuracy, rate, seconds))
            else:
                self.diverged[index] = True
                self.lost_seconds[index] = seconds
        stack.keep([row for row, index in enumerate(stack.members) if not self.diverged[index]])
        over = not stack.members or stack.epoch == stack.configs[0].epochs
        self.stack = None if over else stack
        self.place += over

    def _stack(self, members: Sequence[int]) -> _Stack:
        return _Stack(members, [self.configs[index] for index in members], self.source)

    def save(self, path: Path) -> None:
        """Write all that `load` needs."""
        state = {
            **self._identity(),
            "stacks": self.stacks,
            "metrics": [[list(astuple(metrics)) for metrics in run] for run in self.metrics],
            "diverged": self.diverged,
            "lost_seconds": self.lost_seconds,
            "place": self.place,
            "arrays": {} if self.stack is None else self.stack.arrays,
        }
        checkpoints.save(path, state)

    def load(self, path: Path) -> None:
        """Take over what `save` wrote; the members of the stack in training follow from the metrics."""
        state = checkpoints.load(path)
        for name, value in self._identity().items():
            if state.get(name) != value:
                raise FileFormatError(
                    f"{path}: checkpoint of other runs ({_difference(name, state.get(name), value)}); give "
                    "another path, or remove the file"
                )
        try:
            self._restore(state)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError) as error:
            message = (str(error).splitlines() or [""])[0][:200]
            raise FileFormatError(
                f"{path}: no state of these runs ({type(error).__name__}: {message}); remove it to start anew"
            ) from None

    def _identity(self) -> dict[str, Any]:
        return {
            "configs": [config.canonical_json for config in self.configs],
            "data_sha256": self.source.data.sha256,
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        # The stacks of the file: on another machine ours may be split otherwise.
        self.stacks = [[int(index) for index in stack] for stack in state["stacks"]]
        if sorted(itertools.chain(*self.stacks)) != list(range(len(self.configs))):
            raise ValueError("the stacks are not a partition of the runs")
        self.metrics = [
            [EpochMetrics(int(epoch), *map(float, rest)) for epoch, *rest in run] for run in state["metrics"]
        ]
        self.diverged = [bool(value) for value in state["diverged"]]
        self.lost_seconds = [float(value) for value in state["lost_seconds"]]
        if {len(self.metrics), len(self.diverged), len(self.lost_seconds)} != {len(self.configs)}:
            raise ValueError("not one entry for each run")
        self.place = int(state["place"])
        self._check_progress(started=bool(state["arrays"]))
        if state["arrays"]:
            alive = [index for index in self.stacks[self.place] if not self.diverged[index]]
            self.stack = self._stack(alive)
            self.stack.resume(len(self.metrics[alive[0]]), state["arrays"])

    def _check_progress(self, *, started: bool) -> None:
        """Stacks before the one in training are finished, those after it are not begun."""
        if not 0 <= self.place <= len(self.stacks):
            raise ValueError(f"stack {self.place} of {len(self.stacks)}")
        for place, stack in enumerate(self.stacks):
            for index in stack:
                done, epochs = len(self.metrics[index]), self.configs[index].epochs
                if place < self.place:
                    fits = self.diverged[index] or done == epochs
                elif place == self.place and started:
                    fits = self.diverged[index] or 0 < done < epochs
                else:
                    fits = done == 0 and not self.diverged[index]
                counted = [metrics.epoch for metrics in self.metrics[index]] == list(range(1, done + 1))
                if not (fits and counted and done <= epochs):
                    raise ValueError(f"run {index} has {done} of {epochs} epochs, out of its turn")
