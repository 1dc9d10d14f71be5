"""An Argo Server on loopback: its REST interface over real HTTP, with faults.

It proves protocol, schemas and faults. It runs nothing: see `tests.fakes.argo.service`.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakes.argo.faults import Fault, Faults
from tests.fakes.argo.service import OTHERS, Service
from tests.fakes.kubernetes.selectors import selector
from tests.fakes.kubernetes.store import WORKFLOWS, ApiError
from tests.support.http_server import ConnectedServer, QuietHandler

Json = dict[str, Any]

_GRPC = {400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 429: 8, 500: 13, 501: 12, 503: 14, 504: 4}
"""Codes of gRPC by those of HTTP; other refusals are wrong arguments (server/utils/errors.go)."""

_TICK_S = 0.2
_TRUE = ("1", "true")


class ArgoServer:
    """Serves on a free port of 127.0.0.1 while it is open; its objects outlive its restarts.

    Parameters
    ----------
    token
        What must be sent as `Authorization: Bearer`; None for nothing.
    """

    def __init__(self, *, token: str | None = None) -> None:
        self.service = Service()
        self.faults = Faults()
        self._token = token
        self._http: _Http | None = None
        self._port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> ArgoServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to serve, on the same port as before."""
        self._http = _Http(("127.0.0.1", self._port), _Handler)
        self._http.service, self._http.faults = self.service, self.faults
        self._http.token = self._token
        self._port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()

    def stop(self) -> None:
        """End all connections, and answer no more."""
        if self._http is None:
            return
        self._http.closing = True
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()
        self._thread.join()
        self._http = None

    def hang_up(self) -> None:
        """End all connections that are open now."""
        assert self._http is not None
        self._http.hang_up()

    @property
    def streams(self) -> int:
        """How many streams of changes have been asked for."""
        return sum(path.startswith("/api/v1/workflow-events/") for _, path in self.service.asked)


class _Http(ConnectedServer):
    service: Service
    faults: Faults
    token: str | None
    closing = False


class _Handler(QuietHandler):
    server: _Http
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:  # noqa: N802 - a name of the base class
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        path = unquote(address.path)
        query = {key: values[-1] for key, values in parse_qs(address.query, True).items()}
        fault = self.server.faults.of(self.command, path)
        if fault is not None:
            time.sleep(fault.delay_s)
            if fault.cut == "before":
                self._hang_up()
                return
            if fault.code is not None:
                self._refuse(ApiError(fault.code, "TestFault", fault.message), fault)
                return
        try:
            self._check_token()
            stream = self._stream(path, query)
            if stream is not None:
                self.server.service.asked.append((self.command, path))
                self._send_stream(stream, fault)
                return
            answer = self._answer(path, query, json.loads(body) if body else {})
        except ApiError as error:
            self._refuse(error, fault)
            return
        self.server.service.asked.append((self.command, path))
        self._send(200, answer, fault)

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - names of the base

    def _check_token(self) -> None:
        wanted = self.server.token
        if wanted is not None and self.headers["Authorization"] != f"Bearer {wanted}":
            raise ApiError(401, "Unauthorized", "token not valid for running mode")

    # answers ---------------------------------------------------------------------------------

    def _answer(self, path: str, query: Mapping[str, str], sent: Json) -> Json:
        service = self.server.service
        match [self.command, *path.removeprefix("/api/v1/").split("/")]:
            case ["POST", "workflows", namespace]:
                return service.create(namespace, sent)
            case ["GET", "workflows", namespace]:
                return service.list(namespace, query)
            case ["GET", "workflows", namespace, name]:
                return service.store.get(WORKFLOWS, namespace, name)
            case ["DELETE", "workflows", namespace, name]:
                service.store.delete(WORKFLOWS, namespace, name)
                service.done.append(("delete", name, {}))
                return {}
            case ["PUT", "workflows", namespace, name, action]:
                return service.act(namespace, name, action, sent)
            case [method, "cluster-workflow-templates" as kind, *rest]:
                return service.other(kind, method, "", rest, sent, query)
            case [method, kind, namespace, *rest] if kind in OTHERS:
                return service.other(kind, method, namespace, rest, sent, query)
        raise ApiError(404, "NotFound", "Not Found")

    def _stream(self, path: str, query: Mapping[str, str]) -> Iterator[Json | None] | None:
        """Return the results of a stream, None being nothing for a while; None for no stream."""
        match [self.command, *path.removeprefix("/api/v1/").split("/")]:
            case ["GET", "workflow-events", namespace]:
                return self._changes(namespace, query)
            case ["GET", "workflows", namespace, name, "log"]:
                self.server.service.store.get(WORKFLOWS, namespace, name)
                return self._log(query)
        return None

    def _changes(self, namespace: str, query: Mapping[str, str]) -> Iterator[Json | None]:
        store = self.server.service.store
        fields = query.get("listOptions.fieldSelector", "")
        if fields.startswith("metadata.name="):
            store.get(WORKFLOWS, namespace, fields.removeprefix("metadata.name="))
        matches = selector(namespace, query.get("listOptions.labelSelector", ""), fields)
        since = query.get("listOptions.resourceVersion", "")

        def told() -> Iterator[Json | None]:
            for event in store.watch(WORKFLOWS, matches, since, timeout_s=_TICK_S):
                if self.server.closing:
                    return
                yield None if event is None else {"type": event[0], "object": event[1]}

        return told()

    def _log(self, query: Mapping[str, str]) -> Iterator[Json | None]:
        pod, container = query["podName"], query.get("logOptions.container", "main")
        log = self.server.service.logs.get((pod, container))
        if log is None:
            return
        follow = query.get("logOptions.follow") in _TRUE
        for line in log.read(follow, lambda: self.server.closing):
            yield {"content": line, "podName": pod}

    # bytes -----------------------------------------------------------------------------------

    def _send_stream(self, results: Iterator[Json | None], fault: Fault | None) -> None:
        is_events = "text/event-stream" in self.headers.get("Accept", "")
        self.send_response(200)
        kind = "text/event-stream" if is_events else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        count = 0
        for result in results:
            if fault is not None and count == fault.after_events:
                self._hang_up()
                return
            if result is None:
                self._chunk(b":\n" if is_events else b"\n")  # the server keeps a stream alive
                continue
            line = json.dumps({"result": result}).encode()
            if fault is not None and fault.cut == "within":
                self._chunk(b"data: " + line[: len(line) // 2])
                self._hang_up()
                return
            self._chunk(b"data: " + line + b"\n\n" if is_events else line + b"\n")
            count += 1
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _refuse(self, error: ApiError, fault: Fault | None) -> None:
        message = str(error)
        body = {"error": message, "code": _GRPC.get(error.code, 3), "message": message}
        self._send(error.code, body, fault)

    def _send(self, code: int, answer: Json, fault: Fault | None) -> None:
        if fault is not None and fault.cut == "after":
            self._hang_up()
            return
        body = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if fault is not None and fault.retry_after is not None:
            self.send_header("Retry-After", fault.retry_after)
        self.end_headers()
        if fault is not None and fault.cut == "within":
            self.wfile.write(body[: len(body) // 2])
            self._hang_up()
            return
        self.wfile.write(body)

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
