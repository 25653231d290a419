"""Records of shattered sets: what is right is proved, every false twin is refused."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flint import arb

from lntheory import exact, vc
from lntheory.errors import FileFormatError, RefutedError, UndecidedError
from lntheory.exact import shattering
from lntheory.exact.shattering import labeling, net_from_line, net_to_line, prove_signs
from lntheory.network import Layer, LNNet, enclosure


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of a right record: five points of the plane at depth 1."""
    path = tmp_path_factory.mktemp("record") / "five.json.gz"
    vc.build_lower_bound(1, 2, path=path, n_samples=5)
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
        (lambda lines: [edited(lines[0], version=2), *lines[1:]], "field version is 2; this library"),
        (lambda lines: [edited(lines[0], version=True), *lines[1:]], "field version is True"),
        (lambda lines: [edited(lines[0], format="x"), *lines[1:]], "field format is 'x'"),
        (lambda lines: [edited(lines[0], depth=-1), *lines[1:]], "field depth is -1"),
        (lambda lines: [edited(lines[0], points=[[0, 0], [0, 0]]), *lines[1:]], "two points are equal"),
        (lambda lines: [edited(lines[0], points=[[0, None]]), *lines[1:]], "points"),
        (lambda lines: [edited(lines[0], points=[[float(i)] for i in range(31)]), *lines[1:]], "31 points"),
        (lambda lines: [lines[0], "{", *lines[2:]], "line 2: the net: not valid JSON"),
        (lambda lines: [lines[0], edited(lines[1], provenance={}), *lines[2:]],
         "line 2: the net: unknown field 'provenance'"),
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


# ------------------------------------------------------------------------------------- what is told, and how


def test_a_sample_without_variance_is_refuted_and_named() -> None:
    net = LNNet((Layer([[1.0], [0.0], [0.0]], [0.0, 0.0, 0.0]),), Layer([[1.0, 0.0, 0.0]], [5.0]), (0, 1))
    with pytest.raises(RefutedError, match=r"^sample 1 has zero variance at layer 0$") as caught:
        prove_signs(net, np.array([[3.0], [0.0]]), np.array([1, 1]))
    assert caught.value.samples == (1,)


def test_precision_doubles_up_to_the_limit_and_is_told(tmp_path: Path, monkeypatch) -> None:
    """A net whose score is an exact tie that balls cannot see, in a record of three points on a line."""
    tried: list[int] = []

    def enclose(net: LNNet, X: np.ndarray, *, precision: int) -> enclosure.Enclosure:
        tried.append(precision)
        return enclosure.enclose(net, X, precision=precision)

    tie = LNNet((Layer([[1.0], [0.0], [0.0]], [0.0, 0.0, 1.0]),), Layer([[1.0, 1.0, 1.0]], [0.0]), (0, 1))
    monkeypatch.setattr(shattering, "enclose", enclose)
    path = tmp_path / "r.gz"
    shattering.write_record(path, shattering.header_line(np.array([[3.0]]), 1), [net_to_line(tie)])
    with pytest.raises(
        UndecidedError, match=r"r\.gz, labeling 0: the sign of sample 0 is undecided at"
    ) as caught:
        exact.verify_shattering(path)
    assert caught.value.samples == (0,)
    assert caught.value.precision == shattering.MAX_PRECISION
    assert tried == [64 * 2**k for k in range(8)]


def test_a_score_that_may_be_zero_is_undecided() -> None:
    enclosed = enclosure.enclose(
        LNNet((), Layer([[1.0]], [0.0]), (0, 1)), np.array([[1.0], [2.0]]), precision=64
    )
    touching = replace(enclosed, scores=[[arb(1, 1)], [arb(2)]])
    assert shattering.signed_scores(touching, np.array([1, 1])) == ([0], 2.0)


def test_equal_records_are_equal_bytes_without_time_or_name(tmp_path: Path, lines: list[str]) -> None:
    for name in ("a.gz", "b.gz"):
        shattering.write_record(tmp_path / name, lines[0], lines[1:])
    packed = (tmp_path / "a.gz").read_bytes()
    assert packed == (tmp_path / "b.gz").read_bytes()
    assert packed[3:8] == bytes(5)  # no name follows, and the time is zero
    assert not any(" " in line for line in lines)


def test_depth_zero_is_a_record_of_affine_nets(tmp_path: Path) -> None:
    proof = vc.build_lower_bound(0, 2, path=tmp_path / "r.gz")
    assert (proof.n_samples, proof.depth, proof.deepest) == (3, 0, 0)


def test_lines_are_nets_of_two_classes_and_errors_name_the_layer(tmp_path: Path, lines: list[str]) -> None:
    net = next(net_from_line(line) for line in lines[1:] if "weight" in line.partition("readout")[0])
    assert net.classes == (0, 1)
    broken = json.loads(net_to_line(net))
    broken["layers"][0]["weight"][1][0] = "x"
    with pytest.raises(FileFormatError, match=r"^layers\[0\]\.weight\[1\]\[0\]"):
        net_from_line(json.dumps(broken))
    two_rows = {"layers": [], "readout": {"weight": [[1, 0], [0, 1]], "bias": [0, 0]}}
    with pytest.raises(FileFormatError, match=r"line 2: the read-out has 2 rows, expected 1"):
        exact.verify_shattering(write(tmp_path / "r.gz", [lines[0], json.dumps(two_rows), *lines[2:]]))


def test_numbers_that_json_has_not_are_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        shattering.header_line(np.array([[np.nan]]), 1)


@pytest.mark.parametrize("first", [[], ["{"], ["[1]"]])
def test_files_without_a_header_are_named(tmp_path: Path, first: list[str]) -> None:
    path = tmp_path / "r.gz"
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in first).encode()))
    with pytest.raises(FileFormatError, match=r"r\.gz, line 1: (not valid JSON|.* no JSON object)"):
        exact.verify_shattering(path)
