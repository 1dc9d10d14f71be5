"""Shipped scripts: what they hold, what they do when they run, and what cannot be shipped."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import subprocess
import sys
import typing as t
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

import couler
from couler import Directory, File, File as Paper
from couler.ir.glue import run_text, script_parts
from couler.ir.workflow import Script
from tests.dsl.look import steps
from tests.support.step_sources import imported

LIMIT = 3


class Pair(NamedTuple):
    name: str
    score: float = 0.5


@dataclass
class Config:
    rate: float
    pair: Pair
    layers: list[int] = dataclasses.field(default_factory=list)

    def double(self) -> float:
        return self.rate * 2


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


RUNS: dict[str, str] = {}
"""What runs the scripts."""


def script_of(function: t.Any, given: tuple[str, ...] = (), *, gathers: bool = False) -> str:
    with couler.Workflow("w") as wf:
        scope_step = function._make_alone() if hasattr(function, "_make_alone") else function()
        assert scope_step is not None
    assert [p for p in wf.diagnostics if p.code not in ("CLR101",)] == []
    action = wf.to_ir().steps[0].action
    assert isinstance(action, Script)
    text, helpers = script_parts(action, given, "items" if gathers else "files")
    RUNS[text] = run_text(helpers | {"files", "chdir"})
    return text


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the script of a typed step with inputs, in a folder of its own."""

    def start(
        function: t.Any, *, gathers: bool = False, **inputs: str
    ) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "script.py"
        text = script_of(function, (*inputs,), gathers=gathers)
        path.write_text(text, encoding="utf-8")
        environ = {f"COULER_INPUT_{name}": text for name, text in inputs.items()}
        return subprocess.run(
            [sys.executable, "-I", "-c", RUNS[text], str(path)],
            env={**environ, "COULER_WORK": str(tmp_path / "work"), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )

    return start


def written(tmp_path: Path, name: str = "result") -> str:
    return (tmp_path / "work" / "outputs" / name).read_bytes().decode()


@couler.step
def describe(config: Config, color: Color, names: list[str], extra: str | None = "none") -> str:
    import json

    assert isinstance(config.pair, Pair)
    return json.dumps([config.double(), config.pair, config.layers, color.name, names, extra])


def test_inputs_are_decoded_by_their_annotations(run, tmp_path: Path) -> None:
    done = run(
        describe,
        config='{"rate":1,"pair":{"name":"a"},"layers":[1]}',
        color="blue",
        names='["x","5"]',
        extra="null",
    )
    assert done.stderr == ""
    assert json.loads(written(tmp_path)) == [2.0, ["a", 0.5], [1], "BLUE", ["x", "5"], None]


@couler.step
def give(kind: str) -> dict[str, object]:
    import math

    return {
        "braces": {"x": "{{item}}"},
        "plain": {"a": {"b": [{}]}, "é": 1.0, "none": None, "list": (1,)},
        "nan": {"x": math.nan},
        "object": {"x": object()},
        "large": {"x": "x" * 70000},
        "keys": {1: "a", "b": {None: 1}},
        "inner key": {"b": [{None: 1}]},
        "nul": {"x": "a\0b"},
        "half": {"x": "\ud800"},
    }[kind]


def test_json_outputs_are_compact(run, tmp_path: Path) -> None:
    assert run(give, kind="plain").stderr == ""
    text = written(tmp_path)
    assert text == '{"a":{"b":[{}]},"é":1.0,"none":null,"list":[1]}'
    assert run(give, kind="braces").stderr == ""
    assert written(tmp_path) == '{"x":"{{item}}"}'
    assert run(give, kind="braces", gathers=True).stderr == ""
    assert json.loads(json.loads(written(tmp_path))) == {"x": "{{item}}"}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nan", "the output result cannot travel"),
        ("object", "the output result cannot travel"),
        ("keys", "keys must be text, not 1"),
        ("inner key", "keys must be text, not None"),
        ("nul", "a text cannot hold NUL"),
        ("half", "surrogates not allowed"),
        ("large", "more than 65536: return a File instead"),
    ],
)
def test_outputs_that_cannot_travel_fail_the_step(run, kind: str, message: str) -> None:
    done = run(give, kind=kind)
    assert done.returncode == 1
    assert message in done.stderr


@couler.step
def echo(text: str) -> str:
    return text


@pytest.mark.parametrize("text", ["", "a\n", "{{item}} {{{", "\r\n x", "null", "é\u2028"])
def test_text_travels_as_it_is_less_the_newline_that_readers_take(run, tmp_path, text) -> None:
    assert run(echo, text=text).stderr == ""
    assert written(tmp_path) == text + "\n"
    assert run(echo, text=text, gathers=True).stderr == ""
    assert json.loads(json.loads(written(tmp_path))) == text


@couler.step
def wrong(kind: str) -> int:
    return {"none": None, "bool": True, "text": "1"}[kind]  # type: ignore[return-value]


