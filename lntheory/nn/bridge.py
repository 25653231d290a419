"""LN-Nets as torch modules, and back; every claim about a module is proved.

```
LNNet ──── to_torch ────► LNSequential(Linear, LayerNorm, ..., Linear)      scores, argmax = class
  ▲                          │
  └──────── from_torch ──────┘       exact: no parameter is rounded
```

*What is proved.* With samples and labels, `to_torch` returns a module only if

1. the net that the module holds (parameters rounded to its dtype, its eps, its scale) gives every sample its
   label in real arithmetic: `lntheory.exact.certify` on ``from_torch(module)``;
2. every margin exceeds what rounding can do to it in any order of evaluation: `lntheory.network.roundoff`.

*Epsilon.* Frameworks divide by sqrt(variance + eps), by default with eps = 1e-5, which changes the labels of
a net whose variances are small. Without eps, LN is invariant under scaling: LN(c h) = LN(h). So every layer's
map is multiplied by the smallest power of two (exact in binary) for which the proof succeeds with eps.

*Back.* Consecutive affine maps, the weight and bias of a norm among them, are multiplied out in rational
arithmetic. If float64 does not hold the product, the net is dyadic: it is exact, and ball arithmetic predicts
and certifies it without rounding its parameters.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from flint import fmpq, fmpq_mat
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from lntheory.base.files import replaced_file
from lntheory.base.types import FloatArray, Progress
from lntheory.base.validation import as_eps, as_exact_samples, encode_labels
from lntheory.errors import (
    DegenerateInputError,
    InvalidInputError,
    LNTheoryError,
    RefutedError,
    UndecidedError,
    excerpt,
)
from lntheory.exact import Certificate, certify
from lntheory.network import Label, Layer, LNNet, Normalization
from lntheory.network.labels import label_array
from lntheory.network.roundoff import DTypeName, score_error
from lntheory.nn.norms import GroupLayerNorm, InstanceNorm, Norm

__all__ = ["LNSequential", "export_program", "from_torch", "to_torch"]


_DTYPES: dict[torch.dtype, DTypeName] = {torch.float64: "float64", torch.float32: "float32"}
_UNIT_BITS = {"float64": 53, "float32": 24}
_SCALES = 64  # powers of two to try; at the last one, eps is below 2**-128 of the smallest variance


class LNSequential(nn.Sequential):
    """An ``nn.Sequential`` with its classes, and with what was proved about it.

    ``module(x)`` gives the scores, shape (n_samples, n_rows), one row for each class (or one row for two
    classes: a positive score means the second). `to_torch` makes it; it trains, moves and saves like any
    ``nn.Sequential``.

    Attributes
    ----------
    classes : tuple
        The labels in the order of the scores.
    normalization : Normalization
        Kind and eps of the module's norms.
    certificate : Certificate or None
        The certificate of ``from_torch(module)`` when the module was made. If the weights may have changed
        since, check it with `lntheory.exact.verify` on ``from_torch(module)``.
    score_error : float or None
        On the samples of the certificate, no evaluation in the module's dtype gives a score farther than this
        from the true one.
    exponent : int
        The affine maps before the norms are 2**exponent times those of the net.
    """

    classes: tuple[Label, ...]
    normalization: Normalization
    certificate: Certificate | None
    score_error: float | None
    exponent: int

    def __init__(
        self,
        *modules: Any,
        classes: Iterable[Label] = (),
        normalization: Normalization = Normalization(),  # noqa: B008 (frozen)
        certificate: Certificate | None = None,
        score_error: float | None = None,
        exponent: int = 0,
    ) -> None:
        super().__init__(*modules)
        self.classes, self.normalization = tuple(classes), normalization
        self.certificate, self.score_error, self.exponent = certificate, score_error, exponent

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels of samples, shape (n_samples,), by this module's own arithmetic.

        Raises
        ------
        DegenerateInputError
            If a score is not finite, as with zero variance at eps = 0.
        InvalidInputError
            If X is not an array of samples with the number of features that the module takes.
        """
        parameter = next(self.parameters())
        n_features = _widths("0", next(self.children()))[0]
        with torch.no_grad():
            x = torch.as_tensor(
                np.array(as_exact_samples(X, n_features)), dtype=parameter.dtype, device=parameter.device
            )
            scores = self(x).double().cpu().numpy()
        return self.labels(scores)

    def labels(self, scores: NDArray[Any]) -> NDArray[Any]:
        """The labels, shape (n_samples,), for scores (n_samples, n_rows), wherever these were computed.

        It raises DegenerateInputError as `predict` does.
        """
        bad = ~np.isfinite(scores).all(axis=1)
        if bad.any():
            raise DegenerateInputError(
                f"the scores of sample {int(np.argmax(bad))} are not finite: zero variance at a norm, or "
                "overflow; use another sample, or eps > 0"
            )
        positive = scores.shape[1] == 1 and len(self.classes) == 2
        winners = (scores[:, 0] > 0).astype(np.intp) if positive else scores.argmax(axis=1)
        labels: NDArray[Any] = label_array(self.classes)[winners]
        return labels


