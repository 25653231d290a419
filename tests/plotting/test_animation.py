"""The animation of a net: frames, colours, and nothing half-written."""

import pytest
from PIL import Image

from lntheory.circle import Trajectory
from lntheory.errors import InvalidInputError
from lntheory.plotting.animation import frames, save_animation
from lntheory.plotting.style import class_styles
from tests.planar import merging_net


@pytest.fixture(scope="module")
def path():
    return Trajectory.of(*merging_net(8, 5))


def test_the_animation_moves_from_first_to_last(tmp_path, path):
    seen = []
    save_animation(path, tmp_path / "a.gif", max_frames=18, size=200, progress=lambda *at: seen.append(at))
    with Image.open(tmp_path / "a.gif") as gif:
        shown = []
        for k in range(gif.n_frames):
            gif.seek(k)
            shown.append((gif.convert("RGB").tobytes(), gif.info["duration"]))
        assert gif.info["loop"] == 0
    assert seen == [(k + 1, len(seen)) for k in range(len(seen))]
    assert len(shown) == len(seen) == 6 + 5  # six stages, one glide between any two
    assert len({pixels for pixels, _ in shown}) == len(shown)
    assert shown[0][1] == shown[-1][1] == 2000
    assert [p.name for p in tmp_path.iterdir()] == ["a.gif"]


def test_deep_nets_are_sampled_and_every_class_keeps_its_colour(tmp_path):
    path = Trajectory.of(*merging_net(60, 100, n_classes=10))
    assert [stage for stage, _ in frames(path, 5)] == [0, 25, 50, 75, 100]
    save_animation(path, tmp_path / "a.gif", max_frames=5, size=400)
    with Image.open(tmp_path / "a.gif") as gif:
        assert gif.n_frames == 5
        colours = {colour for _, colour in gif.convert("RGB").getcolors(10**6)}
    for colour, _ in class_styles(10):
        assert tuple(bytes.fromhex(colour[1:])) in colours


def test_an_interrupted_animation_leaves_nothing(tmp_path, path):
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_animation(path, tmp_path / "a.gif", max_frames=4, size=100, progress=interrupt)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidInputError, match=r"a\.mp4.*\.gif"):
        save_animation(path, tmp_path / "a.mp4")
