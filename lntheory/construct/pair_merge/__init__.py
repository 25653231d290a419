"""Two merges a layer, in four rooms: what is left to do, views, first layers, the merges themselves.

```
pair_merge
├── task.py      what is to be fitted, and how many layers that still takes
├── views.py     points seen from a centre; shapes; which view is best
├── plans.py     first layers, the best first
└── merge.py     the mathematics, one layer after another, the method
```
"""

from lntheory.construct.pair_merge.merge import PAIRS, guaranteed_by_pairs, pair_merge
from lntheory.construct.pair_merge.plans import view_centres
from lntheory.construct.pair_merge.task import layers_needed

__all__ = ["PAIRS", "guaranteed_by_pairs", "layers_needed", "pair_merge", "view_centres"]
