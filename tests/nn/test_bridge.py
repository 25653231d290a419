"""Nets as torch modules and back: same labels, equal nets, proofs that bite."""

import copy
import doctest
import io
import json
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

import lntheory  # noqa: E402
from lntheory import exact  # noqa: E402
from lntheory.errors import (  # noqa: E402
    DegenerateInputError,
    InvalidInputError,
    LNTheoryError,
    RefutedError,
    UndecidedError,
)
from lntheory.network import Layer, LNNet, Normalization  # noqa: E402
from lntheory.network.roundoff import score_error  # noqa: E402
from lntheory.nn import (  # noqa: E402
    GroupLayerNorm,
    GroupRMSNorm,
    InstanceNorm,
    LNSequential,
    export_program,
    from_torch,
    make_norm,
    to_torch,
)
from tests import tolerances  # noqa: E402
from tests.planar import XOR_X, XOR_Y, xor_net  # noqa: E402
from tests.strategies import nets  # noqa: E402

nn = torch.nn

FEW = settings(max_examples=8)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@st.composite
def random_labels(draw):
    """Samples and labels, two or three classes of them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n_classes = draw(st.integers(3, 12)), draw(st.integers(2, 3))
    y = rng.integers(0, n_classes, m)
    y[:2] = 0, 1
    return rng.normal(size=(m, draw(st.integers(1, 3)))), y


METHODS = st.sampled_from(["minority-merge", "pairs"])


def scores(module, X, dtype=torch.float64):
    with torch.no_grad():
        return module(torch.as_tensor(np.array(X), dtype=dtype)).double().numpy()


def scaled(net, factor, eps):
    """What to_torch should hold, built independently."""
    layers = [Layer(layer.weight * factor, layer.bias * factor) for layer in net.layers]
    kind = Normalization(net.normalization.kind, net.normalization.num_groups, eps)
    return LNNet(layers, net.readout, net.classes, kind)


# --------------------------------------------------------------------------------------------- to and from


@given(nets())
def test_round_trip_gives_an_equal_net(drawn):
    net, X = drawn
    assume(net.arithmetic == "float64")
    module = to_torch(net)
    assert isinstance(module, nn.Sequential)
    assert from_torch(module) == net
    assert from_torch(copy.deepcopy(module)) == net
    assert module.classes == net.classes
    assert module.certificate is None
    try:
        error = score_error(net, X)
    except DegenerateInputError:
        return
    theirs = scores(module, X)
    known = np.isfinite(error)
    ours = net.decision_function(X).reshape(len(X), -1)
    assert (np.abs(theirs - ours).max(axis=1)[known] <= 2 * error[known]).all()


@given(random_labels(), METHODS)
@FEW
def test_built_nets_are_proved_in_float64(drawn, method):
    X, y = drawn
    net = lntheory.shatter(X, y, method=method)
    module = to_torch(net, X=X, y=y)
    assert module.predict(X).tolist() == y.tolist() == net.predict(X).tolist()
    assert exact.verify(from_torch(module), X, y, module.certificate) == module.certificate
    assert 2 * module.score_error < max(module.certificate.margins)
    assert from_torch(module) == net


@given(random_labels(), METHODS, st.sampled_from([1e-12, 1e-5, 1e-3, 1.0]))
@FEW
def test_built_nets_survive_eps(drawn, method, eps):
    X, y = drawn
    net = lntheory.shatter(X, y, method=method)
    module = to_torch(net, eps, X=X, y=y)
    assert module.predict(X).tolist() == y.tolist()
    held = from_torch(module)
    assert held == scaled(net, 2.0**module.exponent, eps)
    assert exact.certify(held, X, y).margins == module.certificate.margins
    assert all(part.eps == eps for part in module if isinstance(part, nn.LayerNorm))
    plain = nn.Sequential(*module)  # any framework with this eps
    assert net.depth == 0 or from_torch(plain, net.classes) == held


def test_eps_would_have_destroyed_it():
    """A net of small variances: torch's default eps alone gives other labels, the scaled module does not."""
    net, X, y = scaled(xor_net(), 2.0**-12, 0.0), XOR_X, XOR_Y
    with pytest.raises(RefutedError):
        exact.certify(scaled(net, 1.0, 1e-5), X, y)
    module = to_torch(net, 1e-5, X=X, y=y)
    assert module.exponent > 0
    assert module.predict(X).tolist() == list(y)
    with pytest.raises((RefutedError, UndecidedError)):
        exact.certify(scaled(net, 2.0 ** (module.exponent // 2), 1e-5), X, y)


@pytest.mark.parametrize("kind", [("rms_norm", None), ("group_layer_norm", 2), ("group_layer_norm", 1)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_other_kinds(kind, dtype):
    rng = np.random.default_rng(0)
    layers = [Layer(rng.normal(size=(4, n)), rng.normal(size=4)) for n in (2, 4)]
    net = LNNet(layers, Layer(rng.normal(size=(3, 4)), rng.normal(size=3)), list("abc"), Normalization(*kind))
    X = rng.normal(size=(20, 2))
    y = net.predict(X)
    if dtype is torch.float64:
        assert from_torch(to_torch(net)) == net
    for eps in (0.0, 1e-5):
        module = to_torch(net, eps, X=X, y=y, dtype=dtype)
        assert module.predict(X).tolist() == y.tolist()
        assert from_torch(module).normalization == Normalization(*kind, eps=eps)
        assert next(module.parameters()).dtype is dtype


def test_what_float32_holds_is_what_is_certified():
    net = LNNet(xor_net().layers, Layer(xor_net().readout.weight * 0.1, xor_net().readout.bias * 0.1), (0, 1))
    module = to_torch(net, X=XOR_X, y=XOR_Y, dtype="float32")
    held = from_torch(module)
    assert held != net
    assert module.certificate.net_sha256 == held.sha256
    assert module.certificate == exact.certify(held, XOR_X, XOR_Y)
    assert module.score_error == score_error(held, XOR_X, "float32").max()


def margins_of(size):
    """One sample a class at `size` from the boundary x = 1, by a net that float64 and float32 hold."""
    net = LNNet([], Layer([[1.0]], [-1.0]), ["no", "yes"])
    return net, [[1.0 - size], [1.0 + size]], ["no", "yes"]


def test_float32_is_vouched_for_only_with_margin():
    net, X, y = margins_of(2.0**-10)
    assert to_torch(net, X=X, y=y, dtype=torch.float32).predict(X).tolist() == y
    net, X, y = margins_of(2.0**-30)  # the samples themselves round to 1
    to_torch(net, X=X, y=y)
    with pytest.raises(
        UndecidedError, match=r"float32 cannot be vouched for.*sample 0.*use float64"
    ) as caught:
        to_torch(net, X=X, y=y, dtype=torch.float32)
    assert caught.value.samples == (0, 1)
    assert caught.value.precision == 24
    assert to_torch(net, dtype=torch.float32).certificate is None
    net, X, y = margins_of(2.0**-52)
    with pytest.raises(UndecidedError, match="float64 cannot be vouched for"):
        to_torch(net, X=X, y=y)


def test_parameters_that_float32_ruins_are_refuted():
    net = LNNet([], Layer([[1.0]], [-1.0 - 2.0**-30]), ["no", "yes"])
    X, y = [[1.0], [1.0 + 2.0**-20]], ["no", "yes"]
    to_torch(net, X=X, y=y)
    with pytest.raises((RefutedError, UndecidedError)):
        to_torch(net, X=X, y=y, dtype=torch.float32)
    worse = LNNet([], Layer([[1.0]], [-1.0 + 2.0**-30]), ["no", "yes"])
    with pytest.raises(RefutedError, match=r"with parameters rounded to float32: sample 0.*use float64"):
        to_torch(worse, X=[[1.0 - 2.0**-31], [2.0]], y=["yes", "yes"], dtype=torch.float32)


def test_the_callers_random_numbers_are_left_alone():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    to_torch(xor_net())
    assert torch.equal(torch.rand(3), expected)


def test_the_module_trains():
    module = to_torch(xor_net())
    module(torch.as_tensor(XOR_X, dtype=torch.float64)).square().sum().backward()
    assert all(p.grad is not None for p in module.parameters())


# ------------------------------------------------------------------------------------------- false twins


def corruptions():
    def flip(module):
        module[2].weight.neg_()

    def last_bit(module):
        module[0].weight[0, 0] = np.nextafter(module[0].weight[0, 0].item(), 9.0)

    def bias(module):
        module[0].bias[0].add_(3.0)

    return {"flipped": flip, "one bit": last_bit, "moved": bias}


@pytest.mark.parametrize("name", corruptions())
def test_a_corrupted_module_does_not_verify(name):
    module = to_torch(xor_net(), X=XOR_X, y=XOR_Y)
    with torch.no_grad():
        corruptions()[name](module)
    with pytest.raises(RefutedError):
        exact.verify(from_torch(module), XOR_X, XOR_Y, module.certificate)
    if name != "one bit":
        with pytest.raises((RefutedError, UndecidedError)):
            exact.certify(from_torch(module), XOR_X, XOR_Y)


def test_swapped_labels_are_refuted():
    with pytest.raises(RefutedError):
        to_torch(xor_net(), X=XOR_X, y=[1 - label for label in XOR_Y])
    with pytest.raises(RefutedError):
        to_torch(xor_net(), 1e-5, X=XOR_X, y=[1 - label for label in XOR_Y])


def test_a_machine_that_contradicts_the_proof_is_told(monkeypatch):
    monkeypatch.setattr(LNSequential, "forward", lambda self, x: -nn.Sequential.forward(self, x))
    with pytest.raises(RefutedError, match="torch on this machine gives sample 0 another label"):
        to_torch(xor_net(), X=XOR_X, y=XOR_Y)


# ------------------------------------------------------------------------------------------- what is refused


def test_a_dyadic_net_is_refused():
    net = LNNet(
        [Layer([[1, 0], [0, 1], [Fraction(1, 2**2000), 0]], [0, 0, 0])],
        Layer([[1, 0, 0]], [0]),
        [0, 1],
    )
    for eps in (0.0, 1e-5):
        with pytest.raises(InvalidInputError, match=r"dyadic.*LNNet.predict"):
            to_torch(net, eps, X=XOR_X, y=XOR_Y)


def test_wrong_requests_are_named():
    net = xor_net()
    with pytest.raises(InvalidInputError, match="eps=1e-05 changes what the net computes; pass the samples"):
        to_torch(net, 1e-5)
    with pytest.raises(InvalidInputError, match="both X and y"):
        to_torch(net, X=XOR_X)
    with pytest.raises(InvalidInputError, match=r"torch\.float16; choose"):
        to_torch(net, dtype=torch.float16)
    with pytest.raises(InvalidInputError, match="eps"):
        to_torch(net, -1.0)
    own = scaled(net, 1.0, 1e-3)
    assert from_torch(to_torch(own)) == own
    assert from_torch(to_torch(own, 1e-3)) == own
    with pytest.raises(InvalidInputError, match=r"eps=0.001 of their own, which eps=1e-05 contradicts"):
        to_torch(own, 1e-5, X=XOR_X, y=XOR_Y)
    with pytest.raises(InvalidInputError, match="features"):
        to_torch(net, X=[[1.0]], y=[0])
    with pytest.raises(InvalidInputError, match="X has 1 features a sample, the net takes 2"):
        to_torch(net).predict([[1.0]])
    with pytest.raises(InvalidInputError, match="net is a LNSequential; pass an LNNet"):
        to_torch(to_torch(net))
    with pytest.raises(InvalidInputError, match="overflows float32"):
        to_torch(scaled(net, 1e100, 0.0), dtype=torch.float32)


def test_predict_names_a_sample_without_scores():
    module = to_torch(LNNet([Layer([[1], [0]], [0, 0])], Layer([[1, 0]], [0]), ["low", "high"]))
    assert module.predict([[1.0], [-1.0]]).tolist() == ["high", "low"]
    with pytest.raises(DegenerateInputError, match="scores of sample 1 are not finite"):
        module.predict([[1.0], [0.0]])


REFUSED = {
    "1": nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)),
    "2": nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Dropout(), nn.Linear(3, 1)),
    "1.0": nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.BatchNorm1d(3)), nn.Linear(3, 1)),
    "0": nn.Sequential(nn.Conv1d(2, 3, 1)),
}
ILL = [
    (
        nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Linear(3, 4), nn.LayerNorm(4, eps=1e-6)),
        "'3'.*one eps",
    ),
    (nn.Sequential(nn.Linear(2, 4), nn.LayerNorm((2, 2))), r"'1'.*normalizes \(2, 2\) together"),
    (nn.Sequential(nn.Linear(2, 4), nn.LayerNorm(3)), "'1'.*takes 3 features, but gets 4"),
    (nn.Sequential(make_norm("ln", 3, dim=2)), "'0'.*dim=2"),
    (nn.Sequential(InstanceNorm(3)), "'0' is a InstanceNorm"),
    (nn.Sequential(GroupRMSNorm(4, num_groups=2)), "'0'.*RMSNorm of 2 groups"),
    (nn.Sequential(), "no layers"),
    (nn.Linear(2, 2), "is a Linear; pass an nn.Sequential"),
    (nn.Sequential(nn.Linear(2, 3, dtype=torch.complex64)), "'0'.*parameters of torch.complex64"),
    (nn.Sequential(nn.Linear(2, 3, device="meta")), "'0'.*no numbers yet"),
]


