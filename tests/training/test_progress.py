"""Progress is shown on a terminal as a bar, elsewhere as one line, and never on standard output."""

from __future__ import annotations

import pytest

from training.progress import progress_bar


def test_a_bar_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("training [ln]") as progress:
        progress(3, 8)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "training [ln]" in captured.err
    assert "3/8" in captured.err


def test_a_line_elsewhere(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with progress_bar("training") as progress:
        progress(3, 8)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "training ...\n")
