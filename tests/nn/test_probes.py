"""Probes: the numbers of arrays, layer by layer; verdicts that are never a guess; hooks that go away."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import lntheory  # noqa: E402
from lntheory.errors import InvalidInputError, RankWarning  # noqa: E402
from lntheory.nn import make_norm  # noqa: E402
from lntheory.nn.observation import roundoff_of, select_layers  # noqa: E402
from lntheory.nn.probes import MODEL_INPUT, NonlinearityProbe, SeparabilityProbe  # noqa: E402
from lntheory.nonlinearity import amplification, amplification_bound, hessian_indicator  # noqa: E402
from tests import tolerances  # noqa: E402
from tests.problems import PROBLEMS, exact_xor_net  # noqa: E402
from tests.tolerances import HESSIAN_INDICATOR, SSR_STREAMING  # noqa: E402

torch.set_num_threads(1)

XOR = torch.tensor([[0.0, 0], [1, 1], [0, 1], [1, 0]], dtype=torch.float64)
PARITY = ["even", "even", "odd", "odd"]
READABLE = [p for p in PROBLEMS if p.has_float_reading]


def batches(X, y, size):
    return [(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)]


def probed(model, layers, loader, **options):
    with SeparabilityProbe(model, layers, **options) as probe:
        return probe.run(loader)


def identity():
    return nn.Sequential(nn.Identity())


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def one_shot(X, y):
    """`lntheory.separability` without its warnings: the reports say it in their own words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        return lntheory.separability(X, y)


# ------------------------------------------------------------------------------------------ exact answers


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("problem", READABLE, ids=lambda problem: problem.name)
def test_named_problems(problem, size):
    X = np.array([[float(v) for v in row] for row in problem.X])
    report = probed(identity(), "0", batches(torch.tensor(X), problem.y, size))
    reference, row = report.rows
    known = one_shot(X, problem.y)
    assert (row.n_samples, row.n_features, reference.layer) == (*X.shape, MODEL_INPUT)
    assert abs(row.ssr - known.ssr) <= SSR_STREAMING * max(X.shape)
    assert abs(row.lssr - known.lssr) <= 2 * known.error_bound
    assert reference.lower <= problem.lssr <= reference.upper
    if problem.ssr is not None:
        assert abs(row.ssr - problem.ssr) <= SSR_STREAMING * max(X.shape)
        assert row.lower <= problem.lssr <= row.upper
    assert row.against(reference) != "below"
    assert report.below == ()


def test_a_rank_that_a_cut_off_decides_is_no_verdict():
    """As the doubles that they are the samples have LSSR 0, which rounding hides: nothing is below."""
    problem = next(p for p in PROBLEMS if p.name == "xor-plus-sums-as-doubles")
    X = torch.tensor([[float(v) for v in row] for row in problem.X], dtype=torch.float64)
    report = probed(identity(), "0", [(X, problem.y)])
    assert report.reference.lower == 0
    assert report.reference.lssr == pytest.approx(1)
    assert "cannot be told from 0 (it hangs on the rank" in report.verdict


@given(st.data())
def test_streaming_is_one_shot(data):
    n, d = data.draw(st.integers(4, 40)), data.draw(st.integers(1, 6))
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**31)))
    X = torch.randn(n, d, generator=generator, dtype=dtype) * 10.0 ** data.draw(st.integers(-6, 6))
    X += data.draw(st.sampled_from([0.0, 100.0]))
    y = torch.randint(0, 3, (n,), generator=generator)
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=5)))
    loader = [
        (X[a:b], y[a:b]) for a, b in zip([0, *cuts], [*cuts, n], strict=True)
    ]  # batches of one sample and of many
    if X.std() < 1e-3 * X.abs().max():
        return
    _, row = probed(identity(), "0", loader).rows
    known = one_shot(X.double().numpy(), y.tolist())
    assert abs(row.ssr - known.ssr) <= SSR_STREAMING * max(n, d) * (X.abs().max() / X.std()).item()
    assert abs(row.lssr - known.lssr) <= 2 * known.error_bound + SSR_STREAMING * max(n, d)
    assert row.lower <= known.lssr + known.error_bound
    assert known.lssr <= row.upper + known.error_bound


