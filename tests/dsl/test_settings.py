"""Workflows as a whole: parameters, schedules, defaults, volumes, secrets, exit handlers."""

from __future__ import annotations

import pytest

import couler
from couler.errors import ParameterError
from couler.ir.parameters import parameter_texts
from couler.ir.pods import PodSettings
from couler.ir.storage import ConfigKey, SecretKey
from couler.ir.values import FirstOf, OrElse, ParamRef, RunRef, StepRef
from couler.ir.workflow import Defaults, Output, Parameter, Schedule
from tests.dsl.look import box, codes, implicit, steps


def test_a_parameter_of_text_or_none_takes_texts_as_they_are() -> None:
    wf = couler.Workflow(
        "w",
        x=couler.Parameter("d", type=str | None),
        n=couler.Parameter(type=int | None),
        params={"none": None},
    )
    declared = wf.to_ir().parameters
    assert codes(wf) == ["CLR201"]
    for given, text in [("hello", '"hello"'), ("12", '"12"'), ("null", "null"), (None, "null")]:
        assert parameter_texts(declared, {"x": given, "n": 3}) == {"x": text, "n": "3"}
    for wrong in ({"x": 12}, {"n": "a"}, {"none": "a"}, {"x": "\0"}, {"n": ["\ud800"]}):
        with pytest.raises(ParameterError):
            parameter_texts(declared, wrong)


def test_parameters_by_default_by_type_and_in_full() -> None:
    wf = couler.Workflow(
        "w",
        dataset="digits",
        rate=0.5,
        flags=[True],
        n=int,
        many=list[float],
        region=couler.Parameter(config=ConfigKey(config_map="site", key="region")),
        model=couler.Parameter("svm", choices=["svm", "forest"], description="which"),
        params={"name": "x", "timeout": 3},
    )
    assert wf.to_ir().parameters == (
        Parameter(name="name", default="x"),
        Parameter(name="timeout", type="int", default=3),
        Parameter(name="dataset", default="digits"),
        Parameter(name="rate", type="float", default=0.5),
        Parameter(name="flags", type="list", default=(True,)),
        Parameter(name="n", type="int", required=True),
        Parameter(name="many", type="list", required=True),
        Parameter(name="region", config=ConfigKey(config_map="site", key="region")),
        Parameter(name="model", default="svm", choices=("svm", "forest"), description="which"),
    )
    assert dir(wf.params)[:2] == ["dataset", "flags"]


def test_wrong_parameters_are_reported() -> None:
    wf = couler.Workflow("w", a=object(), b=set, c=couler.Parameter(type=set[int]))
    assert [one.code for one in wf.diagnostics] == ["CLR103", "CLR108", "CLR108"]


def test_fields_of_a_workflow() -> None:
    wf = couler.Workflow(
        "w",
        labels={"team": "ml"},
        annotations={"note": "x"},
        max_parallel=3,
        timeout="2h",
        keep="7d",
        description="text",
        service_account="runner",
        engine={"argo": {"podGC": {}}},
        schedule=couler.Schedule("0 3 * * *", "Europe/Berlin", "forbid", "10m", True, 3, 1),
    )
    found = wf.to_ir()
    assert (found.labels, found.annotations) == ({"team": "ml"}, {"note": "x"})
    assert (found.max_parallel, found.timeout_s, found.keep_s) == (3, 7200, 604800)
    assert (found.description, found.engine) == ("text", {"argo": {"podGC": {}}})
    assert found.pod == PodSettings(service_account="runner")
    assert found.schedule == Schedule(
        cron=("0 3 * * *",),
        timezone="Europe/Berlin",
        concurrency="forbid",
        starting_deadline_s=600,
        suspended=True,
        keep_succeeded=3,
        keep_failed=1,
    )
    assert couler.Workflow("w", schedule="@daily").to_ir().schedule.cron == ("@daily",)


def test_wrong_fields_are_reported() -> None:
    wf = couler.Workflow(
        "w",
        timeout="soon",
        keep=-1,
        schedule=couler.Schedule("* * * * *", concurrency="never"),  # type: ignore[arg-type]
        defaults=couler.StepDefaults(working_dir="/x", retries=2),  # type: ignore[call-arg]
    )
    couler.Workflow("v", schedule=couler.Schedule("* * * * *", starting_deadline="x"))
    assert [one.code for one in wf.diagnostics] == [
        "CLR105",
        "CLR105",
        "CLR105",
        "CLR104",
        "CLR105",
    ]


