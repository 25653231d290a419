"""Reading labelled samples: what is right is read to the bit, what is wrong is named."""

import json
import subprocess
import sys
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory import exact
from lntheory.data import BUNDLED, Dataset, load_dataset, random_labels, read_fractions, save_dataset
from lntheory.errors import FileFormatError, InvalidInputError

HEADER = "a,b,label\n"


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# ------------------------------------------------------------------------------------------------ CSV


def test_csv_is_read_as_the_nearest_doubles_and_as_written(write):
    path = write(HEADER + "0.1,1e-3,x\n-2,+.5,y\n3.,1E2,x\n")
    data = load_dataset(path, "label")
    assert data.X.tolist() == [[0.1, 0.001], [-2.0, 0.5], [3.0, 100.0]]
    assert data.y.tolist() == ["x", "y", "x"]
    assert data.feature_names == ("a", "b")
    assert data.name == "data.csv"
    written = read_fractions(path, "label")
    assert written.tolist() == [
        [Fraction(1, 10), Fraction(1, 1000)],
        [Fraction(-2), Fraction(1, 2)],
        [Fraction(3), Fraction(100)],
    ]


def test_decimals_and_doubles_are_different_data(write):
    """The four points of XOR with the column of their sums: LSSR 1 as written, 0 as doubles."""
    rows = ".1,.1,.2,0\n.7,.7,1.4,0\n.1,.7,.8,1\n.7,.1,.8,1\n"
    path = write("a,b,sum,label\n" + rows)
    data = load_dataset(path, "label")
    assert exact.lssr(read_fractions(path, "label"), data.y) == 1
    assert exact.lssr(data.X, data.y) == 0


@pytest.mark.parametrize("encode", [str.encode, lambda text: b"\xef\xbb\xbf" + text.encode()])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_spellings(write, encode, end):
    """Byte order mark, line ends, blank lines, spaces, quotes and where the label column stands."""
    text = end.join(["a, label ,b", "", '"1", "x, y", 2', "   ", "3,z,4", ""])
    data = load_dataset(write(encode(text)), "label")
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.y.tolist() == ["x, y", "z"]
    assert data.feature_names == ("a", "b")


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["1", "02"], ["1", "02"]),
        (["1", "+2"], ["1", "+2"]),
        (["1", "2.0"], ["1", "2.0"]),
        (["1", "True"], ["1", "True"]),
        (["0", "-0"], ["0", "-0"]),
        (["1", str(2**63)], ["1", str(2**63)]),
        ([str(2**63 - 1), str(-(2**63))], [2**63 - 1, -(2**63)]),
        (["1", "é"], ["1", "é"]),
        (["1", "٣"], ["1", "٣"]),
    ],
)
def test_labels_are_integers_only_if_all_are_plain_integers(write, texts, labels):
    data = load_dataset(write("a,label\n" + "".join(f"{k},{t}\n" for k, t in enumerate(texts))), "label")
    assert data.y.tolist() == labels


