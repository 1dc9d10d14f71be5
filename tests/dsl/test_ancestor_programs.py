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
from couler.ir import storage
from couler.ir import workflow as ir
from couler.ir.artifacts import GitLocation, OssLocation, S3Location
from couler.ir.values import ItemRef, Literal, Range, StepRef
from couler.ir.verify import verify
from tests.support import ancestor_programs
from tests.support.ancestor_programs import FOLDER, outcomes

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


def args(step: ir.Step) -> tuple[t.Any, ...]:
    assert isinstance(step.action, ir.Container)
    return step.action.args


@pytest.mark.parametrize("name", ancestor_programs.names())
def test_every_program_is_right_as_it_is(name: str) -> None:
    assert list(verify(built(name))) == []


def test_there_are_many_programs() -> None:
    assert len(ancestor_programs.names()) >= 30
    assert set(ancestor_programs.names()) - outcomes().keys() == {
        *("oss_dataset", "s3_model", "training_job", "volumes"),
    }


def test_a_diamond_has_four_edges() -> None:
    assert waits(built("diamond")) == {"A": (), "B": ("A",), "C": ("A",), "D": ("B", "C")}


def test_a_root_may_get_a_predecessor_later_and_edges_are_kept_once() -> None:
    assert waits(built("shared_roots")) == {
        "load": ("setup",),
        "clean": ("load",),
        "train": ("clean",),
        "count": ("load",),
        "setup": (),
        "report": ("count", "train"),
    }


def test_a_map_waits_and_is_waited_for() -> None:
    found = steps("map_in_graph")
    assert waits(built("map_in_graph")) == {
        "prepare": (),
        "download": ("prepare",),
        "merge": ("download",),
    }
    assert found["download"].foreach is not None
    assert args(found["download"]) == (ItemRef(name="url"),)


def test_a_map_goes_over_several_lists_together() -> None:
    train = steps("map_of_several_lists")["train"]
    assert train.foreach is not None
    assert train.foreach.over == {
        "model": Literal(value=("tree", "forest", "boosting")),
        "depth": Range(start=Literal(value=2), count=Literal(value=3)),
        "rate": Literal(value=(0.1, 0.01, 0.001)),
    }


def test_maps_and_reductions_follow_one_another() -> None:
    found = steps("map_reduce_twice")
    assert waits(built("map_reduce_twice")) == {
        "split": (),
        "measure": ("split",),
        "largest": ("measure",),
        "square": ("largest",),
        "total": ("square",),
    }
    assert found["square"].foreach is not None
    assert found["square"].foreach.over == {"number": StepRef(step="largest")}


def test_graphs_in_functions_are_groups() -> None:
    found = steps("subgraphs")
    assert waits(built("subgraphs")) == {
        "begin": (),
        "users": ("begin",),
        "orders": ("begin",),
        "map": ("users", "orders"),
        "end": ("map",),
    }
    for name in ("users", "orders", "map"):
        assert waits(found[name]) == {
            "extract": (),
            "clean": ("extract",),
            "count": ("extract",),
            "load": ("clean", "count"),
        }


def test_outputs_are_passed_where_the_program_says_so() -> None:
    found = steps("explicit_passing")
    number, other = (StepRef(step="produce", output=name) for name in ("number", "other"))
    assert [args(found[name]) for name in ("none", "one", "all")] == [
        (),
        (number,),
        ("and", number, other),
    ]
    assert all(found[name].depends_on == ("produce",) for name in ("none", "one", "all"))


def test_functions_side_by_side_in_a_graph() -> None:
    assert waits(built("concurrent_in_graph")) == {
        "start": (),
        "left-1": ("start",),
        "right-1": ("start",),
        "stop": ("left-1", "right-1"),
    }


def test_branches_in_a_graph_wait_for_all_that_they_name() -> None:
    found = steps("conditions_in_graph")
    for name in ("heads", "tails"):
        assert found[name].depends_on == ("prepare",)
        assert found[name].when is not None
        assert args(found[name]) == (f"it was {name}",)
    assert found["done"].depends_on == ("heads", "tails")


