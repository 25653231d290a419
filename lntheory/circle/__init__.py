"""The action of a width-3 LN-Net on points of the circle, as numbers: for pictures, notebooks and tests.

```
circle
├── plane.py         the plane of width 3: coordinates, angles, the centre from which a layer looks
├── runs.py          runs of equal label around the circle, and the gaps between them
└── trajectory.py    labelled points on their way through a net
```

This package imports base, `lntheory.errors` and `lntheory.network`; never constructions, pictures or torch.
"""

from lntheory.circle.plane import (
    BASIS,
    Centre,
    circle_points,
    layer_centre,
    plane_coordinates,
    polar_angles,
    space_coordinates,
)
from lntheory.circle.runs import Arcs, arcs, cyclic_order, is_readable, n_runs, readout_arcs, smallest_gap
from lntheory.circle.trajectory import Trajectory

__all__ = [
    "BASIS",
    "Arcs",
    "Centre",
    "Trajectory",
    "arcs",
    "circle_points",
    "cyclic_order",
    "is_readable",
    "layer_centre",
    "n_runs",
    "plane_coordinates",
    "polar_angles",
    "readout_arcs",
    "smallest_gap",
    "space_coordinates",
]
