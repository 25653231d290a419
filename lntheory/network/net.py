r"""The LN-Net: affine layers, each followed by a normalization, then an affine read-out.

::

    x ──► W₁x + b₁ ──► norm ──► W₂· + b₂ ──► norm ── ... ──► norm ──► R· + s ──► scores ──► class
          └──── layers[0] ────┘ └──── layers[1] ───┘                   readout

A net is a frozen value. Its parameters are binary numbers: float64 where every one of them is a float64, else
dyadic rationals (integer times a power of two, held as `fractions.Fraction`). A float64 net is evaluated in
float64. A dyadic net is evaluated in ball arithmetic, at whatever precision decides the answer, and its
parameters are never rounded silently.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lntheory.base import jsonfile
from lntheory.base.fields import require_fields
from lntheory.base.types import FloatArray
from lntheory.base.validation import as_exact_samples
from lntheory.errors import DegenerateInputError, FileFormatError, InvalidInputError, excerpt
from lntheory.network import enclosure
from lntheory.network.labels import as_classes, label_array
from lntheory.network.layer import Layer, Normalization
from lntheory.network.numbers import as_list
from lntheory.normalization import group_layer_norm, layer_norm, rms_norm

__all__ = ["LNNet", "Label", "Layer", "Normalization"]

FORMAT = "lntheory.lnnet"
VERSION = 1

ArithmeticName = Literal["float64", "dyadic"]
Label = str | int | float | bool


# ------------------------------------------------------------------------------------------------ values


_LAYER_NORM = Normalization()


@dataclass(frozen=True, eq=False, init=False)
class LNNet:
    """A layer-normalized network: an immutable value.

    Parameters
    ----------
    layers : sequence of Layer
        Layer k computes ``norm(weight @ x + bias)``. The sequence may be empty (a linear classifier).
    readout : Layer
        One row, hence one score, for each class. The class with the largest score is predicted, the first of
        them if scores are equal. Two classes may share a single row: a positive score means the second class,
        zero or less the first. A single class has one row.
    classes : sequence of str, int, float or bool
        The distinct class labels, in the order of the read-out's rows.
    normalization : Normalization
        The normalization that follows every layer; LN without epsilon by default.
    provenance : mapping, optional
        Where the net comes from, in values that JSON can hold. It is saved with the net and has no influence
        on predictions, equality or hash.

    Attributes
    ----------
    depth : int
        Number of normalization layers.
    width : int
        Neurons in the largest normalized layer (0 at depth 0).
    n_features, n_parameters : int
    arithmetic : {"float64", "dyadic"}
    sha256 : str
        SHA-256 of the canonical JSON of `to_dict` without provenance. Nets are equal if their hashes are.

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
        labels = as_classes(classes)
        rows = readout.n_out
        if rows != len(labels) and not (rows == 1 and len(labels) == 2):
            raise InvalidInputError(
                f"readout has {rows} rows for {len(labels)} classes; give one row a class "
                "(two classes may use one)"
            )
        if any(layer.arithmetic == "dyadic" for layer in chain):
            chain = [layer.as_dyadic_layer() for layer in chain]
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
    def arithmetic(self) -> ArithmeticName:
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
            The scores of a dyadic net differ from the true ones by less than one unit in the last place.

        Raises
        ------
        InvalidInputError
            If X has the wrong shape or is not finite.
        DegenerateInputError
            If a layer meets zero variance; the message names the layer and the sample.
        UndecidedError
            If ball arithmetic (dyadic nets) cannot decide within its precision limit.

        Examples
        --------
        >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
        >>> net.decision_function([[-2.0], [3.0]]).round(3).tolist()
        [-1.604, 2.405]
        """
        samples = as_exact_samples(X, self.n_features)
        if self.arithmetic == "dyadic":
            scores: FloatArray = enclosure.rounded_scores(self, samples)
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
            winners: NDArray[np.intp] = enclosure.decided_classes(self, as_exact_samples(X, self.n_features))
        else:
            winners = self.winners(self.decision_function(X))
        labels: NDArray[Any] = label_array(self.classes)[winners]
        return labels

    def trace(self, X: ArrayLike, *, progress: Callable[[int, int], None] | None = None) -> list[FloatArray]:
        """The points after every layer, in float64.

        Parameters
        ----------
        X : array_like, shape (n_samples, n_features)
        progress : callable (done, total), optional
            Called after every layer; the count starts again where ball arithmetic needs more precision.

        Returns
        -------
        list of ndarray, shape (n_samples, layer width) each
            One array for each layer. A point of a dyadic net differs from the true one by at most 8 * 2**-53
            times its largest coordinate, the accuracy of `layer_norm`.

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
        samples = as_exact_samples(X, self.n_features)
        if self.arithmetic == "dyadic":
            return enclosure.rounded_trace(self, samples, progress)
        layers = []
        for points in self._forward(samples):
            layers.append(points)
            if progress is not None:
                progress(len(layers), self.depth)
        return layers

    def winners(self, scores: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
        """Index into `classes` of each sample's predicted class, shape (n_samples,).

        `scores` has the shape that `decision_function` gives.
        """
        if self.readout.n_out > 1:
            return np.asarray(np.argmax(scores, axis=-1), dtype=np.intp)
        return np.asarray(scores > 0 if len(self.classes) == 2 else np.zeros(len(scores)), dtype=np.intp)

    def plain_scores(
        self, X: ArrayLike, dtype: type[np.float32] | type[np.float64] = np.float64
    ) -> NDArray[np.floating[Any]]:
        """The scores of a plain forward pass in this dtype: affine map, mean, standard deviation.

        Nothing is guarded: overflow and zero variance show up as NaN or infinity. `decision_function` guards
        against both; this method shows whether an ordinary framework would agree with it. The shape is that
        of `decision_function`.

        Raises
        ------
        InvalidInputError
            If the net is dyadic, or X has the wrong shape or is not finite.

        Examples
        --------
        >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
        >>> net.plain_scores([[3.0]], np.float32).dtype
        dtype('float32')
        """
        samples = as_exact_samples(X, self.n_features)
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
        fields = require_fields(data, "", required, {"provenance"})
        layers = as_list(fields["layers"], "layers")
        classes = as_list(fields["classes"], "classes")
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
