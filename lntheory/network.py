r"""The LN-Net: affine layers, each followed by a normalization, then an affine read-out.

::

    x ──► W₁x + b₁ ──► norm ──► W₂· + b₂ ──► norm ── ... ──► norm ──► R· + s ──► scores ──► class
          └──── layers[0] ────┘ └──── layers[1] ───┘                   readout

A net is a frozen value. Its parameters are binary numbers: float64 where every one of them is a float64, else
dyadic rationals (integer times a power of two, held as `fractions.Fraction`). A float64 net is evaluated in
float64; a dyadic net in ball arithmetic, at whatever precision decides the answer: never by silent rounding.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, get_args

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lntheory.base import jsonfile
from lntheory.base.types import FloatArray
from lntheory.base.validation import as_samples
from lntheory.errors import DegenerateInputError, FileFormatError, InvalidInputError, excerpt
from lntheory.normalization import group_layer_norm, layer_norm, rms_norm

__all__ = ["LNNet", "Label", "Layer", "Normalization"]

FORMAT = "lntheory.lnnet"
VERSION = 1

Kind = Literal["layer_norm", "rms_norm", "group_layer_norm"]
Arithmetic = Literal["float64", "dyadic"]
Label = str | int | float | bool

_MOST_BITS = 100_000  # of a dyadic number's mantissa or exponent: a longer one is a mistake or an attack
_DYADIC = re.compile(r"(-?(?:0|[1-9][0-9]*))p(-?(?:0|[1-9][0-9]*))", re.ASCII)


# ---------------------------------------------------------------------------------------------- numbers


def _is_double(value: Fraction) -> bool:
    try:
        return Fraction(float(value)) == value
    except OverflowError:
        return False


def _dyadic(value: Any, where: str) -> Fraction:
    """`value` as the exact rational that it is, refusing what is not integer * 2^exponent."""
    if isinstance(value, (bool, np.bool_, complex, np.complexfloating, str)):
        raise InvalidInputError(f"{where}: {value!r} is not a real number")
    try:
        if isinstance(value, flint.fmpq):
            exact = Fraction(int(value.p), int(value.q))
        elif isinstance(value, (flint.fmpz, np.integer)):
            exact = Fraction(int(value))
        elif isinstance(value, (float, np.floating)):
            exact = Fraction(*value.as_integer_ratio())
        else:
            exact = Fraction(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"{where}: {value!r} is not a finite real number") from None
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > _MOST_BITS:
        raise InvalidInputError(f"{where}: the number needs more than {_MOST_BITS} bits; round it")
    if exact.denominator & (exact.denominator - 1):
        raise InvalidInputError(
            f"{where}: {exact} is not a binary number (its denominator is no power of two); round it to one"
        )
    return exact


def _parameters(values: Any, ndim: int, name: str) -> NDArray[Any]:
    """A read-only float64 array if every entry is exactly a float64, else an object array of Fractions."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
            array = np.array(values, dtype=object)
    except (ValueError, TypeError, OverflowError):
        raise InvalidInputError(
            f"{name}: rows of different lengths; give a {ndim}-dimensional array"
        ) from None
    if array.ndim != ndim or 0 in array.shape:
        raise InvalidInputError(
            f"{name} has shape {array.shape}; expected a non-empty {ndim}-dimensional array"
        )
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            first = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise InvalidInputError(f"{name}{list(first)} is {array[first]}; parameters must be finite")
        result: NDArray[Any] = np.array(array, dtype=np.float64)
    else:
        exact = [_dyadic(value, f"{name}{list(at)}") for at, value in np.ndenumerate(array)]
        result = np.array(exact, dtype=object).reshape(array.shape)
        if all(map(_is_double, exact)):
            result = result.astype(np.float64)
            # Fractions have no signed zero, floats do: keep the bits that were given.
            for at, value in np.ndenumerate(array):
                if isinstance(value, (float, np.floating)):
                    result[at] = value
    result.setflags(write=False)
    return result


