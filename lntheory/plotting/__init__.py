"""Pictures of the action of a width-3 LN-Net on points.

```
plotting
├── style.py         colours and markers of classes, titles, sizes
├── circle.py        plot_layers: the points on their circle, the centre of the next layer, its chords
├── curves.py        plot_runs, plot_amplification: numbers against the layer, or the number of groups
├── animation.py     save_animation: layer after layer as a GIF
└── files.py         save_figure, save_pictures
```

The numbers that are drawn come from `lntheory.circle`; all pictures of the circle use its plane coordinates.
Figures are built without pyplot: no global state is changed, no window is opened, and any backend works.

This package imports base, `lntheory.circle`, `lntheory.network`, `lntheory.nonlinearity` and matplotlib.
"""

from lntheory.circle import Centre, Trajectory, layer_centre, plane_coordinates
from lntheory.plotting.animation import save_animation
from lntheory.plotting.circle import plot_layers
from lntheory.plotting.curves import plot_amplification, plot_runs
from lntheory.plotting.files import save_figure, save_pictures

__all__ = [
    "Centre",
    "Trajectory",
    "layer_centre",
    "plane_coordinates",
    "plot_amplification",
    "plot_layers",
    "plot_runs",
    "save_animation",
    "save_figure",
    "save_pictures",
]
