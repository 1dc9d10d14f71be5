"""The gate: what programs pass, and what a refusal says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from couler.box import check_program
from couler.box.bindings import Bindings
from couler.box.shipped import shipped_functions
from couler.box.text_checks import MOST_CHARACTERS, MOST_DEPTH
from tests.box.escapes import ESCAPES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "programs"
PROGRAMS = [*FOLDER.glob("*.py"), *FOLDER.glob("ancestor/*.py")]

REFUSED_EXAMPLES = {
    "model_selection.py": "it imports report.py, a second file beside it",
}
"""Examples that are no generated programs, each with the reason."""

REFUSED_PROGRAMS = {
    "callables.py": "a class of its own, whose objects make steps",
    "cluster_settings.py": "names of the ancestor that only change its inner state",
    "counting_loops.py": "reads the environment",
    "decided_now.py": "reads the words of its command line",
    "existing_secrets.py": "gives the values of secrets",
    "git_source.py": "reads the environment",
    "names_and_environment.py": "a submitter of its own",
    "notebook.py": "submitters of its own, and an error that it raises",
    "star_import.py": "imports names by *",
    "started_anyhow.py": "a submitter of its own",
    "ten_mistakes.py": "reads an output that nobody names: one of its ten mistakes",
}
"""Programs of others that are refused for more than their submitters, each with the reason."""


def without_submitters(source: str) -> str:
    """Return a program that hands nothing over, as a generated one must not."""
    source = re.sub(r"^from couler\.argo_submitter import .*\n", "", source, flags=re.M)
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    for node in tree.body:
        if isinstance(node, ast.Expr) and ast.unparse(node).startswith("couler.run("):
            lines[node.lineno - 1 : node.end_lineno] = ["couler.run()\n"] + ["\n"] * (
                (node.end_lineno or 0) - node.lineno
            )
    return re.sub(r"^submitter = .*\n", "", "".join(lines), flags=re.M)


@pytest.mark.checkout
@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").rglob("*.py")), ids=lambda path: path.name
)
def test_examples_pass(path: Path) -> None:
    found = check_program(path.read_text(encoding="utf-8"))
    assert bool(found) is (path.name in REFUSED_EXAMPLES), found


def test_programs_of_others_pass_without_their_submitters() -> None:
    for path in PROGRAMS:
        found = check_program(without_submitters(path.read_text(encoding="utf-8")))
        assert bool(found) is (path.name in REFUSED_PROGRAMS), (path.name, found)


@pytest.mark.checkout
def test_the_programs_of_the_guide_pass() -> None:
    page = (ROOT / "docs" / "writing-workflows.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^(?:<!-- (.*?) -->\n)?```python\n(.*?)^```$", page, re.M | re.S)
    program = ""
    for words, text in blocks:
        program = f"{program}\n\n{text}" if "continues" in words else text
        assert check_program(program) == (), program
    assert len(blocks) > 20


def test_a_submitter_is_refused_with_what_to_do() -> None:
    source = (
        "import couler\nfrom couler.argo_submitter import ArgoSubmitter\n"
        'couler.run_container("busybox", ["true"], step_name="a")\n'
        "couler.run(submitter=ArgoSubmitter())\n"
    )
    found = check_program(source, file="flow.py")
    assert [(one.code, str(one.source)) for one in found] == [
        ("CLR610", "flow.py:2"),
        ("CLR610", "flow.py:4"),
    ]
    assert "couler submit" in found[1].message


@pytest.mark.parametrize(
    "source",
    [
        "import couler\nif __name__ == '__main__':\n    couler.run()",
        "import couler\nwith couler.Workflow('x', n=1) as wf:\n    wf.params.n\nwf.run()",
        "import couler.steps.sklearn\ncouler.steps.sklearn.train('LogisticRegression')",
        "from couler.steps import sklearn as sk\nsk.train('LogisticRegression')",
        "import couler.argo as c\nc.when(c.equal('a', 'b'), lambda: c.suspend())",
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass A:\n    x: int = 1",
        "from typing import NamedTuple\nclass A(NamedTuple):\n    'Text.'\n    x: 'list[int]'",
        "import math\nx = [10 ** -power for power in range(1, 5)] + [math.pi, 2 ** 10]",
        "x = '-' * 20 + '%5.2f' % 1 + f'{1:>8}' + '{} {:.2f}'.format(1, 2)",
        "import functools\ndef f(a, *b, c=1, **d):\n    return a\ng = functools.partial(f, 1)",
        "from typing import Literal\nKind = Literal['os.system', 'b']\ndef f(x: Kind | None): ...",
        "from typing import Annotated\ndef f(x: Annotated[int, 'any text']) -> None: ...",
        "x, *y = [1, 2]\nx += 1\nz = {**{}, 'a': x}\nz['b'] = y\nassert z",
        "import couler\n@couler.step\ndef f():\n    import os, socket\n    eval('1')",
        "import couler\nlearning = couler.step(cpu=1)\n@learning\ndef f():\n    open('x')",
        "import couler\ndef f():\n    import os\ncouler.run_script('x', source=f, step_name='a')",
        "import couler\ndef train():\n    raise SystemExit\nfit = couler.step(train)",
    ],
)
def test_what_workflows_are_written_with_passes(source: str) -> None:
    assert check_program(source) == ()


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        ("output='/tmp/score.txt'", "score"),
        ("output=['a', couler.File('/tmp/top 10.csv')]", "top_10"),
        ("output=couler.create_parameter_artifact(path=PLACE)", "accuracy"),
        ("output=couler.File('x', name='rows')", "rows"),
        ("output={'rows': 'x.csv'}", "rows"),
        ("tuned=[{'name': '--learning-rate'}]", "best_learning_rate"),
    ],
)
def test_what_outputs_are_called_can_be_read(declared: str, name: str) -> None:
    source = (
        "import couler\nPLACE = '/tmp/accuracy.txt'\n"
        f"step = couler.run_container('x', step_name='a', {declared})\nprint(step.{name})\n"
    )
    assert check_program(source) == ()


def test_what_the_function_of_a_step_returns_can_be_read() -> None:
    source = (
        "import couler\n@couler.step\ndef f() -> dict:\n    found = {'rows': 1}\n"
        "    found['mean'] = 2\n    return found\nfound = f()\nprint(found.rows, found.mean)\n"
    )
    assert check_program(source) == ()


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("x = (", "CLR601"),
        ("x = '\x00'", "CLR601"),
        ("x = '\ud800'", "CLR601"),
        ("# coding: latin-1", "CLR601"),
        ("x = 1 " * 10 + "#" * MOST_CHARACTERS, "CLR602"),
        ("x = " + "[" * 150 + "]" * 150, "CLR602"),
        ("x = " + "-" * 60_000 + "1", "CLR602"),
        ("x = " + "a." * 60_000 + "a", "CLR602"),
        ("x = [" + "1," * 60_000 + "]", "CLR602"),
        ("import couler.dsl", "CLR603"),
        ("from . import x", "CLR603"),
        ("from couler import Worklow", "CLR603"),
        ("import math\nmath.perm(1)", "CLR603"),
        ("async def f(): ...", "CLR604"),
        ("def f():\n    global x", "CLR604"),
        ("def f():\n    yield 1", "CLR604"),
        ("del x", "CLR604"),
        ("type X = int" if hasattr(ast, "TypeAlias") else "del x", "CLR604"),
        ("input()", "CLR605"),
        ("__name__", "CLR605"),
        ("__file__", "CLR605"),
        ("import math\nx = math", "CLR605"),
        ("import couler\nx = [couler][0].dsl", "CLR605"),
        ("from typing import NamedTuple\nx = NamedTuple", "CLR605"),
        ("print(__class__=1)", "CLR605"),
        ("x = ''.__class__", "CLR606"),
        ("x = ''._private", "CLR606"),
        ("x = ''.encode", "CLR606"),
        ("def f(**k): ...\nf(_inner=1)\nx = ''._inner", "CLR606"),
        ("x = dict(gi_frame=1)\ny = (one for one in x).gi_frame", "CLR606"),
        ("x = {'fn': 1, 'format': 2}\ny = x.fn", "CLR606"),
        ("t = 'deleter'\nx = t.deleter", "CLR606"),
        ("'deleter'\nx = ['deleter'][0].deleter", "CLR606"),
        ("x = {'a': 'deleter', 'deleter of': 1}\ny = x.deleter", "CLR606"),
        ("def f(deleter): ...\nx = f.deleter", "CLR606"),
        ("deleter: int = 1\nx = ''.deleter", "CLR606"),
        ("print(sep='deleter')\nx = ''.deleter", "CLR606"),
        ("import couler\nwf = couler.Workflow('x')\nwf.to_ir()", "CLR606"),
        ("import couler\nwf = couler.Workflow('x')\nf = wf.run", "CLR606"),
        ("class A:\n    x = 1", "CLR607"),
        ("from typing import NamedTuple\nclass A(NamedTuple):\n    def f(self): ...", "CLR607"),
        ("from typing import NamedTuple\nclass A(NamedTuple):\n    _x: int", "CLR607"),
        ("import functools\n@functools.partial\ndef f(): ...", "CLR607"),
        ("'{:{}}'.format(1, 10)", "CLR608"),
        ("'%*d' % (10, 1)", "CLR608"),
        ("x = f'{1:{10}}'", "CLR608"),
        ("x = 1000000000000000000", "CLR609"),
        ("x = [0] * n if (n := 1) else 0", "CLR604"),
        ("n = 1\nx = [0] * n", "CLR609"),
        ("x = 'a' * 100 * 100000", "CLR609"),
        ("x = 2 ** 1000", "CLR609"),
        ("x = 1 << 30", "CLR609"),
        ("import couler\nwf = couler.Workflow('x')\nwf.run(jobs=2)", "CLR610"),
        ("from couler import create_secret", "CLR610"),
        ("import couler\ncouler.step = 1", "CLR611"),
        ("import couler\ncouler = 1", "CLR611"),
        ("import couler\ndef f(couler): ...", "CLR611"),
        ("import couler\nwf = couler.Workflow('x')\nwf.name = 'y'", "CLR611"),
        ("def f(x: print): ...", "CLR612"),
        ("def f(x: 1 + 1): ...", "CLR612"),
        ("def f(x: '(' ): ...", "CLR612"),
        ("def f() -> 'print()': ...", "CLR612"),
        ("list = 'print()'\ndef f(x: list): ...", "CLR612"),
        ("A = 'print()'\ndef f(x: A): ...", "CLR612"),
        ("A = B\nB = A\ndef f(x: A): ...", "CLR612"),
        ("x: 'print()' = 1", "CLR612"),
        ("from typing import NamedTuple\nclass A(NamedTuple):\n    x: 'print()'", "CLR612"),
        ("import couler\n@couler.step\ndef f(x=open('y')):\n    pass", "CLR605"),
        ("import couler\n@couler.step(cpu=open('y'))\ndef f():\n    pass", "CLR605"),
        ("import couler\n@couler.step\ndef f(x: 'open(1)'):\n    pass", "CLR612"),
        ("import couler\ndef f():\n    open('x')\ncouler.step(f)\nf()", "CLR605"),
    ],
)
def test_what_is_refused_has_its_code(source: str, code: str) -> None:
    assert code in {one.code for one in check_program(source)}


HIDDEN = [*range(9), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x200B, 0x2028, 0x2029]
HIDDEN += [0x202E, 0xD800, 0xDFFF, 0xFFF9, 0xE0041]


def test_no_character_that_a_terminal_obeys_passes() -> None:
    for number in HIDDEN:
        [found] = check_program(f"x = 1\n# a{chr(number)}b\n")
        assert f"the program holds U+{number:04X}, " in found.message
        assert str(found.source) == "workflow.py:2"


def test_lines_may_end_as_on_windows() -> None:
    assert check_program("import couler\r\ncouler.run()\r\n") == ()
    [found] = check_program("x = 1  # seen\rprint('not seen')\n")
    assert "U+000D" in found.message


def test_a_refusal_says_where_and_what_to_write_instead() -> None:
    found = check_program("import couler\n\ncouler.run_containr('busybox')\n", file="flow.py")
    assert "\n".join(map(str, found)) == (
        "flow.py:3  CLR603 error  a generated program cannot use run_containr of couler. Did you "
        'mean "run_container"?'
    )


def test_all_problems_are_told_at_once_and_not_without_end() -> None:
    found = check_program("\n".join(f"x{number} = open('a')" for number in range(80)))
    assert len(found) == 50
    assert [one.source.line for one in found if one.source] == list(range(1, 51))


def test_deep_programs_are_refused_before_they_are_walked() -> None:
    nested = "x = " + "(" * 90 + "1" + ",)" * 90
    assert {one.code for one in check_program(nested)} == set()
    assert MOST_DEPTH == 100


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import couler\n@couler.step\ndef a(): ...", ["a"]),
        ("import couler as c\n@c.step(cpu=1)\ndef a(): ...", ["a"]),
        ("from couler import step as s\n@s\ndef a(): ...", ["a"]),
        ("def step(f): return f\n@step\ndef a(): ...", []),
        ("import couler\nm = couler.step(cpu=1)\nm = print\n@m\ndef a(): ...", []),
        ("import couler\n@couler.step\n@print\ndef a(): ...", []),
        ("import couler\ndef a(): ...\ncouler.run_script('x', None, a)", ["a"]),
        ("import couler\ndef a(): ...\nb = a\ncouler.run_script('x', source=a)", []),
        ("import couler\ndef a(): ...\na = print\ncouler.run_script('x', source=a)", []),
        ("import couler\ndef a(): ...\nf = other.run_script('x', source=a)", []),
    ],
)
def test_only_functions_that_are_shipped_are_not_looked_at(source: str, names: list[str]) -> None:
    assert [one.name for one in shipped_functions(ast.parse(source))] == names


def test_the_inside_of_a_shipped_function_binds_nothing_for_the_build() -> None:
    source = "import couler\n@couler.step\ndef a():\n    import os\n    def step(): ...\n"
    bindings = Bindings(ast.parse(source))
    assert not bindings.is_bound("os")
    assert not bindings.is_bound("step")
    assert bindings.is_bound("a")


def test_each_refusal_of_a_hostile_program_has_a_line() -> None:
    for escape in ESCAPES:
        found = check_program(escape.program)
        assert bool(found) is bool(escape.gate), escape.name
        assert all(one.source is not None and one.source.line >= 1 for one in found)
