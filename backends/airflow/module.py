"""What a DAG file has before its DAG: imports, functions that it carries, texts, conditions."""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
from functools import cache
from importlib import resources
from types import FunctionType

from couler.backends.airflow import runtime
from couler.backends.airflow.python import imports, statement, text_block, value_of
from couler.backends.airflow.versions import NEWEST, Version, place

_NAME = re.compile(r"\b([a-z_]+)\b")
FUNCTIONS: dict[str, FunctionType] = {
    name: one
    for name, one in vars(runtime).items()
    if isinstance(one, FunctionType) and one.__module__ == runtime.__name__
}
"""The functions that a file can carry, in the order in which they are written."""


class Module:
    """The names of a DAG file, and what each of them stands for.

    Parameters
    ----------
    version
        Of Airflow, which has some names elsewhere than others have.
    """

    def __init__(self, version: Version = NEWEST) -> None:
        self._version = version
        self._imports: dict[str, set[str]] = {}
        self._functions: set[str] = set()
        self._constants: dict[str, str] = {}
        self._conditions: dict[str, str] = {}
        self._tables: dict[str, object] = {}
        self._names: set[str] = {*FUNCTIONS, *dir(builtins), "PROCESS", "HELPER_IMAGE"}
        self.macros: dict[str, None] = {}
        """The functions that templates call."""

    def take(self, module: str, name: str = "") -> str:
        """Import a name from a module, or the module itself."""
        module = place(module, name, self._version)
        self._imports.setdefault(module, set()).update({name} - {""})
        return name or module

    def use(self, code: str) -> str:
        """Carry the functions that an expression calls, and what they use in turn."""
        for name in _NAME.findall(code):
            if name in FUNCTIONS and name not in self._functions:
                self._functions.add(name)
                self._take_for(FUNCTIONS[name])
        return code

    def use_in_templates(self, code: str) -> str:
        """Carry the functions that an expression in a template calls."""
        used = [*FUNCTIONS, *self._tables]
        self.macros.update((name, None) for name in used if re.search(rf"\b{name}\b", code))
        return self.use(code)

    def constant(self, wanted: str, text: str) -> str:
        """Return the name of a text that stands in lines of its own; equal texts share one."""
        for name, known in self._constants.items():
            if known == text:
                return name
        name = self.name(wanted.upper())
        self._constants[name] = text
        return name

    def table(self, wanted: str, rows: object) -> str:
        """Return the name of a list that stands before the DAG."""
        name = self.name(wanted.upper())
        self._tables[name] = rows
        return name

    def condition(self, wanted: str, code: str) -> str:
        """Return the name of a function that tells whether a condition holds."""
        name = self.name(wanted)
        self._conditions[name] = self.use(code)
        return name

    def name(self, wanted: str) -> str:
        """Return a name of Python, near to the wanted one, that nothing else in the file has.

        Examples
        --------
        >>> module = Module()
        >>> [module.name(one) for one in ("train", "train-model", "train", "2nd", "class")]
        ['train', 'train_model', 'train_2', '_2nd', 'class_']
        """
        base = re.sub(r"\W", "_", wanted, flags=re.ASCII)
        if base[0].isdigit():
            base = f"_{base}"
        name, count = base, 1
        if name in keyword.kwlist:
            name = f"{base}_"
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._names.add(name)
        return name

    @property
    def import_lines(self) -> str:
        """The imports, those of the standard library first."""
        own = {name: taken for name, taken in self._imports.items() if name in _STANDARD}
        others = {name: taken for name, taken in self._imports.items() if name not in _STANDARD}
        return "\n\n".join(imports(one) for one in (own, others) if one)

    def definitions(self, **constants: str) -> list[str]:
        """Return the texts, functions and conditions, each as it is written.

        Of the constants those are written that a function uses.
        """
        if "process" in self._functions:
            self._constants.update(constants)
            self._constants["PROCESS"] = _wrapper()
        texts = [f"{name} = {_text(text)}" for name, text in self._constants.items()]
        texts += [statement(name, value_of(rows)) for name, rows in self._tables.items()]
        carried = [
            inspect.getsource(one).rstrip()
            for name, one in FUNCTIONS.items()
            if name in self._functions
        ]
        conditions = [
            f"def {name}(ti: Any, params: Any) -> bool:\n    return {code}"
            for name, code in self._conditions.items()
        ]
        if conditions or carried:
            self.take("typing", "Any")
        return [*texts, *carried, *conditions]

    def _take_for(self, function: FunctionType) -> None:
        source = inspect.getsource(function)
        for module, names in runtime.MODULES.items():
            for name in names or (module,):
                if re.search(rf"\b{name.split()[-1]}\b", source):
                    self.take(module, name if names else "")
        self.use(source.split("\n", 1)[1])


_STANDARD = frozenset(("collections.abc", "datetime", "json", "operator", "re", "typing"))


@cache
def _wrapper() -> str:
    return (resources.files(__package__) / "process.sh").read_text()


def _text(text: str) -> str:
    return text_block(text) or value_of(text).flat()
