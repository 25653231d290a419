r"""The inner loop of fold search: one chain of simulated annealing over folds, compiled where numba works.

Points of an arc are given by ``u = tan(angle / 2)``, increasing. A fold with its tangents at ``c - h`` and
``c + h`` sends u to the slope ``tau = 2 w / (1 + w^2)``, ``w = (u - c) / h``: the points between the tangents
(the near chain) ascend with u, the others (the far chain) descend, so that their images are a merge of two
sorted chains::

       tau  1 ┤        .·'·.
              │      .'    :  `·.            near: between the tangents, upwards
            0 ┤    .'      :      ` · . _    far: from c - h leftwards, round the end, back to c + h
              │  .'        :
           -1 ┤·:          :
              └─┴──────────┴───────────► u
              c - h      c + h

The objective is local, in bits (logarithms to base 2). Each boundary between unequal labels costs ``RUN``
bits, and ``GAP`` times the bits by which its gap is finer than the run before it (gap included) and than the
run after it. A later layer can widen any part of the arc, but it cannot make thick runs fit into fine gaps; a
thin run may still be moved where a thick one does not fit.

Rounding errors add to the cost: `NOISE` for every bit by which the ratio of a gap to the errors of its points
is less than it should be, and at the end of a search a price for every bit that the least safe gap lacks. The
errors are estimates of some two standard deviations; for independent errors the squares add up.

The random numbers are drawn by the caller, and every operation except the logarithm is correctly rounded, so
a chain ends at the same fold whether the code is compiled or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["DRAWS", "FIRST", "LAST", "ROUNDED", "SINGLE", "anneal", "begin", "rated"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Fold = tuple[float, float, float, float, float]
F = TypeVar("F", bound=Callable[..., Any])

RUN, GAP = 4.0, 0.35
"""The cost of a boundary, and of each bit by which its gap is finer than the run on either side."""
NOISE = 0.6
"""The cost of each bit by which the ratio of a gap to the errors of its points is less than it should be."""
ROUNDED = 0.5
"""Two standard deviations of the rounding error of a full-length vector's angle, in unit round-offs."""
NEVER = 1e18
"""The objective of a fold that puts points of unequal label in one place."""
DRAWS = 7
"""Random numbers for each step: two choose the move, two times two (a maximum and a share of it) say how many
points away a point is, and one is normally distributed."""
SINGLE, FIRST, LAST = 0, 1, 2
"""The kind of a point: a single point, or the first or last of a run of equal labels that is kept whole."""


def _compiled(function: F) -> F:
    """The function, compiled on its first call, or unchanged if numba is missing or fails to load."""
    try:
        from numba import njit
    except Exception:  # numba does not exist on every platform; without it the nets are the same, only slower
        return function
    try:
        return cast(F, njit(error_model="numpy", nogil=True, cache=True)(function))
    except RuntimeError:  # there is no folder in which the compiled code can be kept
        return cast(F, njit(error_model="numpy", nogil=True)(function))


@_compiled
def _both(a: float, b: float) -> float:
    """The sum of two independent errors, within a twelfth of the square root of the sum of their squares."""
    return a + 0.4 * b if a > b else b + 0.4 * a


@_compiled
def _halves(
    t: FloatArray, errors: FloatArray, unit: float, beta: float, kappa: float, u: FloatArray, eu: FloatArray
) -> None:  # fmt: skip
    """`u` receives tan(angle / 2) of the slopes ``kappa (t + beta) / (1 + beta t)``, and `eu` its errors."""
    for i in range(len(t)):
        below = 1 + beta * t[i]
        s = kappa * (t[i] + beta) / below
        square = 1 + s * s
        u[i] = s / (1 + math.sqrt(square))
        stretch = kappa * (1 - beta * beta) / (below * below * square)
        eu[i] = _both(stretch * errors[i], ROUNDED * unit) * 0.5 * (1 + u[i] * u[i])


