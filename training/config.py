"""What a run is: a frozen value, its canonical JSON and hash, and the grids of the presets. No torch here."""

from __future__ import annotations

import hashlib
import itertools
import math
import numbers
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from lntheory.base import jsonfile
from lntheory.errors import FileFormatError, InvalidInputError, excerpt

__all__ = ["GROUPED", "NORMS", "OPTIMIZERS", "PRECISIONS", "PRESETS", "Grid", "RunConfig"]

NORMS = ("linear", "none", "ln", "ln-g", "gn", "rms", "rms-g", "bn")
"""Nets that `training.models.mlp` knows: a single Linear, or the kind of norm after every hidden Linear."""

GROUPED = ("ln-g", "gn", "rms-g")
"""The norms that need `num_groups`."""

OPTIMIZERS = ("sgd", "adam")

PRECISIONS = ("32-true", "64-true", "bf16-mixed")
"""Lightning Fabric's names. float16 is left out: its loss scaling skips steps, so runs would not compare."""

_WHOLE = {
    "n_samples": 1,
    "label_seed": 0,
    "num_groups": 1,
    "width": 1,
    "depth": 0,
    "batch_size": 1,
    "epochs": 1,
    "lr_step": 1,
    "seed": 0,
}  # fields that are whole numbers, and the least of each
_OPTIONAL = ("data_root", "n_samples", "label_seed", "num_groups")


