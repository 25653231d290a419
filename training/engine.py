"""One loop for every net, on Lightning Fabric: any device, any precision, one process or many.

::

    state = (weights, optimizer, random generators, epoch, step)
      │
      ├─ steps of the epoch left? ── a batch of (seed, epoch), loss, gradient, optimizer; step + 1
      ├─ none left? ─────────────── full evaluation pass, metrics; epoch + 1, step 0, checkpoint
      └─ stopped, interrupted? ──── checkpoint

Everything else is a function of the config and the state: the order of the samples of (seed, epoch), the
learning rate of the epoch. So a run that is stopped anywhere and resumed makes the same steps; on a CPU its
weights are equal bit for bit (same machine, same versions, same number of threads).

Many processes: ``torchrun --nproc-per-node 4 -m training ...``, and torchrun's own options for many nodes.
Every batch is divided among them, so `batch_size` means the same everywhere.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from lightning.fabric import Fabric
from torch import Tensor, nn
from torch.nn import functional as F

from lntheory.errors import FileFormatError, InvalidInputError, excerpt
from training import checkpoint as checkpoints
from training.batches import batch_slices, epoch_order, prepared, require_variance, shard, tensors
from training.config import RunConfig
from training.data import ImageData
from training.interruption import Interruption, deferred_interruption
from training.models import build
from training.progress import Callback
from training.result import EpochMetrics, RunResult

__all__ = ["EpochMetrics", "RunResult", "TrainState", "build_optimizer", "make_fabric", "train"]

_EVALUATED_AT_ONCE = 8192  # samples: enough to keep a GPU busy, few enough for any memory


def train(
    config: RunConfig,
    data: ImageData,
    *,
    device: str = "auto",
    threads: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    stop_after_steps: int | None = None,
    progress: Callback | None = None,
) -> RunResult:
    """Train the net of `config` on its own, from the start or from where its checkpoint stands.

    Parameters
    ----------
    config : RunConfig
    data : ImageData
        The set named by ``config.data``, as loaded; samples are counted off, standardized and labelled here.
    device : {"auto", "cpu", "cuda"}
        "auto" takes a GPU if there is one.
    threads : int
        CPU threads of a process while it trains. One by default: a step of these nets is too small to be
        shared, and the result does not depend on the machine's number of cores.
    checkpoint : path, optional
        Written after every epoch, on stopping, and on Ctrl-C or SIGTERM (which wait for the step to end; a
        second Ctrl-C does not). If the file is there, the run goes on from it; a finished run is not
        repeated.
    stop_after_steps : int, optional
        Stop after so many steps of this call, wherever that is.
    progress : callable, optional
        Called with (steps done, steps in all) after every step.

    Returns
    -------
    RunResult
        ``result.finished`` is False if the run was stopped. The same on every process, but for times.

    Raises
    ------
    InvalidInputError
        If the data are not those of the config, or the net cannot be trained in such batches.
    FileFormatError
        If the checkpoint is corrupt, or one of another config or of other data.

    Examples
    --------
    >>> from training.data import load
    >>> config = RunConfig(norm="ln", width=16, epochs=2, n_samples=100, lr=0.01)
    >>> result = train(config, load("digits"), device="cpu")
    >>> [metrics.epoch for metrics in result.epochs], result.finished
    ([1, 2], True)
    """
    if stop_after_steps is not None and stop_after_steps < 0:
        raise InvalidInputError(f"stop_after_steps is {stop_after_steps}; give 0 or more, or None")
    if threads < 1:
        raise InvalidInputError(f"threads is {threads}; give 1 or more")
    path = None if checkpoint is None else checkpoints.checked_path(Path(checkpoint))
    fabric = make_fabric(config, device)
    data = prepared(config, data)
    _check_batches(config, len(data.train), fabric)
    with _own_torch(fabric.device, config.seed, threads):
        loop = _Loop(config, data, fabric, path)
        if path is None:
            return loop.run(stop_after_steps, progress, Interruption())
        with deferred_interruption() as interruption:
            return loop.run(stop_after_steps, progress, interruption)


def make_fabric(config: RunConfig, device: str = "auto") -> Fabric:
    """Fabric on one device, or on all that torchrun started processes for."""
    if device not in ("auto", "cpu", "cuda"):
        raise InvalidInputError(f"device is {excerpt(device)}; choose auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise InvalidInputError("device is 'cuda', but torch finds no CUDA device; choose cpu")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    launched = torch.distributed.is_available() and torch.distributed.is_torchelastic_launched()
    world_size, local = (int(os.environ[n]) if launched else 1 for n in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    fabric = Fabric(
        accelerator=device,
        strategy="ddp" if launched else "auto",
        devices=local,
        num_nodes=world_size // local,
        precision=config.precision,  # type: ignore[arg-type]
    )
    fabric.launch()
    return fabric


def _check_batches(config: RunConfig, n_samples: int, fabric: Fabric) -> None:
    """What batch norm cannot do."""
    if config.norm != "bn":
        return
    if fabric.world_size > 1 and fabric.device.type != "cuda":
        raise InvalidInputError(
            f"norm 'bn' in {fabric.world_size} processes on {fabric.device.type}: torch takes statistics "
            "over a divided batch on GPUs only; train it in one process"
        )
    require_variance(config, n_samples)


@contextmanager
def _own_torch(device: torch.device, seed: int, threads: int) -> Iterator[None]:
    """Random generators and number of threads of the run; the caller's are put back afterwards."""
    before = torch.get_num_threads()
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def _check_identity(path: Path, captured: dict[str, Any], config: RunConfig, data_sha256: str) -> None:
    """Refuse the checkpoint of another run, and say in what it differs."""
    try:
        theirs, ours = json.loads(captured["config"]), json.loads(config.canonical_json)
        differing = [f"{n} = {theirs.get(n)!r}, not {ours[n]!r}" for n in ours if theirs.get(n) != ours[n]]
        if captured["config"] != config.canonical_json:
            raise FileFormatError(
                f"{path}: of another run ({', '.join(differing)}); give another path or remove it"
            )
        if captured["data_sha256"] != data_sha256:
            raise FileFormatError(
                f"{path}: of the same config on other data (SHA-256 {captured['data_sha256']!s:.12}..., here "
                f"{data_sha256:.12}...); give another path or remove it"
            )
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
        raise FileFormatError(
            f"{path}: a checkpoint that names no run; give another path or remove it"
        ) from None


