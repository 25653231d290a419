"""Nets without activations: Linear and norm in turn, then a Linear; their initial weights from a seed alone.

::

    x ─► linear0 ─► norm0 ─► linear1 ─► norm1 ─► … ─► readout ─► one score a class
        └──────────────────── depth times ─────────┘
"""

from __future__ import annotations

import math
from collections import OrderedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lntheory.errors import InvalidInputError
from lntheory.nn import make_norm
from training.config import RunConfig

__all__ = ["build", "initial_parameters", "linear_shapes", "mlp", "parameter_dtype"]


def mlp(
    norm: str,
    n_in: int,
    width: int,
    depth: int,
    n_classes: int,
    num_groups: int | None = None,
    *,
    eps: float = 1e-5,
    affine: bool = True,
) -> nn.Sequential:
    """The net of the random-label table: no activation, so a norm is its only nonlinearity.

    Parameters
    ----------
    norm : str
        "linear" for a single Linear (depth 0), else a kind of `lntheory.nn.make_norm`; "none" gives a deep
        linear net.
    n_in, width, depth, n_classes : int
    num_groups : int, optional
        For the norms with groups.
    eps, affine
        Of every norm.

    Returns
    -------
    nn.Sequential
        Takes (n, n_in), gives (n, n_classes). Its layers are named ``linear0``, ``norm0``, …, ``readout``.

    Examples
    --------
    >>> [name for name, _ in mlp("ln", 64, 16, 2, 10).named_children()]
    ['linear0', 'norm0', 'linear1', 'norm1', 'readout']
    """
    if (norm == "linear") != (depth == 0):
        raise InvalidInputError(f"norm {norm!r} with depth {depth}: 'linear', and only it, has depth 0")
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for name, (n_out, n_features) in linear_shapes(n_in, width, depth, n_classes).items():
        layers[name] = nn.Linear(n_features, n_out)
        if name != "readout":
            kind = name.replace("linear", "norm")
            layers[kind] = make_norm(norm, width, num_groups=num_groups, eps=eps, affine=affine, dim=0)
    return nn.Sequential(layers)


def linear_shapes(n_in: int, width: int, depth: int, n_classes: int) -> dict[str, tuple[int, int]]:
    """Shape of every Linear's weight, by the layer's name.

    Examples
    --------
    >>> linear_shapes(64, 16, 2, 10)
    {'linear0': (16, 64), 'linear1': (16, 16), 'readout': (10, 16)}
    """
    sizes = [n_in, *[width] * depth, n_classes]
    names = [*(f"linear{k}" for k in range(depth)), "readout"]
    return {
        name: (n_out, n_features)
        for name, n_features, n_out in zip(names, sizes[:-1], sizes[1:], strict=True)
    }


def initial_parameters(config: RunConfig, n_in: int, n_classes: int) -> dict[str, Tensor]:
    """Initial weights and biases of every Linear, in float64, named as in the net's state dict.

    Uniform in ±1/sqrt(fan-in), as torch's own. Layer k depends on (seed, k) and its shape alone: not on the
    norm, the depth, the precision, the device, or the version of torch, so that nets that differ in one
    of these start equal. The norms' own parameters start at scale 1 and shift 0, as they are built.

    Examples
    --------
    >>> parameters = initial_parameters(RunConfig(norm="ln", width=16, depth=1, seed=5), 4, 3)
    >>> {name: tuple(value.shape) for name, value in parameters.items()}
    {'linear0.weight': (16, 4), 'linear0.bias': (16,), 'readout.weight': (3, 16), 'readout.bias': (3,)}
    """
    parameters: dict[str, Tensor] = {}
    for name, (n_out, n_features) in linear_shapes(n_in, config.width, config.depth, n_classes).items():
        place = 0 if name == "readout" else 1 + int(name.removeprefix("linear"))
        numbers = (2 * _uniform((config.seed, place), n_out * (n_features + 1)) - 1) / math.sqrt(n_features)
        values = torch.from_numpy(numbers)
        parameters[f"{name}.weight"] = values[: n_out * n_features].reshape(n_out, n_features).clone()
        parameters[f"{name}.bias"] = values[n_out * n_features :].clone()
    return parameters


def _uniform(entropy: tuple[int, ...], count: int) -> NDArray[np.float64]:
    """Numbers in [0, 1) of 53 bits. NumPy promises its raw bits for ever, not its distributions."""
    raw = np.random.PCG64(np.random.SeedSequence(entropy)).random_raw(count)
    return (np.asarray(raw, dtype=np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def parameter_dtype(config: RunConfig) -> torch.dtype:
    """The type that weights, and the samples, are kept in."""
    return torch.float64 if config.precision == "64-true" else torch.float32


def build(config: RunConfig, n_in: int, n_classes: int) -> nn.Sequential:
    """The net of a run, with its initial parameters, on the CPU in `parameter_dtype`."""
    model = mlp(
        config.norm,
        n_in,
        config.width,
        config.depth,
        n_classes,
        config.num_groups,
        eps=config.norm_eps,
        affine=config.affine,
    ).to(parameter_dtype(config))
    with torch.no_grad():
        for name, value in initial_parameters(config, n_in, n_classes).items():
            model.get_parameter(name).copy_(value)
    return model
