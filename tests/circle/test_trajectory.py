"""Labelled points on their way through a width-3 LN-Net."""

import subprocess
import sys

import numpy as np
import pytest

from lntheory.circle import Trajectory, arcs
from lntheory.errors import InvalidInputError
from lntheory.network import Layer, LNNet, Normalization
from tests.planar import XOR_X, XOR_Y, merging_net, xor_net
from tests.tolerances import PLANE


@pytest.fixture(scope="module")
def path():
    return Trajectory.of(*merging_net(8, 5))


def test_centre_and_chord_are_on_one_line_and_its_ends_merge(path):
    merging = [(stage, *pair) for stage in range(path.depth) for pair in path.chords(stage)]
    assert len(merging) > 1
    for stage, i, j in merging:
        a, b, o = path.stages[stage][i], path.stages[stage][j], path.centre(stage).point
        (p, q), (r, s) = b - a, o - a
        assert abs(p * s - q * r) <= PLANE * (1 + np.hypot(*o))
        # o lies outside the segment: both are seen in one direction
        assert (a - o) @ (b - o) > 0
        # so the layer maps them to one point, up to the rounding that it stretches (here less than 100 times)
        assert np.abs(path.stages[stage + 1][i] - path.stages[stage + 1][j]).max() <= 100 * PLANE


def test_nets_without_a_picture_are_named():
    linear = LNNet([], Layer([[1.0, 0.0]], [0]), [0, 1])
    with pytest.raises(InvalidInputError, match="no LN layer"):
        Trajectory.of(linear, XOR_X, XOR_Y)
    wide = LNNet([Layer(np.ones((4, 2)), np.arange(4.0))], Layer(np.ones((1, 4)), [0]), [0, 1])
    with pytest.raises(InvalidInputError, match=r"width 3.*\[4\]"):
        Trajectory.of(wide, XOR_X, XOR_Y)
    rms = xor_net(normalization=Normalization("rms_norm"))
    with pytest.raises(InvalidInputError, match=r"rms_norm"):
        Trajectory.of(rms, XOR_X, XOR_Y)
    with pytest.raises(InvalidInputError, match="sample 2 has the label 5"):
        Trajectory.of(xor_net(), XOR_X, [0, 1, 5, 0])
    with pytest.raises(InvalidInputError, match="4 samples but 3 labels"):
        Trajectory.of(xor_net(), XOR_X, [0, 1, 0])


def test_a_trajectory_tells_of_each_stage_what_the_circle_does(path):
    for stage in range(1, path.depth + 1):
        points, order = path.stages[stage], path.order(stage)
        assert np.abs(np.hypot(*points.T) - 1).max() < PLANE
        assert np.all(np.diff(np.unwrap(path.angles(stage)[order])) >= -PLANE)
        for mine, same in zip(path.arcs(stage), arcs(points, path.labels), strict=True):
            assert mine.tolist() == same.tolist()
        assert len(path.arcs(stage).labels) == path.runs[stage - 1]


def test_the_circle_needs_neither_matplotlib_nor_torch_nor_constructions():
    code = (
        "import sys; from lntheory.circle import Trajectory; from tests.planar import *; "
        "path = Trajectory.of(xor_net(), XOR_X, XOR_Y); path.runs, path.gaps, path.arcs(1), path.centre(0); "
        "names = ('matplotlib', 'PIL', 'torch', 'lntheory.construct', 'lntheory.plotting', 'lntheory.nn'); "
        "print([name for name in names if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