def test_defaults() -> None:
    defaults = couler.StepDefaults(image="x", retry=2, timeout=60, memory="1Gi", env={"A": "a"})
    found = couler.Workflow("w", defaults=defaults).to_ir().defaults
    assert isinstance(found, Defaults)
    assert (found.retry.limit, found.timeout_s, found.resources.memory) == (2, 60, "1Gi")
    assert found.env[0].value == "a"
    assert couler.Workflow("w", defaults=couler.StepDefaults(image="x")).to_ir().defaults is None


def test_outputs_of_a_workflow() -> None:
    with couler.Workflow("w") as wf:
        with couler.group("g"):
            a = box("a")
        wf.output("best", a)
        wf.output("wrong", 3)
        wf.output("best", a)
    assert wf.to_ir().outputs == (Output(name="best", value=StepRef(step="g", output="a")),)
    assert [one.code for one in wf.diagnostics] == ["CLR139", "CLR139"]
    assert "is given twice" in wf.diagnostics[1].message


@couler.step
def report(status: str, score: float = 0.0) -> None: ...


@couler.step
def measure() -> float:
    return 1.0


def test_exit_handlers() -> None:
    with couler.Workflow("w", who="me") as wf:
        score = measure()
        wf.on_exit(report, wf.run_facts.status, score=score.or_else(0.0))
        wf.on_exit(lambda: box("alert", wf.params.who), status="failure")
        wf.on_exit(lambda: box("alert"), status="failure", name="second")
        wf.on_exit(lambda: box("b") >> box("c"), status="success")
    handlers = wf.to_ir().exit_handlers
    assert [(one.name, one.on) for one in handlers] == [
        ("report", "any"),
        ("on-failure", "failure"),
        ("second", "failure"),
        ("on-success", "success"),
    ]
    [step] = handlers[0].steps
    inputs = {one.name: one.value for one in step.inputs}
    assert inputs["status"] == RunRef(field="status")
    assert isinstance(inputs["score"], OrElse)
    assert handlers[1].steps[0].action.args == (ParamRef(name="who"),)
    assert handlers[2].steps[0].name == "alert-2"
    assert handlers[3].steps[1].depends_on == ("b",)
    assert list(steps(wf)) == ["measure"]
    assert codes(wf) == []


def test_handlers_of_one_name_and_without_steps() -> None:
    with couler.Workflow("w") as wf:
        box("a")
        wf.on_exit(lambda: box("b"))
        wf.on_exit(lambda: box("c"))
        wf.on_exit(lambda: None)
    assert [one.name for one in wf.to_ir().exit_handlers] == ["on-any", "on-any-2"]
    assert [one.code for one in wf.diagnostics] == ["CLR128"]


def test_the_ancestors_exit_handlers() -> None:
    box("a")
    couler.set_exit_handler(couler.WFStatus.Succeeded, lambda: box("good"))
    couler.set_exit_handler(couler.WFStatus.Failed, lambda: box("bad"))
    couler.set_exit_handler("any", lambda: couler.when(box("x") == "y", lambda: box("z")))
    box("after")
    handlers = implicit().to_ir().exit_handlers
    assert [one.on for one in handlers] == ["success", "failure", "any"]
    assert [step.name for step in handlers[2].steps] == ["x", "z"]
    assert list(steps(implicit())) == ["a", "after"]
    with pytest.raises(couler.DefinitionError, match="CLR138"):
        couler.set_exit_handler("sometimes", lambda: None)  # type: ignore[arg-type]


def test_an_exit_handler_that_raises_leaves_later_steps_alone() -> None:
    box("a")
    with pytest.raises(ZeroDivisionError):
        couler.set_exit_handler(couler.WFStatus.Failed, lambda: 1 / 0)
    box("b")
    assert list(steps(implicit())) == ["a", "b"]


def test_config_workflow_keeps_what_it_is_not_given() -> None:
    couler.config_workflow(name="first", service_account="runner", timeout=60)
    couler.config_workflow(
        time_to_clean=10,
        cron_config={
            "schedule": "0 3 * * *",
            "suspend": "false",
            "concurrency_policy": "Forbid",
            "successful_jobs_history_limit": "3",
            "starting_deadline_seconds": 30,
        },
        user_id="me",
    )
    box("a")
    found = implicit().to_ir()
    assert (found.name, found.timeout_s, found.keep_s) == ("first", 60, 10)
    assert found.pod.service_account == "runner"
    assert found.schedule == Schedule(
        cron=("0 3 * * *",), concurrency="forbid", keep_succeeded=3, starting_deadline_s=30
    )
    assert [(one.code, one.severity) for one in implicit().diagnostics] == [("CLR106", "warning")]


