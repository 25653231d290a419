"""Reading images: genuine and forged files, what is right to the byte, what is wrong by name."""

import contextlib
import gzip
import hashlib
import io
import os
import struct
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory.errors import FileFormatError, InvalidInputError
from training.data import DATASETS, ImageData, RandomLabels, Split, cifar, data_sha256, load
from training.data.cifar import read_cifar_binary
from training.data.files import Content, describe, read_bytes
from training.data.idx import read_idx
from training.data.published import CIFAR10, FASHION_MNIST

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
    found = read_idx(read_bytes(path), array.ndim)
    assert found.dtype == np.uint8
    assert found.shape == array.shape
    assert found.tolist() == array.tolist()
    assert read_bytes(path).sha256 == hashlib.sha256(idx_bytes(array)).hexdigest()


@given(arrays, st.booleans(), st.data())
def test_every_truncation_of_idx_is_named(scratch, array, compress, data):
    path = scratch / ("images.gz" if compress else "images")
    whole = gzip.compress(idx_bytes(array), mtime=0) if compress else idx_bytes(array)
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with refused(path):
        read_idx(read_bytes(path), array.ndim)


@given(arrays, st.booleans(), st.binary(min_size=1, max_size=5))
def test_bytes_after_idx_data_are_named(scratch, array, compress, more):
    path = scratch / ("images.gz" if compress else "images")
    path.write_bytes(gzip.compress(idx_bytes(array) + more, mtime=0) if compress else idx_bytes(array) + more)
    with refused(path, len(idx_bytes(array)), len(idx_bytes(array)) + len(more)):
        read_idx(read_bytes(path), array.ndim)


@given(arrays, st.data())
def test_damaged_gzip_is_named_or_means_the_same(scratch, array, data):
    """A few bits of a gzip header mean nothing; all others are covered by its checksum."""
    whole = bytearray(gzip.compress(idx_bytes(array), mtime=0))
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path = scratch / "images.gz"
    path.write_bytes(whole)
    with maybe_refused(path):
        assert read_idx(read_bytes(path), array.ndim).tolist() == array.tolist()


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
        read_idx(read_bytes(path), 3)


@pytest.mark.parametrize(("length", "first"), [(b"\xff" * 4, 4294967295), (bytes(4), 0)])
def test_a_header_may_declare_anything(tmp_path, length, first):
    """Sizes whose product is 2**96, or zero times 2**64, take no memory."""
    path = tmp_path / "images"
    path.write_bytes(bytes([0, 0, 8, 3]) + length + b"\xff" * 8)
    with refused(path, f"{first} x 4294967295 x 4294967295"):
        read_idx(read_bytes(path), 3)


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
    assert read_bytes(path, most=1000).data == bytes(1000)


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
    with refused(tmp_path / FILES[0], "that of MNIST", "IDX data", "published_only=False"):
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


batches = st.builds(records, st.integers(1, 4), st.integers(0, 2**32 - 1))


@given(batches)
def test_binary_batches_are_read_to_the_byte(batch):
    read = read_cifar_binary(Content("data_batch_1.bin", batch.tobytes()))
    assert read.tobytes() == batch.tobytes()
    assert read.shape == batch.shape


@given(batches, st.integers(1, 3072))
def test_binary_batches_of_a_broken_record(batch, missing):
    with refused("data_batch_1.bin", 3073, batch.size - missing):
        read_cifar_binary(Content("data_batch_1.bin", batch.tobytes()[:-missing]))


def test_binary_labels_out_of_range():
    batch = records(3, 0)
    batch[2, 0] = 10
    with refused("data_batch_1.bin", "found 10 at sample 2"):
        read_cifar_binary(Content("data_batch_1.bin", batch.tobytes()))


# ------------------------------------------------------------------------------------ CIFAR-10, the set

BATCHES = {name: records(2, seed) for seed, name in enumerate(CIFAR10.sha256)}
FOLDER = "cifar-10-batches-bin"


@pytest.fixture
def two_records_a_batch(monkeypatch):
    """As if CIFAR-10 had been published with the two records a batch of `BATCHES`."""
    hashes = {name: hashlib.sha256(batch.tobytes()).hexdigest() for name, batch in BATCHES.items()}
    monkeypatch.setattr(cifar, "CIFAR10", replace(CIFAR10, sha256=hashes))


