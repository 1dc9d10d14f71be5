"""A client of an engine's HTTP interface."""

from __future__ import annotations

import json
import re
import time
import typing as t
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from functools import cache
from importlib import import_module
from urllib.parse import urlsplit

from couler.errors import ConfigurationError, EngineError, RefusedError
from couler.ir.yaml_writer import dump_as_json
from couler.rest import say
from couler.rest.answers import Shape, lacking
from couler.rest.credentials import Token
from couler.rest.patience import Patience, Waits
from couler.rest.trust import distrust_of, trust

if t.TYPE_CHECKING:
    import httpx2

Json: t.TypeAlias = t.Any
Parameters: t.TypeAlias = Mapping[str, str | int | bool]

_FULL = 429
"""The code of a server that takes nothing more for now, and so has done nothing."""

_BUSY = frozenset({_FULL, 502, 503, 504})
"""Codes of servers that may answer otherwise later. What stands before the server gives all but the
first also where the server has heard the question, so they are no reason to repeat any question."""

_DENIED = frozenset({401, 403})
_DOUBTS = 8
"""How often codes are not believed that an API server which has just started gives also to those
whom it lets in later: after a stream, or a call in which it was away, until it has answered."""

_SAFE = frozenset({"GET", "HEAD", "PUT", "DELETE"})
"""Methods that may be repeated though the server may have done what was asked (RFC 9110, 9.2.2)."""

_NOTABLE_S = 2.0
"""A longer wait that the server asks for is told of before it begins."""

_NOTABLE_COUNT = 2
"""After so many waits it is told that the server does not answer."""

_LARGEST = 256 << 20
"""How many bytes of an answer are taken."""


