"""Keys of steps with a cache: the same as on every engine."""

from __future__ import annotations

import hashlib
import re
import typing as t
from collections.abc import Mapping

import pytest
from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from couler.backends.airflow import AirflowBackend
from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.backends.local.reuse import StepKeys
from couler.ir.cachekey import text_digest
from couler.ir.defaults import resolve_defaults
from couler.ir.pods import PodContainer
from couler.ir.policies import Cache
from couler.ir.semantics.keys import key_texts
from couler.ir.semantics.values import Gathered, RunFacts, Single, View
from couler.ir.storage import EnvVar, SecretKey
from couler.ir.values import Literal as Constant, Template
from couler.ir.workflow import Input, Output, Script, Step, Workflow
from tests.backends.airflow.files import Literal, operators_of
from tests.corpus.build import (
    PYTHON_IMAGE,
    flow,
    given,
    item,
    out,
    param,
    parameter,
    ref,
    sh,
)

TARGET = Target(options={"files_claim": "files"})
NASTY = 'a "quoted" {{ text }} of $$HOME, $(NAME) and `x`\n\n'
LINES = Single("1\n2 $$\n{{ x }}", "str")

MAKERS = (
    sh("text", "true"),
    sh("number", "true", result="int"),
    sh("any", "true", result="json"),
    sh("each", "true", item(), foreach=["a", "b"], result="int"),
    sh("file", "true", result=None, outputs=[out("f", "file", "f")]),
    sh(
        "perhaps",
        "true",
        result=None,
        outputs=[Output(name="f", type="file", path="f", optional=True)],
    ),
)
VIEW = View(
    RunFacts("manual", "2026-01-31T09:00:00+00:00", None),
    parameters={"p": Single(NASTY, "str"), "n": Single("3", "int")},
    steps={
        "text": {"result": LINES},
        "number": {"result": Single("7", "int")},
        "any": {"result": Single('"é"', "json")},
        "each": {"result": Gathered((Single("1", "int"), Single("2", "int")))},
        "file": {"f": Single("w/manual/file/f/1", "file")},
        "perhaps": {},
    },
    items={"item": Single("x", "str")},
)
RETURNED: dict[str, t.Any] = {
    "text": {"result": LINES.text},
    "number": {"result": "7"},
    "any": {"result": '"é"'},
    "each": [{"result": "1"}, {"result": "2"}],
    "file": {"f": "w/manual/file/f/1"},
    "perhaps": {},
}


class Instance:
    """A task instance, which knows what tasks before it have returned."""

    dag_id, run_id, task_id, try_number = "w", "manual", "cached", 1

    def __init__(self, map_index: int) -> None:
        self.map_index = map_index

    def xcom_pull(self, task_ids: str, **_: t.Any) -> t.Any:
        return RETURNED[task_ids]


def cached(*args: t.Any, **fields: t.Any) -> Step:
    """The step whose key is asked for."""
    return sh("cached", 'echo "$@"', *args, **{"cache": Cache(), **fields})


def whole(step: Step) -> Workflow:
    parameters = [parameter("p", NASTY), parameter("n", 3, "int")]
    return resolve_defaults(flow("w", *MAKERS, step, parameters=parameters))


def entry_on_airflow(workflow: Workflow, map_index: int = -1) -> str:
    """Return the place of the entry that the wrapper of the step is told of."""
    check = [*AirflowBackend().check(workflow, TARGET)]
    assert check == []
    tasks = operators_of(AirflowBackend().compile(workflow, TARGET).to_text())
    dag = tasks[""].arguments
    environment = SandboxedEnvironment(
        undefined=StrictUndefined, extensions=["jinja2.ext.do"], cache_size=0
    )
    environment.globals.update(dag["user_defined_macros"])
    params = {"p": NASTY, "n": 3}

    def rendered(text: str) -> str:
        if isinstance(text, Literal):
            return str(text)
        return environment.from_string(text).render(ti=Instance(map_index), params=params)

    folder, digests, *_ = (rendered(word) for word in tasks["cached"].arguments["arguments"][:3])
    return f"{folder}/{hashlib.sha256(digests.encode()).hexdigest()}"


def key_on_argo(workflow: Workflow, texts: list[str]) -> str:
    """Return the key that Argo's expression gives for the texts of a step."""
    text = ArgoBackend().compile(workflow, Target()).to_text()
    [said] = re.findall(r"^ *memoize:\n(?:.*\n)*? *key: (.*)\n", text, re.MULTILINE)
    if re.fullmatch(r'"?[0-9a-f]{64}"?', said):
        return str(said.strip('"'))
    terms = re.findall(r"'([0-9a-f]{64})'|sprig\.sha256sum\((inputs\.parameters[^)]*)\)", said)
    assert len(terms) == 1 + len(texts), said
    parts = [terms[0][0]]
    parts += [known or text_digest(text) for (known, _), text in zip(terms[1:], texts, strict=True)]
    return text_digest("".join(parts))


STEPS: Mapping[str, Step] = {
    "known texts": cached("a", NASTY, ""),
    "values": cached(param("p"), param("n"), ref("text"), ref("number"), ref("any")),
    "a template": cached(Template(parts=("n is ", ref("number"), " of $$HOME"))),
    "a gathered list": cached(ref("each")),
    "inputs": cached(
        inputs=[
            given("a", ref("text")),
            given("b", ref("any"), "json"),
            given("c", ref("each"), "list"),
            given("d", Constant(value=[1, "é"]), "list"),
            given("e", ref("text"), "json"),
        ]
    ),
    "files": cached(
        inputs=[
            given("f", ref("file", "f"), "file"),
            Input(name="g", type="file", value=ref("perhaps", "f"), optional=True),
        ],
        outputs=[out("h", "file", "h")],
    ),
    "variables": cached(
        env=(
            EnvVar(name="A", value=NASTY),
            EnvVar(name="B", value=ref("text")),
            EnvVar(name="C", secret=SecretKey(secret="s", key="k")),
        )
    ),
    "a script": Step(
        name="cached",
        action=Script(image=PYTHON_IMAGE, source="print(1)\n", packages=("numpy==2.3.1",)),
        cache=Cache(),
        outputs=(Output(),),
    ),
    "modules of the project": Step(
        name="cached",
        action=Script(image=PYTHON_IMAGE, source="import area\n", code=text_digest("area")),
        cache=Cache(),
        outputs=(Output(),),
    ),
    "a salt": cached(cache=Cache(salt=Template(parts=("v", param("n"))))),
    "a sidecar": cached(
        sidecars=(PodContainer(name="s", image="busybox", command=("echo", ref("text"), "x")),)
    ),
    "a result that only another step reads": cached("a", result=None),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
def test_a_step_has_one_key_on_all_engines(step: Step) -> None:
    workflow = whole(step)
    if not step.outputs:
        workflow = flow("w", *workflow.steps, sh("reads", "true", ref("cached")))
    [resolved] = (one for one in workflow.steps if one.name == "cached")
    here = StepKeys((), in_images=True).of(resolved, VIEW)
    assert entry_on_airflow(workflow) == f"cache/w/{here}"
    assert key_on_argo(workflow, [*key_texts(resolved, VIEW)]) == here
