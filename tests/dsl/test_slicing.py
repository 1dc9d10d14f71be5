"""What travels with a step of its file: all that it uses, and nothing else."""

from __future__ import annotations

import ast
import decimal
import random
import sys
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

import couler
from couler.ir.imports import bindings, bound_names
from couler.ir.workflow import Script
from couler.stages.programs import load_program
from tests.support.project_modules import ProjectModule
from tests.support.step_sources import imported


class Module:
    """What dataclasses find for the name of a module."""


class Traced(dict[str, object]):
    """The names of a module, of which it is recorded which were read."""

    def __init__(self) -> None:
        super().__init__(__name__="traced")
        self.read: set[str] = set()
        module = Module()
        module.__dict__ = self
        sys.modules["traced"] = module  # type: ignore[assignment]

    def __getitem__(self, name: str) -> object:
        self.read.add(name)
        return super().__getitem__(name)


def source_of(module: object) -> str | None:
    """Return what of a module travels with its step; None if the step is refused."""
    with couler.Workflow("w") as flow:
        module.work(3)  # type: ignore[attr-defined]
    action = flow.to_ir().steps[0].action
    assert isinstance(action, Script)
    if flow.diagnostics:
        return None
    return action.source


def result_of(source: str, names: Traced) -> object:
    exec(compile(source, "script", "exec", dont_inherit=True), names)
    return names["work"](3)  # type: ignore[operator]


