"""The numbers that a construction computes with: float64, or dyadic numbers of any chosen width.

Both kinds have the same few methods, which work on numpy arrays of float64 or of `flint.arb` (numpy applies
``+ - * /`` and ``np.sqrt`` to either). A construction is a search: its arithmetic need not be rigorous, it
must only be accurate to `unit`. The net that it finds is proved right afterwards, by the certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]

ROUNDING = 2.5
"""Rounding errors of one layer (products and sums of a neuron, centring, scaling) in units of ``|W| u``."""


class Arithmetic(Protocol):
    """The interface of the numbers that a construction computes with."""

    @property
    def unit(self) -> Any:
        """The largest relative error of one rounding, as one of these numbers."""

    def working(self) -> Any:
        """A context manager; all computations with these numbers happen inside it."""

    def array(self, values: ArrayLike) -> Array:
        """Floats (or these numbers) as an array of these numbers, exactly."""

    def rounded(self, values: Array) -> Array:
        """The nearest numbers that a parameter of a net can hold."""

    def upper(self, values: Array) -> Array:
        """Exact numbers that are not below the values, for error bounds; not finite where a value is not."""

    def exported(self, values: Array) -> Array:
        """Rounded numbers as a `Layer` takes them."""


@dataclass(frozen=True)
class Float64:
    """Plain float64."""

    bits: int = 53

    @property
    def unit(self) -> float:
        """Half a unit in the last place of 1."""
        return 2.0**-53

    @contextmanager
    def working(self) -> Iterator[None]:
        """Overflow and division by zero raise nothing inside; such a candidate is never chosen."""
        with np.errstate(all="ignore"):
            yield

    def array(self, values: ArrayLike) -> Array:
        """`values` in float64."""
        return np.asarray(values, dtype=np.float64)

    def rounded(self, values: Array) -> Array:
        """The values themselves."""
        return values

    def upper(self, values: Array) -> Array:
        """The values themselves."""
        return values

    def exported(self, values: Array) -> Array:
        """The values themselves."""
        return values


@dataclass(frozen=True)
class Dyadic:
    """Dyadic numbers with mantissas of `bits` bits: midpoints of arb balls, whose radii are dropped.

    Examples
    --------
    >>> wide = Dyadic(128)
    >>> with wide.working():
    ...     third = wide.rounded(wide.array([1.0]) / 3)
    >>> abs(wide.exported(third)[0] - Fraction(1, 3)) < Fraction(1, 2**128)
    True
    """

    bits: int

    @property
    def unit(self) -> flint.arb:
        """A whole unit in the last place of 1, since arb rounds towards zero."""
        return flint.arb(2) ** (1 - self.bits)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Sets flint's precision to `bits` inside; overflow and division by zero of floats raise nothing."""
        with flint.ctx.workprec(self.bits), np.errstate(all="ignore"):
            yield

    def array(self, values: ArrayLike) -> Array:
        """`values` as an object array of arb."""
        return _mapped(lambda v: v if isinstance(v, flint.arb) else flint.arb(float(v)), np.asarray(values))

    def rounded(self, values: Array) -> Array:
        """The midpoints of the balls, exact numbers of at most `bits` bits."""
        return _mapped(lambda v: v.mid(), values)

    def upper(self, values: Array) -> Array:
        """Upper ends of the balls."""
        return _mapped(lambda v: v.upper(), values)

    def exported(self, values: Array) -> Array:
        """The same numbers as `fractions.Fraction`."""
        return _mapped(_fraction, values)


def _mapped(function: Callable[[Any], Any], values: Array) -> Array:
    result = np.empty(values.size, dtype=object)
    result[:] = [function(value) for value in values.flat]
    return result.reshape(values.shape)


def _fraction(value: flint.arb) -> Fraction:
    mantissa, exponent = (int(part) for part in value.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def floats(values: Array) -> NDArray[np.float64]:
    """An array of either kind of number, rounded to float64."""
    if values.dtype != object:
        return np.asarray(values, dtype=np.float64)
    return np.array([float(value) for value in values.flat], dtype=np.float64).reshape(values.shape)
