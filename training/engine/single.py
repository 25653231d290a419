"""The public entry: train one net, a user's own or one of `training.models`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lntheory.base.types import Progress
from lntheory.base.validation import as_count
from lntheory.errors import InvalidInputError, excerpt

from ..models import MODELS, Parameters, build
from ..run.config import RunConfig
from ..run.result import RunResult
from .checkpoint import checked_folder
from .fabric import make_fabric, own_torch, with_batch_norm
from .interruption import Interruption, deferred_interruption
from .loop import Loop
from .measures import default_metrics, loss_of, metrics_of
from .nets import OneNet
from .samples import Splits, as_splits, parameter_dtype

__all__ = ["train"]

Own = Callable[[Any, Any], Tensor]


def train(
    model: nn.Module | Parameters | str | None,
    data: Any,
    config: RunConfig,
    *,
    loss: Own | None = None,
    metrics: Iterable[str | Own] | None = None,
    folder: str | os.PathLike[str] | None = None,
    monitor: str | None = None,
    collate: Callable[[list[Any]], Any] | None = None,
    device: str = "auto",
    threads: int | None = None,
    stop_after_steps: int | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Train a net, from the start or from where the checkpoint in `folder` stands.

    Under ``torchrun --nproc-per-node 4`` (and torchrun's own options for many machines) every process calls
    this; each batch is divided among them, so `batch_size` means the same everywhere, and one process writes.

    Parameters
    ----------
    model : nn.Module, Parameters, str or None
        A module of your own, which is trained in place; or a net of `training.models`: its parameters, its
        name for default parameters, or None for ``config.model``. Called as ``model(*inputs)``.
    data : ImageData, or tensors, or a map-style dataset, or a pair of these
        One split, or a tuple (train, test). A split is a sequence of tensors or arrays of equal length,
        inputs first and targets last, or a dataset whose samples are tuples (input, ..., target).
    config : RunConfig
        Optimizer, schedule, loss, batches, length, precision and seed. Where it names data, ImageData are cut
        to its number of samples, standardized and labelled as it says.
    loss : callable, optional
        Of (outputs, targets): the mean over a batch. Instead of ``config.loss``.
    metrics : iterable of names and callables, optional
        Measured on every split after every epoch, as ``train_<name>`` and ``test_<name>``: "loss",
        "accuracy", "perplexity", or means over a batch of (outputs, targets) like `loss`.
    folder : path, optional
        For ``last.ckpt`` (after every epoch, on stopping, and on Ctrl-C or SIGTERM, which wait for the step
        to end; a second Ctrl-C does not), ``best.ckpt``, ``log.csv`` and TensorBoard's events, if it is
        installed. If ``last.ckpt`` is there, the run goes on from it; a finished run is not repeated.
    monitor : str, optional
        The metric by which an epoch is the best; the loss of the test split, or of the only one, by default.
    collate : callable, optional
        Makes a batch of a list of samples of a dataset; torch's own by default.
    device : {"auto", "cpu", "cuda"}
        "auto" takes a GPU if there is one.
    threads : int, optional
        CPU threads while it trains; torch's own number by default.
    stop_after_steps : int, optional
        Stop after so many steps of this call, wherever that is.
    progress : callable, optional
        Called with (steps done, steps in all) after every step.

    Returns
    -------
    RunResult
        ``result.finished`` is False if the run was stopped; ``result.model`` is the trained net. The same on
        every process, but for times.

    Raises
    ------
    InvalidInputError
        If data or model are none, or the net cannot be trained in such batches.
    FileFormatError
        If the checkpoint is corrupt, or one of another run or of other data.

    Notes
    -----
    Random numbers that the net draws (dropout) come from torch's generators, which are seeded with
    ``config.seed``, kept in checkpoints, and put back when training ends.

    Examples
    --------
    >>> import torch
    >>> X = torch.randn(64, 5, generator=torch.Generator().manual_seed(0))
    >>> own = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.LayerNorm(16), torch.nn.Linear(16, 2))
    >>> result = train(own, (X, (X[:, 0] > 0).long()), RunConfig(epochs=3, batch_size=16), device="cpu")
    >>> [epoch.epoch for epoch in result.epochs], sorted(result.epochs[-1].metrics)
    ([1, 2, 3], ['train_accuracy', 'train_loss'])
    """
    if stop_after_steps is not None:
        as_count(stop_after_steps, "stop_after_steps")
    place = None if folder is None else checked_folder(Path(folder))
    if isinstance(model, str):
        if model not in MODELS:
            raise InvalidInputError(f"model {excerpt(model)}; choose one of {', '.join(MODELS)}")
        model = MODELS[model](name=model)
    if isinstance(model, Parameters):
        config, model = config.replaced(model=model), None
    fabric = make_fabric(config.precision, device)
    with own_torch(fabric.device, config.seed, threads):
        splits = as_splits(data, config, fabric.device, collate)
        module = model if model is not None else _named(config, splits)
        module = module.to(fabric.device, parameter_dtype(config))
        module = with_batch_norm(module, config, len(splits.train), fabric)
        module.train()
        forward = fabric.setup_module(module) if fabric.world_size > 1 else module
        wanted = loss_of(config.loss, loss)
        measured = metrics_of(metrics or default_metrics(config.loss, loss), wanted)
        loop = Loop(
            OneNet(module, forward, config), splits, fabric, wanted, measured, place,
            _checked_monitor(monitor, splits, [metric.name for metric in measured]),
        )  # fmt: skip
        if place is None:
            loop.run(stop_after_steps, progress, Interruption())
        else:
            with deferred_interruption() as interruption:
                loop.run(stop_after_steps, progress, interruption)
        return replace(loop.results()[0], model=module)


def _checked_monitor(monitor: str | None, splits: Splits, metrics: Sequence[str]) -> str:
    """The metric by which an epoch is the best: the first, of the test split if there is one, by default."""
    names = [f"{split}_{name}" for split in ("test", "train") for name in metrics]
    if splits.test is None:
        names = names[len(metrics) :]
    if monitor is not None and monitor not in names:
        raise InvalidInputError(f"monitor is {excerpt(monitor)}; choose one of {', '.join(names)}")
    return monitor or names[0]


def _named(config: RunConfig, splits: Splits) -> nn.Module:
    """The net that the config names."""
    if config.model is None:
        raise InvalidInputError("model is None and the config names none; give a module, or config.model")
    if splits.images is not None:
        shape, n_classes = splits.images.shape, splits.images.n_classes
    else:
        (X,), y = splits.train.batch(torch.arange(len(splits.train)))
        if y.is_floating_point():
            raise InvalidInputError(
                f"targets are {y.dtype}; a net of training.models needs classes 0, 1, ..."
            )
        shape, n_classes = tuple(X.shape[1:]), int(y.max()) + 1
    return build(config.model, shape, n_classes, config.seed)
