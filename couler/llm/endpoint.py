"""Calls of an endpoint with chat completions through the OpenAI SDK, within the budget, logged."""

from __future__ import annotations

import json
import ssl
import typing as t
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic

import openai
from pydantic import BaseModel

from couler.errors import (
    ConfigurationError,
    LanguageModelError,
    ModelAnswerError,
    ModelBudgetError,
)
from couler.hidden import clean, whole
from couler.llm.budget import (
    DEFAULT_ANSWER_TOKENS,
    RAISE,
    Budget,
    likely_tokens,
    max_prompt_tokens,
)
from couler.llm.call_log import LOG_VERSION, Json, JsonLines, masked
from couler.llm.dialogue import Answer, CallResult, Message, Usage
from couler.llm.recording import Request
from couler.llm.settings import LlmSettings
from couler.llm.structured import with_schema, without_thoughts

# The longest answers have about a million characters, which take up to six bytes each in JSON.
MAX_BYTES = 8 << 20

_MAX_REASON_LENGTH = 400
_MAX_TOKENS = 1 << 31  # an endpoint that counts more, or less than none, does not count

# Finish reasons of complete answers; some endpoints give none.
_COMPLETE = ("stop", "eos", "stop_sequence", "end_turn", "")

_NO_CREDIT = "The account has no credit"

# By the code or the status of a refusal.
_HINTS: dict[object, str] = {
    "insufficient_quota": _NO_CREDIT,
    "billing_hard_limit_reached": _NO_CREDIT,
    401: "Is COULER_LLM_API_KEY the key of this endpoint? `couler llm check` shows where it is set",
    403: "The key does not allow this model or endpoint",
    404: "Is the model the endpoint's name for it, and base-url right? Most end in /v1",
}


class FormRefusedError(LanguageModelError):
    """The endpoint may not support schemas."""


