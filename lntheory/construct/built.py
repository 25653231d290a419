"""What a construction gives: one type for all of them."""

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
        The smallest ratio of gap to error between points of unequal label met on the way: to a bound of the
        error where samples are merged, to two standard deviations of it where folds were searched for.
    merges : tuple, one entry a layer, or None
        The pairs of samples that the layer merges; None of folds, which merge none.
    account : mapping
        What else the net's provenance should say: work spent, what was tried.
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
        """Whether the exact net's predictions are decided, and right."""
        try:
            return bool((self.net(int(codes.max()) + 1).predict(X) == codes).all())
        except UndecidedError:
            return False

    def is_proved(self, X: FloatArray, codes: Codes) -> bool:
        """Whether the net is certified: what was found by searching is not taken on trust."""
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
        What users write.
    summary : str
        What it does, in a line.
    build : callable
        From a `Problem` to a `Built` net that is right; for any distinct samples and labels.
    guaranteed_depth : callable
        From the numbers of distinct samples a class (two classes at least) and whether they are in general
        position (see `lntheory.construct.guaranteed_depth`) to a depth that `build` never exceeds.
    searches : bool
        Whether it takes a budget, a time limit and a target.
    """

    name: str
    summary: str
    build: Callable[[Problem], Built]
    guaranteed_depth: Callable[[Sequence[int], bool], int]
    searches: bool = False