@_compiled
def _place(u: FloatArray, x: float) -> int:
    """The number of the ascending u that are below x."""
    low, high = 0, len(u)
    while low < high:
        middle = (low + high) // 2
        if u[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@_compiled
def _merged(
    u: FloatArray, codes: IntArray, kind: IntArray, c: float, h: float, tau: FloatArray, order: IntArray
) -> bool:
    """Merge the two chains: `tau` receives the images, ascending, and `order` the indices of their points.

    Returns False as soon as a point comes to lie inside a run of another label that is kept whole.
    """
    n = len(u)
    first, end = _place(u, c - h), _place(u, c + h)
    left = n - (end - first)
    far = first - 1 if first > 0 else n - 1
    near = first
    inverse = 1.0 / h
    tau_far, tau_near = 2.0, 2.0
    if left > 0:
        w = (u[far] - c) * inverse
        tau_far = 2 * w / (1 + w * w)
    if near < end:
        w = (u[near] - c) * inverse
        tau_near = 2 * w / (1 + w * w)
    open_far, open_near = -1, -1  # labels of the runs that the two chains are inside of
    if 0 < first < n and kind[first - 1] == FIRST and kind[first] == LAST:
        open_far = codes[first]
        open_near = codes[first]
    for k in range(n):
        if tau_far < tau_near:
            label, i = codes[far], far
            if open_near >= 0 and open_near != label:
                return False
            if kind[far] == LAST:
                open_far = label
            elif kind[far] == FIRST:
                open_far = -1
            tau[k] = tau_far
            left -= 1
            far = far - 1 if far > 0 else n - 1
            if left > 0:
                w = (u[far] - c) * inverse
                tau_far = 2 * w / (1 + w * w)
            else:
                tau_far = 2.0
        else:
            label, i = codes[near], near
            if open_far >= 0 and open_far != label:
                return False
            if kind[near] == FIRST:
                open_near = label
            elif kind[near] == LAST:
                open_near = -1
            tau[k] = tau_near
            near += 1
            if near < end:
                w = (u[near] - c) * inverse
                tau_near = 2 * w / (1 + w * w)
            else:
                tau_near = 2.0
        order[k] = i
    return True


@_compiled
def objective(
    u: FloatArray, codes: IntArray, kind: IntArray, errors: FloatArray,
    unit: float, safe: float, price: float, c: float, h: float, tau: FloatArray, order: IntArray,
) -> float:  # fmt: skip
    """The cost of the fold; `tau` receives the images and `order` the indices of their points.

    If the price is 0, only the errors of the two points at a gap count, which is quick; otherwise the errors
    of all points do.
    """
    if not _merged(u, codes, kind, c, h, tau, order):
        return NEVER
    n = len(u)
    product, bits, boundaries, noise = 1.0, 0.0, 0, 0.0
    check = 0.0 if price > 0 else 1e13 * unit * safe
    start, gap = tau[0], -1.0  # of the run before the boundary met last
    turn = 0.0
    for k in range(n):
        last = k == n - 1
        if last or codes[order[k]] != codes[order[k + 1]]:
            if gap >= 0:
                before, after = turn - start, tau[k] - turn + gap
                if boundaries == 1 and before < 2 * gap:
                    before = 2 * gap
                if last and after < 2 * gap:
                    after = 2 * gap
                room = before * after
                if not (gap > 0 and room > 0):
                    return NEVER
                product *= gap * gap / room
                if product < 1e-200:
                    if product <= 0.0:
                        return NEVER
                    bits += math.log2(product)
                    product = 1.0
                start = turn
            if not last:
                boundaries += 1
                i, j = order[k], order[k + 1]
                gap, turn = tau[k + 1] - tau[k], tau[k + 1]
                if gap < check:
                    lost = error_of(u[i], errors[i], unit, c, h) + error_of(u[j], errors[j], unit, c, h)
                    if not gap > 0:
                        return NEVER
                    if gap < safe * lost:
                        noise += math.log2(safe * lost / gap)
    cost = RUN * boundaries - GAP * (bits + math.log2(product)) + NOISE * noise
    return cost if price == 0 else cost + risk(u, codes, errors, unit, safe, price, c, h, tau, order)


@_compiled
def risk(
    u: FloatArray, codes: IntArray, errors: FloatArray,
    unit: float, safe: float, price: float, c: float, h: float, tau: FloatArray, order: IntArray,
) -> float:  # fmt: skip
    """The cost of lost bits of safety: `NOISE` for each, and the price for those of the least safe boundary.

    A point inside a run counts too if its error makes it reach farther than the point at the run's end::

          a   a       a │ b      b
         (─) (──────────┼──────)     the one in the middle is the least safe
    """
    noise, worst = 0.0, 0.0
    reach, ahead, ahead_error = -np.inf, 0.0, 0.0  # of this run to the right, the point and its error
    back, behind, behind_error = np.inf, 0.0, 0.0  # and to the left
    right, right_error = -np.inf, 0.0  # the point of the run before that reaches farthest
    for k in range(len(tau)):
        i = order[k]
        error = error_of(u[i], errors[i], unit, c, h)
        if tau[k] + safe * error > reach:
            reach, ahead, ahead_error = tau[k] + safe * error, tau[k], error
        if tau[k] - safe * error < back:
            back, behind, behind_error = tau[k] - safe * error, tau[k], error
        if k == len(tau) - 1 or codes[i] != codes[order[k + 1]]:
            gap, lost = behind - right, right_error + behind_error
            if gap < safe * lost:
                less = math.log2(safe * lost / gap)
                noise += less
                worst = max(worst, less)
            right, right_error = ahead, ahead_error
            reach, back = -np.inf, np.inf
    return NOISE * noise + price * worst


@_compiled
def error_of(u: float, error: float, unit: float, c: float, h: float) -> float:
    """The error of the image of u, given the error of u: it is stretched, and rounding is added."""
    w = (u - c) / h
    square = 1 + w * w
    stretch = 2 * abs(1 - w * w) / (square * square) / h
    return _both(error * stretch, ROUNDED * unit * (1 + u * u) / (h * h * square))


@_compiled
def rated(
    t: FloatArray, codes: IntArray, kind: IntArray, errors: FloatArray,
    unit: float, safe: float, price: float, fold: Fold,
) -> Fold:  # fmt: skip
    """The fold with its objective at this price.

    The parameters and the result are those of `anneal`.
    """
    n = len(t)
    u, eu, tau, order = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64)
    _, beta, kappa, c, h = fold
    _halves(t, errors, unit, beta, kappa, u, eu)
    return objective(u, codes, kind, eu, unit, safe, price, c, h, tau, order), beta, kappa, c, h


