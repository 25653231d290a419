"""What the loop trains: one net, or a stack of nets of one shape, with one face.

::

                        linear0.weight   linear0.bias  norm0.weight …
             member 0  ┌───────────────┬─────────────┬──────────────┬──┐  lr 0.01 ┐ one parameter group of
    stack    member 1  │               │             │              │  │  lr 0.01 ┘ torch's fused optimizer
             member 2  │               │             │              │  │  lr 0.1    the next one
                       └───────────────┴─────────────┴──────────────┴──┘
                       one row a member: parameters, and likewise momenta and running statistics

Every member has its own initial weights, batches, labels, learning rate and optimizer state. The forward
pass is that of one net, mapped over rows by `torch.func.vmap`, and no operation mixes rows: each member is
the run that it would be alone, up to rounding, and what becomes NaN in one row stays there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from ..models import build
from ..run.config import RunConfig
from .samples import Batch, Samples, Splits, parameter_dtype

__all__ = ["NetStack", "OneNet", "clip_", "make_optimizer"]

Each = Callable[[Any, Any], Tensor]


class OneNet:
    """One net, as the loop sees it: a stack of one without the axis of members.

    Parameters
    ----------
    module : nn.Module
        On the device; what holds the weights.
    forward : callable
        What is called in training: the module, or Fabric's wrapper that adds up gradients of processes.
    config : RunConfig
    """

    member_axis = 0

    def __init__(self, module: nn.Module, forward: Callable[..., Any], config: RunConfig) -> None:
        self.module, self.forward, self.configs = module, forward, [config]

    def batches(self, samples: Samples, epoch: int) -> Sequence[Tensor]:
        """Indices of the batches of an epoch."""
        config = self.configs[0]
        return samples.batches(config.seed, epoch, config.batch_size)

    def batch(self, samples: Samples, index: Tensor) -> Batch:
        """The samples of these indices."""
        return samples.batch(index)

    def outputs(self, inputs: tuple[Any, ...], *, training: bool) -> Any:
        """What the net makes of a batch."""
        if not training:
            return self.module(*inputs)
        return self.forward(*inputs)

    def train(self, mode: bool) -> None:
        """Training or evaluation mode."""
        self.module.train(mode)

    def each(self, function: Each, outputs: Any, targets: Any) -> Tensor:
        """The value of every member, shape (members,)."""
        return function(outputs, targets).reshape(1)

    def groups(self) -> list[tuple[RunConfig, list[Tensor]]]:
        """What the optimizer steps, by config."""
        return [(self.configs[0], [p for p in self.module.parameters() if p.requires_grad])]

    def gradients(self) -> list[Tensor]:
        """After a backward pass."""
        return [p.grad for p in self.module.parameters() if p.grad is not None]

    def hand_out(self, optimizer: torch.optim.Optimizer) -> None:
        """Gradients are where the optimizer looks for them."""

    def zero_grad(self) -> None:
        """Forget them."""
        self.module.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Any]:
        """Weights and buffers by name."""
        return self.module.state_dict()

    def load(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        self.module.load_state_dict(state)

    def weights(self, member: int) -> dict[str, Tensor]:
        """A state dict of one member's module."""
        return self.module.state_dict()


