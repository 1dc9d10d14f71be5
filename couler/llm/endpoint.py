"""One request to an endpoint, its bounds, and every way in which it can go wrong."""

from __future__ import annotations

import json
import math
import ssl
import threading
import time
import typing as t
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from importlib import import_module
from time import monotonic

from couler.errors import ConfigurationError
from couler.llm.masking import Mask
from couler.llm.reply import Reply
from couler.llm.settings import LlmSettings

if t.TYPE_CHECKING:
    import openai

Json: t.TypeAlias = dict[str, t.Any]

_LONGEST_REASON = 400

_NEVER_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"})
"""Errors of HTTP clients that come before a request is on its way."""

_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Codes of endpoints that may answer otherwise later."""

_MAYBE_BILLED = frozenset({408, 502, 504, 524})
"""Codes that something before the endpoint gives, which may go on with the request."""

_LASTING = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Codes in answers 429 that no waiting helps."""


@dataclass(frozen=True, slots=True)
class Replied:
    """An answer of the form of chat completions came."""

    reply: Reply
    request_id: str | None
    status: int = 200


@dataclass(frozen=True, slots=True)
class Failed:
    """A call that got no answer: why, and whether a retry can help."""

    status: int | None
    reason: str
    code: str = ""
    param: str = ""
    passes: bool = False
    may_be_billed: bool = False
    is_late: bool = False
    wait_s: float | None = None
    hint: str = ""
    request_id: str | None = None


Outcome: t.TypeAlias = Replied | Failed


class Endpoint:
    """A client of an endpoint; it repeats nothing by itself."""

    def __init__(self, settings: LlmSettings, mask: Mask) -> None:
        sdk = _sdk()
        _check(settings)
        self._sdk = sdk
        self._mask = mask
        self._settings = settings
        self._bounds = Bounds(settings.timeout_s)
        self._client: openai.OpenAI = sdk.OpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key,
            timeout=settings.timeout_s,
            max_retries=0,  # they are counted, logged and paid for in the layer above
            http_client=self._bounds.client(sdk),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(self, body: Json) -> Outcome:
        """Send a request and return what came of it."""
        sdk = self._sdk
        create: t.Any = self._client.chat.completions.with_raw_response.create
        try:
            raw = self._bounds.within(lambda: create(model=self._settings.model, **body))
        except LateError:
            return self._timed_out(set())
        except UnreadableError as error:
            return self._unreadable(error)
        except sdk.APITimeoutError as error:
            return self._timed_out({type(one).__name__ for one in _chain(error)})
        except sdk.APIConnectionError as error:
            return self._broken(error)
        except sdk.APIStatusError as error:
            return self._refused(error.response)
        except sdk.OpenAIError as error:
            return Failed(None, self._clean(str(error)))
        return self._read(raw)

    def _read(self, raw: t.Any) -> Outcome:
        request_id = raw.headers.get("x-request-id")
        kind = raw.headers.get("content-type", "")
        text = raw.content.decode("utf-8", errors="replace")
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            if "html" in kind or text.lstrip()[:1] == "<":
                return Failed(
                    raw.status_code,
                    f"it answered a page of HTML, no chat completion: {self._clean(text)}",
                    hint="Is the address right? Most end in /v1",
                    request_id=request_id,
                )
            return Failed(
                raw.status_code,
                f"it answered what is no JSON: {self._clean(text)}",
                passes=True,
                may_be_billed=True,
                request_id=request_id,
            )
        if not isinstance(data, dict) or not isinstance(data.get("choices"), list):
            return Failed(
                raw.status_code,
                f"it answered JSON that is no chat completion: {self._clean(text)}",
                may_be_billed=True,
                hint="Is the address that of an endpoint with chat completions?",
                request_id=request_id,
            )
        return Replied(Reply.of(data, self._mask), request_id, raw.status_code)

    def _refused(self, response: t.Any) -> Failed:
        status = response.status_code
        told = _error_of(response)
        code, param = str(told.get("code") or ""), str(told.get("param") or "")
        words = self._clean(str(told.get("message") or response.reason_phrase or "no reason"))
        return Failed(
            status,
            f"it answered {status}: {words}",
            code=code,
            param=param,
            passes=status in _PASSING and code not in _LASTING,
            may_be_billed=status in _MAYBE_BILLED,
            wait_s=_wait_of(response.headers),
            hint=_hint_for(status, code),
            request_id=response.headers.get("x-request-id"),
        )

    def _timed_out(self, causes: set[str]) -> Failed:
        limit = f"{self._settings.timeout_s:g} s"
        if causes & _NEVER_SENT:
            return Failed(None, f"no connection within {limit}", passes=True)
        return Failed(
            None,
            f"no answer within {limit}",
            passes=True,
            may_be_billed=True,
            is_late=True,
            hint="The setting timeout makes it longer",
        )

    def _unreadable(self, error: UnreadableError) -> Failed:
        return Failed(
            None,
            self._clean(str(error)),
            may_be_billed=True,
            hint="Is the address that of an endpoint with chat completions?",
        )

    def _broken(self, error: BaseException) -> Failed:
        chain = list(_chain(error))
        # Older versions of the SDK take every exception for one of the connection.
        for one in chain:
            if isinstance(one, UnreadableError):
                return self._unreadable(one)
            if isinstance(one, LateError):
                return self._timed_out(set())
        distrust = _distrust(chain)
        if distrust:
            return Failed(None, distrust)
        words = self._clean(str(chain[-1]) or type(chain[-1]).__name__)
        if {type(one).__name__ for one in chain} & _NEVER_SENT:
            return Failed(
                None,
                f"it cannot be reached: {words}",
                passes=True,
                hint="Does it run, and is base-url its address?",
            )
        reason = f"the connection broke before the answer was whole: {words}"
        return Failed(None, reason, passes=True, may_be_billed=True)

    def _clean(self, text: str) -> str:
        """Return words of others in one line, without the key."""
        line = " ".join(self._mask.of(text).split())
        line = "".join(one for one in line if one.isprintable()).rstrip(".")
        return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}..."


