"""Norm layers against the float64 and exact functions, torch's own layers, and the faults that users met."""

from __future__ import annotations

import copy
import doctest
import io
import itertools
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402

import lntheory  # noqa: E402
from lntheory import exact  # noqa: E402
from lntheory.errors import InvalidInputError  # noqa: E402
from lntheory.nn import list_norms, make_norm, norms  # noqa: E402
from tests import tolerances  # noqa: E402

torch.set_num_threads(1)

GROUPED = ("ln-g", "ln-g-position", "gn", "rms-g")
OURS = ("ln", "ln-position", "in", "rms", *GROUPED)
CASES = [(kind, dim) for kind in OURS for dim in (0, 1, 2, 3) if kind != "in" or dim]
SHAPES = {0: (5,), 1: (6,), 2: (3, 2), 3: (2, 1, 3)}
"""Leading shape of vectors, positions of the others."""


def make(kind: str, num_features: int = 16, num_groups: int = 2, **options: Any) -> Any:
    return make_norm(kind, num_features, num_groups=num_groups if kind in GROUPED else None, **options)


def batch(dim: int, num_features: int = 16, seed: int = 0, dtype: Any = None) -> Tensor:
    """Four samples; features are told apart by their means and scales."""
    generator = torch.Generator().manual_seed(seed)
    shape = (4, num_features, *SHAPES[dim]) if dim else (4, *SHAPES[0], num_features)
    x = torch.randn(shape, generator=generator, dtype=torch.float64)
    column = (-1, *(1,) * dim)
    scale = torch.linspace(0.5, 2.0, num_features, dtype=torch.float64).view(column)
    return (x * scale + scale).to(dtype or torch.float32)


def groups(layer: Any, x: np.ndarray) -> tuple[np.ndarray, Any]:
    """Numbers that share statistics along the last axis, by the table of kinds; and the way back."""
    if layer.dim == 0 or layer.per_position:
        rows = np.moveaxis(x, 1, -1) if layer.dim else x
        shape = rows.shape
        pooled = rows.reshape(*shape[:-1], layer.num_groups, layer.group_size)
        return pooled, lambda y: np.moveaxis(y.reshape(shape), -1, 1) if layer.dim else y.reshape(shape)
    return x.reshape(len(x), layer.num_groups, -1), lambda y: y.reshape(x.shape)


def check(layer: Any, x: Tensor, result: Tensor | None = None) -> None:
    """Every output is within the table's tolerance of the float64 function."""
    result = layer(x) if result is None else result
    assert result.shape == x.shape
    pooled, back = groups(layer, x.detach().double().numpy())
    function = lntheory.layer_norm if layer.centred else lntheory.rms_norm
    y = function(pooled, eps=layer.eps)
    largest = np.abs(pooled).max(axis=-1, keepdims=True)
    centre = pooled.mean(axis=-1, keepdims=True) if layer.centred else 0.0
    sigma = np.sqrt(((pooled - centre) ** 2).mean(axis=-1, keepdims=True) + layer.eps)
    computing = tolerances.UNIT["float64" if x.dtype == torch.float64 else "float32"]
    bound = tolerances.TORCH_NORM * computing * (1 + largest / sigma) * (1 + np.abs(y).max())
    bound = back(np.broadcast_to(bound, y.shape))
    expected = back(y)
    column = (-1, *(1,) * layer.dim)
    if layer.weight is not None:
        weight = layer.weight.detach().double().numpy().reshape(column)
        expected, bound = expected * weight, bound * np.abs(weight)
    if layer.bias is not None:
        expected = expected + layer.bias.detach().double().numpy().reshape(column)
    unit = tolerances.UNIT[str(result.dtype).removeprefix("torch.")]
    bound = bound + tolerances.TORCH_AFFINE * unit * np.abs(expected).max()
    worst = np.abs(result.detach().double().numpy() - expected) / bound
    assert worst.max() <= 1, f"{layer} is off by {worst.max()} of its tolerance"