def build_optimizer(config: RunConfig, model: nn.Module) -> torch.optim.Optimizer:
    """The optimizer of a run, over all parameters, as torch's one kernel for all of them; no weight decay."""
    if config.optimizer == "sgd":
        return torch.optim.SGD(model.parameters(), lr=config.lr, momentum=config.momentum, fused=True)
    return torch.optim.Adam(model.parameters(), lr=config.lr, betas=config.betas, fused=True)


@dataclass
class TrainState:
    """All that changes while a net is trained.

    Attributes
    ----------
    model : nn.Module
    optimizer : torch.optim.Optimizer
    device : torch.device
    epoch : int
        Finished epochs.
    step : int
        Steps made of the epoch in hand.
    metrics : list of EpochMetrics
    diverged : bool
    epoch_seconds : float
        Wall time of the epoch in hand so far.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    device: torch.device
    epoch: int = 0
    step: int = 0
    metrics: list[EpochMetrics] = field(default_factory=list)
    diverged: bool = False
    epoch_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """Wall time of the run so far."""
        return sum(metrics.seconds for metrics in self.metrics) + self.epoch_seconds

    def capture(self) -> dict[str, Any]:
        """Plain values and tensors from which `restore` makes the same state."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generators": _generator_states(self.device),
            "epoch": self.epoch,
            "step": self.step,
            "metrics": [list(dataclasses.astuple(metrics)) for metrics in self.metrics],
            "diverged": self.diverged,
            "epoch_seconds": self.epoch_seconds,
        }

    def restore(self, captured: dict[str, Any]) -> None:
        """Take over what `capture` gave; the model and optimizer must be of the same make."""
        self.model.load_state_dict(captured["model"])
        self.optimizer.load_state_dict(captured["optimizer"])
        for device, generator in captured["generators"].items():
            if device == "cpu":
                torch.set_rng_state(generator)
            elif device == self.device.type:
                torch.cuda.set_rng_state(generator, self.device)
        self.epoch, self.step = int(captured["epoch"]), int(captured["step"])
        self.metrics = [EpochMetrics(*row) for row in captured["metrics"]]
        self.diverged = bool(captured["diverged"])
        self.epoch_seconds = float(captured["epoch_seconds"])


def _generator_states(device: torch.device) -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