def test_the_order_of_batches_and_late_classes_do_not_matter():
    X = torch.randn(30, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y = ["a"] * 10 + ["b"] * 10 + ["c"] * 10
    _, once = probed(identity(), "0", [(X, y)]).rows
    _, late = probed(identity(), "0", batches(X, y, 7)).rows
    _, back = probed(identity(), "0", batches(X, y, 7)[::-1]).rows
    for row in (late, back):
        assert abs(row.lssr - once.lssr) <= SSR_STREAMING * 30
        assert abs(row.ssr - once.ssr) <= SSR_STREAMING * 30


def test_far_shifted_features():
    """Centred before anything is squared: in raw moments all digits would be gone."""
    X = torch.randn(50, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    X = (X * 1024).round() / 1024
    y = [i % 2 for i in range(50)]
    _, near = probed(identity(), "0", batches(X, y, 8)).rows
    _, far = probed(identity(), "0", batches(X + 2.0**30, y, 8)).rows
    assert abs(near.ssr - far.ssr) <= SSR_STREAMING * 50
    assert abs(near.lssr - far.lssr) <= SSR_STREAMING * 50


# ------------------------------------------------------------------------------------------ the criterion


def xor_model(norm):
    """The net with integer weights that solves XOR, its LN exchangeable."""
    net = exact_xor_net()
    modules = []
    for layer in net.layers:
        linear = nn.Linear(layer.weight.shape[1], layer.weight.shape[0], dtype=torch.float64)
        linear.weight.data = torch.tensor(np.array(layer.weight, dtype=np.float64))
        linear.bias.data = torch.tensor(np.array(layer.bias, dtype=np.float64))
        modules += [linear, norm()]
    return nn.Sequential(*modules)


def test_ln_goes_below_the_input_on_xor():
    model = xor_model(lambda: make_norm("ln", 3, affine=False, eps=0.0))
    report = probed(model, ["0", "1", "2", "3"], batches(XOR, PARITY, 3))
    assert [row.against(report.reference) for row in report.rows] == [
        "reference",
        "level",
        "below",
        "below",
        "below",
    ]
    assert report.rows[4].ssr <= SSR_STREAMING
    assert report.verdict.startswith(
        "3 of 4 layers go below the LSSR 1 of (input), which no linear map does: "
    )


def test_without_ln_nothing_goes_below():
    """The twin: linear layers, and batch normalization on the whole data, never do."""
    model = xor_model(nn.Identity)
    report = probed(model, ["0", "1", "2", "3"], batches(XOR, PARITY, 3))
    assert report.below == ()
    assert report.verdict.startswith(
        "0 of 4 layers go below the LSSR 1 of (input), which no linear map does."
    )
    batch = xor_model(lambda: nn.BatchNorm1d(3, dtype=torch.float64))
    with SeparabilityProbe(batch, ["1", "3"]) as probe:
        with probe.labelled(PARITY):
            batch(XOR)
        assert probe.report().below == ()


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("bias", [0.0, 10.0])
def test_rounding_is_not_taken_for_separation(depth, bias):
    """A wide linear net in float32: its numbers are separable by their rounding, and that does not count."""
    torch.manual_seed(0)
    X, layers, width = torch.randn(300, 8), [], 8
    for _ in range(depth):
        layers.append(nn.Linear(width, 64))
        layers[-1].bias.data += bias
        width = 64
    y = (X[:, 0] * X[:, 1] > 0).tolist()
    report = probed(nn.Sequential(*layers), [str(i) for i in range(depth)], batches(X, y, 50))
    assert report.below == ()
    assert report.rows[1].lssr < report.reference.lower - 0.05  # taken at its word it would be "below"
    assert report.rows[1].rests_on_rounding
    assert report.rows[1].against(report.reference) == "level"
    assert "partly read from rounding, not counted: 0" in report.verdict


@pytest.mark.parametrize("shift", [0.0, 1e2, 1e3, 1e4, 1e5])
def test_rounding_that_a_shift_left_is_not_taken_for_separation(shift):
    """Batch normalization takes a shift off the samples; the rounding of their first layer stays, larger."""
    torch.manual_seed(0)
    X = torch.randn(300, 2)
    y = (X[:, 0] * X[:, 1] > 0).tolist()
    X += shift
    model = nn.Sequential(
        nn.Linear(2, 64), nn.BatchNorm1d(64, momentum=None), nn.Linear(64, 64), nn.BatchNorm1d(64)
    )
    with torch.no_grad():
        model(X)  # statistics for the evaluation
    for layers in ("0 1 2 3", "1 3"):
        report = probed(model, layers.split(), batches(X, y, 50))
        assert report.below == ()
        last = report.rows[-1]
        assert last.upper > report.reference.lower > 0.7
        assert last.lssr < 0.9  # taken at its word it would be "below"


def test_real_separation_behind_a_shift_is_seen():
    """The twin: LN behind the batch normalization."""
    torch.manual_seed(0)
    X = torch.randn(300, 8)
    y = (X[:, 0] * X[:, 1] > 0).tolist()
    X += 100
    model = nn.Sequential(
        nn.Linear(8, 64), nn.BatchNorm1d(64, momentum=None), make_norm("ln-g", 64, num_groups=16)
    )
    with torch.no_grad():
        model(X)
    report = probed(model, ["0", "1", "2"], batches(X, y, 50))
    assert [row.layer for row in report.below] == ["2"]


def test_real_separation_in_float32_is_seen():
    """The twin: LN in float32 really goes below, in the directions that are no rounding (groups sum to 0)."""
    torch.manual_seed(0)
    X = torch.randn(300, 8)
    y = (X[:, 0] * X[:, 1] > 0).tolist()
    model = nn.Sequential(nn.Linear(8, 64), make_norm("ln-g", 64, num_groups=16))
    report = probed(model, ["0", "1"], batches(X, y, 50))
    assert [row.layer for row in report.below] == ["1"]
    assert report.below[0].rank == 48
    exact = probed(model.double(), ["0", "1"], batches(X.double(), y, 50))
    assert exact.rows[2].against(exact.reference) == "below"
    assert abs(exact.rows[2].upper - report.rows[2].upper) < tolerances.LSSR_UPPER


def test_coarse_activations_leave_it_undecided():
    torch.manual_seed(0)
    X = torch.randn(60, 8, dtype=torch.float64)
    y = (X[:, 0] * X[:, 1] > 0).tolist()
    model = nn.Sequential(nn.Linear(8, 6, dtype=torch.float64), nn.Tanh())
    fine = probed(model, "1", [(X, y)])
    coarse = probed(model, "1", [(X, y)], roundoff=2.0**-8)
    assert coarse.rows[1].upper - coarse.rows[1].lower > 0.1
    assert coarse.rows[1].lower <= fine.rows[1].lssr <= coarse.rows[1].upper
    assert coarse.rows[1].against(coarse.reference) == "undecided"
    assert "Undecided" in coarse.verdict


def test_few_samples_show_nothing():
    X = torch.randn(5, 9, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    report = probed(identity(), "0", [(X, [0, 1, 0, 1, 1])])
    assert (
        "cannot be told from 0 (its samples span as many dimensions as they can; take more" in report.verdict
    )
    wide = nn.Sequential(nn.Linear(2, 20), nn.Tanh()).double()
    report = probed(wide, "1", [(XOR, PARITY)])
    assert "any labels have LSSR 0, in 1 (" in report.verdict


def test_other_samples_are_not_compared():
    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.always, self.sometimes, self.never = nn.Identity(), nn.Identity(), nn.Identity()

        def forward(self, x):
            return self.sometimes(x) if x.sum() > 0 else self.always(x * 0 + 1)

    report = probed(Half(), lambda name, _: name, [(XOR, PARITY), (-XOR, PARITY)])
    found = {row.layer: row.against(report.reference) for row in report.rows}
    assert found == {MODEL_INPUT: "reference", "sometimes": "not compared", "always": "not compared"}
    assert report.rows[2].lssr is None  # all ones
    assert report.not_called == ("never",)
    assert "Not compared" in report.verdict
    assert "Never called: never." in report.verdict


def test_reference_may_be_a_layer_or_none():
    model = xor_model(lambda: make_norm("ln", 3, affine=False, eps=0.0))
    report = probed(model, ["0", "1"], [(XOR, PARITY)], reference="1")
    assert [row.layer for row in report.rows] == ["1", "0"]
    assert report.rows[1].against(report.reference) != "below"
    report = probed(model, ["0"], [(XOR, PARITY)], reference=None)
    assert report.reference is None
    assert report.verdict == "Nothing to compare with: no reference."
    constant = probed(model, ["0"], [(XOR * 0, PARITY)])
    assert constant.verdict.startswith("Nothing to compare with: all samples of (input) coincide.")


# ------------------------------------------------------------------------------------------ layers and shapes


class Tokens(nn.Module):
    """Tuples, dictionaries, a layer called twice, pictures."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 4, dtype=torch.float64)
        self.block = Pair()
        self.norm = nn.LayerNorm(4, dtype=torch.float64)

    def forward(self, ids):
        x, _ = self.block(self.embedding(ids))
        return {"states": self.norm(self.norm(x)), "other": None}


class Pair(nn.Module):
    def forward(self, x):
        return x * x, "extra"


def test_tokens():
    torch.manual_seed(0)
    model, ids = Tokens(), torch.randint(0, 7, (20, 3))
    y = (ids[:, 0] > 2).tolist()
    layers = ["embedding", "block", "norm", ""]
    embedded = model.embedding(ids).detach()
    for reduce, expected in [
        ("flatten", (embedded**2).flatten(1)),
        ("mean", (embedded**2).mean(1)),
        ("first", (embedded**2)[:, 0]),
        (lambda x: x.amax(dim=1), (embedded**2).amax(1)),
    ]:
        report = probed(model, layers, batches(ids, y, 6), reference="embedding", reduce=reduce)
        rows = {row.layer: row for row in report.rows}
        assert list(rows) == ["embedding", "block", "norm", "norm (call 2)", "(model)"]
        assert rows["embedding"].n_features == 12  # the reference is flattened whatever reduce is
        assert rows["block"].n_features == expected.shape[1]
        assert abs(rows["block"].ssr - lntheory.ssr(expected.numpy(), y)) <= SSR_STREAMING * 20
        assert rows["(model)"].ssr == rows["norm (call 2)"].ssr
        assert (
            rows["norm"].ssr != rows["norm (call 2)"].ssr or rows["norm"].lssr != rows["norm (call 2)"].lssr
        )


def test_token_ids_are_no_features():
    with pytest.raises(InvalidInputError, match=r"\(input\) holds torch.int64, which are indices"):
        probed(Tokens(), "norm", [(torch.zeros(2, 3, dtype=torch.long), [0, 1])])


@pytest.mark.parametrize("reduce", ["flatten", "mean", "first"])
def test_pictures(reduce):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 3, 2)).double()
    X = torch.randn(40, 2, 4, 4, dtype=torch.float64)
    y = [i % 3 for i in range(40)]
    h = model(X).detach()
    expected = {"flatten": h.flatten(1), "mean": h.mean((2, 3)), "first": h[:, :, 0, 0]}[reduce]
    reference, row = probed(model, "0", batches(X, y, 9), reduce=reduce).rows
    assert reference.n_features == 32
    assert row.n_features == expected.shape[1]
    assert abs(row.lssr - one_shot(expected.numpy(), y).lssr) <= SSR_STREAMING * 40


def test_uint8_pictures_are_features():
    class Scaled(nn.Module):
        def forward(self, x):
            return x.float() / 255

    X = torch.randint(0, 256, (30, 1, 2, 2), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    reference, row = probed(Scaled(), "", [(X, [i % 2 for i in range(30)])]).rows
    assert row.against(reference) == "level"


def test_one_number_a_sample():
    class Sum(nn.Module):
        def forward(self, x):
            return x.sum(1)

    _, row = probed(Sum(), "", [(XOR, PARITY)]).rows
    assert (row.n_features, row.lssr) == (1, 1.0)


def test_inputs_as_keywords_tuples_and_labels_of_any_type():
    class Two(nn.Module):
        def forward(self, a, b):
            return a + b

    for inputs in ({"a": XOR, "b": XOR}, (XOR, XOR), [XOR, XOR]):
        for labels in (
            PARITY,
            torch.tensor([0, 0, 1, 1]),
            np.array([0, 0, 1, 1]),
            (True, True, False, False),
        ):
            _, row = probed(Two(), "", [(inputs, labels)]).rows
            assert row.lssr == 1.0


def test_layers_by_name_pattern_module_and_predicate():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    by_module = select_layers(model, model[1][1])
    assert by_module == [("1.1", model[1][1])]
    assert select_layers(model, "1.*") == [("1.0", model[1][0]), ("1.1", model[1][1])]
    assert select_layers(model, lambda name, module: isinstance(module, nn.ReLU)) == by_module
    assert [name for name, _ in select_layers(model, ["1.1", model[0], "1.*"])] == ["1.1", "0", "1.0"]


@pytest.mark.parametrize(
    ("layers", "match"),
    [
        ("1.rleu", "no layer '1.rleu'; did you mean"),
        (nn.ReLU(), "is not a module of the model"),
        (lambda *_: False, "No layer was chosen"),
        ([3], "layer 3; pass names"),
    ],
)
def test_layers_that_are_not_there(layers, match):
    with pytest.raises(InvalidInputError, match=match):
        SeparabilityProbe(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU())), layers)


def test_torch_encoder_in_evaluation_is_observed():
    """Hooks take torch's encoder off the fast path that calls no submodules."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dtype=torch.float64)
    model = nn.TransformerEncoder(layer, 2)
    X = torch.randn(12, 3, 8, dtype=torch.float64)
    report = probed(model, "layers.*.norm2", batches(X, [i % 2 for i in range(12)], 5), reduce="mean")
    assert [row.layer for row in report.rows[1:]] == ["layers.0.norm2", "layers.1.norm2"]
    assert report.not_called == ()


def test_hugging_face_outputs():
    hf = pytest.importorskip("transformers")
    hf.logging.set_verbosity_error()
    torch.manual_seed(0)
    config = hf.BertConfig(
        vocab_size=50, hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=8, pad_token_id=0,
    )  # fmt: skip
    model = hf.BertModel(config, add_pooling_layer=False)
    loader = [({"input_ids": torch.randint(1, 50, (16, 3))}, [i % 2 for i in range(16)]) for _ in range(4)]
    report = probed(model, ["encoder.layer.*", ""], loader, reference="embeddings", reduce="first")
    assert report.rows[0].layer == "embeddings"
    assert {"encoder.layer.0", "encoder.layer.1", "(model)"} <= {row.layer for row in report.rows}
    assert report.rows[-1].n_samples == 64


# ------------------------------------------------------------------------------------------ living on a model


def test_hooks_are_gone_after_the_block_and_after_an_error():
    model = xor_model(nn.Identity)
    with SeparabilityProbe(model, ["0", "1"]) as probe:
        assert hooks(model) == 3
    assert hooks(model) == 0
    with pytest.raises(ZeroDivisionError), SeparabilityProbe(model, ["0", "1"]):
        raise ZeroDivisionError
    assert hooks(model) == 0
    with pytest.raises(RuntimeError, match="shapes"), SeparabilityProbe(model, ["0", "1"]) as probe:
        probe.run([(torch.zeros(4, 5, dtype=torch.float64), PARITY)])
    assert hooks(model) == 0
    with NonlinearityProbe(nn.Sequential(nn.LayerNorm(3))) as probe:
        assert hooks(probe.model) == 2
    assert hooks(probe.model) == 0


def test_a_probe_may_be_entered_again_and_then_goes_on():
    probe = SeparabilityProbe(identity(), "0")
    for part in (slice(0, 2), slice(2, 4)):
        with probe:
            report = probe.run([(XOR[part], PARITY[part])])
    assert (report.rows[1].n_samples, report.rows[1].lssr) == (4, 1.0)
    assert probe.report() == report


def test_modes_come_back_and_nothing_of_the_model_changes():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout()).double()
    model[1].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with SeparabilityProbe(model, ["1", "2"]) as probe:
        report = probe.run([(XOR, PARITY)])
    assert report.rows[1].ssr == report.rows[2].ssr  # no dropout in evaluation
    assert [module.training for module in model] == [True, False, True]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_training_goes_on_uncounted():
    model = nn.Sequential(nn.Linear(2, 3)).double()
    with SeparabilityProbe(model, "0") as probe:
        model(XOR).sum().backward()
        with probe.labelled(PARITY):
            model(XOR).sum().backward()
        model(XOR)
    assert probe.report().rows[1].n_samples == 4
    assert model[0].weight.grad is not None


def test_a_failed_batch_adds_nothing():
    model = identity()
    bad = XOR.clone()
    bad[2, 1] = math.nan
    with SeparabilityProbe(model, "0") as probe:
        probe.run([(XOR, PARITY)])
        before = probe.report()
        with pytest.raises(InvalidInputError, match=r"\(input\) gave nan at index \[2, 1\] of a batch"):
            probe.run([(bad, PARITY)])
        with pytest.raises(InvalidInputError, match=r"gave the shape \(4, 2\) for 3 labels"):
            probe.run([(XOR, PARITY[:3])])
        with pytest.raises(InvalidInputError, match="gave 1 features, 2 before"):
            probe.run([(XOR[:, :1], PARITY)])
        with pytest.raises(RuntimeError), probe.labelled(PARITY):
            model(XOR) @ XOR  # (4, 2) times (4, 2)
        assert probe.report() == before


@pytest.mark.parametrize(
    ("use", "match"),
    [
        (lambda p, m: p.run([XOR]), r"pairs \(inputs, labels\)"),
        (lambda p, m: p.run([(XOR, "abcd")]), "y is one string"),
        (lambda p, m: p.run([(XOR, 4)]), "y is 4; pass one label a sample"),
        (lambda p, m: p.run([]), "No batch was seen"),
        (lambda p, m: p.__enter__(), "on the model already"),
    ],
)
def test_misuse(use, match):
    model = identity()
    with SeparabilityProbe(model, "0") as probe, pytest.raises(InvalidInputError, match=match):
        use(probe, model)
    assert hooks(model) == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("roundoff", -1.0), ("roundoff", 0.0), ("roundoff", math.nan), ("roundoff", "a"), ("max_features", "a")],
)
def test_numbers_out_of_range(name, value):
    with pytest.raises(InvalidInputError, match=f"{name}(=| is )"):
        SeparabilityProbe(identity(), "0", **{name: value})


