r"""Probes: the separability of a network's activations, and the nonlinearity of its normalizations, by layer.

```
        ┌─────── model ───────┐                 layer     LSSR    within          against reference
 x ──►  │ fc1 ─► norm ─► fc2  │ ─►              (input)   1       1               reference
        └──┬───────┬──────┬───┘         ──►     fc1       1       1               level
  (input)  hook   hook   hook                   norm      0.31    0.31            below
     └───────┴──────┴──────┴─► y                1 of 3 layers go below ..., which no linear map does: norm
     (0.31).
```

No linear map, hence no linear network and no batch normalization on a fixed batch, brings LSSR below that of
the input; LN does. This criterion is about exact arithmetic. Computed activations leave their subspace by
rounding, and a linear read-out could read labels from the rounding. So LSSR is also bounded for the part of
the activations that exceeds the rounding, and verdicts are about those bounds (`LayerSeparability`). Where a
shift is subtracted (unscaled pixels, then batch normalization), the rounding from before the subtraction is
still counted: that of the reference and of the layers in the report, but not of layers that no probe sees.

References
----------
Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from lntheory.base.modular import PRIME, ModularRowSpace, residues
from lntheory.base.types import FloatArray, IntArray, Progress
from lntheory.base.validation import as_count, encode_labels
from lntheory.errors import InvalidInputError, excerpt
from lntheory.nn.observation import (
    Layers,
    Observer,
    call,
    counted,
    evaluating,
    first_tensor,
    in_float64,
    require_real,
    roundoff_of,
    select_layers,
)
from lntheory.nn.recognition import NormDescription, describe, looks_like_a_norm
from lntheory.nn.reports import (
    LayerNonlinearity,
    LayerSeparability,
    NonlinearityReport,
    SeparabilityReport,
)
from lntheory.nn.streaming_scatter import ScatterSummary, TensorScatter
from lntheory.nonlinearity import amplification, amplification_bound, hessian_indicator

__all__ = ["MODEL_INPUT", "NonlinearityProbe", "SeparabilityProbe"]

MODEL_INPUT = "(input)"
"""The name of the model's own input in a report."""

Reduce = Literal["flatten", "mean", "first"] | Callable[[Tensor], Tensor]
_Key = tuple[str, int]


# ---------------------------------------------------------------------------------------- separability


@dataclass
class _Batch:
    """The activations of one labelled forward pass; they are added to the probe together or not at all."""

    seen: dict[_Key, tuple[Tensor, float]] = field(default_factory=dict)

    def add(self, layer: str, samples: Tensor, roundoff: float) -> None:
        earlier = sum(name == layer for name, _ in self.seen)
        self.seen[layer, earlier + 1] = samples, roundoff


@dataclass
class _Layer:
    """The data that is kept for one call of a layer over all batches."""

    scatter: TensorScatter
    roundoff: float = 0.0
    space: ModularRowSpace | None = None
    origin: IntArray | None = None

    def update(self, samples: Tensor, codes: Tensor, roundoff: float) -> None:
        self.scatter.update(samples, codes)
        self.roundoff = max(self.roundoff, roundoff)
        if self.space is not None:
            rows = residues(samples.cpu().numpy())
            self.origin = rows[0] if self.origin is None else self.origin
            self.space.add((rows - self.origin) % PRIME)


