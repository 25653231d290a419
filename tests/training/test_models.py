"""Nets of Linear and norm, and initial weights that depend on the seed alone."""

from __future__ import annotations

import math
import sys
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from lntheory.errors import InvalidInputError  # noqa: E402
from lntheory.nn import registry  # noqa: E402
from tests.training.small import NORMS  # noqa: E402
from training.models import MLP, MODELS, build, read_parameters  # noqa: E402
from training.models.mlp import initial_parameters, linear_shapes  # noqa: E402
from training.models.parameters import GROUPED, Parameters  # noqa: E402
from training.models.parameters import NORMS as NAMES  # noqa: E402


def net_of(norm: str, depth: int = 2, **fields: object) -> MLP:
    groups = 4 if norm in GROUPED else None
    depth = 0 if norm == "linear" else depth
    return MLP(norm=norm, num_groups=groups, width=16, depth=depth, **fields)


def built(norm: str, n_in: int = 5, n_classes: int = 3, seed: int = 0, **fields: object) -> torch.nn.Module:
    return build(net_of(norm, **fields), (n_in,), n_classes, seed)


@pytest.mark.parametrize("norm", NORMS)
def test_layers_are_linear_and_norm_in_turn_and_nothing_else(norm: str) -> None:
    names = [name for name, _ in built(norm).named_children()]
    assert names == (["readout"] if norm == "linear" else ["linear0", "norm0", "linear1", "norm1", "readout"])