@pytest.mark.parametrize("name", REFUSED)
def test_other_modules_are_named(name):
    with pytest.raises(InvalidInputError, match=rf"module '{name}' is a \w+, which has no place"):
        from_torch(REFUSED[name])


@pytest.mark.parametrize(("module", "message"), ILL, ids=range(len(ILL)))
def test_what_does_not_fit_is_named(module, message):
    with pytest.raises(InvalidInputError, match=message):
        from_torch(module)


def test_changed_modules_are_refused():
    class Twice(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    with pytest.raises(InvalidInputError, match=r"module '0', a Twice, has a forward of its own"):
        from_torch(nn.Sequential(Twice(2, 2)))
    hooked = nn.Sequential(nn.Linear(2, 2))
    hooked[0].register_forward_hook(lambda module, x, y: 2 * y)
    with pytest.raises(InvalidInputError, match="has forward hooks"):
        from_torch(hooked)
    broken = nn.Sequential(nn.Linear(2, 2))
    with torch.no_grad():
        broken[0].weight[1, 0] = float("nan")
    with pytest.raises(InvalidInputError, match=r"module '0', a Linear,: weight\[1, 0\] is nan"):
        from_torch(broken)


# ------------------------------------------------------------------------------------ modules of other people


def trained_like(seed, norm, dtype=torch.float32):
    """Weights in every place, as training leaves them."""
    generator = torch.Generator().manual_seed(seed)
    module = nn.Sequential(nn.Linear(2, 4), norm(), nn.Sequential(nn.Linear(4, 4), norm()), nn.Linear(4, 3))
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.randn(p.shape, generator=generator))
    return module.to(dtype)