@pytest.mark.parametrize(
    ("content", "label", "fragments"),
    [
        ("", "label", ["is empty"]),
        ("\n\n", "label", ["is empty"]),
        (HEADER, "label", ["no samples"]),
        (HEADER + "1,2,x\n", "class", ["line 1", "'class'", "'a', 'b', 'label'"]),
        (HEADER + "1,2,x\n", None, ["--label", "'a', 'b', 'label'"]),
        ("1,2,3\n4,5,6\n", "label", ["line 1", "not a header"]),
        ("a,a,label\n1,2,x\n", "label", ["line 1", "'a'", "two columns"]),
        (",a,label\n0,1,x\n", "label", ["line 1", "column 1 has no name"]),
        ("label\nx\n", "label", ["only column"]),
        ("a;b;label\n1;2;x\n", "label", ["commas"]),
        (HEADER + "1,2,x\n1,2\n", "label", ["line 3", "2 cells", "3 columns"]),
        (HEADER + "1,2,x\n\n1,2,x,y\n", "label", ["line 4", "4 cells", "3 columns"]),
        (HEADER + "1,2,x\n1,two,x\n", "label", ["line 3", "column 'b'", "'two'", "not a decimal number"]),
        (HEADER + "1,,x\n", "label", ["line 2", "column 'b'", "empty"]),
        (HEADER + "1,nan,x\n", "label", ["line 2", "column 'b'", "'nan'", "not finite"]),
        (HEADER + "-inf,1,x\n", "label", ["line 2", "column 'a'", "'-inf'", "not finite"]),
        (HEADER + "1,1e999,x\n", "label", ["line 2", "column 'b'", "'1e999'", "too large"]),
        (HEADER + "1,0x10,x\n", "label", ["line 2", "'0x10'"]),
        (HEADER + "1,1_000,x\n", "label", ["line 2", "'1_000'"]),
        (HEADER + "1,٣,x\n", "label", ["line 2", "'٣'"]),
        (HEADER + "1,1/2,x\n", "label", ["line 2", "'1/2'"]),
        (HEADER + "1,2,\n", "label", ["line 2", "column 'label'", "label is empty"]),
        (HEADER.encode() + b"1,2,x\n1,2,\xff\n", "label", ["line 3", "0xff", "UTF-8"]),
        ((HEADER + "1,2,x\n").encode("utf-16"), "label", ["line 1", "UTF-8"]),
        (HEADER + "1,2,x\n1,\0,y\n", "label", ["line 3", "NUL"]),
        (HEADER + '1,2,x\n1,"2,y\n', "label", ["line 3", "CSV"]),
    ],
)
def test_bad_csv_is_named(write, content, label, fragments):
    path = write(content)
    with pytest.raises(InvalidInputError) as caught:
        load_dataset(path, label)
    for fragment in ["data.csv", *fragments]:
        assert fragment in str(caught.value)


def test_line_numbers_count_lines_inside_quotes(write):
    path = write('a,label\n1,"two\nlines"\nbad,x\n')
    with pytest.raises(FileFormatError, match="line 4, column 'a': 'bad'"):
        load_dataset(path, "label")


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "1" + "0" * 5000])
def test_a_short_cell_cannot_ask_for_endless_digits(write, text):
    path = write(HEADER + f"1,{text},x\n")
    with pytest.raises(FileFormatError, match=r"line 2, column 'b'.*more than 4000 digits"):
        read_fractions(path, "label")


