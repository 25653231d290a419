"""Constructions: explicit LN-Nets of width 3 that fit given labels.

```
construct
├── problem.py           the input of a construction: distinct samples, labels, work allowed
├── built.py             its result: layers, read-out, merges, safety; and the type of a method
├── arithmetic.py        float64 and dyadic: the numbers a construction computes with
├── target.py            the floating-point arithmetic in which a net has to be right
├── plane.py             the plane of width 3, in the numbers of a construction
├── gaps.py              gaps between unequal labels against errors
├── readout.py           affine scores for labels whose hulls do not cross
├── linear.py            affine scores of the samples themselves: depth 0
├── first_layer.py       samples onto the circle
├── fold.py              one later layer: a centre that merges two points, and a re-spacing
├── projection_merge.py  one merge a layer, until the labels can be read out
├── pair_merge/          two merges a layer
├── fold_kernel.py       one chain of simulated annealing over folds, compiled
├── fold_search.py       the search for folds that bring many equal labels together
├── portfolio.py         the shallowest net of several constructions, within a budget
├── methods.py           the register of constructions
├── shatter.py           the front: checks, duplicates, trivial cases, choice of method
└── TEMPLATE.py          a construction to copy
```

Imports base, errors, bounds, network, exact and circle. Code that checks a net imports nothing from here.
"""

from lntheory.construct.methods import METHODS, guaranteed_depth
from lntheory.construct.shatter import shatter

__all__ = ["METHODS", "guaranteed_depth", "shatter"]
