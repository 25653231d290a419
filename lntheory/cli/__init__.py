"""The command ``lntheory``: build, certify, re-prove, measure and draw, from files.

```
cli
├── app.py            the application: which commands there are; `main`
├── entry_points.py   commands of other packages, found by entry point, imported when they are called
├── options.py        arguments and options that several commands take
├── certificate.py    what is said of a certificate
├── pictures.py       the pictures that several commands draw
├── words.py          numbers in words
└── shatter.py, verify.py, ssr.py, show.py, export.py, vc.py      one command each
```

A command returns a `lntheory.base.terminal.Report`. It imports what takes long (constructions, matplotlib,
torch) when it runs, so that ``lntheory --help`` does not wait for it.

Imports everything below, and the front of the package; only ``lntheory.__main__`` imports it.
"""

from lntheory.cli.app import main

__all__ = ["main"]