def test_misuse_of_labelled():
    model = identity()
    probe = SeparabilityProbe(model, "0")
    with pytest.raises(InvalidInputError, match="not on the model"):
        probe.run([(XOR, PARITY)])
    with probe:
        with (
            pytest.raises(InvalidInputError, match="do not nest"),
            probe.labelled(PARITY),
            probe.labelled(PARITY),
        ):
            pass
        with pytest.raises(InvalidInputError, match="ran twice"), probe.labelled(PARITY):
            model(model(XOR))
        with (
            pytest.raises(InvalidInputError, match="No layer of the probe was called"),
            probe.labelled(PARITY),
        ):
            pass
        with probe.labelled([]):
            model(XOR[:0])
    with pytest.raises(InvalidInputError, match="No batch was seen"):
        probe.report()
    with pytest.raises(InvalidInputError, match="reduce is 'sum'"):
        SeparabilityProbe(model, "0", reduce="sum")


def test_too_many_features_are_refused_before_their_square_is_kept():
    X = torch.zeros(2, 70_000)
    with pytest.raises(InvalidInputError, match=r"70000 features, more than max_features=4096: 36.5 GiB"):
        probed(identity(), "0", [(X, [0, 1])])


def test_memory_does_not_grow_with_the_data():
    """A generator of many batches: what is kept is a few numbers a feature and class."""

    def stream():
        generator = torch.Generator().manual_seed(0)
        for _ in range(300):
            X = torch.randn(64, 3, generator=generator)
            yield X, (X[:, 0] > 0).tolist()

    done = []
    with SeparabilityProbe(identity(), "0") as probe:
        report = probe.run(stream(), progress=lambda k, total: done.append((k, total)))
    assert report.rows[1].n_samples == 19_200
    assert done[-1] == (300, 0)
    scatter = probe.accumulators["0", 1].scatter
    assert sum(t.numel() for t in scatter.held) < 3 * 1000


