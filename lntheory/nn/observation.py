"""Observing a model while it runs: the choice of layers, hooks that end with a ``with`` block, loaders."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from lntheory.base.types import Progress
from lntheory.errors import InvalidInputError, excerpt

Layers = str | nn.Module | Callable[[str, nn.Module], bool] | Iterable["str | nn.Module"]


class Observer(ABC):
    """A context manager that puts hooks on a model; they are there only inside the ``with`` block."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self._handles: list[RemovableHandle] = []
        self._entered = False

    @abstractmethod
    def _register(self) -> Iterator[RemovableHandle]:
        """Put the hooks on the model one after the other, and yield the handle of each."""

    def __enter__(self) -> Self:
        if self._entered:
            raise InvalidInputError("The probe is on the model already; leave its `with` block first.")
        self._entered = True
        try:
            for handle in self._register():
                self._handles.append(handle)
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._entered = False

    def _require_entered(self) -> None:
        if not self._entered:
            raise InvalidInputError("The probe is not on the model; use it in `with ... as probe:`.")


def select_layers(model: nn.Module, layers: Layers) -> list[tuple[str, nn.Module]]:
    """The names and modules of the chosen layers, each once.

    Layers are chosen by name (with wildcards ``*`` and ``?``), as modules, or by ``predicate(name, module)``.

    Raises
    ------
    InvalidInputError
        If no layer is chosen, or a name or module is not in the model; the message suggests similar names.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> [name for name, _ in select_layers(model, lambda name, module: isinstance(module, nn.Linear))]
    ['0', '2']
    """
    names = dict(model.named_modules(remove_duplicate=False))
    if isinstance(layers, (str, nn.Module)):
        layers = [layers]
    if callable(layers):
        chosen = [(name, module) for name, module in names.items() if layers(name, module)]
    else:
        chosen = [pair for layer in layers for pair in _found(layer, names)]
    unique = {module: name for name, module in reversed(chosen)}
    ordered = [(name, module) for name, module in chosen if unique[module] == name]
    if not ordered:
        raise InvalidInputError(
            f"No layer was chosen; the model has {', '.join(list(names)[1:9]) or 'none'}, ..."
        )
    return list(dict.fromkeys(ordered))


def _found(layer: str | nn.Module, names: Mapping[str, nn.Module]) -> list[tuple[str, nn.Module]]:
    if isinstance(layer, nn.Module):
        matching = [(name, module) for name, module in names.items() if module is layer][:1]
        if not matching:
            raise InvalidInputError(f"{excerpt(layer)} is not a module of the model.")
        return matching
    if not isinstance(layer, str):
        raise InvalidInputError(f"layer {excerpt(layer)}; pass names, modules or a predicate(name, module).")
    if layer in names:
        return [(layer, names[layer])]
    matching = [(name, module) for name, module in names.items() if fnmatchcase(name, layer)]
    if not matching:
        close = difflib.get_close_matches(layer, list(names), n=3) or list(names)[1:4]
        raise InvalidInputError(f"The model has no layer {excerpt(layer)}; did you mean {', '.join(close)}?")
    return matching


def first_tensor(value: Any) -> Tensor | None:
    """The first tensor in nested tuples, lists and mappings (as Hugging Face's outputs are); None if none."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return None
    return next((tensor for item in value if (tensor := first_tensor(item)) is not None), None)


def require_real(tensor: Tensor | None, layer: str) -> Tensor:
    """The tensor itself, if its entries are finite real numbers in a plain layout; else InvalidInputError."""
    if tensor is None:
        raise InvalidInputError(f"Layer {layer} gave no tensor; choose another layer.")
    if tensor.is_nested or tensor.layout != torch.strided:
        kind = "nested" if tensor.is_nested else "sparse"
        raise InvalidInputError(
            f"Layer {layer} gave a {kind} tensor, whose samples have no common features; "
            "for torch's encoders pass enable_nested_tensor=False."
        )
    if not tensor.is_floating_point() and tensor.dtype not in (torch.uint8, torch.bool):
        raise InvalidInputError(
            f"Layer {layer} holds {tensor.dtype}, which are indices rather than features (token ids?); "
            "for a model of tokens compare with its embedding: pass reference=<its name>."
        )
    if not torch.isfinite(tensor).all():
        where = [int(i) for i in (~torch.isfinite(tensor)).nonzero()[0]]
        raise InvalidInputError(
            f"Layer {layer} gave {tensor[tuple(where)].item()} at index {where} of a batch of shape "
            f"{tuple(tensor.shape)}; NaN and infinities have no scatter."
        )
    return tensor


def in_float64(tensor: Tensor) -> Tensor:
    """A detached float64 copy on the same device, or on the CPU if the device has no float64."""
    tensor = tensor.detach()
    return (tensor.cpu() if tensor.device.type == "mps" else tensor).to(torch.float64)


def roundoff_of(tensor: Tensor) -> float:
    """Unit roundoff of the computation of the tensor: of its type, or of autocast or TF32 if coarser."""
    if not tensor.is_floating_point():
        return 2.0**-53
    kind = tensor.device.type
    types = [tensor.dtype]
    if tensor.dtype != torch.float64 and torch.is_autocast_enabled(kind):
        types.append(torch.get_autocast_dtype(kind))
    unit = max(torch.finfo(dtype).eps for dtype in types) / 2
    if kind == "cuda" and tensor.dtype == torch.float32 and _tf32():
        unit = max(unit, 2.0**-11)
    return unit


def _tf32() -> bool:
    return bool(torch.backends.cuda.matmul.allow_tf32 or torch.backends.cudnn.allow_tf32)


def call(model: nn.Module, inputs: Any) -> Any:
    """Run the model on a tensor, a sequence of arguments or a mapping of keywords, on the model's device."""
    parameter = next(model.parameters(), None)
    if parameter is not None:
        inputs = _moved(inputs, parameter.device)
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, (tuple, list)) else model(inputs)


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, Mapping):
        return {key: _moved(item, device) for key, item in value.items()}
    return type(value)(_moved(item, device) for item in value) if type(value) in (tuple, list) else value


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode without gradients; afterwards every module is in its old mode."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def counted(loader: Iterable[Any], progress: Progress | None) -> Iterator[Any]:
    """The batches of the loader; `progress` is called after each as (done, total), total 0 if unknown."""
    total = len(loader) if isinstance(loader, Sized) else 0
    for done, batch in enumerate(loader, start=1):
        yield batch
        if progress is not None:
            progress(done, total)