@_compiled
def begin(
    t: FloatArray, codes: IntArray, kind: IntArray, errors: FloatArray, unit: float, safe: float,
    kappa: float, draws: FloatArray,
) -> Fold:  # fmt: skip
    """The best of `len(draws)` random folds, each with neighbouring points for its near chain.

    The parameters and the result are those of `anneal`. The shape is random, the same for all of the folds.
    """
    n = len(t)
    u, eu, tau, order = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64)
    beta = draws[0, 0] - 0.5
    kappa = kappa * (0.4 + 3 * draws[0, 1] * draws[0, 1])
    _halves(t, errors, unit, beta, kappa, u, eu)
    c, h, cost = 0.0, 1.0, np.inf
    for start in range(len(draws)):
        i = int(draws[start, 3] * n)
        j = i + int(draws[start, 2] * draws[start, 5])
        low = 0.5 * (u[i - 1] + u[i]) if i > 0 else u[0] - 0.1
        high = 0.5 * (u[j] + u[j + 1]) if j + 1 < n else u[n - 1] + 0.1
        new_c, new_h = (low + high) / 2, (high - low) / 2
        if new_h > 1e-4:
            new = objective(u, codes, kind, eu, unit, safe, 0.0, new_c, new_h, tau, order)
            if new < cost:
                cost, c, h = new, new_c, new_h
    if cost == np.inf:
        cost = objective(u, codes, kind, eu, unit, safe, 0.0, c, h, tau, order)
    return cost, beta, kappa, c, h