def agree(one: Tensor, other: Tensor) -> bool:
    """Equal but for roundings."""
    assert (one.shape, one.dtype) == (other.shape, other.dtype)
    unit = tolerances.UNIT[str(one.dtype).removeprefix("torch.")]
    return bool((one - other).abs().max() <= tolerances.TORCH_REORDERED * unit * other.abs().max())


def perturb(layer: Any) -> Any:
    """Parameters as after some training."""
    generator = torch.Generator().manual_seed(1)
    for parameter in layer.parameters():
        with torch.no_grad():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter += noise.to(parameter.dtype)
    return layer


# Values.


@given(
    st.sampled_from(CASES),
    st.integers(0, 2**32 - 1),
    st.sampled_from([(16, 2), (16, 1), (16, 4), (18, 6), (6, 3), (5, 1), (4, 4)]),
    st.sampled_from([1e-5, 1e-12, 1.0, 0.0]),
    st.sampled_from([0.0, 3.0, 2000.0]),
    st.sampled_from([torch.float64, torch.float32, torch.float16, torch.bfloat16]),
    st.booleans(),
    st.sampled_from(["contiguous", "last", "strided"]),
)
def test_equal_to_the_float64_functions(
    case: tuple[str, int],
    seed: int,
    sizes: tuple[int, int],
    eps: float,
    shift: float,
    dtype: Any,
    affine: bool,
    order: str,
) -> None:
    kind, dim = case
    layer = make(kind, *sizes, dim=dim, eps=eps, affine=affine, dtype=dtype)
    x = (batch(dim, sizes[0], seed, torch.float64) + shift).to(dtype)
    if order == "last":
        x = x.movedim(1, -1).contiguous().movedim(-1, 1)
    elif order == "strided":
        x = x.repeat_interleave(2, dim=0)[::2].transpose(0, -1).contiguous().transpose(0, -1)
    pooled, _ = groups(layer, x.double().numpy())
    if eps == 0 and (pooled == pooled[..., :1]).all(axis=-1).any():
        return  # the function refuses these; see the faults below
    check(perturb(layer), x)


@pytest.mark.parametrize("eps", [0.0, 1e-5])
@pytest.mark.parametrize("kind", ["ln", "ln-g", "rms"])
def test_equal_to_the_exact_functions(kind: str, eps: float) -> None:
    x = batch(0, dtype=torch.float32)[0] + 100
    layer = make(kind, eps=eps, affine=False)
    function = {"ln": exact.layer_norm, "rms": exact.rms_norm, "ln-g": exact.group_layer_norm}[kind]
    balls = function(x.double().numpy(), eps=eps, **({"num_groups": 2} if kind == "ln-g" else {}))
    for dtype in (torch.float64, torch.float32):
        unit = tolerances.UNIT[str(dtype).removeprefix("torch.")]
        largest = float(x.abs().max())
        bound = tolerances.TORCH_NORM * unit * (1 + largest / 0.25) * 5  # sigma > 1/4, outputs below 4
        for computed, ball in zip(layer(x.to(dtype)).double().flatten().tolist(), balls.flat, strict=True):
            assert abs(ball - computed) < bound


def test_the_error_measure_can_fail() -> None:
    """Torch's group_norm of channels_last images, which squares before it centres."""
    layer = make("gn", dim=2, affine=False)
    x = (batch(2) + 2000).contiguous(memory_format=torch.channels_last)
    with pytest.raises(AssertionError, match="tolerance"):
        check(layer, x, nn.functional.group_norm(x, 2))
    double = batch(2, dtype=torch.float64)
    with pytest.raises(AssertionError, match="tolerance"):
        check(layer, double, make("gn", dim=2, affine=False, eps=2e-5)(double))
    with pytest.raises(AssertionError, match="tolerance"):
        check(layer, double, make("gn", num_groups=4, dim=2, affine=False)(double))


