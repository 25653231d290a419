"""The plane of width 3, and the centre that a layer looks from."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory import layer_norm
from lntheory.circle import (
    circle_points,
    layer_centre,
    plane_coordinates,
    polar_angles,
    space_coordinates,
)
from lntheory.errors import InvalidInputError
from lntheory.network import Layer
from tests.planar import E
from tests.tolerances import PLANE


def test_plane_coordinates_are_an_isometry_onto_the_unit_circle():
    h = layer_norm(np.random.default_rng(0).normal(size=(20, 3)))
    z = plane_coordinates(h)
    assert np.abs(z @ z.T - h @ h.T / 3).max() < PLANE
    assert np.abs(np.hypot(*z.T) - 1).max() < PLANE


small = st.integers(-9, 9)


@given(st.lists(small, min_size=9, max_size=9), small, small, small)
def test_the_centre_is_where_the_affine_map_meets_the_axis(entries, u, v, t):
    """Planted: W and b integers with W h + b = t (1, 1, 1) at h = u (1, -1, 0) + v (1, 1, -2)."""
    W = np.array(entries).reshape(3, 3)
    h = u * np.array([1, -1, 0]) + v * np.array([1, 1, -2])
    centre = layer_centre(Layer(W, t - W @ h))
    det = round(np.linalg.det(3 * E.T @ W @ E))
    assert (centre is not None and math.isfinite(centre.distance)) == (det != 0)
    if det != 0:
        planted = plane_coordinates(h)
        assert np.abs(centre.point - planted).max() <= PLANE * max(1, np.abs(planted).max())
        assert math.hypot(*centre.direction) == pytest.approx(1, abs=PLANE) or centre.direction == (0, 0)


def test_a_singular_layer_looks_from_infinity_along_its_null_direction():
    A = np.outer([2.0, -1.0], [3.0, 4.0])  # constant along (4, -3)
    centre = layer_centre(Layer(np.round(2**20 * E @ A @ E.T), [1, 2, 4]))
    assert centre is None or math.isfinite(centre.distance)  # rounding made it regular
    W = np.outer([1, -1, 0], [1, 1, -2])  # exactly singular: only the second coordinate counts
    centre = layer_centre(Layer(W, [0, 1, 5]))
    assert centre.distance == math.inf
    assert np.abs(centre.direction) == pytest.approx([1, 0], abs=0)
    assert layer_centre(Layer(np.zeros((3, 3)), [1, 2, 3])) is None
    assert layer_centre(Layer(np.ones((3, 3)), [1, 2, 3])) is None


def test_centres_of_dyadic_layers_are_computed_exactly():
    tiny = Fraction(1, 2**3000)  # nothing that a float can hold, yet the centre is (1, -1, 0)
    layer = Layer([[tiny * v for v in row] for row in np.eye(3).astype(int).tolist()], [-tiny, tiny, 0])
    assert layer_centre(layer) == layer_centre(Layer(np.eye(3), [-1, 1, 0]))


@pytest.mark.parametrize("shape", [(3, 2), (4, 3), (4, 4)])
def test_only_3_to_3_layers_have_a_centre(shape):
    with pytest.raises(InvalidInputError, match=f"{shape[1]} -> {shape[0]}"):
        layer_centre(Layer(np.ones(shape), np.ones(shape[0])))


def test_plane_and_space_and_angles_lead_back():
    angles = np.linspace(-3, 3, 25)
    z = circle_points(angles)
    assert np.abs(polar_angles(z) - angles).max() < PLANE
    assert np.abs(plane_coordinates(space_coordinates(z)) - z).max() < PLANE
    assert np.abs(space_coordinates(z).sum(axis=1)).max() < PLANE