# ------------------------------------------------------------------------------------------------- to torch


def to_torch(
    net: LNNet,
    eps: float = 0.0,
    *,
    X: ArrayLike | None = None,
    y: Iterable[Any] | None = None,
    dtype: torch.dtype | DTypeName = torch.float64,
    progress: Progress | None = None,
) -> LNSequential:
    """The net as an ``nn.Sequential`` of ``nn.Linear`` and norms, ending in the read-out ``nn.Linear``.

    The norms are ``nn.LayerNorm(width, elementwise_affine=False)``, ``nn.RMSNorm`` likewise, or
    `lntheory.nn.GroupLayerNorm`.

    Parameters
    ----------
    net : LNNet
        With float64 parameters (``net.arithmetic == "float64"``).
    eps : float, default 0
        The eps of the norms; 0 keeps the net's own, which is 0 for every net of `lntheory.shatter`. Any other
        eps changes the function, so X and y are needed: the affine maps are scaled up until it is proved
        that every sample still gets its label.
    X, y : samples and labels, optional
        With them, the module is proved to give each sample its label, in this dtype, on any machine whose
        arithmetic rounds as `lntheory.network.roundoff` describes. Without them nothing is claimed: the
        parameters are copied (rounded to float32 if that is the dtype).
    dtype : torch.float64 or torch.float32, or their names
    progress : callable (done, total), optional
        Called after every layer of each proof.

    Returns
    -------
    LNSequential

    Raises
    ------
    InvalidInputError
        If the net is dyadic, if `eps` is positive and X or y is missing, if the net has another positive eps
        of its own, or if a parameter overflows float32.
    RefutedError
        If a sample provably gets a wrong label, as when float32 cannot hold the parameters finely enough.
    UndecidedError
        If the labels are right in real arithmetic, but rounding in this dtype might change one, as the margin
        is too small. ``.samples`` holds the indices of the samples, ``.precision`` the bits of the dtype.

    Examples
    --------
    >>> from lntheory.network import Layer
    >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
    >>> to_torch(net)[0]
    Linear(in_features=1, out_features=3, bias=True)
    >>> [type(part).__name__ for part in to_torch(net)]
    ['Linear', 'LayerNorm', 'Linear']
    >>> X, y = [[-2.0], [3.0]], ["low", "high"]
    >>> module = to_torch(net, eps=1e-5, X=X, y=y, dtype=torch.float32)
    >>> module.predict(X).tolist(), 2 * module.score_error < module.certificate.margin
    (['low', 'high'], True)
    >>> from_torch(to_torch(net)) == net
    True
    """
    if not isinstance(net, LNNet):
        raise InvalidInputError(f"net is a {type(net).__name__}; pass an LNNet")
    dtype, name = _dtype(dtype)
    eps = as_eps(eps) or net.normalization.eps
    if net.arithmetic == "dyadic":
        raise InvalidInputError(
            "the net is dyadic: its parameters are wider than float64, which no dtype of torch holds; use "
            "LNNet.predict (ball arithmetic), or build a shallower net (lntheory.shatter with method='fold')"
        )
    if (X is None) != (y is None):
        raise InvalidInputError("pass both X and y, or neither")
    if eps != net.normalization.eps and net.normalization.eps:
        raise InvalidInputError(
            f"the net's norms have eps={net.normalization.eps} of their own, which eps={eps} "
            "contradicts; leave it out"
        )
    if X is None or y is None:
        if eps != net.normalization.eps:
            raise InvalidInputError(
                f"eps={eps} changes what the net computes; pass the samples X and their labels y, for "
                "which it is then proved that no label changes"
            )
        return _module(_held(net, 0, eps, name), dtype, None, 0)
    samples = as_exact_samples(X, net.n_features)
    labels = _labels(y, len(samples))
    proof = _prove(_held(net, 0, net.normalization.eps, name), samples, labels, name, progress)
    exponent = 0
    if eps != net.normalization.eps:
        exponent, proof = _scaled_up(net, eps, proof, samples, labels, name, progress)
    module = _module(_held(net, exponent, eps, name), dtype, proof, exponent)
    _require_right(module, samples, labels)
    return module


