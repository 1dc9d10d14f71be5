"""Modules that define a typed step, drawn at random: texts, layouts and line ends of all kinds.

The step is `work`; it takes a number and returns texts that depend on what stands in its source.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import typing as t
from collections.abc import Iterable
from pathlib import Path

import couler
from couler.ir.workflow import Workflow

ODD = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\té{}%$"
"""Characters, some of which are ends of lines to `str.splitlines` and not to Python."""


class Raw(str):
    """A line that no indentation moves: it is within a text, or a continuation."""

    __slots__ = ()


def imported(path: Path) -> t.Any:
    """Import a file as a module of its own."""
    name = f"{path.stem}_{path.parent.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def steps_workflow(seed: int, count: int, folder: Path) -> Workflow:
    """Write modules into a folder, and return a workflow of their steps."""
    draw = random.Random(seed)
    with couler.Workflow("sources") as flow:
        for index in range(count):
            path = folder / f"module_{index}.py"
            path.write_bytes(step_module(draw))
            flow.output(f"out_{index}", imported(path).work(index))
    assert flow.diagnostics == ()
    return flow.to_ir()


def step_module(draw: random.Random) -> bytes:
    """Draw a module."""
    step = [*draw.choice(HEADS), *_indented(draw, [*_docstring(draw), *_body(draw), "return out"])]
    lines = ["import couler", "", *_before(draw), *_around(draw, step)]
    if draw.random() < 0.5:  # the step imports them as well
        lines.insert(0, "import dataclasses, json as j, typing")
    if draw.random() < 0.3:
        lines.insert(0, "from __future__ import annotations")
    if draw.random() < 0.3:
        lines.insert(0, f'"""A module{_odd(draw)}."""')
    encoding = draw.choice(("utf-8", "utf-8", "utf-8-sig", "latin-1"))
    if encoding == "latin-1":
        lines.insert(0, "# -*- coding: latin-1 -*-")
        lines = [line.replace("\u2028", "\x85").replace("\u2029", "\x85") for line in lines]
    text = draw.choice(("\n", "\r\n")).join(lines)
    return (text + draw.choice(("", "\n", "\n\n"))).encode(encoding)


HEADS: list[list[str]] = [
    ["@couler.step", "def work(n: int) -> list[str]:"],
    ["@couler.step", 'def work(n: "int") -> "list[str]":'],
    ["@couler.step(", '    image="python:3.12",  # (', ")", "def work(n: int = 3) -> list[str]:"],
    ["@couler.step", "def work(", "    n: int,  # a number", ") -> list[str]:", "    # it begins"],
    ["@couler.step  # one", "", "# two", "def work(n: int, *, m: int = 2) -> list[str]:"],
]


def _indented(draw: random.Random, lines: Iterable[str]) -> list[str]:
    unit = draw.choice((" ", "  ", "    ", "\t", "          "))
    return [line if isinstance(line, Raw) or not line else unit + line for line in lines]


def _odd(draw: random.Random) -> str:
    return "".join(draw.choice("ab " + ODD) for _ in range(draw.randint(0, 6)))


def _docstring(draw: random.Random) -> list[str]:
    odd = _odd(draw)
    return draw.choice(
        (
            [],
            [f'"""Do it{odd}."""'],
            ['"""Do it.', Raw(""), Raw(f"  {odd}"), Raw("margin"), Raw('        """')],
        )
    )


def _before(draw: random.Random) -> list[str]:
    odd = _odd(draw)
    return draw.choice(
        (
            [],
            [f"# {odd}"],
            ["import dataclasses, json as j", "if j:", "    import math, typing", ""],
            ["def other(n):", "    return n", "", ""],
            [f'TEXT = """{odd}', Raw("@couler.step"), Raw("def work(n): return 0"), Raw('"""')],
            [Raw("\x0c"), "class work: ..."],
        )
    )


def _around(draw: random.Random, step: list[str]) -> list[str]:
    decoy = ["@couler.step", "def work(n: int) -> list[str]:", "    return ['decoy']"]
    match draw.randint(0, 5):
        case 0:
            return ["def make():", *_indented(draw, [*step, "return work"]), "work = make()"]
        case 1:
            return ["if False:", *_indented(draw, decoy), "else:", *_indented(draw, step)]
        case 2:
            return ["class Steps:", *_indented(draw, step), "work = Steps.work"]
        case 3:
            inner = ["for _ in range(1):", *_indented(draw, [*step, "break"]), "return work"]
            return ["def make(*, x=(1,", "  2)):", *_indented(draw, inner), "work = make()"]
        case 4:
            return [*decoy, "", *step]
    return step


def _body(draw: random.Random) -> list[str]:
    lines = ["out = [str(n)]"]
    for piece in draw.sample(range(20), draw.randint(1, 7)):
        lines += _piece(draw, piece)
    return lines


def _piece(draw: random.Random, number: int) -> list[str]:
    odd, blanks = _odd(draw).replace("{", "").replace("}", ""), " " * draw.randint(0, 9)
    inner = _indented(draw, ['"""Doc."""', 'return f"{x + n}"'])
    pieces: list[list[str]] = [
        [f'out.append("{odd}")'],
        ['out.append("""a', Raw(f"{blanks}b{odd}"), Raw(""), Raw(blanks), Raw('c""")')],
        ['out.append(f"""{n}', Raw(blanks + "{n!r:>5}"), Raw(blanks + '{{""")')],
        ["out.append(repr(b'''\\x00", Raw(f"{blanks}z"), Raw("'''))")],
        [f'out.append(r"\\d{odd}\\n")'],
        ["total = n + \\", Raw(f"{blanks}1"), "out.append(str(total))"],
        ["pair = [", Raw("n,"), Raw(f"{blanks}n + 1,"), "]", "out.append(str(pair))"],
        [Raw(f"# at the margin {odd}"), f"# with it {odd}", "pass"],
        ['def inner(x: "int" = 2, *rest) -> str:', *inner, "out.append(inner())"],
        [
            *("import dataclasses, typing", "@dataclasses.dataclass", "class Config:"),
            *_indented(draw, ['"""Of', Raw(f'{blanks}it."""'), "most: typing.ClassVar[int] = 5"]),
            "out.append(str(len(dataclasses.fields(Config))) + Config.__doc__)",
        ],
        ["out.append((lambda x, *, y=1: str(x * n + y))(3))"],
        ["out += [str(i) for i in range(n)", Raw(f"{blanks}if i % 2]")],
        ["for i in range(2):", *_indented(draw, ["out.append(str(i))", Raw(""), "continue"])],
        ["out.append(str(n in {1, 2, 3}) + repr(-0.0) + repr(1_000) + repr(1e3j) + str(True))"],
        ["a = n; out.append(str(a)); b = a"],
        [Raw("\x0c"), Raw(blanks), "out.append('fed')"],
        ["import json as j", 'out.append(j.dumps({"k": n, "t": (1, "a")}))'],
        ["values: list[int] = [n, *range(2)]", "assert values, 'none'", "out.append(str(values))"],
        [
            "try:",
            *_indented(draw, ["1 / 0"]),
            "except (ZeroDivisionError, OSError) as e:",
            *_indented(draw, ["out.append(type(e).__name__)"]),
        ],
        [
            "match n:",
            *_indented(draw, ["case int(x) if x > 1:", *_indented(draw, ["out.append('m')"])]),
        ],
    ]
    return pieces[number]
