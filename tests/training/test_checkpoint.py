"""Checkpoints come back as they were saved, or not at all; nothing in them is executed."""

from __future__ import annotations

import hashlib
import os
import pickle
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from lntheory.errors import FileFormatError  # noqa: E402
from training.engine import checkpoint  # noqa: E402

STATE = {
    "step": 3,
    "rate": 0.1,
    "names": ["a", None, True],
    "nested": {"w": torch.arange(5.0), "n": torch.tensor(2)},
}


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "run.ckpt"
    checkpoint.save(path, STATE)
    loaded = checkpoint.load(path)
    assert torch.equal(loaded["nested"].pop("w"), STATE["nested"]["w"])
    assert loaded == {**STATE, "nested": {"n": torch.tensor(2)}}
    assert os.listdir(path.parent) == ["run.ckpt"]


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    checkpoint.save(path, STATE)
    before = path.read_bytes()
    with pytest.raises((AttributeError, pickle.PicklingError, TypeError)):
        checkpoint.save(path, {"lambda": lambda: None})
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.ckpt"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_changed_or_cut_file_is_refused(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "run.ckpt"
    checkpoint.save(path, STATE)
    raw = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    if data.draw(st.booleans(), label="cut"):
        path.write_bytes(raw[:place])
    else:
        raw[place] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(raw)
    with pytest.raises(FileFormatError, match=r"run\.ckpt: .*(not a checkpoint|corrupt or cut off)"):
        checkpoint.load(path)


class _Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("exploded",)


def _signed(payload: bytes) -> bytes:
    return b"lntheory checkpoint 1 " + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload


def test_a_pickle_is_not_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "run.ckpt"
    checkpoint.save(path, {"bomb": _Bomb()})
    with pytest.raises(FileFormatError, match="holds no plain values and tensors"):
        checkpoint.load(path)
    path.write_bytes(_signed(pickle.dumps(_Bomb())))
    with pytest.raises(FileFormatError, match="holds no plain values and tensors"):
        checkpoint.load(path)
    assert not Path("exploded").exists()
    pickle.loads(pickle.dumps(_Bomb()))  # the bomb is live: pickle itself sets it off
    assert Path("exploded").exists()


@pytest.mark.parametrize("payload", [b"", b"PK\x03\x04", b"text"])
def test_signed_nonsense_is_refused(tmp_path: Path, payload: bytes) -> None:
    path = tmp_path / "run.ckpt"
    path.write_bytes(_signed(payload))
    with pytest.raises(FileFormatError, match="holds no plain values and tensors"):
        checkpoint.load(path)


def test_another_value_than_a_dict_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    checkpoint.save(path, [1, 2])  # type: ignore[arg-type]
    with pytest.raises(FileFormatError, match="holds a list, expected a dict"):
        checkpoint.load(path)


def test_files_of_torch_itself_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save(STATE, path)
    with pytest.raises(FileFormatError, match=r"model\.pt: not a checkpoint of this version"):
        checkpoint.load(path)
