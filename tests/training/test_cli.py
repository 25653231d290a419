"""The training command: what would be lost or cannot be done is refused before any work."""

import os
from pathlib import Path

import pytest

from tests.training.test_record import record, run
from training import cli
from training.experiments import conduct
from training.experiments.random_labels import planned_grid
from training.run.record import write_record

NAME = "random-labels-digits-40-quick"
SMALL = ("random-labels", "--n-samples", "40", "--seeds", "1")


@pytest.fixture
def worked(monkeypatch):
    """The experiments that were begun; each is a known record."""
    begun = []

    def recorded(grid, data, **options):
        begun.append(options)
        return record(run(of=40, n_samples=40), n_samples=40)

    monkeypatch.setattr(conduct, "recorded", recorded)
    return begun


@pytest.fixture
def command(capsys, tmp_path, monkeypatch, worked):
    """Run the command in an empty folder; exit code and standard error."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        err = capsys.readouterr().err
        assert "Traceback" not in err
        return code, err

    return command


@pytest.mark.parametrize("seeds", [1001, 10**9, 10**30])
def test_more_seeds_than_anybody_trains(command, worked, tmp_path, seeds):
    for more in ((), ("--dry-run",)):
        code, err = command("random-labels", "--seeds", seeds, *more)
        assert code == 2
        assert f"--seeds {seeds}" in err
        assert "at most 1000" in err
    assert not worked
    assert not list(tmp_path.iterdir())


def test_the_most_seeds_are_taken(command):
    assert command("random-labels", "--seeds", "1000", "--dry-run")[0] == 0


def test_results_are_written_where_there_are_none(command, worked, tmp_path):
    code, err = command(*SMALL, "--out", "new/place")
    assert code == 0, err
    assert len(worked) == 1
    assert sorted(path.name for path in (tmp_path / "new" / "place").iterdir()) == [
        f"{NAME}.json", f"{NAME}.png",
    ]  # fmt: skip


@pytest.mark.parametrize("more", [(), ("--resume",)])
def test_an_earlier_record_is_not_replaced(command, worked, tmp_path, more):
    earlier = tmp_path / "out" / f"{NAME}.json"
    earlier.parent.mkdir()
    earlier.write_text("hours of work")
    code, err = command(*SMALL, "--out", "out", *more)
    assert code == 2
    assert f"{NAME}.json is the record of an earlier run" in err
    assert "--out" in err
    assert not worked
    assert earlier.read_text() == "hours of work"
    assert list(earlier.parent.iterdir()) == [earlier]
    assert command("random-labels", "--n-samples", "39", "--out", "out")[0] == 0, "a record of another name"


def test_a_run_interrupted_after_its_record_goes_on(command, worked, tmp_path):
    """Its checkpoint goes last, when the figure is drawn, too."""
    write_record(record(run(of=40, n_samples=40), n_samples=40, seconds=1.0), tmp_path / f"{NAME}.json")
    checkpoint = tmp_path / "random-labels-digits-quick.ckpt"
    checkpoint.mkdir()
    (checkpoint / "stacks.json").write_text("all but the figure")
    code, err = command(*SMALL, "--out", ".")
    assert code == 2
    assert "--resume" in err
    code, err = command(*SMALL, "--out", ".", "--resume")
    assert code == 0, err
    assert len(worked) == 1
    assert not checkpoint.exists()


@pytest.mark.parametrize("out", ["taken", "taken/below", "taken/far/below", "new/" + "x" * 300])
def test_a_folder_that_cannot_be_made(command, worked, tmp_path, out):
    (tmp_path / "taken").write_text("a file")
    code, err = command(*SMALL, "--out", out)
    assert code == 2
    assert out in err
    assert "choose another" in err
    assert not worked
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_folder_that_nothing_can_be_written_to(command, worked, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)  # permissions would not stop root
    code, err = command(*SMALL, "--out", "new/place")
    assert code == 2
    assert f"--out {Path('new', 'place')}: no results can be written there (Permission denied)" in err
    assert not worked
    assert not list(tmp_path.iterdir())


def test_a_look_at_the_folder_leaves_it_as_it_was(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("kept")
    base = planned_grid().base
    for out in (tmp_path / "there", tmp_path / "there" / "not" / "yet"):
        conduct.Places(out, "random-labels", "quick", base).check(resume=False)
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["file"]


def test_what_an_interruption_leaves_is_said():
    assert "--resume goes on" in cli.interrupted(["random-labels", "--seeds", "1"])
    assert cli.interrupted(["tables"]) == cli.interrupted([]) == "nothing was written"


def test_only_the_first_process_writes(command, worked, tmp_path, monkeypatch):
    monkeypatch.setattr(conduct, "recorded", lambda grid, data, **options: None)
    monkeypatch.setenv("RANK", "1")
    assert command(*SMALL, "--out", "new/place") == (0, "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("program", "words"), [
    ("python -m training", "python -m training random-labels --seeds 1"),
    ("lntheory", "lntheory train random-labels --seeds 1"),
])  # fmt: skip
def test_the_command_is_recorded_as_it_was_typed(program, words):
    class Context:
        obj = ("random-labels", "--seeds", "1", "--resume")
        info_name = program

        def find_root(self):
            return self

    assert conduct.typed(Context()) == words
