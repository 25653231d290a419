"""One loop for every net, on Lightning Fabric: one net or many, one process or many, any device.

::

    train(model, data, config)          one net, divided among the processes of torchrun
    train_grid(configs, data)           many nets: those of one shape as stacks, shared among the processes
        └─ Loop: steps, schedule, clipping, metrics, divergence, checkpoints: the same for both
"""

from .grid import load_weights, train_grid
from .single import train

__all__ = ["load_weights", "train", "train_grid"]
