"""Scripts of the scripted server: which request is answered by what."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)

from couler.errors import ConfigurationError

Json: t.TypeAlias = dict[str, t.Any]

Source: t.TypeAlias = "Path | Script | Mapping[str, t.Any] | Sequence[Mapping[str, t.Any]]"
"""What a script can be given as: a file of YAML, an object of its form, or its rules alone."""


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Texts: t.TypeAlias = t.Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""Several texts; one may stand by itself."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class When(_Part):
    """What requests a rule is for: all that is stated must hold."""

    prompt: str | None = None
    version: t.Annotated[str, BeforeValidator(str)] | None = None
    contains: Texts = ()
    last: Texts = ()
    turn: int | None = Field(default=None, ge=1)
    schema_name: str | None = Field(default=None, alias="schema")
    temperature: float | None = None
    seed: int | None = None


class Said(_Part):
    """What a rule answers: one of a text, a value as JSON, and a file."""

    text: str | None = None
    json_value: JsonValue = Field(default=None, alias="json")
    file: str | None = None
    fence: str | None = None

    @model_validator(mode="after")
    def _one(self) -> t.Self:
        kinds = self.model_fields_set - {"fence"}
        if len(kinds) != 1:
            raise ValueError("a reply has one of text, json and file")
        return self

    def read(self, folder: Path) -> str:
        """Return the whole answer."""
        text = self.text
        if self.file is not None:
            text = (folder / self.file).read_text(encoding="utf-8")
        elif text is None:
            text = json.dumps(self.json_value, ensure_ascii=False)
        if self.fence is None:
            return text
        return f"```{self.fence}\n{text.rstrip()}\n```"


class Counted(_Part):
    """Tokens as a rule has them counted."""

    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)


def _as_said(value: object) -> object:
    return {"text": value} if isinstance(value, str) else value


class Rule(_Part):
    """An answer or a fault, and what requests it is for."""

    when: When = When()
    times: int | None = Field(default=None, ge=1)
    reply: t.Annotated[Said, BeforeValidator(_as_said)] | None = None
    status: int | None = Field(default=None, ge=400, le=599)
    message: str = "as the script says"
    code: str | None = None
    retry_after: float | None = Field(default=None, ge=0)
    rubbish: t.Literal["json", "html", "schema", "choices"] | None = None
    cut: bool = False
    structured: t.Literal["refuse"] | None = None
    refusal: str | None = None
    slow: float = Field(default=0, ge=0)
    finish_reason: str = "stop"
    usage: Counted | t.Literal["none"] | None = None

    @model_validator(mode="after")
    def _does_one_thing(self) -> t.Self:
        stated = [
            name
            for name in ("reply", "status", "rubbish", "structured", "refusal")
            if getattr(self, name) is not None
        ]
        if len(stated) > 1 or (not stated and not self.cut):
            raise ValueError(
                "a rule has one of reply, status, rubbish, structured, refusal and cut, not "
                + (" and ".join(stated) or "none")
            )
        return self


class Script(_Part):
    """What a scripted server answers."""

    rules: tuple[Rule, ...]
    model: str = "scripted"
    structured: t.Literal["refuse"] | None = None
    folder: Path = Field(default=Path(), exclude=True)


def read_script(source: Source, folder: Path | None = None) -> Script:
    """Return a script."""
    if isinstance(source, Script):
        return source
    where = "the script"
    data: object = source
    if isinstance(source, Path):
        where, folder = str(source), folder or source.parent
        data = _load(source)
    if isinstance(data, Sequence) and not isinstance(data, str):
        data = {"rules": list(data)}
    if not isinstance(data, Mapping) or "folder" in data:
        raise ConfigurationError(f"{where}: a script is a mapping with a list of rules")
    try:
        script = Script.model_validate({**data, "folder": folder or Path()})
    except ValidationError as error:
        raise ConfigurationError("\n".join(_problems(where, error))) from error
    for number, rule in enumerate(script.rules, start=1):
        if rule.reply is not None and rule.reply.file is not None:
            _check_file(f"{where}: rule {number}", script.folder / rule.reply.file)
    return script


def _check_file(where: str, file: Path) -> None:
    try:
        file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{where}: the file {file} cannot be read: {error}") from error


def _load(path: Path) -> object:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path} is no YAML: {error}") from error


def _problems(where: str, error: ValidationError) -> list[str]:
    lines = [f"{where} is no script of a language model:"]
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(str(part) for part in one["loc"])
        match one["loc"]:
            case ("rules", int(index), *rest):
                place = f"rule {index + 1}" + "".join(f", {part}" for part in rest)
        lines.append(f"  {place}: {one['msg'].removeprefix('Value error, ')}")
    return lines