NORMS = {
    "torch ln": lambda: nn.LayerNorm(4),
    "torch rms": lambda: nn.RMSNorm(4),
    "torch plain": lambda: nn.LayerNorm(4, elementwise_affine=False),
    "torch no bias": lambda: nn.LayerNorm(4, bias=False),
    "ln": lambda: make_norm("ln", 4),
    "ln-position": lambda: make_norm("ln-position", 4),
    "ln-g": lambda: make_norm("ln-g", 4, num_groups=2),
    "gn": lambda: make_norm("gn", 4, num_groups=2),
    "rms": lambda: make_norm("rms", 4, eps=0.0),
    "none": lambda: make_norm("none", 4),
}


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_of_norms_are_multiplied_in_exactly(name, dtype):
    """The net is the function: equal to the module, run in float64, up to float64's rounding."""
    module = trained_like(0, NORMS[name], dtype)
    net = from_torch(module)
    assert net.classes == (0, 1, 2)
    X = np.random.default_rng(1).normal(size=(10, 2))
    given = net.normalization.eps
    if name == "torch rms":
        assert given == torch.finfo(dtype).eps
        for part in module.modules():
            if isinstance(part, nn.RMSNorm):
                part.eps = given
    expected = scores(copy.deepcopy(module).double(), X)
    np.testing.assert_allclose(net.decision_function(X), expected, rtol=0, atol=tolerances.FROM_TORCH)
    y = net.predict(X)
    assert exact.certify(net, X, y).margin > 0


