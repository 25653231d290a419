"""The register of norms: names, a newcomer's norm, and what it owes."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from lntheory.errors import InvalidInputError  # noqa: E402
from lntheory.nn import TEMPLATE, list_norms, make_norm, registry, swap_norms  # noqa: E402
from tests.tolerances import LAYER_NORM  # noqa: E402


@pytest.fixture
def registered(monkeypatch):
    """The register with the template's norm, as a newcomer would add it."""
    monkeypatch.setattr(registry, "NORMS", {**registry.NORMS, "abs": TEMPLATE.ENTRY})


def test_every_norm_is_listed_and_made_by_its_name():
    for kind in list_norms():
        groups = {"num_groups": 2} if registry.NORMS[kind].grouped else {}
        assert make_norm(kind, 8, dim=1, **groups)(torch.randn(4, 8, 5)).shape == (4, 8, 5)
    with pytest.raises(InvalidInputError, match="choose one of ln, ln-position"):
        make_norm("abs", 8)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_the_template_is_a_norm(registered, dim):
    x = torch.randn(5, 6, *(3,) * dim, dtype=torch.float64)
    layer = make_norm("abs", 6, dim=dim, eps=0.0, dtype=torch.float64)
    rows = x.reshape(5, -1)
    centred = rows - rows.mean(dim=1, keepdim=True)
    expected = (centred / centred.abs().mean(dim=1, keepdim=True)).reshape(x.shape)
    torch.testing.assert_close(layer(x), expected, rtol=LAYER_NORM, atol=LAYER_NORM)
    assert torch.autograd.gradcheck(layer, x.requires_grad_())


def test_constant_rows_of_the_template_give_zeros_with_zero_gradient(registered):
    x = torch.full((2, 6), 1234.0, requires_grad=True)
    for dtype in (torch.float32, torch.bfloat16):
        y = make_norm("abs", 6, eps=0.0)(x.to(dtype))
        assert not y.any()
        y.sum().backward()
        assert not x.grad.any()


def test_norms_of_a_model_are_swapped_for_the_template(registered):
    model = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6))
    report = swap_norms(model, target="abs")
    assert isinstance(model[1], TEMPLATE.AbsoluteDeviationNorm)
    assert len(report.rows) == 1