def test_types_that_computed_the_activations():
    x = torch.zeros(2)
    assert [roundoff_of(x.to(t)) for t in (torch.float64, torch.float32, torch.bfloat16, torch.uint8)] == [
        2.0**-53,
        2.0**-24,
        2.0**-8,
        2.0**-53,
    ]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert roundoff_of(x) == 2.0**-8
        assert roundoff_of(x.double()) == 2.0**-53


def test_nested_tensors_are_refused():
    nested = torch.nested.nested_tensor([torch.zeros(2, 3), torch.zeros(1, 3)], layout=torch.jagged)
    with pytest.raises(InvalidInputError, match="nested tensor"):
        probed(identity(), "0", [(nested, [0, 1])])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_a_gpu():
    torch.manual_seed(0)
    X = torch.randn(300, 8, dtype=torch.float64)
    y = (X[:, 0] * X[:, 1] > 0).tolist()
    model = nn.Sequential(nn.Linear(8, 64), make_norm("ln-g", 64, num_groups=16)).double()
    on_cpu = probed(model, ["0", "1"], batches(X, y, 50))
    with SeparabilityProbe(model.cuda(), ["0", "1"]) as probe:
        on_gpu = probe.run(batches(X, y, 50))
    assert probe.accumulators["1", 1].scatter.held[0].is_cuda
    for a, b in zip(on_cpu.rows, on_gpu.rows, strict=True):
        assert a.ssr == pytest.approx(b.ssr, abs=SSR_STREAMING * 300)
        assert a.against(on_cpu.reference) == b.against(on_gpu.reference)


