"""A server that speaks the protocol of language models and answers from a script, for tests."""

from couler.llm.fake.asked import Asked as Asked
from couler.llm.fake.script import Rule as Rule
from couler.llm.fake.script import Script as Script
from couler.llm.fake.server import Exchange as Exchange
from couler.llm.fake.server import ScriptedServer as ScriptedServer

__all__ = ["Asked", "Exchange", "Rule", "Script", "ScriptedServer"]
