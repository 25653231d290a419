r"""Second derivatives of scaling after a projection, for every dimension at once.

Let P be an orthogonal projection of rank D (P = I for RMSNorm, P = I - 11^T/d for LN), u = P x, n = u/|u|.
One entry of the Hessian involves a few numbers of P and u, whatever the dimension, because along two
directions

    x + a e_j + b e_k:   u_i   becomes  u_i + a P_ij + b P_ik
                         |u|^2 becomes  |u|^2 + 2 a u_j + 2 b u_k + a^2 P_jj + 2 a b P_jk + b^2 P_kk

so that d_j d_k n_i = T_ijk/|u|^2 with T = 3 n_i n_j n_k - (P_ij n_k + P_ik n_j + P_jk n_i) is one identity of
rational functions (*entry formula*; j = k included). The sum of squares of T is a sum of closed contractions:
each index occurs in two factors, so the factors form paths and cycles,

    n ── P ── P ── n = n . n = 1 (P n = n)          P ── P      = tr P = D
                                                     \__/

and it is a polynomial in D (*contraction*), for symbolic D.

Beside this stand two computations that know none of it: differentiation of whole polynomials (all x, small d)
and of truncated power series at rational points.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import flint
import sympy as sp

from ..claim import Evidence, Method, Tally, Verdict
from .identities import identity, symbols

__all__ = [
    "by_differentiation",
    "entry_formula",
    "grouped_rows",
    "indicator_at",
    "mean_squares",
    "sign",
    "sum_of_squares",
]

Factor = tuple[int, ...]
Jet = tuple[Fraction, Fraction, Fraction, Fraction]


def entry_formula(weight: int) -> Evidence:
    """d_j d_k n_i = [weight n_i n_j n_k - (P_ij n_k + P_ik n_j + P_jk n_i)]/|u|^2, for every P and x."""
    a, b, ui, uj, uk, ij, ik, jk, jj, kk = symbols("a b u_i u_j u_k P_ij P_ik P_jk P_jj P_kk")
    (r,) = symbols("r", positive=True)
    square = r**2 + 2 * a * uj + 2 * b * uk + a**2 * jj + 2 * a * b * jk + b**2 * kk
    moved = (ui + a * ij + b * ik) / sp.sqrt(square)
    second = sp.diff(moved, a, b).subs({a: 0, b: 0})
    tensor = weight * ui * uj * uk - (ij * uk + ik * uj + jk * ui) * r**2
    return identity(sp.expand(second * r**5), tensor, "entries of the Hessian, for every P and x")


def sum_of_squares(weight: int, rank: Any) -> Any:
    """Sum of T_ijk^2 over all i, j, k: a polynomial in the rank of P."""
    tensor: list[tuple[int, tuple[Factor, ...]]] = [
        (weight, ((0,), (1,), (2,))),
        (-1, ((0, 1), (2,))),
        (-1, ((0, 2), (1,))),
        (-1, ((1, 2), (0,))),
    ]
    return sum(
        p * q * _contraction((*left, *right), rank)
        for (p, left), (q, right) in itertools.product(tensor, repeat=2)
    )


def _contraction(factors: Sequence[Factor], rank: Any) -> Any:
    """Sum over i, j, k of a product of n's (one index) and P's (two), every index occurring twice."""
    component = [0, 1, 2]
    for factor in factors:
        merged = [component[index] for index in factor]
        component = [merged[0] if label in merged else label for label in component]
    paths = {component[factor[0]] for factor in factors if len(factor) == 1}
    return rank ** len(set(component) - paths)


def by_differentiation(size: int, n_groups: int, *, centre: bool, claimed: Any) -> Evidence:
    """H = claimed sum_k s_k^-4 for all x in R^(size n_groups), s_k^2 the mean square of group k.

    The outputs are differentiated as they stand, over all variables, and the claim becomes an identity of
    polynomials: f = sqrt(c) y/sqrt(S), with y linear in x and S quadratic, has second derivatives
    sqrt(c) p/S^(5/2), p a polynomial of degree three.
    """
    text = f"differentiated whole, d = {size * n_groups}, g = {n_groups}"
    context = flint.fmpq_mpoly_ctx.get([f"x{i}" for i in range(size * n_groups)], "lex")
    x, coefficients = context.gens(), set()
    for start in range(0, len(x), size):
        group = x[start : start + size]
        total = sum(group)
        y = [size * v - total if centre else v for v in group]
        square = sum(v * v for v in y)
        squares = sum(_second(v, square, j, k) ** 2 for v in y for j in range(len(x)) for k in range(len(x)))
        # s^2 = S/c^3 if centred (y is c times the centred value), else S/c.
        unit = square**3 * (size**5 if centre else size)
        coefficients.add(_ratio(squares, unit))
    computed = coefficients.pop() if len(coefficients) == 1 else None
    claimed = Fraction(int(sp.numer(claimed)), int(sp.denom(claimed)))
    if computed is None or computed != claimed:
        wrong = f"{text}: coefficient {computed}, not {claimed}"
        return Evidence(Method.SYMBOLIC, f"coefficient {computed}", str(claimed), Verdict.REFUTED, wrong)
    residual = Tally(f"residual {computed - claimed}")
    return Evidence(Method.SYMBOLIC, residual, str(claimed), Verdict.PROVED, text)


def _second(y: Any, square: Any, j: int, k: int) -> Any:
    """S^(5/2) d_j d_k (y S^(-1/2)), by the rule for quotients, twice."""
    first = y.derivative(j) * square - y * square.derivative(j) / 2
    return first.derivative(k) * square - first * square.derivative(k) * 3 / 2


def _ratio(polynomial: Any, unit: Any) -> Fraction | None:
    """The constant c with polynomial = c unit, or None if there is none."""
    if polynomial == 0:
        return Fraction(0)
    constant = polynomial.leading_coefficient() / unit.leading_coefficient()
    return Fraction(int(constant.p), int(constant.q)) if polynomial == constant * unit else None


def indicator_at(row: Sequence[Any], n_groups: int = 1, *, centre: bool = True) -> Fraction:
    """H at a rational point by truncated power series: no formula for a derivative enters.

    In Q[a, b]/(a^2, b^2) the coefficient of a b of f(x + a e_j + b e_k) is d_j d_k f, and with z nilpotent
    (1 + z)^(-1/2) = 1 - z/2 + 3 z^2/8.

    Examples
    --------
    >>> indicator_at([1, 2, 3])
    Fraction(9, 4)
    """
    size = len(row) // n_groups
    total = Fraction(0)
    for start in range(0, len(row), size):
        group = [Fraction(v) for v in row[start : start + size]]
        for j, k in itertools.product(range(size), repeat=2):
            moved: list[Jet] = [
                (v, Fraction(int(i == j)), Fraction(int(i == k)), Fraction(0)) for i, v in enumerate(group)
            ]
            total += _squared_derivatives(moved, centre)
    return total


def sign(term: Any, text: str, *, strict: bool = False) -> Evidence:
    """Prove that a term is not negative (with `strict`: positive), from the signs of its factors and
    symbols."""
    factors = sp.factor(term)
    holds = factors.is_positive if strict else factors.is_nonnegative
    relation = "> 0" if strict else ">= 0"
    if not holds:
        return Evidence(Method.SYMBOLIC, factors, relation, Verdict.UNDECIDED, text)
    return Evidence(Method.SYMBOLIC, f"{factors} {relation}", relation, Verdict.PROVED, text)


def mean_squares(row: Sequence[Any], n_groups: int = 1, *, centre: bool = True) -> list[Fraction]:
    """The variance of every group of a rational row, or its mean square with ``centre=False``."""
    size, squares = len(row) // n_groups, []
    for start in range(0, len(row), size):
        group = [Fraction(v) for v in row[start : start + size]]
        mean = sum(group, Fraction(0)) / size if centre else 0
        squares.append(sum(((v - mean) ** 2 for v in group), Fraction(0)) / size)
    return squares


def _squared_derivatives(row: Sequence[Jet], centre: bool) -> Fraction:
    """Sum over outputs f = sqrt(c) v/sqrt(S) of the squared coefficient of a b."""
    c = len(row)
    if centre:
        mean = [sum(parts, Fraction(0)) / c for parts in zip(*row, strict=True)]
        row = [_jet(v - m for v, m in zip(entry, mean, strict=True)) for entry in row]
    square = _jet(sum(parts, Fraction(0)) for parts in zip(*(_times(v, v) for v in row), strict=True))
    _, za, zb, zab = (part / square[0] for part in square)
    inverse_root = (Fraction(1), -za / 2, -zb / 2, -zab / 2 + 3 * za * zb / 4)
    return sum((_times(v, inverse_root)[3] ** 2 for v in row), Fraction(0)) * c / square[0]


def _jet(parts: Iterable[Fraction]) -> Jet:
    value, a, b, ab = parts
    return value, a, b, ab


def _times(p: Jet, q: Jet) -> Jet:
    return (
        p[0] * q[0],
        p[0] * q[1] + p[1] * q[0],
        p[0] * q[2] + p[2] * q[0],
        p[0] * q[3] + p[1] * q[2] + p[2] * q[1] + p[3] * q[0],
    )


def grouped_rows(min_size: int = 2, max_size: int = 5, max_groups: int = 3) -> Any:
    """Hypothesis strategy: an integer row of groups, none constant, and their number.

    Rows whose groups share mean and variance, or the variance alone, are common.
    """
    from hypothesis import strategies as st

    @st.composite
    def rows(draw: st.DrawFn) -> tuple[list[int], int]:
        size, n_groups = draw(st.integers(min_size, max_size)), draw(st.integers(1, max_groups))
        group = st.lists(st.integers(-5, 5), min_size=size, max_size=size).filter(lambda v: len(set(v)) > 1)
        kind = draw(st.sampled_from(["any", "mean and variance", "variance"]))
        if kind == "any":
            return list(itertools.chain(*(draw(group) for _ in range(n_groups)))), n_groups
        base = draw(group)
        shifts = st.integers(-5, 5) if kind == "variance" else st.just(0)
        row = []
        for _ in range(n_groups):
            shift = draw(shifts)
            row += [v + shift for v in draw(st.permutations(base))]
        return row, n_groups

    return rows()