# ------------------------------------------------------------------------------------------ reports


def test_table_and_plot():
    model = xor_model(lambda: make_norm("ln", 3, affine=False, eps=0.0))
    report = probed(model, ["0", "1"], [(XOR, PARITY)])
    lines = str(report).splitlines()
    assert lines[0].split("|")[1].strip() == "layer"
    assert [line.split("|")[1].strip() for line in lines[2:5]] == [MODEL_INPUT, "0", "1"]
    assert lines[4].split("|")[-2].strip() == "below"
    assert lines[-1] == report.verdict
    axes = report.plot().axes[0]
    drawn = {line.get_gid(): list(line.get_ydata()) for line in axes.lines if line.get_gid()}
    assert drawn["reference"] == [report.rows[0].lssr]
    assert drawn["below"] == [report.rows[2].lssr]
    assert [label.get_text() for label in axes.get_xticklabels()] == [MODEL_INPUT, "0", "1"]
    assert " ".join(axes.figure.get_suptitle().split()) == report.verdict


def test_plot_of_rounding_and_of_nothing():
    torch.manual_seed(0)
    X = torch.randn(300, 8)
    y = (X[:, 0] * X[:, 1] > 0).tolist()
    report = probed(nn.Sequential(nn.Linear(8, 64)), "0", [(X, y)])
    drawn = {line.get_gid(): list(line.get_ydata()) for line in report.plot().axes[0].lines if line.get_gid()}
    assert drawn["rounding"] == [report.rows[1].lssr]
    assert drawn["level"] == [report.rows[1].upper]
    constant = probed(identity(), "0", [(XOR * 0, PARITY)], reference=None)
    constant.plot()
    assert "| -" in str(constant)


