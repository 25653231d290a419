"""LN-Nets as ONNX files.

The normalization is written as elementary operators, so that every runtime centres before it squares and
takes any eps, 0 included::

    h ─► Reshape (groups) ─┬─► ReduceMean ─► Sub ─┬─► Mul ─► ReduceMean ─► Add eps ─► Sqrt ─► Div ─► Reshape
                           └──────────────────────┴───────────────────────────────────────────┘

(A runtime's own LayerNormalization may compute mean(x²) - mean(x)², which cancels.) This is the arithmetic
that `lntheory.network.roundoff` describes, so what `lntheory.nn.to_torch` proved about a module in its dtype
holds for the file too.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from lntheory._version import __version__
from lntheory.base.files import replaced_file
from lntheory.errors import InvalidInputError, MissingDependencyError
from lntheory.network import LNNet
from lntheory.nn.bridge import dtype_of, from_torch, to_torch

if TYPE_CHECKING:
    import onnx

__all__ = ["export_onnx"]

OPSET = 17
"""Version of the operators; every onnxruntime since 1.12 reads it."""
_IR_VERSION = 8


def export_onnx(net: LNNet | nn.Sequential, path: str | os.PathLike[str]) -> None:
    """Write a net, or a module of `to_torch`, as an ONNX file.

    Parameters
    ----------
    net : LNNet or nn.Sequential
        A net is written in float64, a module (any that `from_torch` takes) in its own dtype.
    path : path-like
        Ends in ``.onnx``. The file appears whole or not at all.

    Raises
    ------
    InvalidInputError
        If the net is dyadic, `from_torch` does not take the module, or eps overflows its dtype.
    MissingDependencyError
        If onnx is not installed.

    Notes
    -----
    Input ``X``, shape (n_samples, n_features), n_samples free. Outputs ``scores``, shape (n_samples,
    n_rows), and ``class_index``, int64, shape (n_samples,): the index into the classes. The metadata holds
    the classes as JSON under ``classes``, and under ``net_sha256`` the hash that a certificate names.

    Examples
    --------
    >>> import tempfile, onnx
    >>> from lntheory.network import Layer
    >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(net, os.path.join(folder, "net.onnx"))
    ...     model = onnx.load(os.path.join(folder, "net.onnx"))
    >>> {entry.key: entry.value for entry in model.metadata_props}["classes"]
    '["low", "high"]'
    """
    try:
        import onnx
    except ModuleNotFoundError:
        raise MissingDependencyError(
            "ONNX files need the package onnx; pip install 'lntheory[onnx]'"
        ) from None
    if os.path.splitext(path)[1] != ".onnx":
        raise InvalidInputError(f"{path}: choose a name that ends in .onnx")
    module = to_torch(net) if isinstance(net, LNNet) else net
    held, dtype = from_torch(module), dtype_of(module)
    if dtype not in (torch.float64, torch.float32):
        raise InvalidInputError(f"the module is in {dtype}; convert it to torch.float64 or torch.float32")
    number = np.dtype(str(dtype).removeprefix("torch."))
    if not _holds(number, held):
        raise InvalidInputError(
            f"the affine maps of this module multiply out to numbers wider than {number}, so the file would "
            "be another function; use norms without weight and bias, or torch.onnx.export"
        )
    if held.normalization.eps > float(np.finfo(number).max):
        raise InvalidInputError(
            f"eps={held.normalization.eps} overflows {number}; use a smaller eps, or float64"
        )
    model = _model(held, number)
    onnx.checker.check_model(model, full_check=True)
    with replaced_file(path) as beside:
        beside.write_bytes(model.SerializeToString(deterministic=True))


def _holds(number: np.dtype[Any], net: LNNet) -> bool:
    """Whether every parameter of the net is a number of this type."""
    if net.arithmetic == "dyadic":
        return False
    parameters = (values for layer in (*net.layers, net.readout) for values in (layer.weight, layer.bias))
    with np.errstate(over="ignore", under="ignore"):
        return all(np.array_equal(values.astype(number), values) for values in parameters)


class _Graph:
    """The nodes and constants of a graph; every method adds some and returns the name of its result."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, values: Any, dtype: Any = None) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.array(values, dtype=dtype or self.dtype), name))
        return name

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def affine(self, x: str, weight: Any, bias: Any, where: str, output: str) -> str:
        parameters = [self.constant(f"{where}.weight", weight), self.constant(f"{where}.bias", bias)]
        return self.node("Gemm", [x, *parameters], output, transB=1)

    def normalization(self, x: str, net: LNNet, width: int, where: str) -> str:
        norm = net.normalization
        n_groups = norm.num_groups or 1
        if n_groups > 1:
            shape = self.constant(f"{where}.groups", [0, n_groups, width // n_groups], np.int64)
            x = self.node("Reshape", [x, shape], f"{where}.grouped")
        if norm.kind != "rms_norm":
            mean = self.node("ReduceMean", [x], f"{where}.mean", axes=[-1])
            x = self.node("Sub", [x, mean], f"{where}.centred")
        square = self.node("Mul", [x, x], f"{where}.squares")
        variance = self.node("ReduceMean", [square], f"{where}.variance", axes=[-1])
        if norm.eps:
            variance = self.node("Add", [variance, self.constant(f"{where}.eps", norm.eps)], f"{where}.sum")
        deviation = self.node("Sqrt", [variance], f"{where}.deviation")
        x = self.node("Div", [x, deviation], f"{where}.normalized")
        if n_groups > 1:
            shape = self.constant(f"{where}.width", [0, width], np.int64)
            x = self.node("Reshape", [x, shape], f"{where}.points")
        return x

    def class_index(self, scores: str, net: LNNet) -> str:
        if net.readout.n_out > 1 or len(net.classes) == 1:
            return self.node("ArgMax", [scores], "class_index", axis=1, keepdims=0)
        from onnx import TensorProto

        positive = self.node("Greater", [scores, self.constant("zero", 0.0)], "positive")
        number = self.node("Cast", [positive], "positive.number", to=TensorProto.INT64)
        return self.node("Reshape", [number, self.constant("flat", [-1], np.int64)], "class_index")


def _model(net: LNNet, dtype: np.dtype[Any]) -> onnx.ModelProto:
    from onnx import TensorProto, helper

    graph = _Graph(dtype)
    points = "X"
    for k, layer in enumerate(net.layers):
        where = f"layers.{k}"
        points = graph.affine(points, layer.weight, layer.bias, where, f"{where}.affine")
        points = graph.normalization(points, net, layer.n_out, where)
    scores = graph.affine(points, net.readout.weight, net.readout.bias, "readout", "scores")
    graph.class_index(scores, net)

    number = helper.np_dtype_to_tensor_dtype(dtype)
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "LN-Net",
            [helper.make_tensor_value_info("X", number, ["n_samples", net.n_features])],
            [
                helper.make_tensor_value_info("scores", number, ["n_samples", net.readout.n_out]),
                helper.make_tensor_value_info("class_index", TensorProto.INT64, ["n_samples"]),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=_IR_VERSION,
        producer_name="lntheory",
        producer_version=__version__,
    )
    helper.set_model_props(model, {"classes": json.dumps(net.classes), "net_sha256": net.sha256})
    return model
