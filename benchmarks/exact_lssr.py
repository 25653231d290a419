"""Exact LSSR: lntheory.exact against sympy on the same samples in the same run, and the 1000 x 100 figure.

Both sides take the same float64 samples as the rationals that they are and compute
LSSR = 1 - (m1 m2/m) delta' S_t^-1 delta; their answers must be equal fractions, or the script fails. Two
sympy sides: dense `Matrix` as the manual shows it, and `DomainMatrix` over QQ (flint inside where installed).

Run: OMP_NUM_THREADS=1 python benchmarks/exact_lssr.py
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

import flint
import numpy as np
import numpy.typing as npt
import sympy
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

import lntheory
from lntheory import exact

FloatArray = npt.NDArray[np.float64]
T = TypeVar("T")
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


def seconds(function: Callable[..., T], X: FloatArray, y: IntArray, repeats: int = 3) -> tuple[float, T]:
    """Best time of the repeats, and the result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function(X, y)
        times.append(time.perf_counter() - start)
    return min(times), result


def main() -> None:
    print(
        f"Python {platform.python_version()}, {platform.machine()}, numpy {np.__version__}, "
        f"sympy {sympy.__version__}, python-flint {flint.__version__}"
    )
    print("\nTwo classes, float64 normal samples, best of 3 (sympy: one run), seconds")
    print(f"{'samples':>12} {'lntheory':>10} {'DomainMatrix':>13} {'Matrix':>10}")
    for n, d in ((30, 5), (60, 10), (100, 20), (200, 40)):
        X, y = samples(n, d, 2)
        ours, value = seconds(exact.lssr, X, y)
        domain, same = seconds(sympy_domain_matrix, X, y, 1)
        assert value == same
        line = f"{n:>6} x {d:<3} {ours:>10.4f} {domain:>13.3f}"
        if d <= 20:
            dense, same = seconds(sympy_matrix, X, y, 1)
            assert value == same
            line += f" {dense:>10.3f}"
        print(line)

    print("\n1000 x 100 float64 samples, best of 3, seconds")
    for n_classes in (2, 3, 10):
        X, y = samples(1000, 100, n_classes)
        ours, value = seconds(exact.lssr, X, y)
        rounded, approximate = seconds(lntheory.lssr, X, y)
        print(
            f"  {n_classes:>2} classes: exact {ours:.3f}, float64 {rounded:.4f}, "
            f"difference {abs(float(value) - approximate):.1e}"
        )


if __name__ == "__main__":
    main()