@_compiled
def anneal(
    t: FloatArray, codes: IntArray, kind: IntArray, errors: FloatArray,
    unit: float, safe: float, price: float, fold: Fold,
    draws: FloatArray, scales: FloatArray, limits: FloatArray, temperatures: FloatArray,
) -> Fold:  # fmt: skip
    """The best fold of an annealing chain, as (objective, beta, kappa, c, h): shape, and tangents at c -/+ h.

    Parameters
    ----------
    t : ndarray, shape (n,)
        Ascending slopes from -1 to 1, before the shape.
    codes, kind : ndarray of int, shape (n,)
        Label of every point, and its kind: `SINGLE`, `FIRST` or `LAST`.
    errors : ndarray, shape (n,)
        Errors of t.
    unit : float
        The unit round-off.
    safe : float
        The ratio of gap to errors that is wanted; a larger one lowers the cost no further.
    price : float
        The cost of each bit by which the ratio of the least safe gap is less; 0 for the quick objective.
    fold : tuple of float
        The fold to begin with, in the form in which the result is returned.
    draws : ndarray, shape (n_steps, DRAWS)
        The random numbers of each step; see `DRAWS`.
    scales : ndarray, shape (n_steps,)
        Relative sizes of the steps.
    limits : ndarray, shape (n_steps,)
        Standard exponential numbers: a step may be so much worse, in units of the temperature.
    temperatures : ndarray, shape (n_steps,)
        The temperature at each step, in bits.
    """
    n = len(t)
    u, other = np.empty(n), np.empty(n)
    tau, order = np.empty(n), np.empty(n, np.int64)
    ends = np.empty(2)
    eu, other_eu = np.empty(n), np.empty(n)
    cost, beta, kappa, c, h = fold
    most, least = 4000.0, 0.02
    _halves(t, errors, unit, beta, kappa, u, eu)
    best, best_beta, best_kappa, best_c, best_h = fold
    for step in range(len(temperatures)):
        x, y, normal, scale = draws[step, 0], draws[step, 1], draws[step, 6], scales[step]
        new_beta, new_kappa, new_c, new_h = beta, kappa, c, h
        shaped = x < 0.1
        if shaped:
            if y < 0.5:
                new_beta = beta + scale * normal
                if abs(new_beta) > 0.95:
                    continue
            else:
                new_kappa = kappa * (1 + scale * normal) if normal > 0 else kappa / (1 - scale * normal)
                if new_kappa > most or new_kappa < least:
                    continue
            fine = True
            for z in range(2):  # each tangent stays between the same two points
                tangent = c - h if z == 0 else c + h
                if abs(tangent) < 0.999:
                    s = 2 * tangent / (1 - tangent * tangent) / kappa
                    down = 1 - beta * s
                    back = (s - beta) / down if down != 0 else 2.0
                    down = 1 + new_beta * back
                    if down == 0:
                        fine = False
                    else:
                        s = new_kappa * (back + new_beta) / down
                        tangent = s / (1 + math.sqrt(1 + s * s))
                ends[z] = tangent
            if not fine or ends[1] <= ends[0]:
                continue
            _halves(t, errors, unit, new_beta, new_kappa, other, other_eu)
            new_c, new_h = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2
        elif x < 0.45:  # put a near point onto a far one while one of the tangents stays
            left = y < 0.5
            tangent = c - h if left else c + h
            i = _place(u, tangent)
            near, far = int(draws[step, 2] * draws[step, 3]), int(draws[step, 4] * draws[step, 5])
            i_near = (i + near if left else i - 1 - near) % n
            i_far = (i - 1 - far if left else i + far) % n
            if codes[i_near] != codes[i_far]:
                continue
            p, q = u[i_near] - tangent, u[i_far] - tangent
            if p == 0 or q == 0:
                continue
            middle = 0.5 * (1 / p + 1 / q)
            if middle == 0 or (middle < 0) == left:
                continue
            reach = 1 / middle
            new_c, new_h = tangent + reach / 2, abs(reach) / 2
        elif y < 0.4:
            new_c = c + scale * h * normal
        elif y < 0.8:
            new_h = h * (1 + scale * normal) if normal > 0 else h / (1 - scale * normal)
        elif y < 0.9:
            new_c = c + scale * normal
        else:
            new_c, new_h = c + scale * h * normal / 2, h - scale * h * normal / 2
        if not 1e-4 < new_h < 1e3:
            continue
        if shaped:
            new = objective(other, codes, kind, other_eu, unit, safe, price, new_c, new_h, tau, order)
        else:
            new = objective(u, codes, kind, eu, unit, safe, price, new_c, new_h, tau, order)
        if new <= cost + temperatures[step] * limits[step]:
            cost, beta, kappa, c, h = new, new_beta, new_kappa, new_c, new_h
            if shaped:
                u, other = other, u
                eu, other_eu = other_eu, eu
            if cost < best:
                best, best_beta, best_kappa, best_c, best_h = cost, beta, kappa, c, h
    return best, best_beta, best_kappa, best_c, best_h
