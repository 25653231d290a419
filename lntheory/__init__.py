"""Layer normalization as a nonlinearity: separability, shattering LN-Nets, exact certificates.

```
lntheory
├── layer_norm, rms_norm, group_layer_norm     the normalizations, without epsilon, in float64
├── ssr, lssr, separability, ScatterAccumulator how separable labelled points are, in float64
├── LNNet, shatter                             an explicit net that fits every labelled point
└── exact                                      the same verbs with no rounding, and `certify`
```

A float result never calls itself exact: `lntheory.lssr` rounds, `lntheory.exact.lssr` does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lntheory._version import __version__
from lntheory.normalization import group_layer_norm, layer_norm, rms_norm
from lntheory.separability import ScatterAccumulator, Separability, lssr, separability, ssr

if TYPE_CHECKING:
    from lntheory import exact
    from lntheory.construct.shatter import shatter
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

# Imported on first use: a caller of `layer_norm` need not wait for the constructions and flint.
_LAZY = {"LNNet": "lntheory.network", "shatter": "lntheory.construct.shatter", "exact": "lntheory.exact"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'lntheory' has no attribute {name!r}")
    module = import_module(_LAZY[name])
    value = module if name == "exact" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
