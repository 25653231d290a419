"""``lntheory vc``: bounds, and certified records."""

import json
from pathlib import Path

import pytest

from lntheory.cli import main
from lntheory.cli.vc import interrupted


def test_vc_prints_all_three_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    from lntheory import vc

    assert main(["vc", "--depth", "3", "--dim", "1", "--json"]) == 0
    bounds = json.loads(capsys.readouterr().out)["bounds"]
    assert bounds == [
        {
            "depth": at,
            "lower_bound": vc.lower_bound(at, 1),
            "paper_lower_bound": at + 2 if at else None,
            "upper_bound": vc.upper_bound(at, 1),
        }
        for at in range(4)
    ]
    assert main(["vc", "--depth", "3"]) == 0
    assert "VC dimension on R^2" in capsys.readouterr().out


def test_vc_builds_a_record_and_proves_it_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = str(tmp_path / "record.json.gz")
    assert main(["vc", "--depth", "1", "--build", record, "--jobs", "1", "--json"]) == 0
    built = json.loads(capsys.readouterr().out)
    assert main(["vc", "--verify", record, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == built
    assert (built["n_samples"], built["depth"], built["n_nets"]) == (6, 1, 32)
    assert main(["vc", "--verify", record, "--build", record]) == 2
    Path(record).write_bytes(b"no gzip")
    assert main(["vc", "--verify", record]) == 2
    assert "corrupt or truncated" in capsys.readouterr().err


def test_vc_says_what_an_interruption_leaves() -> None:
    assert "goes on" in interrupted(["--depth", "4", "--build", "record.json.gz"])
    assert "goes on" in interrupted(["--build=record.json.gz"])
    assert interrupted(["--verify", "record.json.gz"]) == "nothing was written"