class _Proof(NamedTuple):
    certificate: Certificate
    errors: FloatArray  # (n_samples,)


def _dtype(dtype: Any) -> tuple[torch.dtype, DTypeName]:
    for known, name in _DTYPES.items():
        if dtype in (known, name):
            return known, name
    raise InvalidInputError(f"dtype={excerpt(dtype)}; choose torch.float64 or torch.float32")


def _labels(y: Iterable[Any], n_samples: int) -> list[Any]:
    codes, classes = encode_labels(y, n_samples)
    return [classes[code] for code in codes]


def _held(net: LNNet, exponent: int, eps: float, name: DTypeName) -> LNNet:
    """The net that a module of this dtype holds if its affine maps are 2**exponent times those of `net`."""

    def held(layer: Layer, exponent: int, where: str) -> Layer:
        parts = []
        for values in (layer.weight, layer.bias):
            with np.errstate(over="ignore", under="ignore"):
                rounded = np.ldexp(values, exponent).astype(name)
            if not np.isfinite(rounded).all():
                raise InvalidInputError(
                    f"{where} overflows {name} at a scale of 2**{exponent}; scale the net down"
                    + (", or use float64" if name == "float32" else "")
                )
            parts.append(rounded.astype(np.float64))
        return Layer(*parts)

    layers = [held(layer, exponent, f"layers[{k}]") for k, layer in enumerate(net.layers)]
    normalization = replace(net.normalization, eps=eps)
    return LNNet(layers, held(net.readout, 0, "readout"), net.classes, normalization, net.provenance)


def _prove(
    held: LNNet, samples: FloatArray, labels: list[Any], name: DTypeName, progress: Progress | None
) -> _Proof:
    """The proof of both parts of the claim; `RefutedError` or `UndecidedError` if one cannot be proved."""
    try:
        certificate = certify(held, samples, labels, progress=progress)
    except RefutedError as error:
        if name == "float64":
            raise
        raise RefutedError(
            f"with parameters rounded to float32: {error}; use float64", error.samples
        ) from None
    errors = score_error(held, samples, name)
    margins = np.array(certificate.margins)
    doubtful = np.flatnonzero(~(np.isinf(margins) | (2 * errors < margins)))
    if doubtful.size:
        first = int(doubtful[0])
        raise UndecidedError(
            f"{name} cannot be vouched for: rounding may move a score of sample {first} by "
            f"{errors[first]:.3g}, its margin is {margins[first]:.3g} ({doubtful.size} such "
            f"sample{'s' * (doubtful.size > 1)}); "
            + ("use float64" if name == "float32" else "use LNNet.predict, or build a shallower net")
            + ", or leave the data out to convert without a claim",
            doubtful.tolist(),
            _UNIT_BITS[name],
        )
    return _Proof(certificate, errors)


def _scaled_up(
    net: LNNet,
    eps: float,
    proof: _Proof,
    samples: FloatArray,
    labels: list[Any],
    name: DTypeName,
    progress: Progress | None,
) -> tuple[int, _Proof]:
    """The exponent of the smallest power of two with which the claim is proved for this eps; the proof."""
    start = math.ceil(math.log2(math.sqrt(eps) / _smallest_deviation(net, samples))) - 1 if net.depth else 0
    failure: LNTheoryError = RefutedError(f"no scale keeps the labels with eps={eps}; use a smaller eps")
    for exponent in range(max(0, start), max(0, start) + _SCALES):
        held = _held(net, exponent, eps, name)
        if not _keeps_margins(held, proof, samples, labels):  # a cheap test in float64 before the proof
            continue
        try:
            return exponent, _prove(held, samples, labels, name, progress)
        except (RefutedError, UndecidedError) as error:
            failure = error
    raise failure


