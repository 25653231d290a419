"""Run the pages and write RESULTS.md beside this file: ``python -m benchmarks [PAGE ...]``.

With names of pages only those are run, and printed; else RESULTS.md grows page by page.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported: processor seconds of one core

from benchmarks import depth, exact_lssr, float64_reach, perceptron, shattering, stacked, torch_norms, vc
from benchmarks.page import Page, machine
from lntheory.base import jsonfile

PAGES = {"exact_lssr": exact_lssr, "shattering": shattering, "float64_reach": float64_reach,
         "perceptron": perceptron, "vc": vc, "depth": depth,
         "torch_norms": torch_norms, "stacked": stacked}  # fmt: skip


def main(names: list[str]) -> int:
    """Run pages by name, or all."""
    unknown = [name for name in names if name not in PAGES]
    if unknown:
        print(f"no page {unknown[0]!r}; there are {', '.join(PAGES)}", file=sys.stderr)
        return 2
    results: list[Page] = []
    for name in names or PAGES:
        for page in PAGES[name].pages():
            print(page.markdown(), flush=True)
            results.append(page)
            if not names:
                _write(results)
    return 0


def _write(results: list[Page]) -> None:
    head = f"# Benchmarks\n\nWritten by `make bench` on {machine()}.\n"
    text = "\n".join([head, *(page.markdown() for page in results)])
    jsonfile.write(Path(__file__).with_name("RESULTS.md"), text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
