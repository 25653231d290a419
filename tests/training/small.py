"""A small data set and small runs on it, for tests of training."""

from __future__ import annotations

from typing import Any

import numpy as np

from training.data import ImageData, Split, data_sha256
from training.models import MLP
from training.models.parameters import GROUPED
from training.run.config import Data, RunConfig, Schedule, varied

N_SAMPLES, BATCH_SIZE, EPOCHS = 23, 5, 3
STEPS = EPOCHS * -(-N_SAMPLES // BATCH_SIZE)

NORMS = ("linear", "none", "ln", "ln-g", "gn", "rms", "rms-g", "bn")
OPTIMIZERS = ("sgd", "adam", "adamw")


def small_data(n_samples: int = N_SAMPLES, seed: int = 0, n_test: int = 0) -> ImageData:
    """Noise of shape (1, 2, 3) in three classes."""
    generator = np.random.default_rng(seed)
    train, test = (
        Split(generator.random((n, 1, 2, 3), dtype=np.float32), generator.integers(0, 3, n)) if n else None
        for n in (n_samples, n_test)
    )
    assert train is not None
    return ImageData("small", train, test, 3, True, data_sha256(train, test), "noise")


def small_net(norm: str = "ln", **fields: Any) -> MLP:
    """Two layers of eight neurons, two groups."""
    groups = {"num_groups": 2} if norm in GROUPED else {}
    return MLP(**{"norm": norm, "depth": 0 if norm == "linear" else 2, "width": 8, **groups, **fields})


def small_config(norm: str = "ln", **changes: Any) -> RunConfig:
    """Fifteen steps, the last of every epoch on three samples; other fields by dotted names."""
    base = RunConfig(
        data=Data(name="small", label_seed=0), model=small_net(norm), optimizer={"lr": 0.05, "momentum": 0.1},
        schedule=Schedule(name="step", every=2, gamma=0.5), batch_size=BATCH_SIZE, epochs=EPOCHS,
    )  # fmt: skip
    return varied(base, changes)


def dotted(**changes: Any) -> dict[str, Any]:
    """``optimizer__lr=1`` as ``{"optimizer.lr": 1}``, for keyword arguments."""
    return {name.replace("__", "."): value for name, value in changes.items()}
