"""What templates have in common, or all of a run: it is said once."""

from __future__ import annotations

import re
import typing as t
from collections import Counter
from collections.abc import Iterator, Mapping

from couler.backends.argo.pods import Tree
from couler.backends.argo.tags import Tagged

_FIXED = re.compile(r"(?:[^{}$]|\{\{workflow\.[-\w.]+\}\})+")
"""A text that is the same in all templates, and that nothing changes on its way."""

_READ = re.compile(r"(\{\{)?inputs\.parameters\b(?:\.([-\w]+)(\}\})?)?")


def write_fixed_arguments(templates: list[Tree], hooks: Tree) -> None:
    """Write arguments into templates, and take the inputs away, where all callers give the same."""
    named = {one["name"]: one for one in templates if "plugin" not in one}
    while True:
        calls = [*hooks.values()]
        for template in templates:
            if "dag" in template or "steps" in template:
                calls += _calls(template)
        fixed = {
            name: read
            for name, given in _given(calls).items()
            if given and name in named and (read := _read_by_tags(named[name], given))
        }
        if not fixed:
            return
        for call in calls:
            _drop(call, "arguments", fixed.get(call.get("template", ""), {}))
        for name, given in fixed.items():
            named[name].update(_filled(named[name], given))
            _drop(named[name], "inputs", given)


def _calls(template: Tree) -> list[Tree]:
    """Return the tasks of a template, and their hooks."""
    groups = [template.get("dag", {}).get("tasks", ()), *template.get("steps", ())]
    tasks = [task for group in groups for task in group]
    return tasks + [hook for task in tasks if "hooks" in task for hook in task["hooks"].values()]


def _given(calls: list[Tree]) -> Mapping[str, Mapping[str, str]]:
    """Return the fixed texts that templates are given by all their callers."""
    found: dict[str, dict[str, str]] = {}
    for call in calls:
        name = call.get("template", "")
        if "arguments" not in call or found.get(name) == {}:
            found[name] = {}
            continue
        parameters = call["arguments"].get("parameters", ())
        given = {one["name"]: str(one.get("value", "")) for one in parameters}
        found[name] = dict(found.get(name, given).items() & given.items())
    return {
        name: {key: text for key, text in texts.items() if _FIXED.fullmatch(text)}
        for name, texts in found.items()
        if texts
    }


def _read_by_tags(template: Tree, given: Mapping[str, str]) -> dict[str, str]:
    """Return those of the inputs that a template reads, none of them in an expression."""
    reads = [found.groups() for text in _texts(template) for found in _READ.finditer(text)]
    others = {name for opening, name, closing in reads if not (opening and closing)}
    names = {name for _, name, _ in reads} - others
    return {} if None in others else {key: given[key] for key in given if key in names}


def _texts(tree: t.Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict | list):
        for one in tree.values() if isinstance(tree, dict) else tree:
            yield from _texts(one)


def _filled(tree: t.Any, given: Mapping[str, str]) -> t.Any:
    """Return a part of a template with texts instead of the tags of inputs."""
    if isinstance(tree, Tagged):
        return Tagged(_READ.sub(lambda read: given.get(read[2], read[0]), tree))
    if isinstance(tree, dict):
        return {key: _filled(one, given) for key, one in tree.items()}
    return [_filled(one, given) for one in tree] if isinstance(tree, list) else tree


def _drop(owner: Tree, field: str, names: Mapping[str, str]) -> None:
    """Take parameters out of the inputs of a template, or the arguments of a call."""
    if not names:
        return
    sides = owner[field]
    kept = [one for one in sides["parameters"] if one["name"] not in names]
    sides = {**sides, "parameters": kept}
    owner[field] = {side: entries for side, entries in sides.items() if entries}
    if not owner[field]:
        del owner[field]


def with_defaults(templates: list[Tree]) -> Tree:
    """Return the templates, without what most scripts have in common, and that."""
    scripts = [template["script"] for template in templates if "script" in template]
    shared: Tree = {}
    for field in ("image", "command"):
        values = Counter(str(script[field]) for script in scripts)
        [(common, count)] = values.most_common(1) or [("", 0)]
        if count > 1:
            shared[field] = next(one[field] for one in scripts if str(one[field]) == common)
    if not shared:
        return {"templates": templates}
    first, *others = scripts
    if "resources" in first and all(one.get("resources") == first["resources"] for one in others):
        shared["resources"] = first["resources"]
    env = [
        one
        for one in first.get("env", ())
        if all(one in other.get("env", ()) for other in others)
        and re.search(r"[{$]", one.get("value", "$")) is None
    ]
    if env:
        shared["env"] = env
    kept = [
        {**template, "script": _without(template["script"], shared)}
        if "script" in template
        else template
        for template in templates
    ]
    return {"templateDefaults": {"script": shared}, "templates": kept}


def _without(script: Tree, shared: Tree) -> Tree:
    """Return a script without what it has from the defaults."""
    own = {key: one for key, one in script.items() if one != shared.get(key)}
    if "env" in own and "env" in shared:
        own["env"] = [one for one in own["env"] if one not in shared["env"]]
    return own
