"""Pictures in files: all of a net's, whole or not at all, and without pyplot."""

import subprocess
import sys

import pytest
from matplotlib.figure import Figure
from PIL import Image

from lntheory.circle import Trajectory
from lntheory.plotting import save_figure, save_pictures
from tests.planar import XOR_X, XOR_Y, xor_net


def test_all_pictures_of_a_net(tmp_path):
    files = save_pictures(Trajectory.of(xor_net(), XOR_X, XOR_Y), tmp_path)
    assert [f.name for f in files] == ["layers.png", "runs.png", "animation.gif"]
    assert sorted(f.name for f in tmp_path.iterdir()) == sorted(f.name for f in files)
    for file in files:
        with Image.open(file) as picture:
            assert min(picture.size) > 300


def test_a_figure_that_cannot_be_drawn_leaves_the_old_file(tmp_path):
    (tmp_path / "a.png").write_text("old")
    figure = Figure()
    figure.text(0, 0, "$\\nonsense$")
    with pytest.raises(ValueError, match="nonsense"):
        save_figure(figure, tmp_path / "a.png")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.png", "old")]


def test_pyplot_is_never_touched(tmp_path):
    code = (
        "import sys; from lntheory.plotting import Trajectory, save_pictures; from tests.planar import *; "
        f"save_pictures(Trajectory.of(xor_net(), XOR_X, XOR_Y), {str(tmp_path)!r}); "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
