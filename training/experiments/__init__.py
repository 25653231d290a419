"""The experiments: one file a table, whose head says claim, data, device, versions and n.

To add one, copy ``TEMPLATE.py``, and name the copy in `EXPERIMENTS`.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["EXPERIMENTS", "experiment"]

EXPERIMENTS: dict[str, str] = {
    "random-labels": "random_labels",
}
"""The registry: the file that has the ``command`` of each name; it imports torch when it trains."""


def experiment(name: str) -> ModuleType:
    """The file of an experiment.

    Examples
    --------
    >>> experiment("random-labels").EXPERIMENT
    'random-labels'
    """
    return import_module(f".{EXPERIMENTS[name]}", __package__)
