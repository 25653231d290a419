"""``lntheory export``: a net for torch, or for ONNX runtimes."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lntheory.base.files import replaced_file
from lntheory.base.terminal import Report, progress_bar
from lntheory.cli.certificate import certificate_rows, certificate_values
from lntheory.cli.options import JsonOption, LabelOption, NetArgument, load_labelled
from lntheory.data import Dataset
from lntheory.errors import InvalidInputError, MissingDependencyError, RefutedError

if TYPE_CHECKING:
    from lntheory.nn import LNSequential

__all__ = ["export"]


class DType(StrEnum):
    """The numbers of an exported net."""

    float64 = "float64"
    float32 = "float32"


def export(
    net: NetArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="net.onnx (ONNX) or net.pt2 (a torch program), by its suffix."
        ),
    ],
    data: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="Prove that the exported net gives these their labels."),
    ] = None,
    eps: Annotated[
        float,
        typer.Option(
            metavar="EPS",
            help="Epsilon of the norms, as 1e-5; the layers are scaled up until the labels survive it, which "
            "needs DATA. 0 keeps the net's own.",
        ),
    ] = 0.0,
    dtype: Annotated[DType, typer.Option(help="Numbers of the exported net.")] = DType.float64,
    label: LabelOption = None,
    as_json: JsonOption = False,
) -> Report:
    """Write a net for torch or for ONNX runtimes; with data, only if it provably keeps every label.

    Proved in real arithmetic with this epsilon, and against rounding in these numbers in any order. The file
    is then run once. Nothing is written otherwise.
    """
    from lntheory.network import LNNet

    writer = {".onnx": _write_onnx, ".pt2": _write_program}.get(out.suffix)
    if writer is None:
        raise InvalidInputError(f"--out {out}: choose a name that ends in .onnx or .pt2")
    network, dataset = LNNet.load(net), None if data is None else load_labelled(data, label)
    module = _converted(network, dataset, eps, dtype)
    with replaced_file(out) as beside:
        run = writer(module, beside)
        if dataset is not None:
            _require_labels(run(dataset.X.astype(dtype)), module, dataset)
    return Report(_values(module, out, dtype), _rows(module, out, dtype), as_json)


def _converted(network: Any, dataset: Dataset | None, eps: float, dtype: DType) -> LNSequential:
    from lntheory import nn

    X, y = (None, None) if dataset is None else (dataset.X, dataset.y)
    with progress_bar("converting" if dataset is None else "proving") as progress:
        return nn.to_torch(network, eps, X=X, y=y, dtype=dtype.value, progress=progress)


def _values(module: LNSequential, out: Path, dtype: DType) -> dict[str, Any]:
    certificate = module.certificate
    return {
        "status": "shown" if certificate is None else "proved",
        "file": str(out),
        "dtype": str(dtype),
        "eps": module.normalization.eps,
        "exponent": module.exponent,
        "classes": list(module.classes),
        "score_error": module.score_error,
        **({} if certificate is None else certificate_values(certificate)),
    }


def _rows(module: LNSequential, out: Path, dtype: DType) -> list[tuple[str, str]]:
    rows = [
        ("file", str(out)),
        ("numbers", f"{dtype}, eps {module.normalization.eps:g}, layers scaled by 2^{module.exponent}"),
        ("classes", ", ".join(map(str, module.classes))),
    ]
    if module.certificate is None:
        return [*rows, ("proved", "nothing; name the DATA whose labels it has to keep")]
    return [
        *rows,
        *certificate_rows(module.certificate),
        ("rounding", f"moves a score by at most {module.score_error:.3g}, in any order: proved"),
        ("the file", "was run on the data here: the same labels"),
    ]


def _write_onnx(module: LNSequential, path: Path) -> Callable[[Any], Any]:
    """Write the module to a file; return a function that runs the file, from samples to scores."""
    from lntheory.nn.onnx import export_onnx

    export_onnx(module, path)

    def run(X: Any) -> Any:
        try:
            import onnxruntime
        except ModuleNotFoundError:
            raise MissingDependencyError(
                "running the file needs onnxruntime; pip install 'lntheory[onnx]', or leave DATA out"
            ) from None
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return session.run(["scores"], {"X": X})[0]

    return run


def _write_program(module: LNSequential, path: Path) -> Callable[[Any], Any]:
    import torch

    from lntheory.nn import export_program

    with progress_bar("exporting"):
        export_program(module, path)
    return lambda X: torch.export.load(path).module()(torch.from_numpy(X)).detach().numpy()


def _require_labels(scores: Any, module: LNSequential, dataset: Dataset) -> None:
    predicted = module.labels(scores).tolist()
    wrong = [i for i, (a, b) in enumerate(zip(predicted, dataset.y.tolist(), strict=True)) if a != b]
    if wrong:
        raise RefutedError(
            f"the file gives sample {wrong[0]} another label when it is run here, though the module keeps "
            "it: the runtime rounds worse than float arithmetic should; use another runtime",
            wrong,
        )
