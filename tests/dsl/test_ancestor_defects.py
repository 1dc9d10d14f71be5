"""What went wrong with programs of the ancestor, each by a program that shows it works."""

from __future__ import annotations

import enum
import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import couler
import couler.argo as argo
from couler.ir.serialize import write_json
from couler.ir.values import StepRef
from couler.ir.verify import verify
from tests.dsl.look import box, codes, implicit, inner, steps, waits


def consume(message: object) -> object:
    return couler.run_container("busybox", ["echo"], [message])


PROGRAM = """
import couler.argo as couler

def random_code():
    print("heads")

def flip():
    return couler.run_script("python:3.12", source=random_code)

result = flip()
{blank}couler.when(couler.equal(result, "heads"), lambda: couler.run_container("busybox", ["true"]))
couler.map(lambda x: couler.run_container("busybox", ["echo"], [x]), [1, 2])
"""

DRIVER = """
import json, runpy, sys
from couler.dsl.submit import collect
with collect() as found:
    {start}
print(json.dumps([step.name for step in found[0].to_ir().steps]))
"""


@pytest.mark.parametrize("blank", ["", "\n\n"])
@pytest.mark.parametrize("start", ["runpy.run_path('p.py')", "import p"])
def test_names_do_not_depend_on_lines_or_on_how_the_program_is_started(
    tmp_path: Path, blank: str, start: str
) -> None:
    (tmp_path / "p.py").write_text(PROGRAM.format(blank=blank))
    done = subprocess.run(
        [sys.executable, "-c", DRIVER.format(start=start)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{Path(couler.__file__).parents[1]}{os.pathsep}."},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == '["flip", "busybox", "busybox-2"]\n'


def test_the_same_program_gives_the_same_text() -> None:
    def build() -> str:
        box("a")
        consume("x")
        text = write_json(implicit().to_ir())
        couler._cleanup()
        return text

    assert build() == build()


def test_a_loop_on_one_line_gives_unique_names() -> None:
    couler.concurrent([lambda: consume("a") for _ in range(3)])
    [consume(x) for x in "bc"]
    assert list(steps(implicit())) == [
        "consume",
        "consume-2",
        "consume-3",
        "consume-4",
        "consume-5",
    ]
    assert codes(implicit()) == []


def test_two_calls_in_one_function_keep_both_images() -> None:
    def both() -> None:
        couler.run_container("busybox", ["true"])
        couler.run_container("alpine", ["true"], ["x"])

    both()
    assert [step.action.image for step in implicit().to_ir().steps] == ["busybox", "alpine"]


def test_arguments_after_a_list_of_outputs_are_kept() -> None:
    outputs = list(box("a", output=couler.create_parameter_artifact("/tmp/x")))
    couler.run_container("busybox", ["echo"], [outputs, "KEEP", 7], step_name="b")
    assert steps(implicit())["b"].action.args == (StepRef(step="a", output="x"), "KEEP", "7")


def test_what_the_caller_passes_is_not_changed() -> None:
    args, env, mounts = ["a"], {"A": "a"}, [couler.VolumeMount("v", "/v")]
    output = [couler.create_parameter_artifact("/tmp/x")]
    couler.create_secret({"k": "v"}, name="s")
    for _ in range(2):
        couler.run_container(
            "busybox",
            ["echo"],
            args,
            output=output,
            env=env,
            secret="s",
            volume_mounts=mounts,
        )
    assert (args, env, len(mounts), len(output)) == (["a"], {"A": "a"}, 1, 1)


def test_mixed_outputs_and_relative_and_system_paths() -> None:
    box(
        "a",
        output=[
            couler.create_parameter_artifact("relative.txt"),
            couler.create_local_artifact("/etc/model.bin"),
        ],
    )
    step = steps(implicit())["a"]
    assert [output.path for output in step.outputs] == ["relative.txt", "/etc/model.bin"]
    assert step.mounts == ()
    assert implicit().to_ir().volumes == ()


def test_names_with_dots_are_reported_and_not_misread() -> None:
    a = box("v1.2", output=couler.create_parameter_artifact("/tmp/out.v1.txt"))
    box("b", a)
    assert steps(implicit())["b"].action.args == (StepRef(step="v1.2", output="out"),)
    assert codes(implicit()) == ["CLR150"]


def test_sharing_one_output_many_times_takes_no_longer() -> None:
    value = box("a", output=couler.create_parameter_artifact("/tmp/x"))
    for index in range(60):  # doubled at every step in the ancestor
        value = box(f"b{index}", value, value, output=couler.create_parameter_artifact("/tmp/x"))
    assert len(implicit().to_ir().steps[-1].action.args) == 2


def test_when_inside_a_graph_keeps_arguments_and_dependencies() -> None:
    flip = couler.set_dependencies(lambda: box("flip"))
    couler.set_dependencies(
        lambda: couler.when(couler.equal(flip, "heads"), lambda: box("heads", "arg")),
        ["other"],
    )
    box("other")
    heads = steps(implicit())["heads"]
    assert heads.action.args == ("arg",)
    assert heads.depends_on == ("other",)
    assert heads.when is not None
    assert codes(implicit()) == []


def test_loops_concurrent_and_maps_inside_a_graph_are_whole() -> None:
    couler.set_dependencies(lambda: box("first"))
    couler.set_dependencies(
        lambda: couler.exec_while(couler.equal("x"), lambda: box("again")), ["first"]
    )
    couler.set_dependencies(
        lambda: couler.concurrent([lambda: box("p"), lambda: box("q")]), ["again"]
    )
    couler.set_dependencies(lambda: couler.map(consume, [1, 2]), ["p", "q"])
    found = steps(implicit())
    assert found["again"].loop is not None
    assert found["consume"].foreach is not None
    assert waits(implicit()) == {
        "first": (),
        "again": ("first",),
        "p": ("again",),
        "q": ("again",),
        "consume": ("p", "q"),
    }


def test_two_loops_over_one_function_are_two_loops() -> None:
    couler.exec_while(couler.equal("x"), lambda: consume(1))
    couler.exec_while(couler.equal("y"), lambda: consume(2))
    assert [step.loop is not None for step in implicit().to_ir().steps] == [True, True]


def test_a_map_may_follow_a_map_and_take_a_helper_that_returns_nothing() -> None:
    first = couler.map(lambda x: consume(x), [1, 2])
    second = couler.map(lambda x: consume(x), first)
    couler.map(lambda x: [consume(x)].clear(), second)
    found = steps(implicit())
    assert found["consume-3"].foreach.over["x"] == StepRef(step="consume-2")
    assert codes(implicit()) == []


def test_a_map_may_compute_with_its_items_in_steps_of_its_own() -> None:
    def pipeline(x: object) -> object:
        return consume(consume(x))

    couler.map(pipeline, range(3))
    assert list(inner(steps(implicit())["pipeline"])) == ["consume", "consume-2"]


def test_conditions_on_text_with_quotes_and_blanks() -> None:
    a = box("a")
    couler.when(couler.equal(a, "it's two words"), lambda: box("b"))
    assert steps(implicit())["b"].when.right.value == "it's two words"


def test_script_bodies_with_colons_and_annotations_are_whole() -> None:
    def code(x: int = 3) -> None:
        y = {"a": x}
        print(f"{y['a']}:{x}")  # noqa: T201

    couler.run_script("python:3.12", source=code)
    source = implicit().to_ir().steps[0].action.source
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.stdout == "3:3\n"


def test_a_script_may_name_its_interpreter() -> None:
    couler.run_script("python:3.12", command="python3", source=lambda: None)
    assert implicit().to_ir().steps[0].action.command == ("python3",)


class Level(enum.StrEnum):
    HIGH = "high"


def test_a_script_may_be_a_partial_of_a_function() -> None:
    def code(name: str, *rest: object, times: int = 1, **more: object) -> None:
        print(name * times, rest, sorted(more.items()))  # noqa: T201

    partial = functools.partial(code, "it's {{x}}\n", [1, None], Level.HIGH, times=2, other=1.5)
    with couler.Workflow("w") as wf:
        couler.run_script("python:3.12", source=partial)
    [step] = wf.to_ir().steps
    assert step.name == "code"
    done = subprocess.run(
        [sys.executable, "-c", step.action.source], capture_output=True, text=True
    )
    assert done.stdout == "it's {{x}}\nit's {{x}}\n ([1, None], 'high') [('other', 1.5)]\n"


@pytest.mark.parametrize("wrong", [object(), float("nan"), {1: 2}])
def test_a_partial_of_what_no_script_can_hold_is_reported(wrong: object) -> None:
    def code(x: object) -> None:
        print(x)  # noqa: T201

    couler.run_script("python:3.12", source=functools.partial(code, wrong))
    [problem] = implicit().diagnostics
    assert (problem.code, "has no JSON form" in problem.message) == ("CLR109", True)


def test_a_partial_of_a_value_of_the_workflow_is_reported() -> None:
    def code(x: object, y: object) -> None:
        print(x, y)  # noqa: T201

    couler.run_script("python:3.12", source=functools.partial(code, box("a")))
    assert codes(implicit()) == ["CLR109"]


def test_an_empty_environment_and_a_secret_go_together() -> None:
    couler.create_secret({"k": "v"}, name="s")
    box("a", env={}, secret="s")
    assert [one.name for one in steps(implicit())["a"].env] == ["k"]


def test_config_without_an_account_keeps_the_account() -> None:
    couler.config_workflow(service_account="runner")
    couler.config_workflow(timeout=60)
    box("a")
    assert implicit().to_ir().pod.service_account == "runner"


def test_time_is_utc_and_names_are_not_random() -> None:
    couler.config_workflow(name="daily", cron_config={"schedule": "0 3 * * *"})
    box("a")
    found = implicit().to_ir()
    assert (found.name, found.schedule.timezone) == ("daily", "UTC")
    assert found.schedule.starting_deadline_s is None


def test_the_name_of_a_secret_tells_nothing_of_its_values() -> None:
    one = couler.create_secret({"password": "a"})
    two = couler.create_secret({"password": "b"})
    assert one == two == "couler-password"


def test_volume_claims_have_defaults_again() -> None:
    assert argo.VolumeClaimTemplate("x").access_modes == ("ReadWriteOnce",)


def test_a_graph_inside_a_group_leaves_the_order_around_it() -> None:
    def part() -> None:
        couler.dag([[lambda: box("x"), lambda: box("y")]])

    box("begin")
    couler.concurrent([part], subtasks=True)
    couler.map(lambda _: part(), [1, 2])
    box("end")
    assert waits(implicit()) == {
        "begin": (),
        "part": ("begin",),
        "map": ("part",),
        "end": ("map",),
    }
    assert codes(implicit()) == []


def test_the_steps_of_a_task_run_in_their_order_inside_a_graph_too() -> None:
    def task() -> None:
        box("first")
        box("second")

    couler.dag([[lambda: couler.concurrent([task], subtasks=True), lambda: box("end")]])
    found = steps(implicit())
    assert inner(found["task"])["second"].depends_on == ("first",)
    assert found["end"].depends_on == ("task",)


def test_an_access_mode_may_be_a_single_text() -> None:
    couler.create_workflow_volume(argo.VolumeClaimTemplate("x", "ReadWriteMany"))
    box("a")
    [volume] = implicit().to_ir().volumes
    assert (volume.access_modes, codes(implicit())) == (("ReadWriteMany",), [])


@pytest.mark.parametrize(
    "claim",
    [argo.VolumeClaimTemplate("x", 3), argo.VolumeClaimTemplate("x", size=10), "x"],  # type: ignore[arg-type]
)
def test_a_wrong_claim_is_reported_where_it_is_made(claim: object) -> None:
    couler.create_workflow_volume(claim)  # type: ignore[arg-type]
    box("a")
    [problem] = implicit().diagnostics
    assert problem.code == "CLR105"
    assert problem.message.startswith("create_workflow_volume: ")


TWO = [couler.create_parameter_artifact("/tmp/x"), couler.create_parameter_artifact("/tmp/y")]


@pytest.mark.parametrize(
    "wrap",
    [lambda outputs: outputs, lambda outputs: [outputs], lambda outputs: [list(outputs)]],
    ids=["whole", "in-a-list", "as-a-list"],
)
def test_the_list_of_outputs_as_arguments_is_all_of_them(wrap: object) -> None:
    outputs = box("a", output=TWO)
    couler.run_container("busybox", ["echo"], wrap(outputs), step_name="b")
    couler.run_script("busybox", "sh", "echo $1 $2", wrap(outputs), step_name="c")
    both = (StepRef(step="a", output="x"), StepRef(step="a", output="y"))
    found = steps(implicit())
    assert found["b"].action.args == both
    assert tuple(one.value for one in found["c"].inputs) == both


def test_lists_of_outputs_are_cut_and_joined() -> None:
    first, second = box("a", output=TWO), box("b", output=TWO)
    couler.run_container("busybox", ["echo"], first[1:] + second, step_name="c")
    couler.run_container("busybox", ["echo"], ["x", *second][:2] + first, step_name="d")
    couler.run_container("busybox", ["echo"], second + ["x"] + (first + first), step_name="e")
    found = steps(implicit())

    def ref(step: str, output: str) -> StepRef:
        return StepRef(step=step, output=output)

    assert [found[name].action.args for name in "cde"] == [
        (ref("a", "y"), ref("b", "x"), ref("b", "y")),
        ("x", ref("b", "x"), ref("a", "x"), ref("a", "y")),
        (
            *(ref("b", "x"), ref("b", "y"), "x"),
            *(ref("a", "x"), ref("a", "y"), ref("a", "x"), ref("a", "y")),
        ),
    ]
    for wrong in (1, "x", first[0]):
        with pytest.raises(couler.DefinitionError, match="CLR114"):
            first + wrong


@pytest.mark.parametrize(
    ("given", "name"),
    [("MyWorkflow", "my-workflow"), ("PyTorch_Training v1.2", "py-torch-training-v1-2")],
)
def test_names_of_workflows_are_made_legal_with_a_warning(given: str, name: str) -> None:
    couler.config_workflow(name=given)
    box("a")
    [problem] = implicit().diagnostics
    assert (implicit().name, problem.severity) == (name, "warning")
    assert given in problem.message
    assert codes(implicit()) == ["CLR150"]


@pytest.mark.parametrize("given", ["", "---", "ß"])
def test_names_of_workflows_without_letters_are_errors(given: str) -> None:
    couler.config_workflow(name=given)
    box("a")
    assert codes(implicit()) == ["CLR150"]
    [problem] = verify(implicit().to_ir())
    assert problem.severity == "error"


def test_a_single_mount_may_stand_alone() -> None:
    box("a", volume_mounts=couler.VolumeMount("v", "/v"))
    [mount] = steps(implicit())["a"].mounts
    assert (mount.volume, codes(implicit())) == ("v", [])


def test_outputs_by_name_are_no_list() -> None:
    outputs = box("a", output={"x": "/tmp/x", "y": "/tmp/y"})
    box("b", outputs)
    assert steps(implicit())["b"].action.args == (StepRef(step="a", output="x"),)


def test_a_handler_that_raises_leaves_no_name_behind() -> None:
    def handler() -> None:
        box("tell")
        raise KeyError("mistake")

    box("a")
    for _ in range(2):
        with pytest.raises(KeyError):
            couler.set_exit_handler(couler.WFStatus.Failed, handler)
    box("tell")
    box("tell")
    assert list(steps(implicit())) == ["a", "tell", "tell-2"]
    assert implicit().to_ir().exit_handlers == ()


def test_an_output_knows_its_path_and_its_value() -> None:
    outputs = box("a", output=TWO)
    assert [one.path for one in outputs] == ["/tmp/x", "/tmp/y"]
    box("b", outputs[1].value)
    assert steps(implicit())["b"].action.args == (StepRef(step="a", output="y"),)
    printed = box("c")[0]
    assert printed.value is printed
    with pytest.raises(AttributeError, match='has no part "path"'):
        _ = printed.path
    fields = box("d", output=[couler.create_parameter_artifact("/tmp/x", type=dict)])
    assert fields[0]["path"]._ir().path == ("path",)


def test_passing_outputs_can_be_switched_off_for_a_workflow() -> None:
    couler.config_workflow(pass_outputs=False)
    couler.set_dependencies(lambda: box("a", output=TWO))
    couler.set_dependencies(lambda: box("b", "own"), ["a"])
    couler.set_dependencies(lambda: box("c", "own"), ["a"], pass_outputs=True)
    found = steps(implicit())
    assert found["b"].action.args == ("own",)
    assert len(found["c"].action.args) == 3
    assert [found[name].depends_on for name in "bc"] == [("a",), ("a",)]
