"""Statements for all reals or all integers, by z3.

The negation of the statement is given to the solver: *unsat* proves it, a model refutes it, *unknown* leaves
it undecided. z3 is optional: where it is missing the verdict is SKIPPED, never PROVED.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..claim import Evidence, Method, Tally, Theory, Verdict

__all__ = ["for_all", "satisfiable"]

SECONDS = 60


def for_all(theory: Theory, statement: Callable[[Any], Any], text: str) -> Evidence:
    """Prove a quantifier-free statement for all values of its constants.

    Parameters
    ----------
    theory : Theory
    statement : callable (z3) -> formula
        Gets the module, so that a claim can be stated where z3 is missing.
    text : str
        What is being proved, for the table.

    Returns
    -------
    Evidence
        PROVED; REFUTED with the solver's counterexample; UNDECIDED; or SKIPPED.

    Examples
    --------
    >>> square = for_all(Theory.NRA, lambda z3: z3.Real("x") ** 2 >= 0, "squares are not negative")
    >>> square.outcome in ("proved", "skipped")
    True
    >>> false = for_all(Theory.NRA, lambda z3: z3.Real("x") ** 2 > 0, "squares are positive")
    >>> false.outcome in ("refuted", "skipped")
    True
    """
    z3 = _z3()
    if z3 is None:
        return _skipped(theory, text)
    formula = statement(z3)
    outcome, model = _check(z3, theory, z3.Not(formula))
    if outcome == z3.unsat:
        return Evidence(Method.SOLVER, Tally(str(outcome)), "unsat", Verdict.PROVED, text, (theory,))
    if outcome == z3.sat:
        detail = f"{text}: fails at {_assignment(model)}"
        return Evidence(
            Method.SOLVER, f"{outcome} at {_assignment(model)}", "unsat", Verdict.REFUTED, detail, (theory,)
        )
    return Evidence(Method.SOLVER, str(outcome), "unsat", Verdict.UNDECIDED, f"{text}: unknown", (theory,))


def satisfiable(theory: Theory, statement: Callable[[Any], Any], text: str) -> Evidence:
    """Prove that some values satisfy a quantifier-free statement; otherwise as `for_all`.

    Guards hypotheses: a statement about the empty set is proved too easily.
    """
    z3 = _z3()
    if z3 is None:
        return _skipped(theory, text)
    outcome, model = _check(z3, theory, statement(z3))
    if outcome == z3.sat:
        detail = f"{text}, as at {_assignment(model)}"
        return Evidence(Method.SOLVER, Tally(str(outcome)), "sat", Verdict.PROVED, detail, (theory,))
    if outcome == z3.unsat:
        return Evidence(Method.SOLVER, str(outcome), "sat", Verdict.REFUTED, f"{text}: never", (theory,))
    return Evidence(Method.SOLVER, str(outcome), "sat", Verdict.UNDECIDED, f"{text}: unknown", (theory,))


def _z3() -> Any:
    try:
        return import_module("z3")
    except ImportError:
        return None


def _skipped(theory: Theory, text: str) -> Evidence:
    detail = f"{text} (needs z3: pip install 'lntheory[smt]')"
    return Evidence(Method.SOLVER, (), "a solver's answer", Verdict.SKIPPED, detail, (theory,))


def _check(z3: Any, theory: Theory, formula: Any) -> tuple[Any, Any]:
    solver = z3.SolverFor(f"QF_{theory}")
    solver.set("timeout", SECONDS * 1000)
    solver.add(formula)
    outcome = solver.check()
    return outcome, solver.model() if outcome == z3.sat else None


def _assignment(model: Any) -> str:
    return ", ".join(sorted(f"{name} = {model[name]}" for name in model.decls()))
