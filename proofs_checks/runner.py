"""Proofs, instances and false twins of many claims, and the table of them."""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from lntheory.base.parallel import n_workers, parallel_map

from .claim import Claim, Evidence, Instance, Method, Verdict
from .registry import claims, find

__all__ = ["Result", "check", "run", "table", "values"]

_WIDTHS = (38, 12, 8, 15, 22, 22, 9, 7)
_WIDE = 174
"""Columns that the whole table takes."""
_COLOURS = {
    Verdict.PROVED: "green",
    Verdict.HOLDS_ON_SAMPLES: "yellow",
    Verdict.SKIPPED: "yellow",
    Verdict.UNDECIDED: "red",
    Verdict.REFUTED: "red",
}


@dataclass(frozen=True)
class Result:
    """One claim, checked.

    Attributes
    ----------
    claim : Claim
    evidence : Evidence
        Of the proof; REFUTED if an exact instance fails, whatever the proof says.
    twin : Evidence
        Of the same proof on the false twin.
    n_instances : int
        Exact instances that hold.
    seconds : float
    """

    claim: Claim[Any]
    evidence: Evidence
    twin: Evidence
    n_instances: int
    seconds: float

    @property
    def failures(self) -> tuple[str, ...]:
        """Why this claim fails, in words; empty if it does not."""
        name, reasons = self.claim.name, []
        if self.evidence.verdict in (Verdict.UNDECIDED, Verdict.REFUTED):
            reasons.append(f"{name} is {self.evidence.outcome}: {self.evidence.detail}")
        # Without z3 neither is decided; a claim that is proved without it has its twin refuted without it.
        both_skipped = self.evidence.verdict is self.twin.verdict is Verdict.SKIPPED
        if self.twin.verdict is not Verdict.REFUTED and not both_skipped:
            reasons.append(
                f"the false twin of {name} is {self.twin.outcome}, not refuted: {self.twin.detail}"
            )
        return tuple(reasons)


def check(claim: Claim[Any], *, deep: bool = False) -> Result:
    """Prove one claim, compute its instances, and refute its false twin.

    An exception inside a proof leaves the claim undecided, which is a failure of claim and twin alike.
    """
    start = time.perf_counter()
    evidence, n_instances = _guarded(claim, deep), 0
    try:
        instances = claim.instances()
        n_instances = sum(instance.holds for instance in instances)
        failed = next((instance for instance in instances if not instance.holds), None)
    except Exception as error:
        evidence = _raised(error)
    else:
        if failed is not None:
            evidence = _contradicted(failed)
    twin = _guarded(claim.false_twin, deep=False)
    return Result(claim, evidence, twin, n_instances, time.perf_counter() - start)