# ------------------------------------------------------------------------------------------ nonlinearity


def nonlinearity(model, X, **options):
    with NonlinearityProbe(model, **options) as probe:
        return probe.run(batches(X, [0] * len(X), 7))


def close(row, values):
    values = np.asarray(values).ravel()
    assert row.n_vectors == len(values)
    assert row.smallest == pytest.approx(values.min(), rel=2 * HESSIAN_INDICATOR)
    assert row.largest == pytest.approx(values.max(), rel=2 * HESSIAN_INDICATOR)
    assert row.mean == pytest.approx(math.exp(np.log(values).mean()), rel=1e3 * HESSIAN_INDICATOR)


def test_vectors_and_tokens():
    torch.manual_seed(0)
    X = torch.randn(20, 3, 12, dtype=torch.float64)
    rows = X.numpy().reshape(-1, 12)
    model = nn.ModuleList(
        [
            nn.LayerNorm(12),
            make_norm("ln-g", 12, num_groups=3),
            nn.RMSNorm(12),
            make_norm("rms-g", 12, num_groups=3),
        ]
    ).double()

    class All(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = model

        def forward(self, x):
            return sum(norm(x) for norm in self.norms)

    ln, ln_g, rms, rms_g = nonlinearity(All(), X, num_groups=4).rows
    close(ln, hessian_indicator(rows))
    close(ln_g, hessian_indicator(rows, norm="group_layer_norm", num_groups=3))
    close(rms, hessian_indicator(rows, norm="rms_norm"))
    close(rms_g, hessian_indicator(rows.reshape(-1, 3, 4), norm="rms_norm").sum(-1))
    for row, groups in ((ln, 4), (ln_g, 3)):
        ratio = amplification(rows, groups)
        assert row.compared_groups == groups
        assert row.amplification_bound == float(amplification_bound(12, groups))
        assert row.least_amplification == pytest.approx(ratio.min())
        assert row.least_amplification >= row.amplification_bound
        assert row.amplification == pytest.approx(math.exp(np.log(ratio).mean()))
    assert rms.amplification is None


@pytest.mark.parametrize(
    ("norm", "groups"),
    [
        (make_norm("ln", 6, dim=2), 1),
        (make_norm("ln-g", 6, num_groups=2, dim=2), 2),
        (nn.GroupNorm(3, 6), 3),
        (nn.InstanceNorm2d(6), 6),
        (make_norm("in", 6, dim=2), 6),
    ],
    ids=lambda value: type(value).__name__,
)
def test_pictures_are_pooled_as_the_norm_does(norm, groups):
    torch.manual_seed(0)
    X = torch.randn(15, 6, 3, 2, dtype=torch.float64)
    (row,) = nonlinearity(nn.Sequential(norm.double()), X).rows
    split = X.numpy().reshape(15, groups, -1)
    close(row, hessian_indicator(split).sum(-1))
    assert (row.n_features, row.num_groups) == (36, groups)


def test_each_pixel_alone():
    torch.manual_seed(0)
    X = torch.randn(15, 6, 3, 2, dtype=torch.float64)
    pixels = X.movedim(1, -1).reshape(-1, 6).numpy()
    for kind, options, groups in (("ln-position", {}, 1), ("ln-g-position", {"num_groups": 2}, 2)):
        (row,) = nonlinearity(nn.Sequential(make_norm(kind, 6, dim=2, **options)).double(), X).rows
        close(row, hessian_indicator(pixels.reshape(-1, groups, 6 // groups)).sum(-1))
        with pytest.raises(AssertionError):  # the twin: other vectors, other numbers
            close(row, hessian_indicator(X.numpy().reshape(90, 6)))


def test_degenerate_vectors_are_counted_and_left_out():
    X = torch.tensor([[1.0, 1, 1], [1, 2, 3], [1e-4, 2e-4, 3e-4]], dtype=torch.float64)
    report = nonlinearity(nn.Sequential(nn.LayerNorm(3, dtype=torch.float64)), X)
    (row,) = report.rows
    assert (row.n_vectors, row.n_degenerate, row.n_below_eps) == (3, 1, 1)
    assert row.smallest == 2.25
    assert "nearly linear there: 0 (1 of 3)" in report.verdict
    assert "undefined: 0 (1 of 3)" in report.verdict
    flat = nonlinearity(nn.Sequential(nn.LayerNorm(3, dtype=torch.float64)), X[:1])
    assert flat.rows[0].mean is None
    assert "defined at no input" in flat.verdict
    flat.plot()


def test_groups_of_two_have_no_hessian():
    torch.manual_seed(0)
    report = nonlinearity(nn.Sequential(make_norm("ln-g", 6, num_groups=3)), torch.randn(4, 6))
    row = report.rows[0]
    assert (row.mean, row.largest, row.amplification, row.amplification_bound) == (0.0, 0.0, 0.0, 0.0)
    report.plot()


def test_groups_of_one_are_always_degenerate():
    row = nonlinearity(nn.Sequential(make_norm("ln-g", 6, num_groups=6)), torch.randn(4, 6)).rows[0]
    assert row.n_degenerate == 4


def test_what_is_not_observed_is_told():
    model = nn.Sequential(nn.BatchNorm1d(6), nn.LayerNorm(6))
    report = nonlinearity(model, torch.randn(4, 6))
    assert [row.layer for row in report.rows] == ["1"]
    assert "Not observed: 0: batch normalization is affine on a fixed batch" in report.verdict
    with pytest.raises(InvalidInputError, match="Layer 0 has no indicator here: batch normalization"):
        NonlinearityProbe(model, "0")
    with pytest.raises(InvalidInputError, match="No norm was called"):
        NonlinearityProbe(model).report()
    for number in (0, -1, 2.5, "a", True):
        with pytest.raises(InvalidInputError, match="num_groups="):
            NonlinearityProbe(model, num_groups=number)
    for batch in (3, ()):
        with NonlinearityProbe(model) as probe, pytest.raises(InvalidInputError, match="The loader gave"):
            probe.run([batch])


def test_every_pass_counts_and_calls_are_apart():
    norm = nn.LayerNorm(6)
    model = nn.Sequential(norm, nn.Linear(6, 6), norm)
    with NonlinearityProbe(model) as probe:
        for _ in range(2):
            model(torch.randn(4, 6))
    assert [(row.layer, row.n_vectors) for row in probe.report().rows] == [("0", 8), ("0 (call 2)", 8)]
    text = str(probe.report())
    assert text.splitlines()[0].startswith("| layer")
    assert len(probe.report().plot().axes[0].get_xticks()) == 2
