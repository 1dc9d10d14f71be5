"""A real API server and the emulated one give the same answers to what a client can do wrong."""

from __future__ import annotations

import http.client
import json
import typing as t
from collections.abc import Iterator

import pytest

from tests.fakes.kubernetes.server import Server
from tests.fakes.kubernetes.store import WORKFLOWS, Resource, Store
from tests.kube.api_server import ApiServer, Json

GROUP = "/apis/argoproj.io/v1alpha1/namespaces/default"
TEMPLATE = {"name": "main", "container": {"image": "busybox"}}
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
TEMPLATES = Resource("argoproj.io", "v1alpha1", "workflowtemplates")

Ask: t.TypeAlias = t.Callable[..., tuple[int, Json, list[str]]]
"""Gives code, body and warnings for method, path, body, type of content and token."""


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.kube_api)])
def ask(request: pytest.FixtureRequest) -> Iterator[Ask]:
    if request.param == "real":
        server: ApiServer = request.getfixturevalue("server")
        yield asker(server.connection, server.token)
        return
    with Server(Store(), kinds=[WORKFLOWS, TEMPLATES], token="known") as emulated:
        yield asker(lambda: http.client.HTTPConnection(emulated.address, timeout=60), "known")


def asker(connect: t.Callable[[], http.client.HTTPConnection], known: str) -> Ask:
    def ask(
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
        token: str = known,
    ) -> tuple[int, Json, list[str]]:
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": content_type}
        connection = connect()
        try:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            return answer.status, json.load(answer), answer.headers.get_all("Warning") or []
        finally:
            connection.close()

    return ask


def workflow(name: str = "", *, spec: Json = {}, **metadata: object) -> Json:  # noqa: B006  # read only
    named = {"name": name} if name else {"generateName": "a-"}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {**named, **metadata},
        "spec": {"entrypoint": "main", "templates": [TEMPLATE], **spec},
    }


def holding(size: int) -> Json:
    return workflow(spec={"templates": [{**TEMPLATE, "container": {"image": "x" * size}}]})


@pytest.mark.parametrize(
    ("sent", "code", "told"),
    [
        (holding(1_400_000), 201, ""),
        (holding(1_700_000), 500, "etcdserver: request is too large"),
        (holding(3_200_000), 413, "Request entity too large: limit is 3145728"),
        (workflow(labels={"a": "x:y"}), 422, "metadata.labels: Invalid value"),
        (workflow(labels={"a": 1}), 400, "json: cannot unmarshal number into Go struct field"),
        (workflow(annotations={"a": "x" * 300_000}), 422, "metadata.annotations: Too long"),
        (workflow("Bad_Name"), 422, "metadata.name: Invalid value"),
    ],
    ids=["1.4 MB", "1.7 MB", "3.2 MB", "label", "label of a number", "annotations", "name"],
)
def test_what_is_created(ask: Ask, sent: Json, code: int, told: str) -> None:
    found, answer, _ = ask("POST", f"{GROUP}/workflows", sent)
    assert (found, told in answer.get("message", "")) == (code, True)


