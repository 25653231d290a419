"""What a run trains on, and in which order: batches by index, the same in any number of processes.

::

    ImageData, tensors, a dataset ─► Samples ── batch of indices ─► (inputs, targets) on the device
    (seed, epoch) ─► permutation of the n samples ─► batches of batch_size, the last one what is left
                                                     └─ with w processes, each takes a part of every batch

The order is a pure function of (seed, epoch): there are no workers to disagree, and another number of
processes gives the same batches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import TensorDataset, default_collate

from lntheory.errors import InvalidInputError, excerpt

from ..data import ImageData, RandomLabels, Split, data_sha256
from ..run.config import RunConfig

__all__ = ["Batch", "DatasetSamples", "Samples", "Splits", "TensorSamples", "as_splits", "epoch_order",
           "parameter_dtype", "prepared", "shard"]  # fmt: skip

Batch = tuple[tuple[Any, ...], Any]
"""(inputs, targets): the net is called as ``net(*inputs)``."""


def parameter_dtype(config: RunConfig) -> torch.dtype:
    """The type that weights, and floating-point samples, are kept in."""
    return torch.float64 if config.precision == "64-true" else torch.float32


class Samples:
    """A split: so many samples, fetched by index.

    Attributes
    ----------
    sha256 : str
        What a checkpoint knows the samples by.
    """

    sha256: str

    def __len__(self) -> int:
        raise NotImplementedError

    def batch(self, index: Tensor) -> Batch:
        """The samples of these indices, on the device."""
        raise NotImplementedError

    def n_batches(self, batch_size: int) -> int:
        """In an epoch."""
        return -(-len(self) // batch_size)

    def batches(self, seed: int, epoch: int, batch_size: int) -> Sequence[Tensor]:
        """Indices of the batches of an epoch, counted from 0."""
        return torch.split(epoch_order(seed, epoch, len(self)), batch_size)


class TensorSamples(Samples):
    """Samples in memory: tensors of equal length, inputs first, targets last."""

    def __init__(self, columns: Sequence[Tensor], device: torch.device, sha256: str | None = None) -> None:
        self.sha256 = sha256 or _sha256(columns)
        self.columns = tuple(column.to(device) for column in columns)
        self.device = device

    def __len__(self) -> int:
        return len(self.columns[0])

    def batch(self, index: Tensor) -> Batch:
        """The samples of these indices."""
        index = index.to(self.device)
        *inputs, targets = (column.index_select(0, index) for column in self.columns)
        return tuple(inputs), targets


class DatasetSamples(Samples):
    """A map-style dataset: ``dataset[i]`` is (input, ..., target).

    A checkpoint knows it by its type and length alone.
    """

    def __init__(
        self, dataset: Any, device: torch.device, dtype: torch.dtype, collate: Callable[[list[Any]], Any]
    ) -> None:
        self.dataset, self.device, self.dtype, self.collate = dataset, device, dtype, collate
        self.sha256 = f"{type(dataset).__qualname__} of {len(dataset)} samples"

    def __len__(self) -> int:
        return len(self.dataset)

    def batch(self, index: Tensor) -> Batch:
        """The samples of these indices, put together by `collate`."""
        columns = self.collate([self.dataset[i] for i in index.tolist()])
        if not isinstance(columns, (tuple, list)) or len(columns) < 2:
            raise InvalidInputError(
                f"a batch of the data is {excerpt(columns)}; each sample must be a tuple (input, ..., target)"
            )
        *inputs, targets = (self._moved(column) for column in columns)
        return tuple(inputs), targets

    def _moved(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.to(self.device, self.dtype if value.is_floating_point() else value.dtype)
        return value


def _sha256(columns: Sequence[Tensor]) -> str:
    digest = hashlib.sha256()
    for column in columns:
        digest.update(f"{tuple(column.shape)} {column.dtype}\n".encode())
        digest.update(column.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Splits:
    """What is trained on and what is measured on.

    Attributes
    ----------
    train : Samples
    test : Samples or None
    images : ImageData or None
        Where the samples come from, prepared; gives a named model the shape of a sample and the classes.
    """

    train: Samples
    test: Samples | None
    images: ImageData | None = None

    @property
    def sha256(self) -> str:
        """Of all samples."""
        if self.images is not None:
            return self.images.sha256
        return self.train.sha256 + ("" if self.test is None else f", {self.test.sha256}")


def as_splits(
    data: Any, config: RunConfig, device: torch.device, collate: Callable[[list[Any]], Any] | None = None
) -> Splits:
    """The splits that `data` stands for.

    Parameters
    ----------
    data : ImageData, or one split, or a tuple (train, test) of splits
        A split is a sequence of tensors or arrays of equal length, inputs first and targets last, or a
        map-style dataset. A pair of tensors is one split, inputs and targets.
    config : RunConfig
    device : torch.device
    collate : callable, optional
        Of datasets: makes a batch of a list of samples. Torch's `default_collate` by default.

    Raises
    ------
    InvalidInputError
        If it is nothing of the kind, or a split is empty.
    """
    if isinstance(data, ImageData):
        images = prepared(config, data)
        train = _of_images(images.train, config, device)
        test = None if images.test is None else _of_images(images.test, config, device)
        return Splits(train, test, images)
    make = collate or default_collate
    if _is_split(data):
        return Splits(_split(data, config, device, make), None)
    if isinstance(data, (tuple, list)) and len(data) == 2 and all(map(_is_split, data)):
        train_part, test_part = (_split(part, config, device, make) for part in data)
        return Splits(train_part, test_part)
    raise InvalidInputError(
        f"data is {excerpt(data)}; give ImageData, a pair of tensors (inputs, targets), a map-style dataset, "
        "or a pair (train, test) of these"
    )


def _of_images(split: Split, config: RunConfig, device: torch.device) -> TensorSamples:
    X = split.flat if config.model is not None and config.model.flat else split.X
    columns = torch.tensor(X, dtype=parameter_dtype(config)), torch.tensor(split.y)
    return TensorSamples(columns, device, sha256="of images")


def _is_columns(data: Any) -> bool:
    return (
        isinstance(data, (tuple, list))
        and len(data) > 1
        and all(isinstance(part, (Tensor, np.ndarray)) and part.ndim for part in data)
    )


def _is_split(data: Any) -> bool:
    is_dataset = hasattr(data, "__getitem__") and hasattr(data, "__len__")
    return _is_columns(data) or (is_dataset and not isinstance(data, (tuple, Tensor, np.ndarray, str, dict)))


def _split(
    data: Any, config: RunConfig, device: torch.device, collate: Callable[[list[Any]], Any]
) -> Samples:
    if isinstance(data, TensorDataset):
        data = data.tensors
    if not len(data):
        raise InvalidInputError("a split of the data has no samples; give at least one")
    dtype = parameter_dtype(config)
    if not _is_columns(data):
        return DatasetSamples(data, device, dtype, collate)
    columns = [torch.as_tensor(part) for part in data]
    if len({len(column) for column in columns}) != 1 or not len(columns[0]):
        raise InvalidInputError(
            f"the tensors of a split have {', '.join(str(len(column)) for column in columns)} samples; they "
            "must be equal in number, and at least one"
        )
    cast = [column.to(dtype) if column.is_floating_point() else column for column in columns]
    if config.model is not None and config.model.flat:
        cast[0] = cast[0].flatten(1)
    return TensorSamples(cast, device)


def prepared(config: RunConfig, data: ImageData) -> ImageData:
    """The samples and labels that `config` asks for; preparing twice changes nothing but roundings.

    Parameters
    ----------
    config : RunConfig
    data : ImageData
        As `training.data.load` gives it.

    Returns
    -------
    ImageData
        Standardized; with the random labels of ``config.data.label_seed`` and then without a test split, or
        with its own. As it is where ``config.data`` is None.

    Raises
    ------
    InvalidInputError
        If `data` is another set than `config` names, or has fewer samples than it asks for.
    """
    asked = config.data
    if asked is None:
        return data
    if data.name != asked.name:
        raise InvalidInputError(
            f"the config is for data {asked.name!r}, given was {data.name!r}; load that one"
        )
    available, n_samples = len(data.train), asked.n_samples
    if n_samples is not None and n_samples > available:
        raise InvalidInputError(
            f"{data.name}: n_samples = {n_samples} asked for, {available} training samples given; load more"
        )
    train = Split(data.train.X[:n_samples], data.train.y[:n_samples])
    test = data.test if asked.label_seed is None else None
    data = replace(data, train=train, test=test, sha256=data_sha256(train, test)).standardized()
    if asked.label_seed is None:
        return data
    return data.with_random_labels(RandomLabels(asked.label_seed, data.n_classes))


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
