"""A DAG file without Airflow: what its pods are given, by Jinja as Airflow has it and a kubelet."""

from __future__ import annotations

import os
import subprocess
import sys
import typing as t
from collections.abc import Mapping
from pathlib import Path

from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from tests.backends.airflow.files import Literal, Operator, operators_of
from tests.fakes.kubernetes.expansion import expand


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
        self._tasks = operators_of(source)
        self._dag = self._tasks.pop("").arguments
        self._folder = folder
        self.printed: dict[str, str] = {}

    def run(self) -> dict[str, str]:
        """Return what tasks print, less one final newline; items have their index behind them."""
        returned: dict[str, t.Any] = {}
        for name, task in self._tasks.items():
            if "arguments" not in task.arguments:  # it runs no process
                continue
            if task.over is None:
                self.printed[name] = self._process(task, returned, -1)
                returned[name] = {"result": self.printed[name]}
            items = next(iter(task.over.values())) if task.over else ()
            for index in range(len(items)):
                self.printed[f"{name}[{index}]"] = self._process(task, returned, index)
        return self.printed

    def _process(self, task: Operator, returned: Mapping[str, t.Any], index: int) -> str:
        context = {
            "ti": Instance(returned, index),
            # Each is what `Param` was called with.
            "params": {name: one[1] for name, one in (self._dag.get("params") or {}).items()},
        }
        environment = SandboxedEnvironment(
            undefined=StrictUndefined, extensions=["jinja2.ext.do"], cache_size=0
        )
        environment.globals.update(self._dag.get("user_defined_macros") or {})

        def rendered(text: str) -> str:
            if isinstance(text, Literal):
                return str(text)
            return environment.from_string(text).render(context)

        fields = task.arguments
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
