"""Endpoints of language models: calls within budgets, logged, recorded and replayed."""

from couler.llm.dialogue import Answer as Answer
from couler.llm.dialogue import LanguageModel as LanguageModel
from couler.llm.dialogue import Message as Message
from couler.llm.dialogue import Parsed as Parsed
from couler.llm.dialogue import Prompt as Prompt
from couler.llm.dialogue import Usage as Usage
from couler.llm.opening import open_model as open_model
from couler.llm.prompt_files import render_prompt as render_prompt
from couler.llm.reading import settings_from_environ as settings_from_environ
from couler.llm.settings import LlmSettings as LlmSettings
from couler.llm.settings import Price as Price

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