class NetStack:
    """Nets of one shape that train together. Row k of every array belongs to member k.

    Parameters
    ----------
    configs : sequence of RunConfig
        Equal but for seeds and what the optimizer does with a gradient.
    splits : Splits
        Of the first config; all have its inputs.
    labels : Tensor, shape (members, n)
        Of the training samples.
    device : torch.device
    """

    member_axis = 1

    def __init__(
        self, configs: Sequence[RunConfig], splits: Splits, labels: Tensor, device: torch.device
    ) -> None:
        assert splits.images is not None
        self.configs, self.labels, self.train_samples = list(configs), labels, splits.train
        shape, n_classes = splits.images.shape, splits.images.n_classes
        dtype = parameter_dtype(configs[0])
        members = [build(c.model, shape, n_classes, c.seed).to(device, dtype) for c in configs if c.model]
        self.parameters, self.buffers = stack_module_state(members)
        self.module = members[0].to("meta")  # the forward pass, without numbers

    def batches(self, samples: Samples, epoch: int) -> Sequence[Tensor]:
        """Indices of the batches of an epoch, each (members, batch)."""
        own = {c.seed: samples.batches(c.seed, epoch, c.batch_size) for c in self.configs}
        return [
            torch.stack([own[c.seed][k] for c in self.configs]) for k in range(len(own[self.configs[0].seed]))
        ]

    def batch(self, samples: Samples, index: Tensor) -> Batch:
        """Samples (members, batch, ...) and labels (members, batch) of indices of that shape, or (batch,)."""
        index = index.to(self.labels.device).expand(len(self.configs), -1)
        (X,), y = samples.batch(index.flatten())
        own = self.labels.gather(1, index) if samples is self.train_samples else y.view_as(index)
        return (X.unflatten(0, index.shape),), own

    def outputs(self, inputs: tuple[Any, ...], *, training: bool) -> Any:
        """What every member makes of its batch."""

        def one(parameters: dict[str, Tensor], buffers: dict[str, Tensor], *inputs: Tensor) -> Any:
            return functional_call(self.module, (parameters, buffers), inputs)

        return vmap(one)(self.parameters, self.buffers, *inputs)

    def train(self, mode: bool) -> None:
        """Training or evaluation mode."""
        self.module.train(mode)

    def each(self, function: Each, outputs: Any, targets: Any) -> Tensor:
        """The value of every member, shape (members,)."""
        return vmap(function)(outputs, targets)

    def groups(self) -> list[tuple[RunConfig, list[Tensor]]]:
        """Views of rows that share an optimizer and a schedule."""
        return [
            (self.configs[rows.start], [value.detach()[rows] for value in self.parameters.values()])
            for rows in self._blocks()
        ]

    def _blocks(self) -> Iterator[slice]:
        def key(row: int) -> tuple[Any, ...]:
            return self.configs[row].optimizer, self.configs[row].schedule

        for _, rows in itertools.groupby(range(len(self.configs)), key=key):
            first, *others = rows
            yield slice(first, first + 1 + len(others))

    def gradients(self) -> list[Tensor]:
        """After a backward pass."""
        return [value.grad for value in self.parameters.values() if value.grad is not None]

    def hand_out(self, optimizer: torch.optim.Optimizer) -> None:
        """Give every view the gradient of its rows."""
        for rows, group in zip(self._blocks(), optimizer.param_groups, strict=True):
            for view, value in zip(group["params"], self.parameters.values(), strict=True):
                view.grad = None if value.grad is None else value.grad[rows]

    def zero_grad(self) -> None:
        """Forget them."""
        for value in self.parameters.values():
            value.grad = None

    def state(self) -> dict[str, Any]:
        """Parameters and buffers by name."""
        return {name: value.detach() for name, value in {**self.parameters, **self.buffers}.items()}

    def load(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        ours = self.state()
        if ours.keys() != state.keys():
            raise ValueError(
                f"arrays {', '.join(sorted(ours.keys() ^ state.keys()))} are missing or too many"
            )
        for name, value in ours.items():
            if value.shape != state[name].shape:
                raise ValueError(f"{name} of shape {tuple(state[name].shape)}, expected {tuple(value.shape)}")
            value.copy_(state[name])

    def weights(self, member: int) -> dict[str, Tensor]:
        """A state dict of one member's module."""
        return {name: value[member].clone() for name, value in self.state().items()}


def make_optimizer(of: Sequence[tuple[RunConfig, list[Tensor]]]) -> torch.optim.Optimizer:
    """One optimizer with a parameter group for each (config, parameters), as one fused kernel."""
    groups: list[dict[str, Any]] = []
    for config, parameters in of:
        wanted = config.optimizer
        options = {"lr": wanted.lr, "weight_decay": wanted.weight_decay}
        if wanted.name == "sgd":
            own: dict[str, Any] = {"momentum": wanted.momentum}
        else:
            own = {"betas": tuple(wanted.betas), "eps": wanted.eps}
        groups.append({"params": parameters, **options, **own})
    kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    return kinds[of[0][0].optimizer.name](groups, fused=True)  # type: ignore[no-any-return]


@torch.no_grad()
def clip_(gradients: Sequence[Tensor], most: float, member_axis: int) -> None:
    """Scale gradients down to the norm `most`, those of each member for themselves.

    Examples
    --------
    >>> gradients = [torch.tensor([3.0, 4.0]), torch.tensor([0.0])]
    >>> clip_(gradients, most=1.0, member_axis=0)
    >>> gradients[0]
    tensor([0.6000, 0.8000])
    """
    squares = [g.reshape(*g.shape[:member_axis], -1).square().sum(-1) for g in gradients]
    norm = torch.stack(squares).sum(0).sqrt()
    scale = (most / (norm + 1e-30)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(scale.view(*scale.shape, *(1,) * (gradient.ndim - member_axis)))
