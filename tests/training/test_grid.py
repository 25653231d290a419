"""Many at once: every member the run that it is alone, whatever the others do; resumable bit for bit."""

from __future__ import annotations

import dataclasses
import math
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from lntheory.errors import FileFormatError, InvalidInputError  # noqa: E402
from tests.tolerances import PLAIN_LOOP  # noqa: E402
from tests.training.small import EPOCHS, N_SAMPLES, small_config, small_data  # noqa: E402
from training import checkpoint as checkpoints  # noqa: E402
from training import engine, stacked  # noqa: E402
from training.config import NORMS, OPTIMIZERS, RunConfig  # noqa: E402
from training.result import RunResult  # noqa: E402
from training.stacked import partition  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def train_many(configs: Sequence[RunConfig], **options: Any) -> list[RunResult]:
    return stacked.train_many(configs, small_data(), **{"device": "cpu", **options})


def train(config: RunConfig) -> RunResult:
    return engine.train(config, small_data(), device="cpu")


def members(norm: str = "ln", optimizer: str = "adam", **fields: object) -> list[RunConfig]:
    """Four runs of one shape that share nothing else; rates of the first steps at most 0.05."""
    own: list[dict[str, object]] = [
        {"seed": 0, "label_seed": 0},
        {"seed": 1, "label_seed": 0, "lr": 0.01, "momentum": 0.9, "betas": (0.5, 0.9)},
        {"seed": 2, "label_seed": None, "lr": 0.02, "lr_step": 1, "lr_gamma": 0.1},
        {"seed": 0, "label_seed": 3, "lr": 0.01, "momentum": 0.0, "betas": (0.9, 0.99)},
    ]
    return [
        small_config(norm, optimizer=optimizer, **{"precision": "64-true", **fields, **mine}) for mine in own
    ]


def assert_same_run(many: RunResult, alone: RunResult) -> None:
    tolerance = PLAIN_LOOP[alone.config.optimizer]
    assert many.config == alone.config
    assert many.diverged == alone.diverged
    assert len(many.epochs) == len(alone.epochs)
    for ours, theirs in zip(many.epochs, alone.epochs, strict=True):
        assert (ours.epoch, ours.lr, ours.accuracy) == (theirs.epoch, theirs.lr, theirs.accuracy)
        assert math.isclose(ours.loss, theirs.loss, rel_tol=tolerance)


def without_times(results: Sequence[RunResult]) -> list[RunResult]:
    return [
        dataclasses.replace(
            result, seconds=0.0, epochs=tuple(dataclasses.replace(m, seconds=0.0) for m in result.epochs)
        )
        for result in results
    ]


# ------------------------------------------------------------------------------- each the run it is alone


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("norm", NORMS)
def test_each_member_is_the_run_that_it_is_alone(norm: str, optimizer: str) -> None:
    configs = members(norm, optimizer)
    assert len(partition(configs, 6, 3)) == 1
    for many, config in zip(train_many(configs), configs, strict=True):
        assert_same_run(many, train(config))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("norm", NORMS)
def test_each_member_is_the_run_that_it_is_alone_on_a_gpu(norm: str, optimizer: str) -> None:
    configs = members(norm, optimizer)
    for many, config in zip(train_many(configs, device="cuda"), configs, strict=True):
        assert_same_run(many, train(config))


def test_weights_of_each_member_too(tmp_path: Path) -> None:
    """Sees what a loss might hide: the state in the middle of both trainings, number by number."""
    configs = [dataclasses.replace(config, epochs=2) for config in members("bn", "adam")]
    one_epoch_to_go = stop_after(1)
    with pytest.raises(Stop):
        train_many(configs, checkpoint=tmp_path / "many", progress=one_epoch_to_go)
    arrays = checkpoints.load(tmp_path / "many")["arrays"]
    (order,) = partition(configs, 6, 3)
    for row, index in enumerate(order):
        path = tmp_path / f"alone{index}"
        engine.train(configs[index], small_data(), device="cpu", checkpoint=path, stop_after_steps=5)
        state = engine.train(configs[index], small_data(), device="cpu", checkpoint=path, stop_after_steps=0)
        assert not state.finished
        model = checkpoints.load(path)["model"]
        for name, value in model.items():
            if value.ndim:
                ours = arrays[name][row].mT if value.ndim == 2 else arrays[name][row]
                torch.testing.assert_close(ours, value, rtol=0.0, atol=PLAIN_LOOP["adam"])


