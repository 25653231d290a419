"""Subtracting a mean without losing accuracy: compensated sums and centred values.

Everywhere below u = 2**-53 is the unit roundoff, reductions run along axis 0, and magnitudes are
at most about 1 (callers scale by powers of two, which is exact).
"""

from __future__ import annotations

import numpy as np

from lntheory.base.types import FloatArray, IntArray


def exponents(magnitudes: FloatArray) -> IntArray:
    """Exponent k with ``magnitude * 2**-k`` in [1/2, 1); 0 for magnitude zero."""
    return np.frexp(magnitudes)[1].astype(np.int64)


def scale(x: FloatArray, powers: IntArray) -> FloatArray:
    """``x * 2**powers``: exact, except that results below 2**-1022 round to a multiple of 2**-1074."""
    scaled: FloatArray = np.ldexp(x, powers.astype(np.int32))
    return scaled


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Knuth's error-free addition: ``s = fl(a + b)`` and the ``e`` with s + e = a + b exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def compensated_sum(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum along axis 0 as an unevaluated pair high + low, by a binary tree of `two_sum`.

    ```
    x0   x1   x2   x3        every + keeps its rounding error; the errors are
      \\ /       \\ /         added up beside the sums, so the pair is off by
       +    +    +           O(u**2 log2(n)**2) sum|x| and high is fl(high + low).
         \\     /
            +
    ```
    """
    high, low = x, np.zeros_like(x)
    while len(high) > 1:
        half = len(high) // 2
        total, error = two_sum(high[:half], high[half : 2 * half])
        error += low[:half] + low[half : 2 * half]
        high = np.concatenate([total, high[2 * half :]])
        low = np.concatenate([error, low[2 * half :]])
    return two_sum(high[0], low[0])


def centred(x: FloatArray) -> FloatArray:
    """x minus its mean along axis 0, for |x| <= 1.

    The approximate mean is subtracted first and the mean of the differences next; the rounding error of
    each subtraction is carried along. With v the true centred values and D = max|v|,

        |result - v| <= u |v| + 2u min(D, 2u max|x|) + O(u**2) D,

    where the middle term is the same for all entries (it is the error of the mean). If there are two entries,
    the result is half their difference and its negative, so that the two are exactly opposite. Equal
    entries give exact zeros: their difference from the approximate mean is a few units in the last place,
    whose multiples are summed and divided without rounding.
    """
    n = len(x)
    if n == 2:
        half = (x[0] - x[1]) / 2
        return np.stack([half, -half])
    approximate = compensated_sum(x)[0] / n
    difference, error = two_sum(x, -approximate)
    high, low = compensated_sum(difference)
    remainder = (high + (low + error.sum(axis=0))) / n
    value, second_error = two_sum(difference, -remainder)
    return value + (error + second_error)


def sum_of_squares(x: FloatArray) -> FloatArray:
    """Sum of squares along axis 0 with relative error at most 2u + O(u**2) (barring underflow)."""
    return compensated_sum(x * x)[0]
