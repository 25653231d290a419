"""Every theorem that this library rests on, stated once and checked by machine.

```
proofs_checks
├── claim.py        Claim, its false twin, and Evidence: how it was established, what was computed
├── registry.py     the names of all claims; the one line that a new claim takes
├── runner.py       proofs, instances and false twins of many claims, and the table of them
├── command.py      the command `lntheory prove`, also ``python -m proofs_checks``
├── claims/         one file a claim; TEMPLATE.py is the file to copy for a new one
└── tools/          what several claims prove or compute with
    ├── identities.py             identities of rational functions, by computer algebra
    ├── solver.py                 statements for all reals or all integers, by z3, where it is installed
    ├── labelings.py              every labeling of concrete points, fitted and certified
    ├── merge_lemmas.py           the steps of every construction that merges points
    ├── rational_plane.py, arrangement.py, orientations.py    points of the plane, and how they are seen
    ├── identity_plus_ones.py, hessian.py, rational_scatter.py    matrices a I + b J, derivatives, pencils
    └── small_data.py             what Hypothesis draws
```

Imports are relative, so that the package works under the wheel's name, `lntheory.proofs_checks`.
May import everything of lntheory; nothing of lntheory imports it.

``python -m proofs_checks`` prints the table. The property tests, the table and the documentation page are
made from the same registry.
"""

from .claim import Claim, ClaimKind, Evidence, FalseTwin, Instance, Method, Property, Theory, Verdict

__all__ = [
    "Claim",
    "ClaimKind",
    "Evidence",
    "FalseTwin",
    "Instance",
    "Method",
    "Property",
    "Theory",
    "Verdict",
]