def test_conditions_on_plain_values_leave_no_condition() -> None:
    found = steps("decided_now")
    assert {name: step.when is not None for name, step in found.items()} == {
        "build": False,
        "deploy": False,
        "balance": False,
        "small": True,
    }


def test_volumes_of_the_run_and_of_the_cluster() -> None:
    assert built("volumes").volumes == (
        storage.NewClaimVolume(name="workdir", size="1Gi", access_modes=("ReadWriteOnce",)),
        storage.NewClaimVolume(name="models", size="20Gi", access_modes=("ReadWriteMany",)),
        storage.NewClaimVolume(name="logs", size="100Mi", access_modes=("ReadWriteMany",)),
        storage.ClaimVolume(name="datasets", claim="team-datasets"),
        storage.EmptyVolume(name="scratch"),
    )
    [generate, train] = built("volumes").steps
    assert [(mount.volume, mount.path) for mount in generate.mounts] == [
        ("workdir", "/mnt/vol"),
        ("datasets", "/datasets"),
    ]
    assert len(train.mounts) == 4


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


def test_secrets_are_references_with_their_keys() -> None:
    found = steps("existing_secrets")
    assert {
        name: [(one.name, one.secret.secret) for one in step.env if one.secret is not None]
        for name, step in found.items()
    } == {
        "login": [("uname", "registry-login"), ("passwd", "registry-login")],
        "fetch": [("access_key", "bucket"), ("secret_key", "bucket")],
        "track": [("token", "tracker")],
        "note": [("note", "not-made")],
    }
    assert "s3cr3t" not in built("existing_secrets").model_dump_json()


def test_every_setting_of_a_schedule_is_kept() -> None:
    schedule = built("nightly").schedule
    assert schedule == ir.Schedule(
        cron=("30 2 * * 1-5",),
        timezone="Asia/Shanghai",
        concurrency="forbid",
        starting_deadline_s=10,
        keep_succeeded=3,
        keep_failed=5,
    )


def test_handlers_stand_for_the_ends_that_they_name() -> None:
    handlers = built("exit_handlers").exit_handlers
    assert [(one.name, one.on) for one in handlers] == [
        ("on_success", "success"),
        ("on_failure", "failure"),
        ("on_error", "failure"),
        ("at_the_end", "any"),
    ]


def test_a_hundred_functions_side_by_side_and_a_long_chain() -> None:
    found = waits(built("fan_out"))
    assert {found[f"task-{number}"] for number in range(100)} == {("consume",)}
    assert len(found["task-100"]) == 100
    assert all(found[f"task-{number}"] == (f"task-{number - 1}",) for number in range(101, 150))


def test_a_job_is_passed_as_its_name_its_id_and_its_object() -> None:
    train, tell = built("training_job").steps
    assert isinstance(train.action, ir.Job)
    assert train.action.manifest["kind"] == "Job"
    assert [ref.output for ref in args(tell)[1:]] == ["job_name", "job_id", "job_obj"]


def test_files_of_git_and_of_buckets() -> None:
    [source] = steps("git_source")["check"].inputs
    assert (source.path, source.type) == ("/tmp/source", "directory")
    assert source.at == GitLocation(repository="https://example.org/team/model.git", revision="v1")
    [dataset] = steps("oss_dataset")["count"].inputs
    assert isinstance(dataset.at, OssLocation)
    assert dataset.at.access_key == storage.SecretKey(secret="oss", key="id")
    found = steps("s3_model")
    [model] = found["train"].outputs
    assert isinstance(model.at, S3Location)
    assert (model.at.endpoint, model.at.insecure) == ("minio.storage:9000", True)
    for name in ("serve", "serve-directly"):  # the same file, by its declaration and by its step
        assert found[name].inputs[0].value == StepRef(step="train", output="model")
    assert "s3cr3t-key" not in built("s3_model").model_dump_json()


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