@pytest.mark.parametrize("norm", ["linear", "none"])
def test_without_norms_the_net_is_affine(norm: str) -> None:
    model = built(norm)
    a, b = torch.randn(2, 7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(model(a) + model(b), model(a + b) + model(torch.zeros_like(a)))


@pytest.mark.parametrize("norm", [norm for norm in NORMS if norm not in ("linear", "none")])
def test_with_norms_it_is_not(norm: str) -> None:
    model = built(norm)
    a, b = torch.randn(2, 7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert (model(a) + model(b) - model(a + b) - model(torch.zeros_like(a))).abs().max() > 0.01


def test_layer_norm_layers_are_layer_norm_without_activation() -> None:
    model = built("ln", depth=1)
    x = torch.randn(7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    hidden = x @ model.linear0.weight.T + model.linear0.bias
    centred = hidden - hidden.mean(1, keepdim=True)
    normed = centred / (centred.square().mean(1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(model(x), normed @ model.readout.weight.T + model.readout.bias)


@given(st.integers(0, 2**63 - 1), st.sampled_from(NORMS), st.integers(1, 5))
def test_initial_weights_depend_on_the_seed_alone(seed: int, norm: str, depth: int) -> None:
    torch.manual_seed(seed % 1000)  # the global generator must not matter
    net = net_of(norm, depth=depth)
    model = build(net, (5,), 3, seed)
    reference = initial_parameters(MLP(norm="ln", width=16, depth=9), 5, 3, seed)
    for name in linear_shapes(net, 5, 3):
        if (name, net.depth) != ("readout", 0):  # a single Linear reads the input: another shape
            for part in ("weight", "bias"):
                assert torch.equal(model.get_parameter(f"{name}.{part}"), reference[f"{name}.{part}"])


def test_other_seeds_and_other_layers_start_elsewhere() -> None:
    a, b = (initial_parameters(MLP(width=16, depth=3), 16, 16, seed) for seed in (0, 1))
    weights = [value for parameters in (a, b) for name, value in parameters.items() if "weight" in name]
    for i, weight in enumerate(weights):
        assert not any(torch.isin(weight, other).any() for other in weights[:i])


def test_initial_weights_fill_torchs_own_range_evenly() -> None:
    parameters = initial_parameters(MLP(width=256, depth=2), 64, 10, 0)
    for name, n_in in (("linear0", 64), ("linear1", 256), ("readout", 256)):
        bound = 1 / math.sqrt(n_in)
        weight = parameters[f"{name}.weight"] / bound
        assert weight.abs().max() <= 1
        assert parameters[f"{name}.bias"].abs().max() <= bound
        shares = torch.histc(weight, bins=8, min=-1, max=1) / weight.numel()
        deviation = math.sqrt((1 / 8) * (7 / 8) / weight.numel())
        assert (shares - 1 / 8).abs().max() < 5 * deviation


def test_initial_weights_are_these_for_ever() -> None:
    parameters = initial_parameters(MLP(width=2, depth=1), 1, 1, 7)
    assert {name: value.flatten().tolist() for name, value in parameters.items()} == {
        "linear0.weight": [0.5402819020069483, -0.7761455113646314],
        "linear0.bias": [-0.6218045334057449, -0.6800894768818997],
        "readout.weight": [0.1769117054637106, 0.5617451444929409],
        "readout.bias": [0.3898784420969407],
    }


def test_affine_and_eps_reach_the_norms() -> None:
    plain = built("ln", affine=False, eps=0.25)
    assert {name.split(".")[0] for name, _ in plain.named_parameters()} == {"linear0", "linear1", "readout"}
    assert plain.norm0.eps == plain.norm1.eps == 0.25
    affine = built("ln")
    assert torch.equal(affine.norm0.weight, torch.ones(16, dtype=torch.float64))
    assert torch.equal(affine.norm0.bias, torch.zeros(16, dtype=torch.float64))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"norm": "linear", "depth": 1}, "'linear' is the net of depth 0"),
        ({"norm": "ln", "depth": 0}, "'linear' is the net of depth 0"),
        ({"norm": "ln", "num_groups": 4}, "num_groups = 4"),
        ({"norm": "ln-g"}, "num_groups = None"),
        ({"norm": "ln-g", "num_groups": 4, "group_size": 4}, "group_size = 4"),
        ({"norm": "ln-g", "num_groups": 3, "width": 16}, "num_groups = 3 does not divide 16"),
        ({"norm": "ln-g", "group_size": 3, "width": 16}, "group_size = 3 does not divide 16"),
        ({"norm": "what"}, "norm is 'what'; choose one of ln"),
        ({"norm": "in"}, "of images"),
        ({"norm": "ln", "width": 0}, "width is 0"),
        ({"norm": "ln", "dropout": 1}, "dropout"),
    ],
)
def test_bad_nets_are_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        MLP(**fields)


def test_groups_by_size_are_groups_by_number() -> None:
    by_size, by_number = MLP(norm="ln-g", group_size=4, width=16), MLP(norm="ln-g", num_groups=4, width=16)
    x = torch.randn(7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.equal(build(by_size, (5,), 3, 0)(x), build(by_number, (5,), 3, 0)(x))


def test_a_model_more_is_a_file_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for ``training/models/twice.py``."""

    class Twice(Parameters):
        factor: int = 2

    file = types.ModuleType("training.models.twice")
    file.build = lambda parameters, shape, n_classes, seed: (parameters.factor, shape, n_classes, seed)
    monkeypatch.setitem(sys.modules, file.__name__, file)
    monkeypatch.setitem(MODELS, "twice", Twice)
    assert build(read_parameters({"name": "twice", "factor": 3}), (1, 2), 10, 5) == (3, (1, 2), 10, 5)
    with pytest.raises(InvalidInputError, match="choose mlp, twice"):
        read_parameters({"name": "thrice"})


def test_norms_are_those_of_the_register(monkeypatch: pytest.MonkeyPatch) -> None:
    """A norm that somebody adds is known to the models from then on."""
    for name in NAMES:
        assert registry.NORMS[name].grouped == (name in GROUPED)
    entry = registry.NormEntry(lambda size, **_: torch.nn.Tanh(), "a stand-in")
    monkeypatch.setattr(registry, "NORMS", {**registry.NORMS, "mine": entry})
    assert isinstance(built("mine").norm0, torch.nn.Tanh)