@pytest.mark.parametrize("kind", ["none", "bool", "text"])
def test_an_output_of_the_wrong_type_fails_the_step(run, kind: str) -> None:
    done = run(wrong, kind=kind)
    assert done.returncode == 1
    assert "does not fit its type" in done.stderr


@couler.step
def wrong_list(kind: str) -> list[int]:
    return {"none": [1, None], "text": ["1"], "float": [1.0]}[kind]  # type: ignore[return-value]


@pytest.mark.parametrize("kind", ["none", "text", "float"])
def test_an_item_of_the_wrong_type_fails_the_step(run, kind: str) -> None:
    done = run(wrong_list, kind=kind)
    assert done.returncode == 1
    assert "does not fit its type" in done.stderr


class Files(NamedTuple):
    one: File
    same: File
    folder: Directory
    size: int


@couler.step
def files(data: Paper, many: list[File], folder: Directory) -> Files:
    import os
    from pathlib import Path

    assert os.getcwd() == os.path.realpath(os.environ["COULER_WORK"])
    with open(data) as source, open("copy", "w") as target:
        target.write(source.read())
        for one in many:
            target.write(Path(one).read_text() if one else "-")
    os.mkdir("made")
    open("made/x", "w").close()
    return Files(File("copy"), File("copy"), Directory("made"), len(os.listdir(folder.path)))


