"""Norm layers beside the nearest layers of torch, forward and backward."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

from benchmarks.page import Page, show

REPEATS = 25
VECTORS, SEQUENCES, IMAGES = (4096, 256), (32, 128, 512), (32, 64, 32, 32)

TEXT = (
    "The layers of `lntheory.nn` beside the nearest layer of torch on the same input, with weight and bias: "
    "milliseconds of ours, and the ratio ours / torch's, of a forward pass that keeps what gradients need, "
    f"and of that pass with its gradients. Ours and torch's take turns; medians of {REPEATS}. On a CPU one "
    "thread and processor time, on a GPU time on the wall until it is done. *Last* means channels last in "
    "memory (channels_last). On a CPU torch's GroupNorm scales before it centres, and its half kernels do: "
    "constant rows do not give zeros there. Ours do, and pay for it with a pass over the input."
)
HEADER = ("input", "layer", "beside", "forward ms", "ratio", "with gradients ms", "ratio")


class Case(NamedTuple):
    """A layer, what torch has for it, and what both are applied to."""

    shape: tuple[int, ...]
    kind: str
    groups: int | None
    nearest: str
    last: bool = False
    half: bool = False


CASES = (
    Case(VECTORS, "ln", None, "LayerNorm"),
    Case(VECTORS, "ln", None, "LayerNorm", half=True),
    Case(SEQUENCES, "ln", None, "LayerNorm"),
    Case(VECTORS, "ln-g", 8, "GroupNorm"),
    Case(VECTORS, "ln-g", 32, "GroupNorm"),
    Case(VECTORS, "ln-g", 64, "GroupNorm"),
    Case(VECTORS, "ln-g", 128, "GroupNorm"),
    Case(SEQUENCES, "ln-g", 32, "GroupNorm"),
    Case(VECTORS, "rms", None, "RMSNorm"),
    Case(VECTORS, "rms-g", 32, "GroupNorm"),
    Case(IMAGES, "ln", None, "GroupNorm"),
    Case(IMAGES, "gn", 8, "GroupNorm"),
    Case(IMAGES, "gn", 8, "GroupNorm", last=True),
    Case(IMAGES, "gn", 8, "GroupNorm", half=True),
    Case(IMAGES, "in", None, "InstanceNorm2d"),
    Case(IMAGES, "ln-position", None, "LayerNorm"),
    Case(IMAGES, "ln-position", None, "LayerNorm", last=True),
    Case(IMAGES, "ln-g-position", 8, "GroupNorm"),
    Case(IMAGES, "ln-g-position", 8, "GroupNorm", last=True),
    Case(IMAGES, "ln-g-position", 16, "GroupNorm", last=True),
)


def _nearest(case: Case, device: str) -> Callable[[Any], Any]:
    """Torch's layer, features brought to where it looks for them."""
    from torch import nn

    features = case.shape[1] if len(case.shape) == 4 else case.shape[-1]
    layer: Any
    if case.nearest == "GroupNorm":
        layer = nn.GroupNorm(case.groups or 1, features)
    elif case.nearest == "InstanceNorm2d":
        layer = nn.InstanceNorm2d(features, affine=True)
    else:
        layer = getattr(nn, case.nearest)(features, eps=1e-5)
    layer = layer.to(device)
    rows = len(case.shape) != 4
    if not rows and not case.kind.endswith("position"):
        return layer  # type: ignore[no-any-return]
    flat = case.nearest == "GroupNorm"

    def apply(x: Any) -> Any:
        x = x if rows else x.permute(0, 2, 3, 1)
        y = layer(x.reshape(-1, features)).reshape(x.shape) if flat else layer(x)
        return y if rows else y.permute(0, 3, 1, 2)

    apply.layer = layer  # type: ignore[attr-defined]
    return apply


def _row(case: Case, device: str) -> tuple[str, ...]:
    import torch

    from lntheory.nn import make_norm

    torch.manual_seed(0)
    images = len(case.shape) == 4
    dtype = torch.bfloat16 if case.half else torch.float32
    x = torch.randn(case.shape, dtype=dtype, device=device)
    x = x.contiguous(memory_format=torch.channels_last) if case.last else x
    features = case.shape[1] if images else case.shape[-1]
    ours = make_norm(case.kind, features, num_groups=case.groups, dim=2 if images else 0).to(device, dtype)
    theirs = _nearest(case, device)
    getattr(theirs, "layer", theirs).to(dtype)
    forward, both = _seconds((ours, theirs), x.requires_grad_())
    name = f"{case.kind}, {case.groups} groups" if case.groups else case.kind
    what = (
        "x".join(map(str, case.shape)) + (", last" if case.last else "") + (", bfloat16" if case.half else "")
    )
    figures = (
        figure
        for seconds in (forward, both)
        for figure in (show(1e3 * seconds[0]), f"{seconds[0] / seconds[1]:.2f}")
    )
    return (what if device == "cpu" else f"{what}, GPU", name, case.nearest, *figures)


def _seconds(layers: tuple[Any, Any], x: Any) -> tuple[list[float], list[float]]:
    """Medians of a forward pass and of one with gradients, for each layer."""
    import torch

    def clock() -> float:
        if x.is_cuda:
            torch.cuda.synchronize()
            return time.perf_counter()
        return time.process_time()

    forward: tuple[list[float], list[float]] = ([], [])
    both: tuple[list[float], list[float]] = ([], [])
    for repeat in range(REPEATS + 3):
        for k, layer in enumerate(layers):
            x.grad = None
            start = clock()
            y = layer(x)
            middle = clock()
            seed = y.detach()
            again = clock()
            y.backward(seed)
            end = clock()
            if repeat >= 3:  # the first ones warm up
                forward[k].append(middle - start)
                both[k].append(middle - start + end - again)
    return [median(seconds) for seconds in forward], [median(seconds) for seconds in both]


def pages() -> Iterator[Page]:
    """One page; none, with a word why, where torch is not installed."""
    try:
        import torch
    except ImportError:
        print("torch_norms: left out, torch is not installed (pip install -e '.[torch]')")
        return
    torch.set_num_threads(1)
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    rows = [_row(case, device) for device in devices for case in CASES]
    text = TEXT if len(devices) > 1 else f"{TEXT} No GPU was there: on one, this is unmeasured."
    yield Page("Norm layers in torch", text, HEADER, rows)
