"""Exact LSSR: lntheory.exact against sympy on the same samples in the same run, and the 1000 x 100 figure.

Both sides take the same float64 samples as the rationals that they are and compute
LSSR = 1 - (m1 m2/m) delta' S_t^-1 delta; their answers must be equal fractions, or the script fails. Two
sympy sides: dense `Matrix` as the manual shows it, and `DomainMatrix` over QQ (flint inside where installed).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import sympy
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

import lntheory
from benchmarks.page import Page, show, timed
from lntheory import exact

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def samples(n_samples: int, n_features: int, n_classes: int, seed: int = 0) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_samples, n_features)), rng.permutation(np.arange(n_samples) % n_classes)


def _q(value: float) -> sympy.Rational:
    numerator, denominator = value.as_integer_ratio()
    return sympy.Rational(numerator, denominator)


def _indicator(y: IntArray) -> sympy.Matrix:
    """Column with entries 1/m1 on class 0 and -1/m2 on class 1: its product with X is delta."""
    counts = np.bincount(y).tolist()
    return sympy.Matrix([sympy.Rational(1 - 2 * k, counts[k]) for k in y.tolist()])


def sympy_matrix(X: FloatArray, y: IntArray) -> Fraction:
    """With sympy's dense matrices throughout."""
    n = len(y)
    points = sympy.Matrix([[_q(v) for v in row] for row in X.tolist()])
    centred = points - sympy.ones(n, 1) * (sympy.ones(1, n) * points / n)
    delta = points.T * _indicator(y)
    value = 1 - _weight(y) * delta.dot((centred.T * centred).LUsolve(delta))
    return Fraction(int(value.p), int(value.q))


def sympy_domain_matrix(X: FloatArray, y: IntArray) -> Fraction:
    """With DomainMatrix over QQ throughout."""
    n = len(y)
    points = DomainMatrix.from_Matrix(sympy.Matrix([[_q(v) for v in row] for row in X.tolist()])).convert_to(
        QQ
    )
    ones = DomainMatrix.from_Matrix(sympy.ones(n, 1)).convert_to(QQ)
    total = ones.transpose() * points
    scatter = points.transpose() * points - total.transpose() * total * QQ(1, n)
    delta = points.transpose() * DomainMatrix.from_Matrix(_indicator(y)).convert_to(QQ)
    explained = (delta.transpose() * scatter.lu_solve(delta)).to_Matrix()[0, 0]
    value = 1 - _weight(y) * explained
    return Fraction(int(value.p), int(value.q))


def _weight(y: IntArray) -> sympy.Rational:
    counts = np.bincount(y).tolist()
    return sympy.Rational(counts[0] * counts[1], counts[0] + counts[1])


def _against_sympy(n_samples: int, n_features: int, dense: bool) -> tuple[str, ...]:
    X, y = samples(n_samples, n_features, 2)
    ours, value = timed(lambda: exact.lssr(X, y), 5)
    domain, same = timed(lambda: sympy_domain_matrix(X, y))
    assert value == same
    cells = [f"{n_samples} x {n_features}", show(ours), show(domain), f"{domain / ours:.0f}"]
    if not dense:
        return (*cells, "-", "-")
    slow, same = timed(lambda: sympy_matrix(X, y), 1)
    assert value == same
    return (*cells, show(slow), f"{slow / ours:.0f}")


def _against_float64(n_classes: int) -> tuple[str, ...]:
    X, y = samples(1000, 100, n_classes)
    ours, value = timed(lambda: exact.lssr(X, y))
    rounded, approximate = timed(lambda: lntheory.lssr(X, y))
    return (
        str(n_classes),
        show(ours),
        show(rounded),
        f"{ours / rounded:.0f}",
        f"{abs(float(value) - approximate):.1e}",
    )


def pages() -> Iterator[Page]:
    """Against sympy, and against float64."""
    yield Page(
        "Exact LSSR against sympy",
        "Two classes, float64 normal samples taken as the rationals that they are; all sides return the same "
        "fraction, or the run fails. Processor seconds: median of 5 (lntheory), of 3 (DomainMatrix), one "
        "run (Matrix).",
        ("samples", "lntheory s", "DomainMatrix s", "ratio", "Matrix s", "ratio"),
        [_against_sympy(n, d, d <= 20) for n, d in ((30, 5), (60, 10), (100, 20), (200, 40))],
    )
    yield Page(
        "Exact LSSR of 1000 x 100 float64 samples",
        "Processor seconds, median of 3, and how far the float64 result is from the exact one.",
        ("classes", "exact s", "float64 s", "ratio", "difference"),
        [_against_float64(n_classes) for n_classes in (2, 3, 10)],
    )
