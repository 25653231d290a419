"""Every class has a look of its own, for colour-blind readers too."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from lntheory.plotting.style import class_styles


@pytest.mark.parametrize("n_classes", [1, 2, 8, 9, 11, 12, 24])
def test_every_class_has_a_look_of_its_own(n_classes):
    styles = class_styles(n_classes)
    assert len({(str(colour), marker) for colour, marker in styles}) == n_classes
    assert len({marker for _, marker in styles}) == min(n_classes, 12)
    # Colours differ for a deuteranope too (Vienot, Brettel and Mollon's projection of linear RGB).
    deuteranope = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])
    seen = np.array([deuteranope @ np.array(to_rgb(c)) ** 2.2 for c, _ in styles]).clip(0) ** (1 / 2.2)
    distances = [np.abs(a - b).max() for k, a in enumerate(seen) for b in seen[:k]]
    assert n_classes == 1 or min(distances) > (0.08 if n_classes <= 11 else 0.01)
