"""Norms replaced in models that exist: what is kept, what is left and why, what torch would do behind us."""

import copy
import pickle
import re

import numpy as np
import pytest

from tests import tolerances

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from lntheory.errors import InvalidInputError  # noqa: E402
from lntheory.nn.norms import GroupLayerNorm, GroupLayerNormPosition, GroupNorm  # noqa: E402
from lntheory.nn.recognition import describe  # noqa: E402
from lntheory.nn.registry import make_norm  # noqa: E402
from lntheory.nn.swap import swap_norms  # noqa: E402

torch.set_num_threads(1)


def randomized(model, seed=0):
    """Norms whose weight and bias are told apart from ones and zeros."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model


def small():
    return randomized(
        nn.Sequential(nn.Linear(5, 12), nn.LayerNorm(12), nn.ReLU(), nn.LayerNorm(12), nn.Linear(12, 2))
    )


def by_hand(norm, x, num_groups):
    """weight * LN-G(x) + bias from the definition."""
    groups = x.unflatten(-1, (num_groups, -1))
    centred = groups - groups.mean(-1, keepdim=True)
    y = centred / (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt()
    return y.flatten(-2) * norm.weight + (0 if norm.bias is None else norm.bias)


# ------------------------------------------------------------------------------------- what is kept


def test_parameters_are_the_same_objects_and_an_optimizer_goes_on():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = dict(model.named_parameters())
    report = swap_norms(model, target="ln-g", num_groups=3)
    after = dict(model.named_parameters())
    assert before.keys() == after.keys()
    assert all(after[name] is before[name] for name in before)
    assert [row.names for row in report.replaced] == [("1",), ("3",)]
    assert report.left == ()
    old = model[1].weight.detach().clone()
    model(torch.randn(4, 5)).square().sum().backward()
    optimizer.step()
    assert not torch.equal(old, model[1].weight)


def test_the_swapped_model_computes_the_target():
    model = small().double()
    x = torch.randn(7, 5, dtype=torch.float64)
    h = by_hand(model[1], model[0](x), 4)
    expected = model[4](by_hand(model[3], h.relu(), 4))
    unswapped = model(x)
    swap_norms(model, target="ln-g", num_groups=4)
    torch.testing.assert_close(model(x), expected)
    assert not torch.allclose(model(x), unswapped)  # the twin: no swap, no agreement


def test_one_group_is_the_old_model():
    model = small().double()
    x = torch.randn(7, 5, dtype=torch.float64)
    expected = model(x)
    swap_norms(model, target="ln")
    torch.testing.assert_close(model(x), expected)


def test_mode_type_eps_and_frozen_parameters_are_kept():
    model = nn.Sequential(
        nn.LayerNorm(6, eps=0.5, dtype=torch.float64), nn.LayerNorm(6, dtype=torch.bfloat16)
    )
    model[0].weight.requires_grad_(False)
    model[1].eval()
    swap_norms(model, target="ln-g", group_size=3)
    first, second = model
    assert (first.eps, first.training, second.training) == (0.5, True, False)
    assert (first.weight.dtype, second.bias.dtype) == (torch.float64, torch.bfloat16)
    assert (first.weight.requires_grad, first.bias.requires_grad) == (False, True)
    swap_norms(nn.Sequential(first), GroupLayerNorm, target="ln", eps=0.25)


def test_eps_may_be_given():
    model = small()
    swap_norms(model, target="rms-g", num_groups=2, eps=0.125)
    assert model[1].eps == 0.125


def test_meta_device_is_kept():
    with torch.device("meta"):
        model = nn.Sequential(nn.LayerNorm(6), nn.BatchNorm2d(4))
    swap_norms(model, (nn.LayerNorm, nn.BatchNorm2d), target="bn")
    assert model[0].running_mean.device.type == "meta"
    assert all(parameter.device.type == "meta" for parameter in model.parameters())


def test_no_affine_and_no_bias_stay_so():
    model = nn.Sequential(nn.LayerNorm(6, elementwise_affine=False), nn.LayerNorm(6, bias=False))
    swap_norms(model, target="ln-g", num_groups=2)
    assert list(dict(model.named_parameters())) == ["1.weight"]
    assert torch.isfinite(model(torch.randn(3, 6))).all()


def test_a_shared_module_is_replaced_once():
    norm = nn.LayerNorm(6)
    model = nn.ModuleDict({"a": nn.Sequential(norm, nn.Linear(6, 6)), "b": norm})
    report = swap_norms(model, target="ln-g", num_groups=2)
    assert [row.names for row in report.rows] == [("a.0", "b")]
    assert model["a"][0] is model["b"]
    assert isinstance(model["b"], GroupLayerNorm)


def test_tied_parameters_stay_tied():
    model = nn.Sequential(nn.LayerNorm(6), nn.LayerNorm(6))
    model[1].weight = model[0].weight
    swap_norms(model, target="ln-g", num_groups=2)
    assert model[0].weight is model[1].weight
    assert model[0].bias is not model[1].bias


def test_state_dicts_of_before_load_after():
    model = small()
    saved = copy.deepcopy(model.state_dict())
    swap_norms(model, target="ln-g", num_groups=3)
    assert model.load_state_dict(saved).missing_keys == []


# ------------------------------------------------------------------------------------- what is left


class Shifted(nn.Module):
    """Scales by 1 + weight, as Gemma does."""

    def __init__(self, n):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.zeros(n)), 1e-6

    def forward(self, x):
        return x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt() * (1 + self.weight)


class ChannelsFirst(nn.LayerNorm):
    """A subclass that is no LayerNorm over the last axis."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def hooked():
    norm = nn.LayerNorm(6)
    norm.register_forward_hook(lambda *_: None)
    return norm


