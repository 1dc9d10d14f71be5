"""A DAG file without Airflow: what its pods are given, by Jinja as Airflow has it and a kubelet."""

from __future__ import annotations

import os
import subprocess
import sys
import types
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from tests.fakes.kubernetes.expansion import expand


@dataclass(frozen=True)
class Literal:
    """What is not rendered."""

    value: str


class Operator:
    """What a task is made with."""

    made: t.ClassVar[list[Operator]]
    over: list[dict[str, str]] | None = None

    def __init__(self, **fields: t.Any) -> None:
        self.fields = fields
        self.made.append(self)

    @classmethod
    def partial(cls, **fields: t.Any) -> Operator:
        return cls(**fields)

    def expand(self, **fields: t.Any) -> Operator:
        [self.over] = fields.values()
        return self

    def __rshift__(self, other: t.Any) -> t.Any:
        return other

    __rrshift__ = __rshift__


class Dag:
    """The DAG of a file, as its block."""

    def __init__(self, **fields: t.Any) -> None:
        self.fields = fields
        self.made.append(self)

    made: t.ClassVar[list[Dag]]

    def __enter__(self) -> Dag:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Param:
    def __init__(self, value: t.Any = None, **_: t.Any) -> None:
        self.value = value


class Anything:
    """An object of Kubernetes, which says nothing of texts."""

    def __init__(self, **_: t.Any) -> None:
        pass


class Models:
    def __getattr__(self, name: str) -> type[Anything]:
        return Anything


_MODULES: dict[str, dict[str, t.Any]] = {
    "airflow.sdk": {"DAG": Dag, "Param": Param},
    "airflow.sdk.definitions.template": {"literal": Literal},
    "airflow.sdk.exceptions": {
        "AirflowFailException": Exception,
        "AirflowSkipException": Exception,
    },
    "airflow.providers.cncf.kubernetes.operators.pod": {"KubernetesPodOperator": Operator},
    "airflow.providers.standard.operators.python": {"PythonOperator": Operator},
    "kubernetes.client": {"models": Models()},
}


class Instance:
    """A task instance, which knows what tasks before it have returned."""

    run_id = "manual"

    def __init__(self, returned: Mapping[str, t.Any], map_index: int) -> None:
        self._returned = returned
        self.map_index = map_index

    def xcom_pull(self, task_ids: str, **_: t.Any) -> t.Any:
        return self._returned[task_ids]


class Pretended:
    """Runs the pods of a DAG file as processes, in the order in which they stand."""

    def __init__(self, source: str, folder: Path) -> None:
        Dag.made, Operator.made = [], []
        modules = {}
        for name, names in _MODULES.items():
            modules[name] = types.ModuleType(name)
            vars(modules[name]).update(names)
        with mock.patch.dict(sys.modules, modules):
            exec(compile(source, "dag.py", "exec"), {"__name__": "dag"})
        [self._dag] = Dag.made
        self._tasks = Operator.made
        self._folder = folder
        self.printed: dict[str, str] = {}

    def run(self) -> dict[str, str]:
        """Return what tasks print, less one final newline; items have their index behind them."""
        returned: dict[str, t.Any] = {}
        for task in self._tasks:
            name = task.fields["task_id"]
            if "arguments" not in task.fields:  # it runs no process
                continue
            if task.over is None:
                self.printed[name] = self._process(task, returned, -1)
                returned[name] = {"result": self.printed[name]}
            for index in range(len(task.over or ())):
                self.printed[f"{name}[{index}]"] = self._process(task, returned, index)
        return self.printed

    def _process(self, task: Operator, returned: Mapping[str, t.Any], index: int) -> str:
        context = {
            "ti": Instance(returned, index),
            "params": {
                name: one.value for name, one in (self._dag.fields.get("params") or {}).items()
            },
        }
        environment = SandboxedEnvironment(
            undefined=StrictUndefined, extensions=["jinja2.ext.do"], cache_size=0
        )
        environment.globals.update(self._dag.fields.get("user_defined_macros") or {})

        def rendered(text: str | Literal) -> str:
            if isinstance(text, Literal):
                return text.value
            return environment.from_string(text).render(context)

        fields = task.fields
        given = {name: rendered(text) for name, text in (fields.get("env_vars") or {}).items()}
        variables: dict[str, str] = {}
        for name, text in given.items():  # a kubelet expands them in this order
            variables[name] = expand(text, variables)
        arguments = [rendered(word) for word in fields["arguments"]]
        command = arguments[arguments.index("--") + 1 :]
        words = [expand(word, variables) for word in command]
        script = variables.pop("COULER_SCRIPT", None)
        if script is not None:
            (self._folder / "script").write_bytes(script.encode())
            words.append(str(self._folder / "script"))
        done = subprocess.run(
            [sys.executable if words[0] == "python" else words[0], *words[1:]],
            env={"PATH": os.environ["PATH"], **variables},
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().removesuffix("\n")
