"""Opening an endpoint for one run."""

from __future__ import annotations

import logging
import typing as t
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from couler.errors import ConfigurationError, ModelAnswerError
from couler.llm.budget import Budget
from couler.llm.call_log import CallLog
from couler.llm.calling import Caller, Ledger
from couler.llm.dialogue import Answer, Heard, M, Message, Parsed, Prompt, Usage
from couler.llm.masking import Mask
from couler.llm.recording import Recorder, Replay, Request
from couler.llm.settings import LlmSettings, check_temperature

if t.TYPE_CHECKING:
    from couler.llm.structured import Form


class OpenedModel:
    """An endpoint, or a recording of one, for one run. Threads may share it."""

    def __init__(
        self,
        settings: LlmSettings,
        ledger: Ledger,
        source: Caller | Replay,
        recorder: Recorder | None,
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._source = source
        self._recorder = recorder

    @property
    def usage(self) -> Usage:
        """What all calls of this run took so far; those of a replay as they were recorded."""
        return self._ledger.total

    @property
    def rung(self) -> str | None:
        """How forms of answers are asked for now; None for a replay."""
        return None if isinstance(self._source, Replay) else self._source.rung

    def ask(
        self, prompt: Prompt, *, temperature: float | None = None, seed: int | None = None
    ) -> Answer:
        """Return what the model answers; as `LanguageModel.ask`."""
        return self._heard(self._request(prompt, None, temperature, seed), None)

    def ask_for(
        self,
        prompt: Prompt,
        schema: type[M],
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> Parsed[M]:
        """Return what the model answers in the form of a pydantic model."""
        from couler.llm.structured import Form, FormError, below, is_json, repair_text

        form = Form(schema)
        request = self._request(prompt, form, temperature, seed)
        rung = self.rung
        first = self._heard(request, form)
        try:
            return Parsed(form.read(first.text), first)
        except FormError as error:
            problem = error
        if rung in ("schema", "object") and rung == self.rung and not is_json(first.text):
            assert not isinstance(self._source, Replay)  # a replay has no rung
            why = "it takes the better way, but its answer is no JSON"
            self._source.step_down(below(t.cast("t.Any", rung)), why)
        turn = (Message("assistant", first.text), Message("user", repair_text(problem)))
        again = replace(request, prompt=prompt.followed_by(*turn))
        try:
            second = self._heard(again, form, in_words=True)
        except ModelAnswerError as error:
            if error.answer is not None:
                usage = first.usage + error.answer.usage
                error.answer = replace(error.answer, usage=usage)
            raise
        both = replace(second, usage=first.usage + second.usage)
        try:
            return Parsed(form.read(second.text), both)
        except FormError as error:
            problem = error
        raise ModelAnswerError(
            f'language model {self._address}, call "{prompt.name}": the answer has not '
            f"the form {form.name} that was asked for, and was not mended when its faults were "
            f"named: {problem}. It begins {second.text.strip()[:80]!r}",
            text=second.text,
            finish_reason=second.finish_reason,
            answer=both,
        )

    @property
    def _address(self) -> str:
        return "of a recording" if isinstance(self._source, Replay) else self._settings.base_url

    def _request(
        self,
        prompt: Prompt,
        form: Form[t.Any] | None,
        temperature: float | None,
        seed: int | None,
    ) -> Request:
        settings = self._settings
        check_temperature(temperature)
        return Request(
            prompt,
            None if form is None else form.schema,
            settings.temperature if temperature is None else temperature,
            settings.seed if seed is None else seed,
        )

    def _heard(
        self, request: Request, form: Form[t.Any] | None, *, in_words: bool = False
    ) -> Answer:
        heard = self._ask_source(request, form, in_words)
        if self._recorder is not None:
            self._recorder.write(request, heard)
        if heard.problem is not None:
            raise heard.problem
        return heard.answer

    def _ask_source(self, request: Request, form: Form[t.Any] | None, in_words: bool) -> Heard:
        if not isinstance(self._source, Replay):
            return self._source.call(request, form, in_words=in_words)
        heard = self._source.answer(request)
        self._ledger.add(heard.answer.usage)
        return heard


@contextmanager
def open_model(
    settings: LlmSettings,
    *,
    log: Path | None = None,
    record: Path | None = None,
    replay: Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> Iterator[OpenedModel]:
    """Open an endpoint for one run."""
    if record is not None and replay is not None:
        raise ConfigurationError(
            "language model: a dialogue is recorded or replayed, not both: leave one out"
        )
    ledger = Ledger(is_priced=replay is not None or settings.price is not None)
    if replay is not None:
        yield OpenedModel(settings, ledger, Replay(replay), None)
        return
    from couler.llm.endpoint import Endpoint

    tell = tell or logging.getLogger("couler.llm").warning
    mask = Mask(settings.api_key)
    with ExitStack() as stack:
        endpoint = stack.enter_context(closing(Endpoint(settings, mask)))
        budget = Budget(settings)
        calls = None if log is None else stack.enter_context(closing(CallLog(log, mask)))
        recorder = None if record is None else stack.enter_context(closing(Recorder(record, mask)))
        caller = Caller(settings, endpoint, budget, ledger, calls, tell)
        yield OpenedModel(settings, ledger, caller, recorder)
