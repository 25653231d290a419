"""The loop: equal to the plainest there is, resumable at any step bit for bit, alike in many processes."""

from __future__ import annotations

import csv
import dataclasses
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import training  # noqa: E402
from lntheory.errors import FileFormatError, InvalidInputError  # noqa: E402
from tests.tolerances import CLIPPED, MEAN_OF_TOKENS, OWN_LOSS, PLAIN_LOOP  # noqa: E402
from tests.training.parallel import OWN, RUNS, STOPPED, own_data, own_net  # noqa: E402
from tests.training.small import (  # noqa: E402
    EPOCHS,
    N_SAMPLES,
    NORMS,
    OPTIMIZERS,
    STEPS,
    small_config,
    small_data,
)  # fmt: skip
from training.engine import checkpoint as checkpoints  # noqa: E402
from training.engine import loop  # noqa: E402
from training.engine.interruption import deferred_interruption  # noqa: E402
from training.engine.samples import TensorSamples, as_splits, epoch_order  # noqa: E402
from training.models import build  # noqa: E402
from training.run.config import RunConfig  # noqa: E402
from training.run.result import RunResult  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def signals_as_python_has_them() -> Iterator[None]:
    """In the background of a shell SIGINT is ignored, and what is ignored stays so."""
    before = (
        signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.signal(signal.SIGTERM, signal.SIG_DFL),
    )
    yield
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGTERM, before[1])


def train(config: RunConfig, **options: Any) -> RunResult:
    return training.train(None, small_data(), config, **{"device": "cpu", **options})


def state(folder: Path) -> dict[str, Any]:
    return checkpoints.load(folder / "last.ckpt")


def trained_in_pieces(config: RunConfig, stops: list[int], folder: Path) -> tuple[RunResult, dict[str, Any]]:
    """Train with a stop after each of `stops` further steps, every piece from the file alone."""
    for stop in stops:
        train(config, folder=folder, stop_after_steps=stop)
    return train(config, folder=folder), state(folder)


def without_times(result: RunResult) -> RunResult:
    epochs = tuple(dataclasses.replace(metrics, seconds=0.0) for metrics in result.epochs)
    return dataclasses.replace(result, epochs=epochs, seconds=0.0, final={})


def same_bits(a: object, b: object) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same_bits(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return isinstance(b, type(a)) and len(a) == len(b) and all(map(same_bits, a, b))
    return a == b


WEIGHTS_AND_MORE = ("model", "optimizer", "step", "diverged")


# --------------------------------------------------------------------------------------------- one loop


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("norm", NORMS)
def test_equals_the_plainest_loop(norm: str, optimizer: str, tmp_path: Path) -> None:
    # No number is torch's default.
    changes = {"name": optimizer, "momentum": 0.3, "betas": (0.8, 0.95), "weight_decay": 0.05, "lr": 0.05}
    config = small_config(norm, precision="64-true", optimizer=changes)
    result = train(config, folder=tmp_path)
    samples = as_splits(small_data(), config, torch.device("cpu")).train
    assert isinstance(samples, TensorSamples)
    X, y = samples.columns
    model = build(config.model, (6,), 3, config.seed)
    own: dict[str, Any] = {"momentum": 0.3} if optimizer == "sgd" else {"betas": (0.8, 0.95)}
    make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[optimizer]
    stepper = make(model.parameters(), lr=0.05, weight_decay=0.05, foreach=False, **own)
    schedule = torch.optim.lr_scheduler.StepLR(stepper, 2, 0.5)
    tolerance = PLAIN_LOOP["sgd" if optimizer == "sgd" else "adam"]
    for epoch in range(EPOCHS):
        rate = schedule.get_last_lr()[0]
        for chosen in epoch_order(config.seed, epoch, N_SAMPLES).split(config.batch_size):
            stepper.zero_grad()
            F.cross_entropy(model(X[chosen]), y[chosen]).backward()
            stepper.step()
        schedule.step()
        model.eval()
        scores, row = model(X).detach(), result.epochs[epoch]
        model.train()
        assert (row.epoch, row.lr) == (epoch + 1, rate)
        assert math.isclose(row.metrics["train_loss"], float(F.cross_entropy(scores, y)), rel_tol=tolerance)
        assert row.metrics["train_accuracy"] == float((scores.argmax(1) == y).double().mean())
    weights = state(tmp_path)["model"]
    assert weights.keys() == model.state_dict().keys()
    for name, value in model.state_dict().items():
        torch.testing.assert_close(weights[name], value, rtol=tolerance, atol=tolerance)


def test_clipping_accumulation_and_smoothing_equal_the_plainest_loop() -> None:
    config = small_config(
        precision="64-true",
        clip_norm=2.0,
        accumulation=3,
        **{"loss.label_smoothing": 0.2, "optimizer.name": "sgd"},
    )
    result = train(config)
    X, y = as_splits(small_data(), config, torch.device("cpu")).train.columns  # type: ignore[attr-defined]
    model = build(config.model, (6,), 3, config.seed)
    stepper = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.1, foreach=False)
    norms = []
    for epoch in range(EPOCHS):
        for group in stepper.param_groups:
            group["lr"] = config.learning_rate(5 * epoch, 5)
        for chosen in epoch_order(config.seed, epoch, N_SAMPLES).split(config.batch_size):
            stepper.zero_grad()
            F.cross_entropy(model(X[chosen]), y[chosen], label_smoothing=0.2).backward()
            norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), 2.0)))
            stepper.step()
    assert min(norms) < 2.0 < max(norms)
    for name, value in model.state_dict().items():  # torch divides by the norm plus 1e-6
        torch.testing.assert_close(result.model.state_dict()[name], value, rtol=0, atol=CLIPPED)


