"""Records of shattered sets: what is right is proved, every false twin is refused."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from lntheory import exact, vc
from lntheory.errors import FileFormatError, RefutedError, UndecidedError
from lntheory.exact.shattering import labeling, net_from_line, net_to_line, prove_signs
from lntheory.network import Layer, LNNet


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of a right record: five points of the plane at depth 1."""
    path = tmp_path_factory.mktemp("record") / "five.json.gz"
    vc.build_lower_bound(1, 2, path, n_samples=5)
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def write(path: Path, lines: list[str]) -> Path:
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    return path


def test_a_right_record_is_proved(tmp_path: Path, lines: list[str]) -> None:
    seen = []
    proof = exact.verify_shattering(
        write(tmp_path / "r.gz", lines), progress=lambda done, total: seen.append((done, total))
    )
    assert (proof.n_samples, proof.dim, proof.depth, proof.n_nets, proof.deepest) == (5, 2, 1, 16, 1)
    assert proof.margin > 0
    assert seen == [(k, 16) for k in range(1, 17)]


def test_every_labeling_up_to_complement_occurs_once() -> None:
    words = {tuple(labeling(n, 5).tolist()) for n in range(16)}
    complements = {tuple(1 - b for b in word) for word in words}
    assert len(words) == 16
    assert not words & complements
    assert len(words | complements) == 2**5


def edited(line: str, **changes: object) -> str:
    return json.dumps({**json.loads(line), **changes})


def test_two_nets_exchanged_are_refuted(tmp_path: Path, lines: list[str]) -> None:
    exchanged = [*lines[:4], lines[5], lines[4], *lines[6:]]
    with pytest.raises(RefutedError, match="labeling 3: sample 0 gets the wrong sign") as caught:
        exact.verify_shattering(write(tmp_path / "r.gz", exchanged))
    assert caught.value.samples == (0,)


def test_a_negated_readout_is_refuted(tmp_path: Path, lines: list[str]) -> None:
    """The complement of a labeling is not the labeling."""
    net = json.loads(lines[8])
    readout = {
        "weight": [[-w for w in net["readout"]["weight"][0]]],
        "bias": [-b for b in net["readout"]["bias"]],
    }
    with pytest.raises(RefutedError, match="labeling 7"):
        exact.verify_shattering(
            write(tmp_path / "r.gz", [*lines[:8], edited(lines[8], readout=readout), *lines[9:]])
        )


def test_a_changed_point_is_refuted(tmp_path: Path, lines: list[str]) -> None:
    points = json.loads(lines[0])["points"]
    points[0] = [-3.0, 0.25]
    with pytest.raises(RefutedError):
        exact.verify_shattering(write(tmp_path / "r.gz", [edited(lines[0], points=points), *lines[1:]]))


def test_a_smaller_depth_than_the_nets_have_is_refuted(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(RefutedError, match="1 layers, more than the 0 claimed"):
        exact.verify_shattering(write(tmp_path / "r.gz", [edited(lines[0], depth=0), *lines[1:]]))


def test_a_net_of_width_4_is_refuted(tmp_path: Path, lines: list[str]) -> None:
    layer = {"weight": [[1, 0], [0, 1], [1, 1], [2, 3]], "bias": [0, 0, 0, 1]}
    wide = json.dumps({"layers": [layer], "readout": {"weight": [[1, 0, 0, 0]], "bias": [-9]}})
    with pytest.raises(RefutedError, match="width 3"):
        exact.verify_shattering(write(tmp_path / "r.gz", [lines[0], wide, *lines[2:]]))


def test_a_score_of_zero_proves_neither_sign(tmp_path: Path, lines: list[str]) -> None:
    zero = json.dumps({"layers": [], "readout": {"weight": [[0, 0]], "bias": [0]}})
    with pytest.raises((RefutedError, UndecidedError)):
        exact.verify_shattering(write(tmp_path / "r.gz", [lines[0], zero, *lines[2:]]))


def test_an_exact_tie_that_balls_cannot_see_is_undecided() -> None:
    third = LNNet((Layer([[1.0], [0.0], [0.0]], [0.0, 0.0, 1.0]),), Layer([[1.0, 1.0, 1.0]], [0.0]), (0, 1))
    with pytest.raises(UndecidedError, match="sample 0") as caught:  # LN's outputs sum to zero
        prove_signs(third, np.array([[3.0]]), np.array([1]))
    assert caught.value.samples == (0,)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda lines: lines[:-1], "ends after 15 of 16 nets"),
        (lambda lines: [*lines, lines[-1]], "goes on after its 16 nets"),
        (lambda lines: [edited(lines[0], version=2), *lines[1:]], "version 2"),
        (lambda lines: [edited(lines[0], format="x"), *lines[1:]], "no header"),
        (lambda lines: [edited(lines[0], depth=-1), *lines[1:]], "depth -1"),
        (lambda lines: [edited(lines[0], points=[[0, 0], [0, 0]]), *lines[1:]], "two points are equal"),
        (lambda lines: [edited(lines[0], points=[[0, None]]), *lines[1:]], "points"),
        (lambda lines: [edited(lines[0], points=[[float(i)] for i in range(31)]), *lines[1:]], "31 points"),
        (lambda lines: [lines[0], "{", *lines[2:]], "line 2: not valid JSON"),
        (lambda lines: [lines[0], edited(lines[1], provenance={}), *lines[2:]], "line 2: a net has the f"),
        (lambda lines: [lines[0], edited(lines[1], readout={"weight": [[1, "x"]], "bias": [0]}), *lines[2:]],
         r"line 2: readout.weight\[0\]\[1\]"),
        (lambda lines: [lines[0], edited(lines[1], layers=[], readout={"weight": [[1]], "bias": [0]}),
                        *lines[2:]], "takes 1 features, the points have 2"),
    ],
)  # fmt: skip
def test_bad_files_are_errors_that_name_the_place(tmp_path: Path, lines, edit, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        exact.verify_shattering(write(tmp_path / "r.gz", edit(lines)))


def test_files_that_are_no_gzip_or_cut_off(tmp_path: Path, lines: list[str]) -> None:
    plain = tmp_path / "plain.json.gz"
    plain.write_text("\n".join(lines))
    with pytest.raises(FileFormatError, match="corrupt or truncated gzip"):
        exact.verify_shattering(plain)
    whole = write(tmp_path / "whole.gz", lines).read_bytes()
    plain.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileFormatError, match="corrupt or truncated gzip"):
        exact.verify_shattering(plain)


def test_nets_survive_the_record(lines: list[str]) -> None:
    for line in lines[1:]:
        assert net_to_line(net_from_line(line)) == line
