"""What the tests of the commands share."""

import os
from functools import partial

import numpy as np
import pytest

import lntheory
from lntheory import exact, plotting
from lntheory.cli import main
from tests.planar import XOR_X, XOR_Y, xor_net


@pytest.fixture(autouse=True)
def short_animations(monkeypatch):
    """Frames are the slow part, and tests/plotting looks at them."""
    short = partial(plotting.save_pictures, max_frames=2, size=150)
    monkeypatch.setattr(plotting, "save_pictures", short)


@pytest.fixture
def built_by_hand(monkeypatch):
    """Stands in for the construction, so that these tests are of the command alone."""

    def shatter(X, y, *, method, random_state, progress, n_jobs=1):
        assert np.array_equal(X, XOR_X)
        assert n_jobs == (os.cpu_count() if method == "auto" else 1)
        progress(1, 1)
        return xor_net(provenance={"method": method, "seed": random_state, "merges": [[0, 3]]})

    monkeypatch.setattr(lntheory, "shatter", shatter)


@pytest.fixture
def run(capsys):
    """Run the command; exit code, standard output, standard error."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


@pytest.fixture
def files(tmp_path):
    """net.json, data.npz, certificate.json of XOR."""
    net = xor_net()
    net.save(tmp_path / "net.json")
    np.savez(tmp_path / "data.npz", X=XOR_X, y=XOR_Y)
    exact.certify(net, XOR_X, XOR_Y).save(tmp_path / "certificate.json")
    return tmp_path
