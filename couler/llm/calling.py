"""Calls of an endpoint: within the budget, repeated where that helps, each written to the log."""

from __future__ import annotations

import threading
import typing as t
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic, sleep

from couler.errors import LanguageModelError, ModelAnswerError
from couler.llm.budget import Budget, Reservation, likely_tokens, most_tokens
from couler.llm.call_log import CallLog
from couler.llm.dialogue import Answer, Heard, Message, Prompt, Usage
from couler.llm.endpoint import Endpoint, Failed, Json, Replied
from couler.llm.recording import Request
from couler.llm.reply import Reply
from couler.llm.settings import LlmSettings
from couler.llm.structured import RUNGS, Form, Rung, below

_WAYS = {"schema": "by a schema", "object": "as a JSON object", "text": "in words"}

_UNRELATED = frozenset(
    {
        "context_length_exceeded",
        "invalid_api_key",
        "model_not_found",
        "no_rule",  # of the scripted server
        "content_filter",
        "content_policy_violation",
        "invalid_prompt",
    }
)
"""Codes of refusals that another way of asking for the form does not mend."""

_MOST_LATE = 1
"""So many answers of a call may come too late before it is given up: each may be paid for."""

_FORM_REFUSALS = frozenset({400, 404, 415, 422, 501})


class _FormRefusedError(Exception):
    """An endpoint does not take a way of asking for a form."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass
class _Attempts:
    """What one logged call went through."""

    started: float
    retries: list[Json] = field(default_factory=list)
    late: int = 0
    last: Replied | Failed | None = None
    answer_tokens: int | None = None


class Caller:
    """Sends dialogues to an endpoint."""

    def __init__(
        self,
        settings: LlmSettings,
        endpoint: Endpoint,
        budget: Budget,
        ledger: Ledger,
        log: CallLog | None,
        tell: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._budget = budget
        self._ledger = ledger
        self._log = log
        self._tell = tell
        chosen = settings.structured
        self._is_found_out = chosen == "auto"
        self.rung: Rung = "schema" if chosen == "auto" else chosen
        self._limit_field = "max_tokens"
        self._told: set[str] = set()
        self._lock = threading.Lock()

    def call(self, request: Request, form: Form[t.Any] | None, *, in_words: bool) -> Heard:
        """Return what the endpoint answers."""
        messages = request.prompt.messages
        if form is None:
            return self._logged(request, None, "text", messages)
        rung, why = self.rung, ""
        while True:
            said = form.said(messages, rung) if rung != "schema" or in_words else messages
            try:
                heard = self._logged(request, form, rung, said)
            except _FormRefusedError as refused:
                why = why or refused.reason
                rung = below(rung)
                continue
            if why:
                self.step_down(rung, why)
            return heard

    def step_down(self, rung: Rung, why: str) -> None:
        """Ask no more for forms in a way that is above one of the ladder, and tell it."""
        with self._lock:
            if not self._is_found_out or RUNGS.index(rung) <= RUNGS.index(self.rung):
                return
            self.rung = rung
        self._tell(
            f"language model: forms of answers are asked for {_WAYS[rung]} from now on: {why}. "
            f'structured = "{rung}" in the settings saves finding it out'
        )

    def _logged(
        self, request: Request, form: Form[t.Any] | None, rung: Rung, messages: Sequence[Message]
    ) -> Heard:
        """Make one logged call, with its retries."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry: Json = {
            "time": now,
            "prompt": {"name": request.prompt.name, "version": request.prompt.version},
            "model": self._settings.model,
            "base_url": self._settings.base_url,
            "structured": None if form is None else rung,
            "schema": None if form is None else form.name,
            "temperature": request.temperature,
            "seed": request.seed,
            "messages": [one._asdict() for one in messages],
        }
        went = _Attempts(monotonic())
        outcome: Json = {"status": None, "answer": None, "error": "interrupted"}
        try:
            heard = self._until_answered(request, form, rung, messages, went)
            outcome["error"] = None if heard.problem is None else str(heard.problem)
            outcome["usage"] = _usage_json(heard.answer.usage)
            return heard
        except LanguageModelError as error:
            outcome["error"] = str(error)
            raise
        except _FormRefusedError as error:
            outcome["error"] = error.reason
            raise
        finally:
            outcome |= self._outcome(went)
            if self._log is not None:
                self._log.write(entry | outcome)

    def _outcome(self, went: _Attempts) -> Json:
        found: Json = {
            "seconds": round(monotonic() - went.started, 3),
            "max_tokens": went.answer_tokens,
            "retries": went.retries,
        }
        last = went.last
        if last is not None:
            found |= {"status": last.status, "request_id": last.request_id}
        if isinstance(last, Replied):
            reply = last.reply
            found |= {"answer": reply.said, "finish_reason": reply.finish_reason}
            found |= {"answered_by": reply.model, "refusal": reply.refusal or None}
        return found

    def _until_answered(
        self,
        request: Request,
        form: Form[t.Any] | None,
        rung: Rung,
        messages: Sequence[Message],
        went: _Attempts,
    ) -> Heard:
        name = request.prompt.name
        response_format = None if form is None else form.response_format(rung)
        schema = response_format.get("json_schema") if response_format else None
        bound = most_tokens(messages, schema)
        while True:
            reservation = self._budget.reserve(name, bound)
            went.answer_tokens = reservation.answer_tokens
            body = self._body(request, messages, response_format, reservation)
            went.last = None
            try:
                went.last = self._endpoint.send(body)
            finally:
                if went.last is None:  # interrupted: the endpoint works on it
                    self._budget.lose(reservation)
            outcome = went.last
            if isinstance(outcome, Replied):
                return self._heard(request.prompt, messages, outcome.reply, reservation, went)
            if outcome.may_be_billed:
                self._budget.lose(reservation)
            else:
                self._budget.release(reservation)
            if self._knows_other_field(outcome):
                went.retries.append({"reason": outcome.reason, "wait_s": 0.0})
                continue
            error = self._error(name, outcome, len(went.retries))
            if response_format is not None and self._is_about_form(outcome):
                raise _FormRefusedError(outcome.reason)
            if not outcome.passes or len(went.retries) >= self._settings.max_retries:
                raise error
            went.late += outcome.is_late
            if went.late > _MOST_LATE:
                raise error
            self._wait(outcome, went, error)

    def _body(
        self,
        request: Request,
        messages: Sequence[Message],
        response_format: Json | None,
        reservation: Reservation,
    ) -> Json:
        body: Json = {
            "messages": [{"role": one.role, "content": _sendable(one.content)} for one in messages]
        }
        if response_format is not None:
            body["response_format"] = response_format
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body["seed"] = request.seed
        if reservation.answer_tokens is not None:
            body[self._limit_field] = reservation.answer_tokens
        return body

    def _knows_other_field(self, failed: Failed) -> bool:
        """Turn to the newer name of the limit where an endpoint refuses the older one."""
        if self._limit_field != "max_tokens" or failed.status != 400:
            return False
        if "max_completion_tokens" not in failed.reason:
            return False
        self._limit_field = "max_completion_tokens"
        return True

    def _is_about_form(self, failed: Failed) -> bool:
        if not self._is_found_out or failed.code in _UNRELATED:
            return False
        if failed.status == 400:
            return True
        words = f"{failed.param} {failed.reason}"
        return failed.status in _FORM_REFUSALS and (
            "response_format" in words or "json_schema" in words or "json_object" in words
        )

    def _wait(self, failed: Failed, went: _Attempts, error: LanguageModelError) -> None:
        number = len(went.retries)
        wait_s = self._settings.backoff_s * 2**number
        if failed.wait_s is not None:
            wait_s = failed.wait_s
        if wait_s > self._settings.retry_after_cap_s:
            raise LanguageModelError(
                f"{error}. It asks to wait for {wait_s:,.0f} s, more than the "
                f"{self._settings.retry_after_cap_s:,.0f} s that are waited for"
            )
        went.retries.append(
            {"status": failed.status, "reason": failed.reason, "wait_s": round(wait_s, 3)}
        )
        if number == 0 or wait_s >= 2:
            self._tell(f"language model: {failed.reason}; trying again in {wait_s:.3g} s")
        sleep(wait_s)

    def _error(self, name: str, failed: Failed, retries: int) -> LanguageModelError:
        tried = f", after {retries + 1} attempts" if retries else ""
        stop = "" if failed.reason.endswith(("?", "!")) else "."
        hint = f"{stop} {failed.hint}" if failed.hint else ""
        return LanguageModelError(f"{self._where(name)}{tried}: {failed.reason}{hint}")

    def _heard(
        self,
        prompt: Prompt,
        messages: Sequence[Message],
        reply: Reply,
        reservation: Reservation,
        went: _Attempts,
    ) -> Heard:
        tokens = reply.tokens or (
            sum(likely_tokens(one.content) for one in messages),
            likely_tokens(reply.said),
        )
        if reply.tokens is not None:
            self._budget.settle(reservation, *tokens)
        else:
            self._not_counted(reservation)
        price = self._settings.price
        usage = Usage(
            calls=1,
            prompt_tokens=tokens[0],
            completion_tokens=tokens[1],
            seconds=monotonic() - went.started,
            cost=None if price is None else price.cost(*tokens),
            estimated_calls=int(reply.tokens is None),
        )
        self._ledger.add(usage)
        answer = Answer(reply.text, usage, reply.model, reply.finish_reason)
        return Heard(answer, self._problem(prompt, reply, answer, reservation))

    def _not_counted(self, reservation: Reservation) -> None:
        """Keep what was reserved for a call whose tokens nobody counts."""
        if self._budget.is_limited:
            self._budget.lose(reservation)
        self._tell_once(
            "language model: the endpoint does not count tokens; they are estimated, one for each "
            "four bytes"
        )

    def _problem(
        self, prompt: Prompt, reply: Reply, answer: Answer, reservation: Reservation
    ) -> LanguageModelError | None:
        """Return why an answer cannot be used, if so."""
        problem = reply.problem
        if reply.finish_reason == "length":
            if reservation.is_cut:
                return self._budget.cut(prompt.name, reservation.answer_tokens)
            tokens, limit = answer.usage.completion_tokens, reservation.answer_tokens
            mend = "ask for less, or set answer-tokens, if the endpoint allows longer ones"
            if limit is not None and tokens >= limit:
                mend = f"raise answer-tokens, which is {limit:,}, or ask for less"
            problem = f"the answer was cut off after {tokens:,} tokens: {mend}"
        if problem is None:
            return None
        return ModelAnswerError(
            f"{self._where(prompt.name)}: {problem}",
            text=answer.text,
            finish_reason=answer.finish_reason,
            answer=answer,
        )

    def _where(self, name: str) -> str:
        return f'language model {self._settings.base_url}, call "{name}"'

    def _tell_once(self, text: str) -> None:
        with self._lock:
            if text in self._told:
                return
            self._told.add(text)
        self._tell(text)


def _sendable(text: str) -> str:
    """Return a text as UTF-8 can have it: file names of other encodings cannot be sent."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _usage_json(usage: Usage) -> Json:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": usage.cost,
        "estimated": bool(usage.estimated_calls),
    }


class Ledger:
    """Adds up what calls took."""

    def __init__(self, *, is_priced: bool) -> None:
        self.total = Usage(cost=0.0 if is_priced else None)
        self._lock = threading.Lock()

    def add(self, usage: Usage) -> None:
        """Take in a call."""
        with self._lock:
            self.total += usage
