"""Settings that a language model proposes: those out of the space are refused, and asked again."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from couler.errors import ModelAnswerError
from couler.llm import LanguageModel, Message, Prompt
from couler.tuning.cards import as_data
from couler.tuning.space import SearchSpace, key_of

_TRIES = 3
"""How often is asked until there are as many as are wanted."""

_MOST_TOLD = 20
"""Of more refusals an answer is told these."""

_Scalar: t.TypeAlias = bool | int | float | str | None


class NamedValue(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    value: _Scalar | tuple[_Scalar, ...]


class ProposedSetting(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    parameters: tuple[NamedValue, ...]


class ProposedSettings(BaseModel):
    """What is asked for. A list of names and values, since a schema has no free keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: tuple[ProposedSetting, ...]


@dataclass
class Proposals:
    """Settings that a model proposed, and why others were refused."""

    settings: list[dict[str, t.Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def ask_for_settings(
    model: LanguageModel,
    prompt: Prompt,
    space: SearchSpace,
    count: int,
    known: set[str],
    *,
    temperature: float | None = None,
    seed: int | None = None,
) -> Proposals:
    """Ask for new settings, and again where some are out of the space, a few times at most."""
    found = Proposals()
    taken = set(known)
    for _ in range(_TRIES):
        try:
            answer = model.ask_for(prompt, ProposedSettings, temperature=temperature, seed=seed)
        except ModelAnswerError as error:
            found.refused.append(" ".join(str(error).split())[:500])
            continue
        refusals: list[str] = []
        for one in answer.value.settings:
            if len(found.settings) == count:
                break
            setting = {named.name: named.value for named in one.parameters}
            problems = _problems(one, setting, space, taken)
            if problems:
                refusals.append(f"{as_data(setting):.300}: {'; '.join(problems):.500}")
                continue
            exact = space.exact(setting)
            taken.add(key_of(exact))
            found.settings.append(exact)
        found.refused += refusals
        missing = count - len(found.settings)
        if not missing:
            break
        told = "\n".join(f"- {one}" for one in refusals[:_MOST_TOLD])
        refused = f"These are not taken:\n{told}\n" if told else ""
        again = f"{refused}Propose {missing} more, all new and in the space."
        prompt = prompt.followed_by(
            Message("assistant", answer.answer.text), Message("user", again)
        )
    return found


def _problems(
    proposed: ProposedSetting, setting: dict[str, t.Any], space: SearchSpace, taken: set[str]
) -> list[str]:
    if len(setting) < len(proposed.parameters):
        return ["it names a hyperparameter twice"]
    if problems := space.problems(setting):
        return problems
    return ["it is not new"] if key_of(space.exact(setting)) in taken else []
