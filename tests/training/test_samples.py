"""The order of samples is a pure function of seed and epoch; each sample is in one batch of every epoch."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from lntheory.errors import InvalidInputError  # noqa: E402
from tests.tolerances import STANDARDIZED, STANDARDIZED_MOMENTS  # noqa: E402
from tests.training.small import small_config, small_data  # noqa: E402
from training.data import ImageData, RandomLabels, load  # noqa: E402
from training.engine.samples import TensorSamples, as_splits, epoch_order, prepared, shard  # noqa: E402
from training.run.config import RunConfig  # noqa: E402


@given(st.integers(0, 2**63 - 1), st.integers(0, 10**6), st.integers(1, 200))
def test_order_is_a_permutation_that_nothing_else_changes(seed: int, epoch: int, n_samples: int) -> None:
    order = epoch_order(seed, epoch, n_samples)
    assert sorted(order.tolist()) == list(range(n_samples))
    np.random.seed(0)  # noqa: NPY002  (the global generators must not matter)
    torch.manual_seed(0)
    assert torch.equal(epoch_order(seed, epoch, n_samples), order)


def test_orders_of_other_epochs_and_seeds_are_unrelated() -> None:
    n_samples = 1000
    orders = [epoch_order(seed, epoch, n_samples) for seed in range(4) for epoch in range(4)]
    for i, order in enumerate(orders):
        for other in orders[:i]:
            agreeing = int((order == other).sum())
            assert (
                agreeing < 10
            )  # of two random permutations one place agrees on average; 10 has odds of 1e-7


def test_order_is_this_for_ever() -> None:
    assert epoch_order(3, 1, 6).tolist() == [5, 3, 1, 4, 0, 2]


@given(st.integers(1, 60), st.integers(1, 70), st.integers(1, 9))
def test_batches_and_parts_of_processes_cover_every_sample_once(n: int, batch_size: int, world: int) -> None:
    samples = TensorSamples((torch.zeros(n, 1), torch.zeros(n)), torch.device("cpu"))
    batches = samples.batches(0, 0, batch_size)
    assert len(batches) == samples.n_batches(batch_size)
    assert torch.equal(torch.cat(list(batches)), epoch_order(0, 0, n))
    assert all(len(batch) == batch_size for batch in batches[:-1])
    for batch in batches:
        parts = [shard(slice(0, len(batch)), rank, world) for rank in range(world)]
        assert [i for own in parts for i in range(n)[own]] == list(range(len(batch)))
        sizes = [own.stop - own.start for own in parts]
        assert max(sizes) - min(sizes) <= 1


def columns(config: RunConfig, data: ImageData) -> tuple[torch.Tensor, ...]:
    samples = as_splits(data, config, torch.device("cpu")).train
    assert isinstance(samples, TensorSamples)
    return samples.columns


def test_prepared_samples_are_counted_off_then_standardized() -> None:
    X, y = columns(small_config(**{"data.n_samples": 7, "precision": "64-true"}), small_data())
    assert X.shape == (7, 6)
    assert X.dtype == torch.float64
    raw = small_data().train.flat[:7].astype(float)
    np.testing.assert_allclose(
        X.numpy(), (raw - raw.mean()) / raw.std(), rtol=0, atol=STANDARDIZED * float(X.abs().max())
    )
    assert y.tolist() == RandomLabels(0, 3).labels(7).tolist()


def test_the_true_labels_where_no_seed_is_given() -> None:
    data = prepared(small_config(**{"data.label_seed": None}), small_data())
    assert data.train.y.tolist() == small_data().train.y.tolist()


def test_labels_are_those_of_their_seed() -> None:
    first, second = (
        prepared(small_config(**{"data.label_seed": seed}), small_data()).train.y for seed in (0, 1)
    )
    assert first.tolist() != second.tolist()
    assert first.tolist() == RandomLabels(0, 3).labels(len(first)).tolist()


def test_preparing_again_changes_nothing_but_roundings() -> None:
    config = small_config()
    once = prepared(config, small_data())
    twice = prepared(config, once)
    assert np.array_equal(once.train.y, twice.train.y)
    np.testing.assert_allclose(
        once.train.X, twice.train.X, rtol=0, atol=STANDARDIZED * np.abs(once.train.X).max()
    )


def test_digits_are_standardized() -> None:
    X, _ = columns(small_config(**{"data.name": "digits"}), load("digits"))
    assert abs(float(X.double().mean())) < STANDARDIZED_MOMENTS
    assert abs(float(X.double().square().mean()) - 1) < STANDARDIZED_MOMENTS


def test_other_data_and_too_few_samples_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="for data 'mnist', given was 'small'"):
        prepared(small_config(**{"data.name": "mnist"}), small_data())
    with pytest.raises(InvalidInputError, match="n_samples = 24 asked for, 23 training samples given"):
        prepared(small_config(**{"data.n_samples": 24}), small_data())
    constant = dataclasses.replace(
        small_data(), train=dataclasses.replace(small_data().train, X=np.ones((23, 1, 2, 3), np.float32))
    )
    with pytest.raises(InvalidInputError, match="constant"):
        prepared(small_config(), constant)


def test_random_labels_are_for_training_only() -> None:
    data = small_data(n_test=4)
    assert prepared(small_config(), data).test is None
    true = prepared(small_config(**{"data.label_seed": None}), data)
    assert true.test is not None
    assert true.test.y.tolist() == data.test.y.tolist()


class Pairs:
    """A map-style dataset."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.full((2,), float(index)), index % 2


X, Y = torch.arange(12.0).view(6, 2), torch.tensor([0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize(
    ("data", "n_train", "n_test"),
    [
        ((X, Y), 6, None),
        ([X.numpy(), Y.numpy()], 6, None),
        (torch.utils.data.TensorDataset(X, Y), 6, None),
        (Pairs(), 6, None),
        (((X, Y), (X[:2], Y[:2])), 6, 2),
        ((Pairs(), Pairs()), 6, 6),
        ([(X[0], 0), (X[1], 1)], 2, None),
    ],
)
def test_what_data_may_be(data: object, n_train: int, n_test: int | None) -> None:
    splits = as_splits(data, RunConfig(epochs=1), torch.device("cpu"))
    assert len(splits.train) == n_train
    assert (None if splits.test is None else len(splits.test)) == n_test
    (inputs,), targets = splits.train.batch(torch.tensor([1, 0]))
    assert inputs.shape == (2, 2)
    assert targets.shape == (2,)


@pytest.mark.parametrize("data", [None, 3, "digits", X, (X, Y[:3]), (X[:0], Y[:0]), {"X": X}])
def test_what_data_may_not_be(data: object) -> None:
    with pytest.raises(InvalidInputError):
        as_splits(data, RunConfig(epochs=1), torch.device("cpu"))


def test_other_tensors_have_another_hash() -> None:
    hashes = {
        as_splits(data, RunConfig(epochs=1), torch.device("cpu")).sha256
        for data in ((X, Y), (X + 1, Y), (X, 1 - Y), (X.int(), Y), (X.view(6, 1, 2), Y), ((X, Y), (X, Y)))
    }
    assert len(hashes) == 6
