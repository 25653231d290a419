"""What a run trains on, and in which order: tensors in memory, batches by index. Shared by all trainers.

::

    ImageData ─ first n_samples ─ standardized ─ random labels ─► X (n, d), y (n,)
    (seed, epoch) ─► permutation of the n samples ─► batches of batch_size, the last one what is left
                                                     └─ with w processes, each takes a part of every batch

The order is a pure function of (seed, epoch): there are no workers to disagree, and another number of
processes gives the same batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from lntheory.errors import InvalidInputError
from training.config import RunConfig
from training.data import ImageData, RandomLabels, Split, data_sha256
from training.models import parameter_dtype

__all__ = ["batch_slices", "epoch_order", "prepared", "require_variance", "shard", "tensors"]


def prepared(config: RunConfig, data: ImageData) -> ImageData:
    """The training samples and labels that `config` asks for; preparing twice changes nothing but roundings.

    Parameters
    ----------
    config : RunConfig
    data : ImageData
        As `training.data.load` gives it.

    Returns
    -------
    ImageData
        Without a test split, standardized, with the random labels of `config.label_seed` (None: its own).

    Raises
    ------
    InvalidInputError
        If `data` is another set than `config.data`, or has fewer than `config.n_samples` samples.
    """
    if data.name != config.data:
        raise InvalidInputError(
            f"the config is for data {config.data!r}, given was {data.name!r}; load that one"
        )
    available, n_samples = len(data.train), config.n_samples
    if n_samples is not None and n_samples > available:
        raise InvalidInputError(
            f"{data.name}: n_samples = {n_samples} asked for, {available} training samples given; load more"
        )
    train = Split(data.train.X[:n_samples], data.train.y[:n_samples])
    data = replace(data, train=train, test=None, sha256=data_sha256(train)).standardized()
    if config.label_seed is None:
        return data
    return data.with_random_labels(RandomLabels(config.label_seed, data.n_classes))


def tensors(config: RunConfig, data: ImageData) -> tuple[Tensor, Tensor]:
    """Samples (n, d) in the run's precision and labels (n,) of prepared data, on the CPU."""
    X = torch.tensor(data.train.flat, dtype=parameter_dtype(config))
    return X, torch.tensor(data.train.y)


def epoch_order(seed: int, epoch: int, n_samples: int) -> Tensor:
    """Order of the samples in an epoch (counted from 0): a pure function of the three.

    Sorted by random words of 64 bits. NumPy promises raw bits for ever, but not its permutations.

    Examples
    --------
    >>> epoch_order(seed=0, epoch=0, n_samples=8).tolist()
    [3, 6, 2, 1, 5, 0, 7, 4]
    >>> epoch_order(seed=0, epoch=1, n_samples=8).tolist()
    [6, 2, 4, 0, 5, 7, 1, 3]
    """
    words = np.random.PCG64(np.random.SeedSequence((seed, epoch, _ORDER))).random_raw(n_samples)
    return torch.from_numpy(np.argsort(np.asarray(words, dtype=np.uint64), kind="stable"))


_ORDER = 2**32 - 1  # a stream of its own, apart from those of the initial weights (seed, layer)


def batch_slices(n_samples: int, batch_size: int) -> Sequence[slice]:
    """Where the batches of an epoch lie in its order; the last is what is left.

    Examples
    --------
    >>> batch_slices(7, 3)
    (slice(0, 3, None), slice(3, 6, None), slice(6, 7, None))
    """
    return tuple(
        slice(start, min(start + batch_size, n_samples)) for start in range(0, n_samples, batch_size)
    )


def shard(part: slice, rank: int, world_size: int) -> slice:
    """The part of a batch that one process takes; parts differ by at most one sample, and may be empty.

    Examples
    --------
    >>> [shard(slice(10, 15), rank, 2) for rank in (0, 1)]
    [slice(10, 12, None), slice(12, 15, None)]
    """
    count = part.stop - part.start
    return slice(
        part.start + count * rank // world_size,
        part.start + count * (rank + 1) // world_size,
    )


def require_variance(config: RunConfig, n_samples: int) -> None:
    """Refuse batch norm on a batch of one sample.

    Parameters
    ----------
    config : RunConfig
    n_samples : int
        Training samples.

    Raises
    ------
    InvalidInputError
        If the norm is ``"bn"`` and some batch holds one sample.

    Examples
    --------
    >>> require_variance(RunConfig(norm="bn", batch_size=32), 65)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lntheory.errors.InvalidInputError: norm 'bn' with 65 samples in batches of 32: a batch of one sample...
    """
    if config.norm == "bn" and (n_samples % config.batch_size == 1 or config.batch_size == 1):
        raise InvalidInputError(
            f"norm 'bn' with {n_samples} samples in batches of {config.batch_size}: a batch of one sample "
            "has no variance; choose another batch size or number of samples"
        )
