"""A server that speaks the protocol of language models and answers from a script, for tests."""

from tests.fakes.llm.asked import Asked as Asked
from tests.fakes.llm.script import Rule as Rule, Script as Script
from tests.fakes.llm.server import Exchange as Exchange, ScriptedServer as ScriptedServer

__all__ = ["Asked", "Exchange", "Rule", "Script", "ScriptedServer"]