def _smallest_deviation(net: LNNet, samples: FloatArray) -> float:
    """Smallest standard deviation that a norm of the net divides by, over layers, groups and samples."""
    smallest = math.inf
    for layer, points in zip(net.layers, (samples, *net.trace(samples)), strict=False):
        values = (points @ layer.weight.T + layer.bias).reshape(
            len(points), net.normalization.num_groups or 1, -1
        )
        if net.normalization.kind != "rms_norm":
            values = values - values.mean(axis=2, keepdims=True)
        smallest = min(smallest, float(np.sqrt((values**2).mean(axis=2)).min()))
    return max(smallest, np.finfo(np.float64).tiny)


def _keeps_margins(held: LNNet, proof: _Proof, samples: FloatArray, labels: list[Any]) -> bool:
    """Whether the margins in plain float64 are at least half of those proved without eps, minus errors."""
    if len(held.classes) == 1:
        return True
    scores = held.plain_scores(samples).reshape(len(samples), -1)
    right = np.array([held.classes.index(label) for label in labels])
    if scores.shape[1] == 1:
        margins = np.where(right == 1, 2, -2) * scores[:, 0]
    else:
        rows = np.arange(len(scores))
        best = scores[rows, right]
        scores[rows, right] = -np.inf
        margins = best - scores.max(axis=1)
    return bool((margins >= np.array(proof.certificate.margins) / 2 - proof.errors).all())


def _require_right(module: LNSequential, samples: FloatArray, labels: list[Any]) -> None:
    """Run the module: a wrong label would show that this machine's arithmetic is not as the proof assumes."""
    predicted = module.predict(samples).tolist()
    wrong = [i for i, (ours, theirs) in enumerate(zip(predicted, labels, strict=True)) if ours != theirs]
    if wrong:
        raise RefutedError(
            f"torch on this machine gives sample {wrong[0]} another label, though no rounding of "
            "float arithmetic could; please report this",
            wrong,
        )


def _module(held: LNNet, dtype: torch.dtype, proof: _Proof | None, exponent: int) -> LNSequential:
    modules: list[nn.Module] = []
    for layer in held.layers:
        modules += [_linear(layer, dtype), _norm(held.normalization, layer.n_out)]
    return LNSequential(
        *modules,
        _linear(held.readout, dtype),
        classes=held.classes,
        normalization=held.normalization,
        certificate=None if proof is None else proof.certificate,
        score_error=None if proof is None else float(proof.errors.max()),
        exponent=exponent,
    )


def _linear(layer: Layer, dtype: torch.dtype) -> nn.Linear:
    # skip_init is used since drawing initial weights would advance the caller's random numbers
    skip_init: Any = nn.utils.skip_init
    linear: nn.Linear = skip_init(nn.Linear, layer.n_in, layer.n_out, dtype=dtype)
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(np.array(layer.weight)))
        linear.bias.copy_(torch.from_numpy(np.array(layer.bias)))
    return linear


def _norm(normalization: Normalization, width: int) -> nn.Module:
    if normalization.kind == "group_layer_norm":
        return GroupLayerNorm(width, num_groups=normalization.num_groups, eps=normalization.eps, affine=False)
    torchs = nn.LayerNorm if normalization.kind == "layer_norm" else nn.RMSNorm
    return torchs(width, eps=normalization.eps, elementwise_affine=False)


# ------------------------------------------------------------------------------------------------- from torch


