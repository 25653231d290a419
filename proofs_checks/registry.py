"""Every claim, chapter by chapter, by name.

A claim is one file of `claims/` and one line here. A file without its line, a line without its file, and a
name that occurs twice are refused, so that no claim is forgotten and none is counted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from . import claims as package
from .claim import Claim, Topic

__all__ = ["NAMES", "checked_names", "claims", "find"]

NAMES = (
    # separability
    "lssr-affine-invariance",
    "lssr-bounds",
    "lssr-least-eigenvalue",
    "lssr-monotone",
    "lssr-one-iff-means-coincide",
    "lssr-r-squared",
    "lssr-two-class-closed-form",
    "lssr-zero-iff-separating-direction",
    "xor-one-ln-layer",
    # normalization
    "ln-idempotent",
    "ln-scaling-after-centering",
    "ln-shift-scale-invariance",
    "ln-width-three-circle",
    # circle
    "inside-centre-keeps-order",
    "merge-iff-outside-on-line",
    "readout-iff-no-crossing",
    "rmsnorm-width-two",
    "two-chords-one-centre",
    "width-three-minimal",
    # depth
    "alternating-depth-lower-bound",
    "cosine-beyond-one-layer",
    "four-runs-one-layer",
    "minority-merge-depth",
    "minority-merge-depth-general-position",
    "nine-points-three-layers",
    "one-turning-point",
    "pair-merge-depth",
    "pair-merge-depth-general-position",
    "projection-merge-depth",
    "three-points-are-read-out",
    "vc-dimension-counting",
    "vc-dimension-line",
    "vc-dimension-on-a-line",
    "vc-dimension-one-layer",
    "vc-dimension-pairs",
    "vc-dimension-pairs-line",
    "vc-dimension-paper",
    "vc-dimension-plane",
    "vc-dimension-two-layers",
    # nonlinearity
    "amplification-above-eighth",
    "amplification-at-least-one",
    "amplification-best-divisor",
    "amplification-best-real-groups",
    "amplification-bound",
    "amplification-equality",
    "groups-of-two-are-signs",
    "hessian-of-group-layer-norm",
    "hessian-of-layer-norm",
    "hessian-of-rms-norm",
    "hessian-of-scaling",
)
"""The names of all claims; the claim "lssr-bounds" is `CLAIM` of ``claims/lssr_bounds.py``."""

TEMPLATE = "TEMPLATE"
"""The file to copy for a new claim; not itself a claim."""

_TOPICS = list(Topic)


@cache
def claims() -> tuple[Claim[Any], ...]:
    """All claims in a fixed order.

    Raises
    ------
    ValueError
        If `NAMES` and the files of `claims/` differ, or a file defines no CLAIM of its own name.
    """
    files = [module.name for module in iter_modules(package.__path__) if module.name != TEMPLATE]
    loaded = [_load(name) for name in checked_names(NAMES, files)]
    return tuple(sorted(loaded, key=lambda claim: (_TOPICS.index(claim.topic), claim.name)))


def find(name: str) -> Claim[Any]:
    """The claim of that name.

    Raises
    ------
    KeyError
        With the names there are.
    """
    for claim in claims():
        if claim.name == name:
            return claim
    raise KeyError(f"no claim is called {name!r}; there are: {', '.join(c.name for c in claims())}")


def checked_names(names: Sequence[str], files: Iterable[str]) -> Sequence[str]:
    """The names, if they are those of the files, each once.

    Raises
    ------
    ValueError
        Naming what is registered twice, has no file, or is not registered.

    Examples
    --------
    >>> checked_names(["lssr-bounds"], ["lssr_bounds", "new_bound"])
    Traceback (most recent call last):
        ...
    ValueError: proofs_checks/claims/new_bound.py is not registered; add "new-bound" to NAMES in registry.py
    """
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"{', '.join(twice)} is registered twice; remove one line of NAMES in registry.py")
    expected = {name.replace("-", "_"): name for name in names}
    files = set(files)
    for file in sorted(files - expected.keys()):
        raise ValueError(
            f"proofs_checks/claims/{file}.py is not registered; "
            f'add "{file.replace("_", "-")}" to NAMES in registry.py'
        )
    for file in sorted(expected.keys() - files):
        raise ValueError(
            f'"{expected[file]}" is registered, but there is no proofs_checks/claims/{file}.py; '
            "write the file or remove the line of NAMES in registry.py"
        )
    return names


def _load(name: str) -> Claim[Any]:
    file = name.replace("-", "_")
    claim = getattr(import_module(f"{package.__name__}.{file}"), "CLAIM", None)
    if not isinstance(claim, Claim):
        raise ValueError(f"proofs_checks/claims/{file}.py defines no CLAIM")
    if claim.name != name:
        raise ValueError(
            f"proofs_checks/claims/{file}.py defines the claim {claim.name!r}; rename one of them"
        )
    return claim