def test_tiny_decimals_underflow_as_doubles_only(write):
    path = write(HEADER + "1e-400,1,x\n")
    assert load_dataset(path, "label").X[0, 0] == 0
    assert read_fractions(path, "label")[0, 0] == Fraction(1, 10**400)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_every_double_survives_its_shortest_decimal(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text("a,label\n" + "".join(f"{v!r},k\n" for v in values))
    assert [v.hex() for v in load_dataset(path, "label").X[:, 0].tolist()] == [v.hex() for v in values]


# ------------------------------------------------------------------------------------------------ NPZ


@pytest.mark.parametrize("y", [np.arange(3), np.array(["a", "é", "a"]), np.array([0.5, -1.0, 0.5]),
                               np.array([True, False, True])])  # fmt: skip
def test_what_is_saved_is_read_back_to_the_bit(tmp_path, y):
    X = np.array([[0.1, -0.0], [5e-324, 1e308], [1 / 3, 2.0]])
    save_dataset(Dataset(X, y, "mine"), tmp_path / "data.npz")
    data = load_dataset(tmp_path / "data.npz")
    assert data.X.tobytes() == X.tobytes()
    assert data.y.tolist() == y.tolist()
    assert [type(v) for v in data.y.tolist()] == [type(v) for v in y.tolist()]
    assert exact.data_sha256(data.X, data.y) == exact.data_sha256(X, y)


def test_saving_is_reproducible_and_leaves_nothing_beside(tmp_path):
    data = load_dataset("iris")
    save_dataset(data, tmp_path / "a.npz")
    save_dataset(data, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "data.npz"
    save_dataset(load_dataset("xor"), path)
    before = path.read_bytes()

    def interrupted(file, **arrays):
        Path(file).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_dataset(load_dataset("iris"), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["data.npz"]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float32, np.float16, bool])
def test_npz_samples_of_any_real_type(tmp_path, dtype):
    X = np.array([[0, 1], [1, 1]], dtype=dtype)
    np.savez(tmp_path / "x.npz", images=X, target=np.array([4, 5], dtype=np.uint8))
    data = load_dataset(tmp_path / "x.npz", "target")
    assert data.X.dtype == np.float64
    assert data.X.tolist() == [[0, 1], [1, 1]]
    assert data.y.tolist() == [4, 5]


_X, _Y = np.eye(3), np.arange(3)


@pytest.mark.parametrize(
    ("arrays", "label", "fragments"),
    [
        ({"X": _X, "y": _Y}, "label", ["'label'", "'X', 'y'"]),
        ({"X": _X}, "y", ["'y'", "'X'"]),
        ({"y": _Y}, "y", ["one array beside", "'y'"]),
        ({"X": _X, "Z": _X, "y": _Y}, "y", ["one array beside", "'X', 'Z', 'y'"]),
        ({"X": _X[0], "y": _Y}, "y", ["'X'", "(3,)", "(n_samples, n_features)"]),
        ({"X": np.zeros((3, 2, 2)), "y": _Y}, "y", ["'X'", "(3, 2, 2)", "reshape"]),
        ({"X": np.zeros((0, 2)), "y": _Y[:0]}, "y", ["'X'", "(0, 2)"]),
        ({"X": np.zeros((3, 0)), "y": _Y}, "y", ["'X'", "(3, 0)"]),
        ({"X": _X, "y": _X}, "y", ["'y'", "(3, 3)"]),
        ({"X": _X, "y": _Y[:2]}, "y", ["3 samples", "2 labels"]),
        ({"X": _X.astype(complex), "y": _Y}, "y", ["'X'", "complex128"]),
        ({"X": _X.astype(str), "y": _Y}, "y", ["'X'", "<U"]),
        ({"X": np.full((3, 2), np.nan), "y": _Y}, "y", ["'X'", "nan at sample 0, feature 0"]),
        ({"X": _X, "y": np.array([0, np.inf, 1])}, "y", ["'y'", "sample 1 is inf"]),
        ({"X": _X, "y": np.array([b"a", b"b", b"c"])}, "y", ["'y'", "|S1"]),
        ({"X": _X, "y": np.array([0, 2**64 - 1, 1], dtype=np.uint64)}, "y", ["'y'", str(2**64 - 1)]),
        ({"X": _X.astype(object), "y": _Y}, "y", ["'X'", "Python objects"]),
        ({"X": _X, "y": np.array(["a", 1, 2], dtype=object)}, "y", ["'y'", "Python objects"]),
    ],
)
def test_bad_npz_is_named(tmp_path, arrays, label, fragments):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(InvalidInputError) as caught:
        load_dataset(tmp_path / "bad.npz", label)
    for fragment in ["bad.npz", *fragments]:
        assert fragment in str(caught.value)


def test_corrupt_archives_are_named(tmp_path):
    save_dataset(load_dataset("iris"), tmp_path / "good.npz")
    good = (tmp_path / "good.npz").read_bytes()
    path = tmp_path / "bad.npz"
    refused = 0
    for cut in range(0, len(good), 97):  # truncation: the directory at the end is gone
        path.write_bytes(good[:cut])
        with pytest.raises(FileFormatError, match=r"bad\.npz"):
            load_dataset(path)
    for at in range(0, len(good), 53):  # a flipped byte is either harmless or an error of ours
        path.write_bytes(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :])
        try:
            load_dataset(path)
        except InvalidInputError as error:
            refused += "bad.npz" in str(error)
    assert refused > 10


