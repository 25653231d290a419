"""Pictures of the circle: what is drawn is what the net does."""

import math
from itertools import groupby

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from lntheory.circle import Trajectory
from lntheory.errors import InvalidInputError
from lntheory.network import Layer, LNNet
from lntheory.plotting import plot_layers
from lntheory.plotting.circle import REACH, STRIP_LENGTH
from lntheory.plotting.style import class_styles
from tests.planar import XOR_X, XOR_Y, look_from, merging_net, xor_net
from tests.tolerances import PLANE


@pytest.fixture(scope="module")
def path():
    return Trajectory.of(*merging_net(8, 5))


def artist(axes, gid):
    matching = [a for a in axes.get_children() if a.get_gid() == gid]
    return matching[0] if matching else None


def polygons(axes, gid):
    """The polygons of a collection of compound paths, with their colours."""
    collection = artist(axes, gid)
    colours = collection.get_facecolors()
    return [
        (polygon, tuple(colours[k]))
        for k, compound in enumerate(collection.get_paths())
        for polygon in compound.to_polygons()
    ]


def legend_texts(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_every_panel_is_labelled_and_the_legend_explains(path):
    figure = plot_layers(path)
    assert len(figure.axes) == 6  # stages 0 .. 5
    for stage, axes in enumerate(figure.axes):
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("plane coordinate $z_1$", "plane coordinate $z_2$")
        assert (f"layer {stage} of 5" in axes.get_title()) == (stage > 0)
    texts = " | ".join(legend_texts(figure))
    for expected in (
        "class 0",
        "class 1",
        "runs of equal label",
        "in their order",
        "centre $o$",
        "chord that it merges",
    ):
        assert expected in texts
    assert figure.get_suptitle() == "8 samples, 2 classes, width 3, 5 LN layers by by hand"


def test_the_points_drawn_are_the_points_of_the_net(path):
    figure = plot_layers(path, [3])
    drawn = [c.get_offsets() for c in figure.axes[0].collections if len(c.get_offsets()) == 4]
    for k in (0, 1):
        assert np.asarray(drawn[k]).tolist() == path.stages[3][path.labels == k].tolist()


def test_the_chord_drawn_is_that_of_the_merged_pair(path):
    for stage, axes in enumerate(plot_layers(path).axes):
        chord = artist(axes, "chord")
        if stage == path.depth:
            assert chord is None
            continue
        segments = chord.get_segments()
        expected = [path.stages[stage][[i, j]].tolist() for i, j in path.chords(stage)]
        assert [np.asarray(segment).tolist() for segment in segments] == expected
        assert len(expected) == (stage > 0 and path.net.provenance["merges"][stage] is not None)


def test_the_centre_is_a_mark_in_view_and_an_arrow_beyond(path):
    seen = {True: 0, False: 0}
    for stage in range(path.depth):
        axes = plot_layers(path, [stage]).axes[0]
        mark, centre = artist(axes, "centre"), path.centre(stage)
        seen[mark is not None] += 1
        if mark is not None:
            assert np.column_stack(mark.get_data()).tolist() == [centre.point.tolist()]
        else:
            assert np.abs(centre.point).max() > 1.69
            arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
            (arrow,) = arrows
            assert np.array(arrow.xy) / np.hypot(*arrow.xy) == pytest.approx(centre.direction)
            assert any(f"|o| = {centre.distance:.3g}" in text.get_text() for text in axes.texts)
    assert min(seen.values()) > 0


def test_a_parallel_projection_says_so():
    W = np.outer([1, -1, 0], [1, 1, -2])
    net = LNNet([look_from([0, 0]), Layer(W, [0, 1, 5])], Layer([[1, 0, 0]], [0]), ["a", "b"])
    X = np.array([[1.0, 2, 4], [0, 5, 1]])
    axes = plot_layers(Trajectory.of(net, X, ["a", "b"]), [1]).axes[0]
    assert "$o$ at infinity" in [text.get_text() for text in axes.texts]


def test_the_ring_shows_runs_where_there_are_points(path):
    """Every sector is near points of its own label, every point near one, and neighbours do not overlap."""
    for stage in range(1, path.depth):
        starts, ends, labels = path.arcs(stage, REACH)
        sectors = polygons(plot_layers(path, [stage]).axes[0], "ring")
        assert len(sectors) == len(starts) >= path.runs[stage - 1]
        for polygon, colour in sectors:  # in the colour of the run that spans its angles
            turns = np.arctan2(polygon[:, 1], polygon[:, 0])[:, None] - starts
            within = np.abs(turns - (ends - starts) / 2 + math.pi) % (2 * math.pi) - math.pi
            (k,) = np.flatnonzero((np.abs(within) <= (ends - starts) / 2 + PLANE).all(axis=0))
            assert colour[:3] == to_rgb(class_styles(2)[labels[k]][0])
        assert np.all(starts < ends)
        assert np.all(ends <= np.append(starts[1:], starts[0] + 2 * math.pi) + PLANE)
        angles = np.arctan2(*path.stages[stage].T[::-1])
        for angle, label in zip(angles, path.labels, strict=True):
            assert label in labels[(angle - starts) % (2 * math.pi) <= ends - starts + PLANE]
        for start, end, label in zip(starts, ends, labels, strict=True):
            own = (angles[path.labels == label] - start) % (2 * math.pi)
            assert own[own <= end - start].min() <= REACH + PLANE


def test_the_strip_lists_all_samples_in_their_order_and_ticks_those_merged(path):
    for stage in range(1, path.depth):
        axes = plot_layers(path, [stage]).axes[0]
        drawn = sorted(polygons(axes, "strip"), key=lambda bar: bar[0][:, 0].min())
        bars = [bar for bar, _ in drawn]
        order = path.order(stage)
        angles = np.unwrap(np.arctan2(*path.stages[stage].T[::-1])[order])
        assert np.all(np.diff(angles) >= -PLANE)
        assert angles[-1] - angles[0] < 2 * math.pi
        runs = [(label, len(list(block))) for label, block in groupby(path.labels[order])]
        blocks = [length for _, length in runs]
        colours = [to_rgb(class_styles(2)[label][0]) for label, _ in runs]
        assert [colour[:3] for _, colour in drawn] == colours
        width = STRIP_LENGTH / len(order)
        assert [np.ptp(bar[:, 0]) for bar in bars] == pytest.approx([n * width for n in blocks])
        ticks = artist(axes, "merged").get_xdata()
        places = ((ticks - bars[0][:, 0].min()) / width - 0.5).round().astype(int)
        assert set(order[places]) == {k for pair in path.chords(stage) for k in pair}


def test_the_ring_shows_what_the_readout_says_in_the_end():
    last = Trajectory.of(xor_net(), XOR_X, XOR_Y)
    axes = plot_layers(last, [1]).axes[0]
    assert len(polygons(axes, "ring")) == 2
    assert axes.get_title() == "after layer 1 of 1: 2 runs, read out"


@pytest.mark.parametrize("layers", [[-1], [6], [0, 9], []])
def test_layers_out_of_range_are_named(path, layers):
    with pytest.raises(InvalidInputError, match=r"layers from 0 to 5"):
        plot_layers(path, layers)


def test_deep_nets_show_a_few_panels_first_and_last_included():
    path = Trajectory.of(*merging_net(6, 40))
    titles = [axes.get_title() for axes in plot_layers(path, n_panels=4).axes]
    assert len(titles) == 4
    assert titles[0].startswith("samples")
    assert "layer 40 of 40" in titles[-1]


def test_strange_labels_are_shown_as_they_are():
    net = LNNet(xor_net().layers, xor_net().readout, ("$x^2$_", "<b>" * 20))
    figure = plot_layers(Trajectory.of(net, XOR_X, ["$x^2$_", "<b>" * 20, "<b>" * 20, "$x^2$_"]))
    figure.draw_without_rendering()
    assert r"class \$x^2\$_" in legend_texts(figure)
    assert "class <b><b><b><b><b><b><b>..." in legend_texts(figure)