def parametrized():
    norm = nn.LayerNorm(6)
    nn.utils.parametrize.register_parametrization(norm, "weight", nn.Identity())
    return norm


def patched():
    norm = nn.LayerNorm(6)
    norm.forward = lambda x: x
    return norm


LEFT = [
    (lambda: nn.LayerNorm(8), "num_groups=3 does not divide num_features=8"),
    (lambda: nn.LayerNorm((2, 6)), r"over 2 axes, \(2, 6\)"),
    (hooked, "hooks"),
    (parametrized, "parametrized"),
    (patched, "forward was replaced"),
    (lambda: ChannelsFirst(6), "did not take rows of 6"),
    (lambda: Shifted(6), "computes neither"),
    (lambda: nn.BatchNorm1d(6), "pass dim=0"),
    (lambda: nn.GroupNorm(2, 6), "pass dim=0"),
    (lambda: nn.LazyBatchNorm1d(), "run one"),
    (lambda: nn.LocalResponseNorm(2), "does not say how many features"),
]


@pytest.mark.parametrize(("make", "why"), LEFT, ids=[why for _, why in LEFT])
def test_what_cannot_be_replaced_is_left_with_the_reason(make, why):
    module = make()
    model = nn.Sequential(module, nn.LayerNorm(6))
    report = swap_norms(model, lambda name, module: name in ("0", "1"), target="ln-g", num_groups=3)
    assert model[0] is module
    assert isinstance(model[1], GroupLayerNorm)
    (left,) = report.left
    assert left.names == ("0",)
    assert re.search(why, left.reason)


def test_strict_is_all_or_nothing():
    model = nn.Sequential(nn.LayerNorm(6), nn.LayerNorm(8))
    modules = list(model)
    with pytest.raises(InvalidInputError, match="1: num_groups=3 does not divide num_features=8"):
        swap_norms(model, target="ln-g", num_groups=3, strict=True)
    assert list(model) == modules
    with pytest.raises(InvalidInputError, match="no module of the source RMSNorm"):
        swap_norms(model, nn.RMSNorm, target="ln", strict=True)
    swap_norms(model, target="ln-g", num_groups=2, strict=True)
    assert all(isinstance(module, GroupLayerNorm) for module in model)