def _as_fractions(array: NDArray[Any]) -> NDArray[Any]:
    exact = [value if isinstance(value, Fraction) else Fraction(float(value)) for value in array.flat]
    result: NDArray[Any] = np.array(exact, dtype=object).reshape(array.shape)
    result.setflags(write=False)
    return result


def _encode(value: Any) -> float | str:
    """The JSON form of a parameter: a number where float64 holds it, else ``"<integer>p<exponent>"``."""
    if not isinstance(value, Fraction):
        return float(value)
    if _is_double(value):
        return float(value)
    numerator, exponent = value.numerator, 1 - value.denominator.bit_length()
    if exponent == 0:
        twos = (numerator & -numerator).bit_length() - 1
        numerator, exponent = numerator >> twos, twos
    return f"{flint.fmpz(numerator)}p{exponent}"


def _decode(value: Any, where: str) -> float | Fraction:
    if isinstance(value, str):
        match = _DYADIC.fullmatch(value)
        if match is None:
            raise FileFormatError(f'{where}: {excerpt(value)} is not of the form "<integer>p<exponent>"')
        if len(match[1]) > _MOST_BITS * 0.302 or len(match[2]) > 8 or abs(int(match[2])) > _MOST_BITS:
            raise FileFormatError(f"{where}: {excerpt(value)} needs more than {_MOST_BITS} bits")
        return Fraction(int(flint.fmpz(match[1]))) * Fraction(2) ** int(match[2])
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or value != value
        or abs(value) == math.inf
    ):
        raise FileFormatError(f"{where}: {excerpt(value)} is not a finite float64 number")
    if isinstance(value, int) and not _is_double(Fraction(value)):
        raise FileFormatError(
            f'{where}: the integer {excerpt(value)} is not a float64; write it as the string "<integer>p0"'
        )
    return float(value)


