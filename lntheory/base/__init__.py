"""The ground floor: helpers that every package needs and none should write again, without mathematics of LN.

```
base
├── types.py         names of types that many signatures share
├── validation.py    what users pass -> arrays, labels, counts and seeds; errors name the entry at fault
├── fields.py        the one reader of typed JSON values: strict, on pydantic
├── jsonfile.py      strict JSON files: no duplicate keys, no number that float64 does not hold
├── files.py         files that appear whole or not at all
├── rounding.py      exact numbers and balls -> the float64 next to them, outward
├── parallel.py      one ordered map over threads, processes or a Dask cluster
├── terminal.py      what all commands share: exit codes, reports, progress bars
├── markdown.py      tables in Markdown
├── compensated.py   sums and means that keep their rounding errors
└── modular.py       ranks modulo a prime
```

Every module may import this package. It imports `lntheory.errors` and `lntheory._version`, and nothing else
of this library.
"""
