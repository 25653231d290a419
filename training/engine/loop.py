"""The loop: steps, epochs, metrics, checkpoints, for one net and for a stack of nets alike.

::

    state = (weights, optimizer, step, metrics so far)
      │
      ├─ steps of the epoch left? ── a batch of (seed, epoch), loss, gradient, optimizer; step + 1
      ├─ none left? ─────────────── full evaluation pass, metrics, checkpoint
      └─ stopped, interrupted? ──── checkpoint

Everything else is a function of the config and the state: the order of the samples of (seed, epoch), the
learning rate of the step, the random numbers (dropout) of (seed, step, process). So a run that is stopped
anywhere and resumed makes the same steps; on a CPU its weights are equal bit for bit (same machine, same
versions, same number of threads).

Where a run has a folder, it holds ``last.ckpt``, and for one net ``best.ckpt``, ``log.csv`` and, if
TensorBoard is installed, its event files.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import astuple
from pathlib import Path
from typing import Any

import torch
from lightning.fabric import Fabric
from torch import Tensor

from lntheory.base.types import Progress
from lntheory.errors import FileFormatError

from ..run.config import flat
from ..run.result import EpochMetrics, RunResult
from . import checkpoint as checkpoints
from .fabric import peak_memory
from .interruption import Interruption
from .logs import Log
from .measures import Mean
from .nets import NetStack, OneNet, clip_, make_optimizer
from .samples import Samples, Splits, shard

__all__ = ["LAST", "Loop"]

LAST, BEST = "last.ckpt", "best.ckpt"

_LEAST_EVALUATED = 128  # samples at once: nothing has to be kept for a backward pass


class Loop:
    """A run in the making, or those of a stack.

    Parameters
    ----------
    nets : OneNet or NetStack
    splits : Splits
    fabric : Fabric
    loss : Mean
    metrics : sequence of Mean
        Measured on every split after every epoch.
    folder : Path or None
        Where checkpoints and logs go; if there is a last checkpoint, the run goes on from it.
    monitor : str or None
        The metric that says which epoch is the best, such as "test_loss".
    """

    def __init__(
        self,
        nets: OneNet | NetStack,
        splits: Splits,
        fabric: Fabric,
        loss: Mean,
        metrics: Sequence[Mean],
        folder: Path | None = None,
        monitor: str | None = None,
    ) -> None:
        self.nets, self.splits, self.fabric = nets, splits, fabric
        self.loss, self.metrics, self.folder, self.monitor = loss, metrics, folder, monitor
        self.config = nets.configs[0]  # of what all members share
        self.per_epoch = splits.train.n_batches(self.config.batch_size)
        self.total = self.config.n_steps(self.per_epoch)
        groups = nets.groups()
        self.optimizer = make_optimizer(groups)
        self.group_configs = [config for config, _ in groups]
        members = len(nets.configs)
        self.step = 0
        self.history: list[list[EpochMetrics]] = [[] for _ in range(members)]
        self.diverged = [False] * members
        self.seconds = 0.0  # of the epoch in hand
        self.lost = [0.0] * members  # those of the epoch in which a run diverged
        self.best: float | None = None
        self.log = Log(folder) if folder and members == 1 and fabric.is_global_zero else None
        self._restore()
        self._set_epoch()

    # ------------------------------------------------------------------------------------------- the loop

    def run(
        self, stop_after_steps: int | None, progress: Progress | None, interruption: Interruption
    ) -> None:
        """Go on to the end, to a stop or to an interruption."""
        taken, started = 0, time.perf_counter() - self.seconds
        while not self.finished:
            if self.step == self._epoch_end:
                self._finish_epoch(started)
                started = time.perf_counter()
            elif taken == stop_after_steps:
                self._save()
                break
            else:
                self._take_step()
                taken += 1
                self.seconds = time.perf_counter() - started
                self._report(progress, interruption)

    @property
    def epoch(self) -> int:
        """Finished epochs."""
        return max(map(len, self.history))

    @property
    def finished(self) -> bool:
        """Whether nothing is left to train."""
        return all(self.diverged) or self.epoch == self.config.n_epochs(self.per_epoch)

    @property
    def _epoch_end(self) -> int:
        return min((self.epoch + 1) * self.per_epoch, self.total)

    @property
    def done(self) -> int:
        """Steps made, counted over all members."""
        return len(self.history) * (self.total if self.finished else self.step)

    def _report(self, progress: Progress | None, interruption: Interruption) -> None:
        """The place between two steps, where the state is whole and a run may be interrupted."""
        try:
            if progress is not None:
                members = len(self.history)
                progress(members * self.step, members * self.total)
            interruption.check()
        except BaseException:
            self._save()
            raise

    def _take_step(self) -> None:
        _seed(self.fabric.device, f"{self.config.seed} {self.step} {self.fabric.global_rank}")
        batch = self.batches[self.step - self.epoch * self.per_epoch]
        parts = self._parts(batch)
        total: Any = sum(
            own * self.nets.each(_counted(self.loss), targets, targets) for _, targets, own in parts
        )
        if self.fabric.world_size > 1:
            total = self.fabric.all_reduce(total, reduce_op="sum")
        total = torch.clamp(total, min=1)  # a batch of padding alone
        for place, (inputs, targets, own) in enumerate(parts):
            with self._synchronized(place == len(parts) - 1):
                with self.fabric.autocast():
                    outputs = self.nets.outputs(inputs, training=True)
                outputs = _in_float32(outputs)
                loss = self.nets.each(self.loss.total, outputs, targets) / total
                # Gradients are averaged over processes, but these are parts of one sum.
                self.fabric.backward(loss.sum() * (self.fabric.world_size * own))
        self._apply()

    def _parts(self, batch: Tensor) -> list[tuple[Any, Any, bool]]:
        """Inputs and targets of each part that this process takes of a batch, and whether the part counts.

        A process without a sample takes one that does not count, so that all work on equally many parts.
        """
        parts = []
        for piece in batch.tensor_split(min(self.config.accumulation, batch.shape[-1]), dim=-1):
            own = shard(slice(0, piece.shape[-1]), self.fabric.global_rank, self.fabric.world_size)
            counts = own.stop > own.start
            inputs, targets = self.nets.batch(
                self.splits.train, piece[..., own] if counts else piece[..., :1]
            )
            parts.append((inputs, targets, counts))
        return parts

    def _synchronized(self, last: bool) -> AbstractContextManager[Any]:
        """Only the last part's backward pass adds up the gradients of the processes."""
        if last or self.fabric.world_size == 1:
            return nullcontext()
        assert isinstance(self.nets, OneNet)
        return self.fabric.no_backward_sync(self.nets.forward)  # type: ignore[arg-type]

    def _apply(self) -> None:
        if self.config.clip_norm is not None:
            clip_(self.nets.gradients(), self.config.clip_norm, self.nets.member_axis)
        self.nets.hand_out(self.optimizer)
        for group, config in zip(self.optimizer.param_groups, self.group_configs, strict=True):
            group["lr"] = config.learning_rate(self.step, self.per_epoch)
        self.optimizer.step()
        self.nets.zero_grad()
        self.step += 1

    def _finish_epoch(self, started: float) -> None:
        measured = self._evaluate()
        seconds = (time.perf_counter() - started) / len(self.history)
        for member, config in enumerate(self.nets.configs):
            own = {name: values[member] for name, values in measured.items()}
            if self.diverged[member]:
                continue
            if not all(map(math.isfinite, own.values())):
                self.diverged[member], self.lost[member] = True, seconds
                continue
            rate = config.learning_rate(self.step - 1, self.per_epoch)
            row = EpochMetrics(len(self.history[member]) + 1, own, rate, seconds)
            self.history[member].append(row)
        self.seconds = 0.0
        self._set_epoch()
        best = self._is_best()
        self._save()
        if self.log is not None and not self.diverged[0]:
            self.log.write(self.history[0], self.per_epoch, self.total)
            if best and self.folder is not None:
                checkpoints.save(self.folder / BEST, self._captured())

    def _is_best(self) -> bool:
        if self.monitor is None or len(self.history) > 1 or self.diverged[0]:
            return False
        value = self.history[0][-1].metrics[self.monitor]
        larger = any(m.larger_is_better for m in self.metrics if self.monitor.endswith(f"_{m.name}"))
        if self.best is not None and (value <= self.best if larger else value >= self.best):
            return False
        self.best = value
        return True

    def _set_epoch(self) -> None:
        """What depends on the epoch alone: the order of the samples."""
        self.batches = [] if self.finished else self.nets.batches(self.splits.train, self.epoch)

    # ----------------------------------------------------------------------------------------- evaluation

    @torch.no_grad()
    def _evaluate(self) -> dict[str, list[float]]:
        """Every metric on every split, of every member."""
        self.nets.train(False)
        splits = {"train": self.splits.train, "test": self.splits.test}
        measured = {
            f"{name}_{metric.name}": values
            for name, samples in splits.items()
            if samples is not None
            for metric, values in zip(self.metrics, self._measured(samples), strict=True)
        }
        self.nets.train(True)
        return measured

    def _measured(self, samples: Samples) -> list[list[float]]:
        """Of each metric the value of each member."""
        shape = len(self.metrics), len(self.history)
        totals, counts = (torch.zeros(shape, dtype=torch.float64, device=self.fabric.device) for _ in "tc")
        for index in self._evaluated(len(samples)):
            inputs, targets = self.nets.batch(samples, index)
            with self.fabric.autocast():
                outputs = self.nets.outputs(inputs, training=False)
            if isinstance(outputs, Tensor) and outputs.is_floating_point():
                outputs = outputs.double()  # a float32 sum over 60,000 samples would lose digits of the loss
            for place, metric in enumerate(self.metrics):
                totals[place] += self.nets.each(metric.total, outputs, targets)
                counts[place] += self.nets.each(_counted(metric), targets, targets)
        if self.fabric.world_size > 1:
            totals, counts = self.fabric.all_reduce(torch.stack([totals, counts]), reduce_op="sum")
        means = (totals / counts).tolist()
        return [
            [metric.finish(mean) for mean in row] for metric, row in zip(self.metrics, means, strict=True)
        ]

    def _evaluated(self, n_samples: int) -> Iterator[Tensor]:
        """Indices of the samples that this process evaluates, in batches."""
        own = shard(slice(0, n_samples), self.fabric.global_rank, self.fabric.world_size)
        size = max(self.config.batch_size, _LEAST_EVALUATED) * (8 if self.fabric.device.type == "cuda" else 1)
        if own.stop > own.start:
            yield from torch.split(torch.arange(own.start, own.stop), size)

    # -------------------------------------------------------------------------------------------- results

    def results(self) -> list[RunResult]:
        """A result of each member."""
        n_measured = len(self.splits.train) + (len(self.splits.test) if self.splits.test else 0)
        memory = peak_memory(self.fabric.device)
        results = []
        for member, config in enumerate(self.nets.configs):
            epochs = tuple(self.history[member])
            seconds = (
                sum(row.seconds for row in epochs) + self.lost[member] + self.seconds / len(self.history)
            )
            final = {"peak_memory": memory} if memory else {}
            if epochs:
                spent = sum(row.seconds for row in epochs)
                final["samples_per_second"] = len(epochs) * (len(self.splits.train) + n_measured) / spent
            results.append(
                RunResult(config, epochs, self.diverged[member], self.diverged[member] or self.finished,
                          seconds, final)
            )  # fmt: skip
        return results

    # ---------------------------------------------------------------------------------------- checkpoints

    def _captured(self) -> dict[str, Any]:
        """Plain values and tensors from which `_restore` makes the same state."""
        return {
            **self._identity(),
            "model": self.nets.state(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "history": [[list(astuple(row)) for row in rows] for rows in self.history],
            "diverged": self.diverged,
            "seconds": self.seconds,
            "lost": self.lost,
            "best": self.best,
        }

    def _identity(self) -> dict[str, Any]:
        """What a checkpoint must be of, to go on from it."""
        return {
            "configs": [config.canonical_json for config in self.nets.configs],
            "data": self.splits.sha256,
            "metrics": [metric.name for metric in self.metrics],
        }

    def _save(self) -> None:
        # Every process holds the same state between steps, so none has to wait for another.
        if self.folder is not None and self.fabric.is_global_zero:
            checkpoints.save(self.folder / LAST, self._captured())

    def _restore(self) -> None:
        path = None if self.folder is None else self.folder / LAST
        captured = None
        if path is not None and self.fabric.is_global_zero and path.exists():
            captured = checkpoints.load(path)
            _check_identity(path, captured, self._identity())
        if self.fabric.world_size > 1:  # the others may not see the file, and must not race for it
            captured = self.fabric.broadcast(captured)
        if captured is None:
            return
        try:
            self._take_over(captured)
        except (KeyError, TypeError, ValueError, IndexError, RuntimeError, AttributeError) as error:
            message = (str(error).splitlines() or [""])[0][:200]
            raise FileFormatError(
                f"{path}: no state of this run ({type(error).__name__}: {message}); remove it to start anew"
            ) from None

    def _take_over(self, captured: dict[str, Any]) -> None:
        self.nets.load(captured["model"])
        self.optimizer.load_state_dict(captured["optimizer"])
        self.history = [
            [EpochMetrics(int(n), dict(own), float(lr), float(s)) for n, own, lr, s in rows]
            for rows in captured["history"]
        ]
        self.step, self.seconds = int(captured["step"]), float(captured["seconds"])
        self.diverged = [bool(value) for value in captured["diverged"]]
        self.lost = [float(value) for value in captured["lost"]]
        self.best = None if captured["best"] is None else float(captured["best"])
        if {len(self.history), len(self.diverged), len(self.lost)} != {len(self.nets.configs)}:
            raise ValueError("not one entry for each run")
        if not self.finished and not self.epoch * self.per_epoch <= self.step <= self._epoch_end:
            raise ValueError(f"step {self.step} after {self.epoch} epochs of {self.per_epoch} steps")


def _check_identity(path: Path, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Refuse the checkpoint of another run, and say in what it differs."""
    for name, value in ours.items():
        if theirs.get(name) != value:
            raise FileFormatError(
                f"{path}: checkpoint of another run ({_difference(name, theirs.get(name), value)}); give "
                "another folder, or remove the file"
            )


def _difference(name: str, theirs: Any, ours: Any) -> str:
    if name != "configs" or not isinstance(theirs, list):
        return f"{name} {theirs!s:.60}, not {ours!s:.60}"
    if len(theirs) != len(ours):
        return f"configs of {len(theirs)} runs, not {len(ours)}"
    try:
        for place, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            if a != b:
                one, other = flat(json.loads(a)), flat(json.loads(b))
                words = [f"{k} = {one.get(k)!r}, not {other.get(k)!r}" for k in {**one, **other}
                         if one.get(k) != other.get(k)]  # fmt: skip
                return f"run {place}: {', '.join(words)}"
    except (TypeError, AttributeError, ValueError):
        pass
    return "its configs are none"


def _counted(measure: Mean) -> Callable[[Any, Any], Tensor]:
    return lambda _, targets: measure.count(targets)


def _in_float32(outputs: Any) -> Any:
    """Half precision ends where the loss begins."""
    half = isinstance(outputs, Tensor) and outputs.dtype in (torch.bfloat16, torch.float16)
    return outputs.float() if half else outputs


def _seed(device: torch.device, purpose: str) -> None:
    """Seed torch's generators: nothing has to be kept to draw the same numbers in a resumed run.

    Each for itself, since `torch.manual_seed` without a GPU notes down the stack at every call.
    """
    seed = int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=8).digest(), "little") >> 1
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)
