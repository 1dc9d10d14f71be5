"""A server on this machine that speaks chat completions and answers from a script."""

from __future__ import annotations

import json
import threading
import typing as t
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from couler.llm.budget import likely_tokens
from tests.fakes.llm.asked import Asked, advise
from tests.fakes.llm.script import Counted, Json, Rule, Script, Source, read_script

_LARGEST_BODY = 64 << 20

_PAGE = b"<!doctype html><html><head><title>502</title></head><body>Bad gateway</body></html>\n"

_RUBBISH = {
    "json": ("application/json", b'{"id": "chatcmpl-0", "object": "chat.comple'),
    "html": ("text/html; charset=utf-8", _PAGE),
    "schema": ("application/json", b'{"answer": 42, "outcome": ["of", "another", "kind"]}'),
}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and what was done with it."""

    asked: Asked
    rule: int | None
    status: int


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    content: bytes
    kind: str = "application/json"
    retry_after: float | None = None
    slow: float = 0.0
    is_cut: bool = False


class ScriptedServer:
    """A server on 127.0.0.1 that answers requests for chat completions from a script."""

    def __init__(
        self,
        script: Source,
        *,
        port: int = 0,
        folder: Path | None = None,
        on_request: Callable[[Exchange], None] | None = None,
    ) -> None:
        self.script: Script = read_script(script, folder)
        self._used = [0] * len(self.script.rules)
        self._lock = threading.Lock()
        self._on_request = on_request
        self._exchanges: list[Exchange] = []
        self._closed = threading.Event()
        self._port = port
        self._http: _Http | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> t.Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin to listen."""
        self._http = _Http(("127.0.0.1", self._port), _Handler)
        self._http.scripted = self
        # Short waits: to close must not take half a second for each of many tests.
        loop = {"poll_interval": 0.02}
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs=loop, name="scripted-server", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Listen no more, and let go of requests that are made to wait."""
        self._closed.set()
        if self._http is not None and self._thread is not None:
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._http is not None, "it has not been started"
        return self._http.server_address[1]

    @property
    def base_url(self) -> str:
        """What clients take as the base of their addresses."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which commands of Couler use it."""
        return {
            "COULER_LLM_BASE_URL": self.base_url,
            "COULER_LLM_MODEL": self.script.model,
            "COULER_LLM_API_KEY": "none",
        }

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All requests so far, and what was done with them."""
        with self._lock:
            return tuple(self._exchanges)

    @property
    def requests(self) -> tuple[Asked, ...]:
        """All requests so far."""
        return tuple(one.asked for one in self.exchanges)

    def wait(self, seconds: float) -> None:
        """Wait so long, or until the server is closed."""
        self._closed.wait(seconds)

    def respond(self, asked: Asked) -> _Response:
        """Return what a request is answered with, and remember both."""
        with self._lock:
            number = self._find(asked)
            response = self._response(asked, number)
            exchange = Exchange(asked, number, response.status)
            self._exchanges.append(exchange)
            if number is not None:
                self._used[number - 1] += 1
            serial = len(self._exchanges)
        if self._on_request is not None:
            self._on_request(exchange)
        content = response.content.replace(b"chatcmpl-0", f"chatcmpl-{serial:06}".encode(), 1)
        return replace(response, content=content)

    def _refuses(self, asked: Asked) -> bool:
        return self.script.structured is not None and asked.form is not None

    def _find(self, asked: Asked) -> int | None:
        if self._refuses(asked):
            return None
        for number, rule in enumerate(self.script.rules, start=1):
            if rule.times is not None and self._used[number - 1] >= rule.times:
                continue
            if asked.fits(rule):
                return number
        return None

    def _response(self, asked: Asked, number: int | None) -> _Response:
        if self._refuses(asked):
            return _form_refused(asked)
        if number is None:
            return _refusal(400, advise(asked, self.script, self._used), code="no_rule")
        rule = self.script.rules[number - 1]
        if rule.structured is not None:
            return _form_refused(asked)
        if rule.status is not None:
            return _refusal(rule.status, rule.message, rule.code, rule.retry_after, rule.slow)
        if rule.rubbish in _RUBBISH:
            kind, content = _RUBBISH[rule.rubbish]
            return _Response(200, content, kind, slow=rule.slow)
        completion = _completion(asked, rule, self.script.folder)
        content = json.dumps(completion, ensure_ascii=False).encode()
        return _Response(200, content, slow=rule.slow, is_cut=rule.cut)


def _completion(asked: Asked, rule: Rule, folder: Path) -> Json:
    """Return a chat completion."""
    # https://platform.openai.com/docs/api-reference/chat/object
    text: str | None = "" if rule.reply is None else rule.reply.read(folder)
    reason = rule.finish_reason
    if rule.refusal is not None:
        text = None
    elif text is not None and asked.limit is not None and likely_tokens(text) > asked.limit:
        text = text.encode()[: asked.limit * 4].decode(errors="ignore")
        reason = "length"
    prompt, made = asked.prompt_tokens, likely_tokens(text or rule.refusal or "")
    if isinstance(rule.usage, Counted):
        prompt, made = rule.usage.prompt_tokens, rule.usage.completion_tokens
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, "refusal": rule.refusal},
        "logprobs": None,
        "finish_reason": reason,
    }
    completion: Json = {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": asked.body["model"],
        "choices": [] if rule.rubbish == "choices" else [choice],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": made,
            "total_tokens": prompt + made,
        },
        "system_fingerprint": "scripted",
    }
    if rule.usage == "none":
        del completion["usage"]
    return completion


def _form_refused(asked: Asked) -> _Response:
    return _refusal(
        400,
        f"Invalid parameter: 'response_format' of type '{asked.form}' is not supported with this "
        "model.",
        param="response_format",
    )


def _refusal(
    status: int,
    message: str,
    code: str | None = None,
    retry_after: float | None = None,
    slow: float = 0.0,
    *,
    param: str | None = None,
) -> _Response:
    kind = "invalid_request_error" if status < 500 else "server_error"
    error = {"message": message, "type": kind, "param": param, "code": code}
    content = json.dumps({"error": error}, ensure_ascii=False).encode()
    return _Response(status, content, retry_after=retry_after, slow=slow)


class _Http(ThreadingHTTPServer):
    scripted: ScriptedServer
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that have gone: tests make them go."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits 40 ms for the client's acknowledgement
    server_version = "couler-llm-fake"

    def log_message(self, format: str, *args: object) -> None:  # its name above
        """Write nothing: `on_request` tells."""

    def do_POST(self) -> None:  # its name in http.server
        """Answer a request for a chat completion."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _LARGEST_BODY:
            self.close_connection = True
            self._send(_refusal(411, "a request has a Content-Length of at most 64 MiB"))
            return
        content = self.rfile.read(int(length))
        path = self.path.partition("?")[0]
        if path != "/v1/chat/completions":
            self._send(_refusal(404, f"there is no {path} here, only /v1/chat/completions"))
            return
        try:
            asked = Asked.of(json.loads(content), self.headers.get("Authorization"))
        except ValueError as error:  # of JSON as well
            self._send(_refusal(400, str(error)))
            return
        self._send(self.server.scripted.respond(asked))

    def _send(self, response: _Response) -> None:
        if response.slow:
            self.server.scripted.wait(response.slow)
        with suppress(ConnectionError):  # a client that has gone, of which it needs no answer
            self.send_response(response.status)
            self.send_header("Content-Type", response.kind)
            self.send_header("Content-Length", str(len(response.content)))
            if response.retry_after is not None:
                self.send_header("Retry-After", f"{response.retry_after:g}")
            self.end_headers()
            content = response.content
            if response.is_cut:
                content = content[: len(content) // 2]
                self.close_connection = True
            self.wfile.write(content)
            self.wfile.flush()
