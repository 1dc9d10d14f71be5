"""Attempts of steps that run something: processes, HTTP requests, pauses."""

from __future__ import annotations

import base64
import http.client
import ssl
import typing as t
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from couler.backends.local.container import Start, attempt_process
from couler.backends.local.demand import Grant
from couler.backends.local.ends import Attempt, Bound, cut_off
from couler.backends.local.limits import Limits
from couler.backends.local.locks import Locks
from couler.backends.local.place import Place, entry_texts
from couler.backends.local.recording import Recorder
from couler.backends.local.resuming import Doorbell, Entered
from couler.backends.local.threads import in_thread
from couler.errors import EvaluationError, WireError
from couler.ir import workflow as ir
from couler.ir.artifacts import ListFiles
from couler.ir.semantics.outputs import KEEP_BYTES, read_entered, read_output
from couler.ir.semantics.values import VALUE_ERRORS, RunFacts, Single, Stored, View, holds
from couler.ir.semantics.wire import MAX_VALUE_BYTES, dump_json
from couler.ir.values import check_size
from couler.locations.opener import open_url
from couler.locations.stop import CutOffError, Stop
from couler.locations.transfer import OUTSIDE_ERRORS


@dataclass(frozen=True, slots=True)
class LocalAttempter:
    """Makes attempts on this machine and records them."""

    place: Place
    recorder: Recorder
    doorbell: Doorbell
    locks: Locks

    async def attempt(self, bound: Bound, number: int, limits: Limits, grant: Grant) -> Attempt:
        """Make an attempt; `number` counts from 1, over all sessions of the run."""
        self.recorder.attempt_started(bound, number)
        last = await self._attempt(bound, number, limits, grant)
        self.recorder.attempt_ended(bound.path, number, last)
        return last

    async def _attempt(self, bound: Bound, number: int, limits: Limits, grant: Grant) -> Attempt:
        action = bound.step.action
        match action:
            case ir.Container() | ir.Script():
                start = Start(
                    number,
                    grant,
                    limits,
                    self.recorder.commit,
                    partial(self.recorder.attempt_spawned, bound.path, number),
                    partial(self.recorder.attempt_spawned, bound.path, number, is_other=True),
                    lambda: self.locks.descriptors,
                )
                return await attempt_process(bound, self.place, start)
            case ir.Http():
                await self.recorder.commit()
                return await self._attempt_request(bound, action, limits)
            case ir.Suspend():
                return await self._attempt_pause(bound, action, limits)
            case ListFiles():
                await self.recorder.commit()
                return await self._attempt_listing(bound, action, limits)
        raise TypeError(f"a {action.kind} is refused before the start")

    async def _attempt_pause(self, bound: Bound, action: ir.Suspend, limits: Limits) -> Attempt:
        entered: Entered = {}
        if action.seconds is None:
            self.recorder.suspended(bound.path, action.message)
            entered = await self.doorbell.wait(str(bound.path), limits)
        else:
            await limits.pause(action.seconds)
        if limits.reached:
            return cut_off(limits)
        try:
            outputs = read_entered(bound.outputs, entered)
        except VALUE_ERRORS as error:
            return Attempt(False, message=str(error))
        return Attempt(True, outputs)

    async def _attempt_listing(self, bound: Bound, action: ListFiles, limits: Limits) -> Attempt:
        location = bound.listed
        assert location is not None, "it was bound with the step"
        try:
            keys = await in_thread(
                lambda _stop: self.place.exchange.names(location, action.pattern), limits
            )
            listed = Single(dump_json(keys), "list")
            check_size(listed.text, MAX_VALUE_BYTES, "the list of files")
        except CutOffError:
            return cut_off(limits)
        except (*OUTSIDE_ERRORS, WireError) as error:
            return Attempt(False, message=str(error), kind="failure")
        return Attempt(True, {output.name: listed for output in bound.outputs})

    async def _attempt_request(self, bound: Bound, action: ir.Http, limits: Limits) -> Attempt:
        try:
            response = await send(
                bound.url,
                method=action.method,
                headers={**bound.texts, **entry_texts(action.headers, self.place.entries)},
                body=_body(bound, action),
                verify_tls=action.verify_tls,
                limits=limits,
                keep_bytes=KEEP_BYTES,
            )
        except (RequestError, EvaluationError) as error:
            return Attempt(False, message=str(error), kind="error")
        if response is None:
            return cut_off(limits)
        return _read_response(bound, action, response)


def _read_response(bound: Bound, action: ir.Http, response: Response) -> Attempt:
    try:
        is_good = _is_good(action, response, bound.inputs)
    except VALUE_ERRORS as error:
        return Attempt(False, message=f"the condition on the response: {error}", kind="error")
    if not is_good:
        told = f"{action.method} {bound.url} was answered with {response.code}"
        return Attempt(False, message=told, kind="failure")
    try:
        outputs = {
            output.name: read_output(response.body, output, what="the response")
            for output in bound.outputs
        }
    except VALUE_ERRORS as error:
        return Attempt(False, message=str(error), kind="error")
    return Attempt(True, outputs)


def _body(bound: Bound, action: ir.Http) -> bytes | None:
    if action.body_base64 is not None:
        return base64.b64decode(action.body_base64)
    return None if bound.body is None else bound.body.encode()


def _is_good(action: ir.Http, response: Response, inputs: Mapping[str, Stored]) -> bool:
    if action.success_condition is None:
        codes = action.success_codes or range(200, 300)
        return response.code in codes
    facts: dict[tuple[str, str | None], Stored] = {
        ("header", name.lower()): Single(value, "str") for name, value in response.headers
    }
    facts |= {("input", name): stored for name, stored in inputs.items()}
    facts["status_code", None] = Single(str(response.code), "int")
    facts["output", ir.STDOUT] = Single(response.body.decode(errors="replace"), "str")
    return holds(action.success_condition, View(RunFacts("", ""), own=facts))


class Response(t.NamedTuple):
    """The answer to an HTTP request."""

    code: int
    body: bytes
    """At most `keep_bytes` and one more."""
    headers: tuple[tuple[str, str], ...] = ()


class RequestError(Exception):
    """No response came."""


async def send(
    url: str,
    *,
    method: str,
    headers: Mapping[str, str],
    body: bytes | None,
    verify_tls: bool = True,
    limits: Limits,
    keep_bytes: int,
) -> Response | None:
    """Send a request and wait for the response, whatever its code."""
    if not url.lower().startswith(("http://", "https://")):
        raise RequestError(f"{url[:200]!r} is no URL that begins with http:// or https://")

    def receive(_stop: Stop) -> Response:
        request = urllib.request.Request(url, body, dict(headers), method=method)
        return _receive(request, keep_bytes, verify_tls)

    try:
        return await in_thread(receive, limits)
    except CutOffError:
        return None
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise RequestError(f"{method} {url}: {reason}") from error


def _receive(request: urllib.request.Request, keep_bytes: int, verify_tls: bool) -> Response:
    context = None if verify_tls else ssl._create_unverified_context()
    try:
        with open_url(request, context=context) as response:
            body = response.read(keep_bytes + 1)
            return Response(response.status, body, tuple(response.getheaders()))
    except urllib.error.HTTPError as error:
        with error:
            body = error.read(keep_bytes + 1)
            return Response(error.code, body, tuple(error.headers.items()))
