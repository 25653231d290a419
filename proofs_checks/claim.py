"""A claim, its false twin, and the evidence that a proof returns.

```
            ┌── form ────────┐                      ┌── PROVED
  Claim ────┤                ├──► proof(form) ──────┤
            │  (true)        │    examples(form)    └── REFUTED ◄── must be the verdict on the twin
            └── twin.form ───┘    property_test
               (false, nearby)
```

What is checked is the *form*: the formula, number or predicate in which a true statement and its false twin
differ. Proof, instances and property all take it, so that the very machinery which accepts the claim is seen
to refuse the twin. A checker that accepts anything accepts the twin as well, and the run fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, TypeVar

__all__ = [
    "Claim",
    "ClaimKind",
    "Evidence",
    "FalseTwin",
    "Instance",
    "Method",
    "Property",
    "Tally",
    "Theory",
    "Topic",
    "Verdict",
    "combine",
]

F = TypeVar("F")


class Topic(StrEnum):
    """The chapters of the table, in its order."""

    SEPARABILITY = "separability"
    NORMALIZATION = "normalization"
    CIRCLE = "circle"
    DEPTH = "depth"
    NONLINEARITY = "nonlinearity"


class ClaimKind(StrEnum):
    """What the claimed value is to the true one."""

    EQUALITY = "equality"
    TIGHT = "tight"
    """A bound that is attained."""
    LOWER = "lower"
    UPPER = "upper"


class Method(StrEnum):
    """How a statement was established, strongest first."""

    SYMBOLIC = "symbolic"
    SOLVER = "solver"
    EXHAUSTIVE = "exhaustive and exact"
    SAMPLED = "sampled"


class Theory(StrEnum):
    """Decidable (or not) theories of a solver: linear or nonlinear, over the integers or the reals."""

    LIA = "LIA"
    NIA = "NIA"
    LRA = "LRA"
    NRA = "NRA"

    @property
    def numbers(self) -> str:
        """What the solver quantifies over."""
        return "integers" if self in (Theory.LIA, Theory.NIA) else "reals"


class Verdict(StrEnum):
    """What a check concluded, best first. Only `PROVED` makes a theorem."""

    PROVED = "proved"
    HOLDS_ON_SAMPLES = "holds on samples"
    SKIPPED = "skipped"
    UNDECIDED = "undecided"
    REFUTED = "refuted"


_METHODS, _VERDICTS = list(Method), list(Verdict)


@dataclass(frozen=True)
class Tally:
    """One value that came out many times: a residual, a solver's answer, a kind of net.

    Examples
    --------
    >>> print(Tally("residual 0", 5), "and", Tally("unsat"))
    residual 0 (5 times) and unsat
    """

    value: Any
    times: int = 1

    def __str__(self) -> str:
        return f"{self.value} ({self.times} times)" if self.times > 1 else str(self.value)


@dataclass(frozen=True)
class Evidence:
    """What a proof returns.

    Attributes
    ----------
    method : Method
    computed : object, or tuple of objects
        The values that the check computed: numbers, formulas, `Tally`. They are kept as a tuple, and `shown`
        renders them. Empty if nothing was computed.
    claimed : str
        The value, or formula, that is claimed.
    verdict : Verdict
    detail : str
        The argument in a line or two, or the counterexample.
    theories : tuple of Theory
        Of a solver's proof, and only of one.
    n_samples : int
        Of a sampled check, and only of one.

    Raises
    ------
    ValueError
        If samples are called a proof, or a solver's proof does not say its theory.

    Examples
    --------
    >>> Evidence(Method.SAMPLED, 1, "1", Verdict.PROVED)
    Traceback (most recent call last):
        ...
    ValueError: samples prove nothing; the verdict is HOLDS_ON_SAMPLES, with n_samples
    """

    method: Method
    computed: Any
    claimed: str
    verdict: Verdict
    detail: str = ""
    theories: tuple[Theory, ...] = ()
    n_samples: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.computed, tuple):
            object.__setattr__(self, "computed", (self.computed,))
        sampled = self.method is Method.SAMPLED
        if sampled and self.verdict is Verdict.PROVED:
            raise ValueError("samples prove nothing; the verdict is HOLDS_ON_SAMPLES, with n_samples")
        if (self.verdict is Verdict.HOLDS_ON_SAMPLES) != (self.n_samples > 0) or (
            self.n_samples and not sampled
        ):
            raise ValueError("HOLDS_ON_SAMPLES and n_samples > 0 go together, and with SAMPLED")
        if (self.method is Method.SOLVER) != bool(self.theories):
            raise ValueError("a solver's proof says its theories, and no other does")

    @property
    def shown(self) -> str:
        """The computed values in words.

        Examples
        --------
        >>> Evidence(Method.EXHAUSTIVE, (6, Tally("unsat", 2)), "6", Verdict.PROVED).shown
        '6; unsat (2 times)'
        """
        return "; ".join(map(str, self.computed)) or "nothing"

    @property
    def how(self) -> str:
        """How the statement was established, in words.

        Examples
        --------
        >>> Evidence(Method.SOLVER, (), "", Verdict.PROVED, theories=(Theory.NRA,)).how
        'solver over all reals (NRA)'
        """
        if self.method is not Method.SOLVER:
            return self.method.value
        numbers = " and ".join(dict.fromkeys(theory.numbers for theory in self.theories))
        return f"solver over all {numbers} ({', '.join(self.theories)})"

    @property
    def outcome(self) -> str:
        """The verdict in words; of samples, with their number."""
        if self.verdict is Verdict.HOLDS_ON_SAMPLES:
            return f"holds on {self.n_samples} samples"
        return self.verdict.value


def combine(parts: Iterable[Evidence], claimed: str) -> Evidence:
    """One statement from all of its parts: the worst verdict, by the weakest method among those that gave it.

    What was computed is what the parts computed: equal tallies are added up and stand last. A refuted part
    settles the matter, so that the parts which an iterator has still to compute are left alone.

    Examples
    --------
    >>> lemma = Evidence(Method.SYMBOLIC, Tally("residual 0"), "0", Verdict.PROVED, "lemma")
    >>> cases = Evidence(Method.EXHAUSTIVE, 8, "8", Verdict.PROVED, "8 cases")
    >>> all_parts = combine([lemma, cases, lemma], "8")
    >>> all_parts.how, all_parts.outcome, all_parts.detail
    ('exhaustive and exact', 'proved', 'lemma; 8 cases')
    >>> all_parts.shown
    '8; residual 0 (2 times)'
    """
    parts = list(_up_to_a_refuted(parts))
    worst = max((part.verdict for part in parts), key=_VERDICTS.index)
    decisive = [part for part in parts if part.verdict is worst]
    method = max((part.method for part in decisive), key=_METHODS.index)
    theories = dict.fromkeys(theory for part in decisive for theory in part.theories)
    reported = decisive if worst is Verdict.REFUTED else parts
    return Evidence(
        method,
        _added_up(value for part in reported for value in part.computed),
        claimed if worst is not Verdict.REFUTED else decisive[0].claimed,
        worst,
        "; ".join(dict.fromkeys(part.detail for part in reported if part.detail)),
        tuple(theories) if method is Method.SOLVER else (),
        sum(part.n_samples for part in decisive),
    )


def _added_up(values: Iterable[Any]) -> tuple[Any, ...]:
    single: list[Any] = []
    tallied: dict[Any, int] = {}
    for value in values:
        if isinstance(value, Tally):
            tallied[value.value] = tallied.get(value.value, 0) + value.times
        elif value not in single:
            single.append(value)
    return (*single, *(Tally(value, times) for value, times in tallied.items()))


def _up_to_a_refuted(parts: Iterable[Evidence]) -> Iterator[Evidence]:
    for part in parts:
        yield part
        if part.verdict is Verdict.REFUTED:
            return


@dataclass(frozen=True)
class Instance:
    """One exact case: a value computed without rounding, against the one that is claimed.

    Examples
    --------
    >>> Instance("XOR", 1, 1).holds, Instance("XOR", 0, 1, ">=").holds
    (True, False)
    """

    name: str
    computed: Any
    claimed: Any
    relation: str = "=="

    @property
    def holds(self) -> bool:
        """Whether ``computed relation claimed``."""
        if self.relation == "==":
            return bool(self.computed == self.claimed)
        if self.relation == "<=":
            return bool(self.computed <= self.claimed)
        if self.relation == "<":
            return bool(self.computed < self.claimed)
        if self.relation == ">=":
            return bool(self.computed >= self.claimed)
        raise ValueError(f"relation is {self.relation!r}; use ==, <=, < or >=")

    def __str__(self) -> str:
        return f"{self.name}: {self.computed} {self.relation} {self.claimed}"


@dataclass(frozen=True)
class Property(Generic[F]):
    """What Hypothesis tests: data drawn by a strategy, decided exactly.

    Attributes
    ----------
    strategy : callable () -> hypothesis SearchStrategy
        Called only by tests, so that the claims need no Hypothesis.
    holds : callable (form, drawn) -> bool
        Exact: no tolerance.
    """

    strategy: Callable[[], Any]
    holds: Callable[[F, Any], bool]


@dataclass(frozen=True)
class FalseTwin(Generic[F]):
    """A nearby false statement.

    Attributes
    ----------
    statement : str
    form : object
        What proof, instances and property of the claim are run on; the proof must refute it.
    """

    statement: str
    form: F


@dataclass(frozen=True)
class Claim(Generic[F]):
    """One statement, written once.

    Attributes
    ----------
    name : str
        Slug: lower case, hyphens.
    topic : Topic
    title : str
    statement : str
        In words.
    latex : str
        Without dollar signs.
    hypotheses : tuple of str
    source : str
        "paper" (with the theorem or section where known), "ours" or "classical".
    kind : ClaimKind
    form : object
        What the statement and its false twin differ in.
    proof : callable (form) -> Evidence
    twin : FalseTwin
    examples : callable (form) -> iterable of Instance
    property_test : Property or None
    deep : callable (form) -> Evidence, or None
        The proof on more cases, run in place of `proof` when asked for.
    """

    name: str
    topic: Topic
    title: str
    statement: str
    latex: str
    hypotheses: tuple[str, ...]
    source: str
    kind: ClaimKind
    form: F
    proof: Callable[[F], Evidence] = field(repr=False)
    twin: FalseTwin[F] = field(repr=False)
    examples: Callable[[F], Iterable[Instance]] = field(repr=False, default=lambda form: ())
    property_test: Property[F] | None = field(repr=False, default=None)
    deep: Callable[[F], Evidence] | None = field(repr=False, default=None)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name):
            raise ValueError(f"the name {self.name!r} is no slug of lower-case words and hyphens")
        if not re.match(r"(paper|ours|classical)\b", self.source):
            raise ValueError(f"{self.name}: source is {self.source!r}; start with paper, ours or classical")

    def prove(self, *, deep: bool = False) -> Evidence:
        """Run the proof; with `deep`, on more cases where there are more."""
        return (self.deep if deep and self.deep else self.proof)(self.form)

    def instances(self) -> tuple[Instance, ...]:
        """The exact instances, computed."""
        return tuple(self.examples(self.form))

    @property
    def false_twin(self) -> Claim[F]:
        """The nearby false statement, with the very checkers of this one."""
        return replace(self, statement=self.twin.statement, form=self.twin.form)
