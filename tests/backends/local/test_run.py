"""A whole run: its result, its folder, its events, and how it ends early."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.errors import ConfigurationError, ParameterError
from couler.ir.policies import Retry
from couler.ir.serialize import write_json
from couler.ir.storage import ConfigKey, EnvVar, SecretKey
from couler.ir.values import ValueType
from couler.ir.workflow import (
    Container,
    ExitHandler,
    Parameter,
    Script,
    Step,
    Workflow,
)
from couler.state.results import Event, RunResult
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    on_failure,
    out,
    param,
    parameter,
    ref,
    sh,
    words,
)


def run(workflow: Workflow, tmp_path: Path, **options: object) -> RunResult:
    return LocalBackend().run(workflow, options=RunOptions(home=tmp_path / "home"), **options)  # type: ignore[arg-type]  # a shorthand


def states(result: RunResult) -> dict[str, str]:
    return {path: step.status for path, step in result.steps.items()}


def test_events_tell_starts_and_ends_in_order(tmp_path: Path) -> None:
    events: list[Event] = []
    workflow = flow(
        "w",
        group("g", sh("a", "exit 1"), sh("b", "true", depends_on=["a"])),
        sh("each", "true", foreach=[1]),
        sh("off", "true", when=compare(1, "==", 2)),
    )
    run(workflow, tmp_path, on_event=events.append)
    told = [(event.kind, str(event.path), event.status) for event in events]
    # What does not run is told of at once; all else in the order of its scope.
    assert told[0] == ("finished", "off", "skipped")
    assert [one for one in told if one[1].startswith("g")] == [
        ("started", "g", None),
        ("started", "g/a", None),
        ("finished", "g/a", "failed"),
        ("finished", "g/b", "omitted"),
        ("finished", "g", "failed"),
    ]
    assert [one for one in told if one[1].startswith("each")] == [
        ("started", "each", None),
        ("started", "each[0]", None),
        ("finished", "each[0]", "succeeded"),
        ("finished", "each", "succeeded"),
    ]
    [failed] = [
        event for event in events if event.status == "failed" and event.path[-1].name == "a"
    ]
    assert failed.message == "it ended with exit code 1"


def test_result_tells_of_each_step(tmp_path: Path) -> None:
    workflow = flow(
        "w",
        sh("a", "echo out; echo err >&2; exit 7", retry=Retry(limit=1)),
        sh("b", "true", depends_on=["a"]),
    )
    result = run(workflow, tmp_path)
    failed, omitted = result.steps["a"], result.steps["b"]
    assert (failed.attempts, failed.exit_code) == (2, 7)
    assert failed.started is not None
    assert result.started <= failed.started <= failed.finished <= result.finished
    assert failed.log is not None
    lines = failed.log.read_text(encoding="utf-8").splitlines()
    assert sorted(lines[:2]) == ["err", "out"]
    assert lines[2] == "--- attempt 2 ---"
    assert sorted(lines[3:]) == ["err", "out"]
    assert (omitted.attempts, omitted.started, omitted.log) == (0, None, None)
    assert result.message == "failed: a"
    told = json.loads(json.dumps(result.to_json()))
    [first, _second] = told["steps"]
    assert (first["path"], first["name"], first["item"]) == ("a", "a", None)
    assert first["log"] == str(failed.log)
    assert told["status"] == "failed"


@pytest.mark.parametrize(
    ("make", "path", "type"),
    [
        ("ln -s {}/secret r", "r", "str"),
        ("ln -s {}/secret r", "r", "file"),
        ("ln -s {} y", "y/secret", "str"),
        ("ln -s {} y", "y/secret", "file"),
        ("ln -s {} y", "y", "directory"),
    ],
)
def test_output_behind_a_link_that_leads_out_is_refused(
    make: str, path: str, type: ValueType, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("the machine's own", encoding="utf-8")
    step = sh("a", make.format(tmp_path), result=None, outputs=[out("r", type, path)])
    failed = run(flow("w", step), tmp_path).steps["a"]
    assert failed.status == "failed"
    assert "leads out of the folders of the step" in str(failed.message)


def test_missing_program_fails_the_step_and_says_so(tmp_path: Path) -> None:
    # Known only when the step runs; what is known before is refused before, see test_backend.
    name = sh("name", "echo no-such-program")
    step = Step(
        name="a",
        action=Container(image="busybox", command=(ref("name"), "x")),
        retry=Retry(limit=1, on=("error",)),
    )
    failed = run(flow("w", name, step), tmp_path).steps["a"]
    assert failed.message is not None
    assert 'no program "no-such-program"' in failed.message
    assert failed.attempts == 2  # it could not run: an error


def test_text_that_no_process_can_be_given_fails_the_step(tmp_path: Path) -> None:
    nul = sh("nul", "true", "a\0b")
    half = words("half", "python", "-c", r"print('\"\\ud800\"')", result="json")
    result = run(flow("w", nul, half, sh("reads", 'echo "$1"', ref("half"))), tmp_path)
    assert states(result) == {"nul": "failed", "half": "succeeded", "reads": "failed"}


def test_missing_working_directory(tmp_path: Path) -> None:
    result = run(flow("w", sh("a", "true", working_dir="/no/such/folder")), tmp_path)
    assert result.steps["a"].message == "the working directory /no/such/folder does not exist here"


def test_output_that_is_no_text(tmp_path: Path) -> None:
    result = run(flow("w", sh("a", r"printf '\377'")), tmp_path)
    assert result.steps["a"].status == "failed"
    assert "no UTF-8 text" in str(result.steps["a"].message)


def test_what_only_a_skipped_step_needs_does_not_stop_a_run(tmp_path: Path) -> None:
    token = EnvVar(name="T", secret=SecretKey(secret="absent", key="token"))
    workflow = flow(
        "w",
        sh("runs", "echo runs"),
        words("program", "no-such-program", when=compare(ref("runs"), "==", "other")),
        sh("secret", "true", env=[token], when=compare(ref("runs"), "==", "other")),
        group("around", sh("within", "true", env=[token]), when=compare(ref("runs"), "==", "x")),
    )
    assert states(run(workflow, tmp_path)) == {
        "runs": "succeeded",
        "program": "skipped",
        "secret": "skipped",
        "around": "skipped",
    }
    asked = flow(
        "w",
        sh("runs", "true"),
        sh("secret", "true", env=[token], when=compare(ref("runs"), "==", "")),
    )
    failed = run(asked, tmp_path).steps["secret"]
    assert (failed.status, "COULER_SECRET_absent_token" in str(failed.message)) == ("failed", True)
    with pytest.raises(ConfigurationError, match="COULER_SECRET_absent_token"):
        run(flow("w", sh("secret", "true", env=[token])), tmp_path)


def test_secrets_come_from_variables_or_files_and_stay_out_of_logs(tmp_path: Path) -> None:
    folder = tmp_path / "secrets" / "api"
    folder.mkdir(parents=True)
    (folder / "token").write_text("from a file", encoding="utf-8")
    workflow = flow(
        "w",
        sh(
            "a",
            'echo "$P $T"; echo "$P" >&2; env | grep -c COULER_SECRET',
            result=None,
            env=[
                EnvVar(name="P", secret=SecretKey(secret="my-db", key="pass.word")),
                EnvVar(name="T", secret=SecretKey(secret="api", key="token")),
            ],
        ),
    )
    environ = {
        "PATH": os.environ["PATH"],
        "COULER_SECRET_my_db_pass_word": "hunter2",
        "COULER_SECRETS_DIR": str(tmp_path / "secrets"),
    }
    result = run(workflow, tmp_path, environ=environ)
    log = result.steps["a"].log
    assert log is not None
    # grep counts none: the variables of the start are not passed on.
    assert sorted(log.read_text(encoding="utf-8").splitlines()) == ["***", "*** ***", "0"]


def test_missing_secrets_stop_the_start_and_are_named_together(tmp_path: Path) -> None:
    workflow = flow(
        "w",
        sh("a", "true", env=[EnvVar(name="P", secret=SecretKey(secret="db", key="user"))]),
        secrets=[SecretKey(secret="db", key="pass")],
    )
    with pytest.raises(ConfigurationError) as caught:
        run(workflow, tmp_path)
    assert "COULER_SECRET_db_user" in str(caught.value)
    assert "COULER_SECRET_db_pass" in str(caught.value)


PACKAGES = ("no-such-package>=1", "pydantic", 'pywin32; sys_platform == "win32"')


def test_missing_packages_stop_the_start(tmp_path: Path) -> None:
    script = Script(image="python", source="1", packages=PACKAGES)
    with pytest.raises(ConfigurationError, match=r"pip install 'no-such-package>=1'$"):
        run(flow("w", Step(name="a", action=script)), tmp_path)


PARAMETERS = [
    parameter("n", type="int"),
    Parameter(name="size", default="s", choices=("s", "m")),
    parameter("text", "x"),
]


@pytest.mark.parametrize(
    ("given_values", "told"),
    [
        ({}, 'parameter "n": a value is required'),
        ({"n": 1, "sise": "s"}, 'there is no parameter "sise". Did you mean "size"?'),
        ({"n": "many"}, "declared int"),
        ({"n": 1.5}, "not of its type, int"),
        ({"n": True}, "not of its type, int"),
        ({"n": 1, "text": 3}, "not of its type, str"),
        ({"n": 1, "size": "xl"}, "none of its choices: 's', 'm'"),
        ({"n": 1, "text": "x" * 65_537}, "65,537 bytes"),
    ],
)
def test_wrong_parameters_stop_the_start(
    given_values: dict[str, object], told: str, tmp_path: Path
) -> None:
    workflow = flow("w", sh("a", "true"), parameters=PARAMETERS)
    with pytest.raises(ParameterError) as caught:
        run(workflow, tmp_path, parameters=given_values)
    assert told in str(caught.value)


def test_entries_of_config_maps_that_are_no_values(tmp_path: Path) -> None:
    entry = ConfigKey(config_map="site", key="size")
    workflow = flow(
        "w", sh("a", "true"), parameters=[Parameter(name="n", type="int", config=entry)]
    )
    with pytest.raises(ParameterError, match=r"a value is required.* COULER_CONFIG_site_size"):
        run(workflow, tmp_path)
    with pytest.raises(ParameterError, match=r'parameter "n": .*int'):
        run(workflow, tmp_path, environ={**os.environ, "COULER_CONFIG_site_size": "many"})
    assert run(workflow, tmp_path, parameters={"n": 3}).status == "succeeded"


def test_file_as_a_parameter(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("content", encoding="utf-8")
    workflow = flow(
        "w",
        sh("a", 'cat "$COULER_INPUT_f"', inputs=[given("f", param("f"), "file")]),
        parameters=[parameter("f", type="file")],
    )
    result = run(workflow, tmp_path, parameters={"f": str(tmp_path / "data")})
    assert result.steps["a"].outputs["result"] == "content"
    with pytest.raises(ParameterError, match="there is no file"):
        run(workflow, tmp_path, parameters={"f": str(tmp_path / "none")})


@pytest.mark.parametrize("location", ["../../data", "/etc/hostname", "", "a/../../x", "nowhere"])
def test_location_outside_the_store_is_refused(location: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("content", encoding="utf-8")
    step = sh("a", 'cat "$COULER_INPUT_f"', inputs=[given("f", location, "file")])
    assert states(run(flow("w", step), tmp_path)) == {"a": "failed"}


def test_what_the_time_limit_of_the_workflow_keeps_from_starting_is_omitted(
    tmp_path: Path,
) -> None:
    workflow = flow(
        "w", sh("slow", "sleep 60"), sh("after", "true", depends_on=["slow"]), timeout_s=0.5
    )
    result = run(workflow, tmp_path)
    assert (result.status, states(result)) == ("failed", {"slow": "failed", "after": "omitted"})
    assert result.steps["after"].message == "the time limit around it had ended"


PROGRAM = """
import sys
from pathlib import Path

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.serialize import read_json