@dataclass(frozen=True)
class RunConfig:
    """One training run, whole: together with the data's hash it decides every number of the result.

    Attributes
    ----------
    data : str
        Name of the data set, as `training.data.load` knows it.
    data_root : str or None
        Folder of its files. Where files lie does not change a run: it is no part of the hash.
    n_samples : int or None
        Train on the first so many training samples; None means all.
    label_seed : int or None
        Seed of the random labels; None means the true labels.
    norm, num_groups, width, depth
        The net, see `training.models.mlp`. "linear" is a single Linear and has depth 0; a linear net of the
        same depth as others is "none". `num_groups` belongs to "ln-g", "gn" and "rms-g" only.
    norm_eps : float
        Added to the variance inside every norm.
    affine : bool
        Whether norms have a learned scale and shift.
    optimizer : {"sgd", "adam"}
    lr, momentum, betas
        Learning rate, SGD's momentum, Adam's two decay rates. Adam's eps is torch's 1e-8; no weight decay.
    lr_step, lr_gamma
        The learning rate is multiplied by `lr_gamma` after every `lr_step` epochs.
    batch_size : int
        Samples a step, over all processes. The last batch of an epoch is what is left.
    epochs : int
    seed : int
        Decides the initial weights and the order of the samples, each as a function of its own.
    precision : {"32-true", "64-true", "bf16-mixed"}

    Raises
    ------
    InvalidInputError
        If a field has a value of the wrong type or out of range, or two fields contradict each other.

    Examples
    --------
    >>> RunConfig(norm="ln-g", num_groups=32, width=256, depth=4).sha256[:8]
    'a47280bf'
    >>> RunConfig(norm="ln-g", num_groups=7, width=256, depth=4)
    Traceback (most recent call last):
    ...
    lntheory.errors.InvalidInputError: num_groups = 7 does not divide width = 256; choose a divisor
    """

    data: str = "digits"
    data_root: str | None = None
    n_samples: int | None = None
    label_seed: int | None = 0
    norm: str = "ln"
    num_groups: int | None = None
    width: int = 256
    depth: int = 1
    norm_eps: float = 1e-5
    affine: bool = True
    optimizer: str = "adam"
    lr: float = 1e-3
    momentum: float = 0.1
    betas: tuple[float, float] = (0.9, 0.999)
    lr_step: int = 20
    lr_gamma: float = 0.5
    batch_size: int = 128
    epochs: int = 150
    seed: int = 0
    precision: str = "32-true"

    def __post_init__(self) -> None:
        for name, least in _WHOLE.items():
            self._set(name, _whole(name, getattr(self, name), least))
        for name in ("lr", "lr_gamma"):
            self._set(name, _real(name, getattr(self, name), positive=True))
        self._set("norm_eps", _real("norm_eps", self.norm_eps))
        self._set("momentum", _fraction("momentum", self.momentum))
        self._set("betas", _betas(self.betas))
        for name, known in (("norm", NORMS), ("optimizer", OPTIMIZERS), ("precision", PRECISIONS)):
            _one_of(name, getattr(self, name), known)
        if not isinstance(self.data, str) or not self.data:
            raise InvalidInputError(f"data is {excerpt(self.data)}; give the name of a data set")
        if self.data_root is not None and not isinstance(self.data_root, str):
            raise InvalidInputError(
                f"data_root is {excerpt(self.data_root)}; give a path as a string, or None"
            )
        if not isinstance(self.affine, bool):
            raise InvalidInputError(f"affine is {excerpt(self.affine)}; give True or False")
        self._check_net()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # 1 and 1.0, int and numpy.int64 must be one config, one hash

    def _check_net(self) -> None:
        if (self.norm == "linear") != (self.depth == 0):
            raise InvalidInputError(
                f"norm {self.norm!r} with depth = {self.depth}: 'linear' is the net of depth 0, and the only "
                "one; for a deep linear net take norm 'none'"
            )
        if (self.norm in GROUPED) != (self.num_groups is not None):
            raise InvalidInputError(
                f"norm {self.norm!r} with num_groups = {self.num_groups}: the norms with groups are "
                f"{', '.join(GROUPED)}; give num_groups to these and to no other"
            )
        if self.num_groups is not None and self.width % self.num_groups:
            raise InvalidInputError(
                f"num_groups = {self.num_groups} does not divide width = {self.width}; choose a divisor"
            )

    def to_dict(self) -> dict[str, Any]:
        """The fields, as JSON has them."""
        return {**asdict(self), "betas": list(self.betas)}

    @classmethod
    def from_dict(cls, value: object) -> RunConfig:
        """The config that `to_dict` gave.

        Raises
        ------
        FileFormatError
            If a field is missing, unknown or has a value that no config has.
        """
        if not isinstance(value, Mapping):
            raise FileFormatError(f"a run's config is a JSON object, found {excerpt(value)}")
        names = {field.name for field in fields(cls)}
        if missing := sorted(names - set(value)):
            raise FileFormatError(
                f"a run's config without the field {missing[0]!r}; is it of another version?"
            )
        if unknown := sorted(set(value) - names):
            raise FileFormatError(f"a run's config with the unknown field {unknown[0]!r}; remove it")
        betas = value["betas"]
        try:
            return cls(**{**value, "betas": tuple(betas) if isinstance(betas, list) else betas})
        except InvalidInputError as error:
            raise FileFormatError(f"a run's config that no run has: {error}") from None

    def learning_rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0.

        Examples
        --------
        >>> [RunConfig(lr=1.0, lr_step=20, lr_gamma=0.5).learning_rate(epoch) for epoch in (0, 19, 20, 40)]
        [1.0, 1.0, 0.5, 0.25]
        """
        return self.lr * self.lr_gamma ** (epoch // self.lr_step)

    @property
    def canonical_json(self) -> str:
        """All that decides the result (everything but `data_root`), in the one spelling that is hashed."""
        return jsonfile.canonical({name: v for name, v in self.to_dict().items() if name != "data_root"})

    @property
    def sha256(self) -> str:
        """Hash of `canonical_json`: the run's name."""
        return hashlib.sha256(self.canonical_json.encode()).hexdigest()

    @property
    def label(self) -> str:
        """The net in a few words, for tables.

        Examples
        --------
        >>> RunConfig(norm="ln-g", num_groups=32, depth=4).label
        'ln-g(32) x 4'
        >>> RunConfig(norm="linear", depth=0).label
        'linear'
        """
        if self.norm == "linear":
            return "linear"
        groups = "" if self.num_groups is None else f"({self.num_groups})"
        return f"{self.norm}{groups} x {self.depth}"


def _whole(name: str, value: object, least: int) -> int | None:
    if value is None and name in _OPTIONAL:
        return None
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and least <= int(value) < 2**63:
        return int(value)
    raise InvalidInputError(f"{name} is {excerpt(value)}; give a whole number from {least} on")


def _real(name: str, value: object, *, positive: bool = False) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # an integer of hundreds of digits
            number = math.inf
        if math.isfinite(number) and (number > 0 if positive else number >= 0):
            return number
    raise InvalidInputError(
        f"{name} is {excerpt(value)}; give a finite number {'above' if positive else 'not below'} 0"
    )


def _fraction(name: str, value: object) -> float:
    number = _real(name, value)
    if number >= 1:
        raise InvalidInputError(f"{name} is {number:g}; give a number in [0, 1)")
    return number


