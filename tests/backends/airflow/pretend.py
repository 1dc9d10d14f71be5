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
        self.outputs: dict[str, list[str]] = {}
        """What the wrapper of each task is told of its outputs."""

    def run(self) -> dict[str, str]:
        """Return what tasks print, less one final newline; items have their index behind them."""
        returned: dict[str, t.Any] = {}
        for name, task in self._tasks.items():
            if "arguments" not in task.arguments:  # it runs no process
                continue
            if task.over is None:
                self.printed[name] = self._process(name, task, returned, -1)
                returned[name] = {"result": self.printed[name]}
            items = next(iter(task.over.values())) if task.over else ()
            for index in range(len(items)):
                self.printed[f"{name}[{index}]"] = self._process(name, task, returned, index)
        return self.printed

    def _with_files(self, words: list[str]) -> list[str]:
        """Write the files whose content is given; return the command."""
        while words[0] != "--":
            count = int(words[0])
            verb, path, content = words[1 : count + 1]
            assert verb == "text"
            (self._folder / path).write_bytes(content.encode())
            words = words[count + 1 :]
        return words[1:]

    def _process(self, name: str, task: Operator, returned: Mapping[str, t.Any], index: int) -> str:
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
        variables: dict[str, str] = {}
        for variable, text in (fields.get("env_vars") or {}).items():  # in a kubelet's order
            variables[variable] = expand(rendered(text), variables)
        words = [expand(rendered(word), variables) for word in fields["arguments"]]
        end = words.index("--")
        outputs, words = words[:end], words[end + 1 :]
        variables["COULER_WORK"] = str(self._folder)
        if words[:3] == ["/couler/busybox", "sh", "-c"]:
            words = self._with_files(words[5:])
        script = variables.pop("COULER_SCRIPT", None)
        if script is not None:
            (self._folder / "script").write_bytes(script.encode())
            words.append(str(self._folder / "script"))
        self.outputs[name] = outputs
        done = subprocess.run(
            [sys.executable if words[0] == "python" else words[0], *words[1:]],
            env={"PATH": os.environ["PATH"], **variables},
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().removesuffix("\n")