def batch_files():
    return {f"{FOLDER}/{name}": batch.tobytes() for name, batch in BATCHES.items()}


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


def as_extracted(root):
    return write_folder(root, batch_files())


def as_flat(root):
    return write_folder(root, {Path(name).name: data for name, data in batch_files().items()})


def as_archive_in_folder(root):
    return write_folder(root, {"cifar-10-binary.tar.gz": tar_bytes(batch_files())})


def as_archive(root):
    return write_folder(root, {"any.tgz": tar_bytes(batch_files())}) / "any.tgz"


@pytest.mark.usefixtures("two_records_a_batch")
@pytest.mark.parametrize("place", [as_extracted, as_flat, as_archive_in_folder, as_archive])
def test_cifar10_is_the_same_however_it_comes(tmp_path, place):
    data = load("cifar10", place(tmp_path))
    train = np.concatenate([batch for name, batch in BATCHES.items() if name != "test_batch.bin"])
    assert data.published
    assert data.train.y.tolist() == train[:, 0].tolist()
    assert data.test is not None
    assert data.test.y.tolist() == BATCHES["test_batch.bin"][:, 0].tolist()
    pixels = train[:, 1:].reshape(10, 3, 32, 32)
    assert np.array_equal(data.train.X, pixels.astype(np.float32) / np.float32(255))
    assert data.train.X[4, 2, 5, 7] == np.float32(train[4, 1 + 2 * 1024 + 5 * 32 + 7]) / np.float32(255)


@pytest.mark.usefixtures("two_records_a_batch")
def test_a_batch_too_short_or_changed_is_not_read(tmp_path, monkeypatch):
    path = as_extracted(tmp_path) / FOLDER / "data_batch_3.bin"
    changed = BATCHES["data_batch_3.bin"].copy()
    changed[1, 77] ^= 1
    for batch in (BATCHES["data_batch_3.bin"][:1], changed):
        path.write_bytes(batch.tobytes())
        assert not load("cifar10", tmp_path, published_only=False).published
        with monkeypatch.context() as patch, refused(path, "SHA-256", "that of CIFAR-10"):
            patch.setattr(cifar, "read_cifar_binary", lambda content: pytest.fail("read"))
            load("cifar10", tmp_path)


@pytest.mark.usefixtures("two_records_a_batch")
def test_every_truncation_of_an_archive_is_named(tmp_path):
    whole = tar_bytes(batch_files())
    path = tmp_path / "cifar-10-binary.tar.gz"
    for length in [*range(40), *range(40, len(whole), 997), *range(len(whole) - 12, len(whole))]:
        path.write_bytes(whole[:length])
        with refused(path):
            load("cifar10", tmp_path)


def test_archives_of_something_else(tmp_path):
    path = tmp_path / "cifar-10-binary.tar.gz"
    files = batch_files()
    for content, named in (
        (gzip.compress(b"no tar archive" * 100, mtime=0), "text that begins with"),
        (tar_bytes({"cifar-100-binary/train": b"abc"}), "found 0 of them"),
        (tar_bytes({}), "found 0 of them"),
        (tar_bytes({name: data for name, data in files.items() if "batch_4" not in name}), "data_batch_4"),
        (gzip.compress(gzip.decompress(tar_bytes(files))[:20_000], mtime=0), "expected"),
    ):
        path.write_bytes(content)
        with refused(path, named):
            load("cifar10", tmp_path, published_only=False)


def test_links_in_archives_are_not_followed(tmp_path):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        member = tarfile.TarInfo(f"{FOLDER}/data_batch_1.bin")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    path = tmp_path / "cifar-10-binary.tar.gz"
    path.write_bytes(stream.getvalue())
    with refused(path, "found 0 of them"):
        load("cifar10", tmp_path)


def test_missing_batches_are_named(tmp_path):
    as_extracted(tmp_path)
    (tmp_path / FOLDER / "test_batch.bin").unlink()
    with pytest.raises(InvalidInputError, match=r"no test_batch\.bin"):
        load("cifar10", tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match="found none of them"):
        load("cifar10", tmp_path / "empty")
    with pytest.raises(InvalidInputError, match="found none"):
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
    assert tuple(DATASETS) == ("digits", "mnist", "fashion-mnist", "cifar10", "synthetic-cifar")


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