def test_the_model_itself_is_left():
    assert "wrap it" in swap_norms(nn.LayerNorm(4), target="ln").left[0].reason


def test_other_norms_are_told():
    model = nn.Sequential(nn.BatchNorm1d(4), nn.LayerNorm(4))
    report = swap_norms(model, target="rms")
    assert report.rows[0].reason == "not of the source LayerNorm"
    assert report.rows[1].reason == "bias dropped"


def test_what_is_new_or_dropped_is_told():
    model = nn.Sequential(nn.LayerNorm(4))
    (row,) = swap_norms(model, target="none").rows
    assert row.reason == "weight and bias dropped"
    model = nn.Sequential(nn.BatchNorm2d(4), nn.LayerNorm(4))
    rows = swap_norms(model, (nn.BatchNorm2d, nn.LayerNorm), target="ln", copy_affine=False).rows
    assert rows[0].reason == "new parameters, in no optimizer yet: weight, bias; running statistics dropped"


@pytest.mark.parametrize(
    ("kwargs", "match"),
    [
        ({"target": "lng"}, "choose one of ln,"),
        ({"target": "ln", "groups": 3}, r"unknown options \['groups'\]"),
        ({"target": lambda module: None, "num_groups": 3}, "are for kinds"),
        ({"target": 3}, "pass a kind"),
        ({"target": "ln", "source": "LayerNorm"}, "source is 'LayerNorm'"),
        ({"target": "ln", "source": int}, "source is"),
        ({"target": "ln", "source": ()}, "source is"),
    ],
)
def test_nonsense_is_refused_before_anything_happens(kwargs, match):
    model = small()
    modules = list(model)
    with pytest.raises(InvalidInputError, match=match):
        swap_norms(model, **kwargs)
    assert list(model) == modules


def test_an_error_of_a_target_leaves_the_model_untouched():
    model = small()
    modules = list(model)
    made = []

    def target(module):
        made.append(module)
        if len(made) == 1:
            return GroupLayerNorm(12, num_groups=2)
        raise RuntimeError("of the target")

    with pytest.raises(RuntimeError, match="of the target"):
        swap_norms(model, target=target)
    assert list(model) == modules


def test_what_is_no_module_is_no_replacement():
    model = small()
    assert "neither a module nor None" in swap_norms(model, target=lambda module: 3).left[0].reason
    assert "the module itself" in swap_norms(model, target=lambda module: module).left[1].reason


def test_one_replacement_is_not_put_in_two_places():
    """It would tie norms that were apart, with the parameters of one of them lost."""
    model = nn.Sequential(nn.LayerNorm(8), nn.LayerNorm(8))
    weights, same = [norm.weight for norm in model], make_norm("ln-g", 8, num_groups=2)
    report = swap_norms(model, target=lambda module: same)
    assert [row.reason for row in report.left] == [
        "the target returned one module a second time, which would tie two norms: return a new one"
    ]
    assert model[0] is same
    assert [norm.weight for norm in model] == weights


def test_other_parameters_of_a_norm_are_told():
    model = nn.Sequential(nn.LayerNorm(8))
    model[0].gate = nn.Parameter(torch.ones(3))
    assert swap_norms(model, target="ln").rows[0].reason == "other parameters dropped: gate"


@pytest.mark.parametrize("hook", ["register_state_dict_post_hook", "register_load_state_dict_post_hook"])
def test_hooks_of_saving_and_loading_count_too(hook):
    model = nn.Sequential(nn.LayerNorm(8))
    getattr(model[0], hook)(lambda *_: None)
    assert "it has hooks" in swap_norms(model, target="ln").left[0].reason


def test_a_callable_target():
    model = small()
    weight = model[3].weight
    report = swap_norms(
        model, target=lambda module: None if module is model[1] else GroupLayerNorm(12, num_groups=6)
    )
    assert report.left[0].reason == "the target returned None"
    assert model[3].num_groups == 6
    assert model[3].weight is weight


