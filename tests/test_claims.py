"""The registry of claims: every property drawn and decided exactly, every twin refused; and the framework."""

from __future__ import annotations

import ast
import builtins
import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import Phase, find, given, settings
from rich.console import Console

from proofs_checks import registry, runner
from proofs_checks.claim import (
    Claim,
    ClaimKind,
    Evidence,
    FalseTwin,
    Instance,
    Method,
    Theory,
    Topic,
    Verdict,
    combine,
)
from proofs_checks.command import main
from proofs_checks.tools.identities import identity, symbols
from proofs_checks.tools.solver import for_all, satisfiable

CLAIMS = registry.claims()
FOLDER = Path(registry.__file__).parent
TESTED = [claim for claim in CLAIMS if claim.property_test is not None]


def named(claims):
    return pytest.mark.parametrize("claim", claims, ids=[claim.name for claim in claims])


# ------------------------------------------------------------------------------------ from the registry


@named(CLAIMS)
def test_claim_is_proved_and_its_twin_refuted(claim):
    result = runner.check(claim)
    assert not result.failures
    if result.evidence.verdict is not Verdict.SKIPPED:
        assert result.evidence.verdict in (Verdict.PROVED, Verdict.HOLDS_ON_SAMPLES)
        assert result.twin.verdict is Verdict.REFUTED


@named(CLAIMS)
def test_claim_says_what_it_is(claim):
    assert claim.title
    assert claim.statement.endswith(".")
    assert claim.latex
    assert "$" not in claim.latex
    assert claim.latex.count("{") == claim.latex.count("}")
    assert claim.twin.statement.endswith(".")
    assert claim.twin.statement != claim.statement


@named(TESTED)
def test_property_holds(claim):
    @given(claim.property_test.strategy())
    def holds(drawn):
        assert claim.property_test.holds(claim.form, drawn)

    holds()


@named(TESTED)
def test_property_fails_on_the_twin(claim):
    search = settings(max_examples=2000, database=None, phases=[Phase.generate], derandomize=True)
    test = claim.property_test
    find(test.strategy(), lambda drawn: not test.holds(claim.false_twin.form, drawn), settings=search)


# ----------------------------------------------------------------------------- computed is what was computed


def literals_called_computed(source):
    """Lines in which a value that is shown as computed is spelled out rather than computed.

    ``Evidence(method, computed, ...)``, ``identity(..., value=...)``: the expression has to use something
    other than constants and the arguments of the proof.
    """
    lines = []
    for function in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)):
        given = {argument.arg for argument in function.args.args + function.args.kwonlyargs}
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            shown = [keyword.value for keyword in call.keywords if keyword.arg in ("computed", "value")]
            if isinstance(call.func, ast.Name) and call.func.id == "Evidence":
                shown += call.args[1:2]
            lines += [value.lineno for value in shown if not is_computed(value, given)]
    return lines