# ------------------------------------------------------------------------------------------------ values


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
        float64 where every parameter is exactly a float64, else objects of type `fractions.Fraction`.
        Two layers are equal if all parameters agree to the bit.

    Raises
    ------
    InvalidInputError
        On NaN, infinities, non-binary fractions or shapes that do not fit.

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
        weight = _parameters(weight, 2, "weight")
        bias = _parameters(bias, 1, "bias")
        if len(bias) != len(weight):
            raise InvalidInputError(
                f"bias has {len(bias)} numbers for the {len(weight)} rows of weight; give one a row"
            )
        if object in (weight.dtype, bias.dtype):
            weight, bias = _as_fractions(weight), _as_fractions(bias)
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
    def arithmetic(self) -> Arithmetic:
        """``"float64"`` or ``"dyadic"``: how the parameters are held."""
        return "dyadic" if self.weight.dtype == object else "float64"

    def to_dict(self) -> dict[str, Any]:
        """The layer as a JSON-able mapping."""
        return {
            "weight": [[_encode(value) for value in row] for row in self.weight],
            "bias": [_encode(value) for value in self.bias],
        }

    @classmethod
    def from_dict(cls, data: Any, where: str = "layer") -> Layer:
        """The layer of a mapping as `to_dict` gives it; `where` names it in error messages."""
        fields = _fields(data, where, {"weight", "bias"}, set())
        rows = _list(fields["weight"], f"{where}.weight")
        weight = [[_decode(v, f"{where}.weight[{i}][{j}]") for j, v in enumerate(row)]
                  for i, row in _rows(rows, f"{where}.weight")]  # fmt: skip
        given = _list(fields["bias"], f"{where}.bias")
        if len(given) != len(weight):
            raise FileFormatError(f"{where}.bias: has {len(given)} numbers, expected {len(weight)}")
        bias = [_decode(v, f"{where}.bias[{i}]") for i, v in enumerate(given)]
        return cls(_array(weight), _array(bias))

    def _promoted(self) -> Layer:
        """The same map with its parameters held as Fractions."""
        twin = object.__new__(Layer)
        object.__setattr__(twin, "weight", _as_fractions(self.weight))
        object.__setattr__(twin, "bias", _as_fractions(self.bias))
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
        Divide by ``sqrt(variance + eps)``, as deep-learning frameworks do. At 0 a zero variance is an error.

    Examples
    --------
    >>> Normalization("group_layer_norm", num_groups=2)
    Normalization(kind='group_layer_norm', num_groups=2, eps=0.0)
    """

    kind: Kind = "layer_norm"
    num_groups: int | None = None
    eps: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InvalidInputError(
                f"normalization kind {excerpt(self.kind)}; choose one of {', '.join(get_args(Kind))}"
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
        """The normalization of a mapping as `to_dict` gives it."""
        fields = _fields(data, where, {"kind"}, {"num_groups", "eps"})
        try:
            return cls(fields["kind"], fields.get("num_groups"), fields.get("eps", 0.0))
        except (InvalidInputError, TypeError) as error:
            raise FileFormatError(f"{where}: {error}") from None


_LAYER_NORM = Normalization()


@dataclass(frozen=True, eq=False, init=False)
class LNNet:
    """A layer-normalized network: an immutable value.

    Parameters
    ----------
    layers : sequence of Layer
        Layer k computes ``norm(weight @ x + bias)``. May be empty (a linear classifier).
    readout : Layer
        One row, hence one score, a class: the class of the largest score is predicted, the first of equal
        ones. Two classes may use a single row: positive means the second class, zero or less the first.
        One class uses one row.
    classes : sequence of str, int, float or bool
        The class labels in the order of the read-out's rows, distinct.
    normalization : Normalization
    provenance : mapping, optional
        Where the net comes from, anything JSON can hold. Carried, never needed, no part of equality or hash.

    Attributes
    ----------
    depth : int
        Number of normalization layers.
    width : int
        Neurons in the largest normalized layer (0 at depth 0).
    n_features, n_parameters : int
    arithmetic : {"float64", "dyadic"}
    sha256 : str
        SHA-256 of the canonical JSON of `to_dict` without provenance. Nets are equal if these are.

    Raises
    ------
    InvalidInputError
        If shapes do not chain, classes repeat, or a layer has a width that cannot be normalized.

    Notes
    -----
    File format (``save``, ``load``): one JSON object, ::

        {"format": "lntheory.lnnet", "version": 1,
         "normalization": {"kind": "layer_norm"},     or "rms_norm", or "group_layer_norm" with "num_groups";
                                                      optional "eps", default 0
         "layers": [{"weight": [[...], ...], "bias": [...]}, ...],
         "readout": {"weight": [[...], ...], "bias": [...]},
         "classes": [...],
         "provenance": {...}}                         optional

    Every parameter that is a float64 is a JSON number in shortest round-trip form; any other is a string
    ``"<integer>p<exponent>"`` meaning integer * 2^exponent. An integer token that is no float64 is refused.

    References
    ----------
    Ni, Guo, Jia, Huang, ICML 2024 (arXiv 2406.01255), section 3 (LN-Nets).

    Examples
    --------
    >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
    >>> net.predict([[-2.0], [3.0]]).tolist()
    ['low', 'high']
    >>> net.depth, net.width, net.n_features, net.n_parameters, net.arithmetic
    (1, 3, 1, 10, 'float64')
    """

    layers: tuple[Layer, ...]
    readout: Layer
    classes: tuple[Label, ...]
    normalization: Normalization
    provenance: Mapping[str, Any] | None

    def __init__(
        self,
        layers: Iterable[Layer],
        readout: Layer,
        classes: Iterable[Any],
        normalization: Normalization = _LAYER_NORM,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        layers = tuple(layers)
        if not isinstance(normalization, Normalization):
            raise InvalidInputError(f"normalization is {excerpt(normalization)}, expected a Normalization")
        for k, layer in enumerate(layers):
            if not isinstance(layer, Layer):
                raise InvalidInputError(f"layers[{k}] is a {type(layer).__name__}, expected a Layer")
            normalization.check_width(layer.n_out, f"layers[{k}]")
        if not isinstance(readout, Layer):
            raise InvalidInputError(f"readout is a {type(readout).__name__}, expected a Layer")
        names = [*(f"layers[{k}]" for k in range(len(layers))), "readout"]
        chain = [*layers, readout]
        for k in range(1, len(chain)):
            if chain[k].n_in != chain[k - 1].n_out:
                raise InvalidInputError(
                    f"{names[k]}.weight has {chain[k].n_in} columns, expected {chain[k - 1].n_out}, "
                    f"the outputs of {names[k - 1]}"
                )
        labels = _classes(classes)
        rows = readout.n_out
        if rows != len(labels) and not (rows == 1 and len(labels) == 2):
            raise InvalidInputError(
                f"readout has {rows} rows for {len(labels)} classes; give one row a class "
                "(two classes may use one)"
            )
        if any(layer.arithmetic == "dyadic" for layer in chain):
            chain = [layer._promoted() for layer in chain]
        object.__setattr__(self, "layers", tuple(chain[:-1]))
        object.__setattr__(self, "readout", chain[-1])
        object.__setattr__(self, "classes", labels)
        object.__setattr__(self, "normalization", normalization)
        if provenance is not None and not isinstance(provenance, Mapping):
            raise InvalidInputError("provenance must be a mapping or None")
        object.__setattr__(
            self, "provenance", None if provenance is None else _frozen(provenance, "provenance")
        )

    # -- what the net is

    @property
    def depth(self) -> int:
        """Number of normalization layers."""
        return len(self.layers)

    @property
    def width(self) -> int:
        """Neurons in the largest normalized layer; 0 if there is none."""
        return max((layer.n_out for layer in self.layers), default=0)

    @property
    def n_features(self) -> int:
        """Number of features of a sample."""
        return (self.layers[0] if self.layers else self.readout).n_in

    @property
    def n_parameters(self) -> int:
        """Number of weights and biases, the read-out's included."""
        return sum(layer.weight.size + layer.bias.size for layer in (*self.layers, self.readout))

    @property
    def arithmetic(self) -> Arithmetic:
        """``"float64"`` if every parameter is one, else ``"dyadic"``."""
        return self.readout.arithmetic

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the net's canonical JSON without provenance."""
        data = self.to_dict()
        data.pop("provenance", None)
        return hashlib.sha256(jsonfile.canonical(data).encode("ascii")).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.sha256 == other.sha256 if isinstance(other, LNNet) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return (
            f"LNNet(depth={self.depth}, width={self.width}, n_features={self.n_features}, "
            f"n_classes={len(self.classes)}, normalization={self.normalization.kind!r}, "
            f"arithmetic={self.arithmetic!r})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        provenance = None if self.provenance is None else _thawed(self.provenance)
        return LNNet, (self.layers, self.readout, self.classes, self.normalization, provenance)

    # -- what it computes

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Read-out scores.

        Parameters
        ----------
        X : array_like, shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes), or (n_samples,) for a one-row read-out
            Of a dyadic net: the true scores, correctly rounded up to one unit in the last place.

        Raises
        ------
        InvalidInputError
            If X has the wrong shape or is not finite.
        DegenerateInputError
            If a layer meets zero variance; names layer and sample.
        UndecidedError
            If ball arithmetic (dyadic nets) cannot decide within its precision limit.

        Examples
        --------
        >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
        >>> net.decision_function([[-2.0], [3.0]]).round(3).tolist()
        [-1.604, 2.405]
        """
        samples = samples_of(X, self.n_features)
        if self.arithmetic == "dyadic":
            from lntheory.exact import balls

            scores: FloatArray = balls.rounded_scores(self, samples)
        else:
            *_, points = samples, *self._forward(samples)
            scores = _affine(self.readout, points, "readout")
        return scores[:, 0] if self.readout.n_out == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predicted class of every sample, shape (n_samples,); raises as `decision_function` does.

        Examples
        --------
        >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
        >>> net.predict([[-2.0], [3.0]]).tolist()
        ['low', 'high']
        """
        if self.arithmetic == "dyadic":
            from lntheory.exact import balls

            winners: NDArray[np.intp] = balls.decided_classes(self, samples_of(X, self.n_features))
        else:
            winners = self.winners(self.decision_function(X))
        labels: NDArray[Any] = _label_array(self.classes)[winners]
        return labels

    def trace(self, X: ArrayLike, *, progress: Callable[[int, int], None] | None = None) -> list[FloatArray]:
        """The points after every layer, in float64.

        Parameters
        ----------
        X : array_like, shape (n_samples, n_features)
        progress : callable (done, total), optional
            Called after every layer; from the start again where ball arithmetic needs more precision.

        Returns
        -------
        list of ndarray, shape (n_samples, layer width) each
            One array a layer. Of a dyadic net: the true points, off by at most 8 2**-53 times the sample's
            largest coordinate, as `layer_norm` is.

        Raises
        ------
        InvalidInputError, DegenerateInputError, UndecidedError
            As `decision_function` does.

        Examples
        --------
        >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
        >>> net.trace([[0.0], [1.0]])[0].round(3).tolist()
        [[-0.707, -0.707, 1.414], [0.707, -1.414, 0.707]]
        """
        samples = samples_of(X, self.n_features)
        if self.arithmetic == "dyadic":
            from lntheory.exact import balls

            return balls.rounded_trace(self, samples, progress)
        layers = []
        for points in self._forward(samples):
            layers.append(points)
            if progress is not None:
                progress(len(layers), self.depth)
        return layers

    def winners(self, scores: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
        """Index into `classes` of the class that wins by these scores (as `decision_function` gives them)."""
        if self.readout.n_out > 1:
            return np.asarray(np.argmax(scores, axis=-1), dtype=np.intp)
        return np.asarray(scores > 0 if len(self.classes) == 2 else np.zeros(len(scores)), dtype=np.intp)

    def plain_scores(
        self, X: ArrayLike, dtype: type[np.float32] | type[np.float64] = np.float64
    ) -> NDArray[np.floating[Any]]:
        """The scores that a plain forward pass of this dtype gives: affine map, mean, standard deviation.

        Nothing is guarded: overflow and zero variance show up as NaN or infinity. `decision_function` is the
        careful one; this one answers whether an ordinary framework would agree with it.

        Examples
        --------
        >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
        >>> net.plain_scores([[3.0]], np.float32).dtype
        dtype('float32')
        """
        samples = samples_of(X, self.n_features)
        if self.arithmetic == "dyadic":
            raise InvalidInputError(
                "a dyadic net has no plain forward pass: its parameters are wider than float64"
            )
        with np.errstate(all="ignore"):
            points: NDArray[Any] = samples.astype(dtype)
            for layer in self.layers:
                points = points @ layer.weight.T.astype(dtype) + layer.bias.astype(dtype)
                groups = points.reshape(len(points), self.normalization.num_groups or 1, -1)
                if self.normalization.kind != "rms_norm":
                    groups = groups - groups.mean(axis=-1, keepdims=True)
                variance = (groups * groups).mean(axis=-1, keepdims=True)
                points = (groups / np.sqrt(variance + dtype(self.normalization.eps))).reshape(points.shape)
            scores: NDArray[Any] = points @ self.readout.weight.T.astype(dtype) + self.readout.bias.astype(
                dtype
            )
        return scores[:, 0] if self.readout.n_out == 1 else scores

    def _forward(self, points: FloatArray) -> Iterator[FloatArray]:
        for k, layer in enumerate(self.layers):
            points = _affine(layer, points, f"layers[{k}]")
            try:
                points = _normalize(points, self.normalization)
            except DegenerateInputError:
                sample = _first_degenerate(points, self.normalization)
                raise DegenerateInputError(
                    f"layers[{k}]: sample {sample} has zero variance, where {self.normalization.kind} "
                    "is undefined; move the layer's bias or use eps > 0"
                ) from None
            yield points

    # -- files

    def to_dict(self) -> dict[str, Any]:
        """The net as a JSON-able mapping, in the file format."""
        result: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "normalization": self.normalization.to_dict(),
            "layers": [layer.to_dict() for layer in self.layers],
            "readout": self.readout.to_dict(),
            "classes": list(self.classes),
        }
        if self.provenance is not None:
            result["provenance"] = _thawed(self.provenance)
        return result

    @classmethod
    def from_dict(cls, data: Any) -> LNNet:
        """The net of a mapping in the file format; `FileFormatError` names the field at fault."""
        required = {"format", "version", "normalization", "layers", "readout", "classes"}
        kind = data.get("format") if isinstance(data, dict) else None
        if kind != FORMAT:
            raise FileFormatError(f'format: {excerpt(kind)}, expected "{FORMAT}"; this is no LN-Net')
        if isinstance(data.get("version"), bool) or data.get("version") != VERSION:
            raise FileFormatError(
                f"version: {excerpt(data.get('version'))}, this library reads version {VERSION}"
            )
        fields = _fields(data, "", required, {"provenance"})
        layers = _list(fields["layers"], "layers")
        classes = _list(fields["classes"], "classes")
        try:
            return cls(
                tuple(Layer.from_dict(layer, f"layers[{k}]") for k, layer in enumerate(layers)),
                Layer.from_dict(fields["readout"], "readout"),
                tuple(classes),
                Normalization.from_dict(fields["normalization"]),
                fields.get("provenance"),
            )
        except FileFormatError:
            raise
        except InvalidInputError as error:
            raise FileFormatError(str(error)) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the net to a JSON file, one layer a line; the file appears whole or not at all.

        Examples
        --------
        >>> import tempfile
        >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     net.save(os.path.join(folder, "net.json"))
        ...     LNNet.load(os.path.join(folder, "net.json")) == net
        True
        """
        data = self.to_dict()
        layers = ",\n".join(json.dumps(layer, allow_nan=False) for layer in data.pop("layers"))
        fields = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in data.items()]
        fields.insert(3, f'"layers": [\n{layers}\n]' if layers else '"layers": []')
        jsonfile.write(path, "{" + ",\n".join(fields) + "}\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LNNet:
        """Read a net from a JSON file.

        Raises
        ------
        FileFormatError
            If the file is no valid net; the message names file and field.
        """
        data = jsonfile.read(path)
        try:
            return cls.from_dict(data)
        except FileFormatError as error:
            raise FileFormatError(f"{path}: {error}") from None


# ----------------------------------------------------------------------------------------------- float64


def samples_of(X: ArrayLike, n_features: int | None = None) -> FloatArray:
    """`X` as a finite float64 array of shape (n_samples, n_features), or `InvalidInputError`."""
    samples = as_samples(X)
    if n_features is not None and samples.shape[1] != n_features:
        raise InvalidInputError(f"X has {samples.shape[1]} features a sample, the net takes {n_features}")
    given = np.asarray(X)
    if given.dtype.kind in "iu" and (samples.astype(given.dtype) != given).any():
        raise InvalidInputError("X holds integers that no float64 equals; scale the data")
    return samples


def _affine(layer: Layer, points: FloatArray, where: str) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):
        result: FloatArray = points @ layer.weight.T + layer.bias
    if not np.isfinite(result).all():
        sample = int(np.argwhere(~np.isfinite(result))[0][0])
        raise InvalidInputError(f"{where}: sample {sample} overflows float64; scale the layer down")
    return result


def _normalize(points: FloatArray, norm: Normalization) -> FloatArray:
    if norm.kind == "rms_norm":
        return rms_norm(points, eps=norm.eps)
    if norm.kind == "layer_norm":
        return layer_norm(points, eps=norm.eps)
    return group_layer_norm(points, num_groups=norm.num_groups, eps=norm.eps)


def _first_degenerate(points: FloatArray, norm: Normalization) -> int:
    for i in range(len(points)):
        try:
            _normalize(points[i : i + 1], norm)
        except DegenerateInputError:
            return i
    raise AssertionError("no sample is degenerate by itself")


# ------------------------------------------------------------------------------------- labels and fields


def as_label(value: Any, where: str) -> Label:
    """A class label as a Python scalar that JSON can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (str, int, float)):
        raise InvalidInputError(f"{where}: {excerpt(value)} is no label; use a str, int, float or bool")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"{where}: {value} cannot be a label; use a finite number or a string")
    return value


