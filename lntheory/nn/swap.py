"""The replacement of a model's norms by others, in place, with their parameters kept.

```
   Block                              Block
   ├── attention                      ├── attention
   ├── norm1  LayerNorm(512)    ──►   ├── norm1  GroupLayerNorm(512, num_groups=32)
   │          weight ● bias ●         │          weight ● bias ●      the same Parameter objects:
   └── mlp                            └── mlp                         optimizers, ties, state dicts stay valid
```

All replacements are planned and made before the model is changed, so an error leaves the model as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize

from lntheory.base.markdown import markdown_table
from lntheory.errors import InvalidInputError, excerpt
from lntheory.nn import registry
from lntheory.nn.recognition import NormDescription, describe, looks_like_a_norm, require_initialized
from lntheory.nn.registry import make_norm

__all__ = ["NormSwap", "SwapReport", "swap_norms"]

Source = type[nn.Module] | tuple[type[nn.Module], ...] | Callable[[str, nn.Module], bool]
Target = str | Callable[[nn.Module], nn.Module | None]

_HOOKS = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip
_AFFINE = ("weight", "bias")


@dataclass(frozen=True)
class NormSwap:
    """The outcome of `swap_norms` for one module.

    Attributes
    ----------
    names : tuple of str
        The module's names in the model; more than one for a shared module.
    before : str
        The module, as torch prints it.
    after : str or None
        Its replacement, as torch prints it; None if the module was left.
    reason : str
        Why the module was left, or a remark on its replacement; "" for none.
    """

    names: tuple[str, ...]
    before: str
    after: str | None
    reason: str

    @property
    def replaced(self) -> bool:
        """Whether the module was replaced."""
        return self.after is not None


@dataclass(frozen=True)
class SwapReport:
    """Every module that normalizes, replaced or left; ``print`` shows it as a table.

    Attributes
    ----------
    rows : tuple of NormSwap
        One for each module, in the model's order.
    """

    rows: tuple[NormSwap, ...]

    @property
    def replaced(self) -> tuple[NormSwap, ...]:
        """The modules that were replaced."""
        return tuple(row for row in self.rows if row.replaced)

    @property
    def left(self) -> tuple[NormSwap, ...]:
        """The modules that were left as they were, with the reason."""
        return tuple(row for row in self.rows if not row.replaced)

    def to_markdown(self) -> str:
        """The table."""
        header = ("where", "before", "after", "note")
        return markdown_table(
            header, [(", ".join(r.names), r.before, r.after or "(left)", r.reason) for r in self.rows]
        )

    def __str__(self) -> str:
        verdict = (
            f"{len(self.replaced)} of {len(self.rows)} norms replaced, {len(self.left)} left as they were."
        )
        return f"{self.to_markdown()}\n\n{verdict}" if self.rows else f"The model has no norms: {verdict}"


def swap_norms(
    model: nn.Module,
    source: Source = nn.LayerNorm,
    *,
    target: Target,
    copy_affine: bool = True,
    strict: bool = False,
    **options: Any,
) -> SwapReport:
    """Replace the norms of a model in place.

    A replacement takes the place of the old module, with its weight and bias, eps, device, type and mode. The
    Parameter objects are the same: an optimizer made before stays valid, ties stay ties, frozen parameters
    stay frozen, old state dicts load. A module used in several places is replaced by one module in all of
    them. A module that cannot be replaced is left, and the report says why.

    Parameters
    ----------
    model : nn.Module
    source : class, tuple of classes, or callable
        The modules to replace: instances of the classes (subclasses too), or modules for which
        ``source(name, module)`` is true.
    target : str or callable
        A kind of `lntheory.nn.make_norm`, say "ln-g"; or ``target(module)``, which returns the replacement,
        or None to leave the module.
    copy_affine : bool
        False: replacements keep the weight and bias that they were made with.
    strict : bool
        If true and a module of the source cannot be replaced, or there is none, raise an error and leave the
        model as it is.
    **options
        Options of a kind: ``num_groups`` or ``group_size``; ``eps``, by default the old module's; ``dim``,
        which is needed for modules that take several layouts (BatchNorm1d, GroupNorm, SyncBatchNorm) and
        ignored for others.

    Returns
    -------
    SwapReport

    Raises
    ------
    InvalidInputError
        If the kind is unknown or does not take an option; if `strict` and a module cannot be replaced, with
        the names of all such modules. The model is then unchanged, as after any error of a callable.

    Notes
    -----
    These modules are left: those whose affine parameters or layout do not suit the target (LayerNorm over
    several axes), those whose features the groups do not divide, those with hooks or parametrizations (which
    would be lost), the model itself (nothing holds it), and classes of other libraries that compute neither
    weight * LN(x) + bias nor weight * RMSNorm(x) + bias.

    In evaluation mode torch's ``TransformerEncoderLayer`` computes LayerNorm from the *parameters* of its
    norms without calling them. That fast path is switched off wherever a norm was replaced, so that
    evaluation and training agree; the report says so.

    Norms that are not submodules (in a plain list or a closure) cannot be seen and stay as they are. A
    compiled or exported model keeps the old norms, so swap before that. A buffer of the old module (running
    statistics) is dropped.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(8, 12), nn.LayerNorm(12), nn.Linear(12, 6), nn.LayerNorm(6))
    >>> weight = model[1].weight
    >>> print(swap_norms(model, target="ln-g", num_groups=4).left[0].reason)
    num_groups=4 does not divide num_features=6 into equal groups; pass a positive divisor of 6.
    >>> model[1], model[1].weight is weight
    (GroupLayerNorm(12, num_groups=4, dim=0, eps=1e-05, affine=True, bias=True), True)
    """
    make = _maker(target, options)
    matches = _matcher(source)
    rows: list[NormSwap] = []
    plan: list[tuple[nn.Module, nn.Module]] = []
    failed: list[NormSwap] = []
    for names, module in _occurrences(model):
        before = str(module)
        if not matches(names[0], module):
            if looks_like_a_norm(module):
                rows.append(NormSwap(names, before, None, f"not of the source {_source_name(source)}"))
            continue
        try:
            _require_replaceable(names[0], module)
            used = [replacement for _, replacement in plan]
            replacement, notes = _replacement(
                module, make, copy_affine, used, is_kind=isinstance(target, str)
            )
        except InvalidInputError as error:
            failed.append(NormSwap(names, before, None, str(error)))
            rows.append(failed[-1])
            continue
        if replacement is None:
            rows.append(NormSwap(names, before, None, "the target returned None"))
            continue
        if any(isinstance(parent, nn.TransformerEncoderLayer) for parent, _ in _holders(model, module)):
            notes.append("fast path of TransformerEncoderLayer switched off")
        rows.append(NormSwap(names, before, str(replacement), "; ".join(notes)))
        plan.append((module, replacement))
    if strict:
        _require_all(failed, plan, source)
    for module, replacement in plan:
        _put(model, module, replacement)
    return SwapReport(tuple(rows))


def _maker(target: Target, options: dict[str, Any]) -> Callable[[nn.Module], nn.Module | None]:
    if not isinstance(target, str):
        if not callable(target):
            raise InvalidInputError(
                f"target is {excerpt(target)}; pass a kind ({', '.join(registry.NORMS)}) or a callable."
            )
        if options:
            raise InvalidInputError(
                f"options {sorted(options)} are for kinds; a callable target makes its modules itself."
            )
        return target
    if target not in registry.NORMS:
        raise InvalidInputError(
            f"target is {excerpt(target)}; choose one of {', '.join(registry.NORMS)}, or pass a callable."
        )
    unknown = sorted(set(options) - {"num_groups", "group_size", "eps", "dim"})
    if unknown:
        raise InvalidInputError(f"unknown options {unknown}; pass num_groups, group_size, eps or dim.")

    def make(module: nn.Module) -> nn.Module:
        known = describe(module)
        kwargs = {"eps": known.eps, **options, "dim": _dim(known, options.get("dim"))}
        affine = getattr(module, "weight", None) is not None
        return make_norm(target, known.num_features, affine=affine, **kwargs)

    return make


def _dim(known: NormDescription, given: int | None) -> int:
    dim = known.dim if known.dim is not None else given
    if dim is None:
        raise InvalidInputError(
            "it takes inputs of several layouts: pass dim=0 if yours are (..., C), dim=1 for (N, C, L), "
            "dim=2 for (N, C, H, W)"
        )
    return dim


def _matcher(source: Source) -> Callable[[str, nn.Module], bool]:
    if isinstance(source, (type, tuple)):
        classes = source if isinstance(source, tuple) else (source,)
        if not classes or not all(isinstance(c, type) and issubclass(c, nn.Module) for c in classes):
            raise InvalidInputError(f"source is {excerpt(source)}; pass classes of modules, or a callable.")
        return lambda name, module: isinstance(module, classes)
    if not callable(source):
        raise InvalidInputError(
            f"source is {excerpt(source)}; pass a class, a tuple of classes or a callable."
        )
    return source


def _source_name(source: Source) -> str:
    classes = source if isinstance(source, tuple) else (source,)
    return " or ".join(getattr(c, "__name__", type(c).__name__) for c in classes)


def _occurrences(model: nn.Module) -> Iterator[tuple[tuple[str, ...], nn.Module]]:
    """Every module once, with all of its names, in the model's order."""
    names: dict[nn.Module, list[str]] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        names.setdefault(module, []).append(name)
    return ((tuple(names_of_one), module) for module, names_of_one in names.items())


