"""Every theorem that this library rests on, stated once and checked by machine.

```
proofs_checks
├── claim.py        Claim, its false twin, and Evidence: how a statement was established
├── symbolic.py     identities of rational functions, by computer algebra
├── solver.py       statements for all reals or all integers, by z3 (skipped where z3 is missing)
├── registry.py     every claim, found in claims/
├── runner.py       proofs, instances and false twins of many claims, and the table of them
└── claims/         one file a claim
```

``python -m proofs_checks`` prints the table. The property tests, the table and the documentation page are
made from the same registry.
"""

from proofs_checks.claim import Claim, Evidence, FalseTwin, Instance, Kind, Method, Property, Theory, Verdict

__all__ = [
    "Claim",
    "Evidence",
    "FalseTwin",
    "Instance",
    "Kind",
    "Method",
    "Property",
    "Theory",
    "Verdict",
]
