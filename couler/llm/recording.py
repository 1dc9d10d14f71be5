"""Recorded dialogues: requests and answers in a file, replayed without a network."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from couler.errors import (
    ConfigurationError,
    LanguageModelError,
    ModelAnswerError,
    ModelBudgetError,
)
from couler.hidden import whole
from couler.llm.call_log import Json, read_lines
from couler.llm.dialogue import Answer, CallResult, Prompt, Usage

RECORDING_VERSION = 1


@dataclass(frozen=True, slots=True)
class Request:
    """What an answer depends on, however the endpoint is asked for the form."""

    prompt: Prompt
    schema: type[BaseModel] | None
    temperature: float | None
    seed: int | None

    @property
    def key(self) -> str:
        """Digest that equal requests share."""
        parts = {
            "messages": [[one.role, one.content] for one in self.prompt.messages],
            "schema": None if self.schema is None else self.schema.model_json_schema(),
            "temperature": None if self.temperature is None else float(self.temperature),
            "seed": self.seed,
        }
        text = json.dumps(parts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def entry_of(request: Request, result: CallResult) -> Json:
    """Return the entry of a recording."""
    answer, usage, error = result.answer, result.answer.usage, result.error
    return {
        "schema_version": RECORDING_VERSION,
        "key": request.key,
        "prompt": {"name": request.prompt.name, "version": request.prompt.version},
        "temperature": request.temperature,
        "seed": request.seed,
        "messages": [one._asdict() for one in request.prompt.messages],
        "answer": {
            "text": answer.text,
            "model": answer.model,
            "finish_reason": answer.finish_reason,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "estimated": bool(usage.estimated_calls),
            "seconds": usage.seconds,
            "cost": usage.cost,
        },
        "problem": None if error is None else str(error),
        "is_budget": isinstance(error, ModelBudgetError),
    }


class Replay:
    """Answers equal requests in the order in which they were recorded."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._recorded: dict[str, list[CallResult]] = defaultdict(list)
        self._used: dict[str, int] = defaultdict(int)
        for where, entry in read_lines(path, "recorded answer", RECORDING_VERSION):
            try:
                self._recorded[entry["key"]].append(_result(entry))
            except (KeyError, TypeError, ValueError) as error:
                raise ConfigurationError(
                    f"{where}: this is no recorded answer: {error!r}"
                ) from error

    def answer(self, request: Request) -> CallResult:
        """Return the next recorded answer to a request."""
        with self._lock:
            recorded, used = self._recorded[request.key], self._used[request.key]
            if used < len(recorded):
                self._used[request.key] += 1
                return recorded[used]
        prompt = request.prompt
        where = f'replay of {self._path}: the request "{prompt.name}" v{prompt.version}'
        if recorded:
            raise LanguageModelError(
                f"{where} is recorded {used} time{'s' * (used != 1)}, but was made {used + 1} "
                "times. Record the dialogue again"
            )
        last = prompt.messages[-1].content if prompt.messages else ""
        raise LanguageModelError(
            f"{where} (turn {len(prompt.messages)}, temperature {request.temperature}, seed "
            f"{request.seed}) is not recorded. Prompts, schemas, temperatures and seeds must be "
            f"those of the recording; the last message begins {last[:80]!r}. Record the dialogue "
            "again"
        )


def _result(recorded: Json) -> CallResult:
    entry = recorded["answer"]
    usage = Usage(
        calls=1,
        prompt_tokens=int(entry["prompt_tokens"]),
        completion_tokens=int(entry["completion_tokens"]),
        seconds=float(entry["seconds"]),
        cost=entry["cost"],
        estimated_calls=int(entry["estimated"]),
    )
    answer = Answer(whole(entry["text"]), usage, entry["model"], entry["finish_reason"])
    message = recorded["problem"]
    if message is None:
        return CallResult(answer)
    if recorded["is_budget"]:
        return CallResult(answer, ModelBudgetError(message, answer=answer))
    error = ModelAnswerError(
        message, text=answer.text, finish_reason=answer.finish_reason, answer=answer
    )
    return CallResult(answer, error)
