"""The Hessian indicator against exact differentiation, automatic differentiation and differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from lntheory import exact
from lntheory.errors import DegenerateInputError, InvalidInputError
from lntheory.nonlinearity import amplification, amplification_bound, best_num_groups, hessian_indicator
from lntheory.plotting import plot_amplification
from tests import tolerances
from tests.strategies import FloatArray, norm_rows

LARGEST = Fraction(np.finfo(np.float64).max)

# Every norm with the keyword that chooses it, for rows of six features.
NORMS: list[dict[str, Any]] = [
    {"norm": "layer_norm"},
    {"norm": "rms_norm"},
    {"norm": "group_layer_norm", "num_groups": 1},
    {"norm": "group_layer_norm", "num_groups": 2},
    {"norm": "group_layer_norm", "group_size": 2},
]

Grouped = tuple[list[Fraction], int]


@st.composite
def grouped(draw: st.DrawFn, min_size: int = 2) -> Grouped:
    """A rational row of two groups or more, none constant, and the number of groups.

    Among the rows are some whose groups share mean and variance, though not their entries.
    """
    size = draw(st.integers(min_size, 5))
    n_groups = draw(st.integers(2, 4))
    entry = st.fractions(-9, 9, max_denominator=4)
    group = st.lists(entry, min_size=size, max_size=size).filter(lambda v: len(set(v)) > 1)
    if not draw(st.booleans()):
        return list(itertools.chain(*(draw(group) for _ in range(n_groups)))), n_groups
    base = draw(group)
    mean = sum(base, Fraction(0)) / size
    alike = [base, [2 * mean - v for v in base]]  # reflection keeps mean and variance
    return list(
        itertools.chain(*(draw(st.permutations(draw(st.sampled_from(alike)))) for _ in range(n_groups)))
    ), n_groups


def moments(group: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    mean = sum(group, Fraction(0)) / len(group)
    return mean, sum(((v - mean) ** 2 for v in group), Fraction(0)) / len(group)


def split(row: Sequence[Any], n_groups: int) -> list[list[Any]]:
    size = len(row) // n_groups
    return [list(row[start : start + size]) for start in range(0, len(row), size)]


def relative_error(computed: float, true: Fraction) -> Fraction:
    """Error over the true value, less what rounding to a subnormal number may do."""
    if np.isinf(computed):
        return Fraction(0) if true * (1 + Fraction(1, 2**40)) > LARGEST else Fraction(1)
    error = max(abs(Fraction(float(computed)) - true) - Fraction(tolerances.SUBNORMAL), Fraction(0))
    return error / true if true else error


# Oracles for the closed form.


def symbolic_outputs(x: Sequence[Any], norm: str, n_groups: int) -> list[Any]:
    outputs = []
    for group in split(x, n_groups):
        mean = 0 if norm == "rms_norm" else sum(group) / sp.Integer(len(group))
        root = sp.sqrt(sum((v - mean) ** 2 for v in group) / sp.Integer(len(group)))
        outputs += [(v - mean) / root for v in group]
    return outputs


@pytest.mark.parametrize(
    ("norm", "values", "n_groups"),
    [
        ("layer_norm", [1, 5, 2], 1),
        ("layer_norm", [1, 5, 2, -3], 1),
        ("layer_norm", [1, 5, 2, -3, 0, 7], 1),
        ("group_layer_norm", [1, 5, 2, -3], 2),
        ("group_layer_norm", [1, 5, 2, -3, 0, 7], 2),
        ("rms_norm", [3], 1),
        ("rms_norm", [1, 5, 2], 1),
        ("rms_norm", [1, 5, 2, -3], 1),
    ],
)
def test_exact_differentiation_gives_the_closed_form(norm: str, values: list[int], n_groups: int) -> None:
    x = sp.symbols(f"x:{len(values)}", real=True)
    point = dict(zip(x, values, strict=True))
    total = sp.Integer(0)
    for output in symbolic_outputs(x, norm, n_groups):
        for j in x:
            gradient = sp.diff(output, j)
            total += sum(sp.diff(gradient, k).subs(point) ** 2 for k in x)
    true = sp.nsimplify(sp.expand(total))
    keywords = {"num_groups": n_groups} if norm == "group_layer_norm" else {}
    computed = exact.hessian_indicator(values, norm=norm, **keywords)
    assert true == sp.Rational(computed.numerator, computed.denominator)


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # torch warns of itself
@pytest.mark.parametrize("keywords", NORMS)
def test_automatic_differentiation_agrees(keywords: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch", reason="torch is an optional dependency")
    n_groups = keywords.get("num_groups", 3 if "group_size" in keywords else 1)

    def function(x: Any) -> Any:
        groups = x.reshape(n_groups, -1)
        if keywords["norm"] != "rms_norm":
            groups = groups - groups.mean(-1, keepdim=True)
        return (groups / (groups**2).mean(-1, keepdim=True).sqrt()).reshape(-1)

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 6)) + rng.uniform(-1, 1, size=(40, 1))
    hessians = torch.func.vmap(torch.func.hessian(function))(torch.tensor(rows)).numpy()
    automatic = (hessians**2).sum(axis=(1, 2, 3))
    computed = hessian_indicator(rows, **keywords)
    size = computed
    if "group_size" in keywords:  # zero: what cancels has the size of its largest terms, sigma_k**-4
        assert (computed == 0).all()
        size = np.sum((np.diff(rows.reshape(40, 3, 2)) / 2) ** -4.0, axis=(1, 2))
    assert (np.abs(automatic - computed) <= tolerances.AUTOMATIC_HESSIAN * size).all()


@pytest.mark.parametrize("keywords", NORMS)
def test_central_differences_agree(keywords: dict[str, Any]) -> None:
    functions: dict[str, Callable[..., Any]] = {
        "layer_norm": exact.layer_norm,
        "rms_norm": exact.rms_norm,
        "group_layer_norm": exact.group_layer_norm,
    }
    function = functions[keywords["norm"]]
    groups = {name: value for name, value in keywords.items() if name != "norm"}
    h = Fraction(1, 2**64)
    point = [Fraction(v) for v in (3, -1, 4, 1, -5, 9)]

    def at(*steps: tuple[int, int]) -> Any:
        moved = list(point)
        for j, sign in steps:
            moved[j] += sign * h
        return function(moved, precision=600, **groups)

    computed = exact.hessian_indicator(point, **keywords)
    slack = tolerances.CENTRAL_DIFFERENCES * (computed or 1)
    with flint.ctx.workprec(600):
        total = flint.arb(0)
        for j, k in itertools.product(range(6), repeat=2):
            difference = at((j, 1), (k, 1)) - at((j, 1), (k, -1)) - at((j, -1), (k, 1)) + at((j, -1), (k, -1))
            second = difference * 2**126  # 1 / (4 h**2)
            total += sum(second * second)
        assert abs(total - flint.fmpq(*computed.as_integer_ratio())) < flint.fmpq(*slack.as_integer_ratio())


# Float against exact.


@given(norm_rows())
def test_layer_norm_indicator_is_within_its_bound(row: FloatArray) -> None:
    true = exact.hessian_indicator(row)
    assert relative_error(float(hessian_indicator(row)), true) <= tolerances.HESSIAN_INDICATOR


@given(norm_rows(min_features=1))
def test_rms_norm_indicator_is_within_its_bound(row: FloatArray) -> None:
    if row.any():
        true = exact.hessian_indicator(row, norm="rms_norm")
        computed = float(hessian_indicator(row, norm="rms_norm"))
        assert relative_error(computed, true) <= tolerances.HESSIAN_INDICATOR


@st.composite
def group_rows(draw: st.DrawFn) -> tuple[FloatArray, int]:
    """Groups of wildly different kinds side by side."""
    size = draw(st.integers(2, 8))
    n_groups = draw(st.integers(1, 5))
    groups = [draw(norm_rows(min_features=size, max_features=size)) for _ in range(n_groups)]
    return np.concatenate(groups), n_groups


@given(group_rows())
def test_group_indicator_and_amplification_are_within_their_bounds(drawn: tuple[FloatArray, int]) -> None:
    row, n_groups = drawn
    groups: dict[str, Any] = {"norm": "group_layer_norm", "num_groups": n_groups}
    true = exact.hessian_indicator(row, **groups)
    assert relative_error(float(hessian_indicator(row, **groups)), true) <= tolerances.HESSIAN_INDICATOR
    if len(row) > 2:
        ratio = float(amplification(row, n_groups))
        assert relative_error(ratio, exact.amplification(row, n_groups)) <= tolerances.AMPLIFICATION


def test_the_error_measure_can_fail() -> None:
    """The textbook variance of shifted data must be seen to miss the bound."""
    row = np.random.default_rng(0).normal(size=8) + 1e6
    naive = 3 * 6 / 8 / ((row**2).mean() - row.mean() ** 2) ** 2
    true = exact.hessian_indicator(row)
    assert relative_error(naive, true) > tolerances.HESSIAN_INDICATOR
    assert relative_error(np.inf, true) == 1


@pytest.mark.parametrize("keywords", NORMS)
def test_scales_out_of_range_give_infinity_or_zero_and_no_warning(keywords: dict[str, Any]) -> None:
    x = np.array([1.0, 2.0, 4.0, -3.0, 0.5, 7.0])
    zero = "group_size" in keywords
    assert float(hessian_indicator(x * 1e90, **keywords)) == 0.0
    assert float(hessian_indicator(x * 1e-90, **keywords)) == (0.0 if zero else np.inf)
    for factor in (1e75, 1e-75):
        true = exact.hessian_indicator(x * factor, **keywords)
        computed = float(hessian_indicator(x * factor, **keywords))
        assert (computed == 0.0) == zero
        assert np.isfinite(computed)
        assert relative_error(computed, true) <= tolerances.HESSIAN_INDICATOR


def test_the_ratio_outlives_the_indicators() -> None:
    row = np.array([1.0, 2.0, 4.0, 3.0, 0.5, 7.0])
    for power in (-1000, -300, 300, 1000):
        assert amplification(np.ldexp(row, power), 2) == amplification(row, 2)
    far = np.array([0.0, 5e-324, 0.0, 1e308, -1e308, 1e308])
    assert amplification(far, 2) == np.inf
    assert amplification(np.array([0.0, 5e-324, 1e308, -1e308]), 2) == 0.0


def test_one_group_is_layer_norm_and_its_ratio_is_one() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 7)) * 10.0 ** np.arange(-50, 50, 2)[:, None]
    np.testing.assert_array_equal(
        hessian_indicator(rows, norm="group_layer_norm", num_groups=1), hessian_indicator(rows)
    )
    np.testing.assert_array_equal(amplification(rows, 1), np.ones(50))


# Laws, decided exactly.


@given(grouped(), st.fractions(-9, 9, max_denominator=5).filter(bool), st.fractions(-99, 99))
def test_scaling_law_and_shift_invariance(drawn: Grouped, factor: Fraction, shift: Fraction) -> None:
    row, n_groups = drawn
    moved = [factor * v + shift for v in row]
    scaled = [factor * v for v in row]
    for keywords in ({}, {"norm": "group_layer_norm", "num_groups": n_groups}):
        true = exact.hessian_indicator(row, **keywords)
        assert exact.hessian_indicator(moved, **keywords) == true / factor**4
    assert exact.hessian_indicator(scaled, norm="rms_norm") * factor**4 == exact.hessian_indicator(
        row, norm="rms_norm"
    )
    centred = [v - moments(row)[0] for v in row]
    d = len(row)
    assert exact.hessian_indicator(centred, norm="rms_norm") * (d - 2) == exact.hessian_indicator(row) * (
        d - 1
    )


@given(grouped(), st.floats(1e3, 1e8))
def test_float_shift_costs_no_accuracy(drawn: Grouped, shift: float) -> None:
    row = np.array([float(v) for v in drawn[0]]) + shift
    groups = split(row.tolist(), drawn[1])
    if all(len(set(group)) > 1 for group in groups):
        keywords: dict[str, Any] = {"norm": "group_layer_norm", "num_groups": drawn[1]}
        computed = float(hessian_indicator(row, **keywords))
        true = exact.hessian_indicator(row, **keywords)
        assert relative_error(computed, true) <= tolerances.HESSIAN_INDICATOR


@given(grouped())
def test_the_bound_holds_with_equality_iff_groups_share_mean_and_variance(drawn: Grouped) -> None:
    row, n_groups = drawn
    if len(row) < 3:
        return
    ratio, bound = exact.amplification(row, n_groups), amplification_bound(len(row), n_groups)
    assert ratio >= bound
    if len(row) == 2 * n_groups:
        assert ratio == bound == 0
    else:
        alike = len({moments(group) for group in split(row, n_groups)}) == 1
        assert (ratio == bound) == alike
        assert bound >= 1


@given(grouped(min_size=3))
def test_splitting_groups_of_six_into_threes_never_lowers_the_indicator(drawn: Grouped) -> None:
    row = (split(drawn[0], drawn[1])[0][:3] + split(drawn[0], drawn[1])[1][:3]) * 2
    if all(len(set(group)) > 1 for group in split(row, 4)):
        assert exact.amplification(row, 4) >= exact.amplification(row, 2)


def test_bound_known_values() -> None:
    assert amplification_bound(8, 4) == 0
    assert amplification_bound(8, 2) == Fraction(4, 3)
    assert amplification_bound(512, 128) == Fraction(512**2, 8 * 510)
    assert isinstance(amplification_bound(np.int64(12), np.int64(3)), Fraction)
    for d in range(4, 200, 4):
        assert amplification_bound(d, d // 4) == Fraction(d * d, 8 * (d - 2)) > Fraction(d, 8)


def test_best_number_of_groups_over_all_divisors() -> None:
    for d in range(3, 400):
        bounds = {g: amplification_bound(d, g) for g in range(1, d // 2 + 1) if d % g == 0}
        largest = max(bounds.values())
        best = [g for g, bound in bounds.items() if bound == largest]
        assert best_num_groups(d) == best[-1], d  # of a tie the more groups
        assert len(best) == (2 if d % 12 == 6 and d % 5 else 1)
    assert best_num_groups(10) == 2
    assert best_num_groups(15) == 3


# Shapes, types and errors.


@pytest.mark.parametrize("keywords", NORMS)
def test_rows_do_not_influence_each_other_under_any_leading_shape(keywords: dict[str, Any]) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 6)) * 10.0 ** np.arange(-60, 60, 5).reshape(2, 3, 4, 1)
    x.flags.writeable = False
    result = hessian_indicator(x, **keywords)
    assert result.shape == (2, 3, 4)
    for index in np.ndindex(2, 3, 4):
        assert result[index] == hessian_indicator(x[index], **keywords)
    ratios = amplification(x, 2)
    assert ratios.shape == (2, 3, 4)
    assert ratios[1, 2, 3] == amplification(x[1, 2, 3], 2)


def test_a_single_sample_gives_a_scalar() -> None:
    assert isinstance(hessian_indicator([1, 2, 3]), np.float64)
    assert isinstance(amplification([1, 2, 3], 1), np.float64)
    assert hessian_indicator([[1, 2, 3]]).shape == (1,)


def test_two_features_have_indicator_zero() -> None:
    assert hessian_indicator([1.0, 3.0]) == 0.0
    assert exact.hessian_indicator([1, 3]) == 0
    assert hessian_indicator([2.0], norm="rms_norm") == 0.0


def test_zero_variance_errors_name_the_sample_and_the_group() -> None:
    with pytest.raises(DegenerateInputError, match=r"Sample \(0, 1\) has zero variance .*3\.0"):
        hessian_indicator([[[1.0, 2.0], [3.0, 3.0]]])
    with pytest.raises(DegenerateInputError, match=r"Sample 1 is zero: RMSNorm"):
        hessian_indicator([[1.0], [0.0]], norm="rms_norm")
    with pytest.raises(DegenerateInputError, match="The sample has zero variance"):
        hessian_indicator([7.0])
    rows = [[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 3.0]]
    for call in (
        lambda: hessian_indicator(rows, norm="group_layer_norm", group_size=2),
        lambda: amplification(rows, 2),
    ):
        with pytest.raises(DegenerateInputError, match=r"Group 1 \(features 2 to 3\) of sample 1 .*1 such"):
            call()
    for function in (exact.amplification, amplification):
        with pytest.raises(DegenerateInputError, match=r"Group 1 \(features 2 to 3\)"):
            function(rows[1], 2)
    with pytest.raises(DegenerateInputError, match="x is zero"):
        exact.hessian_indicator([0, 0], norm="rms_norm")
    with pytest.raises(DegenerateInputError, match="x has zero variance"):
        exact.hessian_indicator([Decimal("0.1")] * 3)


@pytest.mark.parametrize("function", [hessian_indicator, exact.hessian_indicator])
def test_wrong_norms_and_groups_are_errors(function: Callable[..., Any]) -> None:
    x = [1.0, 2.0, 4.0, 3.0, 0.0, 5.0]
    with pytest.raises(InvalidInputError, match="'batch_norm'"):
        function(x, norm="batch_norm")
    for norm in ("layer_norm", "rms_norm"):
        with pytest.raises(InvalidInputError, match=f"nothing to norm='{norm}'"):
            function(x, norm=norm, num_groups=2)
        with pytest.raises(InvalidInputError, match=f"nothing to norm='{norm}'"):
            function(x, norm=norm, group_size=2)
    for groups in ({}, {"num_groups": 2, "group_size": 3}):
        with pytest.raises(InvalidInputError, match="exactly one"):
            function(x, norm="group_layer_norm", **groups)
    with pytest.raises(InvalidInputError, match=r"num_groups=4 .*n_features=6"):
        function(x, norm="group_layer_norm", num_groups=4)
    with pytest.raises(InvalidInputError, match="leaves one feature"):
        function(x, norm="group_layer_norm", group_size=1)


def test_bad_numbers_are_errors() -> None:
    with pytest.raises(InvalidInputError, match=r"nan at sample 0, feature 1"):
        hessian_indicator([[1.0, np.nan, 2.0]])
    with pytest.raises(InvalidInputError, match="empty"):
        hessian_indicator(np.zeros((0, 3)))
    with pytest.raises(InvalidInputError, match="single number"):
        amplification(3.0, 1)
    with pytest.raises(InvalidInputError, match="x at feature 1 is nan"):
        exact.hessian_indicator([1.0, np.nan])
    for bad in ("abc", 3.0, []):
        with pytest.raises(InvalidInputError, match="x is"):
            exact.hessian_indicator(bad)


def test_undefined_ratios_are_errors() -> None:
    for call in (
        lambda: amplification([1.0, 2.0], 1),
        lambda: exact.amplification([1, 2], 1),
        lambda: amplification_bound(2, 1),
        lambda: best_num_groups(2),
        lambda: best_num_groups(1),
    ):
        with pytest.raises(InvalidInputError, match="at least three features"):
            call()
    for d, num_groups in ((6, 4), (6, 6), (6, 0), (6, -1), (6, True), (6, 2.0)):
        with pytest.raises(InvalidInputError, match="num_groups"):
            amplification_bound(d, num_groups)  # type: ignore[arg-type]
    for d in (0, -3, 6.0, True, "6"):
        with pytest.raises(InvalidInputError, match="number of features"):
            amplification_bound(d, 1)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="number of features"):
            best_num_groups(d)  # type: ignore[arg-type]


# The picture.


def test_plot_shows_the_bound_and_what_was_measured() -> None:
    rows = np.random.default_rng(0).normal(size=(25, 24))
    figure = plot_amplification(rows)
    (axes,) = figure.axes
    bound = next(line for line in axes.get_lines() if line.get_gid() == "bound")
    groups = [1, 2, 3, 4, 6, 8]
    assert list(bound.get_xdata()) == groups
    assert list(bound.get_ydata()) == [float(amplification_bound(24, g)) for g in groups]
    median = next(line for line in axes.get_lines() if line.get_gid() == "median")
    assert list(median.get_ydata()) == [float(np.median(amplification(rows, g))) for g in groups]
    samples = next(artist for artist in axes.collections if artist.get_gid() == "samples")
    assert len(samples.get_offsets()) == 25 * len(groups)
    assert axes.get_yscale() == "log"


def test_plot_refuses_what_has_no_ratio() -> None:
    with pytest.raises(InvalidInputError, match="at least three features"):
        plot_amplification(np.ones((3, 2)))
    rows = np.random.default_rng(0).normal(size=(4, 6))
    rows[2, 3:] = 1.0
    with pytest.raises(DegenerateInputError, match=r"Group 1 .* of sample 2"):
        plot_amplification(rows)


def test_numbers_of_groups_are_integers() -> None:
    for d in (3, 7, 10, 18, 512):
        assert isinstance(best_num_groups(d), int)
        assert isinstance(best_num_groups(np.int64(d)), int)  # type: ignore[arg-type]
    assert best_num_groups(11) == 1
