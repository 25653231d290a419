"""The ground floor: what every room needs and no room should write again. No mathematics of LN here.

```
base
├── types.py         names of types that many signatures share
├── validation.py    what users pass -> arrays, labels, counts and seeds; errors name the entry at fault
├── fields.py        the one reader of typed JSON values: strict, on pydantic
├── jsonfile.py      strict JSON files: no duplicate keys, no number that float64 does not hold
├── files.py         files that appear whole or not at all
├── rounding.py      exact numbers and balls -> the float64 next to them, outward
├── parallel.py      one ordered map over threads, processes or a Dask cluster
├── terminal.py      exit codes, reports, progress bars: what every command does alike
├── markdown.py      tables in Markdown
├── compensated.py   sums and means that keep their rounding errors
└── modular.py       ranks modulo a prime
```

May be imported from everywhere. Imports `lntheory.errors` and `lntheory._version`, and nothing else of ours.
"""
