"""Prompts are files with a version, one for each role of a call."""

from __future__ import annotations

import re
import typing as t
from importlib.resources import files

from couler.llm.dialogue import Message, Prompt, Role

if t.TYPE_CHECKING:
    import jinja2

TITLE = "couler prompt: "
"""How the first line of a system message begins; `<name> v<version>` follows."""

_FRONT = re.compile(r"---\n(?P<fields>.*?)^---\n(?P<rest>.*)", re.S | re.M)
_FIELD = re.compile(r"version:\s*(?P<version>[\w.-]+)\s*")
_SECTION = re.compile(r"^# (system|user|assistant)[ \t]*\n", re.M)


def render_prompt(package: str, name: str, /, **values: object) -> Prompt:
    """Return a prompt of a package, with values filled in."""
    import jinja2

    text = _read(package, f"{name}.md.j2")
    where = f"the prompt {name} of {package}"
    front = _FRONT.fullmatch(text) if text is not None else None
    if text is None:
        raise ValueError(f"{where} is missing: there is no file prompts/{name}.md.j2")
    field = _FIELD.fullmatch(front["fields"]) if front else None
    if front is None or field is None:
        raise ValueError(f"{where} must begin with ---, a line `version: N`, and ---")
    before, *parts = _SECTION.split(front["rest"])
    if before.strip() or parts[0::2][:1] != ["system"] or "user" not in parts[0::2]:
        raise ValueError(f"{where} must have a section `# system`, then a section `# user`")
    environment = _environment(package)
    messages = []
    for role, source in zip(parts[0::2], parts[1::2], strict=True):
        try:
            content = environment.from_string(source.strip()).render(values).strip()
        except jinja2.TemplateError as error:
            raise ValueError(f"{where}, section {role}: {error}") from error
        messages.append(Message(t.cast("Role", role), content))
    title = f"{TITLE}{name} v{field['version']}"
    messages[0] = Message("system", f"{title}\n{messages[0].content}")
    return Prompt(name, field["version"], tuple(messages))


def _environment(package: str) -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: _read(package, name)),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # what is made is text, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _read(package: str, name: str) -> str | None:
    file = files(package) / "prompts" / name
    return file.read_text(encoding="utf-8") if file.is_file() else None
