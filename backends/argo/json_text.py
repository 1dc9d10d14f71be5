"""Expressions that take JSON apart as text, as decoding it loses digits and the order of keys."""

from __future__ import annotations

from collections.abc import Iterable

from couler.backends.argo.tags import quote

_NAME = r'^"(?:[^"\\]|\\.)*"'
_TOKENS = r'"(?:[^"\\]|\\.)*"|[-+.\w]+|\S'
_DEPTH = "#acc.n + (# in ['[', '{'] ? 1 : # in [']', '}'] ? -1 : 0)"
_IS_BOUND = "#acc.n == 0 || #acc.n == 1 && # in [',', ']', '}']"


def elements(text: str, *, as_json: bool = True) -> str:
    """Return an expression for the elements of a list, or the members of an object, as texts.

    Elements that are texts have no quotes unless they are wanted as JSON.
    """
    tokens = f"sprig.regexFindAll({quote(_TOKENS)}, {text}, -1)"
    marked = rf"#acc.t + ({_IS_BOUND} ? '\u0001' : #)"
    joined = f"reduce({tokens}, ({{n: {_DEPTH}, t: {marked}}}), {{n: 0, t: ''}}).t"
    found = rf"filter(split({joined}, '\u0001'), # != '')"
    return found if as_json else f"map({found}, # startsWith '\"' ? fromJSON(#) : #)"


def part(text: str, path: Iterable[str | int]) -> str:
    """Return an expression for a part of a JSON text as its producer wrote it; fails if none is."""
    for key in path:
        inside = f"[{_check(key)}, {elements('#')}][1]"
        if isinstance(key, int):
            text = f"map([{text}], {inside}[{key}])[0]"
            continue
        name = f"sprig.regexFind({quote(_NAME)}, #)"
        member = f"reduce({inside}, fromJSON({name}) == {quote(key)} ? # : #acc, nil)"
        member = f"map([{member}], trimPrefix(#, {name} + ':'))[0]"
        text = f"map([{text}], {member})[0]"
    return text


def _check(key: str | int) -> str:
    """Return an expression that fails if `#` is no JSON or has no such part, and names the part."""
    if isinstance(key, int):
        return f"jsonpath(#, '$[{key}]')" if key >= 0 else f"fromJSON('there is no {key}')"
    if not {"\\", "'"}.isdisjoint(key):  # which paths do not take
        return "fromJSON(#)"
    path = f"$['{key}']"
    return f"jsonpath(#, {quote(path)})"


def raw_json(value: str) -> str:
    """Return an expression for a value as JSON with `<`, `>` and `&` as they are."""
    return f"sprig.toRawJson({value})"


def plain(text: str) -> str:
    """Return an expression for what a reader of text gets of JSON: a text in it without quotes."""
    return f"map([{text}], type(fromJSON(#)) == 'string' ? fromJSON(#) : #)[0]"