def _classes(values: Iterable[Any]) -> tuple[Label, ...]:
    if isinstance(values, str):
        raise InvalidInputError("classes is one string; give a sequence of labels")
    classes = tuple(as_label(value, f"classes[{k}]") for k, value in enumerate(values))
    if not classes:
        raise InvalidInputError("classes is empty; a net has at least one class")
    seen: dict[Label, int] = {}
    for k, label in enumerate(classes):
        if label in seen:
            raise InvalidInputError(
                f"classes[{k}] = {label!r} equals classes[{seen[label]}]; labels are distinct"
            )
        seen[label] = k
    return classes


def _label_array(classes: tuple[Label, ...]) -> NDArray[Any]:
    """The classes as an array of their own type; of objects where numpy would convert or cut them."""
    kinds = {type(label) for label in classes}
    if kinds == {str} and not any(str(label).endswith("\0") for label in classes):
        return np.array(classes)
    if kinds == {int} and all(abs(int(label)) < 2**63 for label in classes):
        return np.array(classes, dtype=np.int64)
    if kinds in ({float}, {bool}):
        return np.array(classes)
    result = np.empty(len(classes), dtype=object)
    result[:] = classes
    return result


def _array(values: list[Any]) -> NDArray[Any]:
    """Decoded numbers as an array without numpy looking into Fractions."""
    flat = values if not isinstance(values[0], list) else [value for row in values for value in row]
    if all(isinstance(value, float) for value in flat):
        return np.array(values, dtype=np.float64)
    return np.array(values, dtype=object)


