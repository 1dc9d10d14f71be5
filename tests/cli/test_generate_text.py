"""`couler generate TEXT`, with an endpoint that answers from a script."""

from __future__ import annotations

import ast
import errno
import json
import os
import signal
import socket
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.cli._generated_files import Destination
from couler.ir.serialize import read_json
from couler.llm.client import OpenedModel
from tests.cli.conftest import KEY, Outcome, Serve
from tests.fakes.llm import ScriptedServer
from tests.generation.replies import written
from tests.generation.test_schema_mode import WHOLE as FORM

Couler = Callable[..., Outcome]

EXAMPLE = Path(__file__).parents[2] / "examples" / "from_english"

SOUND = """\
import couler

with couler.Workflow("made") as wf:
    a = couler.run_container("busybox:1.36", ["echo", "1"], name="a")
    wf.output("said", a)
"""


def program(text: str, prompt: str = "write") -> dict[str, t.Any]:
    _, answer = written(text)
    return {"when": {"prompt": prompt}, "reply": {"json": answer}}


def json_reply(tree: object) -> dict[str, str]:
    return {"text": json.dumps(tree)}


def nothing_written(folder: Path) -> bool:
    return {one.name for one in folder.iterdir()} <= {"data", "no-settings"}


@pytest.mark.checkout
@pytest.mark.slow
def test_the_example_of_the_paper_becomes_code_picture_yaml_and_a_dag_file(
    couler: Couler, serve: Serve, folder: Path
) -> None:
    serve(EXAMPLE / "script.yaml")
    text = (EXAMPLE / "description.txt").read_text()
    outcome = couler(
        *("generate", text, "-e", "argo", "-e", "airflow", "-o", "made"),
        *("--option", "airflow:files_claim=files"),
    )
    assert outcome.code == 0, outcome.err
    made = folder / "made"
    assert {str(one.relative_to(made)) for one in made.rglob("*") if one.is_file()} == {
        *("workflow.py", "workflow.json", "workflow.svg", "argo/plan.txt", "airflow/plan.txt"),
        *("argo/select-image-classifier.yaml", "airflow/select-image-classifier.py"),
    }
    assert "repair    asked to repair CLR104" in outcome.err
    assert 'Did you mean "gpu"?' in outcome.err
    assert "assumed:\n  - Ten epochs of training, as a parameter.\n" in outcome.err
    assert "├─ train  script" in outcome.err
    assert 'plan of "select-image-classifier" for argo' in outcome.err
    assert (made / "workflow.py").read_text() == (EXAMPLE / "from_english.py").read_text()
    workflow = read_json((made / "workflow.json").read_text())
    assert [step.name for step in workflow.steps] == [
        *("load_images", "train", "validate", "compare", "select")
    ]
    assert workflow.steps[1].resources is not None
    assert workflow.steps[1].resources.gpu is not None
    assert "nvidia.com/gpu" in (made / "argo" / "select-image-classifier.yaml").read_text()
    ast.parse((made / "airflow" / "select-image-classifier.py").read_text())
    checked = couler("generate", "--check", "made/workflow.py")
    assert checked.code == 0
    argo = couler("compile", "made/workflow.json", "-e", "argo")
    assert argo.out == (made / "argo" / "select-image-classifier.yaml").read_text()


def test_without_a_destination_the_program_goes_to_standard_output(
    couler: Couler, serve: Serve, folder: Path
) -> None:
    serve([program(SOUND)])
    outcome = couler("generate", "Print 1.")
    assert (outcome.code, outcome.out) == (0, SOUND)
    assert "verify    the workflow is verified" in outcome.err
    assert nothing_written(folder)
    quiet = couler("generate", "Print 1.", "-q")
    assert (quiet.out, quiet.err) == (SOUND, "")


def test_a_form_becomes_a_workflow_that_runs(couler: Couler, serve: Serve) -> None:
    serve([{"when": {"prompt": "sketch"}, "reply": json_reply(FORM)}])
    assert couler("generate", "Sum.", "--mode", "schema", "-o", "made.json").code == 0
    outcome = couler("run", "made.json")
    assert outcome.code == 0
    assert "sum = [2,4,6]" in outcome.out


def test_nothing_that_is_printed_drives_a_terminal(couler: Couler, serve: Serve) -> None:
    said = "a\x9b2Jb\u2028c\ud800"
    text = json.dumps(FORM).replace("[1,2,3]", "[1,2,3] # \\u009b2J\\u2028")
    serve(
        [
            {"when": {"prompt": "sketch"}, "reply": text},
            program(f"{SOUND}# {said[:-1]}\n"),
        ]
    )
    printed = couler("generate", "Sum.", "--mode", "schema").out
    assert "[1,2,3] # \\u009b2J\\u2028" in printed
    assert not set(printed) & set(said[1:-1]) - set("2Jbc")
    refused = couler("generate", "Print 1.", "--max-repairs", "0")
    assert (refused.code, refused.out) == (1, "")
    assert "the program holds U+009B" in refused.err


