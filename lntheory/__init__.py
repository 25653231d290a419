"""Layer normalization as a nonlinearity: separability, shattering LN-Nets, exact certificates.

```
lntheory
├── layer_norm, rms_norm, group_layer_norm     the normalizations, without epsilon, in float64
├── ssr, lssr, separability, ScatterAccumulator the separability of labelled points, in float64
├── LNNet, shatter                             an explicit net that fits every labelled point
├── exact                                      the same functions without rounding, and `certify`
├── nonlinearity, vc, bounds                   the Hessian indicator; VC dimension, built and bounded
├── circle, plotting                           what a net of width 3 does to points: numbers, pictures
├── construct, network, data                   constructions, nets as values, labelled data
└── nn                                         layers, probes and nets in torch (an extra)
```

A float result never calls itself exact: `lntheory.lssr` rounds, `lntheory.exact.lssr` does not. Submodules,
`LNNet` and `shatter` are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lntheory._version import __version__
from lntheory.normalization import group_layer_norm, layer_norm, rms_norm
from lntheory.separability import ScatterAccumulator, Separability, lssr, separability, ssr

if TYPE_CHECKING:
    from lntheory import bounds as bounds
    from lntheory import circle as circle
    from lntheory import construct as construct
    from lntheory import data as data
    from lntheory import exact as exact
    from lntheory import network as network
    from lntheory import nn as nn
    from lntheory import nonlinearity as nonlinearity
    from lntheory import plotting as plotting
    from lntheory import vc as vc
    from lntheory.construct import shatter
    from lntheory.network import LNNet


__all__ = [
    "LNNet",
    "ScatterAccumulator",
    "Separability",
    "__version__",
    "exact",
    "group_layer_norm",
    "layer_norm",
    "lssr",
    "rms_norm",
    "separability",
    "shatter",
    "ssr",
]

# Imported on first use: a caller of `layer_norm` need not wait for constructions, matplotlib or torch.
_LAZY = {
    "LNNet": "lntheory.network",
    "shatter": "lntheory.construct",
    "bounds": "lntheory",
    "circle": "lntheory",
    "construct": "lntheory",
    "data": "lntheory",
    "exact": "lntheory",
    "network": "lntheory",
    "nn": "lntheory",
    "nonlinearity": "lntheory",
    "plotting": "lntheory",
    "vc": "lntheory",
}
"""Public name -> the package that holds it; names held by "lntheory" are submodules."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'lntheory' has no attribute {name!r}")
    package = _LAZY[name]
    if package == "lntheory":
        return import_module(f"lntheory.{name}")  # which also sets the attribute
    value = getattr(import_module(package), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__) | set(_LAZY))
