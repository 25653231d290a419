"""Shattering: labelings built and proved a second, records proved afresh, and all claims."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.page import Page, show, timed
from lntheory import exact, vc
from lntheory.exact.shattering import labeling, net_from_line, net_to_line, prove_signs

DEPTHS = (4, 8, 10)
LABELINGS = 40
SEED = 0

TEXT = (
    f"{LABELINGS} random labelings (seed {SEED}) of points on the unit circle: for each a width-3 LN-Net of "
    "depth at most L is built and every sign proved, as `vc.build_lower_bound` does for all of them; then "
    "each is read back and proved afresh, as `exact.verify_shattering` does. *All* is the number of pairs of "
    "labelings, and of nets in a full record. A second is one of processor time, so these are rates of one "
    "core; median of 3."
)
HEADER = ("L", "points", "", "all", "built and proved / s", "proved afresh / s", "margin ≥")


def _row(depth: int, n_samples: int, name: str) -> tuple[str, ...]:
    points = vc.witness(n_samples, 2, depth)
    rng = np.random.default_rng(SEED)
    numbers = rng.integers(1, 2 ** (n_samples - 1), size=LABELINGS).tolist()
    building, nets = timed(lambda: [vc.net_of_labeling(points, depth, number, SEED) for number in numbers])
    lines = [net_to_line(net) for net in nets if net is not None]
    assert len(lines) == LABELINGS, "a labeling was not built"

    def prove() -> float:
        return min(
            prove_signs(net_from_line(line), points, labeling(number, n_samples))
            for line, number in zip(lines, numbers, strict=True)
        )

    proving, margin = timed(prove)
    rates = (_rate(LABELINGS, seconds) for seconds in (building, proving))
    return (str(depth), str(n_samples), name, f"{2 ** (n_samples - 1):,}", *rates, f"{margin:.1e}")


def _rate(count: int, seconds: float) -> str:
    """A second, to three digits."""
    return f"{float(show(count / seconds)):,.10g}"


def _rows() -> Iterator[tuple[str, ...]]:
    for depth in DEPTHS:
        for n_samples, name in (
            (depth + 2, "paper's, L + 2"),
            (2 * depth + 3, "2L + 3"),
            (4 * depth + 1, "4L + 1"),
        ):
            yield _row(depth, n_samples, name)


def _records() -> Iterator[tuple[str, ...]]:
    """Whole records."""
    for depth, n_samples in ((2, 9), (4, 11)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "record.json.gz")
            start = time.process_time()
            vc.build_lower_bound(depth, 2, path=path, n_samples=n_samples)
            both = time.process_time() - start
            verifying, proof = timed(lambda record=path: exact.verify_shattering(record))
            size = path.stat().st_size
        building = both - verifying  # a record is verified before it counts as built
        yield (
            str(depth),
            str(n_samples),
            f"{proof.n_nets:,}",
            show(building),
            show(verifying),
            _rate(proof.n_nets, verifying),
            f"{size / 1024:.0f}",
        )


def _claims() -> tuple[str, ...]:
    """``python -m proofs_checks`` as a user runs it; seconds on the wall, and of all processors together."""
    spent, start = _children(), time.perf_counter()
    command = [sys.executable, "-m", "proofs_checks", "--json"]
    run = subprocess.run(command, capture_output=True, check=True, text=True)
    wall, used = time.perf_counter() - start, _children() - spent
    report = json.loads(run.stdout)
    slowest = max(report["claims"], key=lambda claim: claim["seconds"])
    return (
        str(len(report["claims"])),
        report["status"],
        str(os.cpu_count()),
        show(wall),
        show(used),
        f"{slowest['name']}, {show(slowest['seconds'])}",
    )


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def pages() -> Iterator[Page]:
    """Rates, whole records, claims."""
    yield Page("Labelings built and proved", TEXT, HEADER, list(_rows()))
    yield Page(
        "Records of shattered sets",
        "`vc.build_lower_bound` over all labelings with one worker, and `exact.verify_shattering` of the "
        "file. Processor seconds: one run (build), median of 3 (verify).",
        ("L", "points", "nets", "build s", "verify s", "nets verified / s", "KiB"),
        list(_records()),
    )
    yield Page(
        "All claims",
        "`python -m proofs_checks`, one run: seconds on the wall (other work on the machine counts) and "
        "processor seconds of all workers.",
        ("claims", "status", "cores", "wall s", "processor s", "slowest, wall s"),
        [_claims()],
    )
