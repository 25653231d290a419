"""The library's verbs with no rounding: rational arithmetic, ball arithmetic, certificates.

```
lntheory.exact
├── ssr, lssr                                   exact separability: Fraction, or an isolating enclosure
├── hessian_indicator, amplification            exact nonlinearity: Fraction
├── layer_norm, rms_norm, group_layer_norm      balls (python-flint's arb) that enclose the true value
├── enclose                                     a whole net on balls
├── certify, verify, Certificate, data_sha256   proofs that a net classifies samples right
└── verify_shattering                           the proof that recorded nets shatter a point set
```

Imports base, errors and network. Code that checks never imports code that builds: neither this package nor
anything that it imports knows `lntheory.construct` or the front of the package.
"""

from lntheory.exact.certificate import Certificate, certify, data_sha256, verify
from lntheory.exact.nonlinearity import amplification, hessian_indicator
from lntheory.exact.normalization import group_layer_norm, layer_norm, rms_norm
from lntheory.exact.separability import AlgebraicEnclosure, lssr, ssr
from lntheory.exact.shattering import ShatteringProof, verify_shattering
from lntheory.network.enclosure import Enclosure, enclose

__all__ = [
    "AlgebraicEnclosure",
    "Certificate",
    "Enclosure",
    "ShatteringProof",
    "amplification",
    "certify",
    "data_sha256",
    "enclose",
    "group_layer_norm",
    "hessian_indicator",
    "layer_norm",
    "lssr",
    "rms_norm",
    "ssr",
    "verify",
    "verify_shattering",
]