@pytest.mark.parametrize("count", [60, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_a_step_gives_what_the_plain_call_gives(count: int, tmp_path: Path) -> None:
    draw, refused = random.Random(29), []
    for index in range(count):
        path = tmp_path / f"module_{index}.py"
        path.write_text(ProjectModule(draw).text())
        source = source_of(imported(path))
        if source is None:
            refused.append(path)
            continue
        expected = imported(path).work.fn(3)
        traced = Traced()
        assert result_of(source, traced) == expected, path
        # Python reads names in bodies of classes past the trace: without these, all is otherwise.
        for name in bindings(source).keys() - traced.read - {"*", "annotations"}:
            statements = [one for one in ast.parse(source).body if name not in bound_names(one)]
            other = ast.unparse(ast.Module(statements, []))
            try:
                assert result_of(other, Traced()) != expected, (path, name)
            except (NameError, TypeError):
                continue
    assert len(refused) <= 0.02 * count, refused[:5]


HELPERS = """
import couler
from couler import File

LIMIT = 4
STEPS = [LIMIT]
STEPS.append(1)

class Row:
    def size(self):
        return LIMIT

def scale(x):
    return x * LIMIT + unit()

def unit():
    return len(STEPS)

@couler.step
def other(data: File) -> int:
    return scale(1)
"""
FLOW = """
import couler
from helpers import LIMIT as MOST, Row, scale, unit as one

@couler.step
def work(n: int) -> list:
    return [scale(n), one(), Row().size(), MOST, sorted(globals())]
"""


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[t.Any]:
    """A program with a module beside it."""
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "flow.py").write_text(FLOW)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield imported(tmp_path / "flow.py")
    sys.modules.pop("helpers")


def test_what_is_imported_by_name_from_the_project_travels(flow: t.Any) -> None:
    source = source_of(flow)
    assert source is not None
    *values, names = t.cast("list[t.Any]", result_of(source, Traced()))
    assert values == flow.work.fn(3)[:-1]
    assert "couler" not in names
    assert "other" not in names


def test_two_modules_may_have_one_name(flow: t.Any, tmp_path: Path) -> None:
    path = tmp_path / "flow.py"
    text = FLOW.replace("@couler", "LIMIT = 1\n\n@couler").replace("[scale(n)", "[LIMIT, scale(n)")
    path.write_text(text)
    with couler.Workflow("w") as made:
        imported(path).work(3)
    assert made.diagnostics == ()


PATHS = """
from pathlib import Path
from typing import NamedTuple

import couler


class Parts(NamedTuple):
    train: Path
    test: Path


@couler.step
def split(text: str) -> Parts:
    Path("a.txt").write_text(text + " a")
    Path("b.txt").write_text(text + " b")
    return Parts(Path("a.txt"), Path("b.txt"))


@couler.step
def read(part: Path) -> str:
    return part.read_text()


@couler.step(returns=couler.File)
def join(first: str, other: Path) -> str:
    with open(first) as file, open("all.txt", "w") as out:
        out.write(f"{file.read()}, {other.read_text()}")
    return "all.txt"


with couler.Workflow("w") as wf:
    parts = split("x")
    wf.output("one", read(parts.train))
    wf.output("two", read(join(parts.train, parts.test)))
    wf.output("all", read(join(parts.test, parts.train)))
"""


def test_paths_are_files_without_a_change_of_the_function(tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(PATHS)
    flow = imported(tmp_path / "flow.py").wf
    assert flow.diagnostics == ()
    run = flow.run()
    assert run.outputs == {"one": "x a", "two": "x a, x b", "all": "x b, x a"}


CHANGED = {
    "a decorator that is a method": """
import couler, functools
from dataclasses import dataclass
@dataclass
class A: x: int
@functools.singledispatch
def enc(x): return "obj"
@enc.register
def _(x: A): return x.x
def mk(n): return A(n)
@couler.step
def work(n: int) -> list: return [enc(mk(n))]
""",
    "state that an expression advances": """
import couler, random
rng = random.Random(0)
A = rng.random()
B = rng.random()
H=[1,2,3]
y = H.pop()
@couler.step
def work(n: int) -> list: return [B, H]
""",
    "keywords, comprehensions and setattr": """
import couler
def fill(d): d["a"] = 1
CFG = {}
fill(d=CFG)
OUT=[]
[OUT.append(i) for i in range(3)]
class C: lr=0.1
for k, v in {"lr":3.0}.items(): setattr(C,k,v)
vars(C)
@couler.step
def work(n: int) -> list: return [sorted(CFG),OUT,C.lr]
""",
    "a part of a value": """
import couler, argparse
parser = argparse.ArgumentParser()
group = parser.add_argument_group("g")
group.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args([])
@couler.step
def work(n: int) -> float: return n * args.lr
""",
    "subclasses of subclasses": """
import couler
class Base:
    registry = {}
    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw); Base.registry[cls.__name__] = cls
class A(Base): v = 1
class B(A): v = 2
@couler.step
def work(n: int) -> list: return sorted(Base.registry)
""",
    "a test that is not main": """
import couler
K = 1
if __name__ != "__main__": K = 4
@couler.step
def work(n: int) -> int: return K
""",
    "a call that builds a workflow": """
import couler
from pathlib import Path
seen, here = [], Path("here")
@couler.step
def work(n: int) -> int:
    seen.append(here.name)
    return len(seen)
def make():
    with couler.Workflow("inner") as flow:
        work(1)
    return flow
flow = make()
gone = [*here.glob("*"), couler]
""",
    "a default of a loop": """
import couler
steps = []
for k in range(3):
    @couler.step
    def work(n: int, k: int = k) -> int: return n * k
    steps.append(work)
work = steps[1]
""",
    "couler.File": """
import couler
@couler.step
def work(n: int) -> couler.File:
    return couler.File("out.txt")
""",
    "global names": """
import couler
def get():
    global _m
    _m = [1]
def use(): return _m
def init():
    global CFG
    CFG = 5
init()
@couler.step
def work(n: int) -> list:
    get()
    return [use(), CFG]
""",
    "other names of a value": """
import couler, functools, heapq
A, B, P, Q, R, H = {"x": 1}, {"x": 2}, [], [], [], [3, 1, 2]
for t in (A, B): t["x"] = 7
a = b = []
b.append(1)
c = {"m": {}}
inner = c["m"]; inner["k"] = 9
d = a; d += [2]
push = P.append
push(1)
add1 = functools.partial(Q.append, 4); add1()
list(map(R.append, [1, 2]))
smallest = heapq.heappop(H)
@couler.step
def work(n: int) -> list: return [A, B, a, c, P, Q, R, H]
""",
    "functions that change what they are given": """
import couler
def grow(xs):
    inner = xs
    inner.append(len(xs))
    return len(xs)
X = []
count = grow(X)
@couler.step
def work(n: int) -> list: return X
""",
    "decorators in variables": """
import couler
REG = {}
class Router:
    def __init__(self): self.seen = []
    def add(self, f): self.seen.append(f.__name__); return f
def register(name):
    def keep(f): REG[name] = f(1); return f
    return keep
reg2 = register("two")
@reg2
def two(n): return n + 2
router = Router()
add = router.add
@add
def one(n): return n
@couler.step
def work(n: int) -> list: return [REG, router.seen]
""",
    "decorators that call a method of the registry": """
import couler
class Registry:
    def __init__(self): self.found = {}
    def register(self, name):
        def keep(f): self.found[name] = f(1); return f
        return keep
REG, BY = Registry(), {}
def register(name): return REG.register(name)
def on(event): return lambda f: BY[event].append(f(2)) or f
def first(event):
    found = BY.setdefault(event, [])
    found.append(0)
first("x")
@register("a")
def a(n): return n
@on("x")
def b(n): return n
@couler.step
def work(n: int) -> list: return [REG.found, BY]
""",
    "subclasses that are asked for, or fill a dict": """
import couler
class Base:
    pass
class Leaf(Base): name = "leaf"
KNOWN = {}
class Plugin:
    def __init_subclass__(cls): KNOWN[cls.__name__] = cls.value
class Mine(Plugin): value = 3
@couler.step
def work(n: int) -> list:
    return [[one.name for one in Base.__subclasses__()], KNOWN]
""",
    "classes kept by their metaclass": """
import couler
class Meta(type):
    known = []
    def __new__(mcs, name, bases, given):
        mcs.known.append(name); return super().__new__(mcs, name, bases, given)
class Base(metaclass=Meta): pass
class Leaf(Base): pass
@couler.step
def work(n: int) -> list: return Meta.known
""",
    "an import of the function around": """
import couler
def mk():
    from math import floor
    @couler.step
    def work(n: int) -> int: return floor(n+0.5)
    return work
work = mk()
""",
}
"""Steps that return something else without what their files do besides definitions."""


@pytest.mark.parametrize("text", CHANGED.values(), ids=list(CHANGED))
def test_what_changes_a_value_travels_with_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(text)
    flow = imported(tmp_path / "flow.py")
    source = source_of(flow)
    assert source is not None
    names = Traced()
    names["File"] = names["Directory"] = str
    assert result_of(source, names) == flow.work.fn(3)


OTHERS = {
    "kept.py": "R = {}\ndef register(f): R[f.__name__] = f; return f\ndef run(n): return R[n]()\n",
    "base.py": """
KNOWN = []
class Base:
    def __init_subclass__(cls): KNOWN.append(cls.__name__)
def known(): return KNOWN
""",
    "models/__init__.py": "ALL = {}\ndef known(): return sorted(ALL)\n",
    "models/tree.py": "from models import ALL\nALL['tree'] = 1\n",
    "settings.py": "DEBUG = [0]\ndef configure(n): DEBUG[0] = n\ndef get(): return DEBUG[0]\n",
    "flow.py": """
import couler, logging
from pathlib import Path
from kept import register, run
from base import Base, known
from settings import configure, get
import models.tree  # for what it registers
from models import known as models_known
log = logging.getLogger("flow")
rows = Path("rows.csv").read_text()
log.info("rows %d", len(rows))
configure(4)
@register
def a(): return 1
class Leaf(Base): pass
@couler.step
def work(n: int) -> list:
    log.warning("x")
    return [run("a"), known(), get(), models_known()]
""",
}


def test_what_changes_other_modules_travels_and_what_only_tells_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "rows.csv").write_text("1")
    (tmp_path / "models").mkdir()
    for name, text in OTHERS.items():
        (tmp_path / name).write_text(text)
    source = str(source_of(imported(tmp_path / "flow.py")))
    for name in ("kept", "base", "settings", "models.tree", "models"):
        sys.modules.pop(name)
    assert result_of(source, Traced()) == [1, ["Leaf"], 4, ["tree"]]
    assert "rows" not in source


def test_settings_of_a_package_travel_with_each_of_its_names(tmp_path: Path) -> None:
    text = """
import couler
from decimal import Decimal, getcontext
getcontext().prec = 5
@couler.step
def work(n: int) -> str: return str(Decimal(1) / 3)
"""
    (tmp_path / "flow.py").write_text(text)
    with decimal.localcontext():
        assert "getcontext().prec = 5" in str(source_of(imported(tmp_path / "flow.py")))


def test_a_graph_of_calls_is_followed_once(tmp_path: Path) -> None:
    pairs = [(f"f{n}", f"g{n}", f"f{n - 1}(x) + g{n - 1}(x)") for n in range(1, 41)]
    lines = [f"def {one}(x): return {body}" for *two, body in pairs for one in two]
    text = "\n".join(["import couler", "f0 = g0 = abs", *lines, "X = f40(1) if None else 0"])
    step = "@couler.step\ndef work(n: int) -> int:\n    return n\n"
    (tmp_path / "flow.py").write_text(f"{text}\n{step}")
    assert source_of(imported(tmp_path / "flow.py")) is not None


def test_a_variable_of_the_function_around_that_is_set_is_refused(tmp_path: Path) -> None:
    text = """
import couler

def mk():
    c = 0

    @couler.step
    def work(n: int) -> int:
        nonlocal c
        c += n
        return c

    return work

work = mk()
"""
    (tmp_path / "flow.py").write_text(text)
    with couler.Workflow("w") as made:
        imported(tmp_path / "flow.py").work(3)
    assert [one.code for one in made.diagnostics] == ["CLR123"]


def test_a_text_that_may_be_a_path_is_told_how_to_become_a_file(tmp_path: Path) -> None:
    text = PATHS.replace("@couler.step(returns=couler.File)", "@couler.step")
    (tmp_path / "flow.py").write_text(text)
    told = [one.message for one in load_program(str(tmp_path / "flow.py")).diagnostics]
    assert len(told) == 2
    assert all("give it returns=couler.File" in one for one in told)
