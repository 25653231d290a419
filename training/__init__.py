"""Training of nets with normalization: data, models, one loop for one net or many, records, tables.

::

    experiments/   one thin file a table: claim, data, device, versions, n
      │  ├─ models/   nets by name            no torch until one is built
      │  ├─ data/     sets by name            no torch
      │  ├─ run/      config, grid, record    no torch
      │  ├─ engine/   one loop                torch and Lightning Fabric
      │  └─ tables/   tables and figures      from records alone, no torch
    cli            python -m training ...

Imports run one way: data and models know nothing of the rest, run knows models and data, engine knows run,
tables know run, experiments know all.

    from training import train
    result = train(model, data, config)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engine import load_weights, train, train_grid
    from .run.config import RunConfig

__all__ = ["RunConfig", "load_weights", "train", "train_grid"]


def __getattr__(name: str) -> Any:
    """Torch takes a second: it is imported when the first of these names is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = ".run.config" if name == "RunConfig" else ".engine"
    return getattr(import_module(place, __name__), name)
