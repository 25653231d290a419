"""Layer normalization in torch: layers, nets as modules, norms swapped in any model, probes.

This is the only part of the library that needs torch: ``pip install 'lntheory[torch]'``. It imports base,
errors, the float64 functions, network and exact; within the library only the command line imports it.
"""

from __future__ import annotations

from lntheory.errors import MissingDependencyError

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise MissingDependencyError("lntheory.nn needs torch; pip install 'lntheory[torch]'") from error

from lntheory.nn.bridge import LNSequential, export_program, from_torch, to_torch
from lntheory.nn.norms import (
    GroupLayerNorm,
    GroupLayerNormPosition,
    GroupNorm,
    GroupRMSNorm,
    InstanceNorm,
    LayerNorm,
    LayerNormPosition,
    Norm,
    RMSNorm,
)
from lntheory.nn.onnx import export_onnx
from lntheory.nn.probes import NonlinearityProbe, SeparabilityProbe
from lntheory.nn.registry import list_norms, make_norm
from lntheory.nn.reports import (
    LayerNonlinearity,
    LayerSeparability,
    NonlinearityReport,
    SeparabilityReport,
)
from lntheory.nn.swap import NormSwap, SwapReport, swap_norms

__all__ = [
    "GroupLayerNorm",
    "GroupLayerNormPosition",
    "GroupNorm",
    "GroupRMSNorm",
    "InstanceNorm",
    "LNSequential",
    "LayerNonlinearity",
    "LayerNorm",
    "LayerNormPosition",
    "LayerSeparability",
    "NonlinearityProbe",
    "NonlinearityReport",
    "Norm",
    "NormSwap",
    "RMSNorm",
    "SeparabilityProbe",
    "SeparabilityReport",
    "SwapReport",
    "export_onnx",
    "export_program",
    "from_torch",
    "list_norms",
    "make_norm",
    "swap_norms",
    "to_torch",
]
