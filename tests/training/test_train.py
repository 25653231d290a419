"""The loop: equal to the plainest there is, resumable at any step bit for bit, alike in many processes."""

from __future__ import annotations

import dataclasses
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
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

from lntheory.errors import FileFormatError, InvalidInputError  # noqa: E402
from tests.tolerances import PLAIN_LOOP  # noqa: E402
from tests.training.parallel import RUNS, STOPPED  # noqa: E402
from tests.training.small import EPOCHS, N_SAMPLES, STEPS, small_config, small_data  # noqa: E402
from training import checkpoint as checkpoints  # noqa: E402
from training import engine  # noqa: E402
from training.batches import batch_slices, epoch_order, prepared, tensors  # noqa: E402
from training.config import NORMS, OPTIMIZERS, RunConfig  # noqa: E402
from training.interruption import deferred_interruption  # noqa: E402
from training.models import build  # noqa: E402
from training.result import RunResult  # noqa: E402


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
    return engine.train(config, small_data(), device="cpu", **options)


def trained_in_pieces(config: RunConfig, stops: list[int], path: Path) -> tuple[RunResult, dict[str, Any]]:
    """Train with a stop after each of `stops` further steps, every piece from the file alone."""
    for stop in stops:
        train(config, checkpoint=path, stop_after_steps=stop)
    return train(config, checkpoint=path), checkpoints.load(path)


def without_times(result: RunResult) -> RunResult:
    epochs = tuple(dataclasses.replace(metrics, seconds=0.0) for metrics in result.epochs)
    return dataclasses.replace(result, epochs=epochs, seconds=0.0)


