"""Every claim, found in `proofs_checks.claims`: chapter by chapter, by name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from proofs_checks import claims as package
from proofs_checks.claim import Claim, Topic

__all__ = ["claims", "find"]

_TOPICS = list(Topic)


@cache
def claims() -> tuple[Claim[Any], ...]:
    """All claims in a fixed order.

    Raises
    ------
    ValueError
        If a module of `proofs_checks.claims` defines no CLAIM, or one whose name is not the file's.
    """
    found = [_load(module.name) for module in iter_modules(package.__path__)]
    return tuple(sorted(found, key=lambda claim: (_TOPICS.index(claim.topic), claim.name)))


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


def _load(module: str) -> Claim[Any]:
    claim = getattr(import_module(f"{package.__name__}.{module}"), "CLAIM", None)
    if not isinstance(claim, Claim):
        raise ValueError(f"proofs_checks/claims/{module}.py defines no CLAIM")
    if claim.name != module.replace("_", "-"):
        raise ValueError(
            f"proofs_checks/claims/{module}.py defines the claim {claim.name!r}; rename one of them"
        )
    return claim
