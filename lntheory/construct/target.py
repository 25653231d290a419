"""The floating-point arithmetic in which a net has to be right, and the test whether the net is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lntheory.network import LNNet

__all__ = ["TARGETS", "Target"]

TARGETS = ("float64", "float32")
UNITS = {"float64": 2.0**-53, "float32": 2.0**-24}
PASSES = 16
"""Number of passes with randomly drawn rounding errors in which a net has to be right."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Target:
    """A floating-point arithmetic.

    Attributes
    ----------
    name : {"float64", "float32"}
    unit : float
        Its unit round-off.
    """

    name: str
    unit: float

    @classmethod
    def of(cls, name: str) -> Target:
        """``"float64"`` or ``"float32"``.

        Examples
        --------
        >>> Target.of("float32").unit == 2**-24
        True
        """
        return cls(name, UNITS[name])

    def rounded(self, values: FloatArray) -> FloatArray:
        """The nearest numbers of this arithmetic, as float64."""
        return values.astype(np.float32).astype(np.float64) if self.name == "float32" else values

    def carries(self, net: LNNet, X: FloatArray, codes: NDArray[np.int64], *, passes: int = PASSES) -> bool:
        """Whether a float64 net is right on all samples, in `predict`, in a plain pass and in random ones.

        The plain pass is that of one machine, which sums in one order, and may be right by luck. In each of
        `passes` further passes the rounding error of every single operation is drawn at random (Monte Carlo
        arithmetic). This is an observation, not a proof; `lntheory.network.roundoff` has bounds.

        References
        ----------
        D. S. Parker, "Monte Carlo Arithmetic", UCLA technical report CSD-970002, 1997.
        """
        if net.arithmetic != "float64":
            return False
        dtype = np.float32 if self.name == "float32" else np.float64
        plain = net.winners(net.plain_scores(X, dtype))
        if not ((plain == codes).all() and (net.predict(X) == np.asarray(net.classes)[codes]).all()):
            return False
        rng = np.random.default_rng(0)
        return all((net.winners(self._drawn(net, X, rng)) == codes).all() for _ in range(passes))

    def _drawn(self, net: LNNet, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Scores of a net with layer normalization; every operation is off by a random part of the unit."""

        def off(values: FloatArray) -> FloatArray:
            return values * (1 + self.unit * rng.uniform(-1, 1, values.shape))

        def affine(weight: FloatArray, bias: FloatArray, points: FloatArray) -> FloatArray:
            total = np.zeros((len(points), len(weight)))
            for column, coordinate in zip(weight.T, points.T, strict=True):
                total = off(total + off(coordinate[:, None] * column))
            return off(total + bias)

        with np.errstate(all="ignore"):
            points = off(X)
            for layer in net.layers:
                points = affine(layer.weight, layer.bias, points)
                points = off(points - off(points.mean(axis=1, keepdims=True)))
                points = off(points / off(np.sqrt((points * points).mean(axis=1, keepdims=True))))
            scores = affine(net.readout.weight, net.readout.bias, points)
        return scores[:, 0] if scores.shape[1] == 1 else scores


FLOAT64 = Target.of("float64")
