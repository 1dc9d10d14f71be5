"""Programs made of the code of modules."""

from __future__ import annotations

import ast

import pytest

from couler.box import check_program
from couler.generation.assembling import assemble
from couler.generation.modules import Decomposition, ModuleCode, ModulePlan, PlannedParameter
from tests.support.call_counts import calls

LOAD = ModuleCode(
    explanation="",
    definitions="""\
from dataclasses import dataclass
from couler import File

@dataclass
class Facts:
    rows: int


@couler.step
def load(limit: int) -> Facts:
    return Facts(limit)
""",
    wiring="facts = load(wf.params.limit)\n",
)
REPORT = ModuleCode(
    explanation="",
    definitions="from couler import File\n\nHEADING = 'found'",
    wiring="""\
report = couler.run_script(
    image="alpine:3.20",
    command="sh",
    source='''
set -e
  echo "$1"
''',
    args=[facts.rows],
)""",
)


def plan(*names: str, **fields: object) -> Decomposition:
    modules = tuple(ModulePlan(name=one, task="other", description="", reads=()) for one in names)
    given: dict[str, object] = {
        "reasoning": "",
        "workflow_name": "w",
        "schedule": "",
        "settings": "",
    }
    given |= {"parameters": (), "modules": modules, **fields}
    return Decomposition.model_validate(given)


def test_a_program_has_each_import_once_and_texts_as_they_were() -> None:
    planned = plan(
        "load",
        "report",
        schedule="0 3 * * *",
        parameters=(PlannedParameter(name="limit", default="5"),),
    )
    program = assemble("Say what is found", planned, {"load": LOAD, "report": REPORT})
    assert (
        program.text
        == '''\
"""Say what is found."""

from dataclasses import dataclass

import couler
from couler import File


@dataclass
class Facts:
    rows: int


@couler.step
def load(limit: int) -> Facts:
    return Facts(limit)


HEADING = 'found'


with couler.Workflow("w", schedule="0 3 * * *", limit=5) as wf:
    # load
    facts = load(wf.params.limit)
    # report
    report = couler.run_script(
        image="alpine:3.20",
        command="sh",
        source=\'\'\'
set -e
  echo "$1"
\'\'\',
        args=[facts.rows],
    )
'''
    )
    assert program.problems == ()
    lines = program.text.split("\n")
    assert program.owner_of(lines.index("class Facts:") + 1) == "load"
    assert program.owner_of(lines.index("HEADING = 'found'") + 1) == "report"
    assert program.owner_of(lines.index("        args=[facts.rows],") + 1) == "report"
    assert program.owner_of(1) is None
    assert program.owner_of(1000) is None


def test_what_two_modules_define_is_told() -> None:
    program = assemble("x", plan("one", "two"), {"one": LOAD, "two": LOAD})
    assert [(one.code, one.step) for one in program.problems] == [("CLR640", "two")] * 2
    assert '"one" and "two" both define "Facts"' in program.problems[0].message


def test_a_constant_of_one_module_is_not_that_of_another() -> None:
    """All definitions stand before the block: the later one would stand for both."""
    one = ModuleCode(explanation="", definitions='KINDS = ["svm"]', wiring="")
    other = ModuleCode(explanation="", definitions='FACE, KINDS = 1, ["mail"]', wiring="")
    program = assemble("x", plan("one", "two"), {"one": one, "two": other})
    assert ["KINDS" in problem.message for problem in program.problems] == [True]


def test_names_that_a_workflow_has_for_itself_are_parameters_all_the_same() -> None:
    given = (
        PlannedParameter(name="timeout", default="3"),
        PlannedParameter(name="name", default='"x"'),
        PlannedParameter(name="depth", default="2"),
    )
    program = assemble("x", plan("one", parameters=given), {"one": LOAD})
    head = 'with couler.Workflow("w", depth=2, params={"timeout": 3, "name": "x"}) as wf:'
    assert head in program.text


def test_imports_beside_other_statements_and_of_the_future() -> None:
    some = "from __future__ import annotations\nimport json; X = json.dumps([1])  # one"
    code = ModuleCode(explanation="", definitions=some, wiring="")
    text = assemble("x", plan("one"), {"one": code}).text
    assert text.index("from __future__") < text.index("import json") < text.index("import couler")
    assert "X = json.dumps([1])" in text
    ast.parse(text)


def test_code_that_does_not_parse_stays_for_the_gate() -> None:
    broken = ModuleCode(explanation="", definitions="def load(:", wiring='x = """open')
    program = assemble("x", plan("load"), {"load": broken})
    assert "def load(:" in program.text
    assert program.owner_of(program.text.split("\n").index("def load(:") + 1) == "load"


def test_any_description_is_a_docstring() -> None:
    for text in (
        'quotes """ within',
        'ends with "',
        "back\\slash \\u",
        "many words " * 60,
        "ünï",
        "a\u200db\x1b[31m",
    ):
        program = assemble(text, plan("load"), {})
        assert isinstance(ast.get_docstring(ast.parse(program.text)), str), text
        assert program.text.replace("\n", "").isprintable()
        assert max(map(len, program.text.split("\n"))) <= 100


@pytest.mark.parametrize(
    "text",
    [
        f"x = {'-' * 150_000}1",
        f"import math; x = a{'.b' * 900}",
        f"x = {'(' * 5_000}",
        'x = """',
        "  x\n y",
        "x = '\x00'",
    ],
    ids=["signs", "attributes", "parentheses", "open text", "indentation", "null"],
)
@pytest.mark.parametrize("where", ["definitions", "wiring"])
def test_code_that_cannot_be_taken_apart_is_left_to_the_gate(text: str, where: str) -> None:
    code = ModuleCode(**{"explanation": "", "definitions": "", "wiring": "...", where: text})
    assembled = assemble("Greet.", plan("greet"), {"greet": code})
    assert assembled.problems == ()
    assert check_program(assembled.text)


def test_the_work_is_linear_in_the_code() -> None:
    def assembled(count: int) -> str:
        text = "\n".join(f"import a{n}\nb{n} = 1" for n in range(count))
        code = ModuleCode(explanation="", definitions=text, wiring="...")
        return assemble("Greet.", plan("greet"), {"greet": code}).text

    assert "import a999" in assembled(1_000)
    assert calls(assembled, 1_000) < 2.2 * calls(assembled, 500)
