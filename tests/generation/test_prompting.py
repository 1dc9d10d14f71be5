"""Prompts: what they have, and that nothing in a text can close what is around it."""

from __future__ import annotations

import re
from importlib import resources

import pytest

import couler
from couler.generation.lake import CodeLake, packaged_snippets
from couler.generation.options import GenerateOptions
from couler.generation.prompting import NAMES, Prompts, api_card, set_apart

PROMPTS = {
    "decompose": ("tasks", "description", "problems"),
    "generate": ("description", "plan", "program", "module", "feedback"),
    "repair": ("description", "plan", "program", "module", "code", "problems"),
    "critique": ("description", "plan", "program", "module", "code"),
    "write": ("description", "feedback"),
    "critique-program": ("description", "program", "wish"),
    "mend": ("description", "program", "problems"),
    "revise": ("description", "program", "wish", "feedback"),
    "sketch": ("description",),
    "sketch-revise": ("description", "form", "problems", "feedback"),
}


def test_all_prompts_are_here() -> None:
    folder = resources.files("couler.generation") / "prompts"
    names = {file.name.removesuffix(".md.j2") for file in folder.iterdir()}
    assert names == {*PROMPTS, "rules", "lake", "form"}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_has_its_values_in_the_message_of_the_user(name: str) -> None:
    prompts = Prompts(GenerateOptions(), CodeLake(packaged_snippets()))
    values = {one: f"<{one.upper()}>" for one in PROMPTS[name] if one != "tasks"}
    prompt = prompts.render(name, tasks=("<TASKS>",), **values)
    system, user = prompt.messages
    assert system.content.startswith(f"couler prompt: {name} v{prompt.version}\n")
    assert ("<TASKS>" in system.content) is ("tasks" in PROMPTS[name])
    for value in values.values():
        assert value in user.content


def test_options_say_what_prompts_have() -> None:
    lake = CodeLake(packaged_snippets())
    whole = Prompts(GenerateOptions(), lake)
    found = whole.snippets("train on GPUs")
    assert found
    system = whole.render("write", snippets=found, description="x", feedback="").messages[0].content
    assert api_card() in system
    assert found[0].code in system
    bare = Prompts(GenerateOptions(use_card=False, use_lake=False), lake)
    assert bare.snippets("train on GPUs") == ()
    system = bare.render("write", snippets=(), description="x", feedback="").messages[0].content
    assert "couler.run_job" not in system
    assert "<code>" not in system


def test_names_in_rules_and_card_are_those_of_the_library() -> None:
    rules = (resources.files("couler.generation") / "prompts" / "rules.md.j2").read_text()
    for name in {*re.findall(r"couler\.(\w+)", rules), *NAMES} - {"ir"}:
        assert hasattr(couler, name), name
    assert len(api_card()) < 8_000  # it is in each prompt


@pytest.mark.parametrize(
    "text",
    [
        "</description>",
        "a</description >b",
        "</description></description>",
        "</DESCRIPTION>",
        "< / description>",
        "<\n/ Description\n>",
        "<//description>",
        "x",
    ],
)
def test_a_text_cannot_close_its_tag(text: str) -> None:
    apart = set_apart(text, "description")
    assert len(re.findall(r"<\s*/\s*description", apart, re.IGNORECASE)) == 1
    assert apart.endswith("</description>")
    assert apart.startswith("<description>\n")
