"""What decides a net but for its weights, as values that configs and records hold. No torch here."""

from __future__ import annotations

from types import MappingProxyType
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from lntheory.base.fields import Count, Name, PositiveCount, Real, Value
from lntheory.errors import InvalidInputError

__all__ = ["GROUPED", "MLP", "NORMS", "Norm", "Parameters"]

NORMS = ("ln", "ln-position", "ln-g", "ln-g-position", "gn", "in", "rms", "rms-g", "bn", "none")
"""The names of `lntheory.nn.make_norm` that are known without torch; others are looked up in its register."""

GROUPED = ("ln-g", "ln-g-position", "gn", "rms-g")
"""The norms that take groups."""


class Parameters(Value):
    """Of any model.

    Attributes
    ----------
    name : str
        The model's.
    flat : bool
        Whether samples are given to it as rows of numbers, whatever their shape.
    stackable : bool
        Whether many nets may train at once as one stack: nothing in a forward pass is drawn at random.
    """

    flat: ClassVar[bool] = False
    stackable: ClassVar[bool] = True

    name: Name

    @property
    def label(self) -> str:
        """The net in a few words, for tables."""
        return self.name


class Norm(Parameters):
    """Of a model whose norm is chosen by name.

    Attributes
    ----------
    norm : str
        A kind of `lntheory.nn.make_norm`.
    num_groups, group_size : int or None
        Exactly one of them for the norms with groups.
    eps : float
        Added to the variance.
    affine : bool
        Whether norms have a learned scale and shift.
    """

    norm: str = "ln"
    num_groups: PositiveCount | None = None
    group_size: PositiveCount | None = None
    eps: Real = Field(default=1e-5, ge=0)
    affine: bool = True

    @model_validator(mode="after")
    def _check_groups(self) -> Self:
        given = sum(value is not None for value in (self.num_groups, self.group_size))
        if given != self.is_grouped(self.norm):
            raise InvalidInputError(
                f"norm {self.norm!r} with num_groups = {self.num_groups}, group_size = {self.group_size}: "
                f"the norms with groups are {', '.join(GROUPED)}; give one to these, none to others"
            )
        return self

    @classmethod
    def is_grouped(cls, norm: str) -> bool:
        """Whether the norm of this name takes groups.

        Raises
        ------
        InvalidInputError
            If the model does not have it.
        """
        if norm in NORMS:
            return norm in GROUPED
        try:  # one that was added to the register: only there torch is needed
            from lntheory.nn.registry import NORMS as registered
        except ImportError:
            registered = MappingProxyType({})
        if norm not in registered:
            raise InvalidInputError(f"norm is {norm!r}; choose one of {', '.join(NORMS)}")
        return registered[norm].grouped

    def require_divisor(self, width: int) -> None:
        """Refuse groups that do not divide `width` features."""
        for name in ("num_groups", "group_size"):
            value = getattr(self, name)
            if value is not None and width % value:
                raise InvalidInputError(
                    f"{name} = {value} does not divide {width} features; choose a divisor"
                )

    @property
    def norm_label(self) -> str:
        """Such as ``ln-g(32)``."""
        if self.group_size is not None:
            return f"{self.norm}({self.group_size} each)"
        return self.norm + ("" if self.num_groups is None else f"({self.num_groups})")


class MLP(Norm):
    """Of the net of the random-label table: Linear and norm in turn, then a Linear; no activation.

    Attributes
    ----------
    norm : str
        "linear" is a single Linear and has depth 0; a linear net of the same depth as others is "none".
    width, depth : int
        Neurons a layer; layers with a norm.

    Examples
    --------
    >>> MLP(norm="ln-g", num_groups=32, width=256, depth=4).label
    'ln-g(32) x 4'
    >>> MLP(norm="ln-g", num_groups=7, width=256, depth=4)
    Traceback (most recent call last):
    ...
    lntheory.errors.InvalidInputError: MLP: num_groups = 7 does not divide 256 features; choose a divisor
    """

    flat: ClassVar[bool] = True

    name: Literal["mlp"] = "mlp"
    width: PositiveCount = 256
    depth: Count = 1

    @model_validator(mode="after")
    def _check_depth(self) -> Self:
        if (self.norm == "linear") != (self.depth == 0):
            raise InvalidInputError(
                f"norm {self.norm!r} with depth = {self.depth}: 'linear' is the net of depth 0, and the only "
                "one; for a deep linear net take norm 'none'"
            )
        self.require_divisor(self.width)
        return self

    @classmethod
    def is_grouped(cls, norm: str) -> bool:
        """As for any model; "linear" is known, norms of images are not."""
        if norm in ("in", "ln-position", "ln-g-position"):
            raise InvalidInputError(f"norm is {norm!r}, which is of images; choose another for vectors")
        return norm != "linear" and super().is_grouped(norm)

    @property
    def label(self) -> str:
        """Such as ``ln-g(32) x 4``."""
        return self.norm if self.norm == "linear" else f"{self.norm_label} x {self.depth}"
