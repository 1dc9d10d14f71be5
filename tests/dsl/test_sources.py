"""What is shipped of a function is what runs here, or it is refused."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import typing as t
from pathlib import Path
from types import ModuleType

import pytest

import couler
from couler.dsl.shipping import plain_script, python_preamble
from couler.ir.glue import run_text, script_parts
from couler.ir.workflow import Script
from tests.support.step_sources import imported, step_module


def shipped(step: t.Any, *given: object) -> t.Callable[..., object] | str:
    """Return the function of the script of a step; or why there is none."""
    with couler.Workflow("w") as flow:
        step(*given)
    action = flow.to_ir().steps[0].action
    assert isinstance(action, Script)
    if flow.diagnostics:
        return flow.diagnostics[0].message
    source, _ = script_parts(action, ())
    return t.cast("t.Callable[..., object]", run_as_module(source)[action.function])


def run_as_module(source: str) -> dict[str, t.Any]:
    """Run a script as a module, which dataclasses look at, and return its names."""
    sys.modules["step"] = module = ModuleType("step")
    exec(compile(source, "script", "exec", dont_inherit=True), vars(module))
    return vars(module)


@pytest.mark.parametrize("count", [100, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_any_source_gives_what_the_plain_call_gives(count: int, tmp_path: Path) -> None:
    draw, refused = random.Random(27), []
    for index in range(count):
        path = tmp_path / f"module_{index}.py"
        path.write_bytes(step_module(draw))
        work = imported(path).work
        there = shipped(work, 3)
        if isinstance(there, str):
            refused.append((path, there))
        else:
            assert there(3) == work.fn(3), path
    assert len(refused) <= 0.02 * count, refused[:5]


def written(folder: Path, text: str, name: str = "steps") -> t.Any:
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return imported(path)


PAIR = """
import couler

@couler.step
def double(n: int) -> int:
    return n * 2

@couler.step
def half(n: int) -> int:
    return n // 2
"""


@pytest.mark.parametrize("front", ["", "import os\n\n\n\n", "@print\ndef other(): ...\n" * 2])
def test_a_file_that_is_changed_after_its_import_ships_what_was_imported(
    front: str, tmp_path: Path
) -> None:
    module = written(tmp_path, PAIR)
    (tmp_path / "steps.py").write_text(front + PAIR.replace("* 2", "* 3").replace("\n", "\n#\n"))
    half = module.half.with_options(working_dir="/tmp")
    for step, result in ((module.double, 16), (module.half, 4), (half, 4)):
        there = shipped(step, 8)
        assert not isinstance(there, str)
        assert there(8) == result


def test_a_relative_path_is_that_of_the_module(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "flow.py").write_text(PAIR)
    (tmp_path / "inner" / "flow.py").write_text(PAIR.replace("* 2", "* 9"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, t.Any] = {"__name__": "flow", "__file__": str(tmp_path / "flow.py")}
    exec(compile("import os; os.chdir('inner')\n" + PAIR[1:], "flow.py", "exec"), names)
    there = shipped(names["double"], 4)
    assert not isinstance(there, str)
    assert there(4) == 8


CLASSES = """
import enum
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import couler

NEW = {new}

if NEW:
    @dataclass
    class Plan:
        rounds: int = 1
else:
    @dataclass
    class Plan:
        rounds: int = 10

if not NEW:
    class Pair(NamedTuple):
        a: int
        b: int = 2

        def total(self) -> int:
            return self.a + self.b
else:
    class Pair(NamedTuple):
        a: int
        b: int = 2

        def total(self) -> int:
            return self.a * self.b

class Outer:
    @dataclass
    class Config:
        most: ClassVar[int] = 3
        rate: float

class Other:
    @dataclass
    class Config:
        name: str

class Kind(enum.Enum):
    WIDE = (1, (2, "x"))
    DEEP = [3]

@couler.step
def work(plan: Plan, pair: Pair, one: Outer.Config, two: Other.Config, kind: Kind) -> list[str]:
    return [str(plan.rounds), str(pair.total()), str(one.rate), two.name, kind.name]