def test_it_learns() -> None:
    result = train(small_config(epochs=150, **{"optimizer.lr": 0.02, "schedule.name": "constant"}))
    assert result.finished
    assert result.accuracy == 1.0
    assert result.epochs[-1].metrics["train_loss"] < 0.1 * result.epochs[0].metrics["train_loss"]
    assert result.seconds > 0
    assert result.final["samples_per_second"] > 0
    assert result.final["peak_memory"] > 2**20


def test_evaluation_in_parts_is_the_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(small_config(precision="64-true"))
    monkeypatch.setattr(loop, "_LEAST_EVALUATED", 4)
    parts = train(small_config(precision="64-true"))
    for a, b in zip(whole.epochs, parts.epochs, strict=True):
        assert a.metrics["train_accuracy"] == b.metrics["train_accuracy"]
        assert math.isclose(a.metrics["train_loss"], b.metrics["train_loss"], rel_tol=PLAIN_LOOP["adam"])


def test_half_precision_trains_and_keeps_its_weights_in_float32(tmp_path: Path) -> None:
    result = train(small_config(precision="bf16-mixed"), folder=tmp_path)
    assert result.finished
    assert {w.dtype for w in state(tmp_path)["model"].values()} == {torch.float32}
    half, single = (r.epochs[0].metrics["train_loss"] for r in (result, train(small_config())))
    assert half != single
    assert math.isclose(half, single, rel_tol=0.1)


def test_the_callers_generator_threads_and_signals_are_put_back(tmp_path: Path) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state(), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    seen = []
    train(
        small_config(epochs=1),
        threads=2,
        folder=tmp_path,
        progress=lambda done, total: seen.append(torch.get_num_threads()),
    )
    assert set(seen) == {2}
    assert torch.get_num_threads() == 1
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before[1:]


