"""HTTP in front of the store: the part of the Kubernetes API that Argo uses, and a bucket of S3."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NoReturn
from urllib.parse import parse_qs, unquote, urlsplit

from tests.oracle.argo.bucket import Bucket, Reply
from tests.oracle.argo.discovery import discover
from tests.oracle.argo.selectors import selector
from tests.oracle.argo.store import ApiError, Json, Resource, Store

_API = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?"
)
_WATCH_TICK_S = 5.0


Signal = Callable[[str, str, int], None]
"""Signals a container, given pod, container and number."""

Ending = Callable[[Json], Json]
"""Gives the status that an object has from its start, in place of an operator that works on it."""


class Server:
    """Serves a store and a bucket on a free port of 127.0.0.1 until it is closed."""

    def __init__(
        self, store: Store, bucket: Bucket, statuses: Mapping[Resource, Ending] | None = None
    ) -> None:
        self.store = store
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.store = store
        self._http.bucket = bucket
        self._http.statuses = statuses or {}
        self._http.signal = lambda pod, container, number: None
        self.address = f"127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,))

    def on_signal(self, signal: Signal) -> None:
        """Say who signals containers."""
        self._http.signal = signal

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()
        self._thread.join()


class _Http(ThreadingHTTPServer):
    store: Store
    bucket: Bucket
    signal: Signal
    statuses: Mapping[Resource, Ending]
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, *args: object) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(*args)  # type: ignore[arg-type]  # the arguments of the base class

    def process_request(self, request: socket.socket, address: object) -> None:  # type: ignore[override]
        self._open.add(request)
        super().process_request(request, address)

    def shutdown_request(self, request: socket.socket) -> None:  # type: ignore[override]
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that clients keep open."""
        for request in list(self._open):
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away in the middle is no error; anything else goes to the thread."""
        raise


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are written apart

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - names of the base

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        every = parse_qs(address.query, True)
        query = {key: values[-1] for key, values in every.items()}
        path = unquote(address.path)
        answer = discover(path, self.server.statuses)
        if answer is not None:
            self._send_json(200, answer)
            return
        if not path.startswith(("/api/", "/apis/")):
            self._send(
                self.server.bucket.answer(self.command, path, query, dict(self.headers), body)
            )
            return
        try:
            found = _API.fullmatch(path)
            if found is None:
                raise ApiError(404, "NotFound", f"no such path: {path}")
            if self.command == "GET" and query.get("watch") in ("1", "true"):
                self._watch(found, query)
                return
            if found["sub"] == "exec":
                self._exec(found["name"], query["container"], every["command"])
            code, answer = self._api(found, query, json.loads(body) if body else {})
        except ApiError as error:
            code, answer = error.code, _status(error)
        self._send_json(code, answer)

    def _send_json(self, code: int, answer: Json) -> None:
        self._send(Reply(code, json.dumps(answer).encode(), {"Content-Type": "application/json"}))

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.code)
        for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def _api(self, found: re.Match[str], query: dict[str, str], sent: Json) -> tuple[int, Json]:
        store, resource = self.server.store, _resource(found)
        namespace, name, sub = found["namespace"] or "", found["name"] or "", found["sub"] or ""
        if sub not in ("", "status"):
            raise ApiError(404, "NotFound", f"{sub} of {resource.plural} is not emulated")
        if self.command == "POST":
            if resource.group == "authorization.k8s.io":
                return 201, {**sent, "status": {"allowed": True}}
            status = self.server.statuses.get(resource)
            if status is not None:
                sent = {**sent, "status": status(sent)}
            return 201, store.create(resource, namespace, sent)
        if self.command == "PUT":
            return 200, store.update(resource, namespace, name, sent)
        if self.command == "PATCH":
            if self.headers["Content-Type"] != "application/merge-patch+json":
                raise ApiError(415, "UnsupportedMediaType", "only merge patches are emulated")
            return 200, store.patch(resource, namespace, name, sent)
        matches = selector(
            namespace, query.get("labelSelector", ""), query.get("fieldSelector", "")
        )
        if self.command == "DELETE":
            uid = (sent.get("preconditions") or {}).get("uid")
            if name:
                return 200, store.delete(resource, namespace, name, uid=uid)
            for item in store.list(resource, matches)[1]:
                metadata = item["metadata"]
                store.delete(resource, metadata.get("namespace", ""), metadata["name"])
            return 200, {"apiVersion": "v1", "kind": "Status", "status": "Success"}
        if name:
            return 200, store.get(resource, namespace, name)
        version, items = store.list(resource, matches)
        return 200, {
            "apiVersion": resource.api_version,
            "kind": resource.kind + "List",
            "metadata": {"resourceVersion": str(version)},
            "items": items,
        }

    def _exec(self, pod: str, container: str, command: list[str]) -> NoReturn:
        """Argo runs nothing but ``argoexec kill SIGNAL 1``, and does not look at the answer."""
        if command[-3:-2] == ["kill"]:
            self.server.signal(pod, container, int(command[-2]))
        raise ApiError(400, "BadRequest", f"not emulated: to run {command} in a container")

    def _watch(self, found: re.Match[str], query: dict[str, str]) -> None:
        resource, fields = _resource(found), query.get("fieldSelector", "")
        if found["name"]:
            fields = f"{fields},metadata.name={found['name']}"
        matches = selector(found["namespace"] or "", query.get("labelSelector", ""), fields)
        since = query.get("resourceVersion", "")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in self.server.store.watch(resource, matches, since, timeout_s=_WATCH_TICK_S):
            if event is not None:
                line = json.dumps({"type": event[0], "object": event[1]}).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True


def _resource(found: re.Match[str]) -> Resource:
    return Resource(found["group"] or "", found["core"] or found["version"], found["plural"])


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
            "clusters": [{"name": "oracle", "cluster": {"server": f"http://{address}"}}],
            "users": [{"name": "oracle", "user": {}}],
            "contexts": [
                {
                    "name": "oracle",
                    "context": {"cluster": "oracle", "user": "oracle", "namespace": "default"},
                }
            ],
            "current-context": "oracle",
        }
    )
