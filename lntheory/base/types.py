"""Names of types that many signatures share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["FloatArray", "IntArray", "Progress"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

Progress = Callable[[int, int], None]
"""Called as ``progress(done, total)`` while long work goes on; `done` never decreases within one work."""
