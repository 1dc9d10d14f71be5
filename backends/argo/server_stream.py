"""Streams of the Argo Server: results as they come, as events of a stream or as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from couler.backends.argo.workflow_api import Json
from couler.rest.client import Parameters, RestClient, RestError

_EVENTS = "text/event-stream"
_DATA = "data:"
_TOO_OLD = ("too old resource version", "resource version is too old")
_GRPC_EXHAUSTED = 8


def results(client: RestClient, path: str, params: Parameters, *, idle_s: float) -> Iterator[Json]:
    """Yield the results of a stream until the server ends it."""
    try:
        for line in client.lines(path, params=params, accept=_EVENTS, idle_s=idle_s):
            text = _data(line)
            if text is None:
                continue
            told = _read(client, path, text)
            if isinstance(told.get("result"), dict):
                yield told["result"]
            elif _raise_unless_ended(client, path, told.get("error") or told):
                return
    except RestError as error:
        if error.code == 400 and any(one in error.reason for one in _TOO_OLD):
            raise RestError(str(error), code=410, reason=error.reason) from error
        raise


def _data(line: str) -> str | None:
    """Return what a line holds; None for the end of an event, comments and names of events."""
    if line.startswith(_DATA):
        return line.removeprefix(_DATA).strip() or None
    return line if line.startswith("{") else None


def _read(client: RestClient, path: str, text: str) -> Json:
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise _error(client, path, None, "a line that is no JSON: it was cut off")
    return told


def _raise_unless_ended(client: RestClient, path: str, error: Json) -> bool:
    if not isinstance(error, dict):
        error = {"message": error}
    code, reason = error.get("http_code"), str(error.get("message") or "no reason is given")
    if error.get("grpc_code", error.get("code")) == _GRPC_EXHAUSTED and reason == "EOF":
        return True
    raise _error(client, path, code if isinstance(code, int) else None, reason)


def _error(client: RestClient, path: str, code: int | None, reason: str) -> RestError:
    return RestError(
        f"{client.engine}: the stream of {client.address}{path} ended: {reason}",
        code=code,
        reason=reason,
    )
