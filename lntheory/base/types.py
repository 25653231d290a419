"""Names of types that many signatures share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

__all__ = ["FloatArray", "IntArray", "NormalizationKind", "Progress"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

Progress = Callable[[int, int], None]
"""Called as ``progress(done, total)`` in long work; `done` never decreases unless a docstring says so."""

NormalizationKind = Literal["layer_norm", "rms_norm", "group_layer_norm"]
"""The normalizations of the library, by the names of their functions."""