def same_bits(a: object, b: object) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same_bits(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return isinstance(b, type(a)) and len(a) == len(b) and all(map(same_bits, a, b))
    return a == b


WEIGHTS_AND_MORE = ("model", "optimizer", "generators", "epoch", "step", "diverged")


# --------------------------------------------------------------------------------------------- one loop


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("norm", NORMS)
def test_equals_the_plainest_loop(norm: str, optimizer: str, tmp_path: Path) -> None:
    # No number is torch's default.
    config = small_config(norm, optimizer=optimizer, precision="64-true", momentum=0.3, betas=(0.8, 0.95))
    result = train(config, checkpoint=tmp_path / "run")
    data = prepared(config, small_data())
    X, y = tensors(config, data)
    model = build(config, 6, 3)
    if optimizer == "sgd":
        stepper: torch.optim.Optimizer = torch.optim.SGD(
            model.parameters(), lr=0.05, momentum=0.3, foreach=False
        )
    else:
        stepper = torch.optim.Adam(model.parameters(), lr=0.05, betas=(0.8, 0.95), foreach=False)
    schedule = torch.optim.lr_scheduler.StepLR(stepper, 2, 0.5)
    for epoch in range(EPOCHS):
        rate = schedule.get_last_lr()[0]
        for part in batch_slices(N_SAMPLES, config.batch_size):
            chosen = epoch_order(config.seed, epoch, N_SAMPLES)[part]
            stepper.zero_grad()
            F.cross_entropy(model(X[chosen]), y[chosen]).backward()
            stepper.step()
        schedule.step()
        model.eval()
        scores, metrics = model(X).detach(), result.epochs[epoch]
        model.train()
        assert metrics.epoch == epoch + 1
        assert metrics.lr == rate
        assert math.isclose(metrics.loss, float(F.cross_entropy(scores, y)), rel_tol=PLAIN_LOOP[optimizer])
        assert metrics.accuracy == float((scores.argmax(1) == y).double().mean())
    weights = checkpoints.load(tmp_path / "run")["model"]
    assert weights.keys() == model.state_dict().keys()
    for name, value in model.state_dict().items():
        torch.testing.assert_close(
            weights[name], value, rtol=PLAIN_LOOP[optimizer], atol=PLAIN_LOOP[optimizer]
        )


def test_it_learns() -> None:
    result = train(small_config(epochs=150, lr=0.02, lr_step=150))
    assert result.finished
    assert result.accuracy == 1.0
    assert result.epochs[-1].loss < 0.1 * result.epochs[0].loss
    assert result.seconds > 0


def test_evaluation_in_parts_is_the_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(small_config(precision="64-true"))
    monkeypatch.setattr(engine, "_EVALUATED_AT_ONCE", 4)
    parts = train(small_config(precision="64-true"))
    for a, b in zip(whole.epochs, parts.epochs, strict=True):
        assert a.accuracy == b.accuracy
        assert math.isclose(a.loss, b.loss, rel_tol=PLAIN_LOOP["adam"])


def test_half_precision_trains_and_keeps_its_weights_in_float32(tmp_path: Path) -> None:
    result = train(small_config(precision="bf16-mixed"), checkpoint=tmp_path / "run")
    assert result.finished
    assert {w.dtype for w in checkpoints.load(tmp_path / "run")["model"].values()} == {torch.float32}
    single = train(small_config())
    assert result.epochs[0].loss != single.epochs[0].loss
    assert math.isclose(result.epochs[0].loss, single.epochs[0].loss, rel_tol=0.1)


def test_the_callers_generator_threads_and_signals_are_put_back(tmp_path: Path) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state(), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    seen = []
    train(
        small_config(epochs=1),
        threads=2,
        checkpoint=tmp_path / "run",
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
            checkpoint=tmp_path / "run",
            stop_after_steps=stop,
            progress=lambda done, total: seen.append((done, total)),
        )
    assert seen == [(done, STEPS) for done in range(1, STEPS + 1)]


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
    config = small_config(norm, optimizer=optimizer, precision=precision, seed=seed)
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


@pytest.mark.parametrize("stop", [1, 4, 5, 8])
def test_a_net_that_draws_at_random_resumes_too(
    stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_dropout(config: RunConfig, n_in: int, n_classes: int) -> nn.Module:
        return nn.Sequential(nn.Dropout(0.5), build(config, n_in, n_classes))

    monkeypatch.setattr(engine, "build", with_dropout)
    config = small_config()
    _, whole = trained_in_pieces(config, [], tmp_path / "whole")
    torch.randn(stop)  # elsewhere numbers are drawn too
    _, pieces = trained_in_pieces(config, [stop], tmp_path / "pieces")
    assert all(same_bits(whole[name], pieces[name]) for name in WEIGHTS_AND_MORE)


def test_stopping_counts_the_steps_of_the_call_and_ends_epochs_that_are_full(tmp_path: Path) -> None:
    stopped = train(small_config(), checkpoint=tmp_path / "run", stop_after_steps=5)
    assert (len(stopped.epochs), stopped.finished, stopped.accuracy) == (1, False, None)
    state = checkpoints.load(tmp_path / "run")
    assert (state["epoch"], state["step"]) == (1, 0)
    train(small_config(), checkpoint=tmp_path / "run", stop_after_steps=3)
    state = checkpoints.load(tmp_path / "run")
    assert (state["epoch"], state["step"]) == (1, 3)


def test_a_finished_run_is_not_repeated(tmp_path: Path) -> None:
    first = train(small_config(), checkpoint=tmp_path / "run")
    steps: list[int] = []
    again = train(
        small_config(), checkpoint=tmp_path / "run", progress=lambda done, total: steps.append(done)
    )
    assert again == first
    assert steps == []


def test_time_adds_up_over_the_parts(tmp_path: Path) -> None:
    parts = [train(small_config(), checkpoint=tmp_path / "run", stop_after_steps=2).seconds for _ in range(8)]
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
        train(small_config(), checkpoint=tmp_path / "run", progress=interrupt)
    state = checkpoints.load(tmp_path / "run")
    assert state["epoch"] * 5 + state["step"] == at
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
        train(small_config(), checkpoint=tmp_path / "run")
    assert checkpoints.load(tmp_path / "run")["step"] == 3


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
    thread = threading.Thread(
        target=lambda: results.append(train(small_config(), checkpoint=tmp_path / "run"))
    )
    thread.start()
    thread.join(timeout=100)
    assert results[0].finished


# ------------------------------------------------------------------------------------- what goes wrong


def test_divergence_ends_the_run_and_is_told(tmp_path: Path) -> None:
    config = small_config("none", optimizer="sgd", lr=1e30)
    result = train(config, checkpoint=tmp_path / "run")
    assert result.diverged
    assert result.finished
    assert result.accuracy is None
    assert result.epochs == ()
    assert train(config, checkpoint=tmp_path / "run") == result


def test_epochs_before_the_divergence_are_kept() -> None:
    # 1e12 is too much for the net without norms in float32, but it takes a few steps to see it.
    result = train(small_config("none", optimizer="sgd", lr=1.5, epochs=60, lr_gamma=3.0, lr_step=1))
    assert result.diverged
    assert 0 < len(result.epochs) < 60
    assert all(math.isfinite(metrics.loss) for metrics in result.epochs)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lr": 0.1}, "of another run .lr = 0.05, not 0.1."),
        ({"seed": 1, "epochs": 4}, "of another run .epochs = 3, not 4, seed = 0, not 1."),
    ],
)
def test_the_checkpoint_of_another_config_is_refused(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    train(small_config(), checkpoint=tmp_path / "run", stop_after_steps=2)
    before = (tmp_path / "run").read_bytes()
    with pytest.raises(FileFormatError, match=said):
        train(small_config(**change), checkpoint=tmp_path / "run")
    assert (tmp_path / "run").read_bytes() == before


def test_the_place_of_the_data_may_change(tmp_path: Path) -> None:
    train(small_config(), checkpoint=tmp_path / "run", stop_after_steps=2)
    assert train(small_config(data_root="moved"), checkpoint=tmp_path / "run").finished


def test_the_checkpoint_of_other_data_is_refused(tmp_path: Path) -> None:
    train(small_config(), checkpoint=tmp_path / "run", stop_after_steps=2)
    with pytest.raises(FileFormatError, match="of the same config on other data"):
        engine.train(small_config(), small_data(seed=1), device="cpu", checkpoint=tmp_path / "run")


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.pop("model"),
        lambda state: state["model"].pop("readout.bias"),
        lambda state: state["model"].update({"readout.bias": torch.zeros(7)}),
        lambda state: state.update(optimizer={}),
        lambda state: state.update(optimizer=None),
        lambda state: state.update(generators={"cpu": torch.zeros(3)}),
        lambda state: state.update(epoch=99),
        lambda state: state.update(epoch=1),
        lambda state: state.update(step=6),
        lambda state: state.update(step=-1),
        lambda state: state.update(step="two"),
        lambda state: state.update(metrics=[[1]]),
        lambda state: state.update(config="{"),
        lambda state: state.update(config="[]"),
        lambda state: state.update(config=None),
        lambda state: state.pop("data_sha256"),
    ],
)
def test_a_checkpoint_that_holds_no_state_is_refused(change: Any, tmp_path: Path) -> None:
    train(small_config(), checkpoint=tmp_path / "run", stop_after_steps=2)
    state = checkpoints.load(tmp_path / "run")
    change(state)
    checkpoints.save(tmp_path / "run", state)
    with pytest.raises(FileFormatError, match=r"run: (no state of this run|a checkpoint that names no run)"):
        train(small_config(), checkpoint=tmp_path / "run")