def test_nothing_is_rounded_in_multiplying():
    first, second = nn.Linear(1, 2, dtype=torch.float64), nn.Linear(2, 1, dtype=torch.float64)
    with torch.no_grad():
        first.weight.copy_(torch.tensor([[1.0 + 2.0**-52], [0.0]], dtype=torch.float64))
        first.bias.zero_()
        second.weight.copy_(torch.tensor([[1.0 + 2.0**-52, 0.0]], dtype=torch.float64))
        second.bias.zero_()
    net = from_torch(nn.Sequential(first, second))
    assert net.readout.weight[0, 0] == (1 + Fraction(1, 2**52)) ** 2
    assert net.arithmetic == "dyadic"
    assert net.classes == (0, 1)


def test_a_module_used_twice_counts_twice():
    norm = nn.LayerNorm(3, elementwise_affine=False)
    net = from_torch(nn.Sequential(nn.Linear(2, 3), norm, nn.Linear(3, 3), norm, nn.Linear(3, 2)))
    assert net.depth == 2


def test_norms_without_linears_between_are_layers():
    net = from_torch(nn.Sequential(nn.LayerNorm(3, elementwise_affine=False, eps=0.0)), list("abc"))
    assert net.depth == 1
    assert net.predict([[1.0, 3.0, 2.0]]).tolist() == ["b"]


