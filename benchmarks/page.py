"""One page of results: a claim of what is measured, and a table of what was."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Page:
    """A table with its heading and the words that say what its numbers mean."""

    title: str
    text: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The page as GitHub-flavoured Markdown."""
        lines = [list(self.header), ["---"] * len(self.header), *map(list, self.rows)]
        table = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
        return f"## {self.title}\n\n{self.text}\n\n{table}\n"


ENOUGH = 20.0
"""Seconds after which nothing is repeated: what takes so long is not decided by chance."""


def timed(function: Callable[[], T], repeats: int = 3) -> tuple[float, T]:
    """Median processor seconds of the repeats (fewer, if they come to `ENOUGH`), and the last result.

    Processor time, not time on the wall: a busy neighbour matters less.
    """
    seconds: list[float] = []
    while len(seconds) < repeats and sum(seconds) < ENOUGH:
        start = time.process_time()
        result = function()
        seconds.append(time.process_time() - start)
    return median(seconds), result


def show(seconds: float) -> str:
    """Seconds to three digits."""
    return f"{seconds:.3g}"


def machine() -> str:
    """Processor, cores, how busy they were at the end, and the versions that matter."""
    packages = ("numpy", "scipy", "python-flint", "sympy", "torch")
    versions = [f"Python {platform.python_version()}", *(f"{name} {_version(name)}" for name in packages)]
    cores = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    return f"{_processor()}, {cores}, {platform.system()}; {', '.join(versions)}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
