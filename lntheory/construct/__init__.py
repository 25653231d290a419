"""Constructions: explicit LN-Nets of width 3 that fit given labels.

```
construct
├── arithmetic.py        float64 and dyadic: the numbers a construction computes with
├── circle.py            the plane of width 3, runs of labels on the circle, what can be read out
├── readout.py           affine scores for labels whose hulls do not cross
├── lift.py              the first layer: samples onto the circle
├── fold.py              one later layer: a centre that merges two points, and a re-spacing
├── projection_merge.py  one merge a layer, until the labels can be read out
├── pair_merge.py        two merges a layer
├── fold_kernel.py       one chain of simulated annealing over folds, compiled
├── fold_search.py       folds that bring many equal labels together, searched for
└── shatter.py           the front: checks, duplicates, trivial cases, choice of method
```

Nothing that checks a net imports anything from here.
"""

from lntheory.construct.shatter import METHODS, guaranteed_depth, shatter

__all__ = ["METHODS", "guaranteed_depth", "shatter"]
