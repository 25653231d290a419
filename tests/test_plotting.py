"""Pictures: what is drawn is what the net does."""

import math
import subprocess
import sys
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

import lntheory
from lntheory import plotting
from lntheory.errors import InvalidInputError
from lntheory.network import Layer, LNNet, Normalization
from lntheory.plotting import (
    Trajectory,
    layer_centre,
    plane_coordinates,
    plot_layers,
    plot_runs,
    save_animation,
    save_figure,
    save_pictures,
)
from tests.planar import XOR_X, XOR_Y, E, look_from, merging_net, xor_net
from tests.tolerances import PLANE


@pytest.fixture(scope="module")
def path():
    return Trajectory.of(*merging_net(8, 5))


def artist(axes, gid):
    found = [a for a in axes.get_children() if a.get_gid() == gid]
    return found[0] if found else None


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


# ---------------------------------------------------------------------------------------- plane, centre


def test_plane_coordinates_are_an_isometry_onto_the_unit_circle():
    h = lntheory.layer_norm(np.random.default_rng(0).normal(size=(20, 3)))
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
    from fractions import Fraction

    tiny = Fraction(1, 2**3000)  # nothing that a float can hold, yet the centre is (1, -1, 0)
    layer = Layer([[tiny * v for v in row] for row in np.eye(3).astype(int).tolist()], [-tiny, tiny, 0])
    assert layer_centre(layer) == layer_centre(Layer(np.eye(3), [-1, 1, 0]))


@pytest.mark.parametrize("shape", [(3, 2), (4, 3), (4, 4)])
def test_only_3_to_3_layers_have_a_centre(shape):
    with pytest.raises(InvalidInputError, match=f"{shape[1]} -> {shape[0]}"):
        layer_centre(Layer(np.ones(shape), np.ones(shape[0])))


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


# ---------------------------------------------------------------------------------------------- runs, gaps

circles = st.lists(st.tuples(st.integers(0, 359), st.integers(0, 2)), min_size=1, max_size=12,
                   unique_by=lambda point: point[0])  # fmt: skip


@given(circles)
def test_runs_and_gaps_against_brute_force(points):
    """On whole degrees: runs by grouping from where one starts, gaps over all pairs of unequal label."""
    angles = np.radians([degree for degree, _ in points])
    labels = np.array([label for _, label in points])
    around = [label for _, label in sorted(points)]
    cuts = [k for k in range(len(around)) if around[k] != around[k - 1]]
    start = cuts[0] if cuts else 0
    z = np.column_stack([np.cos(angles), np.sin(angles)])
    starts, ends, run_labels = plotting._runs(z, labels)
    assert len(starts) == len(list(groupby(around[start:] + around[:start])))
    assert sum(ends - starts) == pytest.approx(2 * math.pi)
    for angle, label in zip(angles, labels, strict=True):  # every point lies in a run of its own label
        inside = (angle - starts) % (2 * math.pi) <= ends - starts + PLANE
        assert label in run_labels[inside]
    degrees = [
        min((a - b) % 360, (b - a) % 360) for a, la in points for b, lb in points if la != lb
    ]  # fmt: skip
    gap = plotting._smallest_gap(z, labels)
    assert math.isnan(gap) if not degrees else gap == pytest.approx(math.radians(min(degrees)))


def test_a_merged_pair_counts_once_and_coinciding_unequal_points_have_no_gap():
    z = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    assert len(plotting._runs(z, np.array([0, 0, 1]))[0]) == 2
    assert plotting._smallest_gap(z, np.array([0, 1, 1])) == 0


# ------------------------------------------------------------------------------------------ plot_layers


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
        starts, ends, labels = plotting._runs(path.stages[stage], path.labels, 0.03)
        sectors = polygons(plot_layers(path, [stage]).axes[0], "ring")
        assert len(sectors) == len(starts) >= path.runs[stage - 1]
        for polygon, colour in sectors:  # in the colour of the run that spans its angles
            turns = np.arctan2(polygon[:, 1], polygon[:, 0])[:, None] - starts
            within = np.abs(turns - (ends - starts) / 2 + math.pi) % (2 * math.pi) - math.pi
            (k,) = np.flatnonzero((np.abs(within) <= (ends - starts) / 2 + PLANE).all(axis=0))
            assert colour[:3] == to_rgb(plotting._styles(2)[labels[k]][0])
        assert np.all(starts < ends)
        assert np.all(ends <= np.append(starts[1:], starts[0] + 2 * math.pi) + PLANE)
        angles = np.arctan2(*path.stages[stage].T[::-1])
        for angle, label in zip(angles, path.labels, strict=True):
            assert label in labels[(angle - starts) % (2 * math.pi) <= ends - starts + PLANE]
        for start, end, label in zip(starts, ends, labels, strict=True):
            own = (angles[path.labels == label] - start) % (2 * math.pi)
            assert own[own <= end - start].min() <= 0.03 + PLANE


def test_the_strip_lists_all_samples_in_their_order_and_ticks_those_merged(path):
    for stage in range(1, path.depth):
        axes = plot_layers(path, [stage]).axes[0]
        drawn = sorted(polygons(axes, "strip"), key=lambda bar: bar[0][:, 0].min())
        bars = [bar for bar, _ in drawn]
        order = plotting._order(path.stages[stage], path.labels)
        angles = np.unwrap(np.arctan2(*path.stages[stage].T[::-1])[order])
        assert np.all(np.diff(angles) >= -PLANE)
        assert angles[-1] - angles[0] < 2 * math.pi
        runs = [(label, len(list(block))) for label, block in groupby(path.labels[order])]
        blocks = [length for _, length in runs]
        colours = [to_rgb(plotting._styles(2)[label][0]) for label, _ in runs]
        assert [colour[:3] for _, colour in drawn] == colours
        width = 1.9 * plotting._VIEW / len(order)
        assert [np.ptp(bar[:, 0]) for bar in bars] == pytest.approx([n * width for n in blocks])
        ticks = artist(axes, "merged").get_xdata()
        places = ((ticks - bars[0][:, 0].min()) / width - 0.5).round().astype(int)
        assert set(order[places]) == {k for pair in path.chords(stage) for k in pair}


