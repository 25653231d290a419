"""Curves of runs and gaps. (Those of the amplification are tested with the amplification.)"""

import numpy as np
import pytest

from lntheory.circle import Trajectory
from lntheory.network import Layer, LNNet
from lntheory.plotting import plot_runs
from tests.planar import XOR_X, look_from, merging_net, xor_net


@pytest.fixture(scope="module")
def path():
    return Trajectory.of(*merging_net(8, 5))


def test_runs_and_gaps_are_drawn_against_the_layer(path):
    figure = plot_runs(path)
    above, below = figure.axes
    assert above.get_ylabel() == "number of runs"
    assert below.get_ylabel() == "smallest gap (radians)"
    assert below.get_xlabel() == "layers applied"
    assert below.get_yscale() == "log"
    assert above.lines[0].get_xydata().tolist() == [[k + 1, r] for k, r in enumerate(path.runs)]
    assert below.lines[0].get_xydata().tolist() == [[k + 1, g] for k, g in enumerate(path.gaps)]
    assert above.lines[1].get_ydata()[0] == 2
    for axes in (above, below):
        assert all(text.get_text() for text in axes.get_legend().get_texts())


def test_gaps_below_float64_are_marked_not_hidden():
    # The second layer looks from infinity, along the line of two points of unequal label.
    flat = Layer(np.outer([1, -1, 0], [1, 1, -2]), [0, 1, 5])
    net = LNNet([look_from([0, 0]), flat], Layer([[1, 0, 0]], [0]), ["a", "b"])
    X = np.array([[1.0, -1, 0], [-1, 1, 0], [1, 1, -2]])
    path = Trajectory.of(net, X, ["a", "b", "a"])
    assert path.gaps[1] == 0
    lines = plot_runs(path).axes[1].lines
    (marked,) = [line for line in lines if line.get_label() == "no gap that float64 can show"]
    assert marked.get_xdata().tolist() == [2]


def test_one_class_has_no_gap():
    path = Trajectory.of(xor_net(), XOR_X[:2], [0, 0])
    assert np.isnan(path.gaps).all()
    assert path.runs.tolist() == [1]
    below = plot_runs(path).axes[1]
    assert "one class only" in below.texts[0].get_text()