def test_fields_that_are_unknown(ask: Ask) -> None:
    sent = workflow(spec={"parallelizm": 2, "templates": [{**TEMPLATE, "retries": 2}]})
    code, answer, warnings = ask("POST", f"{GROUP}/workflows", sent)
    assert code == 201
    assert answer["spec"] == workflow()["spec"]
    assert warnings == [
        '299 - "unknown field \\"spec.parallelizm\\""',
        '299 - "unknown field \\"spec.templates[0].retries\\""',
    ]
    code, answer, _ = ask("POST", f"{GROUP}/workflows?fieldValidation=Strict", sent)
    assert code == 400
    assert 'strict decoding error: unknown field "spec.parallelizm"' in answer["message"]


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_what_is_changed(ask: Ask, method: str) -> None:
    _, made, _ = ask("POST", f"{GROUP}/workflows", workflow())
    name, version = made["metadata"]["name"], made["metadata"]["resourceVersion"]

    def change(**fields: t.Any) -> tuple[int, Json, list[str]]:
        whole = workflow(name, resourceVersion=version)
        metadata = {**whole["metadata"], **fields.pop("metadata", {})}
        sent = {**whole, **fields, "metadata": metadata}
        kind = MERGE if method == "PATCH" else "application/json"
        return ask(method, f"{GROUP}/workflows/{name}", sent, kind)

    code, answer, _ = change(metadata={"labels": {"a": "x:y"}})
    assert (code, "metadata.labels: Invalid value" in answer["message"]) == (422, True)
    code, answer, warnings = change(spec={**workflow()["spec"], "parallelizm": 2})
    assert (code, answer["spec"]) == (200, workflow()["spec"])
    assert warnings == ['299 - "unknown field \\"spec.parallelizm\\""']


def test_a_pod_of_an_account_that_is_not_there(ask: Ask) -> None:
    spec = {"serviceAccountName": "nobody", "containers": [{"name": "a", "image": "busybox"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    code, answer, _ = ask("POST", "/api/v1/namespaces/default/pods", pod)
    assert code == 403
    assert answer["message"] == (
        'pods "p" is forbidden: error looking up service account default/nobody: '
        'serviceaccount "nobody" not found'
    )


def test_what_is_applied(ask: Ask) -> None:
    def apply(body: object) -> tuple[int, str]:
        path = f"{GROUP}/workflowtemplates/applied?fieldManager=tests&force=true"
        code, answer, _ = ask("PATCH", path, body, APPLY)
        return code, answer.get("message", "")

    template = {**workflow("applied"), "kind": "WorkflowTemplate"}
    odd = json.dumps(template | {"metadata": {"name": "applied", "annotations": {"a": "\x7f"}}})
    code, told = apply(odd.replace("\\u007f", "\x7f").encode())
    assert (code, told.endswith("yaml: control characters are not allowed")) == (400, True)
    assert apply(odd.encode())[0] in (200, 201)
    code, told = apply(odd.replace("\\u007f", "\\ud83d\\ude00").encode())  # two escapes for one
    assert (code, "invalid Unicode character escape code" in told) == (400, True)
    code, told = apply({**template, "spec": {**template["spec"], "parallelizm": 2}})
    assert (code, ".spec.parallelizm: field not declared in schema" in told) == (500, True)


def test_a_change_of_what_has_changed(ask: Ask) -> None:
    _, made, _ = ask("POST", f"{GROUP}/workflows", workflow("changed"))
    before = made["metadata"]["resourceVersion"]
    path = f"{GROUP}/workflows/changed"
    assert ask("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE)[0] == 200
    late = {"resourceVersion": before}
    for answer in (
        ask("PATCH", path, {"metadata": {"labels": {"a": "c"}, **late}}, MERGE),
        ask("PUT", path, workflow("changed", **late)),
    ):
        assert (answer[0], answer[1]["reason"]) == (409, "Conflict")


def test_lists_come_in_pages(ask: Ask) -> None:
    for number in range(3):
        assert ask("POST", f"{GROUP}/workflows", workflow(f"page-{number}"))[0] == 201
    path = f"{GROUP}/workflows?limit=2"
    names, more = [], ""
    while True:
        _, answer, _ = ask("GET", f"{path}&continue={more}" if more else path)
        assert len(answer["items"]) <= 2
        names += [one["metadata"]["name"] for one in answer["items"]]
        more = answer["metadata"].get("continue", "")
        if not more:
            break
    assert names == sorted(names)
    assert {f"page-{number}" for number in range(3)} <= set(names)
    assert ask("GET", f"{path}&continue=abc")[0] == 400


def test_who_is_not_known(ask: Ask) -> None:
    code, answer, _ = ask("GET", f"{GROUP}/workflows", token="other")
    assert (code, answer["message"]) == (401, "Unauthorized")
