"""Configs: validated, one hash each, schedules by step, and grids that are what they say."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory.errors import FileFormatError, InvalidInputError
from tests.tolerances import MEAN_OF_METRICS
from tests.training.small import NORMS
from training.experiments.random_labels import PRESETS
from training.models import MLP
from training.models.parameters import GROUPED
from training.run.config import Data, RunConfig, Schedule, flat, nested, varied

BASE = RunConfig(data=Data(name="digits"), model=MLP(), epochs=3)


@st.composite
def run_configs(draw: st.DrawFn) -> RunConfig:
    norm = draw(st.sampled_from(NORMS))
    num_groups = draw(st.integers(1, 8)) if norm in GROUPED else None
    length = draw(st.sampled_from(["epochs", "steps"]))
    return RunConfig(
        data=Data(
            name=draw(st.sampled_from(["digits", "mnist"])),
            root=draw(st.none() | st.text(min_size=1)),
            n_samples=draw(st.none() | st.integers(1, 10**6)),
            label_seed=draw(st.none() | st.integers(0, 2**63 - 1)),
        ),
        model=draw(st.none()) or MLP(
            norm=norm,
            num_groups=num_groups,
            width=(num_groups or 1) * draw(st.integers(1, 32)),
            depth=0 if norm == "linear" else draw(st.integers(1, 9)),
            affine=draw(st.booleans()),
        ),
        optimizer={
            "name": draw(st.sampled_from(["sgd", "adam", "adamw"])), "lr": draw(st.floats(1e-300, 1e300)),
        },
        schedule={
            "name": draw(st.sampled_from(["constant", "step", "cosine"])), "warmup": draw(st.integers(0, 9)),
        },
        loss={"label_smoothing": draw(st.sampled_from([0.0, 0.1]))},
        clip_norm=draw(st.none() | st.just(1.0)),
        seed=draw(st.integers(0, 2**63 - 1)),
        precision=draw(st.sampled_from(["32-true", "64-true", "bf16-mixed"])),
        **{length: draw(st.integers(1, 100))},
    )  # fmt: skip


def without_root(config: RunConfig) -> RunConfig:
    return varied(config, {"data.root": None})


@given(run_configs())
def test_json_gives_the_same_config(config: RunConfig) -> None:
    again = RunConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert again.sha256 == config.sha256
    assert nested(flat(config.to_dict())) == config.to_dict()


@given(run_configs(), run_configs())
def test_equal_hash_is_equal_config_up_to_the_place_of_files(a: RunConfig, b: RunConfig) -> None:
    assert (a.sha256 == b.sha256) == (without_root(a) == without_root(b))


@pytest.mark.parametrize(("name", "other"), [
    ("data.name", "mnist"), ("data.n_samples", 5), ("data.label_seed", 1), ("model.width", 128),
    ("model.depth", 2), ("model.norm", "rms"), ("model.eps", 0.0), ("model.affine", False),
    ("optimizer.name", "sgd"), ("optimizer.lr", 0.1), ("optimizer.momentum", 0.0), ("optimizer.eps", 0.1),
    ("optimizer.betas", (0.5, 0.9)), ("optimizer.weight_decay", 0.1), ("schedule.name", "cosine"),
    ("schedule.unit", "steps"), ("schedule.warmup", 3), ("schedule.every", 3), ("schedule.gamma", 0.1),
    ("schedule.floor", 0.1), ("loss.name", "mse"), ("loss.label_smoothing", 0.1), ("batch_size", 256),
    ("accumulation", 2), ("clip_norm", 1.0), ("epochs", 2), ("seed", 1), ("precision", "64-true"),
])  # fmt: skip
def test_every_field_but_the_place_of_files_changes_the_hash(name: str, other: object) -> None:
    assert varied(BASE, {name: other}).sha256 != BASE.sha256
    assert varied(BASE, {"data.root": "there"}).sha256 == BASE.sha256


def test_numpy_numbers_and_whole_floats_are_the_same_config() -> None:
    wanted = {"optimizer.lr": 1, "model.width": 64, "seed": 3, "model.eps": 0, "optimizer.betas": (0, 0)}
    other = {"optimizer.lr": np.float64(1), "model.width": np.int64(64), "seed": np.int32(3),
             "model.eps": 0.0, "optimizer.betas": (0.0, 0.0)}  # fmt: skip
    config = varied(BASE, other)
    assert config.sha256 == varied(BASE, wanted).sha256
    assert type(config.optimizer.lr) is float


@pytest.mark.parametrize(("changes", "words"), [
    ({"model.width": 0}, "width is 0"), ({"model.width": 2.0}, "width is 2.0"),
    ({"model.depth": True}, "depth is True"), ({"epochs": 0}, "epochs is 0"), ({"seed": -1}, "seed is -1"),
    ({"seed": None}, "seed is None"), ({"data.label_seed": 2**63}, "label_seed is 9223372036854775808"),
    ({"data.n_samples": 0}, "n_samples is 0"), ({"optimizer.lr": 0}, "lr is 0"),
    ({"optimizer.lr": math.nan}, "lr is nan"), ({"optimizer.lr": math.inf}, "lr is inf"),
    ({"optimizer.lr": "0.1"}, "lr is '0.1'"), ({"model.eps": -1e-9}, "eps is -1e-09"),
    ({"optimizer.momentum": 1}, "momentum is 1"), ({"optimizer.betas": (0.9,)}, "betas"),
    ({"optimizer.betas": (0.9, 1.0)}, r"betas\[1\] is 1"),
    ({"model.norm": "layernorm"}, "norm is 'layernorm'"),
    ({"optimizer.name": "lamb"}, "name is 'lamb'"), ({"precision": "16-mixed"}, "precision is '16-mixed'"),
    ({"data.name": ""}, "name is ''"), ({"data.root": 3}, "root is 3"), ({"model.affine": 1}, "affine is 1"),
    ({"schedule.name": "inverse-sqrt"}, "warmup is 0"), ({"loss.label_smoothing": 1}, "label_smoothing is 1"),
    ({"clip_norm": 0}, "clip_norm is 0"), ({"accumulation": 0}, "accumulation is 0"),
    ({"steps": 5}, "epochs = 3 and steps = 5"), ({"epochs": None}, "epochs = None and steps = None"),
    ({"model": {"name": "gpt"}}, "choose mlp"), ({"dropout": 1}, "unknown field 'dropout'"),
    ({"optimizer.nesterov": True}, "unknown field 'nesterov'"),
])  # fmt: skip
def test_errors_name_the_field_and_the_value(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        varied(BASE, changes)


@pytest.mark.parametrize(("change", "words"), [
    (lambda fields: [], "is no JSON object"),
    (lambda fields: {**fields, "dropout": 0.5}, "f.json: unknown field 'dropout'"),
    (lambda fields: {**fields, "epochs": None}, "f.json: epochs = None"),
    (lambda fields: {**fields, "optimizer": {"lr": None}}, r"f.json: field optimizer.lr is None"),
    (lambda fields: {**fields, "model": {"name": "mlp", "width": 0}}, "width is 0"),
    (lambda fields: {**fields, "model": 3}, "model is 3"),
])  # fmt: skip
def test_a_config_that_is_none_is_refused(change: Any, words: str) -> None:
    with pytest.raises(FileFormatError, match=words):
        RunConfig.from_dict(change(BASE.to_dict()), "f.json")


# -------------------------------------------------------------------------------------------- schedules


@given(st.integers(0, 500), st.integers(1, 30), st.integers(1, 12))
def test_learning_rate_halves_every_few_epochs(epoch: int, every: int, per_epoch: int) -> None:
    config = varied(
        BASE, {"optimizer.lr": 3.0, "schedule": Schedule(name="step", every=every), "epochs": 501}
    )
    for step in (0, per_epoch - 1):
        assert config.learning_rate(epoch * per_epoch + step, per_epoch) == 3.0 / 2 ** (epoch // every)


@given(st.sampled_from(["constant", "step", "cosine", "inverse-sqrt"]), st.integers(1, 9), st.integers(1, 5),
       st.sampled_from(["steps", "epochs"]))  # fmt: skip
def test_warm_up_rises_in_a_line_and_no_factor_is_above_one(
    name: str, warmup: int, each: int, unit: str
) -> None:
    schedule = Schedule(name=name, warmup=warmup, unit=unit, every=1000)
    length, total = warmup * (each if unit == "epochs" else 1), 100
    factors = [schedule.factor(step, each, total) for step in range(total)]
    assert factors[:length] == [(step + 1) / length for step in range(length)]
    assert all(0 <= factor <= 1 for factor in factors)
    assert factors[length:] == sorted(factors[length:], reverse=True)


def test_the_cosine_ends_at_its_floor() -> None:
    schedule = Schedule(name="cosine", unit="steps", warmup=10, floor=0.25)
    assert schedule.factor(10, 1, 50) == 1.0
    assert schedule.factor(30, 1, 50) == pytest.approx(0.625, abs=MEAN_OF_METRICS)
    assert schedule.factor(50, 1, 50) == 0.25


def test_the_inverse_square_root_is_fairseqs() -> None:
    """Factor updates/warmup up to the warm-up, then (warmup/updates)^(1/2), updates counted from 1."""
    schedule = Schedule(name="inverse-sqrt", unit="steps", warmup=4000)
    assert schedule.factor(3999, 1, 10**6) == 1.0
    assert schedule.factor(15_999, 1, 10**6) == 0.5


def test_length_in_steps_and_epochs() -> None:
    by_steps = varied(BASE, {"epochs": None, "steps": 11})
    assert (by_steps.n_steps(5), by_steps.n_epochs(5)) == (11, 3)
    assert (BASE.n_steps(5), BASE.n_epochs(5)) == (15, 3)


# ------------------------------------------------------------------------------------------------ grids


@pytest.mark.parametrize("name", ["quick", "paper"])
def test_a_grid_has_every_run_once(name: str) -> None:
    preset = PRESETS[name]
    configs = preset.grid.configs()
    assert len({config.sha256 for config in configs}) == len(configs)
    linear = [config for config in configs if config.model.norm == "linear"]
    nets = [config for config in configs if config.model.norm != "linear"]
    each = len(preset.batch_sizes) * len(preset.seeds)
    methods = (len(preset.norms) + len(preset.groups)) * len(preset.depths)
    for part, rates, n in ((linear, preset.linear_rates, 1), (nets, preset.net_rates, methods)):
        assert len(part) == n * each * sum(len(own) for _, own in rates)
        tried = {(name, lr) for name, own in rates for lr in own}
        assert {(c.optimizer.name, c.optimizer.lr) for c in part} == tried


def test_the_papers_preset_is_the_papers() -> None:
    configs = PRESETS["paper"].grid.configs()
    assert {config.batch_size for config in configs} == {128, 256}
    assert {
        (c.model.width, c.epochs, c.schedule.name, c.schedule.unit, c.schedule.every, c.schedule.gamma,
         c.optimizer.momentum, c.optimizer.betas, c.data.label_seed) for c in configs
    } == {(256, 150, "step", "epochs", 20, 0.5, 0.1, (0.9, 0.999), 0)}  # fmt: skip
    assert {("ln-g", 32), ("ln-g", 128), ("ln", None), ("bn", None)} <= {
        (c.model.norm, c.model.num_groups) for c in configs
    }


def test_configs_and_results_do_not_need_torch() -> None:
    code = (
        "import sys, training, training.run.config, training.run.record, training.cli; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=100, check=False).returncode == 0
