"""The result of a construction, of one type for all of them, and the type of a construction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lntheory.base.types import FloatArray
from lntheory.construct.problem import Codes, Problem
from lntheory.construct.target import Target
from lntheory.errors import RefutedError, UndecidedError
from lntheory.exact import certify
from lntheory.network import Layer, LNNet

__all__ = ["Built", "Method"]


@dataclass(frozen=True)
class Built:
    """The layers and read-out of a net, before its classes have names.

    Attributes
    ----------
    layers : tuple of Layer
    readout : Layer
    safety : float
        The smallest ratio of gap to error between points of unequal label after any layer. The error is a
        bound where samples are merged, and two standard deviations where folds were searched for.
    merges : tuple, one entry for each layer, or None
        The pairs of samples that the layer merges; None for folds, which merge none.
    account : mapping
        Further entries of the net's provenance: the work spent, the constructions tried.
    """

    layers: tuple[Layer, ...]
    readout: Layer
    safety: float
    merges: tuple[tuple[tuple[int, int], ...], ...] | None = None
    account: Mapping[str, Any] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.layers)

    def net(self, n_classes: int) -> LNNet:
        """The net, with classes ``0 .. n_classes - 1``."""
        return LNNet(self.layers, self.readout, tuple(range(n_classes)))

    def is_carried(self, X: FloatArray, codes: Codes, target: Target, *, passes: int) -> bool:
        """Whether the target arithmetic gives every sample its label; see `Target.carries`."""
        return target.carries(self.net(int(codes.max()) + 1), X, codes, passes=passes)

    def is_decided(self, X: FloatArray, codes: Codes) -> bool:
        """Whether the predictions of the net, evaluated exactly, are decided and right."""
        try:
            return bool((self.net(int(codes.max()) + 1).predict(X) == codes).all())
        except UndecidedError:
            return False

    def is_proved(self, X: FloatArray, codes: Codes) -> bool:
        """Whether `certify` proves the net right; the result of a search is not taken on trust."""
        try:
            certify(self.net(int(codes.max()) + 1), X, codes)
        except (RefutedError, UndecidedError):
            return False
        return True


@dataclass(frozen=True)
class Method:
    """A construction, as `lntheory.construct.methods` registers it.

    Attributes
    ----------
    name : str
        The value of ``shatter(method=...)``.
    summary : str
        One line that says what the construction does.
    build : callable
        Takes a `Problem`, with any distinct samples and labels, and returns a `Built` net that is right.
    guaranteed_depth : callable
        Takes the numbers of distinct samples of two or more classes and whether the samples are in general
        position (see `lntheory.construct.guaranteed_depth`); returns a depth that `build` never exceeds.
    searches : bool
        Whether the construction takes a budget, a time limit and a target.
    """

    name: str
    summary: str
    build: Callable[[Problem], Built]
    guaranteed_depth: Callable[[Sequence[int], bool], int]
    searches: bool = False