def _sdk() -> t.Any:
    try:
        import openai
    except ModuleNotFoundError as error:
        if error.name != "openai":
            raise
        raise ConfigurationError(
            "calling language models needs an extra: pip install 'couler[llm]'"
        ) from error
    return openai


def _check(settings: LlmSettings) -> None:
    if not settings.model:
        raise ConfigurationError(
            "language model: no model is chosen. Set COULER_LLM_MODEL, or model in "
            "[tool.couler.llm], to its name at the endpoint"
        )
    if not settings.api_key:
        raise ConfigurationError(
            "language model: there is no key. Set COULER_LLM_API_KEY (or OPENAI_API_KEY) in the "
            "environment, or api-key-env in [tool.couler.llm] to the name of the variable that "
            "has it; for an endpoint that wants none, to any word"
        )
    if not (settings.api_key.isascii() and settings.api_key.isprintable()):
        raise ConfigurationError(
            "language model: the key has more than one line, or characters that a header cannot "
            "have. It is not shown here"
        )


def _chain(error: BaseException) -> t.Iterator[BaseException]:
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__ or one.__context__


def _distrust(chain: list[BaseException]) -> str:
    """Return why no connection can be secured, however often it is tried."""
    for one in chain:
        if isinstance(one, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not trusted: {one.verify_message}. SSL_CERT_FILE can name a "
                "file of certificates to trust"
            )
        if isinstance(one, ssl.SSLError):
            reason = getattr(one, "reason", "") or ""
            if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
                return "it does not speak TLS. Is it http:// in place of https://?"
    return ""


def _error_of(response: t.Any) -> Mapping[str, t.Any]:
    """Return what an endpoint says of an error: endpoints differ in how deep it stands."""
    text = response.text
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {"message": text}
    while isinstance(data, dict):
        inner = data.get("error") or data.get("detail")
        if not isinstance(inner, dict):
            return {"message": inner if inner else text, **data}
        data = inner
    return {"message": text}


def _wait_of(headers: Mapping[str, str]) -> float | None:
    """Return what `Retry-After` asks for, in seconds (RFC 9110, 10.2.3)."""
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * factor
        except ValueError:
            seconds = _until(value)
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def _until(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except ValueError:
        return math.nan


def _hint_for(status: int, code: str) -> str:
    if code in _LASTING:
        return "The account has no credit, which waiting does not mend"
    match status:
        case 401:
            return (
                "The key is not taken: is COULER_LLM_API_KEY that of this endpoint? "
                "`couler llm check` tells where it comes from"
            )
        case 403:
            return "The key does not allow this model or endpoint"
        case 404:
            return (
                "Is the model the endpoint's name for it, and base-url right? Most addresses end "
                "in /v1"
            )
    return ""


MOST_BYTES = 8 << 20
"""Of the body of a response. The longest answers of models have about a million characters, which
JSON writes with at most six bytes each."""

_GRACE_S = 0.25
"""So long the client has to tell by itself that it was too late, and in which state."""

_T = t.TypeVar("_T")


class LateError(Exception):
    """The time was over before the answer was whole."""


class UnreadableError(Exception):
    """A body is not read, or not to its end; the text says why."""


class Bounds:
    """Holds what a client does to a time and to a number of bytes."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._call = threading.local()

    def client(self, sdk: t.Any) -> t.Any:
        """Return an HTTP client for an SDK, which stops at bodies that are too long or too late."""
        kind = sdk.DefaultHttpxClient
        modules = (one.__module__.partition(".")[0] for one in kind.__mro__)
        http = import_module(next(one for one in modules if one.startswith("httpx")))
        stream: t.Any = http.SyncByteStream
        bounds = self

        class Bounded(stream):  # type: ignore[misc]  # one of two libraries
            """A body within the bounds."""

            def __init__(self, stream: t.Any) -> None:
                self._stream = stream

            def __iter__(self) -> Iterator[bytes]:
                return bounds.checked(self._stream)

            def close(self) -> None:
                self._stream.close()

        def bound(response: t.Any) -> None:
            coding = response.headers.get("content-encoding", "identity")
            if coding.strip().lower() != "identity":  # a few bytes may become any number of them
                raise UnreadableError(f"its answer is compressed ({coding}), unasked")
            response.stream = Bounded(response.stream)

        return kind(
            timeout=self._timeout_s,
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [bound]},
        )

    def checked(self, parts: t.Iterable[bytes]) -> Iterator[bytes]:
        """Yield the parts of a body, as long as it keeps within the bounds."""
        size = 0
        for part in parts:
            size += len(part)
            if size > MOST_BYTES:
                raise UnreadableError(
                    f"its answer is longer than {MOST_BYTES >> 20} MiB, and was not read to its end"
                )
            if monotonic() > self._call.deadline:
                raise LateError
            yield part

    def within(self, call: Callable[[], _T]) -> _T:
        """Return what a call gives, or raise what it raises."""
        given: list[_T] = []
        raised: list[BaseException] = []

        def run() -> None:
            self._call.deadline = monotonic() + self._timeout_s
            try:
                given.append(call())
            except BaseException as error:  # noqa: BLE001  # it is raised in the other thread
                raised.append(error)

        thread = threading.Thread(target=run, name="language-model", daemon=True)
        thread.start()
        thread.join(self._timeout_s + _GRACE_S)
        if given:
            return given[0]
        if raised:
            raise raised[0]
        raise LateError
