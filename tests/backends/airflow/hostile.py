"""Texts that try to be something else, and workflows that hand them to processes in every way."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterator, Mapping, Sequence

from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

from couler.ir.artifacts import RawLocation
from couler.ir.storage import EnvVar
from couler.ir.values import Template
from couler.ir.workflow import Input, Script, Step, Workflow
from tests.corpus.build import (
    SHELL_IMAGE,
    flow,
    given as input_of,
    item,
    out,
    param,
    parameter,
    py,
    ref,
    words,
)

COUNT = 1000
_MARKS = [
    *("{{ ti }}", "{{", "}}", "{% raw %}", "{% endraw %}", "{% x %}", "{#", "#}", "{", "}"),
    *("${HOME}", "$(HOME)", "$(COULER_WORK)", "$$", "$", "$1", "\\", "\\\\", "\\n", "`id`"),
    *('"', "'", '"""', "'''", "\n", "\r", "\r\n", "\n\n", "\t", "\x07", "\x1b[0m", "\x7f", "\x85"),
    *("\u2028", "\ufeff", "\u200b", "é", "漢字", "😀", "a.sh", "b.bash", "c.yaml", "-n", "--", ";"),
    *("=", "%s", "#!/bin/sh", "//", "null", "true", "1e3", " ", "  ", "literal(", "# noqa"),
]
_text = st.one_of(
    st.lists(st.sampled_from(_MARKS), min_size=1, max_size=6).map("".join),
    st.lists(st.sampled_from(_MARKS) | st.text(max_size=4), max_size=6).map("".join),
    st.text(max_size=30),
    st.text(st.characters(categories=["Cc", "Cf", "Cs", "Po", "Sc", "Nd"]), max_size=12),
)


def texts(count: int = COUNT) -> list[str]:
    """Return texts, always the same."""
    found: dict[str, None] = {}

    @seed(385)
    @settings(
        max_examples=count + count // 2,  # some come twice
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_text)
    def collect(text: str) -> None:
        found.setdefault(text)

    collect()
    assert len(found) >= count
    return list(found)[:count]


def is_possible(text: str) -> bool:
    """Return whether a process can be given a text."""
    return "\0" not in text and not any("\ud800" <= one <= "\udfff" for one in text)


SHOW = "import json, sys; print(json.dumps(sys.argv[1:]))"
SHOW_ENV = """
import json, os
names = sorted(name for name in os.environ if name.startswith("TEXT_"))
print(json.dumps([os.environ[name] for name in names]))
"""
SHOW_INPUTS = SHOW_ENV.replace("TEXT_", "COULER_INPUT_")
SHOW_FILES = """
import json, os, pathlib, sys
os.chdir(os.environ["COULER_WORK"])
names = sys.argv[1:]
for place, name in enumerate(names):
    pathlib.Path(name + "o").write_text(str(place))
print(json.dumps([pathlib.Path(name + "i").read_bytes().decode() for name in names]))
"""
MARK = "<{{ $(HOME) "


class Batch:
    """A workflow whose steps show the texts that they are given.

    Parameters
    ----------
    given
        The texts.
    """

    def __init__(self, given: Sequence[str]) -> None:
        share = -(-len(given) // 9)
        parts = [list(given[at : at + share]) for at in range(0, len(given), share)]
        parts += [[]] * (9 - len(parts))
        args, env, inputs, source, parameters, rows, made, joined, files = parts
        self.paths = [f"f{at}{one}" for at, one in enumerate(map(_file_name, files))]
        self.shown: dict[str, list[str]] = {
            "args": args,
            "env": env,
            "inputs": inputs,
            "parameters": parameters,
            "maker": made,
            "joined": [MARK + text for text in joined],
            "files": files,
        }
        """What each step prints, as a JSON list."""
        self.rows = [rows[at : at + 8] for at in range(0, len(rows), 8)]
        """What each item of `rows` prints."""
        self.made = made
        self.source = "\n".join([*source, "x"])
        """What the step `source` prints."""
        self.texts = list(given)
        known = {f"p{at}": text for at, text in enumerate(parameters)}
        self.workflow: Workflow = flow(
            "hostile",
            words("args", "python", "-c", SHOW, *args, result="list"),
            py("env", SHOW_ENV, env=_variables(env), result="list"),
            py("inputs", SHOW_INPUTS, inputs=_inputs(inputs), result="list"),
            Step(
                name="source",
                action=Script(image=SHELL_IMAGE, command=("cat",), source=self.source),
                outputs=(out("result"),),
            ),
            words("parameters", "python", "-c", SHOW, *map(param, known), result="list"),
            py(
                "rows",
                SHOW_INPUTS,
                inputs=[input_of("row", item(), "json")],
                foreach=self.rows or [[]],
                result="list",
            ),
            words("maker", "python", "-c", SHOW, *made, result="list"),
            words("made", "python", "-c", SHOW, ref("maker"), result="list"),
            words("joined", "python", "-c", SHOW, *map(_joined, joined), result="list"),
            _files(self.paths, files),
            parameters=[
                parameter("mark", MARK),
                *(parameter(name, text) for name, text in known.items()),
            ],
        )

    def differences(self, printed: Mapping[str, str]) -> Iterator[str]:
        """Yield the texts that arrived otherwise, given what the steps printed."""
        for name, wanted in self.shown.items():
            yield from _differences(name, wanted, json.loads(printed[name]))
        for index, row in enumerate(self.rows):
            [found] = json.loads(printed[f"rows[{index}]"])
            yield from _differences("rows", row, json.loads(found))
        [found] = json.loads(printed["made"])
        yield from _differences("made", self.made, json.loads(found))
        yield from _differences("source", [self.source], [printed["source"]])

    def outputs(self) -> dict[str, str]:
        """Return what the files that are outputs hold."""
        return {f"o{at}": str(at) for at, _ in enumerate(self.paths)}


def _files(paths: Sequence[str], texts: Sequence[str]) -> Step:
    """Return a step with files of hostile names, whose content are the texts."""
    taken = [
        Input(name=f"i{at}", type="file", path=f"{path}i", at=RawLocation(content=text))
        for at, (path, text) in enumerate(zip(paths, texts, strict=True))
    ]
    given = [out(f"o{at}", path=f"{path}o") for at, path in enumerate(paths)]
    command = ("python", "-c", SHOW_FILES, *paths)
    return words("files", *command, inputs=taken, outputs=given, result="list")


def _file_name(text: str) -> str:
    """Return a text as a name of a file, which has no more than one line."""
    return text.replace("/", "").replace("\n", "")


def _differences(place: str, wanted: list[str], found: t.Any) -> Iterator[str]:
    if len(wanted) != len(found):
        yield f"{place}: {len(found)} texts of {len(wanted)}"
    for one, other in zip(wanted, found, strict=False):
        if one != other:
            yield f"{place}: {one!r} came as {other!r}"


def _variables(given: Sequence[str]) -> list[EnvVar]:
    return [EnvVar(name=f"TEXT_{at:04}", value=text) for at, text in enumerate(given)]


def _inputs(given: Sequence[str]) -> list[t.Any]:
    return [input_of(f"i{at:04}", text) for at, text in enumerate(given)]


def _joined(text: str) -> Template:
    return Template(parts=(param("mark"), text))
