"""Identities of rational functions, decided by computer algebra.

A rational function is zero iff the numerator of its canonical form is the zero polynomial, so an identity is
either proved or false, and a false one fails at some rational point, which is exhibited. Square roots enter
as symbols with a relation: pass their squares in `modulo`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Any

import sympy as sp

from ..claim import Evidence, Method, Tally, Verdict

__all__ = ["identities", "identity", "symbols"]


def symbols(names: str, **assumptions: Any) -> tuple[Any, ...]:
    """Real symbols, always as a tuple."""
    return tuple(sp.symbols(names, real=True, seq=True, **assumptions))


def identity(
    left: Any, right: Any, text: str, modulo: Sequence[tuple[Any, Any]] = (), value: Any = None
) -> Evidence:
    """Prove or refute left == right as rational functions of their symbols.

    Parameters
    ----------
    left, right : sympy expressions, or matrices of one shape
    text : str
        What is being proved, for the table.
    modulo : sequence of (symbol, value)
        Symbols r with r**2 == value (square roots): even powers of r are replaced, the odd ones must vanish.
    value : expression, optional
        A formula that the two sides stand for: shown as computed, beside the residuals.

    Returns
    -------
    Evidence
        Computed: the residuals, one for each entry. PROVED; REFUTED with a rational point at which the two
        differ; or UNDECIDED.

    Examples
    --------
    >>> x, y = symbols("x y")
    >>> identity((x + y) ** 2, x**2 + 2 * x * y + y**2, "binomial").outcome
    'proved'
    >>> wrong = identity((x + y) ** 2, x**2 + y**2, "binomial")
    >>> wrong.outcome, wrong.detail
    ('refuted', 'binomial: fails at x = 2, y = 3, where the sides differ by 12')
    """
    left, right = sp.Matrix([left]), sp.Matrix([right])
    if left.shape != right.shape:
        raise ValueError(f"{text}: shapes {left.shape} and {right.shape}")
    residuals = []
    for difference in left - right:
        numerator = _reduced(difference, modulo)
        if numerator == 0:
            residuals.append(Tally(f"residual {numerator}"))
            continue
        point = _witness(numerator)
        if point is None:
            return Evidence(Method.SYMBOLIC, f"residual {numerator}", "0", Verdict.UNDECIDED, text)
        where = ", ".join(f"{symbol} = {value}" for symbol, value in point.items())
        by = sp.nsimplify(difference.subs(point)) if not modulo else numerator.subs(point)
        detail = f"{text}: fails at {where}, where the sides differ by {by}"
        return Evidence(Method.SYMBOLIC, f"difference {by}", "0", Verdict.REFUTED, detail)
    values = () if value is None else (value,)
    return Evidence(Method.SYMBOLIC, (*values, *residuals), "0", Verdict.PROVED, text)


def identities(pairs: Iterable[tuple[Any, Any]], text: str) -> Evidence:
    """`identity` for several pairs, as one statement."""
    lefts, rights = zip(*pairs, strict=True)
    return identity(sp.Matrix(lefts), sp.Matrix(rights), text)


def _reduced(expression: Any, modulo: Sequence[tuple[Any, Any]]) -> Any:
    numerator = sp.expand(sp.fraction(sp.together(expression))[0])
    for root, square in modulo:
        numerator = sp.rem(sp.Poly(numerator, root), sp.Poly(root**2 - square, root)).as_expr()
        numerator = sp.expand(sp.fraction(sp.together(numerator))[0])
    return numerator


def _witness(numerator: Any) -> dict[Any, Any] | None:
    """A point of small positive integers at which the polynomial is not zero."""
    free = sorted(numerator.free_symbols, key=str)
    generator = random.Random(0)
    points = itertools.chain(
        [range(2, 2 + len(free))], ([generator.randint(1, 50) for _ in free] for _ in range(100))
    )
    for values in points:
        point = {symbol: sp.Integer(value) for symbol, value in zip(free, values, strict=True)}
        if sp.simplify(numerator.subs(point)) != 0:
            return point
    return None