def test_a_callable_target_may_convert_other_conventions():
    old = Shifted(6)
    model = nn.Sequential(old)
    x = torch.randn(3, 6)
    expected = model(x)

    def target(module):
        norm = make_norm("rms", 6, eps=module.eps)
        norm.weight.data += module.weight.data
        return norm

    assert "computes neither" in swap_norms(model, Shifted, target=target).left[0].reason
    swap_norms(model, Shifted, target=target, copy_affine=False)
    assert model[0] is not old
    torch.testing.assert_close(model(x), expected)


def test_the_report_is_a_table():
    text = str(swap_norms(nn.Sequential(nn.LayerNorm(6), nn.LayerNorm(5)), target="ln-g", num_groups=2))
    assert text.splitlines()[0].startswith("| where | before")
    assert "1 of 2 norms replaced, 1 left as they were." in text
    assert "no norms" in str(swap_norms(nn.Linear(2, 2), target="ln"))


# ------------------------------------------------------------------------------------- torch's Transformer


def encoder(norm_first=False, **kwargs):
    layer = nn.TransformerEncoderLayer(
        16, 2, 32, dropout=0.0, batch_first=True, norm_first=norm_first, dtype=torch.float64
    )
    return randomized(nn.TransformerEncoder(layer, 2, **kwargs))


def padding():
    mask = torch.zeros(3, 5, dtype=torch.bool)
    mask[1:, 3:] = True
    return mask


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_evaluation_computes_the_swapped_norms(norm_first, masked):
    model = encoder(norm_first, enable_nested_tensor=not norm_first)
    x = torch.randn(3, 5, 16, dtype=torch.float64)
    mask = padding() if masked else None
    report = swap_norms(model, target="ln-g", num_groups=4, strict=True)
    assert len(report.replaced) == 4
    assert all("fast path" in row.reason for row in report.replaced)
    trained = model(x, src_key_padding_mask=mask)
    model.eval()
    with torch.no_grad():
        evaluated = model(x, src_key_padding_mask=mask)
    keep = torch.ones(3, 5, dtype=torch.bool) if mask is None else ~mask
    torch.testing.assert_close(evaluated[keep], trained.detach()[keep])


def test_without_our_care_evaluation_would_compute_layer_norm():
    """The twin: with the fast path on, torch never calls the swapped norms."""
    model = encoder()
    x = torch.randn(3, 5, 16, dtype=torch.float64)
    swap_norms(model, target="ln-g", num_groups=4)
    right = model(x)
    for layer in model.layers:
        layer.activation_relu_or_gelu = 1
    model.eval()
    with torch.no_grad():
        assert not torch.allclose(model(x), right)


def test_copies_and_pickles_of_a_swapped_layer_leave_the_fast_path_too():
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    swap_norms(layer, target="ln-g", num_groups=4)
    with pytest.warns(UserWarning, match="enable_nested_tensor"):
        model = nn.TransformerEncoder(pickle.loads(pickle.dumps(layer)), 2)
    x = torch.randn(3, 5, 16)
    trained = model(x, src_key_padding_mask=padding())
    with torch.no_grad():
        evaluated = model.eval()(x, src_key_padding_mask=padding())
    torch.testing.assert_close(evaluated[~padding()], trained.detach()[~padding()])


def test_whole_transformer():
    model = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True)
    source, target = torch.randn(2, 4, 16), torch.randn(2, 3, 16)
    before = model(source, target)
    report = swap_norms(model, target="ln-g", num_groups=2, strict=True)
    assert len(report.replaced) == 7  # two and three in the layers, one at the end of each stack
    trained = model(source, target)
    with torch.no_grad():
        torch.testing.assert_close(model.eval()(source, target), trained.detach())
    assert not torch.allclose(before, trained)


# ------------------------------------------------------------------------------------- conv nets


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 6, 3))
        self.norm = nn.BatchNorm2d(6)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(96, 4), nn.BatchNorm1d(4))

    def forward(self, x):
        return self.head(self.norm(self.features(x)))


