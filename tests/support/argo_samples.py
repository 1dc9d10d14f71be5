"""Workflows for Argo beside the corpus and the samples of features: they state rare fields.

Each is compiled in all kinds, judged by the schema and by Argo's linter, and counted in
docs/argo-coverage.md.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.ir.base import FrozenDict
from couler.ir.pods import (
    ContainerSettings,
    Device,
    PodContainer,
    Port,
    Resize,
    RestartRule,
)
from couler.ir.policies import Backoff, Foreach, Resources, Retry
from couler.ir.storage import ClaimVolume, EmptyVolume, EnvFrom, EnvVar, Mount, SecretKey
from couler.ir.values import Compare, ItemRef, Literal, OrElse, OwnRef, ParamRef, Range, StepRef
from couler.ir.workflow import (
    ContainerSet,
    ExitHandler,
    Hook,
    Http,
    Input,
    Job,
    Output,
    Parameter,
    Schedule,
    Script,
    SetRetry,
    Step,
    StoredWorkflow,
    TemplateCall,
    Workflow,
)
from tests.support.file_samples import FILE_SAMPLES
from tests.support.pod_samples import POD_SAMPLES
from tests.support.sample_flows import echo, flow, group


class ArgoSample(t.NamedTuple):
    """A workflow, and settings of the target that it is compiled with."""

    workflow: Workflow
    options: Mapping[str, t.Any] = FrozenDict()


def _script(**fields: t.Any) -> Workflow:
    action = Script(image="python:3.12-slim", command=("python", "-u"), source="print(1)")
    return flow(Step(name="a", action=action, **fields))


_EACH = Foreach(over={"item": Literal(value=("x", "y"))})
_RANGE = Foreach(over={"item": Range(count=Literal(value=2))})
_OVER_PARAMETER = Foreach(over={"item": ParamRef(name="items")})
_FAILED = Compare(left=OwnRef(fact="status"), op="==", right=Literal(value="failed"))
_FILE = Output(name="model", type="file", path="/tmp/model")
_CALL = Step(
    name="tell",
    action=TemplateCall(collection="shared", template="echo"),
    inputs=(Input(name="text", value=Literal(value="x")),),
)
_ALL_SETTINGS = ContainerSettings(
    ports=(Port(number=80),),
    liveness_probe=FrozenDict(tcpSocket=FrozenDict(port=80)),
    readiness_probe=FrozenDict(tcpSocket=FrozenDict(port=80)),
    startup_probe=FrozenDict(tcpSocket=FrozenDict(port=80)),
    lifecycle=FrozenDict(preStop=FrozenDict(exec=FrozenDict(command=("true",)))),
    security_context=FrozenDict(runAsNonRoot=True),
    restart_policy="Never",
    restart_rules=(RestartRule(exit_codes=(3,)),),
    resize=(Resize(resource="cpu"),),
    stdin=True,
    stdin_once=True,
    tty=True,
    termination_message_path="/dev/termination-log",
    termination_message_policy="File",
    devices=(Device(volume="blocks", path="/dev/xvda"),),
)
_SENT = EnvVar(name="Authorization", secret=SecretKey(secret="hub", key="token"))

_OF_SPEC = FrozenDict(retryStrategy=FrozenDict(limit="1"))

ARGO_SAMPLES: Mapping[str, ArgoSample] = {
    "overrides": ArgoSample(
        flow(
            echo("a"),
            group(
                "g",
                echo("b"),
                engine=FrozenDict(argo=FrozenDict(template=FrozenDict(failFast=True))),
            ),
            engine=FrozenDict(argo=FrozenDict(spec=_OF_SPEC)),
        )
    ),
    "parameter-with-description": ArgoSample(
        flow(
            echo("a", ParamRef(name="p")),
            parameters=(
                Parameter(name="p", default="x", choices=("x", "y"), description="Which one."),
            ),
        )
    ),
    "schedule-with-all-settings": ArgoSample(
        flow(
            echo("a"),
            schedule=Schedule(
                cron=("0 3 * * *",),
                timezone="Europe/Berlin",
                concurrency="forbid",
                starting_deadline_s=60,
                suspended=True,
                keep_succeeded=3,
                keep_failed=1,
            ),
        )
    ),
    "script-with-settings": ArgoSample(
        _script(
            env=(EnvVar(name="MODE", value="fast"),),
            env_from=(EnvFrom(config_map="settings", prefix="APP_"),),
            working_dir="/srv",
            pull_policy="IfNotPresent",
            retry=Retry(limit=3, backoff=Backoff(seconds=1, factor=3, cap_s=60)),
        )
    ),
    "script-with-tags": ArgoSample(
        flow(
            Step(
                name="a",
                action=Script(image="python:3.12-slim", source="print('{{workflow.name}}')"),
            )
        )
    ),
    "request-with-all-settings": ArgoSample(
        flow(
            Step(
                name="a",
                action=Http(
                    url="https://example.org/",
                    method="POST",
                    headers=(EnvVar(name="Accept", value="text/plain"), _SENT),
                    body="hello",
                    success_codes=(200, 201),
                ),
            )
        )
    ),
    "job-with-conditions": ArgoSample(
        flow(
            Step(
                name="a",
                action=Job(
                    manifest=FrozenDict(apiVersion="v1", kind="ConfigMap"),
                    action="apply",
                    success_condition="status.succeeded > 0",
                    failure_condition="status.failed > 3",
                    set_owner_reference=True,
                ),
            )
        )
    ),
    "exit-handler-reads-items": ArgoSample(
        flow(
            echo("all", ItemRef(), foreach=_EACH, outputs=(Output(),)),
            echo("counted", ItemRef(), foreach=_RANGE, outputs=(Output(),)),
            echo(
                "chosen",
                ParamRef(name="mode"),
                ItemRef(),
                foreach=_OVER_PARAMETER,
                outputs=(Output(),),
            ),
            parameters=(
                Parameter(name="items", type="list", default=("x", "y")),
                Parameter(name="mode", default="fast"),
            ),
            exit_handlers=(
                ExitHandler(
                    name="tell",
                    on="any",
                    steps=tuple(
                        echo(
                            f"print-{name}",
                            OrElse(value=StepRef(step=name), default=Literal(value=())),
                        )
                        for name in ("all", "counted", "chosen")
                    ),
                ),
            ),
        )
    ),
    "exit-handler-reads-step-with-hook": ArgoSample(
        flow(
            echo("a", outputs=(Output(),), hooks=(Hook(when=_FAILED, step=echo("tell")),)),
            exit_handlers=(
                ExitHandler(
                    name="end",
                    on="any",
                    steps=(echo("b", OrElse(value=StepRef(step="a"), default=Literal(value=""))),),
                ),
            ),
        )
    ),
    "stored-workflow-of-all-namespaces": ArgoSample(
        Workflow(
            name="sample",
            stored=StoredWorkflow(name="stored-everywhere", cluster_wide=True),
            max_parallel=2,
            timeout_s=60,
        )
    ),
    "request-with-time-limit": ArgoSample(
        flow(Step(name="a", action=Http(url="https://example.org/"), timeout_s=5))
    ),
    "container-set-with-all-settings": ArgoSample(
        flow(
            echo("a", outputs=(_FILE,)),
            Step(
                name="b",
                action=ContainerSet(
                    containers=(
                        PodContainer(
                            name="fetch",
                            image="alpine:3",
                            command=("sh", "-c"),
                            args=("true", StepRef(step="a")),
                            env=(EnvVar(name="MODE", value="fast"),),
                            env_from=(EnvFrom(config_map="settings"),),
                            mounts=(Mount(volume="data", path="/data"),),
                            resources=Resources(cpu="1"),
                            working_dir="/srv",
                            pull_policy="Always",
                            settings=_ALL_SETTINGS,
                        ),
                        PodContainer(
                            name="main",
                            image="alpine:3",
                            command=("true",),
                            depends_on=("fetch",),
                        ),
                    ),
                    retry=SetRetry(limit=2, wait_s=10),
                ),
                inputs=(
                    Input(name="f", value=StepRef(step="a", output="model"), type="file"),
                    Input(name="n", value=Literal(value=3), type="int"),
                ),
                outputs=(Output(name="m", path="m.txt"),),
                mounts=(Mount(volume="data", path="/all"),),
            ),
            volumes=(EmptyVolume(name="data"), ClaimVolume(name="blocks", claim="blocks")),
        )
    ),
    "calls-of-templates": ArgoSample(
        flow(
            echo("a", outputs=(_FILE,)),
            Step(
                name="b",
                action=TemplateCall(collection="shared", template="count"),
                inputs=(
                    Input(name="rows", value=StepRef(step="a", output="model"), type="file"),
                    Input(name="text", value=StepRef(step="a")),
                ),
                outputs=(Output(name="total", type="int"),),
            ),
            Step(
                name="c",
                action=TemplateCall(collection="shared", template="echo", cluster_wide=True),
                inputs=(Input(name="text", value=StepRef(step="b", output="total")),),
                hooks=(Hook(when=_FAILED, step=_CALL),),
            ),
            exit_handlers=(
                ExitHandler(
                    name="end",
                    on="any",
                    steps=(
                        echo(
                            "d",
                            OrElse(
                                value=StepRef(step="b", output="total"), default=Literal(value=0)
                            ),
                        ),
                    ),
                ),
            ),
        )
    ),
    "inputs-of-a-script": ArgoSample(
        _script(inputs=(Input(name="n", value=Literal(value=3), type="int"),))
    ),
    **{name: ArgoSample(one) for name, one in POD_SAMPLES.items()},
    **{name: ArgoSample(one) for name, one in FILE_SAMPLES.items()},
}
"""By what they show."""
