"""Nets without activations: Linear and norm in turn, then a Linear; their initial weights from a seed alone.

::

    x ─► linear0 ─► norm0 ─► linear1 ─► norm1 ─► … ─► readout ─► one score a class
        └──────────────────── depth times ─────────┘
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .norms import norm_layer
from .parameters import MLP

__all__ = ["build", "initial_parameters", "linear_shapes"]


def build(parameters: MLP, shape: Sequence[int], n_classes: int, seed: int) -> nn.Sequential:
    """The net of the random-label table: no activation, so a norm is its only nonlinearity.

    Returns
    -------
    nn.Sequential
        Takes (n, n_in), gives (n, n_classes), in float64. Its layers are ``linear0``, ``norm0``, …,
        ``readout``.

    Examples
    --------
    >>> net = build(MLP(norm="ln", width=16, depth=2), (64,), 10, seed=0)
    >>> [name for name, _ in net.named_children()]
    ['linear0', 'norm0', 'linear1', 'norm1', 'readout']
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for name, (n_out, n_in) in linear_shapes(parameters, math.prod(shape), n_classes).items():
        layers[name] = nn.Linear(n_in, n_out, dtype=torch.float64)
        if name != "readout":
            layers[name.replace("linear", "norm")] = norm_layer(parameters, n_out, dtype=torch.float64)
    net = nn.Sequential(layers)
    with torch.no_grad():
        for name, value in initial_parameters(parameters, math.prod(shape), n_classes, seed).items():
            net.get_parameter(name).copy_(value)
    return net


def linear_shapes(parameters: MLP, n_in: int, n_classes: int) -> dict[str, tuple[int, int]]:
    """Shape of every Linear's weight, by the layer's name.

    Examples
    --------
    >>> linear_shapes(MLP(width=16, depth=2), 64, 10)
    {'linear0': (16, 64), 'linear1': (16, 16), 'readout': (10, 16)}
    """
    sizes = [n_in, *[parameters.width] * parameters.depth, n_classes]
    names = [*(f"linear{k}" for k in range(parameters.depth)), "readout"]
    return {name: (b, a) for name, a, b in zip(names, sizes[:-1], sizes[1:], strict=True)}


def initial_parameters(parameters: MLP, n_in: int, n_classes: int, seed: int) -> dict[str, Tensor]:
    """Initial weights and biases of every Linear, in float64, named as in the net's state dict.

    Uniform in ±1/sqrt(fan-in), as torch's own. Layer k depends on (seed, k) and its shape alone: not on the
    norm, the depth, the precision, the device, or the version of torch, so that nets that differ in one
    of these start equal. The norms' own parameters start at scale 1 and shift 0, as they are built.

    Examples
    --------
    >>> values = initial_parameters(MLP(norm="ln", width=16, depth=1), 4, 3, seed=5)
    >>> {name: tuple(value.shape) for name, value in values.items()}
    {'linear0.weight': (16, 4), 'linear0.bias': (16,), 'readout.weight': (3, 16), 'readout.bias': (3,)}
    """
    values: dict[str, Tensor] = {}
    for name, (n_out, n_features) in linear_shapes(parameters, n_in, n_classes).items():
        place = 0 if name == "readout" else 1 + int(name.removeprefix("linear"))
        numbers = (2 * _uniform((seed, place), n_out * (n_features + 1)) - 1) / math.sqrt(n_features)
        drawn = torch.from_numpy(numbers)
        values[f"{name}.weight"] = drawn[: n_out * n_features].reshape(n_out, n_features).clone()
        values[f"{name}.bias"] = drawn[n_out * n_features :].clone()
    return values


def _uniform(entropy: tuple[int, ...], count: int) -> NDArray[np.float64]:
    """Numbers in [0, 1) of 53 bits. NumPy promises its raw bits for ever, not its distributions."""
    raw = np.random.PCG64(np.random.SeedSequence(entropy)).random_raw(count)
    return (np.asarray(raw, dtype=np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53