def test_files_that_are_no_archives_or_no_arrays(tmp_path):
    path = tmp_path / "bad.npz"
    np.save(tmp_path / "x.npy", np.eye(2))
    path.write_bytes((tmp_path / "x.npy").read_bytes())
    with pytest.raises(FileFormatError, match=r"bad\.npz is not an \.npz archive"):
        load_dataset(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("y", "text")
        archive.writestr("X.npy", (tmp_path / "x.npy").read_bytes())
    with pytest.raises(FileFormatError, match=r"bad\.npz, array 'y': is no numpy array"):
        load_dataset(path)


def test_loading_never_executes(tmp_path):
    """An array of objects carries a pickle; this one would leave a file."""

    class Evil:
        def __reduce__(self):
            return Path.touch, (tmp_path / "executed",)

    np.savez(tmp_path / "evil.npz", X=np.array([[Evil()]], dtype=object), y=np.array([0]))
    with pytest.raises(FileFormatError, match="Python objects"):
        load_dataset(tmp_path / "evil.npz")
    assert not (tmp_path / "executed").exists()


# --------------------------------------------------------------------------------------- sources, Dataset


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets(name):
    data = load_dataset(name)
    shapes = {
        "digits": (1797, 64, 10), "iris": (150, 4, 3), "wine": (178, 13, 3), "breast_cancer": (569, 30, 2),
        "xor": (4, 2, 2),
    }  # fmt: skip
    assert (*data.X.shape, len(data.classes)) == shapes[name]
    assert len(data.feature_names) == data.X.shape[1]


def test_unknown_sources_are_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"'mnist' is no data.*digits"):
        load_dataset("mnist")
    with pytest.raises(FileNotFoundError):
        load_dataset(tmp_path / "nothing.csv", "label")
    with pytest.raises(FileNotFoundError):
        load_dataset(tmp_path / "nothing.npz")


def test_a_dataset_is_a_frozen_copy():
    X, y = np.eye(2), np.array([0, 1])
    data = Dataset(X, y, "mine")
    X[0, 0] = 7
    y[0] = 7
    assert data.X[0, 0] == 1
    assert data.y[0] == 0
    for array in (data.X, data.y):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("y", [["a", 1], [1, True], [0, 2**63], [None, 1], ["a", "b\0"]])
def test_labels_of_mixed_or_foreign_types_are_refused(y):
    with pytest.raises(InvalidInputError, match="mine: the label"):
        Dataset(np.eye(2), y, "mine")


# ------------------------------------------------------------------------------------------- random labels

SAMPLES = st.lists(
    st.tuples(st.sampled_from([0.0, -0.0, 1.0, 2.5]), st.floats(-1, 1)), min_size=1, max_size=8
)


@given(SAMPLES, st.integers(1, 12), st.integers(0, 2**70), st.randoms(use_true_random=False))
def test_random_labels_depend_on_the_sample_alone(rows, n_classes, seed, random):
    """Equal rows agree; order, presence of other rows, and drawing in pieces change nothing."""
    labels = dict(zip(map(tuple, rows), random_labels(rows, n_classes, seed).tolist(), strict=True))
    assert set(labels.values()) <= set(range(n_classes))
    shuffled = rows + rows[:2]
    random.shuffle(shuffled)
    again = np.concatenate([random_labels([row], n_classes, seed) for row in shuffled]).tolist()
    assert again == [labels[tuple(row)] for row in shuffled]


def test_random_labels_are_uniform_and_change_with_seed_and_number():
    X = np.random.default_rng(0).normal(size=(4000, 2))
    labels = random_labels(X, 10, 0)
    counts = np.bincount(labels, minlength=10)
    # Binomial(4000, 1/10) has standard deviation 19; this draw is fixed, the bound is six of them.
    assert np.abs(counts - 400).max() < 114
    for other in (random_labels(X, 10, 1), random_labels(X, 10, np.random.default_rng(0))):
        assert 0.05 < np.mean(other == labels) < 0.15


def test_random_labels_are_the_same_in_another_process():
    code = "from lntheory.data import *; print(random_labels(load_dataset('iris').X, 10, 3).tolist())"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(result.stdout) == random_labels(load_dataset("iris").X, 10, 3).tolist()


def test_a_generator_gives_new_labels_at_every_call_and_the_same_again():
    X = np.arange(50.0)[:, None]
    first, second = np.random.default_rng(5), np.random.default_rng(5)
    a, b = random_labels(X, 10, first), random_labels(X, 10, first)
    assert a.tolist() == random_labels(X, 10, second).tolist()
    assert a.tolist() != b.tolist()


@pytest.mark.parametrize(("n_classes", "seed"), [(0, 0), (True, 0), (2.0, 0), (2, -1), (2, 0.5), (2, True)])
def test_bad_requests_for_random_labels(n_classes, seed):
    with pytest.raises(InvalidInputError):
        random_labels([[1.0]], n_classes, seed)
