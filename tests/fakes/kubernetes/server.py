"""HTTP in front of the store: the part of the Kubernetes API that Argo and Airflow use."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NoReturn, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakes.kubernetes.checks import (
    MAX_BODY,
    check_metadata,
    check_size,
    read_yaml,
    without_unknown,
)
from tests.fakes.kubernetes.container import Container
from tests.fakes.kubernetes.discovery import discover
from tests.fakes.kubernetes.execution import PROTOCOL, Execution
from tests.fakes.kubernetes.faults import CutOffError, Faults, RequestFault
from tests.fakes.kubernetes.logs import rendered, select
from tests.fakes.kubernetes.selectors import selector
from tests.fakes.kubernetes.store import (
    CONFIG_MAPS,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    WORKFLOW_TEMPLATES,
    WORKFLOWS,
    ApiError,
    Json,
    Resource,
    Store,
)
from tests.fakes.kubernetes.websocket import WebSocket, accept_key
from tests.support.http_server import ConnectedServer, QuietHandler

_API = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?"
)
_WATCH_TICK_S = 5.0
_TRUE = ("1", "true", "True")
_APPLY = "application/apply-patch+yaml"
_SPECS = {
    "Workflow": "WorkflowSpec",
    "WorkflowTemplate": "WorkflowSpec",
    "ClusterWorkflowTemplate": "WorkflowSpec",
    "CronWorkflow": "CronWorkflowSpec",
}
_MERGE, _STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"


@dataclass(frozen=True)
class Reply:
    """An answer over HTTP."""

    code: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


Elsewhere = Callable[[str, str, Mapping[str, str], Mapping[str, str], bytes], Reply]
"""Answers what is no request to the API, given method, path, query, headers and body."""

Signal = Callable[[str, str, int], None]
"""Signals a container, given pod, container and number."""

Ending = Callable[[Json], Json]
"""Gives the status that an object has from its start, in place of an operator that works on it."""


class Machine(Protocol):
    """What runs the containers."""

    def container(self, pod: str, name: str) -> Container | None:
        """A container that has been started; of no name, the first of the pod."""


def nothing_elsewhere(
    method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
) -> Reply:
    return Reply(404, f"no such path: {path}".encode())


class Server:
    """Serves a store on a free port of 127.0.0.1 until it is closed."""

    def __init__(
        self,
        store: Store,
        statuses: Mapping[Resource, Ending] | None = None,
        *,
        kinds: Iterable[Resource] | None = None,
        elsewhere: Elsewhere = nothing_elsewhere,
        faults: Faults | None = None,
        token: str | None = None,
    ) -> None:
        """Serve a store; with a token, only those who have it."""
        self.store = store
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.store = store
        self._http.elsewhere = elsewhere
        self._http.statuses = statuses or {}
        self._http.kinds = (*(statuses or {}), CONFIG_MAPS, SECRETS, *(kinds or ()))
        self._http.strict = kinds is not None  # else any kind is taken
        self._http.faults = faults or Faults()
        self._http.token = token
        self.address = f"127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,))

    def on_signal(self, signal: Signal) -> None:
        """Say who signals containers, for a client that runs nothing but a kill in them."""
        self._http.signal = signal

    def run_on(self, machine: Machine) -> None:
        """Say who runs the containers, for logs and ``exec``."""
        self._http.machine = machine

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.closing = True
        self.store.close()
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()
        self._thread.join()


class _Http(ConnectedServer):
    store: Store
    elsewhere: Elsewhere
    signal: Signal | None = None
    machine: Machine | None = None
    statuses: Mapping[Resource, Ending]
    kinds: tuple[Resource, ...]
    strict: bool
    faults: Faults
    token: str | None
    closing = False


class _Handler(QuietHandler):
    server: _Http
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are written apart

    def do_GET(self) -> None:  # noqa: N802 - a name of the base class
        self._answer()

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - names of the base

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        every = parse_qs(address.query, True)
        query = {key: values[-1] for key, values in every.items()}
        path = unquote(address.path)
        cut, headers = None, {}
        self._warnings: list[str] = []
        is_watch = self.command == "GET" and query.get("watch") in _TRUE
        try:
            fault = self.server.faults.of_request(self.command, path, watch=is_watch)
            cut = None if fault is None else fault.cut
            answer = discover(path, self.server.kinds)
            if answer is not None:
                self._send_json(200, answer, cut)
                return
            if not path.startswith(("/api/", "/apis/")):
                sent = dict(self.headers)
                self._send(self.server.elsewhere(self.command, path, query, sent, body))
                return
            found = _API.fullmatch(path)
            if found is None:
                raise ApiError(404, "NotFound", f"no such path: {path}")
            if not self._is_known():
                raise ApiError(401, "Unauthorized", "Unauthorized")
            if len(body) > MAX_BODY:
                reason = f"Request entity too large: limit is {MAX_BODY}"
                raise ApiError(413, "RequestEntityTooLarge", reason)
            if is_watch:
                self._watch(found, query, fault)
                return
            if found["sub"] == "exec":
                self._exec(found, query.get("container", ""), every["command"])
                return
            if found["sub"] == "log":
                self._log(found, query, fault)
                return
            read = read_yaml if self._content_type() == _APPLY else json.loads
            code, answer = self._api(found, query, read(body) if body else {})
        except ApiError as error:
            code, answer = error.code, _status(error)
            if error.retry_after is not None:
                headers["Retry-After"] = error.retry_after
        except CutOffError as error:
            if str(error) == "never":
                self.rfile.read(1)
            self._hang_up()
            return
        self._send_json(code, answer, cut, headers)

    def _content_type(self) -> str:
        return str(self.headers["Content-Type"]).partition(";")[0]

    def _send_json(
        self, code: int, answer: Json, cut: str | None = None, headers: Mapping[str, str] = {}
    ) -> None:
        body, kind = json.dumps(answer).encode(), {"Content-Type": "application/json", **headers}
        if cut == "within":
            kind["Content-Length"] = str(len(body) + 1)
        if cut != "after":
            self._send(Reply(code, body, kind))
        if cut:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.code)
        for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(name, value)
        for warning in self._warnings:
            self.send_header("Warning", f"299 - {json.dumps(warning)}")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def _is_known(self) -> bool:
        token = self.server.token
        return token is None or self.headers["Authorization"] == f"Bearer {token}"

    def _pruned(self, resource: Resource, query: Mapping[str, str], sent: Json) -> Json:
        """Return an object of Argo's without the fields that it has not, or refuse it for them."""
        kind = _SPECS.get(resource.kind)
        unknown: list[str] = []
        spec = sent.get("spec")
        if kind is None or spec is None:
            return sent
        sent = {**sent, "spec": without_unknown(spec, kind, "spec", unknown)}
        if unknown and self._content_type() == _APPLY:
            reason = f"failed to create typed patch object: .{unknown[0]}: field not declared"
            raise ApiError(500, "", f"{reason} in schema")
        told = [f'unknown field "{path}"' for path in unknown]
        if unknown and query.get("fieldValidation") == "Strict":
            what = f'{resource.kind} in version "{resource.version}"'
            handled = f"cannot be handled as a {resource.kind}"
            reason = f"{what} {handled}: strict decoding error: {', '.join(told)}"
            raise ApiError(400, "BadRequest", reason)
        self._warnings += told
        return sent

    def _api(self, found: re.Match[str], query: dict[str, str], sent: Json) -> tuple[int, Json]:
        store, resource = self.server.store, _resource(found)
        if self.server.strict and "." in resource.group and not self._knows(resource):
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        namespace, name, sub = found["namespace"] or "", found["name"] or "", found["sub"] or ""
        if sub not in ("", "status"):
            raise ApiError(404, "NotFound", f"{sub} of {resource.plural} is not emulated")
        if self.command in ("POST", "PUT", "PATCH"):
            check_size(sent)
            check_metadata(resource.kind, sent)
            sent = self._pruned(resource, query, sent)
        if query.get("dryRun") == "All":
            if self.command == "POST":
                store.refuse_taken(resource, namespace, sent["metadata"].get("name", ""))
            return 200, sent
        if self.command == "POST":
            if resource.group == "authorization.k8s.io":
                return 201, {**sent, "status": {"allowed": True}}
            if resource == PODS:
                self._check_account(namespace, sent)
            status = self.server.statuses.get(resource)
            if status is not None:
                sent = {**sent, "status": status(sent)}
            return 201, store.create(resource, namespace, sent)
        if self.command == "PUT":
            return 200, store.update(resource, namespace, name, sent)
        if self.command == "PATCH":
            return 200, self._patch(resource, namespace, name, sent)
        matches = selector(
            namespace, query.get("labelSelector", ""), query.get("fieldSelector", "")
        )
        if self.command == "DELETE":
            uid = (sent.get("preconditions") or {}).get("uid")
            if name:
                self._delete_owned(store.get(resource, namespace, name), query, sent)
                grace = query.get("gracePeriodSeconds", sent.get("gracePeriodSeconds"))
                grace_s = None if grace is None else float(grace)
                return 200, store.delete(resource, namespace, name, uid=uid, grace_s=grace_s)
            for item in store.list(resource, matches)[1]:
                metadata = item["metadata"]
                store.delete(resource, metadata.get("namespace", ""), metadata["name"])
            return 200, {"apiVersion": "v1", "kind": "Status", "status": "Success"}
        if name:
            return 200, store.get(resource, namespace, name)
        version, items = store.list(resource, matches)
        metadata: Json = {"resourceVersion": str(version)}
        begin, since = _continued(query.get("continue", ""))
        store.refuse_forgotten(since)
        limit = int(query.get("limit") or 0)
        if limit and len(items) > begin + limit:
            metadata["continue"] = f"from-{begin + limit}-of-{since or version}"
            metadata["remainingItemCount"] = len(items) - begin - limit
        return 200, {
            "apiVersion": resource.api_version,
            "kind": resource.kind + "List",
            "metadata": metadata,
            "items": items[begin : begin + limit if limit else None],
        }

    def _check_account(self, namespace: str, pod: Json) -> None:
        """Refuse a pod of a service account that is not there; each namespace has a default one."""
        account = (pod.get("spec") or {}).get("serviceAccountName") or "default"
        try:
            if account != "default":
                self.server.store.get(SERVICE_ACCOUNTS, namespace, account)
        except ApiError as missing:
            about = f"error looking up service account {namespace}/{account}"
            reason = f'{about}: serviceaccount "{account}" not found'
            name = (pod.get("metadata") or {}).get("name", "")
            raise ApiError(403, "Forbidden", f'pods "{name}" is forbidden: {reason}') from missing

    def _delete_owned(self, owner: Json, query: dict[str, str], sent: Json) -> None:
        """Delete the pods and the runs of an object with it, if that is asked for or the rule."""
        rule = "Orphan" if owner["kind"] == "Job" else "Background"
        policy = query.get("propagationPolicy") or sent.get("propagationPolicy") or rule
        if policy == "Orphan":
            return
        store, metadata = self.server.store, owner["metadata"]
        matches = selector(metadata.get("namespace", ""), "", "")
        left = {one["metadata"]["uid"] for one in store.list(WORKFLOWS, matches)[1]}
        left -= {metadata["uid"]}
        for resource in (PODS, WORKFLOWS, WORKFLOW_TEMPLATES):
            for found in store.list(resource, matches)[1]:
                owned = found["metadata"]
                owners = {one["uid"] for one in owned.get("ownerReferences") or ()}
                if metadata["uid"] in owners and not owners & left:
                    self._delete_owned(found, query, sent)
                    store.delete(resource, owned["namespace"], owned["name"])

    def _knows(self, resource: Resource) -> bool:
        return resource.group.endswith(".k8s.io") or resource in self.server.kinds

    def _patch(self, resource: Resource, namespace: str, name: str, sent: Json) -> Json:
        kind = self._content_type()
        if kind == _APPLY:
            return self._apply(resource, namespace, name, sent)
        # Both kinds of merge differ only in lists.
        strategic = kind == _STRATEGIC and _has_list(sent)
        if kind not in (_MERGE, _STRATEGIC) or strategic:
            raise ApiError(415, "UnsupportedMediaType", f"not emulated: this patch of {kind}")
        if labels := (sent.get("metadata") or {}).get("labels"):
            owner = _labelled(self.headers.get("User-Agent") or "unknown", resource, labels)
            sent = {**sent, "metadata": {**sent["metadata"], "managedFields": [owner]}}
        return self.server.store.patch(resource, namespace, name, sent)

    def _apply(self, resource: Resource, namespace: str, name: str, sent: Json) -> Json:
        """Create an object or change it; who owns which of its fields is not emulated."""
        try:
            self.server.store.get(resource, namespace, name)
        except ApiError:
            return self.server.store.create(resource, namespace, sent)
        return self.server.store.patch(resource, namespace, name, sent)

    def _exec(self, found: re.Match[str], container: str, command: list[str]) -> None:
        pod = found["name"]
        if self.server.signal is not None and command[-3:-2] == ["kill"]:
            # Argo runs nothing but ``argoexec kill SIGNAL 1``, and does not look at the answer.
            self.server.signal(pod, container, int(command[-2]))
            self._refuse_exec(command)
        if self.headers["Upgrade"] != "websocket":
            self._refuse_exec(command)
        with Execution(self._container(found, container), command) as execution:
            self._switch_protocols()
            execution.serve(WebSocket(self.rfile, self.wfile))

    def _switch_protocols(self) -> None:
        offered = self.headers.get("Sec-WebSocket-Protocol", PROTOCOL).split(",")
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept_key(self.headers["Sec-WebSocket-Key"]))
        if PROTOCOL in (one.strip() for one in offered):
            self.send_header("Sec-WebSocket-Protocol", PROTOCOL)
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True

    def _refuse_exec(self, command: list[str]) -> NoReturn:
        raise ApiError(400, "BadRequest", f"not emulated: to run {command} in a container")

    def _container(self, found: re.Match[str], name: str) -> Container:
        pod = self.server.store.get(PODS, found["namespace"] or "", found["name"])
        machine = self.server.machine
        container = machine and machine.container(pod["metadata"]["uid"], name)
        if not container:
            message = f'container "{name}" in pod "{found["name"]}" is waiting to start'
            raise ApiError(400, "BadRequest", message)
        return container

    def _log(self, found: re.Match[str], query: dict[str, str], fault: RequestFault | None) -> None:
        log = self._container(found, query.get("container", "")).log
        if query.get("follow") not in _TRUE:
            body = b"".join(rendered(line, query) for line in select(list(log.lines), query))
            self._send(Reply(200, body, {"Content-Type": "text/plain"}))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        before = list(log.lines)
        asked_for = {id(line) for line in select(before, query)}
        left_out = {id(line) for line in before} - asked_for
        for count, line in enumerate(log.follow(lambda: self.server.closing)):
            if fault is not None and count == fault.after:
                self._send_half(rendered(line, query))
                return
            if id(line) not in left_out:
                self._send_chunk(rendered(line, query))
        self._end_chunks()

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _send_half(self, data: bytes) -> None:
        """Send a part of some data, and hang up."""
        self._send_chunk(data[: len(data) // 2])
        self._hang_up()

    def _end_chunks(self) -> None:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _watch(
        self, found: re.Match[str], query: dict[str, str], fault: RequestFault | None
    ) -> None:
        resource, fields = _resource(found), query.get("fieldSelector", "")
        if found["name"]:
            fields = f"{fields},metadata.name={found['name']}"
        matches = selector(found["namespace"] or "", query.get("labelSelector", ""), fields)
        since = query.get("resourceVersion", "")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self.server.store.refuse_forgotten(since)
        except ApiError as error:
            self._send_event("ERROR", _status(error))
            self._end_chunks()
            return
        until = time.monotonic() + float(query.get("timeoutSeconds") or 3600)
        count = 0
        for event in self.server.store.watch(resource, matches, since, timeout_s=_WATCH_TICK_S):
            if fault is not None and count == fault.after:
                self._break(event, fault)
                return
            if event is not None:
                count, since = count + 1, event[1]["metadata"]["resourceVersion"]
                self._send_event(*event)
            elif query.get("allowWatchBookmarks") in _TRUE and since not in ("", "0"):
                # It may tell of an earlier version than it could.
                told = {"apiVersion": resource.api_version, "kind": resource.kind}
                self._send_event("BOOKMARK", {**told, "metadata": {"resourceVersion": since}})
            if time.monotonic() > until:
                break
        self._end_chunks()

    def _send_event(self, kind: str, found: Json) -> None:
        self._send_chunk(json.dumps({"type": kind, "object": found}).encode() + b"\n")

    def _break(self, event: tuple[str, Json] | None, fault: RequestFault) -> None:
        """End a stream of changes as a fault says."""
        if fault.cut is not None:
            told = {} if event is None else event[1]
            self._send_half(json.dumps({"type": "MODIFIED", "object": told}).encode())
            return
        self._send_event("ERROR", _status(ApiError(fault.code, "TestFault", fault.message)))
        self._end_chunks()


def _continued(token: str) -> tuple[int, str]:
    """Return the offset and the version that the token of a page has."""
    found = re.fullmatch(r"from-(\d+)-of-(\d+)", token or "from-0-of-0")
    if found is None:
        raise ApiError(400, "BadRequest", "invalid continue token")
    return int(found[1]), found[2].lstrip("0")


def _resource(found: re.Match[str]) -> Resource:
    return Resource(found["group"] or "", found["core"] or found["version"], found["plural"])


def _labelled(client: str, resource: Resource, labels: Json) -> Json:
    """Tell who has set labels, and when; of no other field, and of no earlier patch."""
    return {
        "manager": client.partition("/")[0],
        "operation": "Update",
        "apiVersion": resource.api_version,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": {f"f:{name}": {} for name in labels}}},
    }


def _has_list(value: object) -> bool:
    if isinstance(value, dict):
        return any(_has_list(one) for one in value.values())
    return isinstance(value, list)


def _status(error: ApiError) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "message": str(error),
        "reason": error.reason,
        "code": error.code,
    }


def kubeconfig(address: str) -> str:
    """A kubeconfig for the server, as JSON, which is YAML."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "emulated", "cluster": {"server": f"http://{address}"}}],
            "users": [{"name": "emulated", "user": {}}],
            "contexts": [
                {
                    "name": "emulated",
                    "context": {"cluster": "emulated", "user": "emulated", "namespace": "default"},
                }
            ],
            "current-context": "emulated",
        }
    )