def tell(event):
    if event.kind == "started":
        print(event.path, flush=True)

workflow = read_json(Path(sys.argv[1]).read_text(encoding="utf-8"))
options = RunOptions(home=Path(sys.argv[2]), jobs=1)
result = LocalBackend().run(workflow, options=options, on_event=tell)
print("ended", result.status, {path: step.status for path, step in result.steps.items()})
"""


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM]
)
def test_interrupt_ends_the_step_and_runs_the_exit_handlers(
    number: signal.Signals, tmp_path: Path
) -> None:
    workflow = flow(
        "w",
        sh("first", "echo 1"),
        sh(
            "slow",
            f"touch {tmp_path}/there; sleep 60",
            depends_on=["first"],
            retry=Retry(limit=3),
        ),
        sh("repair", "true", depends_on=[on_failure("slow")]),
        exit_handlers=[ExitHandler(name="end", on="failure", steps=(sh("tell", "true"),))],
    )
    (tmp_path / "w.json").write_text(write_json(workflow), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, tmp_path / "w.json", tmp_path / "run"],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        while not (tmp_path / "there").exists():
            time.sleep(0.02)
            assert process.poll() is None
        process.send_signal(number)
        printed, _ = process.communicate(timeout=30)
    *started, ended = printed.splitlines()
    assert started == ["first", "slow", "exit:end", "exit:end/tell"]
    assert ended == "ended cancelled " + str(
        {
            "first": "succeeded",
            "slow": "cancelled",
            "repair": "omitted",
            "exit:end/tell": "succeeded",
            "exit:end": "succeeded",
        }
    )