def _fields(data: Any, where: str, required: set[str], optional: set[str]) -> dict[str, Any]:
    prefix = f"{where}: " if where else ""
    if not isinstance(data, dict):
        raise FileFormatError(f"{prefix}{excerpt(data)} is not an object with {', '.join(sorted(required))}")
    for missing in sorted(required - data.keys()):
        raise FileFormatError(f"{prefix}field {missing!r} is missing")
    for unknown in sorted(data.keys() - required - optional, key=str):
        raise FileFormatError(f"{prefix}unknown field {excerpt(unknown)}; is the file of a newer version?")
    return data


def _list(data: Any, where: str) -> list[Any]:
    if not isinstance(data, (list, tuple)):
        raise FileFormatError(f"{where}: {excerpt(data)} is not a list")
    return list(data)


def _rows(rows: list[Any], where: str) -> Iterator[tuple[int, list[Any]]]:
    """The rows of a matrix, all as long as the first and not empty."""
    if not rows:
        raise FileFormatError(f"{where}: has no rows")
    for i, row in enumerate(rows):
        numbers = _list(row, f"{where}[{i}]")
        expected = len(rows[0])
        if len(numbers) != expected or not numbers:
            raise FileFormatError(
                f"{where}[{i}]: row has {len(numbers)} numbers, expected {expected or 'some'}"
            )
        yield i, numbers


def _frozen(value: Any, where: str) -> Any:
    """A deeply immutable copy of a JSON-able value."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InvalidInputError(f"{where}: key {key!r} is no string; JSON needs strings")
        return MappingProxyType({key: _frozen(item, f"{where}.{key}") for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item, f"{where}[{k}]") for k, item in enumerate(value))
    if value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise InvalidInputError(f"{where}: {excerpt(value)} cannot be written as JSON")


def _thawed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _thawed(item) for key, item in value.items()}
    return [_thawed(item) for item in value] if isinstance(value, tuple) else value
