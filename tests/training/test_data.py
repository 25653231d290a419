"""Reading images: genuine and forged files, what is right to the byte, what is wrong by name."""

import contextlib
import gzip
import hashlib
import io
import os
import pickle
import struct
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory.errors import FileFormatError, InvalidInputError
from training import cifar
from training.cifar import read_cifar_binary, read_cifar_python
from training.compression import describe, read_bytes
from training.data import DATASETS, ImageData, RandomLabels, Split, data_sha256, load
from training.idx import idx_sha256, read_idx
from training.pickled import read_plain_pickle
from training.published import FASHION_MNIST

FILES = tuple(FASHION_MNIST.sha256)


@contextlib.contextmanager
def refused(*parts):
    """FileFormatError that names every part, what was expected and what was found."""
    with pytest.raises(FileFormatError) as error:
        yield
    for part in (*parts, "expected", "found"):
        assert str(part) in str(error.value)


@contextlib.contextmanager
def maybe_refused(*parts):
    """The same, if there is an error at all."""
    try:
        yield
    except FileFormatError as error:
        with refused(*parts):
            raise error


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch")


# ------------------------------------------------------------------------------------------------- IDX


def idx_bytes(array):
    """Written from the description of the format, not by the code under test."""
    return (
        b"\0\0\x08"
        + bytes([array.ndim])
        + b"".join(struct.pack(">I", n) for n in array.shape)
        + array.tobytes()
    )


@st.composite
def byte_arrays(draw, ndim):
    shape = draw(st.lists(st.integers(0, 5), min_size=ndim, max_size=ndim))
    seed = draw(st.integers(0, 2**32 - 1))
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


arrays = st.integers(1, 4).flatmap(byte_arrays)


@given(arrays, st.booleans())
def test_idx_is_read_to_the_byte(scratch, array, compress):
    path = scratch / ("images.gz" if compress else "images")
    path.write_bytes(gzip.compress(idx_bytes(array), mtime=0) if compress else idx_bytes(array))
    found = read_idx(path, array.ndim)
    assert found.dtype == np.uint8
    assert found.shape == array.shape
    assert found.tolist() == array.tolist()
    assert idx_sha256(found) == hashlib.sha256(idx_bytes(array)).hexdigest()


@given(arrays, st.booleans(), st.data())
def test_every_truncation_of_idx_is_named(scratch, array, compress, data):
    path = scratch / ("images.gz" if compress else "images")
    whole = gzip.compress(idx_bytes(array), mtime=0) if compress else idx_bytes(array)
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with refused(path):
        read_idx(path, array.ndim)


@given(arrays, st.booleans(), st.binary(min_size=1, max_size=5))
def test_bytes_after_idx_data_are_named(scratch, array, compress, more):
    path = scratch / ("images.gz" if compress else "images")
    path.write_bytes(gzip.compress(idx_bytes(array) + more, mtime=0) if compress else idx_bytes(array) + more)
    with refused(path, len(idx_bytes(array)), len(idx_bytes(array)) + len(more)):
        read_idx(path, array.ndim)


@given(arrays, st.data())
def test_damaged_gzip_is_named_or_means_the_same(scratch, array, data):
    """A few bits of a gzip header mean nothing; all others are covered by its checksum."""
    whole = bytearray(gzip.compress(idx_bytes(array), mtime=0))
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path = scratch / "images.gz"
    path.write_bytes(whole)
    with maybe_refused(path):
        assert read_idx(path, array.ndim).tolist() == array.tolist()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "an empty file"),
        (b"<!DOCTYPE html><html>", "text that begins with '<!DOCTYPE html>"),
        (bytes([0, 0, 8, 1, 0, 0, 0, 0]), "IDX data (it begins with 00 00 08 01)"),
        (bytes([0, 0, 13, 3, 0, 0, 0, 0]), "data that begins with 00 00 0d 03"),
        (bytes([3, 8, 0, 0, 0, 0, 0, 0]), "data that begins with 03 08 00 00"),
    ],
)
def test_wrong_magic_numbers(tmp_path, content, found):
    path = tmp_path / "images"
    path.write_bytes(content)
    with refused(path, "00 00 08 03", found):
        read_idx(path, 3)