def from_torch(module: nn.Module, classes: Iterable[Any] | None = None) -> LNNet:
    """The net that a Sequential of Linear layers and norms computes, exactly.

    Parameters
    ----------
    module : nn.Sequential
        Its parts may be ``nn.Linear``, ``nn.LayerNorm`` and ``nn.RMSNorm`` over the features, the norms of
        `lntheory.nn` for vectors, ``nn.Identity``, and Sequentials of these. All norms are of one kind and
        eps.
    classes : iterable, optional
        One label for each row of the last layer (two for a single row); by default the module's own, if
        `to_torch` made it, else 0, 1, 2, ...

    Returns
    -------
    LNNet
        Nothing is rounded: the weight and bias of a norm are multiplied into the Linear that follows, and
        consecutive Linears into each other, in rational arithmetic. If float64 cannot hold the result, the
        net is dyadic.

    Raises
    ------
    InvalidInputError
        If some module has no place in a net; the message names it and says why.

    Notes
    -----
    The net is exact; the module itself rounds when it computes in floating point. `lntheory.exact.certify`
    proves which labels the net gives. If the norms have no weights and no two Linears are consecutive,
    `lntheory.network.roundoff.score_error` bounds the distance of the module's scores from the net's.

    Examples
    --------
    >>> net = from_torch(nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Linear(3, 2)), ["no", "yes"])
    >>> net.depth, net.width, net.normalization.eps, net.classes
    (1, 3, 1e-05, ('no', 'yes'))
    >>> from_torch(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)))
    Traceback (most recent call last):
        ...
    lntheory.errors.InvalidInputError: module '1' is a ReLU, which has no place in an LN-Net; ...
    """
    if not isinstance(module, nn.Sequential):
        raise InvalidInputError(
            f"the module is a {type(module).__name__}; pass an nn.Sequential of Linear layers and norms"
        )
    layers: list[Layer] = []
    norms: list[tuple[str, Normalization]] = []
    pending: Layer | None = None  # the affine map since the last norm; None is the identity
    width: int | None = None  # number of features after the parts so far, once it is known
    for name, part in _parts(module, ""):
        if isinstance(part, nn.Identity):
            continue
        n_in, n_out = _widths(name, part)
        if width not in (None, n_in):
            raise InvalidInputError(f"{_named(name, part)} takes {n_in} features, but gets {width}")
        width = n_out
        if not isinstance(part, nn.Linear):
            norms.append((name, _normalization(name, part, dtype_of(module))))
            layers.append(pending or Layer(np.eye(n_in), np.zeros(n_in)))
            pending = None
        follows = _affine(name, part)
        if follows is not None:
            pending = follows if pending is None else _composed(follows, pending)
    if width is None:
        raise InvalidInputError("the module has no layers; it should end in the read-out, an nn.Linear")
    for name, norm in norms:
        if norm != norms[0][1]:
            raise InvalidInputError(
                f"module '{name}' normalizes by {norm}, module '{norms[0][0]}' by {norms[0][1]}; "
                "a net has one kind and one eps"
            )
    readout = pending or Layer(np.eye(width), np.zeros(width))
    made = module if isinstance(module, LNSequential) else LNSequential()
    if classes is None:
        classes = made.classes or range(2 if width == 1 else width)
    return LNNet(layers, readout, classes, norms[0][1] if norms else made.normalization)