def _holders(model: nn.Module, module: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    for parent in model.modules():
        for name, child in parent._modules.items():
            if child is module:
                yield parent, name


def _require_replaceable(name: str, module: nn.Module) -> None:
    if not name:
        raise InvalidInputError("it is the model itself, which nothing holds: wrap it, say in nn.Sequential")
    require_initialized(module)
    if isinstance(module, torch.jit.ScriptModule):
        raise InvalidInputError("it is compiled by TorchScript: swap before scripting")
    if parametrize.is_parametrized(module):
        raise InvalidInputError("it is parametrized, which would be lost: remove the parametrizations first")
    if any(getattr(module, hooks, None) for hooks in _HOOKS):
        raise InvalidInputError("it has hooks, which would be lost: remove them first")
    if "forward" in vars(module):
        raise InvalidInputError("its forward was replaced on the instance, which would be lost")


def _replacement(
    module: nn.Module,
    make: Callable[[nn.Module], nn.Module | None],
    copy_affine: bool,
    used: list[nn.Module],
    *,
    is_kind: bool,
) -> tuple[nn.Module | None, list[str]]:
    """The new module, ready to be put in (None to leave the old one), and remarks for the report."""
    if copy_affine:
        describe(module)  # raises unless the module's weight multiplies the normalized features
    replacement = make(module)
    if replacement is None:
        return None, []
    if not isinstance(replacement, nn.Module):
        raise InvalidInputError(f"the target returned {excerpt(replacement)}, neither a module nor None")
    if replacement is module:
        raise InvalidInputError("the target returned the module itself")
    if any(replacement is other for other in used):
        raise InvalidInputError(
            "the target returned one module a second time, which would tie two norms: return a new one"
        )
    placed = next((t for t in (*module.parameters(), *module.buffers()) if t.is_floating_point()), None)
    if placed is not None:
        replacement.to(device=placed.device, dtype=placed.dtype)
    replacement.train(module.training)
    notes = _adopt(module, replacement, is_kind) if copy_affine else []
    kept = {id(parameter) for parameter in module.parameters()}
    new = [name for name, parameter in replacement.named_parameters() if id(parameter) not in kept]
    if new:
        notes.append(f"new parameters, in no optimizer yet: {', '.join(new)}")
    stays = {id(parameter) for parameter in replacement.parameters()}
    others = [
        name
        for name, parameter in module.named_parameters()
        if name not in _AFFINE and id(parameter) not in stays
    ]
    if others:
        notes.append(f"other parameters dropped: {', '.join(others)}")
    if any(True for _ in module.buffers()):
        notes.append("running statistics dropped")
    return replacement, notes


def _adopt(module: nn.Module, replacement: nn.Module, is_kind: bool) -> list[str]:
    """Give the replacement the module's weight and bias, as the same objects; return remarks on it."""
    dropped = []
    for name in _AFFINE:
        old, slot = module._parameters.get(name), replacement._parameters.get(name)
        if old is not None and slot is not None:
            if old.shape != slot.shape:
                raise InvalidInputError(
                    f"its {name} has the shape {tuple(old.shape)}, that of the replacement "
                    f"{tuple(slot.shape)}; pass copy_affine=False to start from new ones"
                )
            replacement.register_parameter(name, old)
        elif old is not None:
            dropped.append(name)
        elif slot is not None and is_kind:
            replacement.register_parameter(name, None)  # the old module had none
    return [f"{' and '.join(dropped)} dropped"] if dropped else []


def _require_all(failed: list[NormSwap], plan: list[tuple[nn.Module, nn.Module]], source: Source) -> None:
    if failed:
        reasons = "; ".join(f"{', '.join(row.names) or 'the model'}: {row.reason}" for row in failed[:5])
        more = f" ({len(failed)} in all)" if len(failed) > 5 else ""
        raise InvalidInputError(f"Nothing was replaced, for not everything can be: {reasons}{more}.")
    if not plan:
        raise InvalidInputError(f"The model has no module of the source {_source_name(source)} to replace.")


def _put(model: nn.Module, module: nn.Module, replacement: nn.Module) -> None:
    for parent, name in list(_holders(model, module)):
        setattr(parent, name, replacement)
        if isinstance(parent, nn.TransformerEncoderLayer):
            _leave_fast_path(model, parent)


def _leave_fast_path(model: nn.Module, layer: nn.TransformerEncoderLayer) -> None:
    """Make torch call the layer's norms: its fused kernel would compute LayerNorm from their parameters.

    The attribute says only whether that kernel knows the activation; it is copied with the layer, and an
    encoder made of copies sees it.
    """
    layer.activation_relu_or_gelu = 0
    for encoder in model.modules():
        if isinstance(encoder, nn.TransformerEncoder) and any(
            module is layer for module in encoder.modules()
        ):
            encoder.use_nested_tensor = False  # nested tensors are for that kernel, too
