"""Many runs: every member the run that it is alone, whatever the others do; resumable bit for bit."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

import training  # noqa: E402
from lntheory.errors import FileFormatError, InvalidInputError  # noqa: E402
from lntheory.nn import SeparabilityProbe  # noqa: E402
from tests.tolerances import PLAIN_LOOP  # noqa: E402
from tests.training.small import (  # noqa: E402
    EPOCHS,
    N_SAMPLES,
    NORMS,
    OPTIMIZERS,
    STEPS,
    small_config,
    small_data,
)  # fmt: skip
from training import RunConfig  # noqa: E402
from training.data import RandomLabels, load  # noqa: E402
from training.engine import checkpoint as checkpoints  # noqa: E402
from training.engine.grid import partition  # noqa: E402
from training.engine.loop import Loop  # noqa: E402
from training.run.config import varied  # noqa: E402
from training.run.result import RunResult  # noqa: E402

SHAPE, CLASSES = (1, 2, 3), 3


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def train_grid(configs: Sequence[RunConfig], **options: Any) -> list[RunResult]:
    return training.train_grid(configs, small_data(n_test=4), **{"device": "cpu", **options})


def train(config: RunConfig, **options: Any) -> RunResult:
    return training.train(None, small_data(n_test=4), config, **{"device": "cpu", **options})


def members(norm: str = "ln", optimizer: str = "adam", **changes: Any) -> list[RunConfig]:
    """Four runs of one shape that share nothing else.

    Adam's decay is left out: where the gradient is zero but for roundings (a shift that the next norm takes
    away), the decay's gradient grows out of them, and Adam takes any gradient for a whole step.
    """
    decay = 0.0 if optimizer == "adam" else 0.1
    own: list[dict[str, Any]] = [
        {"seed": 0, "data.label_seed": 0},
        {"seed": 1, "data.label_seed": 0, "optimizer.lr": 0.01, "optimizer.momentum": 0.9,
         "optimizer.betas": (0.5, 0.9), "optimizer.weight_decay": decay},
        {"seed": 2, "data.label_seed": 5, "optimizer.lr": 0.02, "schedule.every": 1, "schedule.gamma": 0.1},
        {"seed": 0, "data.label_seed": 3, "optimizer.lr": 0.01, "optimizer.momentum": 0.0,
         "schedule.name": "cosine", "schedule.unit": "steps", "schedule.warmup": 3},
    ]  # fmt: skip
    base = small_config(norm, **{"optimizer.name": optimizer, "precision": "64-true", **changes})
    return [varied(base, mine) for mine in own]


def assert_same_run(many: RunResult, alone: RunResult) -> None:
    tolerance = PLAIN_LOOP["sgd" if alone.config.optimizer.name == "sgd" else "adam"]
    assert many.config == alone.config
    assert many.diverged == alone.diverged
    assert len(many.epochs) == len(alone.epochs)
    for ours, theirs in zip(many.epochs, alone.epochs, strict=True):
        assert (ours.epoch, ours.lr) == (theirs.epoch, theirs.lr)
        assert ours.metrics.keys() == theirs.metrics.keys()
        for name, value in ours.metrics.items():
            exactly = name.endswith("accuracy")
            assert math.isclose(value, theirs.metrics[name], rel_tol=0.0 if exactly else tolerance), name


def without_times(results: Sequence[RunResult]) -> list[RunResult]:
    return [
        dataclasses.replace(
            result,
            seconds=0.0,
            final={},
            epochs=tuple(dataclasses.replace(row, seconds=0.0) for row in result.epochs),
        )
        for result in results
    ]


# ------------------------------------------------------------------------------- each the run it is alone


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("norm", NORMS)
def test_each_member_is_the_run_that_it_is_alone(norm: str, optimizer: str) -> None:
    configs = members(norm, optimizer)
    assert len(partition(configs, SHAPE, CLASSES)) == 1
    for many, config in zip(train_grid(configs), configs, strict=True):
        assert_same_run(many, train(config))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("norm", NORMS)
def test_each_member_is_the_run_that_it_is_alone_on_a_gpu(norm: str, optimizer: str) -> None:
    configs = members(norm, optimizer)
    for many, config in zip(train_grid(configs, device="cuda"), configs, strict=True):
        assert_same_run(many, train(config))


@pytest.mark.parametrize(
    "changes",
    [
        {"clip_norm": 1.0, "optimizer.name": "sgd"},
        {"accumulation": 2},
        {"loss.label_smoothing": 0.2},
        {"epochs": None, "steps": 7},
        {"clip_norm": 0.5, "accumulation": 3, "batch_size": 9},
    ],
)
def test_every_rule_of_the_loop_is_that_of_one_run(changes: dict[str, Any]) -> None:
    configs = members(**changes)
    for many, config in zip(train_grid(configs), configs, strict=True):
        assert_same_run(many, train(config))


def test_true_labels_are_tested_and_random_ones_are_not() -> None:
    configs = [*members(), *(varied(config, {"data.label_seed": None}) for config in members())]
    assert len(partition(configs, SHAPE, CLASSES)) == 2
    for many, config in zip(train_grid(configs), configs, strict=True):
        assert_same_run(many, train(config))
        assert ("test_loss" in many.epochs[0].metrics) == (config.data.label_seed is None)


def test_weights_of_each_member_too(tmp_path: Path) -> None:
    """Sees what a loss might hide: the state in the middle of both trainings, number by number."""
    configs = members("bn", "adam")
    with pytest.raises(Stop):
        train_grid(configs, folder=tmp_path / "many", progress=stop_after(6))
    arrays = checkpoints.load(tmp_path / "many" / "stack-000" / "last.ckpt")["model"]
    (order,) = partition(configs, SHAPE, CLASSES)
    for row, index in enumerate(order):
        folder = tmp_path / f"alone{index}"
        assert not train(configs[index], folder=folder, stop_after_steps=7).finished
        for name, value in checkpoints.load(folder / "last.ckpt")["model"].items():
            torch.testing.assert_close(arrays[name][row], value, rtol=0.0, atol=PLAIN_LOOP["adam"])


def test_weights_that_are_kept_are_those_of_the_run(tmp_path: Path) -> None:
    configs = [*members("ln", "sgd"), small_config("linear")]
    train_grid(configs, weights=tmp_path)
    assert len(list(tmp_path.iterdir())) == len(configs)
    for config in configs:
        net = training.load_weights(tmp_path / f"{config.sha256[:16]}.ckpt")
        assert not net.training
        for name, value in train(config).model.state_dict().items():
            torch.testing.assert_close(net.state_dict()[name], value, rtol=0.0, atol=PLAIN_LOOP["adam"])


def test_the_probe_runs_on_the_tables_own_nets(tmp_path: Path) -> None:
    """LSSR, layer by layer, of a net that the table trained, on the samples that it was trained on."""
    data = load("digits", n_samples=60)
    config = small_config("ln-g", **{"data.name": "digits", "data.n_samples": 60, "epochs": 5})
    training.train_grid([config], data, device="cpu", weights=tmp_path)
    net = training.load_weights(tmp_path / f"{config.sha256[:16]}.ckpt")
    samples = torch.tensor(data.standardized().train.flat)
    labels = RandomLabels(0, 10).labels(60)
    with SeparabilityProbe(net, ["norm0", "norm1"]) as probe:
        report = probe.run([(samples, labels)])
    assert [row.layer for row in report.rows][-2:] == ["norm0", "norm1"]
    assert all(0 <= row.lssr <= 1 for row in report.rows)


@pytest.mark.parametrize("damage", [
    lambda state: state.pop("model"), lambda state: state.update(config="{"),
    lambda state: state["model"].pop("readout.bias"), lambda state: state.update(n_classes="many"),
])  # fmt: skip
def test_weights_that_are_none_are_refused(damage: Any, tmp_path: Path) -> None:
    config = small_config(epochs=1)
    train_grid([config], weights=tmp_path)
    path = tmp_path / f"{config.sha256[:16]}.ckpt"
    state = checkpoints.load(path)
    damage(state)
    checkpoints.save(path, state)
    with pytest.raises(FileFormatError, match=r"\.ckpt: holds no weights of a run"):
        training.load_weights(path)


def test_unequal_shapes_come_back_in_order() -> None:
    configs = [
        small_config(norm, precision="64-true", **changes)
        for norm, changes in [
            ("ln", {"model.depth": 1}), ("bn", {}), ("ln", {"model.depth": 1, "seed": 5}),
            ("linear", {"optimizer.name": "sgd"}), ("ln", {"model.width": 4}), ("ln", {"batch_size": 11}),
            ("ln", {"data.n_samples": 12}), ("ln", {"epochs": 1}), ("ln", {"model.affine": False}),
            ("ln", {"model.eps": 0.5}), ("ln-g", {"model.num_groups": 4}), ("ln-g", {}),
            ("rms", {"model.affine": False}), ("bn", {"model.affine": False}), ("bn", {"model.eps": 0.5}),
        ]
    ]  # fmt: skip
    for many, config in zip(train_grid(configs), configs, strict=True):
        assert_same_run(many, train(config))


def test_the_same_in_smaller_stacks() -> None:
    configs = members("ln", "sgd")
    for size in (1, 2, 3):
        for split, config in zip(train_grid(configs, members_at_once=size), configs, strict=True):
            assert_same_run(split, train(config))


def test_half_precision_is_that_of_one_run() -> None:
    configs = members("ln", "adam", precision="bf16-mixed")
    for many, config in zip(train_grid(configs), configs, strict=True):
        alone, exact = ([row.metrics["train_loss"] for row in train(c).epochs]
                        for c in (config, varied(config, {"precision": "64-true"})))  # fmt: skip
        # Rounded otherwise on the way, so no closer to each other than both are to the unrounded run.
        off = max(abs(a - b) for a, b in zip(alone, exact, strict=True))
        assert off > 0
        for ours, theirs in zip(many.epochs, exact, strict=True):
            assert 0 < abs(ours.metrics["train_loss"] - theirs) < 8 * off


def test_what_cannot_be_trained_on_or_written_to_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="file is a file, not a folder"):
        train_grid(members(), folder=tmp_path / "file" / "many")
    with pytest.raises(InvalidInputError, match="file is a file, not a folder"):
        train_grid(members(), weights=tmp_path / "file")
    with pytest.raises(InvalidInputError, match="threads=0"):
        train_grid(members(), threads=0)
    with pytest.raises(InvalidInputError, match="device is 'tpu9'; choose auto, cpu or cuda"):
        train_grid(members(), device="tpu9")
    with pytest.raises(InvalidInputError, match="must name its data and its model"):
        train_grid([RunConfig(epochs=1)])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidInputError, match="device is 'cuda', but torch finds no CUDA device"):
        train_grid(members(), device="cuda")


def test_no_runs() -> None:
    assert train_grid([]) == []


# --------------------------------------------------------------------------------------------- divergence


def diverging(**changes: Any) -> RunConfig:
    """A deep linear net that overflows in its second or third epoch."""
    fast = {"optimizer.name": "sgd", "precision": "64-true", "optimizer.lr": 1e9, "schedule.every": 9}
    return small_config("none", **{**fast, **changes})


def test_a_diverged_member_leaves_the_others_alone() -> None:
    healthy = members("none", "sgd")
    slow = {"optimizer.lr": 0.001, "schedule.every": 1, "schedule.gamma": 1e12}
    late = diverging(seed=2, **slow)  # the first row, since it starts slowly
    mixed = [healthy[0], diverging(), *healthy[1:], diverging(seed=1), late]
    assert len(partition(mixed, SHAPE, CLASSES)) == 1
    results = train_grid(mixed)
    for many, config in zip(results, mixed, strict=True):
        alone = train(config)
        if alone.diverged:
            assert many.diverged
            assert [row.epoch for row in many.epochs] == [row.epoch for row in alone.epochs]
            assert many.seconds > sum(row.seconds for row in many.epochs)
        else:
            assert_same_run(many, alone)
    assert sum(result.diverged for result in results) == 3


def test_all_members_diverged(tmp_path: Path) -> None:
    configs = [diverging(seed=seed) for seed in range(3)] + [small_config("ln")]
    calls: list[tuple[int, int]] = []
    results = train_grid(
        configs, folder=tmp_path / "many", progress=lambda done, total: calls.append((done, total))
    )
    assert [result.diverged for result in results] == [True, True, True, False]
    assert all(result.finished for result in results)
    assert calls[-1] == (4 * STEPS, 4 * STEPS)
    assert without_times(train_grid(configs, folder=tmp_path / "many")) == without_times(results)


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
        small_config("ln-g", **{"optimizer.name": "sgd"}),
    ]
    whole = train_grid(configs, folder=tmp_path / "whole", members_at_once=3)
    assert any(result.diverged for result in whole)
    for _ in range(40):  # a few steps at a time, every time from the files alone
        try:
            pieces = train_grid(
                configs, folder=tmp_path / "pieces", members_at_once=3, progress=stop_after(3)
            )
        except Stop:
            continue
        break
    assert without_times(pieces) == without_times(whole)
    stacks = sorted(path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").rglob("*.ckpt"))
    assert len(stacks) > 3
    for path in stacks:
        one, other = (checkpoints.load(tmp_path / name / path) for name in ("whole", "pieces"))
        assert all(torch.equal(value, other["model"][name]) or value.isnan().any()
                   for name, value in one["model"].items())  # fmt: skip


def test_keeps_the_stacks_of_the_checkpoint(tmp_path: Path) -> None:
    """A machine with other memory would split otherwise, but goes on with the stacks that there are."""
    configs = members()
    whole = train_grid(configs, members_at_once=2)
    with pytest.raises(Stop):
        train_grid(configs, members_at_once=2, folder=tmp_path / "many", progress=stop_after(2))
    resumed = train_grid(configs, members_at_once=1, folder=tmp_path / "many")
    assert without_times(resumed) == without_times(whole)


def test_a_finished_checkpoint_is_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs = members()
    whole = train_grid(configs, folder=tmp_path / "many")
    monkeypatch.setattr(Loop, "_take_step", lambda self: pytest.fail("trained again"))
    assert without_times(train_grid(configs, folder=tmp_path / "many")) == without_times(whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_checkpoint_is_written_leaves_it_whole(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    save = checkpoints.save

    def interrupted(path: Path, state: dict[str, Any]) -> None:
        signal.raise_signal(number)
        save(path, state)

    try:
        with monkeypatch.context() as patch:
            patch.setattr(checkpoints, "save", interrupted)
            with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else SystemExit):
                train_grid(members(), folder=tmp_path / "many")
    finally:
        signal.signal(signal.SIGINT, before)
    resumed = train_grid(members(), folder=tmp_path / "many")
    assert without_times(resumed) == without_times(train_grid(members()))


def test_refuses_the_checkpoint_of_other_runs(tmp_path: Path) -> None:
    configs, folder = members(), tmp_path / "many"
    train_grid(configs, folder=folder)
    longer = [varied(config, {"epochs": EPOCHS + 1}) for config in configs]
    for others in (configs[::-1], longer, configs[:1]):
        with pytest.raises(FileFormatError, match=r"stacks\.json: of other runs, or of other data"):
            train_grid(others, folder=folder)
    with pytest.raises(FileFormatError, match=r"stacks\.json: of other runs, or of other data"):
        training.train_grid(configs, small_data(seed=1), device="cpu", folder=folder)
    plan = json.loads((folder / "stacks.json").read_text())
    for stacks in ([[0, 1, 2]], [[0, 1, 2, 2]], [[0, 1, 2, "3"]], None, 7):
        (folder / "stacks.json").write_text(json.dumps({**plan, "stacks": stacks}))
        with pytest.raises(FileFormatError, match=r"stacks\.json: stacks are no partition"):
            train_grid(configs, folder=folder)
    (folder / "stacks.json").write_text(json.dumps({**plan, "stacks": [[0, 1], [2, 3]]}))
    with pytest.raises(FileFormatError, match=r"stack-000/last\.ckpt: checkpoint of another run"):
        train_grid(configs, folder=folder)


def test_refuses_a_state_that_no_training_has(tmp_path: Path) -> None:
    configs, path = members(), tmp_path / "many" / "stack-000" / "last.ckpt"
    with pytest.raises(Stop):
        train_grid(configs, folder=tmp_path / "many", progress=stop_after(1))
    state = checkpoints.load(path)
    weight = "linear0.weight"
    for wrong in (
        {"model": {**state["model"], weight: state["model"][weight][:1]}},  # would be copied to all rows
        {"model": {name: value for name, value in state["model"].items() if name != weight}},
        {"history": state["history"][1:]},
        {"diverged": [True]},
        {"optimizer": {}},
        {"step": 99},
        {"lost": None},
    ):
        checkpoints.save(path, {**state, **wrong})
        with pytest.raises(FileFormatError, match=r"last\.ckpt: no state of this run"):
            train_grid(configs, folder=tmp_path / "many")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FileFormatError, match="corrupt"):
        train_grid(configs, folder=tmp_path / "many")


def test_progress_counts_steps_of_all_members() -> None:
    calls: list[tuple[int, int]] = []
    train_grid(members(), members_at_once=3, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(done, 4 * STEPS) for done in (*range(2, 4 * STEPS + 1, 2), 4 * STEPS)]


# ---------------------------------------------------------------------------------------------- partition


configs_of_a_grid = st.lists(
    st.builds(
        small_config,
        norm=st.sampled_from(["ln", "bn", "ln-g"]),
        batch_size=st.sampled_from([5, 8]),
        seed=st.integers(0, 2),
        optimizer=st.fixed_dictionaries(
            {
                "name": st.sampled_from(OPTIMIZERS),
                "lr": st.sampled_from([0.1, 0.01]),
                "momentum": st.sampled_from([0.0, 0.1]),
            }
        ),
    ),
    max_size=12,
)


@given(configs_of_a_grid, st.integers(1, 5))
def test_partition(configs: list[RunConfig], most: int) -> None:
    stacks = partition(configs, SHAPE, CLASSES, members_at_once=most)
    assert sorted(index for stack in stacks for index in stack) == list(range(len(configs)))
    for stack in stacks:
        assert 1 <= len(stack) <= most
        assert len({shape(configs[index]) for index in stack}) == 1
    for wanted in {shape(config) for config in configs}:
        sizes = [len(stack) for stack in stacks if shape(configs[stack[0]]) == wanted]
        assert max(sizes) - min(sizes) <= 1
        assert len(sizes) == -(-sum(sizes) // most)


def shape(config: RunConfig) -> tuple[object, ...]:
    return config.model, config.batch_size, config.optimizer.name


def test_stacks_fit_the_memory_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    configs = [small_config("ln", **{"model.width": 256, "seed": seed}) for seed in range(64)]
    sizes = []
    for free in (2**40, 2**27, 2**20):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free: (free, 2**40))
        stacks = partition(configs, (3, 32, 32), 10, device="cuda")
        sizes.append(max(map(len, stacks)))
        weights = 4 * 256 * 3072
        assert len(stacks) == 64 or 2 * sizes[-1] * 4 * weights < free  # with gradients and two moments
    assert sizes[0] == 64 > sizes[1] > sizes[2] == 1


def test_stacks_of_a_cpu_grow_with_its_threads() -> None:
    configs = [
        small_config("ln", **{"model.width": 1024, "batch_size": 128, "seed": seed}) for seed in range(64)
    ]
    alone = max(map(len, partition(configs, SHAPE, CLASSES)))
    torch.set_num_threads(2)
    assert max(map(len, partition(configs, SHAPE, CLASSES))) == 2 * alone


# ---------------------------------------------------------------------------------------------- bad input


def test_refuses_other_data() -> None:
    with pytest.raises(InvalidInputError, match="'digits'"):
        train_grid([*members(), small_config(**{"data.name": "digits"})])
    with pytest.raises(InvalidInputError, match=f"n_samples = {N_SAMPLES + 1}"):
        train_grid([small_config(**{"data.n_samples": N_SAMPLES + 1})])


def test_refuses_batch_norm_of_one_sample_before_any_training() -> None:
    calls: list[int] = []
    with pytest.raises(InvalidInputError, match="21 samples in batches of 5"):
        train_grid(
            [*members(), small_config("bn", **{"data.n_samples": 21})],
            progress=lambda done, total: calls.append(done),
        )
    assert calls == []


def test_refuses_stacks_of_nothing() -> None:
    with pytest.raises(InvalidInputError, match="members_at_once=0"):
        train_grid(members(), members_at_once=0)


# ---------------------------------------------------------------------------------------- many processes


def test_two_processes_share_the_runs_and_one_writes(tmp_path: Path) -> None:
    """``torchrun -m training``: the record is that of one process, but for times."""
    root = Path(__file__).parents[2]
    options = "random-labels --n-samples 40 --epochs 2 --width 6 --depths 1 --groups 2 --seeds 2"
    options += " --certified-samples 20 --keep-weights --out"
    launcher = "torch.distributed.run --nproc-per-node 2 --local-addr 127.0.0.1 --rdzv-backend c10d"
    launcher += " --rdzv-endpoint 127.0.0.1:0 -m training"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(root)}
    records = []
    for name, command in (("one", ["training"]), ("two", launcher.split())):
        with open(tmp_path / f"{name}.output", "wb") as output:
            done = subprocess.run(
                [sys.executable, "-m", *command, *options.split(), str(tmp_path / name)],
                cwd=root, env=environment, stdout=output, stderr=output, timeout=150, check=False,
            )  # fmt: skip
        assert done.returncode == 0, (tmp_path / f"{name}.output").read_text()
        assert (tmp_path / f"{name}.output").read_text().count("## Random labels on digits") == 1
        records.append(json.loads((tmp_path / name / "random-labels-digits-40-quick.json").read_text()))
        names = sorted(
            path.name for path in (tmp_path / name / "random-labels-digits-40-quick-weights").iterdir()
        )
        assert len(names) == len(records[-1]["runs"])
    one, two = records
    assert (one["device"]["processes"], two["device"]["processes"]) == (1, 2)
    for a, b in zip(one["runs"], two["runs"], strict=True):
        assert (a["config"], a["epochs"]) == (b["config"], b["epochs"])