def test_progress_counts_steps_through_a_resumed_run(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    for stop in (4, 5, None):
        train(
            small_config(),
            folder=tmp_path,
            stop_after_steps=stop,
            progress=lambda done, total: seen.append((done, total)),
        )
    assert seen == [(done, STEPS) for done in range(1, STEPS + 1)]


def test_a_run_of_so_many_steps_ends_in_the_middle_of_an_epoch() -> None:
    seen: list[int] = []
    config = small_config(epochs=None, steps=12)
    result = train(config, progress=lambda done, total: seen.append(done))
    assert result.finished
    assert seen[-1] == 12
    assert [row.epoch for row in result.epochs] == [1, 2, 3]


# -------------------------------------------------------------------------------------- a net of one's own


class Residual(nn.Module):
    """Two inputs, dropout, and something that is drawn in every forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(4, 8), nn.LayerNorm(8)
        self.dropout, self.last = nn.Dropout(0.3), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        hidden = self.dropout(self.norm(self.first(x))) * scale.unsqueeze(1)
        return self.last(hidden + 0.1 * torch.randn_like(hidden))


class Triples:
    """A map-style dataset with random augmentation: (x, scale, target)."""

    def __init__(self, n: int = 23) -> None:
        generator = torch.Generator().manual_seed(n)
        self.X, self.y = (
            torch.randn(n, 4, generator=generator),
            torch.randint(0, 2, (n,), generator=generator),
        )

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, float, int]:
        return self.X[index] + 0.01 * torch.randn(4), 1.0 + index / 10, int(self.y[index])


def own_config(**changes: Any) -> RunConfig:
    fields: dict[str, Any] = {
        "optimizer": {"name": "adamw", "lr": 0.05},
        "schedule": {"name": "cosine", "unit": "steps", "warmup": 4},
        "batch_size": 5, "accumulation": 2, "clip_norm": 1.0, "epochs": 3, **changes,
    }  # fmt: skip
    return RunConfig(**fields)


def fresh() -> Residual:
    torch.manual_seed(0)
    return Residual()


@settings(max_examples=15)
@given(st.lists(st.integers(0, STEPS + 1), min_size=1, max_size=3))
def test_ones_own_net_stopped_anywhere_resumes_bit_for_bit(stops: list[int]) -> None:
    """Dropout, noise, augmentation, accumulation, clipping, warm-up: in the middle of an epoch, too."""

    def run(folder: Path, **options: Any) -> RunResult:
        torch.randn(3)  # elsewhere numbers are drawn too
        data = (Triples(), Triples(9))
        return training.train(fresh(), data, own_config(), device="cpu", folder=folder, **options)

    with tempfile.TemporaryDirectory() as scratch:
        whole, pieces = Path(scratch, "whole"), Path(scratch, "pieces")
        first = run(whole)
        for stop in stops:
            run(pieces, stop_after_steps=stop)
        second = run(pieces)
        for name in WEIGHTS_AND_MORE:
            assert same_bits(state(whole)[name], state(pieces)[name]), name
        assert without_times(first) == without_times(second)
        assert same_bits(first.model.state_dict(), second.model.state_dict())
        for name in ("best.ckpt", "log.csv"):
            assert (whole / name).exists()
        assert same_bits(checkpoints.load(whole / "best.ckpt")["model"],
                         checkpoints.load(pieces / "best.ckpt")["model"])  # fmt: skip


def test_the_log_and_the_best_checkpoint(tmp_path: Path) -> None:
    result = training.train(
        fresh(), (Triples(), Triples(9)), own_config(epochs=6), device="cpu", folder=tmp_path,
        metrics=["loss", "accuracy", "perplexity"], monitor="test_accuracy",
    )  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
    names = [f"{split}_{name}" for split in ("train", "test") for name in ("loss", "accuracy", "perplexity")]
    assert list(rows[0]) == ["epoch", "step", "lr", *names, "seconds"]
    assert [int(row["step"]) for row in rows] == [5, 10, 15, 20, 25, 30]
    for row, epoch in zip(rows, result.epochs, strict=True):
        assert {name: float(row[name]) for name in names} == epoch.metrics
        assert math.isclose(epoch.metrics["test_perplexity"], math.exp(epoch.metrics["test_loss"]))
    best = max(range(6), key=lambda k: (result.epochs[k].metrics["test_accuracy"], -k))
    assert checkpoints.load(tmp_path / "best.ckpt")["step"] == 5 * (best + 1)
    assert {path.name for path in tmp_path.iterdir()} >= {"last.ckpt", "best.ckpt", "log.csv"}


def test_tensorboard_gets_every_metric_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[str, float, int]] = []

    class SummaryWriter:
        def __init__(self, folder: str, purge_step: int) -> None:
            assert folder == str(tmp_path / "tensorboard")

        def add_scalar(self, name: str, value: float, step: int) -> None:
            written.append((name, value, step))

        def flush(self) -> None:
            pass

    stand_in = types.ModuleType("torch.utils.tensorboard")
    stand_in.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", stand_in)
    result = train(small_config(), folder=tmp_path)
    losses = [(value, step) for name, value, step in written if name == "train_loss"]
    assert losses == [(row.metrics["train_loss"], 5 * row.epoch) for row in result.epochs]


def test_any_loss_and_any_metric() -> None:
    def squared(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return ((outputs - targets) ** 2).mean()

    def largest(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return (outputs - targets).abs().mean()

    X = torch.randn(23, 4, generator=torch.Generator().manual_seed(0))
    y = X @ torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    config = own_config(loss={"name": "mse"}, epochs=40, batch_size=8)
    by_callable, by_name = (
        training.train(nn_linear(), (X, y), config, device="cpu", loss=loss, metrics=["loss", largest])
        for loss in (squared, None)
    )
    assert by_callable.epochs[-1].metrics == pytest.approx(by_name.epochs[-1].metrics, rel=OWN_LOSS)
    assert by_callable.epochs[-1].metrics["train_loss"] < 0.1 * by_callable.epochs[0].metrics["train_loss"]
    assert set(by_callable.epochs[0].metrics) == {"train_loss", "train_largest"}


def nn_linear() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(4, 1)


def test_padding_counts_for_nothing() -> None:
    """The mean is over tokens that are not padding, however they fall into batches and parts."""
    X, y = own_data()
    net = own_net().double()
    with torch.no_grad():
        wanted = float(F.cross_entropy(net(X.double()).flatten(0, 1), y.flatten()))
    still = OWN.replaced(optimizer={"lr": 1e-300}, epochs=1)
    for changes in ({}, {"accumulation": 4}, {"batch_size": 7}):
        result = training.train(own_net(), (X, y), still.replaced(**changes), device="cpu")
        assert result.epochs[0].metrics["train_loss"] == pytest.approx(wanted, rel=MEAN_OF_TOKENS)
    parts = [training.train(own_net(), (X, y), OWN.replaced(accumulation=n), device="cpu") for n in (1, 3)]
    assert parts[0].epochs[-1].metrics == pytest.approx(parts[1].epochs[-1].metrics, rel=PLAIN_LOOP["adam"])


def test_named_models_take_tensors_too() -> None:
    X = torch.randn(20, 1, 2, 3, generator=torch.Generator().manual_seed(0))
    result = training.train("mlp", (X, torch.arange(20) % 4), RunConfig(epochs=1), device="cpu")
    assert result.model.readout.out_features == 4
    with pytest.raises(InvalidInputError, match="choose one of mlp"):
        training.train("gpt", (X, torch.arange(20)), RunConfig(epochs=1))
    with pytest.raises(InvalidInputError, match="model is None"):
        training.train(None, (X, torch.arange(20)), RunConfig(epochs=1))


def test_what_is_asked_for_and_not_there() -> None:
    data = (torch.randn(6, 4), torch.zeros(6, 1))
    config = RunConfig(epochs=1, loss={"name": "mse"})
    with pytest.raises(InvalidInputError, match="monitor is 'test_loss'; choose one of train_loss"):
        training.train(nn_linear(), data, config, device="cpu", monitor="test_loss")
    with pytest.raises(InvalidInputError, match="metric 'bleu'; choose one of loss, accuracy, perplexity"):
        training.train(nn_linear(), data, config, device="cpu", metrics=["bleu"])


# ----------------------------------------------------------------------------------------------- resume


@settings(max_examples=25)
@given(
    st.sampled_from(NORMS),
    st.sampled_from(OPTIMIZERS),
    st.sampled_from(["32-true", "64-true", "bf16-mixed"]),
    st.integers(0, 3),
    st.lists(st.integers(0, STEPS + 1), min_size=1, max_size=3),
)
def test_stopped_anywhere_and_resumed_is_bit_for_bit_the_same(
    norm: str, optimizer: str, precision: str, seed: int, stops: list[int]
) -> None:
    config = small_config(norm, precision=precision, seed=seed, **{"optimizer.name": optimizer})
    with tempfile.TemporaryDirectory() as folder:
        whole, whole_state = trained_in_pieces(config, [], Path(folder, "whole"))
        pieces, pieces_state = trained_in_pieces(config, stops, Path(folder, "pieces"))
    for name in WEIGHTS_AND_MORE:
        assert same_bits(whole_state[name], pieces_state[name]), name
    assert without_times(whole) == without_times(pieces)
    assert whole.finished


def test_the_comparison_of_bits_can_fail(tmp_path: Path) -> None:
    """The test above is no test if two different runs are the same to it."""
    _, one = trained_in_pieces(small_config(seed=0), [], tmp_path / "one")
    _, other = trained_in_pieces(small_config(seed=1), [], tmp_path / "other")
    assert not same_bits(one["model"], other["model"])
    assert not same_bits(one["optimizer"], other["optimizer"])
    last_bit = {name: value.clone() for name, value in one["model"].items()}
    last_bit["readout.bias"][0] = torch.nextafter(last_bit["readout.bias"][0], torch.tensor(9.0))
    assert not same_bits(one["model"], last_bit)


def test_stopping_counts_the_steps_of_the_call_and_ends_epochs_that_are_full(tmp_path: Path) -> None:
    stopped = train(small_config(), folder=tmp_path / "run", stop_after_steps=5)
    assert (len(stopped.epochs), stopped.finished, stopped.accuracy) == (1, False, None)
    assert state(tmp_path / "run")["step"] == 5
    train(small_config(), folder=tmp_path / "run", stop_after_steps=3)
    assert state(tmp_path / "run")["step"] == 8


def test_a_finished_run_is_not_repeated(tmp_path: Path) -> None:
    first = train(small_config(), folder=tmp_path / "run")
    steps: list[int] = []
    again = train(small_config(), folder=tmp_path / "run", progress=lambda done, total: steps.append(done))
    assert again.epochs == first.epochs
    assert steps == []


def test_time_adds_up_over_the_parts(tmp_path: Path) -> None:
    parts = [train(small_config(), folder=tmp_path / "run", stop_after_steps=2).seconds for _ in range(8)]
    assert parts[0] > 0
    assert parts == sorted(parts)


# ----------------------------------------------------------------------------------------- interruption


@pytest.mark.parametrize("at", [1, 7, 10])
@pytest.mark.parametrize(
    ("how", "raised"),
    [
        (lambda: signal.raise_signal(signal.SIGINT), KeyboardInterrupt),
        (lambda: signal.raise_signal(signal.SIGTERM), SystemExit),
        (lambda: (_ for _ in ()).throw(KeyboardInterrupt), KeyboardInterrupt),
    ],
    ids=["ctrl-c", "sigterm", "raised in a callback"],
)
def test_an_interrupted_run_resumes_bit_for_bit(at: int, how: Any, raised: type, tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == at:
            next(iter(how() or ()), None)

    with pytest.raises(raised):
        train(small_config(), folder=tmp_path / "run", progress=interrupt)
    assert state(tmp_path / "run")["step"] == at
    _, resumed = trained_in_pieces(small_config(), [], tmp_path / "run")
    _, whole = trained_in_pieces(small_config(), [], tmp_path / "whole")
    assert all(same_bits(whole[name], resumed[name]) for name in WEIGHTS_AND_MORE)


def test_ctrl_c_in_the_middle_of_a_step_waits_for_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, calls = F.cross_entropy, []

    def interrupted(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return original(*args, **options)

    monkeypatch.setattr(F, "cross_entropy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(small_config(), folder=tmp_path / "run")
    assert state(tmp_path / "run")["step"] == 3


def test_a_second_ctrl_c_does_not_wait() -> None:
    reached = []

    def press_twice_and_go_on() -> None:
        with deferred_interruption():
            signal.raise_signal(signal.SIGINT)
            reached.append("after the first")
            signal.raise_signal(signal.SIGINT)
            reached.append("after the second")

    with pytest.raises(KeyboardInterrupt):
        press_twice_and_go_on()
    assert reached == ["after the first"]


def test_a_signal_after_the_last_look_is_not_lost() -> None:
    with pytest.raises(SystemExit, match="143"), deferred_interruption():
        signal.raise_signal(signal.SIGTERM)


def test_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_interruption() as interruption:
            signal.raise_signal(signal.SIGINT)
            interruption.check()
    finally:
        signal.signal(signal.SIGINT, before)


def test_training_in_a_thread_leaves_signals_alone(tmp_path: Path) -> None:
    results: list[RunResult] = []
    thread = threading.Thread(target=lambda: results.append(train(small_config(), folder=tmp_path / "run")))
    thread.start()
    thread.join(timeout=100)
    assert results[0].finished


# ------------------------------------------------------------------------------------- what goes wrong


def test_divergence_ends_the_run_and_is_told(tmp_path: Path) -> None:
    config = small_config("none", optimizer={"name": "sgd", "lr": 1e30})
    result = train(config, folder=tmp_path / "run")
    assert result.diverged
    assert result.finished
    assert result.accuracy is None
    assert result.epochs == ()
    assert without_times(train(config, folder=tmp_path / "run")) == without_times(result)


def test_epochs_before_the_divergence_are_kept() -> None:
    # 1e12 is too much for the net without norms in float32, but it takes a few steps to see it.
    result = train(
        small_config(
            "none",
            optimizer={"name": "sgd", "lr": 1.5},
            schedule={"name": "step", "every": 1, "gamma": 3.0},
            epochs=60,
        )
    )
    assert result.diverged
    assert 0 < len(result.epochs) < 60
    assert all(math.isfinite(row.metrics["train_loss"]) for row in result.epochs)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"optimizer.lr": 0.1}, "of another run .run 0: optimizer.lr = 0.05, not 0.1."),
        ({"seed": 1, "epochs": 4}, "of another run .run 0: epochs = 3, not 4, seed = 0, not 1."),
    ],
)
def test_the_checkpoint_of_another_config_is_refused(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    train(small_config(), folder=tmp_path / "run", stop_after_steps=2)
    before = (tmp_path / "run" / "last.ckpt").read_bytes()
    with pytest.raises(FileFormatError, match=said):
        train(small_config(**change), folder=tmp_path / "run")
    assert (tmp_path / "run" / "last.ckpt").read_bytes() == before


def test_the_place_of_the_data_may_change(tmp_path: Path) -> None:
    train(small_config(), folder=tmp_path / "run", stop_after_steps=2)
    assert train(small_config(**{"data.root": "moved"}), folder=tmp_path / "run").finished


def test_the_checkpoint_of_other_data_is_refused(tmp_path: Path) -> None:
    train(small_config(), folder=tmp_path / "run", stop_after_steps=2)
    with pytest.raises(FileFormatError, match="of another run \\(data "):
        training.train(None, small_data(seed=1), small_config(), device="cpu", folder=tmp_path / "run")


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.pop("model"),
        lambda state: state["model"].pop("readout.bias"),
        lambda state: state["model"].update({"readout.bias": torch.zeros(7)}),
        lambda state: state.update(optimizer={}),
        lambda state: state.update(optimizer=None),
        lambda state: state.update(step=6),
        lambda state: state.update(step=-1),
        lambda state: state.update(step="two"),
        lambda state: state.update(history=[[1]]),
        lambda state: state.update(history=[]),
        lambda state: state.update(history=[[[1, {}, 0.1, 0.1]] * 4]),
        lambda state: state.update(diverged=[True, False]),
        lambda state: state.update(configs=["{"]),
        lambda state: state.update(configs=["[]"]),
        lambda state: state.update(configs=None),
        lambda state: state.pop("data"),
        lambda state: state.update(metrics=["loss"]),
    ],
)
def test_a_checkpoint_that_holds_no_state_is_refused(change: Any, tmp_path: Path) -> None:
    train(small_config(), folder=tmp_path / "run", stop_after_steps=2)
    changed = state(tmp_path / "run")
    change(changed)
    checkpoints.save(tmp_path / "run" / "last.ckpt", changed)
    with pytest.raises(FileFormatError, match=r"last.ckpt: (no state of this run|checkpoint of another run)"):
        train(small_config(), folder=tmp_path / "run")


def test_a_corrupt_checkpoint_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    train(small_config(), folder=tmp_path / "run", stop_after_steps=2)
    path = tmp_path / "run" / "last.ckpt"
    raw = path.read_bytes()
    path.write_bytes(raw[:-9])
    with pytest.raises(FileFormatError, match="corrupt or cut off"):
        train(small_config(), folder=tmp_path / "run")
    assert path.read_bytes() == raw[:-9]


def test_batch_norm_on_a_batch_of_one_is_refused() -> None:
    with pytest.raises(
        InvalidInputError, match="23 samples in batches of 11, each in 1 parts: a batch of one sample"
    ):
        train(small_config("bn", batch_size=11))
    with pytest.raises(InvalidInputError, match="a batch of one sample"):
        train(small_config("bn", batch_size=1))
    assert train(small_config("ln", batch_size=11)).finished


def test_places_where_no_file_can_be_are_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="file is a file, not a folder"):
        train(small_config(), folder=tmp_path / "file" / "deeper" / "run")


def test_bad_options_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="device is 'abacus'"):
        train(small_config(), device="abacus")
    with pytest.raises(InvalidInputError, match="threads=0"):
        train(small_config(), threads=0)
    with pytest.raises(InvalidInputError, match="stop_after_steps=-1"):
        train(small_config(), stop_after_steps=-1)
    if not torch.cuda.is_available():
        with pytest.raises(InvalidInputError, match="finds no CUDA device"):
            train(small_config(), device="cuda")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_on_a_gpu_it_learns_and_resumes(precision: str, tmp_path: Path) -> None:
    config = small_config(
        precision=precision, epochs=150, **{"optimizer.lr": 0.02, "schedule.name": "constant"}
    )
    train(config, device="cuda", folder=tmp_path / "run", stop_after_steps=33)
    result = train(config, device="cuda", folder=tmp_path / "run")
    assert result.accuracy == 1.0


# ---------------------------------------------------------------------------------------- many processes


def under_torchrun(folder: Path, patience: float = 150) -> None:
    """Run `tests.training.parallel` in two processes that talk over the loopback device."""
    root = Path(__file__).parents[2]
    launcher = "torch.distributed.run --nproc-per-node 2 --local-addr 127.0.0.1 --rdzv-backend c10d"
    launcher += " --rdzv-endpoint 127.0.0.1:0 -m tests.training.parallel"
    command = [sys.executable, "-m", *launcher.split(), str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(root)}
    with open(folder / "output", "wb") as output:  # a pipe would stay open as long as any process hangs
        process = subprocess.Popen(command, cwd=root, env=environment, stdout=output, stderr=output)
    try:
        process.wait(patience)
    finally:
        process.terminate()  # torchrun ends its processes, after half a minute by SIGKILL
        process.wait()
    assert process.returncode == 0, (folder / "output").read_text()


def same_within_roundings(one: Path, other: Path, tolerance: float) -> None:
    ours, theirs = state(one), state(other)
    assert ours["model"].keys() == theirs["model"].keys()
    for name, value in ours["model"].items():
        torch.testing.assert_close(theirs["model"][name], value, rtol=tolerance, atol=tolerance)
    for (_, metrics, lr, _), (_, its, its_lr, _) in zip(
        ours["history"][0], theirs["history"][0], strict=True
    ):
        assert metrics["train_loss"] == pytest.approx(its["train_loss"], rel=tolerance)
        assert (metrics["train_accuracy"], lr) == (its["train_accuracy"], its_lr)


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    """One test, since starting two processes is what takes the time."""
    under_torchrun(tmp_path)
    for name, config in RUNS.items():
        alone, whole, stopped = (tmp_path / f"{name}.{part}" for part in ("alone", "whole", "stopped"))
        tolerance = PLAIN_LOOP[config.optimizer.name]
        assert train(config, folder=alone).finished
        same_within_roundings(alone, whole, tolerance)
        steps: list[int] = []
        train(config, folder=stopped, progress=lambda done, total, steps=steps: steps.append(done))
        assert steps[0] == STOPPED + 1  # one process ends what two began
        same_within_roundings(alone, stopped, tolerance)
    training.train(own_net(), own_data(), OWN, device="cpu", folder=tmp_path / "own.alone")
    same_within_roundings(tmp_path / "own.alone", tmp_path / "own.whole", PLAIN_LOOP["adam"])
    for rank in (0, 1):
        assert "batch norm in 2 processes on cpu" in (tmp_path / f"bn.{rank}").read_text()
