"""Dialogues in a file: recorded once, answered from it without a network ever after."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import typing as t
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from couler.errors import (
    ConfigurationError,
    LanguageModelError,
    ModelAnswerError,
    ModelBudgetError,
)
from couler.hidden import whole
from couler.llm.call_log import line_of, open_private, write_all
from couler.llm.dialogue import Answer, Heard, Prompt, Usage
from couler.llm.masking import Mask

SCHEMA_VERSION = 1
"""Of the lines of a recording."""


@dataclass(frozen=True, slots=True)
class Request:
    """What an answer depends on, whichever way the endpoint is given the form."""

    prompt: Prompt
    schema: Mapping[str, t.Any] | None
    temperature: float | None
    seed: int | None

    @property
    def key(self) -> str:
        """What requests have in common that are equal, as hexadecimal."""
        parts = {
            "messages": [[one.role, one.content] for one in self.prompt.messages],
            "schema": self.schema,
            "temperature": None if self.temperature is None else float(self.temperature),
            "seed": self.seed,
        }
        text = json.dumps(parts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class Recorder:
    """Writes requests and their answers to a new file."""

    def __init__(self, path: Path, mask: Mask) -> None:
        self._mask = mask
        self._lock = threading.Lock()
        self._file = open_private(path, "the recording of a dialogue", fresh=True)

    def write(self, request: Request, heard: Heard) -> None:
        """Append a request and its answer."""
        answer, problem = heard.answer, heard.problem
        entry = {
            "schema_version": SCHEMA_VERSION,
            "key": request.key,
            "prompt": {"name": request.prompt.name, "version": request.prompt.version},
            "temperature": request.temperature,
            "seed": request.seed,
            "messages": [one._asdict() for one in request.prompt.messages],
            "answer": {
                "text": answer.text,
                "model": answer.model,
                "finish_reason": answer.finish_reason,
                "prompt_tokens": answer.usage.prompt_tokens,
                "completion_tokens": answer.usage.completion_tokens,
                "estimated": bool(answer.usage.estimated_calls),
                "seconds": answer.usage.seconds,
                "cost": answer.usage.cost,
            },
            "problem": None if problem is None else str(problem),
            "is_budget": isinstance(problem, ModelBudgetError),
        }
        with self._lock:
            write_all(self._file, line_of(self._mask.of(entry)))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class Replay:
    """Answers from a recording: equal requests in the order in which they were recorded."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._answers: dict[str, deque[Heard]] = defaultdict(deque)
        self._given: dict[str, int] = defaultdict(int)
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except FileNotFoundError as error:
            raise ConfigurationError(f"there is no recording {path}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{path} cannot be read: {error}") from error
        for number, line in enumerate(lines, start=1):
            if not line:
                continue
            try:
                entry = json.loads(line)
                if entry["schema_version"] != SCHEMA_VERSION:
                    raise ValueError(f"its schema_version is not {SCHEMA_VERSION}")
                self._answers[entry["key"]].append(_heard(entry))
            except (KeyError, TypeError, ValueError) as error:
                raise ConfigurationError(
                    f"{path}, line {number}: this is no recorded answer: {error!r}"
                ) from error

    def answer(self, request: Request) -> Heard:
        """Return what was answered to a request."""
        key = request.key
        with self._lock:
            if self._answers.get(key):
                self._given[key] += 1
                return self._answers[key].popleft()
            given = self._given[key]
        name = f'"{request.prompt.name}" v{request.prompt.version}'
        if given:
            raise LanguageModelError(
                f"replay of {self._path}: {name} was asked {given + 1} times, word for word, but "
                f"recorded {given} time{'s' * (given != 1)}. Record the dialogue anew"
            )
        last = request.prompt.messages[-1].content if request.prompt.messages else ""
        raise LanguageModelError(
            f"replay of {self._path}: the request {name} (turn {len(request.prompt.messages)}, "
            f"temperature {request.temperature}, seed {request.seed}) is not in it. Prompts, "
            f"schemas, temperatures and seeds must be those of the recording; its last message "
            f"begins {last[:80]!r}. Record the dialogue anew"
        )


def _heard(recorded: Mapping[str, t.Any]) -> Heard:
    entry = recorded["answer"]
    usage = Usage(
        calls=1,
        prompt_tokens=entry["prompt_tokens"],
        completion_tokens=entry["completion_tokens"],
        seconds=entry["seconds"],
        cost=entry["cost"],
        estimated_calls=int(entry["estimated"]),
    )
    text, reason = whole(entry["text"]), entry["finish_reason"]
    answer = Answer(text, usage, entry["model"], reason)
    problem: LanguageModelError | None = None
    if recorded["is_budget"]:
        problem = ModelBudgetError(recorded["problem"])
    elif recorded["problem"] is not None:
        problem = ModelAnswerError(
            recorded["problem"], text=text, finish_reason=reason, answer=answer
        )
    return Heard(answer, problem)