def test_unequal_shapes_come_back_in_order() -> None:
    configs = [
        small_config("ln", depth=1, precision="64-true"),
        small_config("bn", depth=2, precision="64-true"),
        small_config("ln", depth=1, seed=5, precision="64-true"),
        small_config("linear", optimizer="sgd", precision="64-true"),
        small_config("ln", depth=1, width=4, precision="64-true"),
        small_config("ln", depth=1, batch_size=11, precision="64-true"),
        small_config("ln", depth=1, n_samples=12, precision="64-true"),
        small_config("ln", depth=1, epochs=1, precision="64-true"),
        small_config("ln", depth=1, affine=False, precision="64-true"),
        small_config("ln", depth=1, norm_eps=0.5, precision="64-true"),
        small_config("ln-g", num_groups=4, precision="64-true"),
        small_config("ln-g", num_groups=2, precision="64-true"),
        small_config("rms", affine=False, precision="64-true"),
        small_config("bn", affine=False, precision="64-true"),
        small_config("bn", norm_eps=0.5, precision="64-true"),
    ]
    for many, config in zip(train_many(configs), configs, strict=True):
        assert_same_run(many, train(config))


def test_the_same_in_smaller_stacks() -> None:
    configs = members("ln", "sgd")
    for size in (1, 2, 3):
        for split, config in zip(train_many(configs, members_at_once=size), configs, strict=True):
            assert_same_run(split, train(config))


def test_half_precision_is_that_of_one_run() -> None:
    configs = members("ln", "adam", precision="bf16-mixed")
    for many, config in zip(train_many(configs), configs, strict=True):
        alone, exact = train(config), train(dataclasses.replace(config, precision="64-true"))
        # Rounded otherwise on the way, so no closer to each other than both are to the unrounded run.
        off = max(abs(a.loss - b.loss) for a, b in zip(alone.epochs, exact.epochs, strict=True))
        assert off > 0
        for ours, theirs in zip(many.epochs, exact.epochs, strict=True):
            assert 0 < abs(ours.loss - theirs.loss) < 8 * off


def test_the_loss_of_half_precision_is_taken_in_float32() -> None:
    configs = members("ln", "adam", precision="bf16-mixed")
    stack = stacked._Stack(range(4), configs, stacked._Source(small_data(), torch.device("cpu")))
    scores = stack.net.scores(stack.arrays, stack.X.expand(4, -1, -1), training=True)
    assert scores.dtype is torch.float32
    assert torch.equal(scores, scores.bfloat16().float())


def test_what_cannot_be_trained_on_or_written_to_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="is a folder; name a file"):
        train_many(members(), checkpoint=tmp_path)
    with pytest.raises(InvalidInputError, match="file is a file, not a folder"):
        train_many(members(), checkpoint=tmp_path / "file" / "many")
    with pytest.raises(InvalidInputError, match="threads is 0; give 1 or more"):
        train_many(members(), threads=0)
    with pytest.raises(InvalidInputError, match="device is 'tpu9'; choose auto, cpu or cuda"):
        stacked.train_many(members(), small_data(), device="tpu9")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidInputError, match="device is cuda, but torch finds no CUDA device"):
        stacked.train_many(members(), small_data(), device="cuda")


def test_no_runs() -> None:
    assert train_many([]) == []


# --------------------------------------------------------------------------------------------- divergence


def diverging(**fields: object) -> RunConfig:
    """A deep linear net that overflows in its second or third epoch."""
    return small_config(
        "none", **{"optimizer": "sgd", "precision": "64-true", "lr": 1e9, "lr_step": 9, **fields}
    )


def test_a_diverged_member_leaves_the_others_alone() -> None:
    healthy = members("none", "sgd")
    late = diverging(seed=2, lr=0.001, lr_step=1, lr_gamma=1e12)  # the first row, since it starts slowly
    mixed = [healthy[0], diverging(), *healthy[1:], diverging(seed=1), late]
    assert len(partition(mixed, 6, 3)) == 1
    results = train_many(mixed)
    for many, config in zip(results, mixed, strict=True):
        alone = train(config)
        if alone.diverged:
            assert many.diverged
            assert [m.epoch for m in many.epochs] == [m.epoch for m in alone.epochs]
            assert many.seconds > sum(m.seconds for m in many.epochs)
        else:
            assert_same_run(many, alone)
    assert sum(result.diverged for result in results) == 3


