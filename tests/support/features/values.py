"""Values: a minimal workflow for each feature of what steps read and give."""

from __future__ import annotations

from couler.ir.features import Feature
from couler.ir.policies import Foreach
from couler.ir.storage import ConfigKey
from couler.ir.values import (
    Field,
    FirstOf,
    Literal,
    OrElse,
    ParamRef,
    Range,
    RunRef,
    Template,
    Value,
)
from couler.ir.workflow import Container, ExitHandler, LocalForm, Output, Parameter, Workflow
from tests.support.features.kinds import JOB
from tests.support.sample_flows import ITEM, MODEL_FILE, A, echo, flow, one_action, one_step


def _reads(value: Value) -> Workflow:
    return flow(echo("a"), echo("b", value))


VALUES: dict[Feature, Workflow] = {
    Feature.PARAMETER: flow(
        echo("a", ParamRef(name="p")), parameters=(Parameter(name="p", default="x"),)
    ),
    Feature.PARAMETER_CONFIG: flow(
        echo("a", ParamRef(name="p")),
        parameters=(Parameter(name="p", config=ConfigKey(config_map="site", key="region")),),
    ),
    Feature.STDOUT: one_step(outputs=(Output(),)),
    Feature.OUTPUT_FILE_VALUE: one_step(outputs=(Output(name="n", type="int", path="n.txt"),)),
    Feature.OUTPUT_DEFAULT: one_step(
        outputs=(Output(name="n", type="int", path="n.txt", default=0),)
    ),
    Feature.OUTPUT_JSON_PATH: one_action(
        JOB, outputs=(Output(name="done", json_path="{.status.succeeded}"),)
    ),
    Feature.OUTPUT_JQ: one_action(JOB, outputs=(Output(name="done", jq=".status.succeeded"),)),
    Feature.OUTPUT_JSON_PATH_LOCAL: one_action(
        JOB.model_copy(
            update={
                "local": LocalForm(
                    action=Container(image="alpine:3", command=("echo", "Complete")),
                    outputs=(Output(name="phase"),),
                )
            }
        ),
        outputs=(Output(name="phase", json_path="{.status.phase}"),),
    ),
    Feature.FILE: one_step(outputs=(MODEL_FILE,)),
    Feature.DIRECTORY: one_step(outputs=(Output(name="d", type="directory", path="/tmp/d"),)),
    Feature.FIELD: flow(
        echo("a", outputs=(Output(type="json"),)), echo("b", Field(of=A, path=("x", 0)))
    ),
    Feature.OR_ELSE: _reads(OrElse(value=A, default=Literal(value="none"))),
    Feature.FIRST_OF: _reads(FirstOf(options=(A, Literal(value="none")))),
    Feature.RANGE: flow(
        echo("a", ITEM, foreach=Foreach(over={"item": Range(count=Literal(value=3))}))
    ),
    Feature.TEMPLATE: _reads(Template(parts=("a is ", A))),
    Feature.RUN_ID: _reads(RunRef(field="id")),
    Feature.RUN_LOGICAL_DATE: _reads(RunRef(field="logical_date")),
    Feature.RUN_STATUS: flow(
        echo("a"),
        exit_handlers=(
            ExitHandler(name="tell", on="any", steps=(echo("b", RunRef(field="status")),)),
        ),
    ),
    Feature.WORKFLOW_OUTPUT: flow(echo("a"), outputs=(Output(value=A),)),
}