"""


@pytest.mark.parametrize("new", [True, False])
def test_the_class_that_is_there_is_shipped(new: bool, tmp_path: Path) -> None:
    module = written(tmp_path, CLASSES.format(new=new))
    plan, pair = module.Plan(), module.Pair(4)
    given = (plan, pair, module.Outer.Config(0.5), module.Other.Config("c"), module.Kind.WIDE)
    with couler.Workflow("w") as flow:
        module.work(*given)
    assert flow.diagnostics == ()
    step = flow.to_ir().steps[0]
    script = tmp_path / "script.py"
    text, helpers = script_parts(step.action, tuple(one.name for one in step.inputs))
    script.write_text(text)
    texts = {f"COULER_INPUT_{one.name}": json.dumps(one.value.value) for one in step.inputs}
    environment = {**texts, "COULER_WORK": str(tmp_path / "work")}
    command = [sys.executable, "-I", "-c", run_text(helpers | {"files", "chdir"}), str(script)]
    subprocess.run(command, env=environment, check=True)
    printed = (tmp_path / "work" / "outputs" / "result").read_text()
    assert json.loads(printed) == module.work.fn(*given)


TWICE = """
from dataclasses import dataclass

import couler

def make(flag):
    if flag:
        @dataclass
        class Config:
            size: int = 1
    else:
        @dataclass
        class Config:
            size: int = 1
            __slots__ = ()
    return Config

Config = make(True)

@couler.step
def work(config: Config) -> int:
    return config.size
"""


def test_a_class_that_a_function_makes_is_made_there(tmp_path: Path) -> None:
    module = written(tmp_path, TWICE)
    there = shipped(module.work, module.Config())
    assert not isinstance(there, str), there
    assert there(module.Config(3)) == 3


OF_CLASSES = """
import enum
import functools
import reprlib
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple
from unittest.mock import call

import couler

@dataclass
class Row:
    n: int
    low: int = -1
    size: tuple[int, ...] = (1, 2)
    wide: float = field(default=10.5)
    kept: int = field(default_factory=lambda: 7)
    most: ClassVar[int] = 3
    rates = {"x": 1}
    told = call
    by_name = {}
    by_name["n"] = 5
    key = lambda self, by=2: self.n * by
    __hidden = 4

    def total(self, by: int = 1) -> int:
        return self.n * by * self.__hidden

    @functools.cached_property
    def doubled(self) -> int:
        return self.n * 2

    @staticmethod
    def name() -> str:
        return "row"

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        return "Row"

@dataclass(frozen=True, slots=True, order=True)
class Slots:
    n: int = 1
    more: list[int] = field(default_factory=list)

class Pair(NamedTuple):
    n: int
    b: int = 2

    @property
    def both(self) -> int:
        return self.n + self.b

class Mode(enum.Enum):
    WIDE = (1, "w")
    DEEP = (2, "d")

    def __init__(self, size, letter):
        self.size = size

class Share(float, enum.Enum):
    HALF = 0.5
    ALL = 1

class Coded(enum.Enum):
    A = (1, "a")

    def __new__(cls, code, letter):
        made = object.__new__(cls)
        made._value_ = code
        return made

def patched(cls):
    cls.total = lambda self: 5
    return cls

class Bare:
    n: int
{after}
@couler.step
def work(row: Row, slots: Slots, pair: Pair, mode: Mode, share: Share, coded: Coded) -> int:
    return row.total() + slots.n + pair.both + mode.size + row.by_name["n"]
"""
USE_BARE = """
@couler.step
def work(bare: Bare) -> int:
    return bare.n
"""


def shipped_of_classes(module: t.Any) -> t.Callable[..., object] | str:
    given = (module.Row(2), module.Slots(3), module.Pair(4), module.Mode.WIDE, module.Share.ALL)
    there = shipped(module.work, *given, module.Coded.A)
    if not isinstance(there, str):
        assert there(*given, module.Coded.A) == module.work.fn(*given, module.Coded.A)
    return there


def test_ordinary_classes_are_shipped(tmp_path: Path) -> None:
    there = shipped_of_classes(written(tmp_path, OF_CLASSES.replace("{after}", "")))
    assert not isinstance(there, str), there


@pytest.mark.parametrize(
    "after",
    [
        "Row.total = lambda self: 43",
        "Row.total.__defaults__ = (2,)",
        "Row.doubled = property(lambda self: 0)",
        "Row.most = 100",
        "Row.rates['x'] = 2",
        "Row._Row__hidden = 5",
        "Row = patched(Row)",
        "patched(Row)",
        "Mode.WIDE._value_ = (1, 'x')",
        "for _ in range(2):\n    Row.by_name.update(n=9)",
    ],
)
def test_a_class_is_shipped_with_what_its_file_changes_of_it(after: str, tmp_path: Path) -> None:
    there = shipped_of_classes(written(tmp_path, OF_CLASSES.replace("{after}", after)))
    assert not isinstance(there, str), there


DEFAULTS = """
import couler