@pytest.mark.parametrize(("length", "first"), [(b"\xff" * 4, 4294967295), (bytes(4), 0)])
def test_a_header_may_declare_anything(tmp_path, length, first):
    """Sizes whose product is 2**96, or zero times 2**64, take no memory."""
    path = tmp_path / "images"
    path.write_bytes(bytes([0, 0, 8, 3]) + length + b"\xff" * 8)
    with refused(path, f"{first} x 4294967295 x 4294967295"):
        read_idx(path, 3)


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.gz", b"any text file named gz\n", "text that begins with 'any text file named gz\\n'"),
        ("a.gz", b"", "an empty file"),
        ("a.gz", idx_bytes(np.zeros(3, np.uint8)), "IDX data"),
        ("a", gzip.compress(b"abc", mtime=0), "gzip data (it begins with 1f 8b"),
        ("a.gz", gzip.compress(b"abc", mtime=0) + b"garbage", "cut off or damaged"),
        ("a.gz", gzip.compress(b"abc" * 99, mtime=0)[:-4] + b"\0\0\0\0", "cut off or damaged"),
        ("a.gz", gzip.compress(bytes(1001), mtime=0), "found more"),
        ("a", bytes(1001), "found more"),
    ],
)
def test_compression_and_name_have_to_agree(tmp_path, name, content, found):
    path = tmp_path / name
    path.write_bytes(content)
    with refused(path, found):
        read_bytes(path, most=1000)


def test_content_of_just_the_size_allowed(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(1000), mtime=0))
    assert read_bytes(path, most=1000) == bytes(1000)


def test_description_of_other_data():
    assert describe(b"\x89PNG\r\n\x1a\n") == "data that begins with 89 50 4e 47"


# ----------------------------------------------------------------------------------- MNIST, Fashion-MNIST


def small_idx_set(n_train=3, n_test=2, seed=0):
    generator = np.random.default_rng(seed)
    content = {}
    for prefix, n in (("train", n_train), ("t10k", n_test)):
        content[f"{prefix}-images-idx3-ubyte"] = generator.integers(0, 256, (n, 28, 28)).astype(np.uint8)
        content[f"{prefix}-labels-idx1-ubyte"] = generator.integers(0, 10, n).astype(np.uint8)
    return content


def write_idx_set(folder, content, suffix=""):
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in content.items():
        data = idx_bytes(array)
        (folder / f"{name}{suffix}").write_bytes(gzip.compress(data, mtime=0) if suffix == ".gz" else data)
    return folder


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("mnist", "."),
        ("mnist", "raw"),
        ("mnist", "MNIST/raw"),
        ("mnist", "mnist"),
        ("fashion-mnist", "."),
        ("fashion-mnist", "FashionMNIST/raw"),
        ("fashion-mnist", "fashion-mnist"),
    ],
)
def test_idx_sets_are_found_and_read(tmp_path, name, where, suffix):
    content = small_idx_set()
    write_idx_set(tmp_path / where, content, suffix)
    data = load(name, tmp_path, published_only=False)
    assert data.train.X.shape == (3, 1, 28, 28)
    assert data.train.X.dtype == np.float32
    pixels = content["train-images-idx3-ubyte"]
    assert np.array_equal(data.train.X[:, 0], pixels.astype(np.float32) / np.float32(255))
    assert data.train.y.tolist() == content["train-labels-idx1-ubyte"].tolist()
    assert data.test is not None
    assert np.array_equal(np.rint(data.test.X[:, 0] * 255), content["t10k-images-idx3-ubyte"])
    assert data.test.y.tolist() == content["t10k-labels-idx1-ubyte"].tolist()
    assert (data.name, data.n_classes, data.embedded, data.published) == (name, 10, False, False)
    assert "not the published files" in data.origin


def test_torchvisions_root_holds_both_sets(tmp_path):
    write_idx_set(tmp_path / "MNIST" / "raw", small_idx_set(seed=1))
    write_idx_set(tmp_path / "FashionMNIST" / "raw", small_idx_set(seed=2))
    first, second = (load(name, tmp_path, published_only=False) for name in ("mnist", "fashion-mnist"))
    assert first.sha256 != second.sha256


def test_names_with_a_dot(tmp_path):
    content = {name.replace("-idx", ".idx"): array for name, array in small_idx_set().items()}
    write_idx_set(tmp_path, content)
    assert len(load("mnist", tmp_path, published_only=False).train) == 3


def test_small_sets_are_not_the_published_ones(tmp_path):
    write_idx_set(tmp_path, small_idx_set())
    with refused(tmp_path / FILES[0], 60000, 3, "published_only=False"):
        load("mnist", tmp_path)


