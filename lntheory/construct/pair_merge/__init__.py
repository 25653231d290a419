"""The construction that merges two pairs in each layer.

```
pair_merge
├── task.py      the samples and labels to fit, and the number of layers that are still needed
├── views.py     points seen from a centre; shapes; the choice of the best view
├── plans.py     first layers, sorted from the most promising on
└── merge.py     the mathematics, the later layers, and the method
```
"""

from lntheory.construct.pair_merge.merge import PAIRS, guaranteed_by_pairs, pair_merge
from lntheory.construct.pair_merge.plans import view_centres
from lntheory.construct.pair_merge.task import layers_needed

__all__ = ["PAIRS", "guaranteed_by_pairs", "layers_needed", "pair_merge", "view_centres"]
