"""Endpoints that answer from scripts, and models that are opened on them."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from pydantic import BaseModel

from couler.llm import LlmSettings, Message, Prompt, open_model
from couler.llm.client import OpenedModel
from tests.fakes.llm import ScriptedServer
from tests.llm.raw_server import Send, Serve, Server
from tests.support.http_server import serving

KEY = "sk-secret-of-these-tests-0123456789"

PROMPT = Prompt(
    "decompose",
    "2",
    (
        Message("system", "couler prompt: decompose v2\nYou split texts."),
        Message("user", "Split this."),
    ),
)

Rules = Sequence[Mapping[str, t.Any]]


class Task(BaseModel):
    """A form of an answer."""

    name: str
    parts: list[str] = []


class World:
    """An endpoint with a script, what a user is told, and models on it."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._stack = stack
        self.folder = folder
        self.told: list[str] = []
        self._server: ScriptedServer | None = None

    @property
    def server(self) -> ScriptedServer:
        assert self._server is not None
        return self._server

    @property
    def log(self) -> Path:
        return self.folder / "logs" / "calls.jsonl"

    def serve(self, rules: Rules | Mapping[str, t.Any]) -> ScriptedServer:
        """Start an endpoint."""
        self._server = self._stack.enter_context(ScriptedServer(rules, folder=self.folder))
        return self._server

    def settings(self, **fields: t.Any) -> LlmSettings:
        """Return settings for the endpoint."""
        chosen: dict[str, t.Any] = {
            "model": "scripted",
            "api_key": KEY,
            "timeout_s": 30.0,
            **fields,
        }
        if "base_url" not in chosen:
            chosen["base_url"] = self.server.base_url
        return LlmSettings(**chosen)

    def open(self, **fields: t.Any) -> OpenedModel:
        """Open a model, which is closed after the test."""
        files = {name: fields.pop(name) for name in ("record", "replay") if name in fields}
        opened = open_model(self.settings(**fields), log=self.log, tell=self.told.append, **files)
        return self._stack.enter_context(opened)

    def model(self, rules: Rules | Mapping[str, t.Any], **fields: t.Any) -> OpenedModel:
        """Start an endpoint and open a model on it."""
        self.serve(rules)
        return self.open(**fields)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name in set(os.environ):
        if name.startswith(("COULER_LLM", "OPENAI_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    with ExitStack() as stack:
        yield World(stack, tmp_path)


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(send: Send) -> Server:
            server = stack.enter_context(serving(Server(send)))
            stack.callback(server.closed.set)
            return server

        yield start