def _parts(module: nn.Sequential, prefix: str) -> Iterator[tuple[str, nn.Module]]:
    """The modules in the order of evaluation, with their names, nested Sequentials opened."""
    _require_plain(prefix.removesuffix("."), module, nn.Sequential)
    for name, part in module._modules.items():  # named_children leaves out modules that are used twice
        assert part is not None
        if isinstance(part, nn.Sequential):
            yield from _parts(part, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", part


def _named(name: str, part: nn.Module) -> str:
    return f"module '{name}', a {type(part).__name__},"


def _require_plain(name: str, part: nn.Module, of: type[nn.Module]) -> None:
    """Refuse a part that may not compute what its class does."""
    if type(part).forward is not of.forward or "forward" in vars(part):
        raise InvalidInputError(f"{_named(name, part)} has a forward of its own; use {of.__name__} itself")
    if part._forward_hooks or part._forward_pre_hooks:
        raise InvalidInputError(f"{_named(name, part)} has forward hooks, which may change it; remove them")


def _widths(name: str, part: nn.Module) -> tuple[int, int]:
    """The numbers of input and output features; a module that cannot be part of a net is refused."""
    if isinstance(part, nn.Linear):
        _require_plain(name, part, nn.Linear)
        return part.in_features, part.out_features
    if isinstance(part, (nn.LayerNorm, nn.RMSNorm)):
        _require_plain(name, part, nn.LayerNorm if isinstance(part, nn.LayerNorm) else nn.RMSNorm)
        if len(part.normalized_shape) != 1:
            raise InvalidInputError(
                f"{_named(name, part)} normalizes {tuple(part.normalized_shape)} together; a net has "
                "one axis of features"
            )
        return part.normalized_shape[0], part.normalized_shape[0]
    if isinstance(part, Norm) and not isinstance(part, InstanceNorm):
        _require_plain(name, part, Norm)
        if part.dim != 0:
            raise InvalidInputError(f"{_named(name, part)} is for images (dim={part.dim}); use dim=0")
        return part.num_features, part.num_features
    raise InvalidInputError(
        f"module '{name}' is a {type(part).__name__}, which has no place in an LN-Net; it takes nn.Linear, "
        "nn.LayerNorm, nn.RMSNorm, nn.Identity and the norms of lntheory.nn for vectors"
    )


def _normalization(name: str, part: nn.Module, dtype: torch.dtype) -> Normalization:
    if isinstance(part, nn.LayerNorm):
        return Normalization("layer_norm", eps=part.eps)
    if isinstance(part, nn.RMSNorm):  # in torch, eps None means the epsilon of the type
        return Normalization("rms_norm", eps=torch.finfo(dtype).eps if part.eps is None else part.eps)
    assert isinstance(part, Norm)
    if part.centred:
        grouped = isinstance(part, GroupLayerNorm)
        return Normalization(
            "group_layer_norm" if grouped else "layer_norm", part.num_groups if grouped else None, part.eps
        )
    if part.num_groups > 1:
        raise InvalidInputError(
            f"{_named(name, part)} is RMSNorm of {part.num_groups} groups, which LNNet does not have; "
            "use one group"
        )
    return Normalization("rms_norm", eps=part.eps)


def _affine(name: str, part: nn.Module) -> Layer | None:
    """The affine map of a Linear, or the one that a norm applies at its end; None if there is none."""
    given = [cast(Tensor | None, p) for p in (part.weight, getattr(part, "bias", None))]
    for p in given:
        if p is not None and (p.is_meta or not p.is_floating_point()):
            what = "no numbers yet (device meta)" if p.is_meta else f"parameters of {p.dtype}"
            raise InvalidInputError(f"{_named(name, part)} has {what}; give it real ones")
    weight, bias = (None if p is None else p.detach().cpu().double().numpy() for p in given)
    if weight is None:
        return None
    if weight.ndim == 1:
        weight = np.diag(weight)
    try:
        return Layer(weight, np.zeros(len(weight)) if bias is None else bias)
    except InvalidInputError as error:
        raise InvalidInputError(f"{_named(name, part)}: {error}") from None


def _composed(second: Layer, first: Layer) -> Layer:
    """``second`` after ``first``, in rational arithmetic."""
    outer = _rational(second.weight)
    weight = outer * _rational(first.weight)
    bias = outer * _rational(first.bias[:, None]) + _rational(second.bias[:, None])
    return Layer(weight.tolist(), [row[0] for row in bias.tolist()])


def _rational(values: NDArray[Any]) -> fmpq_mat:
    n_rows, n_columns = values.shape
    entries = [fmpq(*value.as_integer_ratio()) for value in values.ravel().tolist()]
    return fmpq_mat(n_rows, n_columns, entries)


def dtype_of(module: nn.Module) -> torch.dtype:
    """The type in which the module computes: that of its first parameter."""
    return next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)


# -------------------------------------------------------------------------------------------------- files


def export_program(module: nn.Sequential, path: str | os.PathLike[str]) -> None:
    """Write the module as a torch program (``.pt2``), which torch runs without this library.

    The number of samples is free. The file holds the graph, the weights as raw numbers and ``classes.json``;
    nothing in it is pickled. The file appears whole or not at all.

    Read it with ``torch.export.load(path, extra_files={"classes.json": ""}).module()`` (only files that you
    trust: torch itself may unpickle what others put there).

    Raises
    ------
    InvalidInputError
        If `from_torch` does not take the module, or the suffix is not ``.pt2``.
    """
    if os.path.splitext(path)[1] != ".pt2":
        raise InvalidInputError(f"{path}: torch wants the suffix .pt2 for a program; choose such a name")
    net = from_torch(module)
    device = next((p.device for p in module.parameters()), None)
    example = torch.zeros(2, net.n_features, dtype=dtype_of(module), device=device)
    n_samples = torch.export.Dim("n_samples")
    program = torch.export.export(module, (example,), dynamic_shapes=({0: n_samples},))
    program._example_inputs = None  # they would be pickled
    buffer = io.BytesIO()  # with a path, the file would hold its name
    torch.export.save(program, buffer, extra_files={"classes.json": json.dumps(net.classes)})
    with replaced_file(path) as beside:
        beside.write_bytes(buffer.getvalue())
