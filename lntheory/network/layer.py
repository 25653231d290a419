"""A layer of a net, and the normalization that follows it, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lntheory.base import jsonfile
from lntheory.base.fields import require_fields
from lntheory.base.types import NormalizationKind
from lntheory.errors import FileFormatError, InvalidInputError, excerpt
from lntheory.network.numbers import (
    as_fractions,
    as_list,
    as_parameters,
    as_rows_of_numbers,
    decode,
    decoded_array,
    encode,
)

ArithmeticName = Literal["float64", "dyadic"]


@dataclass(frozen=True, eq=False, init=False)
class Layer:
    """An affine map ``x -> weight @ x + bias``.

    Parameters
    ----------
    weight : array_like, shape (n_out, n_in)
        Finite floats, integers or fractions whose denominators are powers of two.
    bias : array_like, shape (n_out,)

    Attributes
    ----------
    weight, bias : read-only ndarray
        float64 if every parameter of the layer is exactly a float64, else of objects of type
        `fractions.Fraction`. Two layers are equal if all their parameters agree to the bit.

    Raises
    ------
    InvalidInputError
        If a parameter is NaN, infinite or not a binary fraction, or if the shapes do not fit.

    Examples
    --------
    >>> Layer([[1, 2], [3, 4]], [0, 0.5])
    Layer(n_in=2, n_out=2, arithmetic='float64')
    >>> from fractions import Fraction
    >>> Layer([[1, Fraction(1, 2**2000)]], [0]).arithmetic
    'dyadic'
    """

    weight: NDArray[Any]
    bias: NDArray[Any]

    def __init__(self, weight: Any, bias: Any) -> None:
        weight = as_parameters(weight, 2, "weight")
        bias = as_parameters(bias, 1, "bias")
        if len(bias) != len(weight):
            raise InvalidInputError(
                f"bias has {len(bias)} numbers for the {len(weight)} rows of weight; give one a row"
            )
        if object in (weight.dtype, bias.dtype):
            weight, bias = as_fractions(weight), as_fractions(bias)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "bias", bias)

    @property
    def n_in(self) -> int:
        """Number of inputs."""
        return int(self.weight.shape[1])

    @property
    def n_out(self) -> int:
        """Number of outputs."""
        return int(self.weight.shape[0])

    @property
    def arithmetic(self) -> ArithmeticName:
        """``"float64"`` or ``"dyadic"``: how the parameters are held."""
        return "dyadic" if self.weight.dtype == object else "float64"

    def to_dict(self) -> dict[str, Any]:
        """The layer as a JSON-able mapping."""
        return {
            "weight": [[encode(value) for value in row] for row in self.weight],
            "bias": [encode(value) for value in self.bias],
        }

    @classmethod
    def from_dict(cls, data: Any, where: str = "layer") -> Layer:
        """The layer of a mapping as `to_dict` gives it; `where` names the layer in error messages.

        Raises
        ------
        FileFormatError
            If a field is missing or unknown, or holds no matrix or vector of numbers.
        """
        fields = require_fields(data, where, {"weight", "bias"}, set())
        rows = as_list(fields["weight"], f"{where}.weight")
        weight = [[decode(v, f"{where}.weight[{i}][{j}]") for j, v in enumerate(row)]
                  for i, row in as_rows_of_numbers(rows, f"{where}.weight")]  # fmt: skip
        given = as_list(fields["bias"], f"{where}.bias")
        if len(given) != len(weight):
            raise FileFormatError(f"{where}.bias: has {len(given)} numbers, expected {len(weight)}")
        bias = [decode(v, f"{where}.bias[{i}]") for i, v in enumerate(given)]
        return cls(decoded_array(weight), decoded_array(bias))

    def as_dyadic_layer(self) -> Layer:
        """The same map with its parameters held as Fractions."""
        twin = object.__new__(Layer)
        object.__setattr__(twin, "weight", as_fractions(self.weight))
        object.__setattr__(twin, "bias", as_fractions(self.bias))
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layer):
            return NotImplemented
        return jsonfile.canonical(self.to_dict()) == jsonfile.canonical(other.to_dict())

    def __hash__(self) -> int:
        return hash(jsonfile.canonical(self.to_dict()))

    def __repr__(self) -> str:
        return f"Layer(n_in={self.n_in}, n_out={self.n_out}, arithmetic={self.arithmetic!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Layer, (np.array(self.weight), np.array(self.bias))


@dataclass(frozen=True)
class Normalization:
    """Which normalization follows every affine layer.

    Parameters
    ----------
    kind : {"layer_norm", "rms_norm", "group_layer_norm"}
    num_groups : int, optional
        Number of groups of ``"group_layer_norm"``; None for the other kinds.
    eps : float, default 0
        The divisor is ``sqrt(variance + eps)``, as in deep-learning frameworks. If eps is 0, a zero variance
        is an error.

    Raises
    ------
    InvalidInputError
        If the kind is unknown, `num_groups` does not suit it, or `eps` is negative or not finite.

    Examples
    --------
    >>> Normalization("group_layer_norm", num_groups=2)
    Normalization(kind='group_layer_norm', num_groups=2, eps=0.0)
    """

    kind: NormalizationKind = "layer_norm"
    num_groups: int | None = None
    eps: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(NormalizationKind):
            raise InvalidInputError(
                f"normalization kind {excerpt(self.kind)}; choose one of "
                f"{', '.join(get_args(NormalizationKind))}"
            )
        groups: Any = self.num_groups
        if self.kind != "group_layer_norm":
            if groups is not None:
                raise InvalidInputError(
                    f"num_groups={excerpt(groups)} is only for group_layer_norm; leave it out"
                )
        elif isinstance(groups, bool) or not isinstance(groups, (int, np.integer)) or groups < 1:
            raise InvalidInputError(
                f"num_groups={excerpt(groups)}; group_layer_norm needs a positive integer"
            )
        else:
            object.__setattr__(self, "num_groups", int(groups))
        eps: Any = self.eps
        if isinstance(eps, bool) or not isinstance(eps, (int, float, np.floating)):
            raise InvalidInputError(f"eps={excerpt(eps)} is not a number")
        if not 0 <= eps < 2.0**1023:
            raise InvalidInputError(f"eps={excerpt(eps)}; it must be finite and not negative")
        object.__setattr__(self, "eps", float(eps) + 0.0)

    def check_width(self, width: int, where: str) -> None:
        """Raise `InvalidInputError` if `width` neurons cannot be normalized this way."""
        groups = self.num_groups or 1
        if width % groups:
            raise InvalidInputError(f"{where}: {width} neurons do not divide into num_groups={groups}")
        if self.kind != "rms_norm" and width == groups and self.eps == 0:
            raise InvalidInputError(
                f"{where}: {self.kind} of a single neuron is 0/0; use at least two a group"
            )

    def to_dict(self) -> dict[str, Any]:
        """The normalization as a JSON-able mapping (defaults left out)."""
        result: dict[str, Any] = {"kind": self.kind}
        if self.num_groups is not None:
            result["num_groups"] = self.num_groups
        if self.eps:
            result["eps"] = self.eps
        return result

    @classmethod
    def from_dict(cls, data: Any, where: str = "normalization") -> Normalization:
        """The normalization of a mapping as `to_dict` gives it; `FileFormatError` names `where`."""
        fields = require_fields(data, where, {"kind"}, {"num_groups", "eps"})
        try:
            return cls(fields["kind"], fields.get("num_groups"), fields.get("eps", 0.0))
        except (InvalidInputError, TypeError) as error:
            raise FileFormatError(f"{where}: {error}") from None
