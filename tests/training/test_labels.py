"""Random labels: a pure function of (seed, n_classes, split, index), stored with their hash."""

import hashlib
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory.errors import InvalidInputError
from training.data.labels import SPLITS, RandomLabels, labels_sha256, random_words

seeds = st.integers(0, 2**80)
classes = st.integers(1, 1000)
splits = st.sampled_from(SPLITS)


@given(seeds, classes, splits, st.integers(0, 300), st.integers(0, 300))
def test_the_first_labels_do_not_depend_on_how_many_are_drawn(seed, n_classes, split, n, more):
    drawn = RandomLabels(seed, n_classes)
    labels = drawn.labels(n + more, split)
    assert labels.dtype == np.int64
    assert labels.shape == (n + more,)
    assert np.all((labels >= 0) & (labels < n_classes))
    assert labels[:n].tolist() == RandomLabels(seed, n_classes).labels(n, split).tolist()


def test_drawn_labels_are_these_for_good():
    """Whoever trains on (seed, n_classes) next year, on another machine, trains on the same labels."""
    assert RandomLabels(0).labels(12).tolist() == [4, 6, 5, 2, 3, 7, 8, 6, 0, 5, 2, 6]
    assert RandomLabels(1, 2).labels(12, "test").tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1]
    assert (
        RandomLabels(0).sha256(50_000) == "bd124825aca841feb98237197d454f5a7c77d70532ef5bf0d137f9baa69b0e49"
    )


def test_labels_are_philox_words_modulo_classes():
    """The definition in the docstring, with the key written out by hand and words drawn one at a time."""
    digest = hashlib.sha256(b"lntheory random labels 5 7 train").digest()
    key = struct.unpack("<2Q", digest[:16])
    generator = np.random.Philox(key=np.array(key, dtype=np.uint64))
    assert RandomLabels(5, 7).labels(9).tolist() == [int(generator.random_raw()) % 7 for _ in range(9)]


def test_the_documented_program_draws_the_same_labels(capsys):
    text = (Path(__file__).parents[2] / "docs" / "training-data.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(import hashlib.*?)```", text, re.DOTALL)
    exec(program, {})
    assert capsys.readouterr().out == f"{RandomLabels(0, 10).labels(8)}\n"


def test_seeds_splits_and_class_counts_are_unrelated():
    """Agreement of unrelated labels is binomial(4000, 1/4): six standard deviations are 165."""
    streams = [
        RandomLabels(seed, n_classes).labels(4000, split) % 4
        for seed in (0, 1)
        for n_classes in (4, 8)
        for split in SPLITS
    ]
    for i, first in enumerate(streams):
        for second in streams[:i]:
            assert abs(int(np.sum(first == second)) - 1000) < 165


def test_labels_are_uniform_and_serially_independent():
    """Chi-squared of 100 pairs of neighbours: mean 99, standard deviation 14."""
    labels = RandomLabels(3).labels(100_000)
    counts = np.bincount(10 * labels[::2] + labels[1::2], minlength=100)
    assert abs(float(np.sum((counts - 500.0) ** 2) / 500) - 99) < 6 * 14


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_hash_is_that_of_little_endian_integers(values):
    expected = hashlib.sha256(struct.pack(f"<{len(values)}q", *values)).hexdigest()
    assert labels_sha256(np.array(values, dtype=np.int64)) == expected
    assert labels_sha256(np.array(values, dtype=">i8")) == expected


def test_hash_of_a_draw():
    drawn = RandomLabels(2, 5)
    assert drawn.sha256(40, "test") == labels_sha256(drawn.labels(40, "test"))
    assert drawn.sha256(40, "test") != drawn.sha256(40)


@pytest.mark.parametrize(
    ("seed", "n_classes"), [(-1, 10), (0, 0), (1.0, 10), (0, True), ("0", 10), (None, 10), (0, 2**63)]
)
def test_bad_seeds_and_classes(seed, n_classes):
    with pytest.raises(InvalidInputError, match="give a whole number"):
        RandomLabels(seed, n_classes)


def test_numpy_integers_are_integers():
    assert RandomLabels(np.int32(3), np.uint8(10)) == RandomLabels(3, 10)


def test_bad_requests():
    drawn = RandomLabels(0)
    with pytest.raises(InvalidInputError, match=r"split = 'valid'; choose one of train, test"):
        drawn.labels(3, "valid")
    for n in (-1, 2.0, True):
        with pytest.raises(InvalidInputError, match="give a whole number"):
            drawn.labels(n)


def test_random_words_have_a_name_each():
    assert random_words("a", 3).tolist() != random_words("b", 3).tolist()