def run(
    names: Sequence[str] | None = None,
    *,
    deep: bool = False,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Check claims in parallel; the order of the results is that of the registry.

    Parameters
    ----------
    names : sequence of str, optional
        Only these; all by default.
    deep : bool
    n_jobs : int, optional
        Processes; by default as many as there are cores.
    progress : callable (done, total), optional
    """
    chosen = [c.name for c in claims()] if names is None else [find(name).name for name in names]
    if len(chosen) == 1:
        return [check(find(chosen[0]), deep=deep)]
    check_named = functools.partial(_check_named, deep=deep)
    checked = parallel_map(check_named, chosen, n_jobs=min(len(chosen), n_workers(n_jobs)), progress=progress)
    return [Result(find(name), evidence, twin, n, seconds) for name, evidence, twin, n, seconds in checked]


def table(results: Sequence[Result], width: int | None = None) -> Table:
    """One row a claim. Where `width` columns cannot hold everything, source and values stand below the
    name."""
    shown = _wide_table(results) if width is None or width >= _WIDE else _narrow_table(results, width)
    claims = _counted(result.evidence for result in results)
    twins = _counted(result.twin for result in results)
    shown.caption = f"Claims: {claims}. False twins: {twins}."
    shown.caption_justify = "left"
    return shown


def _counted(evidence: Iterable[Evidence]) -> str:
    """How many of each verdict, best first."""
    count = Counter(item.verdict for item in evidence)
    return ", ".join(f"{count[verdict]} {verdict.value}" for verdict in Verdict if count[verdict])


def _wide_table(results: Sequence[Result]) -> Table:
    names = ("claim", "source", "kind", "established", "computed", "claimed", "verdict", "false twin")
    shown = Table(box=SIMPLE, show_lines=True)
    for name, width in zip(names, _WIDTHS, strict=True):
        shown.add_column(name, overflow="fold", min_width=width, max_width=width)
    shown.add_column("cases", justify="right", no_wrap=True)
    shown.add_column("s", justify="right", no_wrap=True)
    for result in results:
        claim, evidence = result.claim, result.evidence
        cells = (claim.name, claim.source, claim.kind, evidence.how, evidence.shown, evidence.claimed)
        shown.add_row(
            *(Text(cell) for cell in cells),
            *_outcome(result),
            str(result.n_instances),
            f"{result.seconds:.1f}",
        )
    return shown


def _narrow_table(results: Sequence[Result], width: int) -> Table:
    shown = Table(box=SIMPLE, show_lines=True, width=width)
    shown.add_column("claim", overflow="fold", ratio=1)
    for name, least in (("verdict", 9), ("false twin", 10)):
        shown.add_column(name, overflow="fold", min_width=least, max_width=least)
    shown.add_column("s", justify="right", no_wrap=True)
    for result in results:
        claim, evidence = result.claim, result.evidence
        lines = [f"{claim.source}, {claim.kind}, {evidence.how}", f"computed: {evidence.shown}"]
        lines.append(f"claimed: {evidence.claimed}")
        about = Text(claim.name, "bold").append("\n" + "\n".join(lines), "not bold")
        shown.add_row(about, *_outcome(result), f"{result.seconds:.1f}")
    return shown


def _outcome(result: Result) -> tuple[Text, Text]:
    """The verdicts on claim and twin, in colours; a twin that passes is marked."""
    evidence, twin = result.evidence, result.twin
    refused = twin.verdict is Verdict.REFUTED or twin.verdict is evidence.verdict is Verdict.SKIPPED
    refusal = Text(twin.outcome if refused else f"{twin.outcome}!", "green" if refused else "red")
    return Text(evidence.outcome, _COLOURS[evidence.verdict]), refusal


def values(result: Result) -> dict[str, Any]:
    """The fields of a result for programs, as JSON takes them."""
    claim, evidence, twin = result.claim, result.evidence, result.twin
    return {
        "name": claim.name,
        "topic": claim.topic.value,
        "title": claim.title,
        "statement": claim.statement,
        "latex": claim.latex,
        "hypotheses": list(claim.hypotheses),
        "source": claim.source,
        "kind": claim.kind.value,
        "established": evidence.how,
        "is_theorem": evidence.verdict is Verdict.PROVED,
        "computed": evidence.shown,
        "claimed": evidence.claimed,
        "verdict": evidence.outcome,
        "detail": evidence.detail,
        "instances": result.n_instances,
        "false_twin": {"statement": claim.twin.statement, "verdict": twin.outcome, "detail": twin.detail},
        "seconds": round(result.seconds, 3),
        "failures": list(result.failures),
    }


def _check_named(name: str, deep: bool) -> tuple[str, Evidence, Evidence, int, float]:
    """What a worker process sends back; a claim holds functions, which cannot be pickled."""
    result = check(find(name), deep=deep)
    return name, result.evidence, result.twin, result.n_instances, result.seconds


def _guarded(claim: Claim[Any], deep: bool) -> Evidence:
    try:
        return claim.prove(deep=deep)
    except Exception as error:
        return _raised(error)


def _raised(error: Exception) -> Evidence:
    detail = f"the check raised {type(error).__name__}: {error}"
    return Evidence(Method.EXHAUSTIVE, (), "no error", Verdict.UNDECIDED, detail)


def _contradicted(failed: Instance) -> Evidence:
    return Evidence(
        Method.EXHAUSTIVE, failed.computed, str(failed.claimed), Verdict.REFUTED, f"instance {failed}"
    )
