"""Small hostile programs, and what stops each: at the gate, and in the box without the gate.

Words between `@` stand for what a test has put outside of the box: `@canary@` is a file,
`@folder@` its folder, `@port@` a listening port, `@socket@` a socket's file, `@name@` an abstract
socket, `@pid@` the process of the test, `@fd@` an open file that a careless parent would pass on.
"""

from __future__ import annotations

import typing as t
from textwrap import dedent


class Escape(t.NamedTuple):
    """A hostile program.

    A program whose attack works ends without an error, or, if `alone`, prints ESCAPED.
    """

    name: str
    gate: str | None
    """The code of the gate; None if it lets the program pass, as it may be written by mistake."""
    box: str
    """A part of what is reported in the box; `data` for a workflow that is verified data."""
    program: str
    alone: bool = False
    """It ends its process, reaches a bound or changes Couler, so it takes a box of its own."""
    waits: bool = False
    """It only ends with the time that it has."""


def hostile(
    name: str,
    gate: str | None,
    box: str,
    program: str,
    *,
    alone: bool = False,
    waits: bool = False,
) -> Escape:
    """Return a program without the indentation that it has here."""
    return Escape(name, gate, box, dedent(program).strip() + "\n", alone or waits, waits)


LANGUAGE = [
    hostile(
        "dunder walk to open",
        "CLR606",
        "FileNotFoundError",
        """
        found = [one for one in ().__class__.__base__.__subclasses__()
                 if one.__name__ == "catch_warnings"]
        found[0]()._module.__builtins__["open"]("@canary@")
    """,
    ),
    hostile(
        "dunder walk to os.system",
        "CLR606",
        "AssertionError",
        """
        found = [one for one in ().__class__.__base__.__subclasses__()
                 if one.__name__ == "_wrap_close"]
        code = found[0].__init__.__globals__["system"]("echo ESCAPED > @folder@/written")
        assert code == 0, "system() gave -1"
    """,
    ),
    hostile(
        "getattr",
        "CLR605",
        "FileNotFoundError",
        """
        import couler
        system = getattr(getattr(couler, "dsl"), "shipping").sys.modules["os"]
        system.listdir("@folder@")
    """,
    ),
    hostile(
        "getattr by a text put together",
        "CLR605",
        "FileNotFoundError",
        """
        name = "".join(["__cl", "ass__"])
        kinds = getattr(getattr((), name), "__base__").__subclasses__()
        found = [one for one in kinds if one.__name__ == "BuiltinImporter"]
        getattr(found[0], "load_" + "module")("posix").listdir("@folder@")
    """,
    ),
    hostile(
        "setattr on a module",
        "CLR605",
        "FileNotFoundError",
        """
        import couler
        setattr(couler, "__getattr__", lambda name: open)
        couler.absent("@canary@")
    """,
        alone=True,
    ),
    hostile(
        "vars and globals",
        "CLR605",
        "FileNotFoundError",
        """
        globals()["__builtins__"]["open"]("@canary@")
    """,
    ),
    hostile(
        "eval",
        "CLR605",
        "FileNotFoundError",
        """
        eval("open('@canary@')")
    """,
    ),
    hostile(
        "exec of a compiled text",
        "CLR605",
        "FileNotFoundError",
        """
        exec(compile("open('@canary@')", "x", "exec"))
    """,
    ),
    hostile(
        "type with three arguments",
        "CLR605",
        "FileNotFoundError",
        """
        kind = type("X", (), {"__enter__": lambda self: open("@canary@"), "__exit__": print})
        with kind():
            pass
    """,
    ),
    hostile(
        "template with a walk",
        "CLR608",
        "AssertionError",
        """
        import couler
        told = "{0.__globals__}".format(couler.step)
        assert "canary-in-the-environment" in told
    """,
    ),
    hostile(
        "template behind a name",
        "CLR606",
        "AssertionError",
        """
        import couler
        template = "{0.__globals__}"
        told = list(map(str.format, [template], [couler.step]))
        assert "canary-in-the-environment" in told[0]
    """,
    ),
    hostile(
        "format_map",
        "CLR606",
        "AssertionError",
        """
        import couler
        told = "{x.__globals__}".format_map({"x": couler.step})
        assert "canary-in-the-environment" in told
    """,
    ),
    hostile(
        "f-string with a dunder",
        "CLR606",
        "AssertionError",
        """
        import couler
        told = f"{couler.__dict__['_t'].sys.modules['os'].environ}"
        assert "canary-in-the-environment" in told
    """,
    ),
    hostile(
        "decorator that opens",
        "CLR607",
        "FileNotFoundError",
        """
        read = lambda given: open("@canary@")
        @read
        def anything():
            return 1
    """,
    ),
    hostile(
        "decorator beside couler.step",
        "CLR607",
        "FileNotFoundError",
        """
        import couler
        @couler.step
        @(lambda given: open("@canary@"))
        def anything():
            return 1
    """,
    ),
    hostile(
        "step that is none of Couler's",
        "CLR607",
        "FileNotFoundError",
        """
        def step(given):
            return given()
        @step
        def anything():
            open("@canary@")
    """,
    ),
    hostile(
        "frame of a generator",
        "CLR606",
        "FileNotFoundError",
        """
        held = (held.gi_frame.f_back.f_builtins for _ in [1])
        list(held)[0]["open"]("@canary@")
    """,
    ),
    hostile(
        "comprehension with a walrus",
        "CLR604",
        "FileNotFoundError",
        """
        [opener := open, *[opener(one) for one in ["@canary@"]]]
    """,
    ),
    hostile(
        "frame of an exception",
        "CLR604",
        "FileNotFoundError",
        """
        try:
            1 / 0
        except ZeroDivisionError as error:
            found = error.__traceback__.tb_frame.f_builtins
        found["open"]("@canary@")
    """,
    ),
    hostile(
        "class pattern with a dunder",
        "CLR604",
        "FileNotFoundError",
        """
        import couler
        match couler.step:
            case object(__globals__=found):
                found["__builtins__"]["open"]("@canary@")
    """,
    ),
    hostile(
        "default of an argument",
        "CLR605",
        "FileNotFoundError",
        """
        import couler
        @couler.step
        def load(path: str = open("@canary@")) -> str:
            return path
    """,
    ),
    hostile(
        "annotation as text",
        "CLR612",
        "FileNotFoundError",
        """
        import couler
        @couler.step
        def load(path: "open('@canary@')") -> str:
            return path
        with couler.Workflow("x"):
            load("a")
    """,
    ),
    hostile(
        "annotation inside a type",
        "CLR612",
        "FileNotFoundError",
        """
        import couler
        Paths = list["open('@canary@')"]
        @couler.step
        def load(path: Paths) -> str:
            return path
        with couler.Workflow("x"):
            load(["a"])
    """,
    ),
    hostile(
        "annotation of a field made by a call",
        "CLR605",
        "FileNotFoundError",
        """
        import couler
        from typing import NamedTuple
        Record = NamedTuple("Record", [("a", "open('@canary@')")])
        @couler.step
        def load() -> Record:
            return Record(1)
        with couler.Workflow("x"):
            load()
    """,
    ),
    hostile(
        "body of a class",
        "CLR607",
        "FileNotFoundError",
        """
        class Reader:
            found = open("@canary@")
    """,
    ),
    hostile(
        "metaclass",
        "CLR607",
        "FileNotFoundError",
        """
        class Reader(metaclass=lambda *given: open("@canary@")):
            pass
    """,
    ),
    hostile(
        "module hook",
        "CLR605",
        "FileNotFoundError",
        """
        def __getattr__(name):
            return open("@canary@")
        __import__("__main__").absent
    """,
        alone=True,
    ),
    hostile(
        "new builtins",
        "CLR605",
        "FileNotFoundError",
        """
        __builtins__["print"] = open
        print("@canary@")
    """,
        alone=True,
    ),
    hostile(
        "function of a step by its attribute",
        "CLR606",
        "FileNotFoundError",
        """
        import couler
        @couler.step
        def load():
            return 1
        load.fn.__globals__["__builtins__"]["open"]("@canary@")
    """,
    ),
]
