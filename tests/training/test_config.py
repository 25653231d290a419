"""Configs: validated, one hash each, and grids that are what they say."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory.errors import FileFormatError, InvalidInputError
from training.config import GROUPED, NORMS, OPTIMIZERS, PRECISIONS, PRESETS, RunConfig


@st.composite
def run_configs(draw: st.DrawFn) -> RunConfig:
    norm = draw(st.sampled_from(NORMS))
    num_groups = draw(st.integers(1, 8)) if norm in GROUPED else None
    return RunConfig(
        data=draw(st.sampled_from(["digits", "mnist"])),
        data_root=draw(st.none() | st.text(min_size=1)),
        n_samples=draw(st.none() | st.integers(1, 10**6)),
        label_seed=draw(st.none() | st.integers(0, 2**63 - 1)),
        norm=norm,
        num_groups=num_groups,
        width=(num_groups or 1) * draw(st.integers(1, 32)),
        depth=0 if norm == "linear" else draw(st.integers(1, 9)),
        affine=draw(st.booleans()),
        optimizer=draw(st.sampled_from(OPTIMIZERS)),
        lr=draw(st.floats(1e-300, 1e300)),
        seed=draw(st.integers(0, 2**63 - 1)),
        precision=draw(st.sampled_from(PRECISIONS)),
    )


@given(run_configs())
def test_json_gives_the_same_config(config: RunConfig) -> None:
    again = RunConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert again.sha256 == config.sha256


@given(run_configs(), run_configs())
def test_equal_hash_is_equal_config_up_to_the_place_of_files(a: RunConfig, b: RunConfig) -> None:
    same = dataclasses.replace(a, data_root=None) == dataclasses.replace(b, data_root=None)
    assert (a.sha256 == b.sha256) == same


@pytest.mark.parametrize(
    ("name", "other"),
    [
        *{
            "data": "mnist",
            "n_samples": 5,
            "label_seed": 1,
            "width": 128,
            "depth": 2,
            "norm": "rms",
            "norm_eps": 0.0,
        }.items(),
        *{
            "affine": False,
            "optimizer": "sgd",
            "lr": 0.1,
            "momentum": 0.0,
            "betas": (0.5, 0.9),
            "lr_step": 3,
        }.items(),
        *{"lr_gamma": 0.1, "batch_size": 256, "epochs": 2, "seed": 1, "precision": "64-true"}.items(),
    ],
)
def test_every_field_but_the_place_of_files_changes_the_hash(name: str, other: object) -> None:
    assert dataclasses.replace(RunConfig(), **{name: other}).sha256 != RunConfig().sha256
    assert dataclasses.replace(RunConfig(), data_root="there").sha256 == RunConfig().sha256


def test_numpy_numbers_and_whole_floats_are_the_same_config() -> None:
    config = RunConfig(lr=np.float64(1), width=np.int64(64), seed=np.int32(3), norm_eps=0, betas=(0, 0))
    assert config.sha256 == RunConfig(lr=1, width=64, seed=3, norm_eps=0.0, betas=(0.0, 0.0)).sha256
    assert type(config.lr) is float
    assert type(config.width) is int


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"width": 0}, "width is 0"),
        ({"width": 2.0}, "width is 2.0"),
        ({"depth": True}, "depth is True"),
        ({"epochs": 0}, "epochs is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": None}, "seed is None"),
        ({"label_seed": 2**63}, "label_seed is 9223372036854775808"),
        ({"n_samples": 0}, "n_samples is 0"),
        ({"lr": 0}, "lr is 0"),
        ({"lr": float("nan")}, "lr is nan"),
        ({"lr": float("inf")}, "lr is inf"),
        ({"lr": "0.1"}, "lr is '0.1'"),
        ({"norm_eps": -1e-9}, "norm_eps is -1e-09"),
        ({"momentum": 1}, "momentum is 1"),
        ({"betas": (0.9,)}, "betas is"),
        ({"betas": (0.9, 1.0)}, r"betas\[1\] is 1"),
        ({"norm": "layernorm"}, "norm is 'layernorm'; choose one of linear, none, ln"),
        ({"optimizer": "lamb"}, "optimizer is 'lamb'"),
        ({"precision": "16-mixed"}, "precision is '16-mixed'"),
        ({"precision": ["32-true"]}, "precision is"),
        ({"data": ""}, "data is ''"),
        ({"data_root": 3}, "data_root is 3"),
        ({"affine": 1}, "affine is 1"),
        ({"norm": "linear", "depth": 1}, "'linear' is the net of depth 0"),
        ({"norm": "ln", "depth": 0}, "'linear' is the net of depth 0"),
        ({"norm": "ln", "num_groups": 4}, "num_groups = 4: the norms with groups"),
        ({"norm": "ln-g"}, "num_groups = None: the norms with groups"),
        ({"norm": "ln-g", "num_groups": 3, "width": 64}, "num_groups = 3 does not divide width = 64"),
    ],
)
def test_errors_name_the_field_and_the_value(fields: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        RunConfig(**fields)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda fields: [fields], "a JSON object"),
        (lambda fields: {k: v for k, v in fields.items() if k != "lr"}, "without the field 'lr'"),
        (lambda fields: {**fields, "dropout": 0.5}, "unknown field 'dropout'"),
        (lambda fields: {**fields, "lr": None}, "lr is None"),
        (lambda fields: {**fields, "betas": "ab"}, "betas is 'ab'"),
        (lambda fields: {**fields, "norm": {}}, "norm is {}"),
    ],
)
def test_a_config_that_is_none_is_refused(change: object, said: str) -> None:
    with pytest.raises(FileFormatError, match=said):
        RunConfig.from_dict(change(RunConfig().to_dict()))


@given(st.integers(0, 500), st.integers(1, 30))
def test_learning_rate_halves_every_few_epochs(epoch: int, lr_step: int) -> None:
    config = RunConfig(lr=3.0, lr_step=lr_step, lr_gamma=0.5)
    assert config.learning_rate(epoch) == 3.0 / 2 ** (epoch // lr_step)


@pytest.mark.parametrize("name", ["quick", "paper"])
def test_a_grid_has_every_run_once(name: str) -> None:
    grid = PRESETS[name]
    configs = grid.configs()
    assert len({config.sha256 for config in configs}) == len(configs)
    linear = [config for config in configs if config.norm == "linear"]
    each = len(grid.batch_sizes) * len(grid.seeds)
    assert len(linear) == each * sum(len(rates) for _, rates in grid.linear_rates)
    assert {config.optimizer for config in linear} == {"sgd", "adam"}
    tried = sum(len(rates) for _, rates in grid.net_rates)
    assert len(configs) - len(linear) == each * tried * len(grid.nets) * len(grid.depths)
    for part, rates in ((linear, grid.linear_rates), ([c for c in configs if c.depth], grid.net_rates)):
        assert {(c.optimizer, c.lr) for c in part} == {(name, lr) for name, own in rates for lr in own}


def test_the_papers_preset_is_the_papers() -> None:
    configs = PRESETS["paper"].configs()
    assert {config.batch_size for config in configs} == {128, 256}
    assert {
        (c.width, c.epochs, c.lr_step, c.lr_gamma, c.momentum, c.betas, c.label_seed) for c in configs
    } == {(256, 150, 20, 0.5, 0.1, (0.9, 0.999), 0)}
    assert {("ln-g", 32), ("ln-g", 128), ("ln", None), ("bn", None)} <= {
        (c.norm, c.num_groups) for c in configs
    }


def test_configs_and_results_do_not_need_torch() -> None:
    code = "import sys, training.config, training.result; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=100, check=False).returncode == 0
