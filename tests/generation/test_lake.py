"""The Code Lake: its snippets build, and a search finds what a text is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.box import build_program, check_program
from couler.errors import ConfigurationError
from couler.generation.lake import CodeLake, Snippet, packaged_snippets, read_folder
from couler.stages.checks import diagnose
from couler.stages.programs import load_program

PROGRAMS = [one for one in packaged_snippets() if "with couler.Workflow" in one.code]
"""All but those that show a value alone, which doctests run."""


def test_each_snippet_passes_the_gates_and_is_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, where what comes with Couler may run."""
    monkeypatch.chdir(tmp_path)
    for snippet in PROGRAMS:
        assert check_program(snippet.code) == (), snippet.name
        Path("snippet.py").write_text(snippet.code, encoding="utf-8")
        assert diagnose(load_program("snippet.py")) == (), snippet.name
        assert snippet.summary.endswith((".", "!")), snippet.name


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "snippet",
    [
        pytest.param(one, id=one.name, marks=() if number % 10 == 0 else pytest.mark.slow)
        for number, one in enumerate(PROGRAMS)
    ],
)
@pytest.mark.slow
def test_each_snippet_builds_in_the_box(snippet: Snippet) -> None:
    built = build_program(snippet.code)
    assert built.diagnostics == ()
    assert built.workflow is not None
    assert diagnose(built.workflow) == ()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Train ResNet, ViT and DenseNet models and select the best", "best_of_several_models"),
        ("if it fails, alert the team", "after_a_failure"),
        ("every night at three o'clock, report the status", "nightly_with_report"),
        ("read objects of an S3 bucket", "objects_in_a_store"),
        ("training on 2 A100 GPUs with retries", "gpu_training"),
        ("deploy only if the accuracy is above a threshold", "publish_if_good"),
        ("a person has to approve before the request is sent", "approval_and_request"),
        ("iterate until the loss converges", "repeat_until_converged"),
        ("distributed training with PyTorch", "couler.steps.pytorch.train"),
    ],
)
def test_a_search_finds_what_a_text_is_about(text: str, name: str) -> None:
    found = [one.name for one in CodeLake(packaged_snippets()).search(text)]
    assert name in found


def test_a_search_is_bounded_ordered_and_finds_nothing_for_nothing() -> None:
    same = [Snippet(name, "Load rows.", "x = 1") for name in ("b", "a", "c")]
    lake = CodeLake([*same, Snippet("other", "Paint a house.", "y = 2")])
    assert [one.name for one in lake.search("rows", 2)] == ["a", "b"]
    assert lake.search("rows", 0) == ()
    assert lake.search("the of zzz") == ()
    assert CodeLake([]).search("rows") == ()


def test_users_add_folders(tmp_path: Path) -> None:
    (tmp_path / "pay.py").write_text(
        '"""Pay invoices.\n\nMore."""\nraise SystemExit("never run")\n'
    )
    (pay,) = read_folder(tmp_path)
    assert (pay.name, pay.summary) == ("pay", "Pay invoices.")
    lake = CodeLake([*packaged_snippets(), pay])
    assert lake.search("invoices")[0] is pay


def test_a_later_snippet_of_the_same_name_stands() -> None:
    lake = CodeLake([Snippet("a", "Old one.", ""), Snippet("a", "New one.", "")])
    assert [one.summary for one in lake.snippets] == ["New one."]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"x = 1", "has no docstring"),
        (b"def (", "is no program of Python"),
        (b"\xff", "cannot be read as text"),
        (b'"""Large."""\n' + b"#" * 65_536, "larger than 64 KiB"),
    ],
)
def test_what_is_no_snippet_is_refused(content: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_bytes(content)
    with pytest.raises(ConfigurationError, match=told):
        read_folder(tmp_path)


def test_folders_that_are_none_or_empty_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is no folder"):
        read_folder(tmp_path / "none")
    with pytest.raises(ConfigurationError, match="has no programs"):
        read_folder(tmp_path)