def _betas(value: object) -> tuple[float, float]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InvalidInputError(
            f"betas is {excerpt(value)}; give Adam's two decay rates, such as (0.9, 0.999)"
        )
    return _fraction("betas[0]", value[0]), _fraction("betas[1]", value[1])


def _one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidInputError(f"{name} is {excerpt(value)}; choose one of {', '.join(known)}")


@dataclass(frozen=True)
class Grid:
    """The runs of an experiment: `base`, varied.

    ::

        linear ─────────────────────────┬─ optimizer × its learning rates × batch size × seed
        net ───── norm (groups) × depth ┘

    Attributes
    ----------
    base : RunConfig
        What all runs share.
    nets : tuple of (norm, num_groups)
    depths : tuple of int
    linear_rates, net_rates : tuple of (optimizer, tuple of learning rates)
        What the linear baseline tries and what nets try: a single Linear bears, and needs, larger steps.
    batch_sizes, seeds : tuple of int
    """

    base: RunConfig
    nets: tuple[tuple[str, int | None], ...]
    depths: tuple[int, ...]
    linear_rates: tuple[tuple[str, tuple[float, ...]], ...]
    net_rates: tuple[tuple[str, tuple[float, ...]], ...]
    batch_sizes: tuple[int, ...]
    seeds: tuple[int, ...]

    def configs(self) -> tuple[RunConfig, ...]:
        """Every run of the grid, the linear ones first; the order is fixed.

        Examples
        --------
        >>> configs = PRESETS["quick"].configs()
        >>> configs[0].label, configs[-1].label
        ('linear', 'ln-g(32) x 8')
        """
        linear = self._runs([("linear", None)], [0], self.linear_rates)
        return linear + self._runs(self.nets, self.depths, self.net_rates)

    def _runs(self, nets: Any, depths: Any, rates: Any) -> tuple[RunConfig, ...]:
        steps = [(optimizer, lr) for optimizer, own in rates for lr in own]
        return tuple(
            replace(
                self.base,
                norm=norm,
                num_groups=num_groups,
                depth=depth,
                optimizer=optimizer,
                lr=lr,
                batch_size=batch_size,
                seed=seed,
            )
            for (norm, num_groups), depth in itertools.product(nets, depths)
            for (optimizer, lr), batch_size, seed in itertools.product(steps, self.batch_sizes, self.seeds)
        )


PRESETS: Mapping[str, Grid] = {
    "quick": Grid(
        base=RunConfig(width=64, epochs=60),
        nets=(
            ("none", None),
            ("bn", None),
            ("ln", None),
            ("ln-g", 2),
            ("ln-g", 4),
            ("ln-g", 8),
            ("ln-g", 16),
            ("ln-g", 32),
        ),
        depths=(1, 2, 4, 8),
        linear_rates=(("sgd", (0.01, 0.03, 0.1, 0.3, 1.0)), ("adam", (1e-3, 3e-3, 0.01, 0.03, 0.1))),
        net_rates=(("adam", (1e-3, 3e-3, 1e-2)),),
        batch_sizes=(128,),
        seeds=(0, 1, 2),
    ),
    "paper": Grid(
        base=RunConfig(width=256, epochs=150, lr_step=20, lr_gamma=0.5, momentum=0.1, betas=(0.9, 0.999)),
        nets=(
            ("bn", None),
            ("ln", None),
            ("ln-g", 2),
            ("ln-g", 4),
            ("ln-g", 8),
            ("ln-g", 16),
            ("ln-g", 32),
            ("ln-g", 64),
            ("ln-g", 128),
        ),
        depths=(1, 2, 4, 8),
        linear_rates=(("sgd", (1e-3, 1e-2, 1e-1, 1.0)), ("adam", (1e-4, 1e-3, 1e-2, 1e-1))),
        net_rates=(("sgd", (1e-3, 1e-2, 1e-1, 1.0)), ("adam", (1e-4, 1e-3, 1e-2, 1e-1))),
        batch_sizes=(128, 256),
        seeds=(0, 1, 2),
    ),
}
"""The grids. Known of the paper's: width 256, 150 epochs, learning rate halved every 20, batch size searched
in {128, 256}, linear baseline with SGD (momentum 0.1) and Adam (0.9, 0.999) at its best over a grid of
learning rates, depth and number of groups varied. The learning rates, depths and seeds are ours; the paper's
grid of learning rates is lost."""