def test_names_of_modules_drive_no_terminal(couler: Couler, serve: Serve) -> None:
    module = {"name": "a\x1b[31m\nerror: fake", "task": "other", "description": "", "reads": []}
    plan = {"reasoning": "", "workflow": "w", "modules": [module]}
    critique = {"problems": [], "advice": "", "score": 1}
    serve(
        [
            {"when": {"prompt": "decompose"}, "reply": {"json": plan}},
            program(SOUND, "extend"),
            {"when": {"prompt": "critique"}, "reply": {"json": critique}},
        ]
    )
    outcome = couler("generate", "Print 1.", "--mode", "modules")
    assert outcome.code == 0, outcome.err
    assert "\x1b" not in outcome.err
    assert "\nerror: fake" not in outcome.err


def test_what_is_wrong_is_told_before_what_should_change(couler: Couler, serve: Serve) -> None:
    _, asks = written("import os\n", question="Which folder?")
    serve([{"reply": {"json": asks}}])
    outcome = couler("generate", "Print 1.", "-i", "--max-repairs", "0", input="\n")
    assert outcome.code == 1
    before = outcome.err.partition("What should change?")[0]
    assert "CLR603" in before
    assert "the description does not say: Which folder?" in before


def test_the_outcome_as_json(couler: Couler, serve: Serve, folder: Path) -> None:
    serve([program(SOUND)])
    outcome = couler(
        *(
            "generate",
            "Print 1.",
            "-o",
            "made.py",
            "--format",
            "json",
            "-e",
            "argo",
        )
    )
    tree = outcome.json
    assert tree["schema_version"] == 1
    assert tree["is_verified"] is True
    assert tree["program"] == (folder / "made.py").read_text() == SOUND
    assert tree["workflow"]["name"] == "made"
    assert tree["files"] == ["made.py"]
    assert tree["usage"]["calls"] == 1
    assert [one["kind"] for one in tree["rounds"]][-2:] == ["write", "verify"]


