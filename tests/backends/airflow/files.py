"""Reads the operators of a DAG file without Airflow: their names stand for tuples and dicts."""

from __future__ import annotations

import datetime
import re
import sys
import types
import typing as t
from collections.abc import Iterator
from contextlib import contextmanager

Pods = dict[str, dict[str, t.Any]]


class Literal(str):
    """A text that Jinja does not read."""

    __slots__ = ()


class Operator:
    """Takes whatever it is called with, and whatever order it is put into."""

    found: t.ClassVar[list[Operator]] = []
    places: t.ClassVar[list[str]] = []
    """The ids of all tasks and groups, as Airflow has them."""
    around: t.ClassVar[list[str]] = []
    """The groups that are open."""
    tasks: t.ClassVar[tuple[Operator, ...]] = ()
    """What a DAG says of its tasks, whose edges are not known here."""

    def __init__(self, *given: object, **arguments: t.Any) -> None:
        self.name = str(arguments.get("task_id", *given[:1] or [""]))
        if self.name:
            self.places.append(".".join([*self.around, self.name]))
        self.output = self
        self.arguments = arguments
        self.over: dict[str, t.Any] | None = None
        """What it is mapped over."""
        if "dag_id" in arguments:
            self.arguments = {"task_id": "", **arguments}
        if "task_id" in self.arguments:
            self.found.append(self)

    @classmethod
    def partial(cls, **arguments: t.Any) -> Operator:
        return cls(**arguments)

    def expand(self, **over: t.Any) -> Operator:
        self.over = over
        return self

    def __getattr__(self, name: str) -> t.Any:
        return lambda *_, **__: self

    def __enter__(self) -> Operator:
        if self._names_what_is_inside:
            self.around.append(self.name)
        return self

    def __exit__(self, *_: object) -> None:
        if self._names_what_is_inside:
            self.around.pop()

    @property
    def _names_what_is_inside(self) -> bool:
        is_group = type(self).__name__ == "TaskGroup"
        return is_group and self.arguments.get("prefix_group_id") is not False

    def __rshift__(self, other: object) -> object:
        return other

    def __rrshift__(self, other: object) -> object:
        return self


class _Models:
    def __getattr__(self, name: str) -> t.Any:
        return lambda **fields: (f"k8s.{name}", fields)


def operators_of(text: str) -> dict[str, Operator]:
    """Return the operators of a DAG file by task, in their order, its DAG by ``""``.

    What a file imports stands for tuples of its name and what it was called with.
    """
    Operator.found.clear()
    Operator.places.clear()
    with _stand_ins(text):
        exec(compile(text, "dag.py", "exec"), {"__name__": "dag"})
    return {one.arguments["task_id"]: one for one in Operator.found}


def places_of(text: str) -> list[str]:
    """Return the ids of all tasks and groups of a DAG file, those of mapped groups once."""
    operators_of(text)
    return [*Operator.places]


def calls_of(text: str) -> Pods:
    """Return the arguments of the operators of a DAG file by task, those of the DAG by ``""``."""
    return {name: one.arguments for name, one in operators_of(text).items()}


def _stand_in(name: str) -> t.Any:
    if name.endswith(("Operator", "Sensor")) or name in ("DAG", "TaskGroup"):
        return type(name, (Operator,), {})
    if name == "literal":
        return Literal
    if name == "models":
        return _Models()
    if name == "task_group":  # the tasks of one item
        return lambda group_id: (
            lambda function: types.SimpleNamespace(
                expand=lambda **over: _mapped(group_id, function, over)
            )
        )
    if name.endswith("Exception"):
        return type(name, (Exception,), {})

    def made(*arguments: object, **keywords: object) -> tuple[object, ...]:
        return (name, *arguments, *([keywords] if keywords else []))

    if name[0].isupper():  # a class, which files can derive from
        return type(name, (), {"__new__": lambda _, *given, **named: made(*given, **named)})
    return made


def _mapped(name: str, function: t.Callable[..., object], over: dict[str, t.Any]) -> None:
    with _stand_in("TaskGroup")(name):
        function(**dict.fromkeys(over))


@contextmanager
def _stand_ins(text: str) -> Iterator[None]:
    """Put modules in the place of those of Airflow and Kubernetes that a file imports."""
    line = r"^from ((?:airflow|kubernetes)[\w.]*) import (\([^)]*\)|.*)$"
    imported = re.findall(line, text, re.M)
    added: list[str] = []
    for path, names in imported:
        parts = path.split(".")
        for count in range(1, len(parts) + 1):
            module = types.ModuleType(".".join(parts[:count]))
            module.__path__ = []
            if module.__name__ not in sys.modules:
                sys.modules[module.__name__] = module
                added.append(module.__name__)
        for name in re.findall(r"\w+", re.sub(r"\bas \w+", "", names)):
            setattr(sys.modules[path], name, _stand_in(name))
    # A duration as what it was called with.
    real = sys.modules["datetime"]
    stand_in = types.ModuleType("datetime")
    vars(stand_in).update(vars(datetime), timedelta=_stand_in("timedelta"))
    sys.modules["datetime"] = stand_in
    try:
        yield
    finally:
        for name in added:  # and nothing that was imported meanwhile: others have it by now
            del sys.modules[name]
        sys.modules["datetime"] = real
