"""Matrices a I + b J of any size d, J = 1 1^T: the algebra in which centering lives, with d a symbol.

J J = d J, so products stay in the family and an identity of two pairs (a, b) of rational functions of d is an
identity for every d at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

__all__ = ["SIZE", "IdentityPlusOnes", "dense"]

SIZE = sp.Symbol("d", positive=True, integer=True)
"""The number of neurons."""


@dataclass(frozen=True)
class IdentityPlusOnes:
    """The symmetric matrix a I + b J.

    Examples
    --------
    >>> centering = IdentityPlusOnes(1, -1 / SIZE)
    >>> centering @ centering == centering
    True
    """

    a: Any
    b: Any

    def __matmul__(self, other: IdentityPlusOnes) -> IdentityPlusOnes:
        b = sp.simplify(self.a * other.b + self.b * other.a + SIZE * self.b * other.b)
        return IdentityPlusOnes(sp.simplify(self.a * other.a), b)

    def __sub__(self, other: IdentityPlusOnes) -> IdentityPlusOnes:
        return IdentityPlusOnes(sp.simplify(self.a - other.a), sp.simplify(self.b - other.b))

    def pair(self) -> sp.Matrix:
        """The coefficients (a, b) as a column."""
        return sp.Matrix([self.a, self.b])


def dense(matrix: IdentityPlusOnes, d: int) -> sp.Matrix:
    """The d x d matrix itself."""
    return sp.eye(d) * sp.sympify(matrix.a).subs(SIZE, d) + sp.ones(d) * sp.sympify(matrix.b).subs(SIZE, d)
