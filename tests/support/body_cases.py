"""Maps and loops of one step and of two, whose last step reads a value in some location."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

import couler
from tests.corpus.build import SHELL_IMAGE

Value: t.TypeAlias = t.Any

SOURCES = ("item", "outer", "carried")


def sh(script: str, *args: object, name: str = "last", **options: t.Any) -> Value:
    words = ["sh", "-c", script]
    return couler.run_container(SHELL_IMAGE, words, args=list(args), step_name=name, **options)


def shown(value: Value, **options: t.Any) -> Value:
    return sh('echo "$0+"', value, **options)


def container(name: str, value: Value, script: str, **options: t.Any) -> couler.PodContainer:
    command = ["sh", "-c", script]
    return couler.PodContainer(name, SHELL_IMAGE, command, env={"X": value}, **options)


def written(value: Value) -> couler.PodContainer:
    folder = '"$COULER_WORK"'
    script = f'echo "$X+" > {folder}/new; mv {folder}/new {folder}/value'
    return container("other", value, script, mirror_mounts=True)


WAIT = 'until test -e "$COULER_WORK/value"; do sleep 0.02; done; cat "$COULER_WORK/value"'


@couler.step
def plus(text: str) -> str:
    return text + "+"


RUN_HERE: dict[str, Callable[[Value], Value]] = {
    "argument": plus,
    "args": shown,
    "environment": lambda v: sh('echo "$X+"', env={"X": v}),
    "cache key": lambda v: shown(v, cache=couler.Cache("c", key=v)),
    "init container": lambda v: sh(WAIT, init_containers=[written(v)]),
    "sidecar": lambda v: sh(WAIT, sidecars=[written(v)]),
    "metric": lambda v: shown(v, metrics=couler.Counter("c", "Help.", labels={"x": v})),
}
"""What prints the value and a plus, by where it is read."""

RUN_ON_ARGO: dict[str, Callable[[Value], Value]] = {
    "container set": lambda v: couler.run_container_set(
        [container("main", v, 'echo "$X+"')], step_name="last"
    ),
    "hook": lambda v: shown(
        v, hooks={"succeeded": lambda: sh('echo "hook $0"', v, name="afterwards")}
    ),
}

VERIFIED: dict[str, Callable[[Value], Value]] = {
    "hook's environment": lambda v: shown(
        v, hooks={"failed": lambda: sh("true", name="afterwards", env={"X": v})}
    ),
    "URL": lambda v: couler.http(couler.text("http://x/{}", v), step_name="last"),
    "header": lambda v: couler.http("http://x", headers={"A": v}, step_name="last"),
    "body": lambda v: couler.http("http://x", body=v, step_name="last"),
    "location of an input": lambda v: shown(
        v, input=couler.S3Artifact("f", bucket="b", key=couler.text("x/{}", v))
    ),
}

WITHOUT_TEXT: dict[str, Callable[[Value], Value]] = {
    "location of an output": lambda v: sh(
        "echo > f",
        working_dir=".",
        output=couler.S3Artifact("f", bucket="b", key=couler.text("x/{}", v)),
    ),
    "list of files": lambda v: couler.list_files(
        couler.S3Artifact(bucket="b", key=couler.text("x/{}", v)), step_name="last"
    ),
    "manifest": lambda v: couler.run_job(
        manifest={
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"generateName": "x-"},
            "data": {"k": v},
        },
        step_name="last",
    ),
    "template": lambda v: couler.call_template("shared", "measure", {"text": v}, step_name="last"),
    "plugin": lambda v: couler.run_plugin(
        "slack", {"c": "x"}, {"text": couler.text("r {}", v)}, step_name="last"
    ),
}

LOCATIONS = RUN_HERE | RUN_ON_ARGO | VERIFIED | WITHOUT_TEXT


def body_case(location: str, source: str, steps: int) -> couler.Workflow:
    """Return a map or loop of one step or two; its output is `r`."""

    def body(value: Value) -> Value:
        if steps == 2:
            sh("true", name="first")
        return LOCATIONS[location](value)

    with couler.Workflow("bodies") as wf:
        outer = sh("echo out", name="outer")
        if source == "carried":
            with couler.loop(max_iterations=3) as rounds:
                value = rounds.carry(outer)
                result = body(value)
                rounds.next(value, result)
                rounds.until(result == "out++")
        elif source == "item":
            result = couler.map(body, ["p", "q"])
        else:
            result = couler.map(lambda _: body(outer), ["p", "q"])
        if location not in WITHOUT_TEXT:
            wf.output("r", result)
    return wf


RESULTS = {"item": ["p+", "q+"], "outer": ["out+", "out+"], "carried": "out++"}
