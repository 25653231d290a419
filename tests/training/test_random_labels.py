"""The experiment and its command: grids, what is recorded, interruption, bad input."""

import json
import subprocess
import sys

import numpy as np
import pytest

from lntheory.errors import InvalidInputError, RefutedError
from training import cli
from training.data import RandomLabels, load
from training.experiments import EXPERIMENTS, random_labels
from training.experiments.conduct import recorded
from training.experiments.random_labels import PRESETS, certified_net, planned_grid, proofs
from training.run.config import varied
from training.run.record import read_record
from training.run.result import EpochMetrics, RunResult
from training.run.source import device_of, source_sha256

SMALL = [
    "--n-samples",
    "40",
    "--epochs",
    "2",
    "--width",
    "6",
    "--depths",
    "1",
    "--groups",
    "2",
    "--seeds",
    "1",
]


def trainer(configs, data, *, device, threads, folder, weights, progress):
    """Stands in for torch: every run ends with a tenth of the samples right, but bn's diverge."""
    n = len(data.train)
    progress(0, len(configs))
    results = []
    for config in configs:
        row = {"train_loss": 1.5, "train_accuracy": (n // 10) / n}
        epochs = tuple(EpochMetrics(k + 1, row, 1e-3, 0.1) for k in range(config.epochs))
        diverged = config.model.norm == "bn"
        results.append(RunResult(config, epochs[:-1] if diverged else epochs, diverged, True, 0.25))
    return results


def small_grid(**changes):
    wanted = {"n_samples": 40, "epochs": 2, "width": 6, "depths": [1], "groups": [2], "n_seeds": 2, **changes}
    return planned_grid("quick", **wanted)


def experiment(grid=None, n_samples=40, **options):
    data = load("digits", n_samples=n_samples)
    return recorded(
        grid or small_grid(n_samples=n_samples), data, experiment="random-labels", preset="quick",
        command="by hand", prove=lambda images: proofs(images, 0, **{"ceiling_seconds": 5.0, **options}),
        train=trainer,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------- grids


@pytest.mark.parametrize("preset", ["quick", "paper"])
def test_a_preset_is_taken_as_it_is(preset):
    assert planned_grid(preset).configs() == PRESETS[preset].grid.configs()


def test_what_is_asked_for_replaces_the_preset():
    grid = planned_grid("paper", data="mnist", data_root="x", n_samples=9, epochs=3, width=48,
                        depths=[2, 2, 5], groups=[3, 12], net_rates=[0.5, 0.25], n_seeds=2, label_seed=7,
                        precision="64-true")  # fmt: skip
    configs = grid.configs()
    assert {
        (c.data.name, c.data.root, c.data.n_samples, c.epochs, c.model.width, c.data.label_seed, c.precision)
        for c in configs
    } == {("mnist", "x", 9, 3, 48, 7, "64-true")}
    assert {c.model.depth for c in configs} == {0, 2, 5}
    assert {c.model.num_groups for c in configs} == {None, 3, 12}
    assert {c.seed for c in configs} == {0, 1}
    assert {(c.optimizer.name, c.optimizer.lr) for c in configs if c.model.norm != "linear"} == {
        ("sgd", 0.5), ("sgd", 0.25), ("adam", 0.5), ("adam", 0.25),
    }  # fmt: skip
    assert 0.5 not in {c.optimizer.lr for c in configs if c.model.norm == "linear"}
    assert {c.model.norm for c in configs} == {"linear", "bn", "ln", "ln-g"}


@pytest.mark.parametrize("wrong", [
    {"preset": "huge"}, {"depths": [0]}, {"groups": [7]}, {"groups": [0]}, {"n_seeds": 0}, {"epochs": 0},
    {"width": 0}, {"precision": "8"}, {"label_seed": -1}, {"data": ""},
])  # fmt: skip
def test_grids_that_cannot_be(wrong):
    with pytest.raises(InvalidInputError):
        planned_grid(**wrong)


def test_groups_that_another_width_cannot_have_are_dropped():
    assert {c.model.num_groups for c in planned_grid("paper", width=24).configs()} == {None, 2, 4, 8}


# --------------------------------------------------------------------------------------------- the experiment


def test_all_is_recorded():
    found = experiment(n_samples=80)
    data = load("digits", n_samples=80)
    assert (found.data.sha256, found.data.embedded, found.data.n_samples) == (data.sha256, True, 80)
    assert (found.labels.seed, found.labels.sha256) == (0, RandomLabels(0, 10).sha256(80))
    assert found.seconds == pytest.approx(0.25 * len(found.runs))
    assert found.versions["numpy"] == np.__version__
    assert found.source_sha256 == source_sha256()
    assert [run.config for run in found.runs] == list(small_grid(n_samples=80).configs())
    assert {run.config.model.norm for run in found.runs if run.diverged} == {"bn"}
    assert found.ceiling is not None
    assert found.ceiling.lssr is not None
    assert found.certified is not None
    assert (found.certified.n_samples, found.certified.accuracy) == (80, 1.0)
    assert (found.preset, found.command) == ("quick", "by hand")


def test_the_proofs_can_be_left_out():
    found = experiment(certified_samples=0, ceiling_seconds=0.0)
    assert found.ceiling is found.certified is None


def test_the_certified_net_can_be_of_fewer_samples():
    assert experiment(certified_samples=15, ceiling_seconds=0.0).certified.n_samples == 15


def test_true_labels_are_recorded_as_such():
    grid = small_grid()
    base = varied(grid.base, {"data.label_seed": None})
    found = recorded(type(grid)(base, grid.parts), load("digits", n_samples=40), experiment="a", preset="b",
                     command="c", train=lambda configs, data, **_: [
                         RunResult(config, (), True, True, 0.1) for config in configs])  # fmt: skip
    assert found.labels.seed is None
    assert (found.data.n_test_samples, found.ceiling) == (359, None)


# ------------------------------------------------------------------------------------------ the certified net


def test_the_certified_net_has_width_three():
    rng = np.random.default_rng(0)
    net = certified_net(rng.random((30, 2), dtype=np.float32), rng.integers(0, 2, 30))
    assert (net.width, net.n_contradictory, net.accuracy) == (3, 0, 1.0)
    assert net.depth > 0
    assert net.precision > 0


def test_equal_samples_of_unequal_labels_cannot_all_be_right():
    X = np.array([[0, 0], [1, 0], [0, 0], [0, 0], [1, 1]], dtype=np.float32)
    net = certified_net(X, np.array([2, 1, 0, 2, 2]))
    assert net.n_contradictory == 1
    assert net.accuracy == 0.8


def test_a_wrong_net_is_not_recorded(monkeypatch):
    from lntheory.network import Layer, LNNet

    wrong = LNNet([], Layer([[1.0, 0.0]], [0.0]), (0, 1))
    monkeypatch.setattr("lntheory.shatter", lambda *_, **__: wrong)
    with pytest.raises(RefutedError):
        certified_net(np.array([[1, 1], [-1, 0]], dtype=np.float32), np.array([0, 1]))


# ------------------------------------------------------------------------------------------------ the command


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    """Run the command in an empty folder; exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return command


def test_dry_run_lists_the_grid_and_its_size(command, tmp_path):
    code, out, _ = command("random-labels", "--dry-run", *SMALL)
    assert code == 0
    grid = small_grid(n_seeds=1)
    assert out.startswith(
        f"{len(grid.configs())} runs of 2 epochs on the first 40 samples of digits, width 6"
    )
    for label in {config.label for config in grid.configs()}:
        assert label in out
    counts = [int(line.split()[0]) for line in out.splitlines()[1:]]
    assert sum(counts) == len(grid.configs())
    assert not list(tmp_path.iterdir())


def test_dry_run_knows_the_data(command):
    code, _, err = command("random-labels", "--dry-run", "--data", "nope")
    assert code == 2
    assert "nope" in err
    assert "fashion-mnist" in err


def test_help_and_dry_run_need_no_torch():
    code = (
        "import sys\n"
        "from training.cli import main\n"
        "code = main(['--help']) or main(['random-labels', '--help']) or main(['data-info', 'digits'])\n"
        "code = code or main(['random-labels', '--dry-run', '--preset', 'paper', '--data', 'cifar10'])\n"
        "sys.exit(code or 'torch' in sys.modules or 'lightning' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "150 epochs on all samples of cifar10, width 256" in done.stdout


@pytest.mark.parametrize(("arguments", "words"), [
    (["--preset", "huge"], "huge"),
    (["--depths", "1,x"], "--depths '1,x'"),
    (["--groups", "5"], "num_groups = 5"),
    (["--net-rates", "0.1;1"], "--net-rates '0.1;1'"),
    (["--net-rates", "nan"], "lr is nan"),
    (["--data", "imagenet"], "imagenet"),
    (["--data", "mnist", "--root", "nowhere"], "nowhere"),
    (["--root", "somewhere"], "root"),
    (["--n-samples", "5000"], "5000"),
    (["--device", "abacus"], "abacus"),
    (["--seeds", "0"], "--seeds"),
    (["--what"], "--what"),
])  # fmt: skip
def test_bad_input_is_named_before_any_work(command, tmp_path, monkeypatch, arguments, words):
    monkeypatch.setattr(random_labels, "linear_ceiling", lambda *_, **__: pytest.fail("worked"))
    code, out, err = command("random-labels", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert not list(tmp_path.iterdir())


def test_the_place_for_results_is_checked_before_the_work(command, tmp_path):
    (tmp_path / "taken").write_text("a file")
    code, _, err = command("random-labels", "--out", "taken", *SMALL)
    assert code == 2
    assert "taken is a file" in err


def test_tables_of_nothing(command):
    code, _, err = command("tables", "none")
    assert code == 2
    assert "none" in err


def test_a_damaged_record_is_named(command, tmp_path):
    (tmp_path / "a.json").write_text('{"format": "lntheory-training-record", "version": 2}')
    code, _, err = command("tables", "a.json")
    assert code == 2
    assert "a.json: field config is None" in err


# --------------------------------------------------------------------------------------------- with torch


@pytest.fixture
def trained(command, tmp_path):
    pytest.importorskip("torch")
    code, out, err = command("random-labels", *SMALL, "--out", "here", "--certified-samples", "20")
    assert code == 0, err
    return out, tmp_path / "here"


def without_times(value):
    """A record's JSON but for what the clock said."""
    if isinstance(value, dict):
        clock = ("seconds", "started", "second", "memory")
        return {k: without_times(v) for k, v in value.items() if not any(word in k for word in clock)}
    return [without_times(entry) for entry in value] if isinstance(value, list) else value


def test_the_whole_way(trained, command):
    out, folder = trained
    assert sorted(path.name for path in folder.iterdir()) == [
        "random-labels-digits-40-quick.json", "random-labels-digits-40-quick.png",
    ]  # fmt: skip
    found = read_record(folder / "random-labels-digits-40-quick.json")
    assert found.command.startswith("python -m training random-labels --n-samples 40")
    assert found.versions["torch"]
    assert all(0 <= part <= 1 for run in found.runs for part in run.series("train_accuracy"))
    for words in ("LN-G, 2 groups", "linear bound, found", "certified", "not verified against the PDF",
                  "embedded or stand-in data", str(folder.name)):  # fmt: skip
        assert words in out
    code, again, _ = command("tables", folder, "--out", "tables")
    assert code == 0
    assert again.splitlines()[0] == out.splitlines()[0]


def test_an_interrupted_run_goes_on_to_the_same_record(trained, command, tmp_path, monkeypatch):
    _, folder = trained
    from training import engine

    genuine = engine.train_grid

    def interrupted(configs, data, *, progress, **options):
        def stop(done, total):
            if done > total // 2:
                raise KeyboardInterrupt

        return genuine(configs, data, progress=stop, **options)

    options = [*SMALL, "--out", "there", "--certified-samples", "20"]
    monkeypatch.setattr(engine, "train_grid", interrupted)
    code, out, err = command("random-labels", *options)
    assert (code, out) == (130, "")
    assert "--resume" in err
    there = tmp_path / "there"
    assert [path.suffix for path in there.iterdir()] == [".ckpt"]

    monkeypatch.setattr(engine, "train_grid", genuine)
    code, _, err = command("random-labels", *options)
    assert code == 2
    assert "--resume" in err
    code, _, err = command("random-labels", *options, "--resume")
    assert code == 0, err
    name = "random-labels-digits-40-quick.json"
    assert sorted(path.suffix for path in there.iterdir()) == [".json", ".png"]
    first, second = (without_times(json.loads((f / name).read_text())) for f in (folder, there))
    assert first.pop("command").replace("here", "there") == second.pop("command")
    assert first == second


def test_another_grid_does_not_go_on_from_a_checkpoint(command, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from training import train_grid

    grid = small_grid(n_seeds=1)
    train_grid(grid.configs(), load("digits", n_samples=40), device="cpu",
               folder=tmp_path / "out" / "random-labels-digits-quick.ckpt")  # fmt: skip
    options = [*SMALL, "--label-seed", "3", "--out", "out", "--resume"]
    code, _, err = command("random-labels", *options)
    assert code == 2
    assert "random-labels-digits-quick.ckpt" in err


def test_the_device_is_recorded():
    assert device_of("cpu", 2).kind == "cpu"
    assert device_of("cpu", 2).threads == 2


# ------------------------------------------------------------------------------------------- the template


def test_the_template_is_registered_with_a_line_and_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    monkeypatch.setitem(EXPERIMENTS, "template", "TEMPLATE")
    monkeypatch.setattr(cli, "app", cli.application())
    assert cli.main(["template", "--preset", "smoke", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith(
        "2 runs of 1 epochs on the first 64 samples of digits, width 32"
    )
    assert cli.main(["template", "--preset", "huge"]) == 2
    out = tmp_path / "out"
    assert cli.main(["template", "--preset", "smoke", "--out", str(out), "--device", "cpu"]) == 0
    assert "| ln x 2   | adamw, lr 0.001, batch 128 |" in capsys.readouterr().out
    found = read_record(out / "template-digits-64-smoke.json")
    assert all(0 <= run.value("test_accuracy") <= 1 for run in found.runs)
    assert cli.main(["tables", str(out), "--out", str(tmp_path / "tables")]) == 0
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        "template.md", "template.csv", "template-digits-64-smoke.png",
    }  # fmt: skip
