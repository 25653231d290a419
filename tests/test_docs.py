"""The site: the page of claims is made from the registry; what the pages say is run."""

import doctest
import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lntheory import exact, vc
from proofs_checks import registry, runner
from proofs_checks.claim import Evidence, Method, Verdict

DOCS = Path(__file__).parent.parent / "docs"


def load(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


claims_page = load("claims_page")


def shown(markdown):
    """The text that a reader sees of a paragraph."""
    _, inline, _ = MarkdownIt("commonmark").enable("table").parse(markdown)
    assert {token.type for token in inline.children} <= {"text", "text_special"}
    return "".join(token.content for token in inline.children)


def report(*claims):
    values = [runner.values(runner.check(claim)) for claim in claims]
    return {"claims": values, "failures": [failure for value in values for failure in value["failures"]]}


@pytest.fixture(scope="module")
def two():
    return report(registry.find("ln-scaling-after-centering"), registry.find("lssr-one-iff-means-coincide"))


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1))
def test_escaped_text_is_shown_as_it_is(text):
    words = " ".join(text.split())
    if words:
        assert shown(claims_page.escaped(text)) == words


@pytest.mark.parametrize("claim", registry.claims(), ids=lambda claim: claim.name)
def test_words_of_every_claim_are_shown_as_they_are(claim):
    for words in (claim.title, claim.statement, claim.source, claim.twin.statement, *claim.hypotheses):
        assert shown(claims_page.escaped(words)) == " ".join(words.split())


def test_page_tells_all_of_a_claim(two):
    text = claims_page.page(two)
    assert "2 of 2 claims are proved." in text
    for claim in two["claims"]:
        assert f"({claim['name']})=\n### {claims_page.escaped(claim['title'])}" in text
        assert f"](#{claim['name']}) |" in text
        assert f"```{{math}}\n{claim['latex']}\n```" in text
        told = (
            claim["statement"],
            claim["detail"],
            claim["computed"],
            claim["claimed"],
            *claim["hypotheses"],
        )
        for words in (*told, claim["false_twin"]["statement"], claim["false_twin"]["detail"]):
            assert claims_page.escaped(words) in text
        assert f"established\n: {claim['established']}: proved" in text
    assert "Refuted: " in text


def test_examples_of_the_page_maker():
    assert doctest.testmod(claims_page) == (0, 2)


def test_samples_are_not_called_a_proof(two):
    claim = registry.find("ln-scaling-after-centering")
    sampled = Evidence(Method.SAMPLED, "0", "0", Verdict.HOLDS_ON_SAMPLES, n_samples=50)
    value = runner.values(replace(runner.check(claim), evidence=sampled))
    text = claims_page.page({"claims": [value], "failures": []})
    assert "0 of 1 claims are proved." in text
    assert "established\n: sampled: holds on 50 samples" in text


def test_a_run_with_a_failure_is_not_published():
    claim = registry.find("ln-scaling-after-centering")
    failed = report(replace(claim, twin=replace(claim.twin, form=claim.form)))
    with pytest.raises(ValueError, match="not published: the false twin of ln-scaling"):
        claims_page.page(failed)


def test_the_quickstart_runs():
    result = doctest.testfile(str(DOCS / "quickstart.md"), module_relative=False)
    assert result.failed == 0
    assert result.attempted >= 12


@pytest.mark.parametrize("page", ["index.md", "quickstart.md", "file-formats.md"])
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", (DOCS / page).read_text(encoding="utf-8")):
        assert (DOCS / target).exists() or target.startswith("_generated/"), target


def test_a_shattering_record_is_read_as_documented(tmp_path, monkeypatch):
    """The page's own reader, which uses nothing of ours, finds every labeling and the same nets."""
    monkeypatch.chdir(tmp_path)
    vc.build_lower_bound(1, 2, path="record.json.gz", n_samples=5)
    text = (DOCS / "file-formats.md").read_text(encoding="utf-8")
    (code,) = (b for b in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S) if "record.json.gz" in b)
    assert "lntheory" not in code
    names = {}
    exec(compile(code, "document", "exec"), names)
    assert len(names["nets"]) == exact.verify_shattering("record.json.gz").n_nets == 16
    for labels, net in names["nets"].items():
        assert len(labels) == 5
        assert labels[-1] == 0
        assert json.loads(json.dumps(net)).keys() == {"layers", "readout"}
    assert len(names["nets"]) == len(set(names["nets"]))