def is_computed(value, given):
    if isinstance(value, ast.Tuple):
        return all(is_computed(part, given) for part in value.elts)
    if isinstance(value, ast.IfExp):
        return is_computed(value.body, given) and is_computed(value.orelse, given)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "Tally":
        return any(is_computed(part, given) for part in value.args)
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    return bool(names - given - set(dir(builtins)))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/*.py")), ids=lambda path: path.stem)
def test_no_claim_spells_out_what_it_computed(path):
    assert literals_called_computed(path.read_text()) == []


@pytest.mark.parametrize(
    "planted",
    [
        'Evidence(Method.SYMBOLIC, "0", "0", verdict)',
        'Evidence(Method.SYMBOLIC, computed="0", claimed="0", verdict=verdict)',
        'Evidence(Method.SYMBOLIC, f"at most {form}", "0", verdict)',
        'Evidence(Method.SYMBOLIC, str(form), "0", verdict)',
        'Evidence(Method.SYMBOLIC, "one" if found else "none", "0", verdict)',
        'Evidence(Method.SYMBOLIC, (counted, "all"), "0", verdict)',
        'Evidence(Method.SYMBOLIC, Tally("all"), "0", verdict)',
        'identity(left, right, "text", value="1")',
    ],
)
def test_that_check_sees_a_planted_literal(planted):
    assert literals_called_computed(f"def proof(form):\n    return {planted}\n") == [2]
    assert not literals_called_computed("def proof(form):\n    return Evidence(m, str(counted), form, v)\n")


@named(CLAIMS)
def test_what_a_claim_computed_changes_with_its_form(claim):
    """The twin differs in the form alone: a value that stays the same was not computed from it."""
    evidence, twin = claim.prove(), claim.false_twin.prove()
    assert evidence.computed
    if Verdict.SKIPPED not in (evidence.verdict, twin.verdict):
        assert evidence.computed != twin.computed


# -------------------------------------------------------------------------------------- registry, template


def test_the_registry_refuses_what_is_registered_twice_or_not_at_all():
    with pytest.raises(ValueError, match="toy is registered twice"):
        registry.checked_names(["toy", "toy"], ["toy"])
    with pytest.raises(ValueError, match=r"toy\.py is not registered"):
        registry.checked_names([], ["toy"])
    with pytest.raises(ValueError, match=r"there is no proofs_checks/claims/toy\.py"):
        registry.checked_names(["toy"], [])


def test_the_template_is_a_claim_that_works():
    template = import_module("proofs_checks.claims.TEMPLATE").CLAIM
    result = runner.check(template)
    assert not result.failures
    assert result.n_instances == 3
    assert template.name not in registry.NAMES


def test_a_copy_of_the_template_is_a_claim_after_one_line(tmp_path):
    package = tmp_path / "proofs_checks"
    shutil.copytree(FOLDER, package, ignore=shutil.ignore_patterns("__pycache__"))
    copied = (package / "claims" / "TEMPLATE.py").read_text().replace('name="template"', 'name="my-claim"')
    (package / "claims" / "my_claim.py").write_text(copied)
    command = [sys.executable, "-c", "from proofs_checks import registry; print(registry.find('my-claim'))"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(FOLDER.parent)])}
    run = partial(subprocess.run, command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert 'add "my-claim" to NAMES' in run().stderr
    names = package / "registry.py"
    names.write_text(names.read_text().replace("NAMES = (\n", 'NAMES = (\n    "my-claim",\n'))
    assert "my-claim" in run().stdout


# ------------------------------------------------------------------------------------------ the framework


def bounded_by(bound):
    """A toy claim: 2 + 2 <= bound."""
    verdict = Verdict.PROVED if bound >= 2 + 2 else Verdict.REFUTED
    return Evidence(Method.EXHAUSTIVE, 2 + 2, f"at most {bound}", verdict)


TOY = Claim(
    name="toy", topic=Topic.DEPTH, title="Toy", statement="2 + 2 <= 4.", latex="2 + 2 \\le 4", hypotheses=(),
    source="ours", kind=ClaimKind.UPPER, form=4, proof=bounded_by, twin=FalseTwin("2 + 2 <= 3.", 3),
    examples=lambda bound: [Instance("sum", 4, bound, "<=")],
)  # fmt: skip


def test_toy_claim_passes():
    assert not runner.check(TOY).failures


def test_a_twin_that_is_true_is_a_failure():
    (failure,) = runner.check(replace(TOY, twin=FalseTwin("2 + 2 <= 5.", 5))).failures
    assert "false twin of toy is proved" in failure


def test_a_checker_that_accepts_anything_is_a_failure():
    assert runner.check(replace(TOY, proof=lambda bound: bounded_by(4))).failures


def test_a_false_claim_is_a_failure():
    assert "toy is refuted" in runner.check(TOY.false_twin).failures[0]


def test_a_failing_instance_refutes_whatever_the_proof_says():
    result = runner.check(replace(TOY, examples=lambda bound: [Instance("sum", 4, bound - 1, "<=")]))
    assert result.evidence.verdict is Verdict.REFUTED
    assert "sum: 4 <= 3" in result.failures[0]


@pytest.mark.parametrize("where", ["proof", "examples"])
def test_an_exception_proves_and_refutes_nothing(where):
    def broken(form):
        raise ZeroDivisionError("0/0")

    result = runner.check(replace(TOY, **{where: broken}))
    assert result.evidence.verdict is Verdict.UNDECIDED
    assert "ZeroDivisionError: 0/0" in result.failures[0]
    assert len(result.failures) == (2 if where == "proof" else 1)  # the twin is not refuted by an error


def test_undecided_is_a_failure_and_samples_are_no_theorem():
    undecided = Evidence(Method.SYMBOLIC, "?", "0", Verdict.UNDECIDED)
    assert runner.check(replace(TOY, proof=lambda bound: undecided)).failures
    sampled = Evidence(Method.SAMPLED, "0", "0", Verdict.HOLDS_ON_SAMPLES, n_samples=50)
    assert sampled.outcome == "holds on 50 samples"
    assert not runner.values(replace(runner.check(TOY), evidence=sampled))["is_theorem"]


@pytest.mark.parametrize(
    ("method", "verdict", "rest"),
    [
        (Method.SAMPLED, Verdict.PROVED, {}),
        (Method.SAMPLED, Verdict.HOLDS_ON_SAMPLES, {}),
        (Method.SYMBOLIC, Verdict.HOLDS_ON_SAMPLES, {"n_samples": 3}),
        (Method.SOLVER, Verdict.PROVED, {}),
        (Method.SYMBOLIC, Verdict.PROVED, {"theories": (Theory.NRA,)}),
    ],
)
def test_evidence_cannot_overstate(method, verdict, rest):
    with pytest.raises(ValueError, match=r"samples|solver|HOLDS"):
        Evidence(method, "0", "0", verdict, **rest)


def test_combined_evidence_is_as_weak_as_its_weakest_part():
    symbolic = Evidence(Method.SYMBOLIC, "0", "0", Verdict.PROVED)
    solver = Evidence(Method.SOLVER, "0", "0", Verdict.PROVED, theories=(Theory.LIA,))
    skipped = Evidence(Method.SOLVER, "0", "0", Verdict.SKIPPED, theories=(Theory.NRA,))
    sampled = Evidence(Method.SAMPLED, "0", "0", Verdict.HOLDS_ON_SAMPLES, n_samples=7)
    refuted = Evidence(Method.SYMBOLIC, "1", "0", Verdict.REFUTED)
    assert combine([symbolic, solver], "").how == "solver over all integers (LIA)"
    assert combine([symbolic, solver, skipped], "").outcome == "skipped"
    assert combine([symbolic, solver, sampled], "").outcome == "holds on 7 samples"
    assert combine([skipped, refuted, sampled], "").outcome == "refuted"


def test_names_and_sources_are_checked():
    with pytest.raises(ValueError, match="slug"):
        replace(TOY, name="Not A Slug")
    with pytest.raises(ValueError, match="source"):
        replace(TOY, source="folklore")


def test_symbolic_identities_are_decided():
    x, r = symbols("x r")
    assert identity(r**2, x, "root", modulo=[(r, x)]).verdict is Verdict.PROVED
    assert identity(r**3, x, "root", modulo=[(r, x)]).verdict is Verdict.REFUTED
    assert identity(1 / (x - 1) - 1 / (x + 1), 2 / (x**2 - 1), "fractions").verdict is Verdict.PROVED


def test_solver_decides_both_ways():
    pytest.importorskip("z3")
    assert for_all(Theory.LIA, lambda z3: 2 * z3.Int("n") != 1, "parity").verdict is Verdict.PROVED
    assert for_all(Theory.LIA, lambda z3: 2 * z3.Int("n") != 4, "parity").verdict is Verdict.REFUTED
    assert satisfiable(Theory.NRA, lambda z3: z3.Real("x") ** 2 == 2, "root").verdict is Verdict.PROVED
    assert satisfiable(Theory.NRA, lambda z3: z3.Real("x") ** 2 == -1, "root").verdict is Verdict.REFUTED


def test_without_z3_nothing_is_proved(monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    for verb in (for_all, satisfiable):
        evidence = verb(Theory.NRA, lambda z3: z3.Real("x") == 0, "nothing")
        assert evidence.verdict is Verdict.SKIPPED
        assert "lntheory[smt]" in evidence.detail


@named([claim for claim in CLAIMS if claim.topic in (Topic.SEPARABILITY, Topic.NORMALIZATION, Topic.CIRCLE)])
def test_without_z3_a_claim_is_skipped_or_proved_without_it(claim, monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    evidence = claim.prove()
    assert evidence.verdict is (Verdict.SKIPPED if evidence.method is Method.SOLVER else Verdict.PROVED)


def test_a_proved_claim_with_a_skipped_twin_is_a_failure():
    skipped = Evidence(Method.SOLVER, "", "", Verdict.SKIPPED, theories=(Theory.NRA,))
    proved = runner.check(TOY)
    assert replace(proved, twin=skipped).failures
    assert not replace(proved, evidence=skipped, twin=skipped).failures


# -------------------------------------------------------------------------------------- the command line


def test_command_prints_table_and_json(capsys):
    name = "ln-scaling-after-centering"
    assert main(["--only", name]) == 0
    assert "refuted" in capsys.readouterr().out
    assert main(["--only", name, "--json"]) == 0
    (claim,) = json.loads(capsys.readouterr().out)["claims"]
    assert (claim["name"], claim["verdict"], claim["established"]) == (name, "proved", "symbolic")
    assert claim["false_twin"]["verdict"] == "refuted"


def test_command_lists_and_names_what_it_does_not_know(capsys):
    assert main(["--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["claims"] == [claim.name for claim in CLAIMS]
    assert main(["--only", "no-such-claim"]) == 2
    assert "no-such-claim" in capsys.readouterr().err


def test_command_without_z3_does_not_say_proved(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "z3", None)
    assert main(["--only", "lssr-bounds", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["status"], report["skipped"]) == ("skipped", ["lssr-bounds"])
    assert not report["claims"][0]["is_theorem"]


def test_command_fails_with_a_claim(monkeypatch, capsys):
    bad = runner.check(replace(TOY, twin=FalseTwin("2 + 2 <= 5.", 5)))
    monkeypatch.setattr(runner, "run", lambda *args, **kwargs: [bad])
    assert main([]) == 1
    assert "false twin of toy" in capsys.readouterr().out
    assert main(["--json"]) == 1
    assert json.loads(capsys.readouterr().out)["status"] == "refuted"


def printed(results, columns, width):
    console = Console(width=columns, record=True, file=io.StringIO())
    console.print(runner.table(results, width))
    return console.export_text()


@pytest.mark.parametrize("width", [80, 120, None])
def test_table_tells_everything_and_fits(width):
    result = runner.check(TOY)
    skipped = Evidence(Method.SOLVER, "c", "d", Verdict.SKIPPED, theories=(Theory.NRA,))
    results = [result, replace(result, evidence=skipped, twin=skipped)]
    text = printed(results, width or 200, width)
    assert max(map(len, text.splitlines())) <= (width or 200)
    for expected in ("toy", "ours", "upper", "exhaustive and", "at most 4", "proved", "refuted", "skipped"):
        assert expected in text
    assert "Claims: 1 proved, 1 skipped. False twins: 1 skipped, 1 refuted." in text


@pytest.mark.parametrize("width", [80, None])
def test_table_marks_a_twin_that_passes(width):
    bad = runner.check(replace(TOY, twin=FalseTwin("2 + 2 <= 5.", 5)))
    assert "proved!" in printed([bad], width or 200, width)
    assert "proved!" not in printed([runner.check(TOY)], width or 200, width)


def test_results_keep_the_order_of_the_registry_for_any_number_of_workers():
    names = [claim.name for claim in CLAIMS][:3]
    assert [result.claim.name for result in runner.run(names, n_jobs=2)] == names
