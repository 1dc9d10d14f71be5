"""Endpoints of language models: calls within budgets, logged, recorded and replayed."""

from couler.llm.client import open_model
from couler.llm.dialogue import Answer, LanguageModel, Message, Parsed, Prompt, Usage
from couler.llm.prompt_files import render_prompt
from couler.llm.reading import settings_from_environ
from couler.llm.settings import LlmSettings, Price

__all__ = [
    "Answer",
    "LanguageModel",
    "LlmSettings",
    "Message",
    "Parsed",
    "Price",
    "Prompt",
    "Usage",
    "open_model",
    "render_prompt",
    "settings_from_environ",
]
