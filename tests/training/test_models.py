"""Nets of Linear and norm, and initial weights that depend on the seed alone."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from lntheory.errors import InvalidInputError  # noqa: E402
from training.config import GROUPED, NORMS, RunConfig  # noqa: E402
from training.models import build, initial_parameters, linear_shapes, mlp, parameter_dtype  # noqa: E402


def config_of(norm: str, depth: int = 2, **fields: object) -> RunConfig:
    groups = 4 if norm in GROUPED else None
    depth = 0 if norm == "linear" else depth
    return RunConfig(norm=norm, num_groups=groups, width=16, depth=depth, **fields)


@pytest.mark.parametrize("norm", NORMS)
def test_layers_are_linear_and_norm_in_turn_and_nothing_else(norm: str) -> None:
    names = [name for name, _ in build(config_of(norm), 5, 3).named_children()]
    assert names == (["readout"] if norm == "linear" else ["linear0", "norm0", "linear1", "norm1", "readout"])


@pytest.mark.parametrize("norm", ["linear", "none"])
def test_without_norms_the_net_is_affine(norm: str) -> None:
    model = build(config_of(norm, precision="64-true"), 5, 3)
    a, b = torch.randn(2, 7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(model(a) + model(b), model(a + b) + model(torch.zeros_like(a)))


@pytest.mark.parametrize("norm", [norm for norm in NORMS if norm not in ("linear", "none")])
def test_with_norms_it_is_not(norm: str) -> None:
    model = build(config_of(norm, precision="64-true"), 5, 3)
    a, b = torch.randn(2, 7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert (model(a) + model(b) - model(a + b) - model(torch.zeros_like(a))).abs().max() > 0.01


def test_layer_norm_layers_are_layer_norm_without_activation() -> None:
    model = build(config_of("ln", depth=1, precision="64-true"), 5, 3)
    x = torch.randn(7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    hidden = x @ model.linear0.weight.T + model.linear0.bias
    centred = hidden - hidden.mean(1, keepdim=True)
    normed = centred / (centred.square().mean(1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(model(x), normed @ model.readout.weight.T + model.readout.bias)


@given(st.integers(0, 2**63 - 1), st.sampled_from(NORMS), st.integers(1, 5))
def test_initial_weights_depend_on_the_seed_alone(seed: int, norm: str, depth: int) -> None:
    config = config_of(norm, depth=depth, seed=seed)
    torch.manual_seed(seed % 1000)  # the global generator must not matter
    model = build(config, 5, 3)
    reference = initial_parameters(RunConfig(norm="ln", width=16, depth=9, seed=seed), 5, 3)
    for name in linear_shapes(5, 16, config.depth, 3):
        if (name, config.depth) != ("readout", 0):  # a single Linear reads the input: another shape
            for part in ("weight", "bias"):
                wanted = reference[f"{name}.{part}"].to(torch.float32)
                assert torch.equal(model.get_parameter(f"{name}.{part}"), wanted)


def test_other_seeds_and_other_layers_start_elsewhere() -> None:
    a = initial_parameters(RunConfig(width=16, depth=3, seed=0), 16, 16)
    b = initial_parameters(RunConfig(width=16, depth=3, seed=1), 16, 16)
    weights = [value for parameters in (a, b) for name, value in parameters.items() if "weight" in name]
    for i, weight in enumerate(weights):
        assert not any(torch.isin(weight, other).any() for other in weights[:i])


def test_float32_weights_are_the_float64_ones_rounded() -> None:
    single, double = (build(config_of("ln", precision=p), 5, 3) for p in ("32-true", "64-true"))
    assert single.readout.weight.dtype == torch.float32
    assert double.readout.weight.dtype == torch.float64
    assert torch.equal(single.readout.weight, double.readout.weight.float())
    assert parameter_dtype(config_of("ln", precision="bf16-mixed")) == torch.float32


def test_initial_weights_fill_torchs_own_range_evenly() -> None:
    parameters = initial_parameters(RunConfig(width=256, depth=2), 64, 10)
    for name, n_in in (("linear0", 64), ("linear1", 256), ("readout", 256)):
        bound = 1 / math.sqrt(n_in)
        weight = parameters[f"{name}.weight"] / bound
        assert weight.abs().max() <= 1
        assert parameters[f"{name}.bias"].abs().max() <= bound
        shares = torch.histc(weight, bins=8, min=-1, max=1) / weight.numel()
        deviation = math.sqrt((1 / 8) * (7 / 8) / weight.numel())
        assert (shares - 1 / 8).abs().max() < 5 * deviation


def test_initial_weights_are_these_for_ever() -> None:
    parameters = initial_parameters(RunConfig(width=2, depth=1, seed=7), 1, 1)
    assert {name: value.flatten().tolist() for name, value in parameters.items()} == {
        "linear0.weight": [0.5402819020069483, -0.7761455113646314],
        "linear0.bias": [-0.6218045334057449, -0.6800894768818997],
        "readout.weight": [0.1769117054637106, 0.5617451444929409],
        "readout.bias": [0.3898784420969407],
    }


def test_affine_and_eps_reach_the_norms() -> None:
    plain = build(dataclasses.replace(config_of("ln"), affine=False, norm_eps=0.25), 5, 3)
    assert {name.split(".")[0] for name, _ in plain.named_parameters()} == {"linear0", "linear1", "readout"}
    assert plain.norm0.eps == plain.norm1.eps == 0.25
    affine = build(config_of("ln"), 5, 3)
    assert torch.equal(affine.norm0.weight, torch.ones(16))
    assert torch.equal(affine.norm0.bias, torch.zeros(16))


def test_bad_nets_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="has depth 0"):
        mlp("linear", 5, 16, 1, 3)
    with pytest.raises(InvalidInputError, match="has depth 0"):
        mlp("ln", 5, 16, 0, 3)
    with pytest.raises(InvalidInputError, match=r"3.*16|16.*3"):
        mlp("ln-g", 5, 16, 1, 3, num_groups=3)
    with pytest.raises(InvalidInputError, match="what"):
        mlp("what", 5, 16, 1, 3)
