"""What a run is: a frozen value, its canonical JSON and hash. No torch here."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, SerializeAsAny, model_validator

from lntheory.base import jsonfile
from lntheory.base.fields import TUPLE, Count, Name, PositiveCount, PositiveReal, Real, UnitReal, Value
from lntheory.errors import InvalidInputError

from ..models import Parameters, read_parameters

__all__ = ["Data", "Loss", "Optimizer", "RunConfig", "Schedule", "flat", "nested", "varied"]

Fraction = Annotated[UnitReal, Field(lt=1)]


class Data(Value):
    """What is trained on.

    Attributes
    ----------
    name : str
        As `training.data.load` knows it.
    root : str or None
        Folder of its files. Where files lie does not change a run: it is no part of the hash.
    n_samples : int or None
        Train on the first so many training samples; None means all.
    label_seed : int or None
        Seed of random labels; None means the true labels.
    """

    name: Name
    root: Name | None = None
    n_samples: PositiveCount | None = None
    label_seed: Count | None = None


class Optimizer(Value):
    """Torch's optimizer of a name, as one fused kernel.

    Attributes
    ----------
    name : {"sgd", "adam", "adamw"}
    lr : float
        The largest learning rate: the schedule multiplies it.
    momentum : float
        Of SGD.
    betas : pair of float
        Adam's two decay rates.
    weight_decay, eps : float
        AdamW's weight decay is decoupled from the gradient, the others' is added to it. eps is Adam's.
    """

    name: Literal["sgd", "adam", "adamw"] = "adam"
    lr: PositiveReal = 1e-3
    momentum: Fraction = 0.9
    betas: Annotated[tuple[Fraction, Fraction], TUPLE] = (0.9, 0.999)
    weight_decay: Real = Field(default=0.0, ge=0)
    eps: PositiveReal = 1e-8


class Schedule(Value):
    """By what the learning rate is multiplied in each step.

    ::

        1 ┤   ╱──────┐        step: times gamma after `every`      ╱╲
          │  ╱       └─────┐  cosine: half a wave down to `floor`  ╱  ‾‾╲_
          │ ╱              └─ inverse-sqrt: (warmup / step)^(1/2) ╱       ‾‾─
          └┴────────────────
           warmup, linear

    Attributes
    ----------
    name : {"constant", "step", "cosine", "inverse-sqrt"}
    unit : {"steps", "epochs"}
        Of `warmup` and `every`.
    warmup : int
        The factor rises linearly to 1 for so long.
    every, gamma
        For "step": times `gamma` after every so many, counted from the start.
    floor : float
        For "cosine": the last factor.
    """

    name: Literal["constant", "step", "cosine", "inverse-sqrt"] = "constant"
    unit: Literal["steps", "epochs"] = "epochs"
    warmup: Count = 0
    every: PositiveCount = 20
    gamma: PositiveReal = 0.5
    floor: UnitReal = 0.0

    @model_validator(mode="after")
    def _check_warmup(self) -> Self:
        if self.name == "inverse-sqrt" and self.warmup == 0:
            raise InvalidInputError("warmup is 0; the inverse square root begins at its end: give 1 or more")
        return self

    def factor(self, step: int, per_epoch: int, total: int) -> float:
        """The factor of a step, counted from 0, of `total` steps.

        Examples
        --------
        >>> schedule = Schedule(name="step", every=2, gamma=0.5)
        >>> [schedule.factor(step, per_epoch=10, total=60) for step in (0, 19, 20, 40)]
        [1.0, 1.0, 0.5, 0.25]
        >>> [Schedule(name="cosine", unit="steps", warmup=2).factor(t, 1, 6) for t in (0, 1, 4)]
        [0.5, 1.0, 0.5]
        """
        unit = per_epoch if self.unit == "epochs" else 1
        warmup = self.warmup * unit
        if step < warmup:
            return (step + 1) / warmup
        if self.name == "step":
            return self.gamma ** (step // (self.every * unit))
        if self.name == "cosine":
            done = (step - warmup) / max(total - warmup, 1)
            return self.floor + (1 - self.floor) * (1 + math.cos(math.pi * done)) / 2
        if self.name == "inverse-sqrt":
            return math.sqrt(warmup / (step + 1))
        return 1.0


class Loss(Value):
    """What is minimised, as a mean over the batch.

    Attributes
    ----------
    name : {"cross-entropy", "mse"}
        Cross-entropy of scores, one a class on the last axis, and integer targets, of which -100 is left
        out; or the mean squared error.
    label_smoothing : float
        Of the cross-entropy: this part of the target is spread over all classes.
    """

    name: Literal["cross-entropy", "mse"] = "cross-entropy"
    label_smoothing: Fraction = 0.0


class RunConfig(Value):
    """One training run, whole: together with the data's hash it decides every number of the result.

    Attributes
    ----------
    data : Data or None
        None where the data are given by the caller.
    model : Parameters or None
        Of a net of `training.models`; None where the net is given by the caller.
    optimizer, schedule, loss
    batch_size : int
        Samples a step, over all processes and parts. The last batch of an epoch is what is left.
    accumulation : int
        Parts that every batch is worked through in, to save memory.
    clip_norm : float or None
        The gradient is scaled down to this norm, the root of the sum of all squares.
    epochs, steps : int or None
        How long; exactly one of them.
    precision : {"32-true", "64-true", "bf16-mixed"}
        Lightning Fabric's names. float16 is left out: its loss scaling skips steps, so that runs would not
        compare.
    seed : int
        Decides the initial weights and the order of the samples, each as a function of its own.

    Raises
    ------
    InvalidInputError
        If a field has a value of the wrong type or out of range, or two fields contradict each other.

    Examples
    --------
    >>> from training.models import MLP
    >>> RunConfig(model=MLP(norm="ln", width=64), epochs=10).sha256[:8]
    '7ce03a0b'
    >>> RunConfig(epochs=10, steps=100)
    Traceback (most recent call last):
    ...
    lntheory.errors.InvalidInputError: RunConfig: epochs = 10 and steps = 100; give exactly one of the two
    """

    data: Data | None = None
    model: SerializeAsAny[Annotated[Parameters, PlainValidator(read_parameters)]] | None = None
    optimizer: Optimizer = Optimizer()
    schedule: Schedule = Schedule()
    loss: Loss = Loss()
    batch_size: PositiveCount = 128
    accumulation: PositiveCount = 1
    clip_norm: PositiveReal | None = None
    epochs: PositiveCount | None = None
    steps: PositiveCount | None = None
    precision: Literal["32-true", "64-true", "bf16-mixed"] = "32-true"
    seed: Count = 0

    @model_validator(mode="after")
    def _check_length(self) -> Self:
        if (self.epochs is None) == (self.steps is None):
            raise InvalidInputError(
                f"epochs = {self.epochs} and steps = {self.steps}; give exactly one of the two"
            )
        return self

    def n_steps(self, per_epoch: int) -> int:
        """Steps in all, of `per_epoch` in an epoch."""
        return self.steps if self.epochs is None else self.epochs * per_epoch  # type: ignore[return-value]

    def n_epochs(self, per_epoch: int) -> int:
        """Epochs in all; the last may be cut short."""
        return -(-self.n_steps(per_epoch) // per_epoch)

    def learning_rate(self, step: int, per_epoch: int) -> float:
        """The learning rate of a step, counted from 0.

        Examples
        --------
        >>> config = RunConfig(optimizer={"lr": 1.0}, schedule={"name": "step", "every": 20}, epochs=150)
        >>> [config.learning_rate(12 * epoch, per_epoch=12) for epoch in (0, 19, 20, 40)]
        [1.0, 1.0, 0.5, 0.25]
        """
        return self.optimizer.lr * self.schedule.factor(step, per_epoch, self.n_steps(per_epoch))

    @property
    def canonical_json(self) -> str:
        """All that decides the result (not where files lie), in the one spelling that is hashed."""
        fields = self.to_dict()
        if self.data is not None:
            del fields["data"]["root"]
        return jsonfile.canonical(fields)

    @property
    def sha256(self) -> str:
        """Hash of `canonical_json`: the run's name."""
        return hashlib.sha256(self.canonical_json.encode()).hexdigest()

    @property
    def label(self) -> str:
        """The net in a few words, for tables."""
        return "own net" if self.model is None else self.model.label


