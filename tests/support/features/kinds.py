"""What steps do: a minimal workflow for each kind of step and what it can have."""

from __future__ import annotations

from couler.ir.artifacts import ListFiles, S3Location
from couler.ir.base import FrozenDict
from couler.ir.features import Feature
from couler.ir.pods import PodContainer
from couler.ir.values import And, Compare, Field, Literal, ManifestValue, OwnRef, ParamRef, StepRef
from couler.ir.workflow import (
    CodeFile,
    Container,
    ContainerSet,
    Http,
    Input,
    Job,
    LocalForm,
    Output,
    Parameter,
    Plugin,
    Script,
    Step,
    Suspend,
    TemplateCall,
    Workflow,
)
from tests.support.sample_flows import (
    MODEL_FILE,
    A,
    echo,
    flow,
    group,
    one_action,
    one_step,
    own_fact,
)

JOB = Job(
    manifest=FrozenDict(
        apiVersion="batch/v1",
        kind="Job",
        metadata=FrozenDict(generateName="train-"),
        spec=FrozenDict(),
    ),
    success_condition="status.succeeded > 0",
)
_JOB_WITH_VALUES = Job(
    manifest=FrozenDict(
        apiVersion="batch/v1",
        kind="Job",
        metadata=FrozenDict(generateName="train-"),
        spec=FrozenDict(parallelism=None, template=FrozenDict(image=None)),
    ),
    values=(
        ManifestValue(path=("spec", "parallelism"), value=ParamRef(name="n"), type="int"),
        ManifestValue(path=("spec", "template", "image"), value=A),
    ),
    local=LocalForm(action=Script(image="python:3.12-slim", source="print(1)")),
)

KINDS: dict[Feature, Workflow] = {
    Feature.CONTAINER: one_step(),
    Feature.IMAGE_ENTRYPOINT: one_action(Container(image="hello-world")),
    Feature.SCRIPT: one_action(Script(image="python:3.12-slim", source="print(1)")),
    Feature.PACKAGES: one_action(
        Script(image="python:3.12-slim", source="import numpy", packages=("numpy",))
    ),
    Feature.CODE_FILES: one_action(
        Script(image="python:3.12-slim", source="import area", files=("area.py",))
    ).model_copy(update={"code": (CodeFile(path="area.py", text="SIZE = 1\n"),)}),
    Feature.JOB: one_action(JOB),
    Feature.JOB_VALUES: flow(
        echo("a"),
        Step(name="train", action=_JOB_WITH_VALUES),
        parameters=(Parameter(name="n", type="int", default=2),),
    ),
    Feature.JOB_LOCAL_FORM: one_action(
        JOB.model_copy(
            update={"local": LocalForm(action=Script(image="python:3.12-slim", source="print(1)"))}
        )
    ),
    Feature.JOB_FLAGS: one_action(JOB.model_copy(update={"flags": ("--validate=false",)})),
    Feature.JOB_MERGE_STRATEGY: one_action(
        JOB.model_copy(
            update={"action": "patch", "merge_strategy": "merge", "success_condition": None}
        )
    ),
    Feature.JOB_MANIFEST_FROM: flow(
        echo("a", outputs=(MODEL_FILE,)),
        Step(
            name="b",
            action=Job(manifest_from="manifest"),
            inputs=(Input(name="manifest", value=StepRef(step="a", output="model"), type="file"),),
        ),
    ),
    Feature.HTTP_BODY_BYTES: one_action(
        Http(url="https://example.org/", method="POST", body_base64="AAH/")
    ),
    Feature.HTTP_SUCCESS_CONDITION: one_action(
        Http(
            url="https://example.org/",
            success_condition=And(
                items=(
                    own_fact("<", 300, "status_code"),
                    own_fact("==", "done", "header", "x-state"),
                    Compare(
                        left=Field(of=OwnRef(fact="output", name="result"), path=("n", 0)),
                        op=">",
                        right=Literal(value=3),
                    ),
                )
            ),
        )
    ),
    Feature.HTTP_UNVERIFIED: one_action(Http(url="https://example.org/", verify_tls=False)),
    Feature.HTTP: one_action(Http(url="https://example.org/")),
    Feature.SUSPEND: one_action(Suspend()),
    Feature.SUSPEND_SECONDS: one_action(Suspend(seconds=1)),
    Feature.SUSPEND_OUTPUTS: flow(
        Step(
            name="a",
            action=Suspend(),
            outputs=(Output(name="rate"), Output(name="n", type="int", default=3)),
        ),
        echo("b", StepRef(step="a", output="n")),
    ),
    Feature.LIST_FILES: one_action(
        ListFiles(at=S3Location(bucket="data", key="in"), pattern="**/*.csv"),
        outputs=(Output(type="list"),),
    ),
    Feature.CONTAINER_SET: one_action(
        ContainerSet(
            containers=(
                PodContainer(name="fetch", image="alpine:3", command=("true",)),
                PodContainer(
                    name="main", image="alpine:3", command=("true",), depends_on=("fetch",)
                ),
            )
        )
    ),
    Feature.TEMPLATE_CALL: one_action(
        TemplateCall(collection="shared", template="echo"),
        inputs=(Input(name="text", value=Literal(value="x")),),
    ),
    Feature.PLUGIN: one_action(
        Plugin(name="hello", body=FrozenDict(greet=True)),
        inputs=(Input(name="who", value=Literal(value="you")),),
    ),
    Feature.GROUP: flow(group("g", echo("a"))),
    Feature.DAEMON: flow(echo("a", daemon=True), echo("b", depends_on=("a",))),
}
