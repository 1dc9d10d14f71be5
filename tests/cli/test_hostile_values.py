"""Values that nobody can mean, of options, variables and settings, are refused with the reason."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

MANY = "9" * 5000
PROGRAM = """
import couler

with couler.Workflow("table", given={}) as wf:
    couler.run_container("busybox", ["echo"], args=[wf.params.given])
"""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("run FILE --cpus nan", "--cpus"),
        ("run FILE --cpus inf", "--cpus"),
        ("run FILE --cpus=-1", "--cpus"),
        (f"run FILE --memory {MANY}", "--memory"),
        (f"run FILE --gpus {'9' * 25}", "--gpus"),
        (f"run FILE --cache-budget {MANY}", "--cache-budget"),
        (f"cache stats --cache-budget {MANY}", "--cache-budget"),
        (f"list --limit {'9' * 25}", "--limit"),
        ("generate text --temperature nan", "--temperature"),
        ("status \udcff", "UTF-8"),
        ("list --workflow \udcff", "UTF-8"),
    ],
)
def test_options(couler: Callable, greet: str, words: str, told: str) -> None:
    found = couler(*words.replace("FILE", greet).split())
    assert (found.code, found.out) == (2, "")
    assert told in found.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("plan \udcff.py", "\\udcff.py"),
        ("compile FILE -e argo --namespace \udcff", "--namespace"),
    ],
)
def test_words_that_are_not_utf_8_are_named(
    couler_process: Callable, write: Callable, greet: str, words: str, told: str
) -> None:
    write("\udcff.py", PROGRAM)
    found = couler_process(*words.replace("FILE", greet).split())
    assert (found.code, found.out) == (2, "")
    assert told in found.err


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("[" * 900 + "]" * 900, "declared dict"),
        (MANY, "digits"),
        ("{", "Expecting property name"),
        ("@{1: 2}", "a key must be a text"),
        ("@[{x: {true: 2}}]", "a key must be a text"),
        ("@{1.5: 2}", "a key must be a text"),
        ("@{null: 2}", "a key must be a text"),
    ],
)
def test_values_of_a_parameter(
    couler: Callable, write: Callable, folder: Path, value: str, told: str
) -> None:
    (folder / "given.yaml").write_text(f"given: {value[1:]}\n")
    given = "@given.yaml" if value.startswith("@") else f"given={value}"
    found = couler("run", write("table.py", PROGRAM), "-p", given)
    assert (found.code, found.out) == (2, "")
    assert told in found.err


def test_a_folder_that_is_deleted(couler: Callable, greet: str, folder: Path) -> None:
    file = str(folder / greet)
    (folder / "gone").mkdir()
    os.chdir("gone")
    (folder / "gone").rmdir()
    for words in (["list"], ["validate", file], ["run", file]):
        found = couler(*words)
        assert (found.code, found.out) == (3, "")
        assert "the current folder" in found.err


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [
        ("COULER_JOBS", MANY, 3),
        ("COULER_JOBS", "0", 3),
        ("COULER_CACHE_BUDGET", MANY, 3),
        ("COULER_ENGINE", "argoo", 3),
        ("XDG_CONFIG_HOME", "x" * 300, 3),
    ],
)
def test_variables(
    couler: Callable,
    greet: str,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    code: int,
) -> None:
    monkeypatch.setenv(variable, value)
    found = couler("compile" if variable == "COULER_ENGINE" else "run", greet)
    assert (found.code, found.out) == (code, "")
    assert variable in found.err or value in found.err


@pytest.mark.parametrize("variable", ["COLUMNS", "LINES"])
@pytest.mark.parametrize("value", [MANY, "²", "wide", "-1", ""])
def test_a_size_of_the_terminal_that_is_none(
    couler: Callable, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    found = couler("engines")
    assert (found.code, found.err) == (0, "")


def test_a_home_of_nobody_is_a_folder(
    couler: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COULER_HOME", "~nobody-of-that-name/x")
    assert couler("list").code == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[tool.couler]\n\nengine = "argoo"\n', ["pyproject.toml:3", "argo"]),
        ('[tool.couler]\nengine = "argo"\n[tool.couler.storage.argo]\ns3 = 1\n', ["storage", "s3"]),
        ("x = " + "[" * 2000 + "]" * 2000, ["pyproject.toml", "nested"]),
    ],
    ids=["engine", "storage", "nested"],
)
def test_settings(couler: Callable, greet: str, folder: Path, text: str, told: list[str]) -> None:
    (folder / "pyproject.toml").write_text(text)
    found = couler("compile", greet)
    assert (found.code, found.out) == (3, "")
    assert all(word in found.err for word in told)


@pytest.mark.parametrize("text", ["tool = 3\n", "tool = { ruff = {} }\n"])
def test_init_beside_what_takes_no_table(couler: Callable, folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    found = couler("init")
    assert found.code == 3
    assert "pyproject.toml" in found.err
    assert (folder / "pyproject.toml").read_text() == text


@pytest.mark.parametrize(
    "words",
    [
        "show FILE -o {}",
        "compile FILE -e argo -o {}",
        "plan FILE -o {}",
        "plan FILE --dump {}",
        "run FILE --events {}",
        "init {}",
    ],
)
@pytest.mark.parametrize("path", ["file/x", "x" * 300], ids=["below-a-file", "long"])
def test_what_cannot_be_written(
    couler: Callable, greet: str, folder: Path, words: str, path: str
) -> None:
    (folder / "file").write_text("")
    found = couler(*words.replace("FILE", greet).format(path).split())
    assert found.code in (2, 3)
    assert path in found.err
    assert "may be written" in found.err
    assert "Errno" not in found.err


@pytest.mark.parametrize(
    "words", ["show {}", "validate {}", "retry latest --file {}", "llm log --home {}"]
)
def test_a_path_that_is_too_long(couler: Callable, greet: str, words: str) -> None:
    assert couler("run", greet).code == 0
    found = couler(*words.format("x" * 300).split())
    assert found.code not in (0, 70)
    assert "too long" in found.err
