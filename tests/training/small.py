"""A small data set and small runs on it, for tests of training."""

from __future__ import annotations

import numpy as np

from training.config import GROUPED, RunConfig
from training.data import ImageData, Split, data_sha256

N_SAMPLES, BATCH_SIZE, EPOCHS = 23, 5, 3
STEPS = EPOCHS * -(-N_SAMPLES // BATCH_SIZE)


def small_data(n_samples: int = N_SAMPLES, seed: int = 0) -> ImageData:
    """Noise of shape (1, 2, 3) in three classes."""
    generator = np.random.default_rng(seed)
    split = Split(
        generator.random((n_samples, 1, 2, 3), dtype=np.float32), generator.integers(0, 3, n_samples)
    )
    return ImageData("small", split, None, 3, True, data_sha256(split), "noise")


def small_config(norm: str = "ln", **fields: object) -> RunConfig:
    """Fifteen steps, the last of every epoch on three samples."""
    settings: dict[str, object] = {
        "data": "small",
        "norm": norm,
        "num_groups": 2 if norm in GROUPED else None,
        "depth": 0 if norm == "linear" else 2,
        "width": 8,
        "batch_size": BATCH_SIZE,
        "epochs": EPOCHS,
        "lr": 0.05,
        "lr_step": 2,
        **fields,
    }
    return RunConfig(**settings)