def test_files_come_as_paths_and_are_kept(run, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("data")
    many = tmp_path / "many"
    many.mkdir()
    for index in (0, 2, 10):
        (many / str(index)).write_text(str(index))
    done = run(files, data=str(tmp_path / "in"), many=str(many), folder=str(many))
    assert done.stderr == ""
    assert written(tmp_path, "one") == written(tmp_path, "same") == "data0-2-------10"
    assert (tmp_path / "work/outputs/folder/x").is_file()
    assert written(tmp_path, "size") == "3"


@couler.step
def forgets() -> File:
    return File("nothing")


def test_a_file_that_was_not_written_fails_the_step(run) -> None:
    done = run(forgets)
    assert done.returncode == 1
    assert "there is no such file" in done.stderr


def outer(hidden: t.Any) -> t.Any:
    @couler.step
    def closure() -> int:
        return hidden

    return closure


@couler.step
def uses_global() -> int:
    return LIMIT


@couler.step
def uses_module() -> str:
    return os.getcwd()


@couler.step
def uses_global_deep() -> list[int]:
    def inner() -> int:
        return max(LIMIT for _ in range(2))

    return [inner()]


@couler.step
def uses_default(n: int = LIMIT) -> int:
    return n


@couler.step
def uses_file() -> str:
    return __file__


workflow = couler.Workflow("w")


@couler.step
def uses_workflow() -> str:
    return workflow.name


@couler.step
async def waits() -> int:
    return 1


@couler.step
def yields() -> t.Any:
    yield 1


@pytest.mark.parametrize(
    ("function", "code", "message"),
    [
        (
            outer(object()),
            "CLR123",
            "hidden, which is of the type object and of the function around it",
        ),
        (uses_workflow, "CLR122", "it uses workflow, of line"),
        (uses_file, "CLR122", "it uses __file__, which a step does not have"),
        (waits, "CLR110", "asynchronous"),
        (yields, "CLR110", "a generator"),
        (couler.step(lambda: (yield)), "CLR110", "a generator"),
        (couler.step(eval("lambda: 1")), "CLR110", "source cannot be found"),
        (couler.step(print), "CLR110", "no function written in Python"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_travel_is_reported_at_the_function(function, code, message) -> None:
    with couler.Workflow("w") as wf:
        function()
    problem = next(one for one in wf.diagnostics if one.code != "CLR109")
    assert problem.code == code
    assert message in problem.message
    if code not in ("CLR110",):
        assert problem.source.line == function.fn.__code__.co_firstlineno


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (uses_global, "3"),
        (uses_module, None),
        (uses_global_deep, "[3]"),
        (uses_default, "3"),
        (outer(4), "4"),
    ],
)
def test_names_of_the_file_travel(function, expected: str | None, run, tmp_path: Path) -> None:
    done = run(function)
    assert done.returncode == 0, done.stderr
    assert written(tmp_path).removesuffix("\n") == str(expected or tmp_path / "work")


def test_names_that_are_defined_inside_are_fine() -> None:
    @couler.step
    def work(n: int) -> int:
        import math

        def square(x: int) -> int:
            return x * x if x else work_limit

        work_limit = 3
        return sum(square(i) for i in range(int(math.fabs(n))))

    assert "def work(n: int)" in script_of(work)


def test_cells_of_a_notebook_can_be_shipped() -> None:
    import linecache

    cell = (
        "from typing import NamedTuple\n"
        "import couler\n"
        "class Cell(NamedTuple):\n"
        "    value: int\n"
        "@couler.step\n"
        "def work() -> Cell:\n"
        "    return Cell(1)\n"
    )
    name = "<ipython-input-1-abc>"
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
    namespace: dict[str, t.Any] = {"__name__": "__main__"}
    exec(compile(cell, name, "exec"), namespace)
    text = script_of(namespace["work"])
    assert "class Cell(NamedTuple):\n    value: int\n" in text
    with couler.Workflow("w") as wf:
        exec(compile("work()", name, "exec"), namespace)
    assert steps(wf)["work"].source.file == "<notebook>"


@couler.step
def writes() -> int:
    import os

    os.makedirs("outputs/of/mine")
    with open("outputs/model.bin", "wb") as file:
        file.write(b"\xff")
    return 1


def test_files_of_the_function_among_the_outputs_stay(run, tmp_path: Path) -> None:
    assert run(writes, gathers=True).stderr == ""
    assert written(tmp_path) == "1"
    assert (tmp_path / "work/outputs/model.bin").read_bytes() == b"\xff"


class Figures(NamedTuple):
    count: int
    rate: float
    name: str


@couler.step
def counts() -> Figures:
    import numpy as np

    return Figures(np.int64(3), np.float32(0.5), "a")  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers(run, tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    assert run(counts).stderr == ""
    assert [written(tmp_path, one) for one in Figures._fields] == ["3", "0.5", "a\n"]


NAMES = """
import couler
os = 5
def dump(x): return x
def name_places(): return os
@couler.step
def json(to_json: int) -> dict:
    return {"a": dump(to_json) + name_places()}
"""


def test_names_of_the_program_are_not_those_of_the_script(run, tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text(NAMES)
    assert run(imported(tmp_path / "names.py").json, to_json="2").stderr == ""
    assert written(tmp_path) == '{"a":7}'


def test_script_of_a_plain_function_runs_it() -> None:
    def code() -> int:
        """Text with: colons."""
        x: int = 3
        print({"a": x}["a"])  # noqa: T201
        return x

    with couler.Workflow("w") as wf:
        couler.run_script(source=code)
    source = wf.to_ir().steps[0].action.source
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.stdout == "3\n"


def test_a_script_function_with_arguments_is_reported() -> None:
    def needs(x: int) -> None: ...

    with couler.Workflow("w") as wf:
        couler.run_script(source=needs)
    [problem] = wf.diagnostics
    assert (problem.code, "make it a @couler.step" in problem.message) == ("CLR109", True)


@couler.step
def linked(target: str) -> Directory:
    import os

    os.makedirs("elsewhere/inner")
    open("elsewhere/inner/x", "w").close()
    os.symlink("../..", "elsewhere/inner/root")
    os.makedirs("made/sub")
    os.symlink("sub", "made/sub/../link")
    os.symlink(".", "made/sub/self")
    os.symlink(target, "made/target")
    return Directory("made")


def test_links_of_a_folder_keep_their_meaning(run: t.Any, tmp_path: Path) -> None:
    made = tmp_path / "work" / "outputs" / "result"
    done = run(linked, target=str(tmp_path / "work" / "elsewhere" / "inner" / "x"))
    assert done.stderr == ""
    links = {
        str(one.relative_to(made)): os.readlink(one) for one in made.rglob("*") if one.is_symlink()
    }
    assert links == {"link": "sub", "sub/self": "."}
    assert (made / "target").is_file()


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_links_that_lead_nowhere_or_around_fail_the_step(run: t.Any, target: str) -> None:
    done = run(linked, target=f"../{target}")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert target in done.stderr


@couler.step
def perhaps(
    pair: Pair | None = None,
    xs: list[int] | None = None,
    text: str | None = None,
    many: list[File] | None = None,
    one: File | None = None,
) -> str:
    return repr((pair, xs, text, many and len(many), one))


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({}, "(None, None, None, None, None)"),
        ({"pair": "null", "xs": "null", "text": "null"}, "(None, None, None, None, None)"),
        (
            {"pair": '{"name":"a"}', "xs": "[1]", "text": '"null"', "one": "/"},
            "(Pair(name='a', score=0.5), [1], 'null', None, '/')",
        ),
        (
            {"pair_name": "b", "xs_0": "1", "xs_1": "2", "many_0": "/a", "many_1": "/b"},
            "(Pair(name='b', score=0.5), [1, 2], None, 2, None)",
        ),
    ],
)
def test_optional_inputs(run, tmp_path: Path, inputs: dict[str, str], expected: str) -> None:
    assert run(perhaps, **inputs).stderr == ""
    assert written(tmp_path) == expected + "\n"


def test_lambdas_of_modules_and_several_on_one_line_are_told_apart() -> None:
    with couler.Workflow("w") as wf:
        pair = (lambda: print("one"), lambda: print("two"))  # noqa: T201
        couler.run_script("python:3.12", source=pair[1], step_name="second")
        couler.run_script("python:3.12", source=lambda: os.getpid(), step_name="module")
    assert "two" in steps(wf)["second"].action.source
    assert "one" not in steps(wf)["second"].action.source
    assert steps(wf)["module"].action.source.startswith("from __future__")
    assert "\nimport os\n" in steps(wf)["module"].action.source