def test_all_members_diverged(tmp_path: Path) -> None:
    configs = [diverging(seed=seed) for seed in range(3)] + [small_config("ln")]
    calls: list[tuple[int, int]] = []
    results = train_many(
        configs, checkpoint=tmp_path / "many", progress=lambda done, total: calls.append((done, total))
    )
    assert [result.diverged for result in results] == [True, True, True, False]
    assert all(result.finished for result in results)
    assert calls[-1] == (4 * EPOCHS, 4 * EPOCHS)
    assert without_times(train_many(configs, checkpoint=tmp_path / "many")) == without_times(results)


# ----------------------------------------------------------------------------------------- stop and resume


class Stop(Exception):
    pass


def stop_after(calls: int) -> Any:
    """A progress callback that raises once training has gone on for so many calls."""
    left = [calls]

    def progress(done: int, total: int) -> None:
        if left[0] == 0:
            raise Stop
        left[0] -= 1

    return progress


def test_resumes_to_the_same_bits_wherever_it_stops(tmp_path: Path) -> None:
    configs = [
        *members("bn", "adam", precision="32-true"),
        *members("none", "sgd", precision="32-true"),
        diverging(precision="32-true"),
        small_config("ln-g", optimizer="sgd"),
    ]
    whole = train_many(configs, checkpoint=tmp_path / "whole", members_at_once=3)
    last = checkpoints.load(tmp_path / "whole")
    assert any(result.diverged for result in whole)
    for _ in range(5 * EPOCHS):  # one epoch of a stack at a time, every one from the file alone
        with pytest.raises(Stop):
            train_many(configs, checkpoint=tmp_path / "pieces", members_at_once=3, progress=stop_after(1))
    pieces = train_many(configs, checkpoint=tmp_path / "pieces", members_at_once=3, progress=stop_after(1))
    assert without_times(pieces) == without_times(whole)
    assert checkpoints.load(tmp_path / "pieces")["stacks"] == last["stacks"]


def test_keeps_the_stacks_of_the_checkpoint(tmp_path: Path) -> None:
    """A machine with other memory would split otherwise, but goes on with the stacks that there are."""
    configs = members()
    whole = train_many(configs, members_at_once=2)
    with pytest.raises(Stop):
        train_many(configs, members_at_once=2, checkpoint=tmp_path / "many", progress=stop_after(2))
    resumed = train_many(configs, members_at_once=1, checkpoint=tmp_path / "many")
    assert without_times(resumed) == without_times(whole)