@pytest.mark.parametrize(
    ("ours", "theirs", "dim"),
    [
        (make("ln"), nn.LayerNorm(16), 0),
        (make("rms"), nn.RMSNorm(16, eps=1e-5), 0),
        (make("gn", dim=2), nn.GroupNorm(2, 16), 2),
        (make("ln-g", dim=1), nn.GroupNorm(2, 16), 1),
        (make("ln", dim=2), nn.GroupNorm(1, 16), 2),
        (make("in", dim=2), nn.InstanceNorm2d(16, affine=True), 2),
        (make("in", dim=3), nn.InstanceNorm3d(16, affine=True), 3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_state_dicts_of_torch_are_ours(ours: Any, theirs: Any, dim: int) -> None:
    ours, theirs = copy.deepcopy(ours), perturb(copy.deepcopy(theirs))
    ours.load_state_dict(theirs.state_dict(), strict=True)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    x = batch(dim)
    check(ours, x)
    check(ours, x, theirs(x))


# What torch does with a module.


@pytest.mark.parametrize("eps", [1e-3, 0.0])
@pytest.mark.parametrize(("kind", "dim"), [case for case in CASES if case[1] in (0, 2)])
def test_gradients_of_first_and_second_order(kind: str, dim: int, eps: float) -> None:
    for num_features, num_groups in ((4, 2), (16, 2)) if kind in GROUPED else ((4, 1),):
        layer = perturb(make(kind, num_features, num_groups, dim=dim, eps=eps, dtype=torch.float64))
        x = batch(dim, num_features, dtype=torch.float64)[:2]
        x = (x[:, :1] if dim == 0 else x).clone(memory_format=torch.contiguous_format).requires_grad_()
        arguments = (x, *layer.parameters())

        def function(x: Tensor, *parameters: Tensor, layer: Any = layer) -> Any:
            state = dict(zip(("weight", "bias"), parameters, strict=False))
            return torch.func.functional_call(layer, state, (x,))

        fast = num_features > 4
        assert torch.autograd.gradcheck(function, arguments, fast_mode=fast)
        assert torch.autograd.gradgradcheck(function, arguments, fast_mode=True)


def test_gradients_of_images_in_any_order() -> None:
    layer = perturb(make("gn", dim=2, dtype=torch.float64))
    x = batch(2, dtype=torch.float64)
    seed = torch.randn(x.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    gradients = []
    for memory_format in (torch.contiguous_format, torch.channels_last):
        argument = x.clone(memory_format=memory_format).requires_grad_()
        y = layer(argument)
        assert y.is_contiguous(memory_format=memory_format)
        gradients.append(torch.autograd.grad(y, (argument, *layer.parameters()), seed))
    for one, other in zip(*gradients, strict=True):
        assert agree(one, other)


@pytest.mark.parametrize("order", ["contiguous", "last"])
@pytest.mark.parametrize(("kind", "dim"), [case for case in CASES if case[1] in (0, 2)])
def test_compiled_in_one_graph(kind: str, dim: int, order: str) -> None:
    torch._dynamo.reset()
    layer = perturb(make(kind, dim=dim))
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    x = batch(dim)
    if order == "last" and dim:
        x = x.contiguous(memory_format=torch.channels_last)
    elif order == "last":
        layer.eps = 0.0
    x.requires_grad_()
    y = compiled(x)
    check(layer, x, y)
    (gradient,) = torch.autograd.grad(y.sin().sum(), x)
    (expected,) = torch.autograd.grad(layer(x).sin().sum(), x)
    assert agree(gradient, expected)


@pytest.mark.slow
def test_compiled_by_the_default_backend() -> None:
    torch._dynamo.reset()
    layers = [perturb(make("ln-g")), perturb(make("ln-g", num_groups=4)), perturb(make("gn", dim=2))]
    inputs = [batch(0), batch(0), batch(2)]

    def model(*inputs: Tensor) -> list[Any]:
        return [layer(x) for layer, x in zip(layers, inputs, strict=True)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the compiler, about itself
        try:
            outputs = torch.compile(model, fullgraph=True)(*inputs)
        except torch._inductor.exc.InductorError as error:
            pytest.skip(f"no working C++ compiler: {error}")
    for layer, x, y in zip(layers, inputs, outputs, strict=True):
        check(layer, x, y)


@pytest.mark.parametrize(("kind", "dim"), [case for case in CASES if case[1] in (0, 2)])
def test_exported_with_any_batch_size(kind: str, dim: int) -> None:
    layer = perturb(make(kind, dim=dim)).eval()
    size = torch.export.Dim("batch", min=2, max=4096)
    program = torch.export.export(layer, (batch(dim),), dynamic_shapes=({0: size},))
    x = torch.cat([batch(dim, seed=seed) for seed in (1, 2, 3)])
    check(layer, x, program.module()(x))


@pytest.mark.parametrize(("kind", "dim"), CASES)
def test_many_members_by_vmap(kind: str, dim: int) -> None:
    members = [perturb(make(kind, dim=dim)) for _ in range(3)]
    for k, member in enumerate(members):
        with torch.no_grad():
            member.weight += k
    parameters, buffers = torch.func.stack_module_state(members)
    x = torch.stack([batch(dim, seed=seed) for seed in range(3)])

    def one(parameters: Any, buffers: Any, x: Tensor) -> Any:
        return torch.func.functional_call(members[0], (parameters, buffers), (x,))

    for member, sample, y in zip(members, x, torch.vmap(one)(parameters, buffers, x), strict=True):
        check(member, sample, y)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("kind", "dim"), [case for case in CASES if case[1] in (0, 2)])
def test_autocast_types_are_those_of_torch(kind: str, dim: int, dtype: Any) -> None:
    layer = perturb(make(kind, dim=dim))
    x = batch(dim)
    with torch.autocast("cpu", dtype=dtype):
        assert nn.LayerNorm(16)(batch(0).to(dtype)).dtype == dtype
        for argument in (x, x.to(dtype)):
            y = layer(argument)
            assert y.dtype == argument.dtype
            check(layer, argument, y)
        assert torch.autograd.grad(layer(x.to(dtype)).sum(), layer.weight)[0].dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("kind", "dim"), CASES)
def test_half_is_float32_rounded_once(kind: str, dim: int, dtype: Any) -> None:
    layer = perturb(make(kind, dim=dim)).to(dtype)
    x = batch(dim).to(dtype)
    wide = copy.deepcopy(layer).float()
    assert torch.equal(layer(x), wide(x.float()).to(dtype))


@pytest.mark.parametrize(("kind", "dim"), CASES)
def test_copies_pickles_and_saved_states(kind: str, dim: int) -> None:
    layer = perturb(make(kind, dim=dim))
    x = batch(dim)
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    loaded = make(kind, dim=dim)
    loaded.load_state_dict(torch.load(file, weights_only=True))
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), loaded):
        assert torch.equal(other(x), layer(x))
        assert repr(other) == repr(layer)
        assert other.weight is not layer.weight


@pytest.mark.parametrize(("kind", "dim"), CASES)
def test_devices_types_and_names_of_parameters(kind: str, dim: int) -> None:
    layer = make(kind, dim=dim, device="meta", dtype=torch.float64)
    names = {"weight"} if kind.startswith("rms") else {"weight", "bias"}
    assert {name for name, _ in layer.named_parameters()} == names
    for parameter in layer.parameters():
        assert (parameter.device.type, parameter.dtype) == ("meta", torch.float64)
        assert parameter.shape == (16,)
    y = layer(torch.empty((2, 16, *SHAPES[dim]) if dim else (2, 16), device="meta", dtype=torch.float64))
    assert y.device.type == "meta"
    layer.to_empty(device="cpu").reset_parameters()
    check(layer, batch(dim, dtype=torch.float64))
    assert not list(make(kind, dim=dim, affine=False).parameters())


def test_without_bias() -> None:
    for layer in (norms.LayerNorm(16, bias=False), norms.GroupNorm(16, num_groups=2, dim=2, bias=False)):
        assert list(layer.state_dict()) == ["weight"]
        assert "bias=False" in repr(layer)
        check(perturb(layer), batch(layer.dim))


def test_repr_tells_the_arguments() -> None:
    assert repr(make("ln-g", 256, 32)) == (
        "GroupLayerNorm(256, num_groups=32, dim=0, eps=1e-05, affine=True, bias=True)"
    )
    assert repr(make("rms", 8, affine=False)) == "RMSNorm(8, dim=0, eps=1e-05, affine=False)"
    assert repr(make("in", 8, dim=2)) == "InstanceNorm(8, dim=2, eps=1e-05, affine=True, bias=True)"


# Faults that users met elsewhere.


@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(("kind", "dim"), [case for case in CASES if case[1] in (0, 2)])
def test_rows_far_from_zero(kind: str, dim: int, order: Any) -> None:
    """randn(5, 4) + 2000 and its kin: row mean near 0, variance near 1."""
    torch.manual_seed(0)
    shapes = [(5, 4, 3, 3), (5, 4, 1, 1)] if dim else [(5, 4)]
    for shape in shapes:
        x = torch.randn(shape) + 2000
        check(make(kind, 4, dim=dim), x.contiguous(memory_format=order) if dim else x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("kind", "dim"), [case for case in CASES if not case[0].startswith("rms")])
def test_constant_rows_give_exact_zeros(kind: str, dim: int, dtype: Any) -> None:
    for eps, num_groups in itertools.product((1e-5, 1e-12, 1e-50, 0.0), (4, 60)):
        layer = make(kind, 240, num_groups, dim=dim, eps=eps, dtype=dtype)
        for value in (1234.0, 0.1, 0.0):
            x = torch.full((2, 240, *SHAPES[dim]) if dim else (2, 240), value, dtype=dtype)
            for argument in (x, x.movedim(1, -1).contiguous().movedim(-1, 1)):
                argument.requires_grad_()
                y = layer(argument)
                assert torch.equal(y, torch.zeros_like(y)), (eps, num_groups, value)
                weight = torch.linspace(-1, 1, 240, dtype=dtype).view(-1, *(1,) * dim)
                (gradient,) = torch.autograd.grad((y * weight).sum(), argument)
                assert gradient.isfinite().all() or (dtype == torch.float16 and eps == 1e-12)  # of size 1e6
                assert eps >= 1e-12 or not gradient.any()


@pytest.mark.parametrize("eps", [1e-5, 1e-12, 0.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("kind", "dim"), CASES)
def test_half_zeros_are_no_nan_and_large_squares_do_not_overflow(
    kind: str, dim: int, dtype: Any, eps: float
) -> None:
    layer = make(kind, dim=dim, eps=eps, dtype=dtype)
    x = batch(dim, dtype=torch.float64)
    assert torch.equal(layer(torch.zeros_like(x, dtype=dtype)), torch.zeros_like(x, dtype=dtype))
    check(layer, (x * 8000).to(dtype))


def test_constant_rows_of_rms_norms_are_not_degenerate() -> None:
    for kind, dim in (("rms", 0), ("rms-g", 0), ("rms", 2), ("rms-g", 2)):
        x = torch.full((2, 16, 3, 3) if dim else (2, 16), -4.0)
        assert torch.equal(make(kind, eps=0.0, dim=dim)(x), torch.full_like(x, -1.0))


def test_nan_and_infinity_are_not_hidden() -> None:
    for eps in (0.0, 1e-5):
        layer = make("ln", 4, eps=eps)
        for bad in (float("nan"), float("inf")):
            assert layer(torch.tensor([1.0, 2.0, bad, 3.0])).isnan().any()
            assert layer(torch.full((4,), bad)).isnan().all()


@pytest.mark.parametrize(("num_features", "number"), [(6, 5), (4, 0), (4, -1), (4, 8), (4, 2.0), (4, True)])
@pytest.mark.parametrize("name", ["num_groups", "group_size"])
@pytest.mark.parametrize("kind", GROUPED)
def test_group_errors_at_construction_name_both_numbers(
    kind: str, num_features: int, number: Any, name: str
) -> None:
    with pytest.raises(ValueError, match=rf"{name}={number} .*num_features={num_features}"):
        make_norm(kind, num_features, **{name: number})


@pytest.mark.parametrize("kind", GROUPED)
def test_exactly_one_of_number_and_size_of_groups(kind: str) -> None:
    for options in ({}, {"num_groups": 2, "group_size": 2}):
        with pytest.raises(
            InvalidInputError, match="exactly one of num_groups and group_size for 4 features"
        ):
            make_norm(kind, 4, **options)
    one, other = make_norm(kind, 12, num_groups=3), make_norm(kind, 12, group_size=np.int64(4))
    assert repr(one) == repr(other)
    assert one.group_size == other.group_size == 4


def test_groups_of_one_give_exact_zeros() -> None:
    torch.manual_seed(0)
    x = torch.randn(7, 27)
    for eps in (1e-5, 0.0):
        for layer in (make("ln-g", 27, 27, eps=eps), make("gn", 27, 27, eps=eps, dim=2)):
            y = layer(x.view(7, 27, *(1,) * layer.dim))
            assert not y.any()
    image = torch.randn(2, 8, 3, 3)  # over an image they are instance normalization
    assert agree(make("gn", 8, 8, dim=2)(image), nn.InstanceNorm2d(8)(image))
    assert agree(make("in", 8, dim=2)(image), nn.InstanceNorm2d(8)(image))


def test_groups_of_two_give_signs() -> None:
    torch.manual_seed(0)
    y = make("ln-g", 8, 4, eps=0.0, affine=False, dtype=torch.float64)(torch.randn(100, 8).double())
    np.testing.assert_allclose(y.abs().numpy(), 1.0, rtol=tolerances.TORCH_NORM * tolerances.U)


def test_layer_norm_of_images_pools_everything_and_position_pools_channels() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 8, 2, 2, dtype=torch.float64)
    everything, position = (make(kind, 8, dim=2, dtype=torch.float64)(x) for kind in ("ln", "ln-position"))
    assert agree(everything, nn.LayerNorm([8, 2, 2]).double()(x))
    assert agree(everything, nn.GroupNorm(1, 8).double()(x))
    assert agree(position, nn.LayerNorm(8).double()(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2))
    assert not agree(everything, position)
    assert position.is_contiguous(memory_format=torch.channels_last)
    vector = torch.randn(5, 8)
    assert torch.equal(make("ln", 8)(vector), make("ln-position", 8)(vector))
    for dim, argument in ((0, vector), (2, x.float())):
        assert torch.equal(make("gn", 8, dim=dim)(argument), make("ln-g", 8, dim=dim)(argument))


@pytest.mark.parametrize("eps", [1e-5, 0.0])
@pytest.mark.parametrize("num_groups", [1, 2, 8])
@pytest.mark.parametrize(("kind", "dim"), CASES)
def test_empty_batches(kind: str, dim: int, num_groups: int, eps: float) -> None:
    layer = make(kind, 16, num_groups, dim=dim, eps=eps)
    shapes = [(0, 16, *SHAPES[dim]), (2, 16, *(0 for _ in SHAPES[dim]))] if dim else [(0, 16), (0, 3, 16)]
    for shape in shapes:
        x = torch.zeros(shape, requires_grad=True)
        y = layer(x)
        assert y.shape == shape
        y.sum().backward()
        assert x.grad is not None
        assert layer.weight.grad.isfinite().all()


@pytest.mark.parametrize(("kind", "dim"), CASES)
def test_wrong_feature_counts_name_expected_and_found(kind: str, dim: int) -> None:
    layer = make(kind, dim=dim)
    wrong = torch.zeros((2, 15, *SHAPES[dim]) if dim else (2, 15))
    name = type(layer).__name__
    with pytest.raises(
        InvalidInputError, match=rf"{name} expected 16 features .*found 15 features in \(2, 15"
    ):
        layer(wrong)
    with pytest.raises(InvalidInputError, match=r"found \d axes"):
        layer(torch.zeros(2, 16) if dim else torch.tensor(1.0))
    with pytest.raises(InvalidInputError, match=r"torch\.int64; pass real numbers"):
        layer(torch.zeros(wrong.shape, dtype=torch.int64))


# The factory.


@pytest.mark.parametrize(
    ("kind", "layer"),
    [
        ("ln", norms.LayerNorm),
        ("ln-position", norms.LayerNormPosition),
        ("ln-g", norms.GroupLayerNorm),
        ("ln-g-position", norms.GroupLayerNormPosition),
        ("gn", norms.GroupNorm),
        ("in", norms.InstanceNorm),
        ("rms", norms.RMSNorm),
        ("rms-g", norms.GroupRMSNorm),
        ("bn", nn.BatchNorm2d),
        ("none", nn.Identity),
    ],
)
def test_factory_makes_every_kind(kind: str, layer: Any) -> None:
    made = make(kind, dim=2, eps=1e-3, affine=False)
    assert type(made) is layer
    assert kind == "none" or made.eps == 1e-3
    assert not list(made.parameters())
    assert made(batch(2)).shape == batch(2).shape


def test_every_kind_is_tested() -> None:
    assert set(list_norms()) == {*OURS, "bn", "none"}


def test_factory_errors() -> None:
    with pytest.raises(InvalidInputError, match="'LN-G' is not known; choose one of ln, ln-position"):
        make_norm("LN-G", 8, num_groups=2)
    with pytest.raises(InvalidInputError, match=r"\['ln'\] is not known"):
        make_norm(["ln"], 8)
    for kind in ("ln", "ln-position", "in", "rms", "bn", "none"):
        with pytest.raises(InvalidInputError, match="num_groups=2 and group_size=None mean nothing"):
            make_norm(kind, 8, num_groups=2, dim=2)
    for kind in list_norms():
        for number in (0, -3, 2.5, "8", True):
            with pytest.raises(InvalidInputError, match="num_features="):
                make(kind, number, dim=2)
        for dim in (-1, 4, "2", True, None):
            with pytest.raises(InvalidInputError, match="dim="):
                make(kind, dim=dim)
        for eps in (-1e-5, float("nan"), "x"):
            with pytest.raises(InvalidInputError, match="eps"):
                make(kind, dim=2, eps=eps)
    with pytest.raises(InvalidInputError, match="dim=0: instance normalization"):
        make_norm("in", 8)


def test_batch_norm_of_sequences_has_features_last() -> None:
    layer, theirs = make_norm("bn", 16), nn.BatchNorm1d(16)
    x = batch(0)
    assert agree(layer(x), theirs(x.flatten(0, 1)).view(x.shape))
    assert agree(layer.running_var, theirs.running_var)
    assert list(layer.state_dict()) == list(theirs.state_dict())
    square = batch(0, seed=1)[:, :4].repeat(1, 4, 1)  # torch's own takes the second axis for the features
    assert agree(layer(square), theirs(square.flatten(0, 1)).view(square.shape))
    with pytest.raises(InvalidInputError, match=r"expected 16 features .*found 15"):
        layer(torch.zeros(2, 15))


# The page of the site; without torch; with a GPU.


def test_the_page_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "torch.md").read_text(encoding="utf-8")
    section = page.split("\n## Layers\n")[1].split("\n## ")[0]
    test = doctest.DocTestParser().get_doctest(section, {}, "docs/torch.md", None, 0)
    assert len(test.examples) >= 9
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_torch_is_asked_for_only_by_this_part() -> None:
    program = """if True:
        import sys
        sys.modules["torch"] = None
        import lntheory
        lntheory.layer_norm([1.0, 2.0])
        from lntheory.errors import LNTheoryError
        try:
            import lntheory.nn
        except ImportError as error:
            assert isinstance(error, LNTheoryError)
            print(error)
        """
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "lntheory.nn needs torch; pip install 'lntheory[torch]'\n"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("kind", "dim"), CASES)
def test_on_a_gpu(kind: str, dim: int, dtype: Any) -> None:
    layer = perturb(make(kind, dim=dim, dtype=dtype))
    x = batch(dim, dtype=dtype)
    y = copy.deepcopy(layer).cuda()(x.cuda())
    assert y.dtype == dtype
    check(layer, x, y.cpu())
    constant = torch.full_like(x, 1234.0).cuda()
    plain = make(kind, dim=dim, dtype=dtype, affine=False)
    if plain.centred:
        assert not plain(constant).any()