def test_a_user_asks_for_changes(
    couler: Couler, serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = SOUND.replace('"1"', '"2"')
    broken = SOUND.replace("name=", "nmae=")
    server = serve(
        [
            program(SOUND),
            {**program(second, "revise"), "when": {"prompt": "revise", "last": "print 2"}},
            {**program(broken, "revise"), "when": {"prompt": "revise", "last": "break it"}},
        ]
    )
    outcome = couler(
        *(
            "generate",
            "Print 1.",
            "-i",
            "-o",
            "made.py",
            "--max-repairs",
            "0",
        ),
        input="print 2\nbreak it\n\n",
    )
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("What should change?") == 3
    assert "that could not be built, so it stays as it was" in outcome.err
    assert (folder / "made.py").read_text() == second
    assert len(server.requests) == 3


@pytest.mark.slow
def test_a_change_that_fails_loses_nothing(
    couler: Couler, serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COULER_LLM_MAX_RETRIES", "0")
    serve([program(SOUND), {"when": {"prompt": "revise"}, "status": 401}])
    outcome = couler("generate", "Print 1.", "-i", "-o", "made.py", input="print 2\n")
    assert outcome.code == 0, outcome.err
    assert "It stays as it was" in outcome.err
    assert (folder / "made.py").read_text() == SOUND


def test_a_file_that_comes_meanwhile_stays(couler: Couler, serve: Serve, folder: Path) -> None:
    class Late:
        def __call__(self, _request: object) -> None:
            (folder / "made.py").write_text("mine")

    server = ScriptedServer([program(SOUND)], on_request=Late())
    with server:
        for name, value in server.environment.items():
            os.environ[name] = value
        outcome = couler("generate", "Print 1.", "-o", "made.py")
    assert outcome.code == 3
    assert (folder / "made.py").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--format", "json")])
def test_what_cannot_be_written_in_the_end_goes_to_standard_output(
    flags: tuple[str, ...],
    couler: Couler,
    serve: Serve,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    serve([program(SOUND)])

    def full(*_: object) -> t.NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Destination, "_write_folder", full)
    outcome = couler("generate", "x", "-o", "made", *flags)
    assert outcome.code == 3
    assert outcome.err.endswith(
        "error: -o made: made cannot be written: No space left on device. Nothing was written\n"
        "The program is on standard output\n"
    )
    assert (outcome.json["program"] if flags else outcome.out) == SOUND
    assert nothing_written(folder)


def test_a_check_for_an_engine(couler: Couler, folder: Path) -> None:
    (folder / "flow.py").write_text(
        SOUND.replace('name="a")', 'name="a", output={"f": couler.File("f")}, working_dir=".")')
    )
    assert couler("generate", "--check", "flow.py").code == 0
    outcome = couler("generate", "--check", "flow.py", "-e", "airflow")
    assert outcome.code == 1
    assert "CLR350" in outcome.out
    for beside in (
        ["-o", "x.py"],
        ["--mode", "schema"],
        ["--max-regenerations", "1"],
        ["--model", "m"],
    ):
        refused = couler("generate", "--check", "flow.py", *beside)
        assert refused.code == 2
        assert "not for --check" in refused.err


def test_what_cannot_be_repaired_ends_with_1_and_writes_nothing(
    couler: Couler, serve: Serve, folder: Path
) -> None:
    serve([program("import os\n"), program("import os\n", "repair")])
    outcome = couler("generate", "Print 1.", "-o", "made.py", "--max-repairs", "1")
    assert outcome.code == 1
    assert outcome.out == ""
    assert "CLR603" in outcome.err
    assert "no sound workflow came of it, and nothing was written" in outcome.err
    assert nothing_written(folder)


@pytest.mark.slow
def test_a_setting_that_is_missing_is_not_asked_of_the_model(
    couler: Couler, serve: Serve, folder: Path
) -> None:
    kept = SOUND.replace('name="a")', 'name="a", output={"f": couler.File("f")}, working_dir=".")')
    server = serve([program(kept)])
    outcome = couler("generate", "Keep it.", "-e", "airflow", "-o", "made.py")
    assert outcome.code == 3
    assert outcome.out == kept
    assert "files_claim=NAME" in outcome.err
    assert len(server.requests) == 1
    assert nothing_written(folder)
    assert couler(
        *("generate", "Keep it.", "-e", "airflow", "-o", "made.py"),
        *("--option", "files_claim=shared"),
    ).code == 0  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "code", "told"),
    [
        ({"status": 401, "message": "no such key"}, 4, "key"),
        ({"rubbish": "html"}, 4, "error: language model"),
        ({"rubbish": "schema"}, 4, "error: language model"),
        ({"cut": True}, 4, "error: language model"),
        ({"refusal": "I will not."}, 4, "I will not."),
    ],
    ids=["refused", "a page", "another form", "cut", "refusal"],
)
def test_an_endpoint_that_fails_ends_it_with_one_message(
    rule: dict[str, t.Any],
    code: int,
    told: str,
    couler: Couler,
    serve: Serve,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COULER_LLM_MAX_RETRIES", "0")
    serve([rule])
    outcome = couler("generate", "Print 1.", "-o", "made.py")
    assert outcome.code == code, outcome.err
    assert told in outcome.err
    assert "Traceback" not in outcome.err
    assert KEY not in outcome.err
    assert outcome.err.count("error: ") == 1
    assert nothing_written(folder)


def test_an_endpoint_that_is_down(
    couler: Couler, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("COULER_LLM_BASE_URL", f"http://127.0.0.1:{port}/v1")
    monkeypatch.setenv("COULER_LLM_MODEL", "any")
    monkeypatch.setenv("COULER_LLM_API_KEY", KEY)
    monkeypatch.setenv("COULER_LLM_MAX_RETRIES", "0")
    outcome = couler("generate", "Print 1.", "-o", "made.py")
    assert outcome.code == 4
    assert f"127.0.0.1:{port}" in outcome.err
    assert nothing_written(folder)


def test_a_budget_that_is_reached(couler: Couler, serve: Serve, folder: Path) -> None:
    server = serve([program(SOUND)])
    outcome = couler(
        "generate",
        "Print 1.",
        "-o",
        "made.py",
        "--max-tokens-total",
        "90",
    )
    assert outcome.code == 4
    assert "90" in outcome.err
    assert server.requests == ()
    assert nothing_written(folder)


def test_a_key_that_is_missing(couler: Couler, folder: Path) -> None:
    outcome = couler("generate", "Print 1.", "--model", "any", "-o", "made.py")
    assert outcome.code == 3
    assert "COULER_LLM_API_KEY" in outcome.err
    assert nothing_written(folder)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give a TEXT"),
        (["x", "--check", "a.py"], "not both"),
        (["x", "-o", "no/such/folder.py"], "there is no folder"),
        (["x", "-o", "/proc/made.py"], "-o /proc/made.py cannot be written: "),
        (["x", "-o", "/proc/made"], "-o /proc/made cannot be written: "),
        ([" "], "the description is empty"),
        (["x" * 20_001], "the description has 20,001 characters; at most 20,000"),
        (["x", "-o", "a.py"], "is there already"),
        (["x", "-o", "full"], "is there already"),
        (["x", "-o", "made.json"], "mode code gives a file .py"),
        (["x", "-o", "made.yaml"], "mode code gives a file .py, or a folder without an ending"),
        (["x", "--mode", "schema", "-o", "made.py"], "mode schema gives a file .json"),
        (["x", "--mode", "schema", "--run"], "--run is for programs"),
        (["x", "--mode", "schema", "--lake", "full"], "--lake is for programs"),
        (["x", "--replace"], "--replace is for -o FILE"),
        (["x", "-o", "."], "name a new folder or file"),
        (["-", "-i"], "--interactive asks on standard input"),
        (["x", "--max-regenerations", "1"], "--max-regenerations is for --mode modules"),
        (["x", "--option", "k=v"], "name one of the engines"),
        (["x", "-e", "argo", "-e", "airflow", "--option", "k=v"], "name one of the engines"),
        (["x", "-e", "nomad"], "nomad"),
        (["x", "--lake", "none"], "none"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_asked(
    arguments: list[str], told: str, couler: Couler, serve: Serve, folder: Path
) -> None:
    server = serve([program(SOUND)])
    (folder / "a.py").write_text("x = 1\n")
    (folder / "full").mkdir()
    (folder / "full" / "file").touch()
    outcome = couler("generate", *arguments)
    assert outcome.code == 2, outcome.err
    assert told in outcome.err
    assert server.requests == ()
    assert (folder / "a.py").read_text() == "x = 1\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the description is empty"),
        ("\N{EURO SIGN}" * 400_000, "is longer than 20,000 characters"),
        (b"a\xff", "is no text in UTF-8"),
    ],
)
def test_descriptions_of_standard_input_are_bounded(
    text: str | bytes, told: str, couler: Couler, serve: Serve
) -> None:
    server = serve([program(SOUND)])
    outcome = couler("generate", "-", input=text)
    assert (outcome.code, outcome.err.count("Error:")) == (2, 1)
    assert told in outcome.err
    assert server.requests == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "told"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "told to end (SIGTERM)")],
)
def test_an_interrupt_writes_nothing_and_says_where_the_answers_are(
    number: signal.Signals,
    told: str,
    couler: Couler,
    serve: Serve,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    serve([program(SOUND.replace("name=", "nmae="))])
    ask_for = OpenedModel.ask_for

    def interrupted(self: OpenedModel, *arguments: t.Any, **options: t.Any) -> t.Any:
        if self.usage.calls:
            signal.raise_signal(number)
        return ask_for(self, *arguments, **options)

    monkeypatch.setattr(OpenedModel, "ask_for", interrupted)
    outcome = couler("generate", "Print 1.", "-o", "made.py")
    assert outcome.code == 128 + number
    assert outcome.err.endswith(
        f"error: {told}\n"
        "nothing was written. `couler llm log` shows what the model was asked and said\n"
    )
    assert nothing_written(folder)


def test_feedback_that_cannot_be_taken_loses_nothing(
    couler: Couler, serve: Serve, folder: Path
) -> None:
    serve([program(SOUND)])
    outcome = couler("generate", "x", "-i", "-o", "made.py", input="y" * 20_001 + "\n\n")
    assert outcome.code == 0, outcome.err
    assert "the feedback has 20,001 characters; at most 20,000 are taken" in outcome.err
    assert (folder / "made.py").read_text() == SOUND


@pytest.mark.slow
def test_files_are_replaced_on_request_and_empty_folders_filled(
    couler: Couler, serve: Serve, folder: Path
) -> None:
    serve([program(SOUND)])
    (folder / "a.py").write_text("x = 1\n")
    (folder / "empty").mkdir()
    assert couler("generate", "x", "-o", "a.py", "--replace").code == 0
    assert (folder / "a.py").read_text() == SOUND
    assert couler("generate", "x", "-o", "empty").code == 0
    assert {one.name for one in (folder / "empty").iterdir()} == {
        *("workflow.py", "workflow.json", "workflow.svg", "plan.txt")
    }
    assert not [one for one in folder.iterdir() if one.name.startswith(".")]


@pytest.mark.slow
def test_a_dialogue_is_recorded_and_replayed(
    couler: Couler, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve([program(SOUND)])
    first = couler("generate", "Print 1.", "--record", "talk.jsonl")
    server.close()
    for name in server.environment:
        monkeypatch.delenv(name)
    again = couler("generate", "Print 1.", "--replay", "talk.jsonl")
    assert (again.code, again.out) == (0, first.out)


def test_control_characters_of_a_model_reach_no_terminal(couler: Couler, serve: Serve) -> None:
    rule = program(SOUND)
    rule["reply"]["json"]["explanation"] = "red \x1b[31m and\nrepair    lies"
    serve([rule])
    outcome = couler("generate", "Print 1.")
    assert "\x1b" not in outcome.err
    assert "\nrepair    lies" not in outcome.err