class _Loop:
    """A run in the making: what stays (config, samples, Fabric) and the state."""

    def __init__(self, config: RunConfig, data: ImageData, fabric: Fabric, checkpoint: Path | None) -> None:
        self.config, self.fabric, self.checkpoint = config, fabric, checkpoint
        self.data_sha256 = data.sha256
        self.X, self.y = (fabric.to_device(tensor) for tensor in tensors(config, data))
        self.slices = batch_slices(len(self.y), config.batch_size)
        model = build(config, self.X.shape[1], data.n_classes)
        if fabric.world_size > 1:  # batch statistics over the whole batch, not over a process's part
            model = nn.SyncBatchNorm.convert_sync_batchnorm(model)  # type: ignore[no-untyped-call]
        optimizer = build_optimizer(config, model)
        self.forward, self.stepper = fabric.setup(model, optimizer)
        self.state = TrainState(model, optimizer, fabric.device)
        self._restore()
        self._set_epoch()

    def run(
        self, stop_after_steps: int | None, progress: Callback | None, interruption: Interruption
    ) -> RunResult:
        state, taken, started = self.state, 0, time.perf_counter() - self.state.epoch_seconds
        while not state.diverged and state.epoch < self.config.epochs:
            if state.step == len(self.slices):
                self._finish_epoch(started)
                started = time.perf_counter()
            elif taken == stop_after_steps:
                self._save()
                break
            else:
                self._take_step()
                taken += 1
                state.epoch_seconds = time.perf_counter() - started
                self._report(progress, interruption)
        return RunResult(self.config, tuple(state.metrics), state.diverged, state.seconds)

    def _report(self, progress: Callback | None, interruption: Interruption) -> None:
        """The place between two steps, where the state is whole and a run may be interrupted."""
        try:
            if progress is not None:
                n_steps = len(self.slices)
                progress(self.state.epoch * n_steps + self.state.step, self.config.epochs * n_steps)
            interruption.check()
        except (KeyboardInterrupt, SystemExit):
            self._save()
            raise

    def _take_step(self) -> None:
        batch = self.slices[self.state.step]
        chosen = self.order[shard(batch, self.fabric.global_rank, self.fabric.world_size)]
        with self.fabric.autocast():  # outside of it Fabric rounds a float64 net's scores to float32
            scores = self.forward(self.X.index_select(0, chosen))
        loss = F.cross_entropy(scores, self.y.index_select(0, chosen), reduction="sum")
        # Gradients are averaged over processes: the mean over the batch is world_size times each one's share.
        self.fabric.backward(loss * (self.fabric.world_size / (batch.stop - batch.start)))
        self.stepper.step()
        self.stepper.zero_grad(set_to_none=True)
        self.state.step += 1

    def _finish_epoch(self, started: float) -> None:
        state = self.state
        loss, accuracy = self._evaluate()
        state.epoch_seconds = time.perf_counter() - started
        if math.isfinite(loss):
            rate = self.config.learning_rate(state.epoch)
            state.epoch, state.step = state.epoch + 1, 0
            state.metrics.append(EpochMetrics(state.epoch, loss, accuracy, rate, state.epoch_seconds))
            state.epoch_seconds = 0.0
            self._set_epoch()
        else:
            state.diverged = True
        self._save()

    def _set_epoch(self) -> None:
        """What depends on the epoch alone: the order of the samples and the learning rate."""
        epoch = self.state.epoch
        self.order = epoch_order(self.config.seed, epoch, len(self.y)).to(self.fabric.device)
        for group in self.state.optimizer.param_groups:
            group["lr"] = self.config.learning_rate(epoch)

    @torch.no_grad()
    def _evaluate(self) -> tuple[float, float]:
        """Mean loss and accuracy over all training samples, in eval mode, each process on its part."""
        model = self.state.model.eval()
        own = shard(slice(0, len(self.y)), self.fabric.global_rank, self.fabric.world_size)
        sums = torch.zeros(2, dtype=torch.float64, device=self.fabric.device)
        for start in range(own.start, own.stop, _EVALUATED_AT_ONCE):
            part = slice(start, min(start + _EVALUATED_AT_ONCE, own.stop))
            with self.fabric.autocast():
                scores = model(self.X[part])
            # Summed in float64: a float32 sum over 60,000 samples would lose digits of the loss.
            sums[0] += F.cross_entropy(scores.double(), self.y[part], reduction="sum")
            sums[1] += (scores.argmax(1) == self.y[part]).sum()
        model.train()
        total: Any = self.fabric.all_reduce(sums, reduce_op="sum")
        loss, correct = total.tolist()
        return loss / len(self.y), correct / len(self.y)

    def _save(self) -> None:
        # Every process holds the same state between steps, so none has to wait for another.
        if self.checkpoint is not None and self.fabric.is_global_zero:
            identity = {"config": self.config.canonical_json, "data_sha256": self.data_sha256}
            checkpoints.save(self.checkpoint, {**identity, **self.state.capture()})

    def _restore(self) -> None:
        captured = None
        if self.checkpoint is not None and self.fabric.is_global_zero and self.checkpoint.exists():
            captured = checkpoints.load(self.checkpoint)
            _check_identity(self.checkpoint, captured, self.config, self.data_sha256)
        captured = self.fabric.broadcast(
            captured
        )  # the others may not see the file, and must not race for it
        if captured is None:
            return
        try:
            self.state.restore(captured)
            if not (0 <= self.state.epoch == len(self.state.metrics) <= self.config.epochs):
                raise ValueError("epochs and metrics do not fit together")
            if not 0 <= self.state.step <= len(self.slices):
                raise ValueError(f"step {self.state.step} of an epoch of {len(self.slices)}")
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
            message = (str(error).splitlines() or [""])[0][:200]
            raise FileFormatError(
                f"{self.checkpoint}: no state of this run ({type(error).__name__}: {message}); "
                "remove the file to start anew"
            ) from None
