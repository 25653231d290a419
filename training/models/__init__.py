"""The nets of the tables, by name: what decides each, and how it is built.

A model is one file here, named after it, with a function ``build(parameters, shape, n_classes, seed)``, and
one line in `MODELS`, which names the class of its parameters. No torch until a net is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from lntheory.errors import InvalidInputError, excerpt

from .parameters import MLP, Parameters

if TYPE_CHECKING:
    from torch import nn

__all__ = ["MLP", "MODELS", "Parameters", "build", "read_parameters"]

MODELS: dict[str, type[Parameters]] = {
    "mlp": MLP,
}
"""The registry: parameters of the model of each name; the file of that name builds it."""


def read_parameters(value: object) -> Parameters:
    """Parameters as they are, or from a mapping with the model's name.

    Raises
    ------
    InvalidInputError
        If there is no such model, or it has no such parameters.

    Examples
    --------
    >>> read_parameters({"name": "mlp", "norm": "ln", "width": 16, "depth": 2}).label
    'ln x 2'
    """
    if isinstance(value, Parameters):
        return value
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in MODELS:
        raise InvalidInputError(f"a model named {excerpt(name)} is not known; choose {', '.join(MODELS)}")
    return MODELS[name].from_dict(value)


def build(parameters: Parameters, shape: Sequence[int], n_classes: int, seed: int) -> nn.Module:
    """The net, with initial weights that are a function of `seed`, in float32 or finer, on the CPU.

    Parameters
    ----------
    parameters : Parameters
    shape : sequence of int
        Of one sample.
    n_classes, seed : int

    Examples
    --------
    >>> build(MLP(norm="ln", width=16, depth=1), (64,), 10, seed=0)[0]
    Linear(in_features=64, out_features=16, bias=True)
    """
    module = import_module(f".{parameters.name.replace('-', '_')}", __package__)
    net: nn.Module = module.build(parameters, tuple(shape), n_classes, seed)
    return net
