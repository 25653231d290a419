"""The facts about SSR and LSSR, each decided exactly; no tolerance anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from lntheory.errors import DegenerateInputError, InvalidInputError
from lntheory.exact.separability import AlgebraicEnclosure, lssr, ssr
from tests.problems import CLASSES_WITH_SQRT, PROBLEMS, Problem
from tests.strategies import Rows, invertible_matrices, labelled, matrices, two_class

Labelled = tuple[Rows, list[str]]
Matrix = Sequence[Sequence[int | Fraction]]


def apply(X: Matrix, phi: Matrix, shift: Sequence[int | Fraction] | None = None) -> list[list[Fraction]]:
    """phi x + shift for each sample x."""
    offset = shift or [0] * len(phi)
    return [
        [
            sum((Fraction(w) * v for w, v in zip(row, x, strict=True)), Fraction(b))
            for row, b in zip(phi, offset, strict=True)
        ]
        for x in X
    ]


def coincide(X: Matrix) -> bool:
    return all(list(x) == list(X[0]) for x in X)


def class_means(X: Matrix, y: Sequence[Any]) -> list[list[Fraction]]:
    groups = [[x for x, label in zip(X, y, strict=True) if label == k] for k in dict.fromkeys(y)]
    return [
        [sum((Fraction(v) for v in column), Fraction(0)) / len(g) for column in zip(*g, strict=True)]
        for g in groups
    ]


def polynomial(value: Fraction | AlgebraicEnclosure) -> sympy.Poly:
    t = sympy.Symbol("t")
    if isinstance(value, Fraction):
        return sympy.Poly(value.denominator * t - value.numerator, t)
    return sympy.Poly(list(reversed(value.polynomial)), t)


def same(a: Fraction | AlgebraicEnclosure, b: Fraction | AlgebraicEnclosure) -> bool:
    """Equality, decided: overlapping enclosures of roots of a common factor that isolate one root there."""
    if isinstance(a, Fraction) or isinstance(b, Fraction):
        return a == b
    common = sympy.gcd(polynomial(a), polynomial(b))
    lower, upper = max(a.lower, b.lower), min(a.upper, b.upper)
    return lower <= upper and common.degree() > 0 and common.count_roots(_q(lower), _q(upper)) == 1


def at_most(a: Fraction | AlgebraicEnclosure, b: Fraction | AlgebraicEnclosure) -> bool:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a <= b
    assert isinstance(a, AlgebraicEnclosure)
    assert isinstance(b, AlgebraicEnclosure)
    return a.upper <= b.lower or same(a, b)


def _q(value: Fraction) -> sympy.Rational:
    return sympy.Rational(value.numerator, value.denominator)


def is_point(value: Fraction | AlgebraicEnclosure, point: int | Fraction) -> bool:
    return all(end == point for end in endpoints(value))


def enclosure(X: Any, y: Any, **keywords: Any) -> AlgebraicEnclosure:
    value = lssr(X, y, **keywords)
    assert isinstance(value, AlgebraicEnclosure)
    return value


def rational(X: Any, y: Any) -> Fraction:
    value = lssr(X, y)
    assert isinstance(value, Fraction)
    return value


def endpoints(value: Fraction | AlgebraicEnclosure) -> tuple[Fraction, Fraction]:
    return (value, value) if isinstance(value, Fraction) else (value.lower, value.upper)


# The definition.


def scatter_matrices(X: Matrix, y: Sequence[Any]) -> tuple[sympy.Matrix, sympy.Matrix]:
    """(S_w, S_t), straight from the definition."""
    points = sympy.Matrix([[_q(Fraction(v)) for v in x] for x in X])

    def scatter(rows: list[int]) -> sympy.Matrix:
        part = points.extract(rows, list(range(points.cols)))
        mean = sympy.ones(1, len(rows)) * part / len(rows)
        centred = part - sympy.ones(len(rows), 1) * mean
        return centred.T * centred

    within = sympy.zeros(points.cols, points.cols)
    for k in dict.fromkeys(y):
        within += scatter([i for i, label in enumerate(y) if label == k])
    return within, scatter(list(range(points.rows)))


@given(labelled(max_samples=7, max_features=3, bound=4))
def test_ssr_is_the_ratio_of_traces(data: Labelled) -> None:
    within, total = scatter_matrices(*data)
    assert _q(ssr(*data)) == within.trace() / total.trace()


@given(labelled(max_samples=7, max_features=3, bound=4))
def test_lssr_is_the_least_eigenvalue_of_the_pencil(data: Labelled) -> None:
    """A root of det(B'(S_w - t S_t)B), B a basis of range(S_t), with none below."""
    within, total = scatter_matrices(*data)
    basis = sympy.Matrix.hstack(*total.columnspace())
    t = sympy.Symbol("t")
    pencil = sympy.Poly((basis.T * (within - t * total) * basis).det(), t)
    value = lssr(*data)
    lower, upper = endpoints(value)
    assert sympy.gcd(pencil, polynomial(value)).count_roots(_q(lower), _q(upper)) == 1
    assert pencil.count_roots(None, _q(upper)) == pencil.count_roots(_q(lower), _q(upper)) == 1


@given(two_class(max_samples=8, max_features=3))
def test_two_classes_equal_one_minus_r_squared_of_least_squares(data: Labelled) -> None:
    """R**2 of the fit with intercept, from the normal equations (any solution: the fit is unique)."""
    X, y = data
    A = sympy.Matrix([[1, *x] for x in X])
    target = sympy.Matrix([int(label == y[0]) for label in y])
    fit = A * (A.T * A).pinv() * A.T * target
    mean = target.dot(sympy.ones(len(y), 1)) / sympy.Integer(len(y))
    residual, total = (target - fit).norm() ** 2, (target - mean * sympy.ones(len(y), 1)).norm() ** 2
    assert _q(rational(X, y)) == residual / total


# Invariance and monotonicity.


@given(st.data())
def test_invariant_under_invertible_affine_maps(data: st.DataObject) -> None:
    X, y = data.draw(labelled())
    phi = data.draw(invertible_matrices(len(X[0])))
    shift = data.draw(st.lists(st.fractions(max_denominator=9), min_size=len(phi), max_size=len(phi)))
    assert same(lssr(apply(X, phi, shift), y), lssr(X, y))


@given(st.data())
def test_monotone_under_every_linear_map(data: st.DataObject) -> None:
    """LSSR(phi(X)) >= LSSR(X), maps that drop rank or raise the dimension included."""
    X, y = data.draw(labelled())
    phi = data.draw(matrices(data.draw(st.integers(1, 5)), len(X[0])))
    image = apply(X, phi)
    if not coincide(image):
        assert at_most(lssr(X, y), lssr(image, y))


@given(st.data())
def test_no_linear_map_has_ssr_below_lssr(data: st.DataObject) -> None:
    X, y = data.draw(labelled())
    image = apply(X, data.draw(matrices(data.draw(st.integers(1, 3)), len(X[0]))))
    if not coincide(image):
        assert endpoints(lssr(X, y))[0] <= ssr(image, y)


@given(two_class(max_features=3))
def test_lssr_is_attained_by_one_direction(data: Labelled) -> None:
    """w with S_t w = mean difference has SSR(X w) = LSSR: the infimum is a minimum."""
    X, y = data
    _, total = scatter_matrices(X, y)
    a, b = class_means(X, y)
    delta = sympy.Matrix([_q(p - q) for p, q in zip(a, b, strict=True)])
    w = total.pinv() * delta
    if not w.is_zero_matrix:
        direction = [Fraction(int(v.p), int(v.q)) for v in w]
        assert ssr(apply(X, [direction]), y) == lssr(X, y)


@given(st.data())
def test_batch_normalization_of_the_batch_never_beats_lssr(data: st.DataObject) -> None:
    """BN on a fixed batch is x -> gamma (x - mean)/sigma + beta for each feature, then any linear map.

    sigma is irrational in general; any positive factor stands for gamma/sigma.
    """
    X, y = data.draw(labelled())
    d = len(X[0])
    scale = data.draw(st.lists(st.fractions(min_value=Fraction(1, 50), max_value=50), min_size=d, max_size=d))
    mean = [sum((Fraction(v) for v in column), Fraction(0)) / len(X) for column in zip(*X, strict=True)]
    normalized = apply(
        X,
        [[s if i == j else 0 for j in range(d)] for i, s in enumerate(scale)],
        [1 - s * m for s, m in zip(scale, mean, strict=True)],
    )
    assert same(lssr(normalized, y), lssr(X, y))
    assert endpoints(lssr(X, y))[0] <= ssr(normalized, y)


@given(st.data())
def test_scaling_and_shifting_change_nothing(data: st.DataObject) -> None:
    X, y = data.draw(labelled())
    factor = data.draw(st.sampled_from([Fraction(10) ** 150, Fraction(1, 10**150), Fraction(-3, 7)]))
    moved = [[factor * v + 10**8 for v in x] for x in X]
    assert same(lssr(moved, y), lssr(X, y))
    assert ssr(moved, y) == ssr(X, y)


@given(st.data())
def test_order_and_names_do_not_matter(data: st.DataObject) -> None:
    X, y = data.draw(labelled())
    order = data.draw(st.permutations(range(len(y))))
    names = {"a": 7, "b": "7", "c": None, "d": (1, 2)}
    shuffled = [X[i] for i in order], [names[y[i]] for i in order]
    assert same(lssr(*shuffled), lssr(X, y))
    assert ssr(*shuffled) == ssr(X, y)


@given(labelled(), st.integers(2, 3))
def test_repeating_all_samples_changes_nothing(data: Labelled, times: int) -> None:
    X, y = data
    assert same(lssr(X * times, y * times), lssr(X, y))
    assert ssr(X * times, y * times) == ssr(X, y)


# Bounds and their equality cases.


@given(labelled())
def test_zero_le_lssr_le_ssr_le_one(data: Labelled) -> None:
    lower, upper = endpoints(lssr(*data))
    assert 0 <= lower <= ssr(*data) <= 1
    assert lower <= upper <= 1


@given(labelled())
def test_lssr_is_one_iff_the_class_means_coincide(data: Labelled) -> None:
    one = is_point(lssr(*data), 1)
    assert one == coincide(class_means(*data))


@given(labelled(max_samples=4, bound=1), st.integers(0, 3))
def test_lssr_is_one_where_means_are_made_to_coincide(data: Labelled, rotation: int) -> None:
    """Every sample under every label, or mirrored about one centre."""
    X, y = data
    classes = list(dict.fromkeys(y))
    assert is_point(lssr(X * len(classes), [k for k in classes for _ in X]), 1)
    mirrored = [[-v for v in x] for x in X]
    assert is_point(lssr(X + mirrored, y + y), 1)


@given(two_class())
def test_two_classes_lssr_is_zero_iff_a_direction_is_constant_on_each_and_separates(data: Labelled) -> None:
    """Such a direction w is orthogonal to all differences within classes, not to one between classes."""
    X, y = data
    first = {k: X[y.index(k)] for k in y}
    differences = [[a - b for a, b in zip(x, first[k], strict=True)] for x, k in zip(X, y, strict=True)]
    across = [a - b for a, b in zip(first[y[0]], first[next(k for k in y if k != y[0])], strict=True)]
    rank = sympy.Matrix(differences).rank()
    separates = sympy.Matrix([*differences, across]).rank() > rank
    assert (lssr(X, y) == 0) == separates


@given(st.data())
def test_lssr_is_exactly_zero_where_a_separating_column_is_hidden(data: st.DataObject) -> None:
    X, y = data.draw(labelled(min_classes=2, max_features=3))
    marked = [[*x, "abcd".index(k)] for x, k in zip(X, y, strict=True)]
    phi = data.draw(invertible_matrices(len(marked[0])))
    assert is_point(lssr(apply(marked, phi), y), 0)


@given(labelled(max_classes=1))
def test_one_class_has_ssr_and_lssr_one(data: Labelled) -> None:
    assert ssr(*data) == lssr(*data) == 1


@given(labelled())
def test_one_sample_a_class_has_lssr_zero(data: Labelled) -> None:
    X, _ = data
    assert is_point(lssr(X, range(len(X))), 0)
    assert ssr(X, range(len(X))) == 0


# Named problems.


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_named_problems(problem: Problem) -> None:
    assert endpoints(lssr(problem.X, problem.y)) == (problem.lssr, problem.lssr)
    if problem.ssr is not None:
        assert ssr(problem.X, problem.y) == problem.ssr


def test_xor_is_one_and_jumps_with_the_rank() -> None:
    rows = [(".1", ".1", ".2"), (".7", ".7", "1.4"), (".1", ".7", ".8"), (".7", ".1", ".8")]
    y = [0, 0, 1, 1]
    assert lssr([[0, 0], [1, 1], [0, 1], [1, 0]], y) == 1
    assert lssr([[Decimal(v) for v in row] for row in rows], y) == 1
    assert lssr([[Fraction(v) for v in row] for row in rows], y) == 1
    assert lssr([[float(v) for v in row] for row in rows], y) == 0
    assert lssr(np.array(rows, dtype=np.float64), y) == 0


def test_degenerate_fit_of_a_discriminant() -> None:
    assert lssr([[0], [1], [1]], [0, 1, 1]) == 0


def test_rational_linear_algebra_does_not_blow_up() -> None:
    """Random 20 x 20 rationals: LSSR of 40 such samples, and again by another library."""
    rng = np.random.default_rng(0)
    X = [[Fraction(int(a), int(b)) for a, b in rng.integers(1, 10**6, (20, 2))] for _ in range(40)]
    y = [0, 1] * 20
    value = rational(X, y)
    A = sympy.Matrix([[1, *map(_q, x)] for x in X]).to_DM()
    b = sympy.Matrix(y).to_DM(field=True)
    At = A.to_field().transpose()
    fit = A.to_field() * (At * A.to_field()).lu_solve(At * b)
    residual = (b - fit).to_Matrix()
    assert _q(value) == residual.dot(residual) / 10


# Three classes or more.


def test_an_irrational_value() -> None:
    value = enclosure(*CLASSES_WITH_SQRT)
    assert value.polynomial == (27, -114, 103)
    assert not value.is_rational
    assert value.width <= Fraction(1, 2**64)
    narrow = enclosure(*CLASSES_WITH_SQRT, width=Fraction(1, 10**1000))
    assert narrow.width <= Fraction(1, 10**1000)
    for end in (value, narrow):
        # x < (57 - sqrt(468))/103 iff 57 - 103 x > sqrt(468), for x <= 1/2.
        assert (57 - 103 * end.lower) ** 2 > 468 > (57 - 103 * end.upper) ** 2
        assert end.upper < Fraction(1, 2)


@given(labelled(min_classes=3))
def test_enclosures_isolate_the_least_root(data: Labelled) -> None:
    """By Sturm's theorem in another library: one root inside, none below, all roots real, squarefree."""
    value = enclosure(*data)
    p = polynomial(value)
    assert p.count_roots(_q(value.lower), _q(value.upper)) == p.count_roots(None, _q(value.upper)) == 1
    assert p.count_roots() == p.degree()
    assert p.is_sqf


@given(labelled(min_classes=3), st.integers(0, 400))
def test_refining_keeps_the_number_and_reaches_the_width(data: Labelled, bits: int) -> None:
    value = enclosure(*data, width=1)
    fine = value.refine(Fraction(1, 2**bits))
    assert fine.width <= Fraction(1, 2**bits)
    assert value.lower <= fine.lower <= fine.upper <= value.upper
    assert same(value, fine)
    assert fine.refine(1) == fine
    assert same(lssr(*data, width=Fraction(1, 2**bits)), fine)


@given(labelled(min_classes=3, max_features=1))
def test_a_rational_value_becomes_a_point(data: Labelled) -> None:
    """With one feature LSSR = SSR, which is rational."""
    value = enclosure(*data)
    assert is_point(value, ssr(*data))
    assert value.is_rational


def test_a_repeated_eigenvalue_counts_once() -> None:
    """Classes at (+-4, 0), (0, +-4), each the unit vectors about its mean: S_w = 8 I, S_b = 128 I."""
    units = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    X = [[4 * a + c, 4 * b + d] for a, b in units for c, d in units]
    value = enclosure(X, [k for k in "abcd" for _ in units])
    assert value.polynomial == (-1, 17)
    assert is_point(value, Fraction(1, 17))


def test_a_rational_root_among_others_becomes_a_point_once_resolved() -> None:
    """Roots 1/3 and 1/2 of 6 t**2 - 5 t + 1."""
    value = AlgebraicEnclosure(Fraction(0), Fraction(2, 5), (1, -5, 6)).refine(Fraction(1, 20))
    assert value.lower == value.upper == Fraction(1, 3)


@given(labelled(min_classes=2, max_classes=2))
def test_splitting_a_class_can_only_lower_lssr(data: Labelled) -> None:
    """The same number seen through both return types: two classes, then three."""
    X, y = data
    split = [k if k != y[0] or i else "new" for i, k in enumerate(y)]
    assert endpoints(lssr(X, split))[0] <= rational(X, y)


def test_more_classes_than_features() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(-9, 9, (40, 2)), list(range(10)) * 4
    value = enclosure(X, y)
    assert len(value.polynomial) == 3  # two features: two eigenvalues
    within, total = scatter_matrices(X.tolist(), y)
    t = sympy.Symbol("t")
    pencil = sympy.Poly((within - t * total).det(), t)
    assert pencil.count_roots(None, _q(value.upper)) == pencil.count_roots(_q(value.lower), None) - 1 == 1


# Errors.


@pytest.mark.parametrize("function", [ssr, lssr])
def test_errors(function: Any) -> None:
    with pytest.raises(DegenerateInputError, match="All 3 samples coincide"):
        function([[Decimal("0.1")]] * 3, [0, 1, 1])
    with pytest.raises(DegenerateInputError, match="one sample"):
        function([[1, 2]], [0])
    with pytest.raises(InvalidInputError, match="X at sample 1, feature 0 is nan"):
        function(np.array([[0.0], [np.nan]]), [0, 1])
    with pytest.raises(InvalidInputError, match="X at sample 0, feature 0 is the string"):
        function([["0.1"], ["0.2"]], [0, 1])
    with pytest.raises(InvalidInputError, match="3 labels for 2 samples"):
        function([[0], [1]], [0, 1, 1])


@pytest.mark.parametrize("width", [0, -1, float("nan"), float("inf"), "x"])
def test_bad_widths(width: Any) -> None:
    with pytest.raises(InvalidInputError, match="width"):
        lssr(*CLASSES_WITH_SQRT, width=width)
    with pytest.raises(InvalidInputError, match="width"):
        enclosure(*CLASSES_WITH_SQRT).refine(width)


def test_an_enclosure_that_is_narrow_enough_is_kept() -> None:
    root = AlgebraicEnclosure(Fraction(0), Fraction(1, 2), (27, -114, 103))
    assert root.refine(Fraction(1, 2)) is root
    finer = root.refine(Fraction(1, 10**30))
    assert finer.width <= Fraction(1, 10**30)
    assert root.lower <= finer.lower <= finer.upper <= root.upper


def test_the_float_of_an_enclosure_is_its_midpoint() -> None:
    assert float(AlgebraicEnclosure(Fraction(1, 4), Fraction(3, 4), (-1, 2))) == 0.5


@pytest.mark.parametrize(
    ("X", "y", "value"),
    [
        ([[0], [1], [2]], "abc", 0),
        ([[0, 0], [1, 1], [0, 1], [1, 0], [0.5, 0.5], [0.5, 0.5]], "aabbcc", 1),
        ([[0], [4], [1], [3], [2]], "aabbc", 1),
    ],
)
def test_rational_answers_are_roots_of_their_polynomial(X: list[list[float]], y: str, value: int) -> None:
    found = lssr(X, list(y))
    assert isinstance(found, AlgebraicEnclosure)
    assert found.lower == found.upper == value
    assert sum(c * value**k for k, c in enumerate(found.polynomial)) == 0
