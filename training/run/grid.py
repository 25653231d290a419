"""Grids: one config, varied."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .config import RunConfig, varied

__all__ = ["Axis", "Grid", "axis"]

Axis = Sequence[Mapping[str, Any]]
"""What is tried, one after the other: each entry changes some fields of the base config together."""


def axis(name: str, values: Sequence[Any]) -> Axis:
    """The axis of one field.

    Examples
    --------
    >>> axis("seed", [0, 1])
    [{'seed': 0}, {'seed': 1}]
    """
    return [{name: value} for value in values]


@dataclass(frozen=True)
class Grid:
    """The runs of an experiment: `base`, varied.

    ::

        base ─┬─ part 1: axis × axis × …
              └─ part 2: axis × axis × …

    Attributes
    ----------
    base : RunConfig
        What all runs share.
    parts : tuple of tuples of axes
        The runs of a part are all combinations of one entry of each axis, the last axis fastest.

    Examples
    --------
    >>> grid = Grid(RunConfig(epochs=1), ((axis("optimizer.lr", [0.1, 0.2]), axis("seed", [0, 1])),))
    >>> [(config.optimizer.lr, config.seed) for config in grid.configs()]
    [(0.1, 0), (0.1, 1), (0.2, 0), (0.2, 1)]
    """

    base: RunConfig
    parts: tuple[tuple[Axis, ...], ...]

    def configs(self) -> tuple[RunConfig, ...]:
        """Every run of the grid, in a fixed order.

        Raises
        ------
        InvalidInputError
            If there is a combination that no run has.
        """
        return tuple(
            varied(self.base, {name: value for change in changes for name, value in change.items()})
            for part in self.parts
            for changes in itertools.product(*part)
        )