class SeparabilityProbe(Observer):
    """SSR and LSSR of layers of a model over a data loader, in one pass.

    It is a context manager; its hooks are on the model only inside the ``with`` block, even if that raises.
    Batches of any sizes are centred and accumulated in float64 on their own device, and then dropped: the
    memory is that of one batch and of n_features**2 numbers for each layer.

    Parameters
    ----------
    model : nn.Module
    layers : str, nn.Module, callable, or iterable of str and nn.Module
        Names as in ``model.named_modules()`` (``"blocks.*.norm"`` matches), modules, or ``predicate(name,
        module)``. The probe reads a layer's output, the first tensor of a tuple or mapping; each call
        within a forward pass has a row of its own. Also list layers with large biases if a later layer
        subtracts the bias: the rounding that it causes is counted only if the probe sees the layer.
    reduce : {"flatten", "mean", "first"} or callable
        How activations become one vector for each sample. "flatten": all entries, (N, C, H, W) ->
        (N, C H W) and (N, T, C) -> (N, T C). "mean": the average over positions, which are the last axes of
        (N, C, ...) with four or more axes and the middle one of (N, T, C), padding included. "first": the
        first position, (N, T, C) -> (N, C), for class tokens. A callable maps the tensor to (N, n_features).
        "mean" and "first" are linear, so they can only raise LSSR: if a reduced layer is below the
        reference, so is the layer.
    reference : str or None
        The layer with which the others are compared: by default the model's first input tensor, or the name
        of a layer (for tokens, the embedding). It is flattened whatever `reduce` is, since a linear map may
        go below the LSSR of a reduced input. None: there is no verdict.
    max_features : int
        Layers with more features are refused, since the square of the number has to be kept.
    roundoff : float, optional
        Unit roundoff, in (0, 1), of the activations' computation. The default is that of their type (of the
        coarser type under autocast; 2**-11 for float32 on a GPU that may use TF32).

    Raises
    ------
    InvalidInputError
        If a layer or the reference is not in the model.

    See Also
    --------
    lntheory.separability : the same for arrays.

    Examples
    --------
    XOR: the linear layer does not lower LSSR; LN after it does (its third feature separates the classes).

    >>> from lntheory.nn import make_norm
    >>> first = nn.Linear(2, 3, dtype=torch.float64)
    >>> _ = first.weight.data.copy_(torch.tensor([[0.0, 2], [-2, 0], [2, -2]]))
    >>> _ = first.bias.data.copy_(torch.tensor([1.0, 3, -4]))
    >>> model = nn.Sequential(first, make_norm("ln", 3, affine=False, eps=0.0))
    >>> X = torch.tensor([[0.0, 0], [1, 1], [0, 1], [1, 0]], dtype=torch.float64)
    >>> with SeparabilityProbe(model, ["0", "1"]) as probe:
    ...     report = probe.run([(X[:3], [0, 0, 1]), (X[3:], [1])])
    >>> [(row.layer, round(row.lssr, 6), row.against(report.reference)) for row in report.rows]
    [('(input)', 1.0, 'reference'), ('0', 1.0, 'level'), ('1', 0.0, 'below')]
    """

    def __init__(
        self,
        model: nn.Module,
        layers: Layers,
        *,
        reduce: Reduce = "flatten",
        reference: str | None = MODEL_INPUT,
        max_features: int = 4096,
        roundoff: float | None = None,
    ) -> None:
        super().__init__(model)
        if reduce not in ("flatten", "mean", "first") and not callable(reduce):
            raise InvalidInputError(
                f"reduce is {excerpt(reduce)}; pass 'flatten', 'mean', 'first' or a callable."
            )
        if roundoff is not None and not (isinstance(roundoff, (float, np.floating)) and 0.0 < roundoff < 1.0):
            raise InvalidInputError(
                f"roundoff is {excerpt(roundoff)}; pass a unit roundoff in (0, 1), such as 2.0**-24, or None."
            )
        max_features = as_count(max_features, "max_features", 1)
        self._layers = select_layers(model, layers)
        if reference not in (None, MODEL_INPUT):
            (named,) = select_layers(model, [reference])
            self._layers = [named, *(pair for pair in self._layers if pair[1] is not named[1])]
            reference = named[0]
        self._reduce, self._reference = reduce, reference
        self._max_features, self._roundoff = max_features, roundoff
        self._batch: _Batch | None = None
        self._classes: dict[Hashable, int] = {}
        self.accumulators: dict[_Key, _Layer] = {}

    def run(
        self, loader: Iterable[tuple[Any, Any]], *, progress: Progress | None = None
    ) -> SeparabilityReport:
        """Run the model over the batches of a loader, in evaluation mode without gradients, and report.

        Parameters
        ----------
        loader : iterable of (inputs, labels)
            The inputs are a tensor, a tuple of arguments or a mapping of keywords; they are moved to the
            model's device. The labels, one for each sample, are of any type. For dictionaries that hold the
            labels, pass ``((batch, batch.pop("labels")) for batch in loader)``.
        progress : callable, optional
            Called as ``progress(batches done, batches in all)``; the second is 0 if it is not known.

        Returns
        -------
        SeparabilityReport
            The report of all batches so far, those of earlier runs included.

        Raises
        ------
        InvalidInputError
            As in `labelled`; the batches before the one at fault stay counted.
        """
        self._require_entered()
        with evaluating(self.model):
            for batch in counted(loader, progress):
                if not isinstance(batch, (tuple, list)) or len(batch) != 2:
                    raise InvalidInputError(
                        f"The loader gave {excerpt(batch)}; it has to give pairs (inputs, labels)."
                    )
                with self.labelled(batch[1]):
                    call(self.model, batch[0])
        return self.report()

    @contextmanager
    def labelled(self, y: Iterable[Any]) -> Iterator[None]:
        """Count the one forward pass inside the block, whose samples have the labels `y`.

        This is for loops of your own; the mode of the model is not changed. Passes outside such blocks are
        not counted, so a probe can stay on a model that trains. If the block raises, or the batch is refused,
        nothing of the pass is added.

        Parameters
        ----------
        y : tensor or iterable of hashable, one label a sample

        Raises
        ------
        InvalidInputError
            If an output is not a tensor, has NaN or infinities, does not have one row for each sample, or has
            too many features; the message names the layer.
        """
        self._require_entered()
        if self._batch is not None:
            raise InvalidInputError("`labelled` blocks do not nest: one block, one forward pass.")
        if not isinstance(y, Iterable):
            raise InvalidInputError(f"y is {excerpt(y)}; pass one label a sample.")
        labels = y.detach().cpu().numpy() if isinstance(y, Tensor) else y if isinstance(y, str) else list(y)
        codes, classes = encode_labels(labels, len(labels))
        self._batch = batch = _Batch()
        try:
            yield
        finally:
            self._batch = None
        self._add(batch, codes, classes)

    def _add(self, batch: _Batch, codes: IntArray, classes: tuple[Hashable, ...]) -> None:
        if not batch.seen:
            raise InvalidInputError(
                "No layer of the probe was called in the block. Run the model itself in it; hooks set after "
                "torch.compile are not seen."
            )
        if not len(codes):
            return
        for key, (samples, _) in batch.seen.items():
            self._require_shape(key, samples, len(codes))
        numbers = np.array([self._classes.setdefault(c, len(self._classes)) for c in classes], dtype=np.int64)
        for key, (samples, roundoff) in batch.seen.items():
            if key not in self.accumulators:
                self.accumulators[key] = self._new_layer(key, samples.shape[1])
            self.accumulators[key].update(samples, torch.from_numpy(numbers[codes]), roundoff)

    def _new_layer(self, key: _Key, n_features: int) -> _Layer:
        # All verdicts depend on the reference: its rank is also computed modulo a prime, without a cut-off.
        exact = key == (self._reference, 1)
        return _Layer(TensorScatter(n_features), space=ModularRowSpace(n_features) if exact else None)

    def _require_shape(self, key: _Key, samples: Tensor, n_labels: int) -> None:
        name = _shown(key)
        if samples.ndim != 2 or len(samples) != n_labels:
            raise InvalidInputError(
                f"Layer {name} gave the shape {tuple(samples.shape)} for {n_labels} labels; one row "
                "a sample is needed. Pass a callable `reduce`."
            )
        known = self.accumulators.get(key)
        if known is not None and known.scatter.n_features != samples.shape[1]:
            raise InvalidInputError(
                f"Layer {name} gave {samples.shape[1]} features, {known.scatter.n_features} before. For "
                "sequences of several lengths pass reduce='mean' or 'first' and a reference of one length."
            )
        if samples.shape[1] > self._max_features:
            raise InvalidInputError(
                f"Layer {name} has {samples.shape[1]} features, more than max_features={self._max_features}: "
                f"{8 * samples.shape[1] ** 2 / 2**30:.1f} GiB would be kept. Pass reduce='mean' or a larger "
                "max_features; for the input, a layer as reference."
            )

    def _register(self) -> Iterator[RemovableHandle]:
        if self._reference == MODEL_INPUT:
            yield self.model.register_forward_pre_hook(self._see_input, with_kwargs=True)
        for name, module in self._layers:
            yield module.register_forward_hook(self._hook(name))

    def _see_input(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._see(MODEL_INPUT, (args, kwargs))

    def _hook(self, name: str) -> Callable[[nn.Module, Any, Any], None]:
        def see(module: nn.Module, args: Any, output: Any) -> None:
            self._see(name, output)

        return see

    def _see(self, name: str, value: Any) -> None:
        if self._batch is None:
            return
        if name == MODEL_INPUT and (MODEL_INPUT, 1) in self._batch.seen:
            raise InvalidInputError(
                "The model ran twice in one `labelled` block: one block, one forward pass."
            )
        tensor = require_real(first_tensor(value), name)
        reduce = "flatten" if name == self._reference else self._reduce
        self._batch.add(name, _reduced(in_float64(tensor), reduce), self._roundoff or roundoff_of(tensor))

    def report(self) -> SeparabilityReport:
        """What was found so far; also after the ``with`` block.

        Raises
        ------
        InvalidInputError
            If no batch was seen.
        """
        if not self.accumulators:
            raise InvalidInputError("No batch was seen: call run(loader), or the model within labelled(y).")
        rows, noise = {}, 0.0
        for key, layer in self.accumulators.items():
            summary = layer.scatter.summary()
            rows[key], noise = _separability_row(_shown(key), layer, summary, noise)
        reference = rows.pop((self._reference, 1), None) if self._reference is not None else None
        called = {name for name, _ in self.accumulators}
        ordered = ((reference,) if reference else ()) + tuple(rows.values())
        missing = tuple(name for name, _ in self._layers if name not in called)
        return SeparabilityReport(ordered, reference, missing)


def _shown(key: _Key) -> str:
    name, count = key
    name = name or "(model)"
    return name if count == 1 else f"{name} (call {count})"


def _reduced(x: Tensor, reduce: Reduce) -> Tensor:
    """The activations as one row for each sample, shape (N, n_features)."""
    if not isinstance(reduce, str):
        rows = reduce(x)
        return in_float64(rows) if isinstance(rows, Tensor) else torch.as_tensor(rows, dtype=torch.float64)
    if x.ndim == 1:
        return x[:, None]
    if reduce == "flatten" or x.ndim <= 2:
        return x.flatten(1)
    positions = x.movedim(1, -1).flatten(1, -2) if x.ndim >= 4 else x  # (N, positions, C)
    return positions.mean(dim=1) if reduce == "mean" else positions[:, 0]


def _separability_row(
    name: str, layer: _Layer, summary: ScatterSummary, noise: float
) -> tuple[LayerSeparability, float]:
    """The row of a layer, and the rounding of this and the earlier layers, relative to the deviations.

    A linear map scales rounding and deviations alike, so `noise` stays the same when a shift is subtracted.
    """
    n_samples, n_features = layer.scatter.n_samples, layer.scatter.n_features
    if summary.all_coincide:
        return LayerSeparability(name, n_samples, n_features, 0, None, None, 0.0, 1.0), noise
    noise = max(noise, layer.roundoff * summary.shift)
    result = summary.separability(layer.space.rank if layer.space is not None else None)
    bounds = summary.resolved(noise / summary.shift)
    row = LayerSeparability(
        name, n_samples, n_features, bounds.rank, result.ssr, result.lssr, bounds.lower, bounds.upper
    )
    if layer.space is not None:
        # The reference is data, so its LSSR as exact numbers counts too if that is lower.
        row = replace(row, lower=max(0.0, min(row.lower, result.lssr - result.error_bound)))
    return row, noise


# ---------------------------------------------------------------------------------------- nonlinearity


@dataclass
class _Spread:
    """Least, most and geometric mean of non-negative numbers that arrive in batches."""

    count: int = 0
    log_sum: float = 0.0
    least: float = math.inf
    most: float = 0.0

    def add(self, values: FloatArray) -> None:
        if not len(values):
            return
        self.count += len(values)
        with np.errstate(divide="ignore"):
            self.log_sum += math.fsum(np.log(values))
        self.least = min(self.least, float(values.min()))
        self.most = max(self.most, float(values.max()))

    @property
    def mean(self) -> float | None:
        return math.exp(self.log_sum / self.count) if self.count else None


@dataclass
class _Norm:
    """The data that is kept for one call of a normalization over all batches."""

    known: NormDescription
    n_features: int
    num_groups: int
    compared: int | None
    n_vectors: int = 0
    n_degenerate: int = 0
    n_below_eps: int = 0
    indicator: _Spread = field(default_factory=_Spread)
    ratio: _Spread = field(default_factory=_Spread)

    def update(self, vectors: FloatArray) -> None:
        groups = vectors.reshape(len(vectors), self.num_groups, -1)
        rms = self.known.kind in ("rms", "rms-g")
        degenerate = (groups == (0.0 if rms else groups[..., :1])).all(axis=-1).any(axis=-1)
        self.n_vectors += len(vectors)
        self.n_degenerate += int(degenerate.sum())
        groups = groups[~degenerate]
        if not len(groups):
            return
        centred = groups if rms else groups - groups.mean(axis=-1, keepdims=True)
        with np.errstate(over="ignore"):
            small = ((centred**2).mean(axis=-1) < self.known.eps).any(axis=-1)
        self.n_below_eps += int(small.sum())
        # The indicator of a grouped norm is the sum of the indicators of its groups.
        values = np.asarray(hessian_indicator(groups, norm="rms_norm" if rms else "layer_norm"))
        self.indicator.add(values.sum(axis=-1))
        if self.compared is not None:
            self._compare(vectors[~degenerate], self.compared)

    def _compare(self, vectors: FloatArray, num_groups: int) -> None:
        groups = vectors.reshape(len(vectors), num_groups, -1)
        defined = ~(groups == groups[..., :1]).all(axis=-1).any(axis=-1)
        if defined.any():
            self.ratio.add(np.asarray(amplification(vectors[defined], num_groups)))

    def row(self, name: str) -> LayerNonlinearity:
        indicator, ratio = self.indicator, self.ratio
        compared = self.compared if ratio.count else None
        bound = None if compared is None else float(amplification_bound(self.n_features, compared))
        return LayerNonlinearity(
            layer=name,
            kind=self.known.kind,
            n_vectors=self.n_vectors,
            n_features=self.n_features,
            num_groups=self.num_groups,
            n_degenerate=self.n_degenerate,
            n_below_eps=self.n_below_eps,
            mean=indicator.mean,
            smallest=indicator.least if indicator.count else None,
            largest=indicator.most if indicator.count else None,
            amplification=ratio.mean,
            least_amplification=ratio.least if ratio.count else None,
            amplification_bound=bound,
            compared_groups=compared,
        )


class NonlinearityProbe(Observer):
    """The Hessian indicator of a model's normalizations at the inputs that they receive.

    Every forward pass inside the ``with`` block counts. Inputs are copied to the CPU in float64, so that the
    numbers are those of `lntheory.nonlinearity.hessian_indicator`, for the normalization without eps and
    without affine map.

    Parameters
    ----------
    model : nn.Module
    layers : optional
        As in `SeparabilityProbe`; by default every norm that is recognised: torch's and ours except batch
        normalization (which is affine on a fixed batch), and other modules that compute LN or RMSNorm over
        the last axis.
    num_groups : int, optional
        If given, the report has, for LN layers, the factor by which splitting into so many groups would
        multiply the indicator; layers whose features they do not divide have none. Grouped layers are always
        compared with LN, by their own groups.

    Raises
    ------
    InvalidInputError
        If a layer is not in the model, or is not such a norm; the message gives the reason.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6))
    >>> _ = model[0].weight.data.copy_(torch.eye(6)), model[0].bias.data.zero_()
    >>> with NonlinearityProbe(model, num_groups=2) as probe:
    ...     report = probe.run([torch.tensor([[1.0, 2, 3, 3, 1, 2]])])  # both groups: mean 2, variance 2/3
    >>> row = report.rows[0]
    >>> round(row.mean, 12), row.amplification  # 3 (6 - 2) / (6 (2/3)**2)
    (4.5, 1.0)
    """

    def __init__(
        self, model: nn.Module, layers: Layers | None = None, *, num_groups: int | None = None
    ) -> None:
        super().__init__(model)
        self._num_groups = None if num_groups is None else as_count(num_groups, "num_groups", 1)
        self._norms: list[tuple[str, nn.Module, NormDescription]] = []
        self._left: list[tuple[str, str]] = []
        self._passes: dict[str, int] = {}
        self.accumulators: dict[_Key, _Norm] = {}
        explicit = layers is not None
        for name, module in select_layers(model, layers if layers is not None else _any_norm):
            try:
                self._norms.append((name, module, _observable(module)))
            except InvalidInputError as error:
                if explicit:
                    raise InvalidInputError(f"Layer {name} has no indicator here: {error}.") from error
                self._left.append((name, str(error)))

    def run(self, loader: Iterable[Any], *, progress: Progress | None = None) -> NonlinearityReport:
        """Run the model over the batches of a loader, in evaluation mode without gradients, and report.

        Parameters
        ----------
        loader : iterable
            Its items are inputs (tensors or mappings of keywords), or pairs (inputs, labels), whose labels
            are ignored.
        progress : callable, optional
            Called as ``progress(batches done, batches in all)``; the second is 0 if it is not known.

        Returns
        -------
        NonlinearityReport
        """
        self._require_entered()
        with evaluating(self.model):
            for batch in counted(loader, progress):
                if not isinstance(batch, (Tensor, Mapping)):
                    if not isinstance(batch, (tuple, list)) or not batch:
                        raise InvalidInputError(
                            f"The loader gave {excerpt(batch)}; it has to give inputs, or pairs (inputs, "
                            "labels)."
                        )
                    batch = batch[0]
                call(self.model, batch)
        return self.report()

    def _register(self) -> Iterator[RemovableHandle]:
        yield self.model.register_forward_pre_hook(self._start)
        for name, module, known in self._norms:
            yield module.register_forward_pre_hook(self._hook(name, known), with_kwargs=True)

    def _start(self, module: nn.Module, args: Any) -> None:
        self._passes = {}

    def _hook(self, name: str, known: NormDescription) -> Callable[[nn.Module, Any, Any], None]:
        def see(module: nn.Module, args: Any, kwargs: Any) -> None:
            tensor = require_real(first_tensor((args, kwargs)), name)
            key = name, self._passes.get(name, 0) + 1
            self._passes[name] = key[1]
            vectors, num_groups = _pooled(in_float64(tensor), known)
            rows = vectors.cpu().numpy()
            if key not in self.accumulators:
                compared = _compared(known, rows.shape[1], num_groups, self._num_groups)
                self.accumulators[key] = _Norm(known, rows.shape[1], num_groups, compared)
            if rows.shape[1] != self.accumulators[key].n_features:
                raise InvalidInputError(
                    f"Layer {name} normalizes {rows.shape[1]} features, "
                    f"{self.accumulators[key].n_features} before; probe pictures of one size."
                )
            self.accumulators[key].update(rows)

        return see

    def report(self) -> NonlinearityReport:
        """What was found so far; also after the ``with`` block.

        Raises
        ------
        InvalidInputError
            If no batch was seen.
        """
        if not self.accumulators:
            raise InvalidInputError("No norm was called: run the model within the `with` block.")
        called = {name for name, _ in self.accumulators}
        missing = [(name, "never called") for name, _, _ in self._norms if name not in called]
        rows = tuple(norm.row(_shown(key)) for key, norm in self.accumulators.items())
        return NonlinearityReport(rows, (*self._left, *missing))


def _any_norm(name: str, module: nn.Module) -> bool:
    return looks_like_a_norm(module)


def _observable(module: nn.Module) -> NormDescription:
    known = describe(module)
    if known.kind == "bn":
        raise InvalidInputError("batch normalization is affine on a fixed batch, its indicator 0")
    return known


def _pooled(x: Tensor, known: NormDescription) -> tuple[Tensor, int]:
    """The numbers that are normalized together, as rows, and the number of groups in each row."""
    if known.dim == 0 or x.ndim <= 1:
        return x.reshape(-1, known.num_features), known.num_groups
    if known.kind.endswith("position"):
        return x.movedim(1, -1).reshape(-1, known.num_features), known.num_groups
    # A group is a block of neighbouring channels with all of their pixels: contiguous in (C, pixels).
    return x.reshape(len(x), -1), known.num_groups


def _compared(known: NormDescription, n_features: int, num_groups: int, asked: int | None) -> int | None:
    """The number of groups that are compared with LN over the same vectors; None for no comparison."""
    if known.kind in ("rms", "rms-g"):
        return None
    groups = num_groups if num_groups > 1 else asked
    if groups is None or groups < 2 or n_features % groups or n_features // groups < 2:
        return None
    return groups
