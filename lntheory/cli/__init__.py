"""The command ``lntheory``: build, certify, re-prove, measure and draw, from files.

```
cli
├── app.py            the application with its commands, and `main`
├── entry_points.py   commands of other packages, found by entry point, imported when they are called
├── options.py        arguments and options that several commands take
├── certificate.py    the report of a certificate
├── pictures.py       the pictures that several commands draw
├── words.py          numbers in words
└── shatter.py, verify.py, ssr.py, show.py, export.py, vc.py      one command each
```

A command returns a `lntheory.base.terminal.Report`. It imports slow packages (constructions, matplotlib,
torch) only when it runs, so that ``lntheory --help`` does not wait for them.

This package imports all others and the front of the package; only ``lntheory.__main__`` imports it.
"""

from lntheory.cli.app import main

__all__ = ["main"]
