"""SSR and LSSR without rounding: as a rational number, or as an enclosure that isolates an algebraic one.

```
X ──► integers, one unit a feature ──► S_t, class sums ──► independent features J ──► S_t[J, J] Z = D
                                                                                             │
        two classes: LSSR = 1 - sum of one rational                                          ▼
        more:        LSSR = least root of the characteristic polynomial of  I - N M' S_t^+ M
```

Units cancel in LSSR (it is invariant under invertible linear maps), so all the work is on integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat, fmpz_poly

from lntheory.base.types import IntArray
from lntheory.base.validation import encode_labels
from lntheory.errors import DegenerateInputError, InvalidInputError
from lntheory.exact.rational import (
    IntegerColumns,
    independent_columns,
    to_fraction,
    to_integer_columns,
)

__all__ = ["AlgebraicEnclosure", "lssr", "ssr"]


@dataclass(frozen=True)
class AlgebraicEnclosure:
    """A real algebraic number, enclosed between rationals and defined by a polynomial.

    The number is the only root of `polynomial` in [lower, upper]: two enclosures of the same number can be
    refined until they agree, whatever produced them, and anyone can check one with Sturm's theorem.

    ```
    polynomial   ╲                ╱──╲
                  ╲              ╱    ╲
    ───────────────[──●──]──────●──────●───      all roots are real
              lower ▲ upper
                  the number
    ```

    Attributes
    ----------
    lower, upper : Fraction
        They are equal if and only if the number was recognised as rational.
    polynomial : tuple of int
        Coefficients, constant term first, of a squarefree primitive integer polynomial all of whose roots
        are real and lie at or above the number.
    """

    lower: Fraction
    upper: Fraction
    # Left out of the repr: coefficients may have more digits than Python consents to print.
    polynomial: tuple[int, ...] = field(repr=False)

    @property
    def width(self) -> Fraction:
        """upper - lower."""
        return self.upper - self.lower

    @property
    def is_rational(self) -> bool:
        """Whether the enclosure is a point. A rational p/q becomes one once the width is below 1/(2 q**2)."""
        return self.lower == self.upper

    def refine(self, width: Fraction | float) -> AlgebraicEnclosure:
        """The same number in an enclosure of at most the given width.

        Parameters
        ----------
        width : Fraction or float
            Positive; any size.

        Returns
        -------
        AlgebraicEnclosure

        Raises
        ------
        InvalidInputError
            If width is not positive and finite.

        Examples
        --------
        >>> root = AlgebraicEnclosure(Fraction(0), Fraction(1, 2), (27, -114, 103))
        >>> round(float(root.refine(Fraction(1, 10**30))), 10)  # 3 (19 - 2 sqrt(13)) / 103
        0.3433659451
        """
        bound = _positive(width)
        if self.width <= bound:
            return self
        lower, upper = _enclose(fmpz_poly(list(self.polynomial)), self.lower, bound)
        return AlgebraicEnclosure(lower, upper, self.polynomial)

    def __float__(self) -> float:
        """The midpoint, rounded: the nearest float once the width is well below 2**-53 of the number."""
        return float((self.lower + self.upper) / 2)


def ssr(X: Any, y: Iterable[Any]) -> Fraction:
    """Sum-of-squares ratio, exactly.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
        int, Fraction, Decimal or float entries, mixed at will; a float is the rational that it is.
    y : iterable of hashable, length n_samples
        Labels of any type, any number of classes.

    Returns
    -------
    Fraction
        Within-class scatter over total scatter, in [0, 1].

    Raises
    ------
    DegenerateInputError
        If all samples coincide (one sample included).
    InvalidInputError
        If an entry is not a rational number (the message names sample and feature), or X and y do not fit.

    Examples
    --------
    >>> ssr([[0], [1], [3], [4]], ["a", "a", "b", "b"])
    Fraction(1, 10)

    References
    ----------
    Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
    """
    data = _Labelled.read(X, y)
    squares = [unit * unit for unit in data.columns.units]
    total = sum((s * u for s, u in zip(data.total_squares(), squares, strict=True)), Fraction(0))
    between = sum((s * u for s, u in zip(data.between_squares(), squares, strict=True)), Fraction(0))
    return 1 - between / total


def lssr(
    X: Any, y: Iterable[Any], *, width: Fraction | float = Fraction(1, 2**64)
) -> Fraction | AlgebraicEnclosure:
    """Linear SSR, exactly: rational for up to two classes, an isolating enclosure for more.

    LSSR is the least eigenvalue of the pencil (S_w, S_t) on the range of S_t. With two classes it is
    1 - (m1 m2/m) delta' S_t^+ delta, a rational number; with more it is algebraic.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
        int, Fraction, Decimal or float entries, mixed at will; a float is the rational that it is.
    y : iterable of hashable, length n_samples
    width : Fraction or float, default 2**-64
        Largest width of the enclosure, for three classes or more.

    Returns
    -------
    Fraction
        For one class (LSSR is 1) and for two.
    AlgebraicEnclosure
        For three classes or more, whatever the value; a point (lower == upper) if LSSR is 0 or 1.

    Raises
    ------
    DegenerateInputError
        If all samples coincide (one sample included).
    InvalidInputError
        If an entry is not a rational number (the message names sample and feature), or X and y do not fit.

    Notes
    -----
    Cost: one exact solve with rank(S_t) unknowns; with C > 2 classes also a characteristic polynomial of
    size C, whose coefficients have about C times the bits of det S_t.

    Examples
    --------
    >>> from decimal import Decimal
    >>> rows = [(".1", ".1", ".2"), (".7", ".7", "1.4"), (".1", ".7", ".8"), (".7", ".1", ".8")]
    >>> lssr([[Decimal(v) for v in row] for row in rows], [0, 0, 1, 1])
    Fraction(1, 1)
    >>> lssr([[float(v) for v in row] for row in rows], [0, 0, 1, 1])
    Fraction(0, 1)
    >>> root = lssr([[0, 0], [1, 0], [2, 1], [2, 2], [0, 3], [1, 4]], list("aabbcc"))
    >>> root.polynomial, round(float(root), 6)
    ((9, -208, 640), 0.051398)

    References
    ----------
    Ni, Guo, Jia, Huang, "On the Nonlinearity of Layer Normalization", ICML 2024 (arXiv 2406.01255).
    """
    bound = _positive(width)
    data = _Labelled.read(X, y)
    if data.n_classes == 1:
        return Fraction(1)
    if data.n_classes == 2:
        return 1 - data.two_class_r_squared()
    if data.is_separated():
        return _point(0)
    polynomial = data.defining_polynomial()
    if polynomial == fmpz_poly([-1, 1]):
        return _point(1)
    lower, upper = _enclose(polynomial, Fraction(0), bound)
    return AlgebraicEnclosure(lower, min(upper, Fraction(1)), tuple(int(c) for c in polynomial.coeffs()))


@dataclass(frozen=True)
class _Labelled:
    """Integer samples with their class codes, and the scatter matrices times known integers."""

    columns: IntegerColumns
    codes: IntArray
    n_classes: int

    @classmethod
    def read(cls, X: Any, y: Iterable[Any]) -> _Labelled:
        columns = to_integer_columns(X)
        codes, classes = encode_labels(y, columns.numerators.nrows())
        data = cls(columns, codes, len(classes))
        if all(square == 0 for square in data.total_squares()):
            n = data.n_samples
            count = "There is one sample" if n == 1 else f"All {n} samples coincide"
            raise DegenerateInputError(
                f"{count}, so SS(X) = 0 and the ratio is 0/0; at least two distinct samples are needed."
            )
        return data

    @property
    def n_samples(self) -> int:
        return int(self.columns.numerators.nrows())

    @cached_property
    def counts(self) -> list[int]:
        return [int(count) for count in np.bincount(self.codes, minlength=self.n_classes)]

    @cached_property
    def indicators(self) -> fmpz_mat:
        """Shape (n_classes, n_samples): 1 where the sample is of the class."""
        table = np.zeros((self.n_classes, self.n_samples), dtype=np.int64)
        table[self.codes, np.arange(self.n_samples)] = 1
        return fmpz_mat(self.n_classes, self.n_samples, table.ravel().tolist())

    @cached_property
    def class_sums(self) -> fmpz_mat:
        """Shape (n_classes, n_features)."""
        return self.indicators * self.columns.numerators

    @cached_property
    def mean_deviations(self) -> fmpz_mat:
        """Rows n s_k - n_k s = n n_k (mean_k - mean), shape (n_classes, n_features)."""
        total = fmpz_mat(1, self.n_classes, [1] * self.n_classes) * self.class_sums
        return self.class_sums * self.n_samples - fmpz_mat(self.n_classes, 1, self.counts) * total

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """Features that span the range of S_t: a maximal independent set of the centred columns."""
        rows = self.columns.numerators
        ones = fmpz_mat(self.n_samples, 1, [1] * self.n_samples)
        differences = (rows - ones * fmpz_mat(rows.tolist()[:1])).tolist()[1:]
        return independent_columns(fmpz_mat(differences))

    def total_squares(self) -> list[Fraction]:
        """Diagonal of S_t, entry j in squares of the unit of feature j."""
        n = self.n_samples
        result = []
        for column in self.columns.numerators.transpose().tolist():
            total = sum(column, fmpz(0))
            squares = sum((v * v for v in column), fmpz(0))
            result.append(Fraction(int(n * squares - total * total), n))
        return result

    def between_squares(self) -> list[Fraction]:
        """Diagonal of S_b, entry j in squares of the unit of feature j."""
        n = self.n_samples
        table = self.mean_deviations.tolist()
        totals = [Fraction(0)] * self.columns.numerators.ncols()
        for row, count in zip(table, self.counts, strict=True):
            for j, entry in enumerate(row):
                totals[j] += Fraction(int(entry * entry), n * n * count)
        return totals

    def two_class_r_squared(self) -> Fraction:
        """(m1 m2/m) delta' S_t^+ delta: with D = n s_1 - n_1 s = m1 m2 delta, D' (n S_t)^+ D / (m1 m2)."""
        deviation = fmpq_mat(fmpz_mat(self._deviations().tolist()[:1]))
        explained = (deviation * self._solve(deviation.transpose()))[0, 0]
        return to_fraction(explained) / (self.counts[0] * self.counts[1])

    def is_separated(self) -> bool:
        """Whether LSSR = 0, which is the case iff rank(S_w) < rank(S_t)."""
        rank = len(self.independent)
        if self.n_samples - self.n_classes < rank:
            return True
        features = self._select(self.columns.numerators)
        sums = (self.indicators * features).tolist()
        rows = [
            [self.counts[k] * v - s for v, s in zip(row, sums[k], strict=True)]
            for row, k in zip(features.tolist(), self.codes.tolist(), strict=True)
        ]
        return len(independent_columns(fmpz_mat(rows))) < rank

    def defining_polynomial(self) -> fmpz_poly:
        """Squarefree polynomial whose least root is LSSR; t - 1 if LSSR = 1.

        S_t^+ S_b = S_t^+ M' N M and N M S_t^+ M' have the same nonzero eigenvalues (N is the diagonal matrix
        of the counts, M has the rows mean_k - mean); the smaller matrix is used. In integers T = n S_t and
        D_k = n n_k (mean_k - mean), the two are T^+ D' W D and W D T^+ D' with W = diag(1/(n n_k)).
        """
        deviations = self._deviations()
        weights = [fmpq(1, self.n_samples * count) for count in self.counts]
        weighted = _scale_rows(fmpq_mat(deviations), weights)
        if deviations.ncols() < self.n_classes:
            matrix = self._solve(fmpq_mat(deviations.transpose()) * weighted)
        else:
            matrix = weighted * self._solve(fmpq_mat(deviations.transpose()))
        size = matrix.nrows()
        identity = fmpq_mat([[int(k == i) for k in range(size)] for i in range(size)])
        characteristic = (identity - matrix).charpoly()
        return _without_ones(fmpz_poly(characteristic.numer().coeffs()))

    def _deviations(self) -> fmpz_mat:
        return self._select(self.mean_deviations)

    def _select(self, matrix: fmpz_mat) -> fmpz_mat:
        """The independent columns of a matrix."""
        return fmpz_mat([[row[j] for j in self.independent] for row in matrix.tolist()])

    def _solve(self, right: fmpq_mat) -> fmpq_mat:
        """(n S_t)^-1 right on the independent features, where n S_t is positive definite."""
        features = self._select(self.columns.numerators)
        total = fmpz_mat(1, self.n_samples, [1] * self.n_samples) * features
        scatter = features.transpose() * features * self.n_samples - total.transpose() * total
        return fmpq_mat(scatter).solve(right)


def _scale_rows(matrix: fmpq_mat, factors: list[fmpq]) -> fmpq_mat:
    return fmpq_mat([[f * v for v in row] for row, f in zip(matrix.tolist(), factors, strict=True)])


def _without_ones(polynomial: fmpz_poly) -> fmpz_poly:
    """Squarefree part without the factor t - 1; t - 1 itself if there is no other factor."""
    one = fmpz_poly([-1, 1])
    while polynomial.degree() > 1 and polynomial(fmpz(1)) == 0:
        polynomial = polynomial // one
    if polynomial(fmpz(1)) == 0:
        return one
    polynomial = polynomial // polynomial.gcd(polynomial.derivative())
    return polynomial // polynomial.content()


def _enclose(polynomial: fmpz_poly, start: Fraction, width: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose the least root of a squarefree polynomial with real roots only, all at or above `start`.

    For x below all k roots r_i let S = -p'(x)/p(x) = sum of 1/(r_i - x). The least root r satisfies

        1/(r - x) <= S <= k/(r - x),   hence   x + 1/S <= r <= x + k/S,

    so Newton's step x + 1/S never passes the root, converges to it quadratically in the end, and its length
    bounds what is left. x is rounded down to a dyadic number, which keeps it below. The upper end is accepted
    when exactly one root lies at or below it (Budan-Fourier counts exactly where all roots are real).
    """
    degree = polynomial.degree()
    derivative = polynomial.derivative()
    x = start
    if degree == 1:
        x = Fraction(-int(polynomial[0]), int(polynomial[1]))
        return x, x
    while True:
        value = _evaluate(polynomial, x)
        if value == 0:
            return x, x
        step = -value / _evaluate(derivative, x)
        # The step in few digits: rounded down for the move, up for the bound.
        bits = step.denominator.bit_length() - step.numerator.bit_length() + 16 + 2 * degree.bit_length()
        short = Fraction((step.numerator << max(bits, 0)) // step.denominator, 1 << max(bits, 0))
        upper = x + degree * (short + Fraction(1, 1 << max(bits, 0)))
        if upper - x <= width:
            simple = _simplest_between(x, upper)
            if _evaluate(polynomial, simple) == 0 and _count_at_most(polynomial, simple) == 1:
                return simple, simple
            if _count_at_most(polynomial, upper) == 1:
                return x, upper
        x += short


def _evaluate(polynomial: fmpz_poly, x: Fraction) -> Fraction:
    value = polynomial(fmpq(x.numerator, x.denominator))
    return Fraction(int(value.numer()), int(value.denom()))


def _count_at_most(polynomial: fmpz_poly, x: Fraction) -> int:
    """Number of roots at or below x of a polynomial with real roots only.

    By Descartes' rule the sign variations of p(x + t) are the number of its positive roots, exactly if all
    roots are real.
    """
    # q**k p((p + t)/q): an integer polynomial with the signs of p(x + t).
    numerator, denominator = x.numerator, x.denominator
    degree = polynomial.degree()
    scaled = fmpz_poly([c * denominator ** (degree - i) for i, c in enumerate(polynomial.coeffs())])
    shifted = scaled(fmpz_poly([numerator, 1]))
    signs = [1 if c > 0 else -1 for c in shifted.coeffs() if c != 0]
    return int(degree - sum(a != b for a, b in pairwise(signs)))


def _simplest_between(lower: Fraction, upper: Fraction) -> Fraction:
    """The fraction of least denominator in [lower, upper], 0 <= lower, by continued fractions."""
    (a, b), (c, d) = lower.as_integer_ratio(), upper.as_integer_ratio()
    p0, q0, p1, q1 = 0, 1, 1, 0  # the last two convergents
    while True:
        whole = -(-a // b)
        if whole * d <= c:
            return Fraction(whole * p1 + p0, whole * q1 + q0)
        floor = a // b
        p0, q0, p1, q1 = p1, q1, floor * p1 + p0, floor * q1 + q0
        a, b, c, d = d, c - floor * d, b, a - floor * b


def _point(value: int) -> AlgebraicEnclosure:
    return AlgebraicEnclosure(Fraction(value), Fraction(value), (-value, 1))


def _positive(width: Fraction | float) -> Fraction:
    bound = to_fraction(width, "width")
    if bound <= 0:
        raise InvalidInputError(f"width is {width}; pass a positive number.")
    return bound