def test_conv_net():
    model = randomized(ConvNet()).double()
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    h = model.features[0](x)
    report = swap_norms(model, nn.BatchNorm2d, target="ln-g-position", num_groups=2, strict=True)
    assert [row.reason for row in report.replaced] == ["running statistics dropped"] * 2
    assert report.left[0].names == ("head.2",)
    norm = model.features[1]
    assert isinstance(norm, GroupLayerNormPosition)
    assert norm.dim == 2
    expected = by_hand(norm, h.movedim(1, -1), 2).movedim(-1, 1)
    torch.testing.assert_close(norm(h), expected)
    model(x).sum().backward()
    with torch.no_grad():
        swap_norms(model, nn.BatchNorm1d, target="ln-g", num_groups=2, dim=0, strict=True)
        torch.testing.assert_close(model.train()(x), model.eval()(x))  # nothing depends on the batch any more


def test_group_norm_to_and_fro():
    model = randomized(nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(4, 8))).double()
    x = torch.randn(2, 3, 6, 6, dtype=torch.float64)
    expected = model(x)
    swap_norms(model, nn.GroupNorm, target="gn", num_groups=4, dim=2, strict=True)
    assert isinstance(model[1], GroupNorm)
    torch.testing.assert_close(model(x), expected)


# ------------------------------------------------------------------------------------- Hugging Face

TINY = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
TEXT = {"vocab_size": 50, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}


def bert(hf):
    return hf.BertModel(hf.BertConfig(**TINY, **TEXT, max_position_embeddings=16))


def gpt2(hf):
    return hf.GPT2Model(hf.GPT2Config(n_embd=24, n_layer=2, n_head=2, n_positions=16, **TEXT))


def vit(hf):
    return hf.ViTModel(hf.ViTConfig(**TINY, image_size=8, patch_size=4), add_pooling_layer=False)


def llama(hf):
    return hf.LlamaModel(hf.LlamaConfig(**TINY, **TEXT, num_key_value_heads=2))


def llama_norm(hf):
    return hf.models.llama.modeling_llama.LlamaRMSNorm


@pytest.mark.parametrize(
    ("make", "source", "kind", "count"),
    [
        (bert, lambda hf: nn.LayerNorm, "ln-g", 5),
        (gpt2, lambda hf: nn.LayerNorm, "ln-g", 5),
        (vit, lambda hf: nn.LayerNorm, "ln-g", 5),
        (llama, llama_norm, "rms-g", 5),
    ],
)
def test_hugging_face_models(make, source, kind, count):
    hf = pytest.importorskip("transformers")
    hf.logging.set_verbosity_error()
    torch.manual_seed(0)
    model = randomized(make(hf)).eval()
    pictures = make is vit
    inputs = (
        {"pixel_values": torch.randn(2, 3, 8, 8)}
        if pictures
        else {"input_ids": torch.randint(3, 50, (2, 7)), "attention_mask": torch.ones(2, 7, dtype=torch.long)}
    )
    with torch.no_grad():
        before = model(**inputs).last_hidden_state
        one = copy.deepcopy(model)
        swap_norms(one, source(hf), target=kind, num_groups=1, strict=True)
        torch.testing.assert_close(one(**inputs).last_hidden_state, before, **tolerances.UNCHANGED)
        parameters = set(model.parameters())
        report = swap_norms(model, source(hf), target=kind, num_groups=4, strict=True)
        after = model(**inputs).last_hidden_state
    assert len(report.replaced) == count
    assert set(model.parameters()) == parameters
    assert not torch.allclose(after, before, atol=tolerances.CHANGED)
    assert np.isfinite(after.numpy()).all()


def test_gemma_is_not_taken_for_llama():
    hf = pytest.importorskip("transformers")
    gemma = hf.models.gemma.modeling_gemma.GemmaRMSNorm(6)
    with pytest.raises(InvalidInputError, match="neither weight"):
        describe(gemma)
    assert describe(llama_norm(hf)(6)).kind == "rms"
    assert describe(hf.models.t5.modeling_t5.T5LayerNorm(6)).kind == "rms"