def test_wrong_cron_configs_are_reported() -> None:
    couler.config_workflow(cron_config={"shedule": "* * * * *"})
    assert [one.code for one in implicit().diagnostics] == ["CLR104", "CLR105"]


def test_names_are_kept_unless_there_is_a_salter() -> None:
    couler.config_workflow(name="my-wf")
    assert implicit().name == "my-wf"
    couler.config_defaults(name_salter=lambda name: f"{name.lower()}-1", service_account="runner")
    couler.config_workflow(name="MyWF")
    assert implicit().name == "mywf-1"
    couler._cleanup()
    box("a")
    assert implicit().to_ir().pod.service_account == "runner"


def test_the_program_gives_the_workflow_its_name() -> None:
    def helper() -> None:
        box("a")

    namespace = {"helper": helper}
    exec(compile("helper()", "/somewhere/My_program.v2.py", "exec"), namespace)
    assert implicit().name == "my-program"
    couler._cleanup()
    exec(compile("helper()", "<stdin>", "exec"), namespace)
    assert implicit().name == "workflow"


def test_secrets_are_references_and_values_stay_here() -> None:
    data = {"user": "alice", "password": "s3cret"}
    name = couler.create_secret(data)
    other = couler.obtain_secret(["token"], namespace="ml")
    box("a", secret=[name, other])
    found = implicit().to_ir()
    assert (name, other) == ("couler-user-password", "couler-token")
    assert found.secrets == (
        SecretKey(secret=name, key="user"),
        SecretKey(secret=name, key="password"),
        SecretKey(secret=other, key="token"),
    )
    assert "s3cret" not in found.model_dump_json()
    secret = couler.get_secret(name)
    assert "s3cret" not in repr(secret)
    assert (secret.reveal(), secret.is_new) == (data, True)
    assert couler.get_secret(other).is_new is False
    assert couler.get_secret("nobody") is None
    data["user"] = "bob"
    assert secret.reveal()["user"] == "alice"


def test_a_block_may_name_secrets_of_the_program_around_it() -> None:
    name = couler.create_secret({"token": "x"})
    with couler.Workflow("w") as wf:
        box("a", secret=name)
    assert wf.diagnostics == ()


def test_blocks_of_one_workflow_do_not_nest() -> None:
    with couler.Workflow("w") as wf:
        with pytest.raises(couler.DefinitionError, match="CLR140"), wf:
            pass
        box("a")
    with wf:
        box("b")
    assert list(steps(wf)) == ["a", "b"]


def test_workflows_can_be_looked_at() -> None:
    with couler.Workflow("w", n=1) as wf:
        box("a")
    assert repr(wf) == "<couler workflow w, 1 step>"
    assert list(wf.__rich_repr__()) == [("name", "w"), ("parameters", ["n"]), ("steps", ["a"])]
    assert "a" in wf.show()
    assert wf._repr_svg_().startswith("<svg")
    assert wf.plan().workflow.name == "w"
    assert "kind: Workflow" in wf.compile("argo").to_text()


def test_the_ancestors_view_of_the_workflow() -> None:
    box("a")
    couler.config_workflow(name="w")
    couler.workflow.service_account = "runner"
    assert couler.workflow.name == "w"
    assert couler.workflow.steps == ("a",)
    assert couler.workflow.service_account == "runner"
    assert couler.workflow.security_context is None
    assert couler.workflow_yaml()["kind"] == "Workflow"
    assert couler.workflow.to_dict() == couler.workflow_yaml()
    assert couler.states.workflow is couler.workflow
    assert [one._output for one in couler.get_step_output("a")] == ["result"]
    assert couler.get_step_output("nobody") == []
    couler.workflow.cleanup()
    assert couler.workflow.steps == ()


def test_conditions_on_the_status_of_the_run() -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        wf.on_exit(lambda: couler.when(wf.run_facts.status == "failed", lambda: box("b")))
        wf.output("x", couler.first_of(a, "none"))
    assert isinstance(wf.to_ir().outputs[0].value, FirstOf)
    assert codes(wf) == []


def test_defaults_hold_no_values_of_the_workflow() -> None:
    other = couler.Workflow("v", key="k")
    wf = couler.Workflow("w", defaults=couler.StepDefaults(env={"KEY": other.run_facts.id}))
    assert [one.code for one in wf.diagnostics] == ["CLR105"]