def test_other_content_of_the_published_size(tmp_path):
    """All counts are right: only the hash can tell."""
    content = {}
    for prefix, n in (("train", 60_000), ("t10k", 10_000)):
        content[f"{prefix}-images-idx3-ubyte"] = np.zeros((n, 28, 28), np.uint8)
        content[f"{prefix}-labels-idx1-ubyte"] = np.zeros(n, np.uint8)
    write_idx_set(tmp_path, content)
    with refused(tmp_path / FILES[0], FASHION_MNIST.sha256[FILES[0]], "SHA-256"):
        load("fashion-mnist", tmp_path)


@pytest.mark.parametrize("file", FILES)
def test_missing_files_are_named(tmp_path, file):
    write_idx_set(tmp_path, {name: array for name, array in small_idx_set().items() if name != file})
    with pytest.raises(InvalidInputError, match=f"no {file}"):
        load("mnist", tmp_path)


def test_missing_folders_are_named(tmp_path):
    with pytest.raises(InvalidInputError, match="found none of them"):
        load("mnist", tmp_path)
    with pytest.raises(InvalidInputError, match="nowhere"):
        load("mnist", tmp_path / "nowhere")
    with pytest.raises(InvalidInputError, match="found none"):
        load("mnist")


@pytest.mark.parametrize(
    ("file", "array", "named"),
    [
        ("train-images-idx3-ubyte", np.zeros((3, 32, 32), np.uint8), "32 x 32"),
        ("train-images-idx3-ubyte", np.zeros((0, 28, 28), np.uint8), "found 0 of"),
        ("train-labels-idx1-ubyte", np.zeros(4, np.uint8), "expected 3 labels"),
        ("t10k-labels-idx1-ubyte", np.array([9, 10], np.uint8), "found 10 at sample 1"),
    ],
)
def test_files_that_do_not_fit(tmp_path, file, array, named):
    write_idx_set(tmp_path, {**small_idx_set(), file: array})
    with refused(tmp_path / file, named):
        load("mnist", tmp_path, published_only=False)


FASHION_ROOT = Path(FASHION_MNIST.system_root or "")


@pytest.mark.skipif(not FASHION_ROOT.is_dir(), reason="needs Debian's package dataset-fashion-mnist")
def test_the_genuine_fashion_mnist():
    data = load("fashion-mnist", n_samples=500)
    assert data.published
    assert data.origin == "Fashion-MNIST: the published files, by their SHA-256"
    assert data.train.y[:10].tolist() == [9, 0, 0, 3, 0, 2, 7, 2, 5, 5]
    assert data.test is not None
    assert (len(data.train), len(data.test)) == (500, 10_000)
    assert np.bincount(data.test.y).tolist() == [1000] * 10
    assert float(data.train.X.max()) == 1.0


@pytest.mark.skipif(not FASHION_ROOT.is_dir(), reason="needs Debian's package dataset-fashion-mnist")
def test_fashion_mnist_in_a_folder_called_mnist(tmp_path):
    os.symlink(FASHION_ROOT, tmp_path / "mnist")
    with refused("train-images-idx3-ubyte.gz", "that of MNIST", FASHION_MNIST.sha256[FILES[0]]):
        load("mnist", tmp_path)


# ------------------------------------------------------------------------------------------------ CIFAR-10


def records(n, seed):
    generator = np.random.default_rng(seed)
    return np.column_stack(
        [
            generator.integers(0, 10, n).astype(np.uint8),
            generator.integers(0, 256, (n, 3072)).astype(np.uint8),
        ]
    )


def python3_pickle(batch, protocol):
    return pickle.dumps({"data": batch[:, 1:].copy(), "labels": batch[:, 0].tolist()}, protocol)


def python2_pickle(batch):
    """As cPickle of Python 2 wrote the genuine files: byte strings, numpy.core, memo numbers."""

    def text(value):
        return b"U" + bytes([len(value)]) + value

    def integer(value):
        return b"J" + struct.pack("<i", value)

    pixels = batch[:, 1:].tobytes()
    dtype = b"cnumpy\ndtype\nq\x05" + text(b"u1") + b"K\x00K\x01\x87R(K\x03" + text(b"|") + b"NNN"
    dtype += integer(-1) * 2 + b"K\x00tb"
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04K\x00\x85"
        + text(b"b")
        + b"\x87R(K\x01"
    )
    array += (
        integer(len(batch))
        + integer(3072)
        + b"\x86"
        + dtype
        + b"\x89T"
        + struct.pack("<i", len(pixels))
        + pixels
    )
    labels = b"]q\x02(" + b"".join(b"K" + bytes([label]) for label in batch[:, 0]) + b"e"
    entries = text(b"batch_label") + text(b"training batch 1 of 5") + text(b"labels") + labels
    return b"\x80\x02}q\x01(" + entries + text(b"data") + array + b"tb" + text(b"filenames") + b"]u."


