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
    "Evidence",
    "FalseTwin",
    "Instance",
    "Kind",
    "Method",
    "Property",
    "Theory",
    "Topic",
    "Verdict",
    "combine",
]

F = TypeVar("F")


class Topic(StrEnum):
    """Chapters, in the order of the table."""

    SEPARABILITY = "separability"
    NORMALIZATION = "normalization"
    CIRCLE = "circle"
    DEPTH = "depth"
    NONLINEARITY = "nonlinearity"


class Kind(StrEnum):
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
    """What came out, best first. Only `PROVED` is a theorem."""

    PROVED = "proved"
    HOLDS_ON_SAMPLES = "holds on samples"
    SKIPPED = "skipped"
    UNDECIDED = "undecided"
    REFUTED = "refuted"


_METHODS, _VERDICTS = list(Method), list(Verdict)


@dataclass(frozen=True)
class Evidence:
    """What a proof returns.

    Attributes
    ----------
    method : Method
    computed, claimed : str
        The value, or formula, that was computed and the one that is claimed.
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
    >>> Evidence(Method.SAMPLED, "1", "1", Verdict.PROVED)
    Traceback (most recent call last):
        ...
    ValueError: samples prove nothing; the verdict is HOLDS_ON_SAMPLES, with n_samples
    """

    method: Method
    computed: str
    claimed: str
    verdict: Verdict
    detail: str = ""
    theories: tuple[Theory, ...] = ()
    n_samples: int = 0

    def __post_init__(self) -> None:
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
    def how(self) -> str:
        """How the statement was established, in words.

        Examples
        --------
        >>> Evidence(Method.SOLVER, "", "", Verdict.PROVED, theories=(Theory.NRA,)).how
        'solver over all reals (NRA)'
        """
        if self.method is not Method.SOLVER:
            return self.method.value
        numbers = " and ".join(dict.fromkeys(theory.numbers for theory in self.theories))
        return f"solver over all {numbers} ({', '.join(self.theories)})"

    @property
    def told(self) -> str:
        """The verdict in words, with the number of samples where that is all there is."""
        if self.verdict is Verdict.HOLDS_ON_SAMPLES:
            return f"holds on {self.n_samples} samples"
        return self.verdict.value


def combine(parts: Iterable[Evidence], computed: str, claimed: str) -> Evidence:
    """One statement from all of its parts: the worst verdict, by the weakest method among those that gave it.

    A refuted part settles the matter: parts that an iterator has still to compute are left alone.

    Examples
    --------
    >>> lemma = Evidence(Method.SYMBOLIC, "0", "0", Verdict.PROVED, "lemma")
    >>> cases = Evidence(Method.EXHAUSTIVE, "8", "8", Verdict.PROVED, "8 cases")
    >>> both = combine([lemma, cases], "8", "8")
    >>> both.how, both.told, both.detail
    ('exhaustive and exact', 'proved', 'lemma; 8 cases')
    """
    parts = list(_up_to_a_refuted(parts))
    worst = max((part.verdict for part in parts), key=_VERDICTS.index)
    decisive = [part for part in parts if part.verdict is worst]
    method = max((part.method for part in decisive), key=_METHODS.index)
    theories = dict.fromkeys(theory for part in decisive for theory in part.theories)
    told = decisive if worst is Verdict.REFUTED else parts
    return Evidence(
        method,
        computed if worst is not Verdict.REFUTED else decisive[0].computed,
        claimed if worst is not Verdict.REFUTED else decisive[0].claimed,
        worst,
        "; ".join(dict.fromkeys(part.detail for part in told if part.detail)),
        tuple(theories) if method is Method.SOLVER else (),
        sum(part.n_samples for part in decisive),
    )


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
    kind : Kind
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
    kind: Kind
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