def flat(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested mapping as one with dotted names.

    Examples
    --------
    >>> flat({"seed": 0, "optimizer": {"name": "adam", "lr": 0.1}})
    {'seed': 0, 'optimizer.name': 'adam', 'optimizer.lr': 0.1}
    """
    result: dict[str, Any] = {}
    for name, value in fields.items():
        nested = isinstance(value, Mapping)
        result.update(flat(value, f"{prefix}{name}.") if nested else {f"{prefix}{name}": value})
    return result


def nested(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `flat`.

    Examples
    --------
    >>> nested({"seed": 0, "optimizer.name": "adam", "optimizer.lr": 0.1})
    {'seed': 0, 'optimizer': {'name': 'adam', 'lr': 0.1}}
    """
    result: dict[str, Any] = {}
    for path, value in fields.items():
        *parents, name = path.split(".")
        place = result
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = value
    return result


def varied(config: RunConfig, changes: Mapping[str, Any]) -> RunConfig:
    """The config with other values of some fields, which are named as in ``"optimizer.lr"``.

    Raises
    ------
    InvalidInputError
        For a field that is not there, or a value that it does not take.

    Examples
    --------
    >>> varied(RunConfig(epochs=1), {"optimizer.lr": 0.5, "seed": 3}).optimizer.lr
    0.5
    """
    own: dict[str, Any] = {}
    for path, value in changes.items():
        head, _, rest = path.partition(".")
        own.setdefault(head, {})[rest] = value
    fields: dict[str, Any] = {}
    for head, parts in own.items():
        part = getattr(config, head, None)
        fields[head] = parts[""] if "" in parts else part.replaced(**parts) if part is not None else parts
    return config.replaced(**fields)
