"""How programs of the earlier SDK are built: order, arguments, names, settings, what stays behind.

What they do is checked for every engine by tests/support/ancestor_programs.py.
"""

from __future__ import annotations

import linecache
import os
import re
import subprocess
import sys
import types
import typing as t
from pathlib import Path

import pytest

import couler
from couler.dsl._context import current
from couler.ir import storage, workflow as ir
from couler.ir.verify import verify
from tests.support import ancestor_programs
from tests.support.ancestor_programs import FOLDER

ROOT = Path(couler.__file__).parents[1]


def built(name: str) -> ir.Workflow:
    loaded = ancestor_programs.load(name)
    assert loaded.diagnostics == ()
    return loaded.to_ir()


def steps(name: str) -> dict[str, ir.Step]:
    return {step.name: step for step in built(name).steps}


def waits(owner: ir.Workflow | ir.Step) -> dict[str, tuple[t.Any, ...]]:
    of = owner.action if isinstance(owner, ir.Step) else owner
    assert isinstance(of, ir.Workflow | ir.Group)
    return {step.name: step.depends_on for step in of.steps}


@pytest.mark.parametrize("name", ancestor_programs.names())
def test_every_program_is_right_as_it_is(name: str) -> None:
    assert list(verify(built(name))) == []


def test_a_root_may_get_a_predecessor_later_and_edges_are_kept_once() -> None:
    assert waits(built("shared_roots")) == {
        "load": ("setup",),
        "clean": ("load",),
        "train": ("clean",),
        "count": ("load",),
        "setup": (),
        "report": ("count", "train"),
    }


def test_names_are_salted_and_accounts_kept() -> None:
    workflow = built("names_and_environment")
    assert workflow.name == "nightly-2024-06-01"
    assert workflow.pod is not None
    assert workflow.pod.service_account == "pipeline"
    [connect] = workflow.steps
    assert {one.name: one.value for one in connect.env} == {"COUNT": "3", "DEBUG": "true"}
    assert connect.env_from == (
        storage.EnvFrom(secret="database", prefix="DB_"),
        storage.EnvFrom(config_map="site"),
    )


class Cells:
    """A notebook: cells that run one after the other in one namespace."""

    def __init__(self, path: Path, patch: pytest.MonkeyPatch) -> None:
        self.module = types.ModuleType("__main__")
        self.cells = [one for one in re.split(r"^# %%.*\n", path.read_text(), flags=re.M) if one]
        patch.setitem(sys.modules, "__main__", self.module)

    def run(self, index: int) -> None:
        text = self.cells[index]
        name = f"/tmp/ipykernel_17/{index}.py"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), self.module.__dict__)


def test_a_notebook_makes_several_workflows_and_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Cells(FOLDER / "notebook.py", monkeypatch)
    with pytest.raises(ConnectionError):
        notebook.run(0)
    assert current().scope is None
    notebook.run(1)
    with pytest.raises(KeyError):
        notebook.run(2)
    notebook.run(3)
    notebook.run(4)
    seen = [workflow.to_ir() for workflow in notebook.module.seen]
    assert [(one.name, [step.name for step in one.steps]) for one in seen] == [
        ("first", ["hello", "hello-2"]),
        ("broken", ["hello"]),
        ("second", ["code"]),
    ]
    assert [one.exit_handlers for one in seen] == [(), (), ()]
    script = seen[2].steps[0].action
    assert isinstance(script, ir.Script)
    assert "from a cell" in script.source
    assert seen[0].steps[0].source is not None
    assert seen[0].steps[0].source.file == "<notebook>"


def started(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=FOLDER,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.rstrip()


def test_names_are_the_same_however_a_program_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Cells(FOLDER / "started_anyhow.py", monkeypatch).run(0)
    names = "python alpine main say say-2 say-3"
    assert capsys.readouterr().out.rstrip() == names
    assert [step.name for step in built("started_anyhow").steps] == names.split()
    assert started("started_anyhow.py") == names
    assert started("-m", "started_anyhow") == names


def test_a_submitter_of_the_programs_own_is_the_default() -> None:
    assert started("names_and_environment.py") == "submitted nightly-2024-06-01 as pipeline"
