"""Language models for one run: an endpoint, or a recording of one."""

from __future__ import annotations

import logging
import typing as t
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from couler.errors import ConfigurationError, LanguageModelError, ModelAnswerError
from couler.llm.budget import Budget
from couler.llm.call_log import JsonLines
from couler.llm.dialogue import Answer, M, Parsed, Prompt, Usage
from couler.llm.recording import Replay, Request, entry_of
from couler.llm.settings import LlmSettings, check_complete, check_temperature
from couler.llm.structured import FormError, read_form, repair_turn

if t.TYPE_CHECKING:
    from pydantic import BaseModel

    from couler.llm.endpoint import Endpoint


class OpenedModel:
    """An endpoint, or a recording of one, for one run. Threads may share it."""

    def __init__(
        self,
        settings: LlmSettings,
        budget: Budget,
        source: Endpoint | Replay,
        recorder: JsonLines | None = None,
    ) -> None:
        self._settings = settings
        self._budget = budget
        self._source = source
        self._recorder = recorder

    @property
    def usage(self) -> Usage:
        """Usage of all calls so far; in a replay as it was recorded."""
        return self._budget.total

    @property
    def structured(self) -> str | None:
        """How forms are requested: by `schema` or in the `text` of prompts; None for a replay."""
        return None if isinstance(self._source, Replay) else self._source.structured

    def ask(
        self, prompt: Prompt, *, temperature: float | None = None, seed: int | None = None
    ) -> Answer:
        """Return the answer of the model; as `LanguageModel.ask`."""
        return self._ask(self._request(prompt, None, temperature, seed))

    def ask_for(
        self,
        prompt: Prompt,
        schema: type[M],
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> Parsed[M]:
        """Return the answer of the model as a pydantic model; its form is repaired once."""
        request = self._request(prompt, schema, temperature, seed)
        first = self._ask(request)
        try:
            return Parsed(read_form(schema, first.text), first)
        except FormError as error:
            fault = error
        if not isinstance(self._source, Replay) and not first.text.lstrip().startswith("{"):
            self._source.stop_sending_schemas("language model: the answer to a schema is no JSON")
        again = replace(request, prompt=prompt.followed_by(*repair_turn(first.text, fault)))
        try:
            second = self._ask(again, in_words=True)
        except LanguageModelError as error:
            last = error.answer
            error.answer = replace(last, usage=first.usage + last.usage) if last else first
            raise
        second = replace(second, usage=first.usage + second.usage)
        try:
            return Parsed(read_form(schema, second.text), second)
        except FormError as error:
            address = self._settings.base_url if self.structured else "of a recording"
            raise ModelAnswerError(
                f'language model {address}, call "{prompt.name}": the answer has '
                f"not the form {schema.__name__}, also when asked to fix it: {error}. It begins "
                f"{second.text.strip()[:80]!r}",
                text=second.text,
                finish_reason=second.finish_reason,
                answer=second,
            ) from None

    def _request(
        self,
        prompt: Prompt,
        schema: type[BaseModel] | None,
        temperature: float | None,
        seed: int | None,
    ) -> Request:
        settings = self._settings
        check_temperature(temperature)
        return Request(
            prompt,
            schema,
            settings.temperature if temperature is None else temperature,
            settings.seed if seed is None else seed,
        )

    def _ask(self, request: Request, *, in_words: bool = False) -> Answer:
        if isinstance(self._source, Replay):
            result = self._source.answer(request)
            self._budget.add(request.prompt.name, result.answer.usage)
        else:
            result = self._source.call(request, in_words=in_words)
        if self._recorder is not None:
            self._recorder.write(entry_of(request, result))
        if result.error is not None:
            raise result.error
        return result.answer


@contextmanager
def open_model(
    settings: LlmSettings,
    *,
    log: Path | None = None,
    record: Path | None = None,
    replay: Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> Iterator[OpenedModel]:
    """Open a language model for one run."""
    if record is not None and replay is not None:
        raise ConfigurationError(
            "language model: a dialogue is recorded or replayed, not both: leave one out"
        )
    if replay is not None:
        yield OpenedModel(settings, Budget(LlmSettings(), is_priced=True), Replay(replay))
        return
    try:
        from couler.llm.endpoint import Endpoint
    except ModuleNotFoundError as error:
        if error.name != "openai":
            raise
        raise ConfigurationError(
            "calling language models needs an extra: pip install 'couler[llm]'"
        ) from error
    check_complete(settings)
    budget = Budget(settings, is_priced=settings.price is not None)
    key = settings.api_key
    tell = tell or logging.getLogger("couler.llm").warning
    with (
        _opened(log, "the log of language models", key) as calls,
        _opened(record, "the recording of a dialogue", key, fresh=True) as recorder,
        closing(Endpoint(settings, budget, calls, tell)) as endpoint,
    ):
        yield OpenedModel(settings, budget, endpoint, recorder)


def _opened(
    path: Path | None, what: str, key: str, *, fresh: bool = False
) -> AbstractContextManager[JsonLines | None]:
    return nullcontext() if path is None else closing(JsonLines(path, what, key, fresh=fresh))
