"""Tables in Markdown that also read well as plain text."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; each column is padded to one width, so that the source reads like the table.

    Examples
    --------
    >>> print(markdown_table(["layer", "LSSR"], [["0", "1"], ["head", "0.25"]]))
    | layer | LSSR |
    |-------|------|
    | 0     | 1    |
    | head  | 0.25 |
    """
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