def work(n: int = 1, *, m: int = -2) -> int:
    return n * 3 + m

{change}
work = couler.step(work)
"""


@pytest.mark.parametrize(
    "change",
    ["work.__defaults__ = (10,)", 'work.__kwdefaults__["m"] = 5', "work.__defaults__ = None"],
)
def test_defaults_that_the_file_changes_are_changed_there(change: str, tmp_path: Path) -> None:
    module = written(tmp_path, DEFAULTS.format(change=change))
    there = shipped(module.work, 1)
    assert not isinstance(there, str), there
    assert there(1) == module.work.fn(1)
    assert there.__defaults__ == module.work.fn.__defaults__  # type: ignore[attr-defined]


WRAPPED = """
import functools

def doubled(f):
    @functools.wraps(f)
    def inner():
        return 2 * f()
    return inner

def base() -> int:
    return 1

work = couler.step(doubled(base))
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (WRAPPED, "another function wraps it (doubled), by a call"),
        (
            "class Steps:\n @couler.step\n def work() -> int:\n  __n = 1\n\nwork = Steps.work\n",
            "a name that begins with __",
        ),
    ],
)
def test_what_would_be_something_else_there_is_refused(
    text: str, told: str, tmp_path: Path
) -> None:
    assert told in str(shipped(written(tmp_path, f"import couler\n{text}").work))


IMPORTED = """
import importlib
import os.path as places
from string import Template as template
if True:
    import json

import couler

def outer():
    from couler import File

    @couler.step
    def inner(target: str) -> File:
        import json
        made = File("made")
        made.write_text(json.dumps(target))
        return made

    return inner

@couler.step
def work(target: str) -> str:
    import json
    from os import path as places

    def template(): ...

    importlib = template.__name__
    return json.dumps([places.basename(target), importlib.title()])

@couler.step
def rows(places: str, importlib: str) -> str:
    return places.upper() + importlib.lower()
"""


def test_a_step_may_import_what_its_module_imports(tmp_path: Path) -> None:
    """CPython calls an attribute of a name otherwise where its module imports that name."""
    module = written(tmp_path, IMPORTED)
    for step, arguments in ((module.work, ["a/b"]), (module.rows, ["a", "B"])):
        there = shipped(step, *arguments)
        assert not isinstance(there, str), there
        assert there(*arguments) == step.fn(*arguments)
    assert not isinstance(shipped(module.outer(), "a"), str)


@couler.step
def checked(n: int) -> int:
    def positive(m: int) -> int:
        assert m > 0
        return m

    return positive(n)


def test_steps_of_a_test_module_have_assertions() -> None:
    """Which pytest writes anew as it imports the module."""
    there = shipped(checked, 3)
    assert not isinstance(there, str), there
    assert there(3) == 3


OTHERS_ANNOTATIONS = """
from __future__ import annotations
import dataclasses
import typing as t
from typing import ClassVar

import couler

@dataclasses.dataclass
class Row:
    most: t.ClassVar[int] = 5
    least: ClassVar[int] = 0
    depth: int = 1

@couler.step
def typed(row: Row) -> int:
    return Row(row.depth).depth + Row.most

@couler.step
def inside(n: int) -> int:
    import dataclasses

    @dataclasses.dataclass
    class Config:
        most: t.ClassVar[int] = 5
        least: ClassVar[int] = 0
        depth: int = 1

    return Config(n).depth + Config.most

def plain():
    import dataclasses

    @dataclasses.dataclass
    class Config:
        most: t.ClassVar[int] = 5
        depth: int = 1

    print(Config(7).depth, Config.__annotations__)
"""


