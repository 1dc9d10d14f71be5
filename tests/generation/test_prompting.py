"""Prompts: what they have, and that nothing in a text can close what is around it."""

from __future__ import annotations

import ast
import re
from importlib import resources

import pytest

import couler
from couler.box import build_program
from couler.generation.card import api_card
from couler.generation.lake import CodeLake, packaged_snippets
from couler.generation.prompting import PROMPT_TOKENS, Prompts, set_apart
from couler.llm.budget import likely_tokens
from couler.stages.checks import diagnose

PROMPTS = {
    "decompose": ("description",),
    "extend": ("description", "request", "program", "feedback"),
    "critique": ("description", "request", "program"),
    "write": ("description",),
    "repair": ("description", "request", "program", "problems"),
    "revise": ("description", "request", "program"),
    "sketch": ("description",),
    "sketch-revise": ("description", "form", "problems", "feedback"),
}
RULES = resources.files("couler.generation") / "prompts" / "rules.md.j2"


def test_all_prompts_are_here() -> None:
    folder = resources.files("couler.generation") / "prompts"
    names = {file.name.removesuffix(".md.j2") for file in folder.iterdir()}
    assert names == {*PROMPTS, "rules", "lake", "form"}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_has_its_values_in_the_message_of_the_user(name: str) -> None:
    values = {one: f"<{one.upper()}>" for one in PROMPTS[name]}
    prompt, _ = Prompts(CodeLake(())).render(name, "", **values)
    system, user = prompt.messages
    assert system.content.startswith(f"couler prompt: {name} v{prompt.version}\n")
    for value in values.values():
        assert value in user.content
        assert value not in system.content


def test_a_prompt_has_what_fits_a_text_within_its_bound() -> None:
    prompts = Prompts(CodeLake(packaged_snippets()))
    prompt, names = prompts.render("write", "distributed training with PyTorch", description="x")
    system = prompt.messages[0].content
    assert api_card() in system
    assert "couler.steps.pytorch.train" in names
    assert "# couler.steps.pytorch.train(image," in system
    long = "distributed training with PyTorch on volumes and locks " * 100
    for text in ("", "a volume for the dataset", long[:800]):
        prompt, _ = prompts.render("write", text, description=text)
        assert sum(likely_tokens(one.content) for one in prompt.messages) <= PROMPT_TOKENS
    prompt, names = prompts.render("write", long, description=long * 10)
    assert names == ()


def test_the_program_of_the_rules_builds() -> None:
    """It shows each form, so this fails if a form changes."""
    program = RULES.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    built = build_program(program)
    assert built.diagnostics == ()
    assert built.workflow is not None
    assert diagnose(built.workflow) == ()


def test_names_in_rules_are_those_of_the_library() -> None:
    for name in {*re.findall(r"couler\.(\w+)", RULES.read_text())} - {"ir"}:
        assert hasattr(couler, name), name


def test_each_option_of_an_example_is_in_the_card() -> None:
    """Or in the signature beside it, which is there where the card only names what is used."""
    options = set(api_card().rpartition("OPTIONS: ")[2].split(", "))
    for snippet in packaged_snippets():
        for call in ast.walk(ast.parse(snippet.code)):
            if not isinstance(call, ast.Call) or not ast.unparse(call.func).startswith("couler."):
                continue
            named = re.escape(ast.unparse(call.func)) + r"\((.*?)\)(?:: |$)"
            told = " ".join(re.findall(named, f"{api_card()}\n{snippet.code}", re.M))
            known = {*re.findall(r"\w+", told), *(options if "**OPTIONS" in told else ())}
            given = {one.arg for one in call.keywords if one.arg is not None}
            assert "**parameters" in told or given <= known, (snippet.name, given - known)


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
