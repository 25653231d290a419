"""What each process does in tests of many processes: ``torchrun ... -m tests.training.parallel FOLDER``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

from lntheory.errors import InvalidInputError
from tests.training.small import small_config, small_data
from training import train
from training.run.config import RunConfig

# 23 samples in batches of 11: the last batch has one sample, so one of two processes gets none.
RUNS = {
    "sgd": small_config(
        "ln",
        **{"optimizer.name": "sgd", "precision": "64-true", "batch_size": 11, "epochs": 4, "clip_norm": 0.5},
    ),
    "adam": small_config("rms-g", precision="64-true", accumulation=2),
}
OWN = RunConfig(epochs=3, batch_size=10, precision="64-true", optimizer={"lr": 0.05})
STOPPED = 7


def own_net() -> torch.nn.Module:
    """A module that `training.models` does not know."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 5))


def own_data() -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences of three tokens, a third of them padding."""
    generator = torch.Generator().manual_seed(0)
    X, y = torch.randn(23, 3, 4, generator=generator), torch.randint(0, 5, (23, 3), generator=generator)
    return X, y.masked_fill(torch.rand(23, 3, generator=generator) < 1 / 3, -100)


def main(folder: Path) -> None:
    """Train every run whole and up to a stop, and note how batch norm is refused."""

    def run(config: RunConfig, name: str | None = None, stop: int | None = None) -> None:
        place = None if name is None else folder / name
        train(None, small_data(), config, device="cpu", threads=1, folder=place, stop_after_steps=stop)

    for name, config in RUNS.items():
        run(config, f"{name}.whole")
        run(config, f"{name}.stopped", STOPPED)
    train(own_net(), own_data(), OWN, device="cpu", threads=1, folder=folder / "own.whole")
    try:
        run(small_config("bn"))
    except InvalidInputError as error:
        (folder / f"bn.{os.environ['RANK']}").write_text(str(error))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
