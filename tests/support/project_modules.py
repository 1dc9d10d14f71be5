"""Modules of a project, drawn at random, whose step uses some of what they define.

The step is `work`. What it returns depends on all that it uses; each module defines other things
besides.
"""

from __future__ import annotations

import random
from collections.abc import Callable


class ProjectModule:
    """The text of a module, drawn definition by definition."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self.lines: list[str] = []
        self._calls: list[str] = []
        """Expressions of numbers, one for each definition."""

    def text(self) -> str:
        """Draw the module."""
        draw = self._draw
        future = draw.random() < 0.5
        kinds: list[Callable[[int], str]] = [
            *(self._constant, self._changed, self._unpacked, self._function, self._recursion),
            *(self._decorated, self._hierarchy, self._dataclass, self._enumeration, self._registry),
            *(self._import, self._conditional, self._shadowed, self._counter, self._lambda),
            *(self._generic, self._nested, self._context, self._partial, self._alias),
        ]
        self._type_checking(future)
        ends: list[int] = []
        for number in range(draw.randint(6, 24)):
            self._calls.append(draw.choice(kinds)(number))
            ends.append(len(self.lines))
            self.lines += [""] * draw.choice((0, 0, 1, 2))
        used = draw.sample(self._calls, draw.randint(1, len(self._calls)))
        quoted = '"Nothing"' if not future else "Nothing"
        head = ["import couler", "import functools, sys", "import typing as t"]
        draw.shuffle(head)
        step = [
            draw.choice(("@couler.step", '@couler.step(image="python:3.12",', "@couler.step()")),
            "def work(n: int, other: int = 2) -> list:",
            f"    unused: {quoted} = None",
            f"    return [{', '.join(used)}]",
        ]
        if step[0].endswith(","):
            step.insert(1, "    retry=2)")
        place = draw.choice(ends[len(ends) // 2 :])
        start = ['"""A module."""'] + ["from __future__ import annotations"] * future
        lines = [*start, *head, "", *self.lines[:place], *step, "", *self.lines[place:]]
        return "\n".join([*lines, 'if __name__ == "__main__":', "    print(work(1))", ""])

    def _other(self) -> str:
        """Return an expression with what was defined before, or a number."""
        calls = [one for one in self._calls if "n" not in one.replace("int", "")]
        return self._draw.choice([*calls, str(self._draw.randint(1, 9)), "1"])

    def _type_checking(self, future: bool) -> None:
        test = self._draw.choice(("t.TYPE_CHECKING", "TYPE_CHECKING"))
        if test == "TYPE_CHECKING":
            self.lines.append("from typing import TYPE_CHECKING")
        self.lines += [f"if {test}:", "    from nowhere import Nothing", ""]

    def _constant(self, number: int) -> str:
        self.lines.append(
            f"K{number}{self._draw.choice(('', ': int'))} = {self._other()} + {number}"
        )
        return f"K{number}"

    def _changed(self, number: int) -> str:
        change = self._draw.choice(
            (
                f"L{number}.append({number})",
                f"L{number} += [{self._other()}]",
                f"L{number}[0] = {number}",
                f"for one in range(2):\n    L{number}.append(one)",
                f"if {number} > 3:\n    L{number}.extend([2, 3])\nelse:\n    del L{number}[0]",
            )
        )
        self.lines += [f"L{number} = [{self._other()}]", *change.split("\n")]
        return f"sum(L{number})"

    def _unpacked(self, number: int) -> str:
        self.lines.append(f"A{number}, (B{number}, *C{number}) = {self._other()}, (2, {number}, 3)")
        return f"A{number} + B{number} + sum(C{number})"

    def _function(self, number: int) -> str:
        default = self._draw.choice(("", f" = {self._other()}"))
        self.lines += [
            f"def f{number}(x: int{default}) -> int:",
            self._draw.choice(('    """Double."""', "    # a comment", "    x = x * 1")),
            f"    return x + {self._other()}",
        ]
        return f"f{number}({number})"

    def _recursion(self, number: int) -> str:
        self.lines += [
            f"def even{number}(x):",
            f"    return {self._other()} if x == 0 else odd{number}(x - 1) + 1",
            f"def odd{number}(x):",
            f"    return 7 if x == 0 else even{number}(x - 1) + 1",
        ]
        return f"even{number}(4)"

    def _decorated(self, number: int) -> str:
        self.lines += [
            f"def d{number}(function):",
            "    @functools.wraps(function)",
            "    def inner(*given, **named):",
            f"        return function(*given, **named) + {self._other()}",
            "    return inner",
            f"@d{number}",
            *self._draw.choice(([], ["@functools.lru_cache(maxsize=None)"])),
            f"def g{number}(x):",
            f"    return x + {number}",
        ]
        return f"g{number}(2)"

    def _hierarchy(self, number: int) -> str:
        self.lines += [
            f"class Base{number}:",
            f"    size = {self._other()}",
            "    known = []",
            *self._draw.choice(
                (
                    [],
                    [
                        "    def __init_subclass__(cls):",
                        f"        Base{number}.known.append(cls)",
                    ],
                )
            ),
            "    def total(self):",
            f"        return self.size + {self._other()} + len(self.known)",
            f"class Child{number}(Base{number}):",
            "    def total(self):",
            "        return super().total() + 1",
        ]
        return f"Child{number}().total()"

    def _dataclass(self, number: int) -> str:
        module, decorator = self._draw.choice(
            (
                ("import dataclasses", "dataclasses.dataclass"),
                ("from dataclasses import *", "dataclass"),
            )
        )
        self.lines += [
            module,
            f"@{decorator}({self._draw.choice(('', 'frozen=True'))})",
            f"class Row{number}:",
            f"    one: int = {self._other()}",
            "    two: t.ClassVar[int] = 5",
        ]
        return f"Row{number}(3).one + Row{number}.two + len(Row{number}.__match_args__)"

    def _enumeration(self, number: int) -> str:
        self.lines += [
            "from enum import Enum as Kinds",
            f"class Kind{number}(Kinds):",
            f"    LOW = {self._other()}",
            f"    HIGH = LOW + {number + 1}",
        ]
        return f"Kind{number}.HIGH.value"

    def _registry(self, number: int) -> str:
        self.lines += [
            f"TABLE{number} = dict()",
            f"def register{number}(name):",
            "    def inner(function):",
            f"        TABLE{number}[name] = function",
            "        return function",
            "    return inner",
            f'@register{number}("first")',
            f"def first{number}(x):",
            f"    return x + {self._other()}",
            f'register{number}("second")(lambda x: x * 2)',
        ]
        return f"sum(one(3) for one in TABLE{number}.values())"

    def _import(self, number: int) -> str:
        line, call = self._draw.choice(
            (
                ("import math", "math.floor(2.5)"),
                ("import os.path", "len(os.path.join('a', 'b'))"),
                ("import os.path as places, json", "len(places.join('a', json.dumps(1)))"),
                ("from json import dumps as dump, loads", "loads(dump(7))"),
                ("import collections.abc, collections", "len(collections.Counter('aab'))"),
                ("from math import *", "int(ceil(2.5))"),
                ("import string; from string import digits", "len(digits)"),
            )
        )
        self.lines.append(line)
        return call

    def _conditional(self, number: int) -> str:
        name = f"part{number}"
        form = self._draw.choice(
            (
                f"try:\n    import fractions as {name}\nexcept ImportError:\n    {name} = None",
                f"try:\n    import not_there as {name}\nexcept ImportError:\n    {name} = None",
                f"if sys.maxsize > 3:\n    {name} = {self._other()}\nelse:\n    {name} = 0",
                f"if sys.maxsize < 3:\n    def {name}(): ...\nelse:\n    {name} = {number}",
            )
        )
        self.lines += form.split("\n")
        return f"(part{number} is not None) + 1"

    def _shadowed(self, number: int) -> str:
        self.lines += [
            f"S{number} = {number}",
            f"def shadow{number}(S{number}=2):",
            f"    max = [S{number} for S{number} in range(3)]",
            f"    class Inner:\n        S{number} = 4\n        both = S{number}",
            f"    return S{number} + sum(max) + Inner.both + (lambda S{number}: S{number})(1)",
        ]
        return f"shadow{number}()"

    def _counter(self, number: int) -> str:
        self.lines += [
            f"count{number} = {self._other()}",
            f"def next{number}():",
            f"    global count{number}, made{number}",
            f"    made{number} = 1",
            f"    count{number} += made{number}",
            f"    return count{number}",
        ]
        return f"next{number}()"

    def _lambda(self, number: int) -> str:
        self.lines.append(f"h{number} = lambda x, y={self._other()}: x + y + {self._other()}")
        return f"h{number}(1)"

    def _generic(self, number: int) -> str:
        self.lines += [
            f"T{number} = t.TypeVar('T{number}')",
            f"class Box{number}(t.Generic[T{number}]):",
            f"    value = {self._other()}",
        ]
        return f"Box{number}[int].value" if self._draw.random() < 0.5 else f"Box{number}().value"

    def _nested(self, number: int) -> str:
        self.lines += [
            f"class Outer{number}:",
            "    class Inner:",
            f"        size = {self._other()}",
            "    @staticmethod",
            "    def make():",
            f"        return Outer{number}.Inner.size",
        ]
        return f"Outer{number}.make()"

    def _context(self, number: int) -> str:
        self.lines += [
            "import contextlib",
            "@contextlib.contextmanager",
            f"def within{number}(x):",
            f"    yield x + {self._other()}",
            f"def use{number}():",
            f"    with within{number}(2) as got:",
            "        return got",
        ]
        return f"use{number}()"

    def _partial(self, number: int) -> str:
        self.lines += [
            f"def p{number}(x, y):",
            "    return x * y",
            f"q{number} = functools.partial(p{number}, {self._other()})",
        ]
        return f"q{number}(3)"

    def _alias(self, number: int) -> str:
        self.lines += [
            f"Number{number} = int",
            f"V{number}: 'Number{number}' = Number{number}({number})",
        ]
        return f"V{number} + Number{number}(1)"
