"""Workflows for Argo beside the corpus and the samples of features: they state rare fields.

Each is compiled in all kinds, judged by the schema and by Argo's linter, and counted in
docs/argo-coverage.md.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.ir.base import FrozenDict
from couler.ir.conditions import Compare
from couler.ir.policies import Backoff, Foreach, Retry
from couler.ir.storage import EnvFrom, EnvVar, SecretKey
from couler.ir.values import ItemRef, Literal, OrElse, OwnRef, ParamRef, StepRef
from couler.ir.workflow import (
    ExitHandler,
    Hook,
    Http,
    Input,
    Job,
    Output,
    Parameter,
    Schedule,
    Script,
    Step,
    Workflow,
)
from tests.support.feature_samples import echo, flow, group
from tests.support.file_samples import FILE_SAMPLES
from tests.support.pod_samples import POD_SAMPLES


class ArgoSample(t.NamedTuple):
    """A workflow, and settings of the target that it is compiled with."""

    workflow: Workflow
    options: Mapping[str, t.Any] = FrozenDict()


def _script(**fields: t.Any) -> Workflow:
    action = Script(image="python:3.12-slim", command=("python", "-u"), source="print(1)")
    return flow(Step(name="a", action=action, **fields))


_EACH = Foreach(over={"item": Literal(value=("x", "y"))})
_OVER_PARAMETER = Foreach(over={"item": ParamRef(name="items")})
_FAILED = Compare(left=OwnRef(fact="status"), op="==", right=Literal(value="failed"))
_SENT = EnvVar(name="Authorization", secret=SecretKey(secret="hub", key="token"))

_OF_SPEC = FrozenDict(
    retryStrategy=FrozenDict(limit="1"),
    templateDefaults=FrozenDict(metadata=FrozenDict(labels=FrozenDict(team="ml"))),
)

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
                        for name in ("all", "chosen")
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
    "request-with-time-limit": ArgoSample(
        flow(Step(name="a", action=Http(url="https://example.org/"), timeout_s=5))
    ),
    "inputs-of-a-script": ArgoSample(
        _script(inputs=(Input(name="n", value=Literal(value=3), type="int"),))
    ),
    **{name: ArgoSample(one) for name, one in POD_SAMPLES.items()},
    **{name: ArgoSample(one) for name, one in FILE_SAMPLES.items()},
}
"""By what they show."""