def test_a_variable_of_a_class_is_no_field_where_annotations_are_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Dataclasses find out what the text `t.ClassVar` is by the names of the module."""
    module = written(tmp_path, OTHERS_ANNOTATIONS)
    for step, given in ((module.typed, module.Row(9)), (module.inside, 9)):
        there = shipped(step, given)
        assert not isinstance(there, str), there
        assert there(given) == step.fn(given) == 14
    module.plain()
    run_as_module(plain_script(module.plain))
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_annotations_mean_what_they_mean_in_the_file(tmp_path: Path) -> None:
    text = (
        "import couler\nimport decimal\n\n@couler.step\n"
        "def work(n: 'int', d: decimal.Decimal | int = 1) -> int:\n"
        "    import dataclasses\n    import typing as t\n\n    @dataclasses.dataclass\n"
        "    class Config:\n        most: t.ClassVar[int] = 5\n        depth: int = n\n\n"
        "    return len(dataclasses.fields(Config))\n"
    )
    module = written(tmp_path, text.replace(" | int", ""))
    with couler.Workflow("w") as flow:
        module.work(1)
    assert [one.code for one in flow.diagnostics] == ["CLR108"]  # no Decimal travels
    module = written(tmp_path, text.replace("decimal.Decimal | ", ""))
    there = shipped(module.work, 1)
    assert not isinstance(there, str)
    assert there(1) == module.work.fn(1) == 1


@pytest.mark.parametrize(
    "text",
    [
        'print(__import__("sys").argv[1:])',
        '"""Doc\x0c."""\nimport sys\nprint(sys.argv[1:])',
        '"""Doc."""; import sys; print(sys.argv[1:])',
        "'''D\r\nx'''\r\nfrom __future__ import annotations;import sys\r\nprint(sys.argv[1:])",
        'print(\\\n  __import__("sys").argv[1:])\n',
        "# a comment\nfrom __future__ import annotations  # here\nimport sys\nprint(sys.argv[1:])",
    ],
)
def test_arguments_come_before_the_first_statement(text: str) -> None:
    script = python_preamble(text, "import sys; sys.argv[1:] = ['x']")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['x']"


INNER_CLASSES = """
import typing as t

import couler

@couler.step
def work(
    n: t.Optional[
        int
    ]
) -> int:
    class Size:
        least = 3
        lines = (5, 6, 7, 8)
        most = 12

        def total(self) -> int:
            class Inner:
                size = 16
            return Inner.size + Size.most

    return n + Size().total()
"""


def test_a_step_may_define_classes(tmp_path: Path) -> None:
    """Since Python 3.13 the code of a class has the number of its line."""
    module = written(tmp_path, INNER_CLASSES)
    there = shipped(module.work, 1)
    assert not isinstance(there, str), there
    assert there(1) == module.work.fn(1) == 29


HIDDEN = """
import couler

class Array:
    def __eq__(self, other):
        return self

    def __bool__(self):
        raise ValueError

    def __call__(self, *given):
        return 43

max = Array()

@couler.step
def work(n: int) -> int:
    return max(n, 1)
"""


@pytest.mark.parametrize("answer", ["raise ValueError", "return True"])
def test_a_global_with_the_name_of_a_builtin_travels(answer: str, tmp_path: Path) -> None:
    module = written(tmp_path, HIDDEN.replace("raise ValueError", answer))
    there = shipped(module.work, 1)
    assert not isinstance(there, str), there
    assert there(1) == 43


GLOBALS = """
import os

import couler

LIMIT = COUNT = 1

def helper():
    return 1

@couler.step
def work(by: int) -> int:
    global COUNT, made
    made = 2
    COUNT += made

    class Settings:
        LIMIT = 5
        size = LIMIT

    return COUNT + LIMIT + Settings.size + helper() + len(os.sep)
"""


def test_a_step_may_change_global_names(tmp_path: Path) -> None:
    there = shipped(written(tmp_path, GLOBALS).work, 1)
    assert not isinstance(there, str), there
    assert there(1) == 3 + 1 + 5 + 1 + 1


NOT_THERE = """
import couler

flow = couler.Workflow("w")
globals()["MADE"] = 1

def outer():
    lock = object()

    @couler.step
    def work() -> object:
        return flow, MADE, unknown, ONLY_HERE, lock, couler.when

    return work

work = outer()

if __name__ == "__main__":
    ONLY_HERE = 1
"""


def test_all_names_that_cannot_travel_are_reported_at_once(tmp_path: Path) -> None:
    told = str(shipped(written(tmp_path, NOT_THERE).work))
    for name, reason in {
        "flow": "of line 4, which exists only where the workflow is built",
        "MADE": "which no statement of its file defines",
        "unknown": "which nothing defines",
        "ONLY_HERE": "which nothing defines",
        "lock": "which is of the type object and of the function around it",
        "couler": "of line 2, which exists only where the workflow is built",
    }.items():
        assert f"{name}, {reason}" in told