class RestError(EngineError):
    """A server refused, or could not be reached."""

    def __init__(self, message: str, *, code: int | None, reason: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class RestRefusedError(RestError, RefusedError):
    """A server refused, and has done nothing."""


class _BrokenError(Exception):
    """No whole answer came. `sent` tells whether the server may have heard the question."""

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.sent = sent


class RestClient:
    """Calls a server."""

    def __init__(
        self,
        engine: str,
        address: str,
        *,
        extra: str,
        token: Token | None = None,
        ca: str | None = None,
        insecure: bool = False,
        timeout_s: float = 30.0,
        patience: Patience | None = None,
        http: httpx2.Client | None = None,
        hints: Mapping[int, str] | None = None,
        passing: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.engine = engine
        self.address = _checked(engine, address)
        self.token = token
        self._hints = {**_HINTS, **(hints or {})}
        self._passing = passing or (lambda _: False)
        self._timeout_s = timeout_s
        self._patience = patience or Patience()
        self._doubts = 0
        self._say_once = cache(say)
        try:
            self._http = import_module("httpx2")
        except ImportError as error:
            raise ConfigurationError(
                f"calling {engine} needs an extra: pip install 'couler[{extra}]'"
            ) from error
        self._client: httpx2.Client = http or self._http.Client(
            verify=trust(address, ca, insecure),
            timeout=self._http.Timeout(timeout_s, connect=min(10.0, timeout_s)),
        )
        # Remotes are held by whoever uses them, and nobody has to close them.
        weakref.finalize(self, self._client.close)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        send: Json = None,
        content_type: str = "application/json",
        params: Parameters | None = None,
        repeat: bool | None = None,
        absent: Collection[int] = (),
        expect: Shape | None = None,
    ) -> Json:
        """Ask for something and return the answer as JSON; None for one without content."""
        may_repeat = method in _SAFE if repeat is None else repeat
        waits = self._patience.begin()
        has_renewed = was_heard = False
        while True:
            try:
                code, body, after_s = self._ask(method, path, send, content_type, params)
            except ConfigurationError as error:  # a token that cannot be had
                if not was_heard:
                    raise
                why = f"an earlier attempt may have been heard, and for another {error}"
                raise self._away(method, path, why) from error
            except _BrokenError as error:
                self._doubts = _DOUBTS
                if (may_repeat or not error.sent) and self._wait(waits, f"got no answer: {error}"):
                    was_heard |= error.sent and method != "GET"
                    continue
                raise self._away(method, path, str(error)) from error
            if code < 300:
                self._doubts = 0
                return self._decoded(method, path, body, expect)
            if code in absent:
                return None
            if code == 401 and not has_renewed and self._renew():
                has_renewed = True
                continue
            reason = reason_of(body)
            is_denied = code in _DENIED
            may_pass = (is_denied and self._doubts > 0) or self._may_pass(
                code, method, may_repeat, body
            )
            if may_pass and self._wait(waits, f"was answered with {code}: {reason}", after_s):
                was_heard |= not is_denied and code != _FULL and method != "GET"
                self._doubts = self._doubts - 1 if is_denied else _DOUBTS
                continue
            raise self._refused(method, path, code, reason, was_heard=was_heard)

    def _may_pass(self, code: int, method: str, may_repeat: bool, body: bytes) -> bool:
        """Return whether a question may be asked again that was answered so."""
        if code == 500:
            return method == "GET" or (may_repeat and self._passing(body))
        return code in _BUSY if may_repeat else code == _FULL

    def _wait(self, waits: Waits, why: str, asked_s: float | None = None) -> bool:
        """Wait before a call is made again, and say so once if that takes time."""
        left_s, must_s = waits.left_s, asked_s or 0.0
        is_long = waits.count == _NOTABLE_COUNT or (waits.count == 0 and must_s > _NOTABLE_S)
        if is_long and must_s < left_s:
            say(f"{self.engine}: {self.address} {why}; asking again for {left_s:.0f} s")
        return waits.wait(asked_s)

    def lines(
        self,
        path: str,
        *,
        params: Parameters | None = None,
        accept: str = "application/json",
        idle_s: float = 300.0,
        absent: Collection[int] = (),
    ) -> Iterator[str]:
        """Yield the lines of an answer as they come, without their ends."""
        timeout = self._http.Timeout(self._timeout_s, read=idle_s)
        self._doubts = _DOUBTS
        has_renewed = False
        while True:
            headers = {"Accept": accept, **self._authorization()}
            with (
                self._explained("GET", path),
                self._client.stream(
                    "GET", self.address + path, params=params, headers=headers, timeout=timeout
                ) as answer,
            ):
                code = answer.status_code
                if code in absent:
                    return
                if code == 401 and not has_renewed and self._renew():
                    has_renewed = True
                    continue
                if code >= 300:
                    body = self._read(answer, time.monotonic() + self._timeout_s)
                    raise self._refused("GET", path, code, reason_of(body))
                yield from self._split(path, answer)
                return

    def _split(self, path: str, answer: httpx2.Response) -> Iterator[str]:
        rest = b""
        for piece in answer.iter_bytes():
            # Not iter_lines: it ends lines at characters that are no ends for JSON.
            *whole, rest = (rest + piece).split(b"\n")
            if len(rest) > _LARGEST:
                raise self._away("GET", path, "a line of the answer has no end")
            yield from (_text(line) for line in whole)
        if rest:
            yield _text(rest)

    @contextmanager
    def _explained(self, method: str, path: str) -> Iterator[None]:
        try:
            yield
        except (self._http.RequestError, _BrokenError) as error:
            raise self._away(method, path, _told(error)) from error

    def _ask(
        self, method: str, path: str, send: Json, content_type: str, params: Parameters | None
    ) -> tuple[int, bytes, float | None]:
        """Ask once; return the status, the whole answer, and how long the server asks to wait."""
        content = None if send is None else dump_as_json(send).encode()
        headers = {"Accept": "application/json", **self._authorization()}
        if content is not None:
            headers["Content-Type"] = content_type
        until = time.monotonic() + self._timeout_s
        try:
            with self._client.stream(
                method, self.address + path, content=content, params=params, headers=headers
            ) as answer:
                body = self._read(answer, until)
                for header in answer.headers.get_list("Warning"):
                    for text in _warnings(header):
                        self._say_once(f"{self.engine}: {text}")
                return answer.status_code, body, _after_s(answer.headers.get("Retry-After"))
        except (self._http.ConnectError, self._http.ConnectTimeout) as error:
            if (why := distrust_of(error)) is not None:  # which no other attempt mends
                raise ConfigurationError(f"{self.engine}: {self.address}: {why}") from error
            raise _BrokenError(_told(error), sent=False) from error
        except self._http.RequestError as error:  # also of what cannot be decompressed
            raise _BrokenError(_told(error), sent=True) from error

    def _read(self, answer: httpx2.Response, until: float) -> bytes:
        """Return a whole answer. Each read has its limit, and all of them together as well."""
        pieces: list[bytes] = []
        size = 0
        for piece in answer.iter_bytes():
            pieces.append(piece)
            size += len(piece)
            if size > _LARGEST:
                raise _BrokenError(f"the answer is larger than {_LARGEST >> 20} MiB", sent=True)
            if time.monotonic() > until:
                raise _BrokenError(f"no whole answer in {self._timeout_s:g} s", sent=True)
        return b"".join(pieces)

    def _authorization(self) -> dict[str, str]:
        return {} if self.token is None else {"Authorization": f"Bearer {self.token.read()}"}

    def _renew(self) -> bool:
        """Forget a token that is not taken, if another may be had."""
        if self.token is None or not self.token.can_change:
            return False
        self.token.forget()
        return True

    def _decoded(self, method: str, path: str, body: bytes, expect: Shape | None) -> Json:
        try:
            answer = json.loads(body) if body.strip() else None
        except (ValueError, RecursionError) as error:
            raise self._odd(method, path, "something that is no JSON", "no JSON") from error
        lacks = None if expect is None else lacking(answer, expect)
        if lacks is not None:
            what = f"something else than {self.engine}'s interface gives"
            raise self._odd(method, path, what, f"the answer lacks {lacks}")
        return answer

    def _odd(self, method: str, path: str, what: str, reason: str) -> RestError:
        return RestError(
            f"{self.engine}: {method} {self.address}{path} was answered with {what}. Is this the "
            "address of the server's interface?",
            code=None,
            reason=reason,
        )

    def _refused(
        self, method: str, path: str, code: int, reason: str, *, was_heard: bool = False
    ) -> RestError:
        hint = "" if _OTHER_REASONS.search(reason) else self._hints.get(code, "")
        kind = RestError
        hint = f". {hint}" if hint else ""
        if 400 <= code < 500 and code != _FULL:
            if was_heard:
                hint += ". An earlier attempt may have been heard: it may be done nevertheless"
            else:
                kind = RestRefusedError
        return kind(
            f"{self.engine}: {method} {self.address}{path} was refused with {code}: {reason}{hint}",
            code=code,
            reason=reason,
        )

    def _away(self, method: str, path: str, reason: str) -> RestError:
        return RestError(
            f"{self.engine}: {method} {self.address}{path} got no answer: {reason}",
            code=None,
            reason=reason,
        )


_OTHER_REASONS = re.compile(r' is forbidden: (?!User ")|being terminated|denied the request')
"""Kubernetes answers with 403 also where the account may do what it asks for."""

_HINTS = {
    401: "Give the target a token that is valid",
    403: "The account of the token may not do this",
}


def _checked(engine: str, address: str) -> str:
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        has_user = parts.username is not None or parts.password is not None
        is_address = is_address and (parts.port is None or parts.port > 0)
    except ValueError:
        is_address, has_user = False, False
    if has_user:
        raise ConfigurationError(
            f"{engine}: an address must not have a user or a password in it, since it is shown and "
            "recorded; credentials are references"
        )
    if not is_address or parts.query or parts.fragment:
        raise ConfigurationError(
            f"{engine}: {address!r} is no address such as https://{engine}.example:8080"
        )
    return address.rstrip("/")


def _after_s(text: str | None) -> float | None:
    """Return the seconds of a header `Retry-After`: a number, or a date (RFC 9110, 10.2.3)."""
    if text is None:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def _warnings(header: str) -> list[str]:
    """Return the texts of a header `Warning` (RFC 7234, 5.5)."""
    found = re.findall(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"', header) or [header]
    return [re.sub(r"\\(.)", r"\1", text) for text in found]


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").removesuffix("\r")


_LONGEST = 1000


def reason_of(body: bytes) -> str:
    """Return the reason in the body of a refusal."""
    text = body.decode("utf-8", errors="replace")
    try:
        found = _of_json(json.loads(text))
    except (ValueError, RecursionError):
        found = None
    words = " ".join((found or re.sub(r"<[^<>]*>", " ", text)).split())
    if len(words) > _LONGEST:
        words = words[:_LONGEST] + " ..."
    return words or "no reason is given"


def _of_json(tree: t.Any) -> str | None:
    if isinstance(tree, str):
        return tree
    if isinstance(tree, list):
        told = [one for one in map(_of_json, tree) if one]
        return "; ".join(told) or None
    if not isinstance(tree, dict):
        return None
    if "msg" in tree:
        place = ".".join(map(str, tree.get("loc") or ()))
        return f"{place}: {tree['msg']}" if place else str(tree["msg"])
    for name in ("message", "detail", "reason", "error", "title"):
        found = _of_json(tree.get(name))
        if found:
            return found
    return None
