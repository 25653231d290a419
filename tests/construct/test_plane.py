"""The plane of width 3 in both kinds of numbers."""

from __future__ import annotations

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory import layer_norm
from lntheory.construct.arithmetic import Dyadic, Float64, floats
from lntheory.construct.plane import basis, directions, image, space
from tests import tolerances
from tests.tolerances import PLANE


@pytest.mark.parametrize("arithmetic", [Float64(), Dyadic(200)])
def test_basis_is_orthonormal_and_orthogonal_to_ones(arithmetic):
    with arithmetic.working():
        columns = basis(arithmetic)
        gram = columns.T @ columns - arithmetic.array(np.eye(2))
        sums = columns.sum(axis=0)
        worst = max(abs(float(v)) for v in [*gram.flat, *sums.flat])
    assert worst <= 8 * float(arithmetic.unit)


@given(st.integers(0, 2**32 - 1))
def test_the_plane_and_space_agree(seed):
    rng = np.random.default_rng(seed)
    matrix, offset = rng.normal(size=(2, 2)), 3 * rng.normal(size=2)
    float64 = Float64()
    z = directions(rng.normal(size=(6, 2)), float64)
    planar = z @ matrix.T + offset
    lengths = np.sqrt((planar**2).sum(axis=1))
    weight, bias = space(matrix, offset, float64)
    columns = basis(float64)
    in_space = layer_norm(np.sqrt(3) * z @ columns.T @ weight.T + bias) @ columns / np.sqrt(3)
    size = (np.abs(matrix).sum() + np.abs(offset).sum()) / lengths
    expected = planar / lengths[:, None]
    assert (np.abs(in_space - expected).max(axis=1) <= PLANE * size).all()
    assert (np.abs(image(z, weight, bias, float64) - expected).max(axis=1) <= PLANE * size).all()


def test_directions_of_wide_balls_lie_on_the_circle():
    """The midpoint of a quotient of wide balls is computed no better than the balls are wide."""
    wide = Dyadic(512)
    with wide.working():
        blurred = flint.arb(1) / 3 + flint.arb(0, flint.arb(2) ** -40)
        points = wide.rounded(directions(np.array([[blurred, blurred * 2]]), wide))
        miss = floats(np.abs((points * points).sum(axis=1) - 1))
    assert miss.max() < tolerances.WIDE_PLANE
