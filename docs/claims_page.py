"""The page of claims: Markdown from what ``python -m proofs_checks --json`` reports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Claim = Mapping[str, Any]

HEAD = """\
# Claims

Every theorem that the library rests on is written once; its proof, its exact instances and its property tests
are run on that one statement. This page is the report of `python -m proofs_checks --json` from when the site
was built. Beside each claim stands its *false twin*, a nearby false statement: the checkers that accept the
claim were seen to refuse the twin.

"Computed" lists what a check computed: a formula or a number, how many residuals of identities are 0, how
often the solver answered *unsat* when it was asked for a counterexample, how many nets were built and
certified.

How a claim was established, strongest first:

symbolic
: identities and signs by computer algebra, for all values of the symbols.

solver
: z3, for all reals or integers; the theory is named.

exhaustive and exact
: every case, in rational or algebraic arithmetic.

sampled
: no theorem, and never called proved.
"""


def page(report: Mapping[str, Any]) -> str:
    """The whole page, in Markdown for MyST.

    Parameters
    ----------
    report : mapping
        Of ``python -m proofs_checks --json``.

    Raises
    ------
    ValueError
        If a claim failed or a false twin passed: such a run is nothing to publish.
    """
    if report["failures"]:
        raise ValueError(f"not published: {'; '.join(report['failures'])}")
    claims = report["claims"]
    return "\n".join([HEAD, *_overview(claims), *(line for topic in _topics(claims) for line in topic)])


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is.

    Examples
    --------
    >>> print(escaped("S_w <= |S_t|"))
    S\_w \<= \|S\_t\|
    >>> print(escaped("2. not a list"))
    2\. not a list
    """
    line = re.sub(r"([\\`*_{}\[\]<>#|$~^&!])", r"\\\1", " ".join(text.split()))
    return re.sub(r"^(\d*)([-+=%:.)])", r"\1\\\2", line)  # what begins a list, a comment or a definition


def _overview(claims: Sequence[Claim]) -> Iterator[str]:
    theorems = sum(claim["is_theorem"] for claim in claims)
    yield f"{theorems} of {len(claims)} claims are proved.\n"
    yield "| claim | source | kind | established | verdict | false twin |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for claim in claims:
        cells = [claim[key] for key in ("source", "kind", "established", "verdict")]
        row = [*cells, claim["false_twin"]["verdict"]]
        yield f"| [{escaped(claim['title'])}](#{claim['name']}) | {' | '.join(map(escaped, row))} |"
    yield ""


def _topics(claims: Sequence[Claim]) -> Iterator[Iterator[str]]:
    for topic in dict.fromkeys(claim["topic"] for claim in claims):
        yield _topic(topic, [claim for claim in claims if claim["topic"] == topic])


def _topic(topic: str, claims: Sequence[Claim]) -> Iterator[str]:
    yield f"## {topic.capitalize()}\n"
    for claim in claims:
        yield from _section(claim)


def _section(claim: Claim) -> Iterator[str]:
    twin = claim["false_twin"]
    yield f"({claim['name']})=\n### {escaped(claim['title'])}\n"
    yield f"{escaped(claim['statement'])}\n"
    yield f"```{{math}}\n{claim['latex']}\n```\n"
    facts = {
        "name": f"`{claim['name']}`",
        "hypotheses": "; ".join(map(escaped, claim["hypotheses"])) or "none",
        "source": escaped(claim["source"]),
        "kind": escaped(claim["kind"]),
        "established": escaped(f"{claim['established']}: {claim['verdict']}"),
        "computed": escaped(claim["computed"]),
        "claimed": escaped(claim["claimed"]),
        "argument": escaped(claim["detail"]),
        "exact instances": str(claim["instances"]),
        "false twin": escaped(f"{twin['statement']} {twin['verdict'].capitalize()}: {twin['detail']}"),
    }
    for name, fact in facts.items():
        if fact:
            yield f"{name}\n: {fact}\n"