def test_a_finished_checkpoint_is_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs = members()
    whole = train_many(configs, checkpoint=tmp_path / "many")
    monkeypatch.setattr(stacked._Runs, "train_epoch", lambda self: pytest.fail("trained again"))
    assert train_many(configs, checkpoint=tmp_path / "many") == whole


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_checkpoint_is_written_leaves_it_whole(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    save = checkpoints.save

    def interrupted(path: Path, state: dict[str, Any]) -> None:
        signal.raise_signal(number)
        save(path, state)

    monkeypatch.setattr(checkpoints, "save", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else SystemExit):
            train_many(members(), checkpoint=tmp_path / "many")
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["many"]
    resumed = train_many(members(), checkpoint=tmp_path / "many")
    assert without_times(resumed) == without_times(train_many(members()))


def test_refuses_the_checkpoint_of_other_runs(tmp_path: Path) -> None:
    configs, path = members(), tmp_path / "many"
    train_many(configs, checkpoint=path)
    with pytest.raises(FileFormatError, match=r"other runs.*configs"):
        train_many(configs[::-1], checkpoint=path)
    longer = [dataclasses.replace(config, epochs=EPOCHS + 1) for config in configs]
    with pytest.raises(FileFormatError, match=rf"run 0: epochs = {EPOCHS}, not {EPOCHS + 1}\)"):
        train_many(longer, checkpoint=path)
    with pytest.raises(FileFormatError, match=rf"configs of {len(configs)} runs, here 1\)"):
        train_many(configs[:1], checkpoint=path)
    with pytest.raises(FileFormatError, match=r"other runs.*data"):
        stacked.train_many(configs, small_data(seed=1), device="cpu", checkpoint=path)
    engine.train(configs[0], small_data(), device="cpu", checkpoint=tmp_path / "alone", stop_after_steps=1)
    with pytest.raises(FileFormatError, match="other runs"):
        train_many(configs, checkpoint=tmp_path / "alone")


def test_refuses_a_state_that_no_training_has(tmp_path: Path) -> None:
    configs, path = members(), tmp_path / "many"
    with pytest.raises(Stop):
        train_many(configs, checkpoint=path, progress=stop_after(1))
    state = checkpoints.load(path)
    weight = "linear0.weight"
    for wrong in (
        {"arrays": {**state["arrays"], weight: state["arrays"][weight][:1]}},  # would be copied to all rows
        {"arrays": {name: value for name, value in state["arrays"].items() if name != weight}},
        {"metrics": state["metrics"][1:]},
        {"stacks": [[0, 1, 2]]},
        {"stacks": [[0, 1, 2, 2]]},
        {"place": 7},
        {"place": 1},
        {"place": -1},
        {"arrays": {}},
        {"metrics": [run * 2 for run in state["metrics"]]},
        {"metrics": [[["a", *metrics[1:]] for metrics in run] for run in state["metrics"]]},
        {"metrics": [[[*metrics[:-1], "a"] for metrics in run] for run in state["metrics"]]},
        {"diverged": [True] * 4},
        {"lost_seconds": None},
    ):
        checkpoints.save(path, {**state, **wrong})
        with pytest.raises(FileFormatError, match=r"many: no state of these runs"):
            train_many(configs, checkpoint=path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FileFormatError, match="corrupt"):
        train_many(configs, checkpoint=path)


def test_progress_counts_epochs_of_all_members() -> None:
    calls: list[tuple[int, int]] = []
    start = time.perf_counter()
    results = train_many(
        members(), members_at_once=3, progress=lambda done, total: calls.append((done, total))
    )
    assert sum(result.seconds for result in results) <= time.perf_counter() - start  # each its part
    assert calls == [(done, 12) for done in (0, 2, 4, 6, 8, 10, 12)]


# ---------------------------------------------------------------------------------------------- partition


configs_of_a_grid = st.lists(
    st.builds(
        small_config,
        norm=st.sampled_from(["ln", "bn", "ln-g"]),
        depth=st.integers(1, 2),
        batch_size=st.sampled_from([5, 8]),
        lr=st.sampled_from([0.1, 0.01]),
        seed=st.integers(0, 2),
        label_seed=st.sampled_from([None, 0, 1]),
        optimizer=st.sampled_from(OPTIMIZERS),
        momentum=st.sampled_from([0.0, 0.1]),
    ),
    max_size=12,
)


@given(configs_of_a_grid, st.integers(1, 5))
def test_partition(configs: list[RunConfig], most: int) -> None:
    stacks = partition(configs, 6, 3, members_at_once=most)
    assert sorted(index for stack in stacks for index in stack) == list(range(len(configs)))
    for stack in stacks:
        assert 1 <= len(stack) <= most
        assert len({shape(configs[index]) for index in stack}) == 1
    for wanted in {shape(config) for config in configs}:
        sizes = [len(stack) for stack in stacks if shape(configs[stack[0]]) == wanted]
        assert max(sizes) - min(sizes) <= 1
        assert len(sizes) == -(-sum(sizes) // most)


def shape(config: RunConfig) -> tuple[object, ...]:
    return config.norm, config.depth, config.batch_size, config.optimizer


def test_stacks_fit_the_memory_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    configs = [small_config("ln", width=256, seed=seed) for seed in range(64)]
    sizes = []
    for free in (2**40, 2**27, 2**20):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free: (free, 2**40))
        stacks = partition(configs, 3072, 10, device="cuda")
        sizes.append(max(map(len, stacks)))
        weights = 4 * 256 * 3072
        assert len(stacks) == 64 or 2 * sizes[-1] * 4 * weights < free  # with gradients and two moments
    assert sizes[0] == 64 > sizes[1] > sizes[2] == 1


def test_stacks_of_a_cpu_grow_with_its_threads() -> None:
    configs = [small_config("ln", width=1024, batch_size=128, seed=seed) for seed in range(64)]
    alone = max(map(len, partition(configs, 6, 3)))
    torch.set_num_threads(2)
    assert max(map(len, partition(configs, 6, 3))) == 2 * alone


# ---------------------------------------------------------------------------------------------- bad input


def test_refuses_other_data() -> None:
    with pytest.raises(InvalidInputError, match="'digits'"):
        train_many([*members(), RunConfig()])
    with pytest.raises(InvalidInputError, match=f"n_samples = {N_SAMPLES + 1}"):
        train_many([small_config(n_samples=N_SAMPLES + 1)])


def test_refuses_batch_norm_of_one_sample_before_any_training() -> None:
    calls: list[int] = []
    with pytest.raises(InvalidInputError, match="21 samples in batches of 5"):
        train_many(
            [*members(), small_config("bn", n_samples=21)], progress=lambda done, total: calls.append(done)
        )
    assert calls == []


def test_refuses_stacks_of_nothing() -> None:
    with pytest.raises(InvalidInputError, match="members_at_once = 0"):
        train_many(members(), members_at_once=0)