def test_the_ring_shows_what_the_readout_says_in_the_end():
    last = Trajectory.of(xor_net(), XOR_X, XOR_Y)
    axes = plot_layers(last, [1]).axes[0]
    assert len(polygons(axes, "ring")) == 2
    assert axes.get_title() == "after layer 1 of 1: 2 runs, read out"
    starts, ends, labels = plotting._readout_arcs(xor_net())
    # class 0 is cut off around 45 degrees by the chord at distance 0.97: arccos(0.97) on both sides
    (k,) = np.flatnonzero(labels == 0)
    step = 2 * math.pi / 3600
    assert starts[k] == pytest.approx(math.pi / 4 - math.acos(0.97), abs=step)
    assert ends[k] == pytest.approx(math.pi / 4 + math.acos(0.97), abs=step)


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


# --------------------------------------------------------------------------------------------- plot_runs


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


# -------------------------------------------------------------------------------------------- animation


def test_the_animation_moves_from_first_to_last(tmp_path, path):
    seen = []
    save_animation(path, tmp_path / "a.gif", max_frames=18, size=200, progress=lambda *at: seen.append(at))
    with Image.open(tmp_path / "a.gif") as gif:
        frames = []
        for k in range(gif.n_frames):
            gif.seek(k)
            frames.append((gif.convert("RGB").tobytes(), gif.info["duration"]))
        assert gif.info["loop"] == 0
    assert seen == [(k + 1, len(seen)) for k in range(len(seen))]
    assert len(frames) == len(seen) == 6 + 5  # six stages, one glide between any two
    assert len({pixels for pixels, _ in frames}) == len(frames)
    assert frames[0][1] == frames[-1][1] == 2000
    assert [p.name for p in tmp_path.iterdir()] == ["a.gif"]


def test_deep_nets_are_sampled_and_every_class_keeps_its_colour(tmp_path):
    path = Trajectory.of(*merging_net(60, 100, n_classes=10))
    assert [stage for stage, _ in plotting._frames(path, 5)] == [0, 25, 50, 75, 100]
    save_animation(path, tmp_path / "a.gif", max_frames=5, size=400)
    with Image.open(tmp_path / "a.gif") as gif:
        assert gif.n_frames == 5
        colours = {colour for _, colour in gif.convert("RGB").getcolors(10**6)}
    for colour, _ in plotting._styles(10):
        assert tuple(bytes.fromhex(colour[1:])) in colours


def test_an_interrupted_animation_leaves_nothing(tmp_path, path):
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_animation(path, tmp_path / "a.gif", max_frames=4, size=100, progress=interrupt)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidInputError, match=r"a\.mp4.*\.gif"):
        save_animation(path, tmp_path / "a.mp4")


def test_a_figure_that_cannot_be_drawn_leaves_the_old_file(tmp_path):
    (tmp_path / "a.png").write_text("old")
    figure = Figure()
    figure.text(0, 0, "$\\nonsense$")
    with pytest.raises(ValueError, match="nonsense"):
        save_figure(figure, tmp_path / "a.png")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.png", "old")]


# ------------------------------------------------------------------------------------- inputs, surroundings


def test_all_pictures_of_a_net(tmp_path):
    files = save_pictures(Trajectory.of(xor_net(), XOR_X, XOR_Y), tmp_path)
    assert [f.name for f in files] == ["layers.png", "runs.png", "animation.gif"]
    assert sorted(f.name for f in tmp_path.iterdir()) == sorted(f.name for f in files)
    for file in files:
        with Image.open(file) as picture:
            assert min(picture.size) > 300


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


def test_strange_labels_are_shown_as_they_are():
    net = LNNet(xor_net().layers, xor_net().readout, ("$x^2$_", "<b>" * 20))
    figure = plot_layers(Trajectory.of(net, XOR_X, ["$x^2$_", "<b>" * 20, "<b>" * 20, "$x^2$_"]))
    figure.draw_without_rendering()
    assert r"class \$x^2\$_" in legend_texts(figure)
    assert "class <b><b><b><b><b><b><b>..." in legend_texts(figure)


@pytest.mark.parametrize("n_classes", [1, 2, 8, 9, 11, 12, 24])
def test_every_class_has_a_look_of_its_own(n_classes):
    styles = plotting._styles(n_classes)
    assert len({(str(colour), marker) for colour, marker in styles}) == n_classes
    assert len({marker for _, marker in styles}) == min(n_classes, 12)
    # Colours differ for a deuteranope too (Vienot, Brettel and Mollon's projection of linear RGB).
    deuteranope = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])
    seen = np.array([deuteranope @ np.array(plotting.to_rgb(c)) ** 2.2 for c, _ in styles]).clip(0) ** (
        1 / 2.2
    )
    distances = [np.abs(a - b).max() for k, a in enumerate(seen) for b in seen[:k]]
    assert n_classes == 1 or min(distances) > (0.08 if n_classes <= 11 else 0.01)


def test_pyplot_is_never_touched(tmp_path):
    code = (
        "import sys; from lntheory.plotting import Trajectory, save_pictures; from tests.planar import *; "
        f"save_pictures(Trajectory.of(xor_net(), XOR_X, XOR_Y), {str(tmp_path)!r}); "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
