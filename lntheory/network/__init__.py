"""LN-Nets as values, their files, and their evaluation in float64 and in ball arithmetic.

```
network
├── numbers.py     binary numbers: float64 or dyadic rationals, and their JSON
├── layer.py       an affine layer; the normalization that follows it
├── labels.py      class labels
├── enclosure.py   a net's points and scores, enclosed in ball arithmetic
├── net.py         LNNet: a frozen value with forward pass and file format
└── roundoff.py    how far a plain floating-point pass can be from the true scores
```

Every module that works with nets may import this package. It imports base, `lntheory.errors` and
`lntheory.normalization`, and knows nothing of certificates, constructions or torch.
"""

from lntheory.network.labels import Label
from lntheory.network.layer import Layer, Normalization
from lntheory.network.net import LNNet

__all__ = ["LNNet", "Label", "Layer", "Normalization"]
