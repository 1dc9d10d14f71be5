"""What went wrong with programs of the ancestor, each by a program that shows it works."""

from __future__ import annotations

import enum
import functools
import subprocess
import sys

import pytest

import couler
from couler.ir.serialize import write_json
from couler.ir.values import StepRef
from couler.ir.verify import verify
from tests.dsl.look import box, codes, implicit, steps


def consume(message: object) -> object:
    return couler.run_container("busybox", ["echo"], [message])


def test_the_same_program_gives_the_same_text() -> None:
    def build() -> str:
        box("a")
        consume("x")
        text = write_json(implicit().to_ir())
        couler._cleanup()
        return text

    assert build() == build()


def test_two_calls_in_one_function_keep_both_images() -> None:
    def both() -> None:
        couler.run_container("busybox", ["true"])
        couler.run_container("alpine", ["true"], ["x"])

    both()
    assert [step.action.image for step in implicit().to_ir().steps] == ["busybox", "alpine"]


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
