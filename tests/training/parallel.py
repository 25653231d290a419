"""What each process does in tests of data parallelism: ``torchrun ... -m tests.training.parallel FOLDER``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lntheory.errors import InvalidInputError
from tests.training.small import small_config, small_data
from training.config import RunConfig
from training.engine import train

# 23 samples in batches of 11: the last batch has one sample, so one of two processes gets none.
RUNS = {
    "sgd": small_config("ln", optimizer="sgd", precision="64-true", batch_size=11, epochs=4),
    "adam": small_config("rms-g", optimizer="adam", precision="64-true"),
}
STOPPED = 7


def main(folder: Path) -> None:
    """Train every run whole and up to a stop, and note how batch norm is refused."""

    def run(config: RunConfig, name: str | None = None, stop: int | None = None) -> None:
        path = None if name is None else folder / name
        train(config, small_data(), device="cpu", checkpoint=path, stop_after_steps=stop)

    for name, config in RUNS.items():
        run(config, f"{name}.whole")
        run(config, f"{name}.stopped", STOPPED)
    try:
        run(small_config("bn"))
    except InvalidInputError as error:
        (folder / f"bn.{os.environ['RANK']}").write_text(str(error))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