def test_a_corrupt_checkpoint_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    train(small_config(), checkpoint=tmp_path / "run", stop_after_steps=2)
    raw = (tmp_path / "run").read_bytes()
    (tmp_path / "run").write_bytes(raw[:-9])
    with pytest.raises(FileFormatError, match="corrupt or cut off"):
        train(small_config(), checkpoint=tmp_path / "run")
    assert (tmp_path / "run").read_bytes() == raw[:-9]


def test_batch_norm_on_a_batch_of_one_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="23 samples in batches of 11: a batch of one sample"):
        train(small_config("bn", batch_size=11))
    with pytest.raises(InvalidInputError, match="a batch of one sample"):
        train(small_config("bn", batch_size=1))
    assert train(small_config("ln", batch_size=11)).finished


def test_places_where_no_file_can_be_are_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="is a folder; name a file"):
        train(small_config(), checkpoint=tmp_path)
    with pytest.raises(InvalidInputError, match="file is a file, not a folder"):
        train(small_config(), checkpoint=tmp_path / "file" / "deeper" / "run")


def test_bad_options_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="device is 'abacus'"):
        engine.train(small_config(), small_data(), device="abacus")
    with pytest.raises(InvalidInputError, match="threads is 0"):
        train(small_config(), threads=0)
    with pytest.raises(InvalidInputError, match="stop_after_steps is -1"):
        train(small_config(), stop_after_steps=-1)
    if not torch.cuda.is_available():
        with pytest.raises(InvalidInputError, match="finds no CUDA device"):
            engine.train(small_config(), small_data(), device="cuda")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_on_a_gpu_it_learns_and_resumes(precision: str, tmp_path: Path) -> None:
    config = small_config(precision=precision, epochs=150, lr=0.02, lr_step=150)
    engine.train(config, small_data(), device="cuda", checkpoint=tmp_path / "run", stop_after_steps=33)
    result = engine.train(config, small_data(), device="cuda", checkpoint=tmp_path / "run")
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
    ours, theirs = (checkpoints.load(path) for path in (one, other))
    assert ours["model"].keys() == theirs["model"].keys()
    for name, value in ours["model"].items():
        torch.testing.assert_close(theirs["model"][name], value, rtol=tolerance, atol=tolerance)
    for (*_, loss, accuracy, lr, _), (*_, its_loss, its_accuracy, its_lr, _) in zip(
        ours["metrics"], theirs["metrics"], strict=True
    ):
        assert math.isclose(loss, its_loss, rel_tol=tolerance)
        assert (accuracy, lr) == (its_accuracy, its_lr)


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    """One test, since starting two processes is what takes the time."""
    under_torchrun(tmp_path)
    for name, config in RUNS.items():
        alone, whole, stopped = (tmp_path / f"{name}.{part}" for part in ("alone", "whole", "stopped"))
        assert train(config, checkpoint=alone).finished
        same_within_roundings(alone, whole, PLAIN_LOOP[config.optimizer])
        steps: list[int] = []
        train(config, checkpoint=stopped, progress=lambda done, total, steps=steps: steps.append(done))
        assert steps[0] == STOPPED + 1  # one process ends what two began
        same_within_roundings(alone, stopped, PLAIN_LOOP[config.optimizer])
    for rank in (0, 1):
        assert "norm 'bn' in 2 processes on cpu" in (tmp_path / f"bn.{rank}").read_text()