WRITERS = [python2_pickle, *(lambda batch, p=p: python3_pickle(batch, p) for p in range(6))]
batches = st.builds(records, st.integers(1, 4), st.integers(0, 2**32 - 1))


@given(batches)
def test_binary_batches_are_read_to_the_byte(batch):
    found = read_cifar_binary(batch.tobytes(), "data_batch_1.bin")
    assert found.tobytes() == batch.tobytes()
    assert found.shape == batch.shape


@given(batches, st.sampled_from(WRITERS))
def test_python_batches_are_read_to_the_byte(batch, write):
    found = read_cifar_python(write(batch), "data_batch_1")
    assert found.dtype == np.uint8
    assert found.tobytes() == batch.tobytes()


@given(batches, st.integers(0, 5))
def test_arrays_in_fortran_order(batch, protocol):
    pixels = np.asfortranarray(batch[:, 1:])
    data = pickle.dumps({"data": pixels, "labels": batch[:, 0].tolist()}, protocol)
    assert read_cifar_python(data, "data_batch_1").tobytes() == batch.tobytes()


@given(batches, st.sampled_from(WRITERS), st.data())
def test_every_truncation_of_a_python_batch_is_named(batch, write, data):
    whole = write(batch)
    with refused("data_batch_1"):
        read_cifar_python(whole[: data.draw(st.integers(0, len(whole) - 1))], "data_batch_1")


@given(batches, st.integers(1, 3072))
def test_binary_batches_of_a_broken_record(batch, missing):
    with refused("data_batch_1.bin", 3073, batch.size - missing):
        read_cifar_binary(batch.tobytes()[:-missing], "data_batch_1.bin")


def test_binary_labels_out_of_range():
    batch = records(3, 0)
    batch[2, 0] = 10
    with refused("data_batch_1.bin", "found 10 at sample 2"):
        read_cifar_binary(batch.tobytes(), "data_batch_1.bin")


PIXELS = np.zeros((2, 3072), np.uint8)


@pytest.mark.parametrize(
    ("batch", "named"),
    [
        ([1, 2], "found list"),
        ({"labels": [1, 2]}, "'data', found 'labels'"),
        ({"data": PIXELS, "fine_labels": [1, 2]}, "'labels', found 'data', 'fine_labels'"),
        ({"data": PIXELS.astype(np.int16), "labels": [1, 2]}, "found an array of int16"),
        ({"data": PIXELS.astype(np.float32), "labels": [1, 2]}, "another type of array"),
        ({"data": PIXELS.astype(object), "labels": [1, 2]}, "another type of array"),
        ({"data": PIXELS[:, :-1], "labels": [1, 2]}, "found (2, 3071)"),
        ({"data": PIXELS[:0], "labels": []}, "found (0, 3072)"),
        ({"data": PIXELS.tobytes(), "labels": [1, 2]}, "found bytes"),
        ({"data": PIXELS, "labels": [1]}, "expected 2 labels"),
        ({"data": PIXELS, "labels": "12"}, "found str"),
        ({"data": PIXELS, "labels": ["1", "2"]}, "found list"),
        ({"data": PIXELS, "labels": [1, 10]}, "found 10 at sample 1"),
        ({"data": PIXELS, "labels": [-1, 1]}, "found -1 at sample 0"),
        ({"data": PIXELS, "labels": [1, 10**5000]}, "at sample 1"),
        ({"data": PIXELS, "labels": [1, True]}, "'labels'"),
        ({"data": PIXELS, "labels": (1, 2)}, "found tuple"),
        ({"data": PIXELS, "labels": {1, 2}}, "found"),
        ({"data": PIXELS, "labels": [1, 2], "extra": {"a": 1}}, "'extra'"),
        ({"data": PIXELS, "labels": [1, 2], "extra": 1.5}, "found float"),
        ({"data": PIXELS, "labels": [1, 2], 3: 4}, "found int"),
        ({"data": PIXELS, "labels": [np.int64(1), np.int64(2)]}, "scalar"),
    ],
)
@pytest.mark.parametrize("protocol", [2, 5])
def test_python_batches_of_something_else(batch, named, protocol):
    with refused("data_batch_1", named):
        read_cifar_python(pickle.dumps(batch, protocol), "data_batch_1")


