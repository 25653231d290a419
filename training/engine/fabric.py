"""Where runs are trained: devices and processes, by Lightning Fabric."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
from lightning.fabric import Fabric
from torch import nn

from lntheory.base.validation import as_count
from lntheory.errors import InvalidInputError, excerpt

from ..run.config import RunConfig

__all__ = ["gathered", "launched", "make_fabric", "own_torch", "peak_memory", "rank", "with_batch_norm",
           "world_size"]  # fmt: skip


def launched() -> bool:
    """Whether torchrun started this process."""
    return torch.distributed.is_available() and torch.distributed.is_torchelastic_launched()


def rank() -> int:
    """Of this process among those that torchrun started; 0 alone."""
    return int(os.environ["RANK"]) if launched() else 0


def world_size() -> int:
    """How many processes torchrun started; 1 alone."""
    return int(os.environ["WORLD_SIZE"]) if launched() else 1


def make_fabric(precision: str, device: str | torch.device = "auto", *, divided: bool = True) -> Fabric:
    """Fabric on one device, or, `divided`, on all that torchrun started processes for.

    Raises
    ------
    InvalidInputError
        If there is no such device.
    """
    kind = str(device)
    if kind not in ("auto", "cpu", "cuda"):
        raise InvalidInputError(f"device is {excerpt(kind)}; choose auto, cpu or cuda")
    if kind == "cuda" and not torch.cuda.is_available():
        raise InvalidInputError("device is 'cuda', but torch finds no CUDA device; choose cpu")
    if kind == "auto":
        kind = "cuda" if torch.cuda.is_available() else "cpu"
    processes = world_size() if divided else 1
    local = int(os.environ["LOCAL_WORLD_SIZE"]) if launched() and divided else 1
    own = [int(os.environ["LOCAL_RANK"])] if launched() and not divided and kind == "cuda" else local
    fabric = Fabric(
        accelerator=kind,
        strategy="ddp" if processes > 1 else "auto",
        devices=own,
        num_nodes=processes // local,
        precision=precision,  # type: ignore[arg-type]
    )
    fabric.launch()
    return fabric


def gathered(value: object) -> list[object]:
    """The values of all processes, in the order of their ranks; each waits for all."""
    if not launched():
        return [value]
    if not torch.distributed.is_initialized():  # work is shared unevenly, so that some wait for long
        torch.distributed.init_process_group("gloo", timeout=timedelta(days=30))
    values: list[object] = [None] * world_size()
    torch.distributed.all_gather_object(values, value)
    return values


@contextmanager
def own_torch(device: torch.device, seed: int, threads: int | None) -> Iterator[None]:
    """Random generators and number of threads of a run; the caller's are put back afterwards."""
    before = torch.get_num_threads()
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        if threads is not None:
            torch.set_num_threads(as_count(threads, "threads", 1))
        try:
            yield
        finally:
            torch.set_num_threads(before)


def with_batch_norm(module: nn.Module, config: RunConfig, n_samples: int, fabric: Fabric) -> nn.Module:
    """The module, ready for batch norm over divided batches; refuses what batch norm cannot do.

    Raises
    ------
    InvalidInputError
        If a batch of one sample would have no variance, or if statistics would have to be taken over a batch
        that is divided among processes without GPUs.
    """
    kinds = nn.modules.batchnorm._BatchNorm
    if not any(isinstance(part, kinds) for part in module.modules()):
        return module
    size, parts = config.batch_size, config.accumulation
    smallest = min(max(batch // parts, 1) for batch in {min(size, n_samples), n_samples % size or size})
    if smallest == 1 and any(isinstance(part, nn.BatchNorm1d) for part in module.modules()):
        raise InvalidInputError(
            f"batch norm with {n_samples} samples in batches of {size}, each in {parts} parts: a batch of "
            "one sample has no variance; choose another batch size or number of samples"
        )
    if fabric.world_size == 1:
        return module
    if fabric.device.type != "cuda":
        raise InvalidInputError(
            f"batch norm in {fabric.world_size} processes on {fabric.device.type}: torch takes statistics "
            "over a divided batch on GPUs only; train it in one process"
        )
    return nn.SyncBatchNorm.convert_sync_batchnorm(module)  # type: ignore[no-untyped-call, no-any-return]


def peak_memory(device: torch.device) -> float:
    """Bytes: of tensors on the GPU, or of this whole process; 0 where the system does not tell."""
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:  # not on Windows
        return 0.0
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