class Endpoint:
    """An endpoint with one model; threads may share it."""

    def __init__(
        self,
        settings: LlmSettings,
        budget: Budget,
        log: JsonLines | None,
        tell: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._budget = budget
        self._log = log
        self._tell = tell
        self.structured = "text" if settings.structured == "text" else "schema"
        self._limit_name = "max_tokens"
        hooks: dict[str, list[Callable[..., t.Any]]] = {
            "request": [self._tell_retry],
            "response": [self._limit_response],
        }
        try:
            http = openai.DefaultHttpxClient(timeout=settings.timeout_s, event_hooks=hooks)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"language model: no connection can be set up: {error}. Check SSL_CERT_FILE and "
                "the variables of proxies"
            ) from error
        self._client = openai.OpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key,
            timeout=settings.timeout_s,
            max_retries=settings.max_retries,
            http_client=http,
        )
        self.close = self._client.close

    def call(self, request: Request, *, in_words: bool = False) -> CallResult:
        """Return the answer to a request; the prompt has the schema if the endpoint refuses it."""
        messages = request.prompt.messages
        if request.schema is None:
            return self._logged(request, messages, None)
        words = with_schema(messages, request.schema)
        if self.structured == "text":
            return self._logged(request, words, "text")
        try:
            return self._logged(request, words if in_words else messages, "schema")
        except FormRefusedError as refused:
            result = self._logged(request, words, "text")
            self.stop_sending_schemas(str(refused))
            return result

    def stop_sending_schemas(self, reason: str) -> None:
        """State schemas in prompts from now on, unless the settings say otherwise."""
        if self.structured == "schema" and self._settings.structured == "auto":
            self.structured = "text"
            self._tell(
                f"{reason}. From now on prompts state the JSON schemas of answers. "
                'structured = "text" in the settings does so from the start'
            )

    def _logged(
        self, request: Request, messages: tuple[Message, ...], structured: str | None
    ) -> CallResult:
        entry: Json = {
            "schema_version": LOG_VERSION,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "prompt": {"name": request.prompt.name, "version": request.prompt.version},
            "model": self._settings.model,
            "base_url": self._settings.base_url,
            "structured": structured,
            "schema": None if request.schema is None else request.schema.__name__,
            "temperature": request.temperature,
            "seed": request.seed,
            "messages": [one._asdict() for one in messages],
            "status": None,
            "retries": 0,
            "answer": None,
            "error": "interrupted",
        }
        started = monotonic()
        try:
            result = self._call(request, messages, structured, entry)
            entry["error"] = None if result.error is None else str(result.error)
            return result
        except LanguageModelError as error:
            entry["error"] = str(error)
            raise
        finally:
            entry["seconds"] = round(monotonic() - started, 3)
            if self._log is not None:
                self._log.write(entry)

    def _call(
        self,
        request: Request,
        messages: tuple[Message, ...],
        structured: str | None,
        entry: Json,
    ) -> CallResult:
        """Make a call, and add what came of it to the entry of the log."""
        started, settings, name = monotonic(), self._settings, request.prompt.name
        schema = request.schema if structured == "schema" else None
        limit = self._budget.answer_limit(name, max_prompt_tokens(messages, schema))
        body: Json = {
            "model": settings.model,
            "messages": [{"role": one.role, "content": _sendable(one.content)} for one in messages],
            "temperature": request.temperature,
            "seed": request.seed,
        }
        body = {field: value for field, value in body.items() if value is not None}
        raw = self._send(name, body, schema, limit, entry)
        entry |= {
            "status": raw.status_code,
            "request_id": raw.request_id,
            "retries": raw.retries_taken,
            "max_tokens": limit,
        }
        reply = self._reply(name, raw.content.decode("utf-8", errors="replace"))
        tokens = reply.tokens or (
            sum(likely_tokens(one.content) for one in messages),
            likely_tokens(reply.text),
        )
        if reply.tokens is None and not self._budget.total.estimated_calls:
            self._tell(
                "language model: the endpoint does not count tokens; they are estimated, one for "
                "each four bytes"
            )
        price = settings.price
        usage = Usage(
            calls=1,
            prompt_tokens=tokens[0],
            completion_tokens=tokens[1],
            seconds=monotonic() - started,
            cost=None if price is None else price.cost(*tokens),
            estimated_calls=int(reply.tokens is None),
        )
        self._budget.add(name, usage)
        answer = Answer(without_thoughts(reply.text), usage, reply.model, reply.finish_reason)
        entry |= {
            "answer": reply.text,
            "finish_reason": reply.finish_reason,
            "answered_by": reply.model,
            "refusal": reply.refusal or None,
            "usage": {
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "cost": usage.cost,
                "estimated": bool(usage.estimated_calls),
            },
        }
        return CallResult(answer, self._error(name, answer, reply.refusal, limit))

    def _send(
        self,
        name: str,
        body: Json,
        schema: type[BaseModel] | None,
        limit: int | None,
        entry: Json,
    ) -> t.Any:
        """Return the raw response to a request."""
        completions: t.Any = self._client.chat.completions.with_raw_response
        limit_name = self._limit_name
        limits = {} if limit is None else {limit_name: limit}
        try:
            if schema is None:
                return completions.create(**body, **limits)
            return completions.parse(**body, **limits, response_format=schema)
        except openai.OpenAIError as error:
            failed = error
        if limit_name == "max_tokens" and "max_completion_tokens" in str(failed):
            self._limit_name = "max_completion_tokens"
            return self._send(name, body, schema, limit, entry)
        raise self._failure(name, failed, schema, entry)

    def _failure(
        self, name: str, error: openai.OpenAIError, schema: type[BaseModel] | None, entry: Json
    ) -> LanguageModelError:
        """Return the error of a call without an answer."""
        kind, hint = LanguageModelError, ""
        if isinstance(error, openai.APIError):
            entry["retries"] = int(error.request.headers.get("x-stainless-retry-count", 0))
        if isinstance(error.__cause__, openai.OpenAIError):  # SDK 2 wraps what its hooks raise
            error = error.__cause__
        if isinstance(error, openai.APIStatusError):
            status, body = error.status_code, error.body
            entry |= {"status": status, "request_id": error.request_id}
            message = (body.get("message") or body.get("detail")) if isinstance(body, dict) else ""
            reason = f"it answered {status}: {message or body or error.response.reason_phrase}"
            hint = _HINTS.get(error.code) or _HINTS.get(status, "")
            if wait := error.response.headers.get("retry-after"):
                reason += f" (Retry-After: {wait})"
            is_about_schema = (
                status == 400 or "response_format" in reason or "json_schema" in reason
            )
            if schema is not None and is_about_schema and self._settings.structured == "auto":
                kind = FormRefusedError
        elif isinstance(error, openai.APITimeoutError):
            reason = f"no complete answer within {self._settings.timeout_s:g} s"
            hint = "Raise the setting timeout"
        elif isinstance(error, openai.APIConnectionError):
            cause: BaseException = error
            while cause.__context__ is not None:
                cause = cause.__context__
            reason = f"the connection failed: {str(cause) or type(cause).__name__}"
            hint = "Is the endpoint running, and is base-url its address?"
            if isinstance(cause, ssl.SSLCertVerificationError):
                hint = "SSL_CERT_FILE can name a file of trusted certificates"
            elif isinstance(cause, ssl.SSLError):
                hint = "Is it http:// instead of https://?"
        else:
            reason = str(error)
        retries = entry["retries"]
        after = f", after {retries + 1} attempts" if retries else ""
        reason = self._clean(reason)
        stop = "" if reason.endswith(("?", "!")) else "."
        return kind(f"{self._where(name)}{after}: {reason}" + (f"{stop} {hint}" if hint else ""))

    def _reply(self, name: str, text: str) -> _Reply:
        """Return the parts of a completion that matter here, without the key."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict) or not isinstance(data.get("choices"), list):
            raise LanguageModelError(
                f"{self._where(name)}: its answer is no chat completion: {self._clean(text)}. Is "
                "base-url the address of an endpoint with chat completions? Most end in /v1"
            )
        choice = _mapping(next(iter(data["choices"]), None))
        message, usage = _mapping(choice.get("message")), _mapping(data.get("usage"))

        def text_of(value: object) -> str:
            return masked(whole(value), self._settings.api_key) if isinstance(value, str) else ""

        tokens: tuple[int, int] | None = None
        match usage:
            case {"prompt_tokens": int(prompt), "completion_tokens": int(completion)} if (
                0 < prompt < _MAX_TOKENS and 0 <= completion < _MAX_TOKENS
            ):
                tokens = prompt, completion
        return _Reply(
            text_of(message.get("content")),
            text_of(message.get("refusal")),
            text_of(choice.get("finish_reason")),
            text_of(data.get("model")),
            tokens,
        )

    def _error(
        self, name: str, answer: Answer, refusal: str, limit: int | None
    ) -> LanguageModelError | None:
        """Return why an answer cannot be used, if so."""
        reason, tokens = answer.finish_reason, answer.usage.completion_tokens
        budgeted = self._settings.answer_tokens or DEFAULT_ANSWER_TOKENS
        if reason == "length" and limit is not None and limit < budgeted:
            spent = self._budget.text()
            return ModelBudgetError(
                f'language model: the answer to "{name}" was cut off after {limit:,} tokens, all '
                f"that was left of the budget. {spent}. {RAISE}",
                spent=spent,
                answer=answer,
            )
        if reason == "length":
            setting = "answer-tokens" if limit is None else f"answer-tokens, which is {limit:,}"
            problem = (
                f"the answer was cut off after {tokens:,} tokens: raise {setting}, or ask for less"
            )
        elif reason == "content_filter":
            problem = "a content filter of the endpoint withheld the answer: rephrase the request"
        elif refusal:
            problem = f"the model refuses: {' '.join(clean(refusal).split())}"
        elif not answer.text.strip():
            problem = f"the answer is empty (finish_reason {clean(reason) or 'missing'})"
        elif reason not in _COMPLETE:
            problem = f"the answer is not complete (finish_reason {clean(reason)})"
        else:
            return None
        return ModelAnswerError(
            f"{self._where(name)}: {problem}",
            text=answer.text,
            finish_reason=reason,
            answer=answer,
        )

    def _tell_retry(self, request: t.Any) -> None:
        retry = request.headers.get("x-stainless-retry-count", "0")
        if retry != "0":
            self._tell(f"language model: retry {retry} of {self._settings.max_retries}")

    def _limit_response(self, response: t.Any) -> None:
        """Limit the size and the time of a response; HTTPX limits only the time of each read."""
        deadline, read = monotonic() + self._settings.timeout_s, response.iter_bytes

        def iter_bytes(*arguments: t.Any) -> Iterator[bytes]:
            size = 0
            for part in read(*arguments):
                size += len(part)
                if size > MAX_BYTES:
                    raise openai.OpenAIError(f"its answer is longer than {MAX_BYTES >> 20} MiB")
                if monotonic() > deadline:
                    raise openai.APITimeoutError(response.request)
                yield part

        response.iter_bytes = iter_bytes

    def _where(self, name: str) -> str:
        return f'language model {self._settings.base_url}, call "{name}"'

    def _clean(self, text: str) -> str:
        """Return text of others in one line, shortened, without the key."""
        line = clean(" ".join(masked(text, self._settings.api_key).split())).rstrip(".")
        return line if len(line) <= _MAX_REASON_LENGTH else f"{line[:_MAX_REASON_LENGTH]}..."


@dataclass(frozen=True, slots=True)
class _Reply:
    text: str
    refusal: str
    finish_reason: str
    model: str
    tokens: tuple[int, int] | None


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _sendable(text: str) -> str:
    """Return a text that UTF-8 can encode: names of files may not be."""
    return text.encode("utf-8", errors="replace").decode("utf-8")