def test_group_norm_of_one_group_keeps_its_name():
    net = from_torch(
        nn.Sequential(nn.Linear(2, 4), GroupLayerNorm(4, num_groups=1, affine=False), nn.Linear(4, 2))
    )
    assert net.normalization == Normalization("group_layer_norm", 1, 1e-5)


def test_bad_classes_are_refused():
    with pytest.raises(LNTheoryError, match="3 classes"):
        from_torch(nn.Sequential(nn.Linear(2, 2)), ["a", "b", "c"])


# ------------------------------------------------------------------------------------------------ programs


def test_the_page_says_what_happens():
    page = (Path(__file__).parents[2] / "docs" / "torch.md").read_text(encoding="utf-8")
    section = page.split("\n## Bridge\n")[1].split("\n## ")[0]
    test = doctest.DocTestParser().get_doctest(section, {}, "docs/torch.md", None, 0)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert result.failed == 0
    assert result.attempted >= 12


def test_program_runs_without_the_library_and_holds_no_pickle(tmp_path):
    net = LNNet(xor_net().layers, xor_net().readout, ["no", "yes"])
    y = net.predict(XOR_X)
    module = to_torch(net, 1e-5, X=XOR_X, y=y)
    path = tmp_path / "net.pt2"
    export_program(module, path)
    extra = {"classes.json": ""}
    program = torch.export.load(path, extra_files=extra).module()
    assert json.loads(extra["classes.json"]) == ["no", "yes"]
    for n in (1, 2, 4):
        x = torch.as_tensor(np.array(XOR_X[:n]), dtype=torch.float64)
        assert torch.equal(program(x), module(x))
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        contents = [archive.read(name) for name in archive.namelist()]
    assert not any(b"\x80\x02" in content[:2] or b"data.pkl" in content for content in contents)
    assert [p.name for p in tmp_path.iterdir()] == ["net.pt2"]


def test_programs_have_their_suffix(tmp_path):
    with pytest.raises(InvalidInputError, match=r"suffix \.pt2"):
        export_program(to_torch(xor_net()), tmp_path / "net.pt")
    with pytest.raises(InvalidInputError, match="no place"):
        export_program(nn.Sequential(nn.ReLU()), tmp_path / "net.pt2")
    assert not list(tmp_path.iterdir())
