"""Pictures of what a width-3 LN-Net does to its points.

```
plotting
├── style.py         colours and markers of classes, titles, sizes
├── circle.py        plot_layers: the points on their circle, the centre of the next layer, its chords
├── curves.py        plot_runs, plot_amplification: numbers against the layer, or the number of groups
├── animation.py     save_animation: layer after layer as a GIF
└── files.py         save_figure, save_pictures
```

What is drawn is computed in `lntheory.circle`, whose plane coordinates all pictures of the circle use.
Figures are built without pyplot: nothing global is touched, no window is opened, any backend will do.

Imports base, `lntheory.circle`, `lntheory.network`, `lntheory.nonlinearity` and matplotlib.
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