def test_byte_strings_as_keys():
    batch = {b"data": PIXELS, b"labels": [1, 2]}
    assert read_cifar_python(pickle.dumps(batch), "data_batch_1")[:, 0].tolist() == [1, 2]


@given(
    st.sampled_from(["u1", "u2", "<u4", ">u4", "i1", ">i2", "<i8", ">i8", "u8"]),
    st.integers(0, 5),
    st.integers(0, 2),
)
def test_integer_arrays_of_every_kind(dtype, protocol, n):
    array = np.arange(6 * n).reshape(3, 2 * n).astype(dtype)
    found = read_plain_pickle(pickle.dumps({"a": array}, protocol), "a.pickle")["a"]
    assert isinstance(found, np.ndarray)
    assert found.dtype.str == array.dtype.str
    assert found.shape == array.shape
    assert found.tolist() == array.tolist()


# ------------------------------------------------------------------------------------- hostile pickles


class Calls:
    """Pickles to a call of any function with any arguments."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "place", [lambda x: x, lambda x: {"data": x, "labels": [1]}, lambda x: {"labels": [x]}]
)
def test_nothing_that_a_pickle_asks_for_is_run(tmp_path, protocol, place):
    trace = tmp_path / "trace"
    for attack in (
        Calls(os.system, f"touch {trace}"),
        Calls(exec, f"open({str(trace)!r}, 'w')"),
        Calls(eval, f"open({str(trace)!r}, 'w')"),
        Calls(open, str(trace), "w"),
        Calls(subprocess.check_call, ["touch", str(trace)]),
        Calls(getattr, np.load, "__globals__"),
        Calls(np.fromfile, str(trace)),
    ):
        data = pickle.dumps(place(attack), protocol)
        with refused("data_batch_1", "never loaded"):
            read_cifar_python(data, "data_batch_1")
    assert not trace.exists()


def test_the_attack_works_on_pickle_itself(tmp_path):
    """Else the test above would show nothing."""
    trace = tmp_path / "trace"
    pickle.loads(pickle.dumps(Calls(os.mkdir, str(trace))))
    assert trace.exists()


RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n"
DTYPE = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"


@pytest.mark.parametrize(
    "program",
    [
        RECONSTRUCT + b"}U\x0c__defaults__K\x01sb",  # set an attribute of a function
        RECONSTRUCT + b"N}U\x0c__defaults__)s\x86b",
        b"cnumpy\nndarray\n)R",  # call a type
        b"cnumpy\nndarray\n)\x81",  # make an instance of it
        b"cnumpy\ndtype\n)R",
        b"cnumpy\ndtype\nU\x01OK\x00K\x01\x87R",  # a type of objects
        RECONSTRUCT + b")R",  # an array without state
        RECONSTRUCT + b")R)b",
        RECONSTRUCT + b")R(K\x01K\x03" + DTYPE + b"\x89U\x03abctb",  # its shape is no tuple
        RECONSTRUCT + b")R(K\x01J\xff\xff\xff\xff\x85" + DTYPE + b"\x89U\x03abctb",  # negative
        RECONSTRUCT + b")R(K\x01J\xff\xff\xff\xffJ\xfd\xff\xff\xff\x86" + DTYPE + b"\x89U\x03abctb",
        RECONSTRUCT + b")R(K\x01K\x00\x8a\x09" + bytes(8) + b"\x01\x86" + DTYPE + b"\x89U\x00tb",  # 0 x 2**64
        RECONSTRUCT + b")R(K\x01K\x02\x85" + DTYPE + b"\x89U\x03abctb",  # fewer than its bytes
        RECONSTRUCT + b")R(K\x01J\xff\xff\xff\x7f\x85" + DTYPE + b"\x89U\x03abctb",  # more
        RECONSTRUCT + b")R(K\x01K\x03\x85" + DTYPE + b"\x89]tb",  # a list of objects
        RECONSTRUCT + b")R(K\x01K\x03\x85N\x89U\x03abctb",  # no type
        b"c_codecs\nencode\nX\x01\0\0\0aX\x05\0\0\0utf-8\x86R",
        b"c__main__\nopen\n",
        b"cbuiltins\n__import__\nU\x02os\x85R",
        b"Pid\n",  # persistent objects
        b"\x82\x01",  # extension registry
    ],
)
def test_hostile_programs(program):
    before = dict(vars(np)), read_plain_pickle.__defaults__
    with refused("a.pickle"):
        read_plain_pickle(b"\x80\x02}U\x01a" + program + b"s.", "a.pickle")
    assert (dict(vars(np)), read_plain_pickle.__defaults__) == before


def test_memo_bombs_and_trailing_bytes():
    with refused("a.pickle", "memo"):
        read_plain_pickle(b"\x80\x02}r\xff\xff\xff\x7f.", "a.pickle")
    with refused("a.pickle", "2 more bytes"):
        read_plain_pickle(pickle.dumps({}) + b"ab", "a.pickle")
    with refused("a.pickle"):
        read_plain_pickle(pickle.dumps({}) + pickle.dumps({}), "a.pickle")


@given(st.binary(max_size=60))
def test_any_bytes_are_a_plain_dictionary_or_refused(data):
    with contextlib.suppress(FileFormatError):
        assert type(read_plain_pickle(data, "a.pickle")) is dict


@given(st.sampled_from(WRITERS), st.data())
def test_damaged_batches_are_read_or_refused(write, data):
    whole = bytearray(write(records(1, 0)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.one_of(st.integers(0, min(200, len(whole) - 1)), st.integers(0, len(whole) - 1)))
        whole[place] = data.draw(st.integers(0, 255))
    with maybe_refused("data_batch_1"):
        assert read_cifar_python(bytes(whole), "data_batch_1").shape[1] == 3073


# ------------------------------------------------------------------------------------ CIFAR-10, the set

BATCHES = {name: records(2, seed) for seed, name in enumerate(cifar.CIFAR10_BATCHES)}


@pytest.fixture
def two_records_a_batch(monkeypatch):
    """As if CIFAR-10 had been published with the two records a batch of `BATCHES`."""
    hashes = {name: hashlib.sha256(batch.tobytes()).hexdigest() for name, batch in BATCHES.items()}
    monkeypatch.setattr(cifar, "CIFAR10_RECORDS", 2)
    monkeypatch.setattr(cifar, "CIFAR10_BATCHES", hashes)


def batch_files(version, batches=BATCHES):
    if version == "binary":
        return {f"cifar-10-batches-bin/{name}.bin": batch.tobytes() for name, batch in batches.items()}
    return {f"cifar-10-batches-py/{name}": python2_pickle(batch) for name, batch in batches.items()}


def write_folder(root, files):
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def tar_bytes(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def as_extracted(root, version):
    return write_folder(root, batch_files(version))


def as_flat(root, version):
    return write_folder(root, {Path(name).name: data for name, data in batch_files(version).items()})


def as_archive_in_folder(root, version):
    return write_folder(root, {f"cifar-10-{version}.tar.gz": tar_bytes(batch_files(version))})


def as_archive(root, version):
    return write_folder(root, {"any.tgz": tar_bytes(batch_files(version))}) / "any.tgz"


@pytest.mark.usefixtures("two_records_a_batch")
def test_cifar10_is_the_same_however_it_comes(tmp_path):
    found = []
    for version in ("binary", "python"):
        for place in (as_extracted, as_flat, as_archive_in_folder, as_archive):
            root = tmp_path / f"{version}-{place.__name__}"
            root.mkdir()
            found.append(load("cifar10", place(root, version)))
    train = np.concatenate([batch for name, batch in BATCHES.items() if name != "test_batch"])
    for data in found:
        assert data.published
        assert data.sha256 == found[0].sha256
        assert data.train.y.tolist() == train[:, 0].tolist()
        assert data.test is not None
        assert data.test.y.tolist() == BATCHES["test_batch"][:, 0].tolist()
    pixels = train[:, 1:].reshape(10, 3, 32, 32)
    assert np.array_equal(found[0].train.X, pixels.astype(np.float32) / np.float32(255))
    assert found[0].train.X[4, 2, 5, 7] == np.float32(train[4, 1 + 2 * 1024 + 5 * 32 + 7]) / np.float32(255)


@pytest.mark.usefixtures("two_records_a_batch")
@pytest.mark.parametrize("version", ["binary", "python"])
def test_one_batch_too_short_or_changed(tmp_path, version):
    root = as_extracted(tmp_path, version)
    (path,) = (path for path in root.rglob("data_batch_3*"))
    short, changed = BATCHES["data_batch_3"][:1], BATCHES["data_batch_3"].copy()
    changed[1, 77] ^= 1
    for batch, named in ((short, "expected 2 records"), (changed, "SHA-256")):
        path.write_bytes(batch.tobytes() if version == "binary" else python2_pickle(batch))
        with refused(path, named):
            load("cifar10", root)
        assert not load("cifar10", root, published_only=False).published


@pytest.mark.usefixtures("two_records_a_batch")
@pytest.mark.parametrize("version", ["binary", "python"])
def test_every_truncation_of_an_archive_is_named(tmp_path, version):
    whole = tar_bytes(batch_files(version))
    path = tmp_path / f"cifar-10-{version}.tar.gz"
    for length in [*range(40), *range(40, len(whole), 997), *range(len(whole) - 12, len(whole))]:
        path.write_bytes(whole[:length])
        with refused(path):
            load("cifar10", tmp_path)


def test_archives_of_something_else(tmp_path):
    path = tmp_path / "cifar-10-python.tar.gz"
    files = batch_files("python")
    for content, named in (
        (gzip.compress(b"no tar archive" * 100, mtime=0), "text that begins with"),
        (tar_bytes({"cifar-100-python/train": b"abc"}), "cifar-100-python/train"),
        (tar_bytes({}), "no file"),
        (tar_bytes({name: data for name, data in files.items() if "batch_4" not in name}), "data_batch_4"),
        (gzip.compress(gzip.decompress(tar_bytes(files))[:20_000], mtime=0), "expected"),
    ):
        path.write_bytes(content)
        with refused(path, named):
            load("cifar10", tmp_path, published_only=False)


def test_links_in_archives_are_not_followed(tmp_path):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        member = tarfile.TarInfo("cifar-10-batches-bin/data_batch_1.bin")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    path = tmp_path / "cifar-10-binary.tar.gz"
    path.write_bytes(stream.getvalue())
    with refused(path, "no file"):
        load("cifar10", tmp_path)


def test_missing_batches_are_named(tmp_path):
    as_extracted(tmp_path, "binary")
    (tmp_path / "cifar-10-batches-bin" / "test_batch.bin").unlink()
    with pytest.raises(InvalidInputError, match=r"no test_batch\.bin"):
        load("cifar10", tmp_path)
    with pytest.raises(InvalidInputError, match="found none of them"):
        load("cifar10", tmp_path / "cifar-10-batches-py")
    with pytest.raises(InvalidInputError, match="no folder given"):
        load("cifar10")


# ----------------------------------------------------------------------------------------- embedded sets


def test_digits():
    data = load("digits")
    assert data.embedded
    assert "embedded" in data.origin
    assert data.shape == (1, 8, 8)
    assert data.n_features == 64
    assert data.test is not None
    assert (len(data.train), len(data.test)) == (1438, 359)
    assert set(np.unique(data.train.X * 16)) == set(range(17))
    every_image = np.concatenate([data.train.flat, data.test.flat])
    assert len(np.unique(every_image, axis=0)) == 1797  # so no image is on both sides
    assert np.ptp(np.bincount(data.test.y)) <= 2
    assert data.sha256 == "a38298fecb39c39794c2b98539179265748817103d0003ffed4094e3550da50f"


def test_synthetic_images():
    data = load("synthetic-cifar", n_samples=30, n_test_samples=20)
    assert data.embedded
    assert "stand-in" in data.origin
    assert data.shape == (3, 32, 32)
    more = load("synthetic-cifar", n_samples=50, n_test_samples=1)
    assert np.array_equal(more.train.X[:30], data.train.X)
    assert np.array_equal(more.train.y[:30], data.train.y)
    assert data.test is not None
    assert not np.array_equal(data.test.X[:20], data.train.X[:20])
    assert data.sha256 == "09efc0fca25b639a2ed6fad9a75f8d5ed62acf1fb69554e7bda33800ac980de9"


@pytest.mark.parametrize("name", ["digits", "synthetic-cifar"])
def test_a_subset_is_the_first_samples(name):
    whole, part = load(name, n_samples=40, n_test_samples=30), load(name, n_samples=7, n_test_samples=5)
    assert whole.test is not None
    assert part.test is not None
    assert np.array_equal(part.train.X, whole.train.X[:7])
    assert np.array_equal(part.test.y, whole.test.y[:5])
    assert part.sha256 != whole.sha256


@pytest.mark.parametrize("n", [0, -1, 1439, 2.0, True, "3"])
def test_subsets_that_do_not_exist(n):
    with pytest.raises(InvalidInputError, match="from 1 to 1438"):
        load("digits", n_samples=n)


def test_names_and_roots():
    with pytest.raises(InvalidInputError, match="choose one of digits, mnist"):
        load("imagenet")
    with pytest.raises(InvalidInputError, match="needs no files"):
        load("digits", "folder")
    assert DATASETS == ("digits", "mnist", "fashion-mnist", "cifar10", "synthetic-cifar")


# ------------------------------------------------------------------------------------------- the classes


def test_random_labels_leave_the_test_split_alone_unless_asked():
    data, drawn = load("digits"), RandomLabels(4)
    assert data.test is not None
    corrupted = data.with_random_labels(drawn)
    assert corrupted.train.y.tolist() == drawn.labels(1438).tolist()
    assert np.array_equal(corrupted.train.X, data.train.X)
    assert corrupted.test is not None
    assert corrupted.test.y.tolist() == data.test.y.tolist()
    assert "training split drawn at random (seed 4)" in corrupted.origin
    both = data.with_random_labels(drawn, corrupt_test=True)
    assert both.test is not None
    assert both.test.y.tolist() == drawn.labels(359, "test").tolist()
    assert "both splits" in both.origin
    assert len({data.sha256, corrupted.sha256, both.sha256}) == 3
    assert data.with_random_labels(drawn).sha256 == corrupted.sha256


def test_random_labels_of_fewer_classes():
    data = load("digits")
    assert data.with_random_labels(RandomLabels(0, 2)).n_classes == 10
    assert data.with_random_labels(RandomLabels(0, 2), corrupt_test=True).n_classes == 2


def images(*values):
    """Two channels, the second ten times the first."""
    first = np.array(values, dtype=np.float32).reshape(-1, 1, 1, 1)
    return np.concatenate([first, 10 * first], axis=1)


def image_data(train, test=None, n_classes=2):
    return ImageData("own", train, test, n_classes, True, data_sha256(train, test), "made up")


def test_standardized():
    """Mean 1 and deviation 1 of the training split, and ten times as much, are exact in float32."""
    train = Split(images(0, 2), np.array([0, 1]))
    test = Split(images(3), np.array([0]))
    scaled = image_data(train, test).standardized()
    assert scaled.train.flat.tolist() == [[-1, -1], [1, 1]]
    assert scaled.test is not None
    assert scaled.test.flat.tolist() == [[2, 2]]
    assert scaled.sha256 == data_sha256(scaled.train, scaled.test)
    assert image_data(train).standardized().test is None
    with pytest.raises(InvalidInputError, match="constant"):
        image_data(Split(images(1, 1), np.array([0, 1]))).standardized()


def test_hash_is_that_of_the_documented_bytes():
    train, test = Split(images(0.5, 2), np.array([3, 1])), Split(images(1), np.array([0]))
    content = b"2 2 1 1\n" + struct.pack("<4f", 0.5, 5, 2, 20) + struct.pack("<2q", 3, 1)
    assert data_sha256(train) == hashlib.sha256(content).hexdigest()
    content += b"1 2 1 1\n" + struct.pack("<2f", 1, 10) + struct.pack("<q", 0)
    assert data_sha256(train, test) == hashlib.sha256(content).hexdigest()


def test_splits_are_read_only():
    X, y = images(1, 2), np.array([0, 1])
    split = Split(X, y)
    for array in (split.X, split.y, split.flat):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    X[0] = 7  # the caller's own array stays writable


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (images(1, 2).astype(np.float64), np.array([0, 1])),
        (np.zeros(3, np.float32), np.array([0, 1, 0])),
        (np.zeros((0, 2), np.float32), np.zeros(0, np.int64)),
        (images(1, 2), np.array([0, 1, 1])),
        (images(1, 2), np.array([0.0, 1.0])),
        (images(1, 2), np.array([[0], [1]])),
        (images(1, np.nan), np.array([0, 1])),
        (images(1, np.inf), np.array([0, 1])),
        (images(-np.inf, np.inf), np.array([0, 1])),
    ],
)
def test_splits_of_wrong_shape_type_or_value(X, y):
    with pytest.raises(InvalidInputError):
        Split(X, y)


def test_splits_that_do_not_fit():
    train = Split(images(1, 2), np.array([0, 1]))
    with pytest.raises(InvalidInputError, match=r"test images of shape \(1, 1, 1\)"):
        image_data(train, Split(images(1)[:, :1], np.array([0])))
    with pytest.raises(InvalidInputError, match="label 2 of test sample 1; expected 0 to 1"):
        image_data(train, Split(images(1, 2), np.array([0, 2])))
    with pytest.raises(InvalidInputError, match="label -1 of train sample 0"):
        image_data(Split(images(1, 2), np.array([-1, 1])))
