"""`couler tune`: from cards to a workflow with the chosen values, over the wire."""

from __future__ import annotations

import json
import signal
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from couler.dsl.workflow import Workflow
from couler.llm import Prompt
from couler.llm.client import OpenedModel
from couler.tuning.outcome import read_outcome
from tests.cli.conftest import Outcome, Serve
from tests.tuning.conftest import DATA, MODEL, SPACE, log, predicts, ranks

Run = Callable[..., Outcome]

DEFAULT = {"learning_rate_init": 0.001, "hidden_layer_sizes": [50]}
GOOD = {"learning_rate_init": 0.01, "hidden_layer_sizes": [50]}
RULES = [
    ranks((GOOD, 0.97), (DEFAULT, 0.8)),
    predicts(DEFAULT, log(0.8)),
    predicts(GOOD, log(0.97)),
]

CARDS = ("--data-card", "data.yaml", "--model-card", "model.yaml", "--space", "space.yaml")
ONE = (*CARDS, "--candidates", "1")


@pytest.fixture(autouse=True)
def cards(folder: Path) -> None:
    for name, text in (("data", DATA), ("model", MODEL), ("space", SPACE)):
        (folder / f"{name}.yaml").write_text(text)


def test_what_a_model_says_does_not_drive_the_terminal(couler: Run, serve: Serve) -> None:
    bell = "\x1b]0;title\x07\nchosen: c99"
    far = {**GOOD, bell: 1}
    serve(
        [
            ranks((far, 0.9), (GOOD, 0.9)),
            predicts(DEFAULT, log(0.8, reason=bell)),
            predicts(GOOD, log(0.5, points=1)),
        ]
    )
    done = couler("tune", *CARDS, "--candidates", "2", "--predict-logs")
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert "\ufffd]0;title" in done.out
    assert "\ufffd]0;title" in done.err
    assert not [line for line in done.out.splitlines() if line.startswith("chosen: c99")]


def test_json_and_the_file_are_the_outcome(couler: Run, serve: Serve, folder: Path) -> None:
    serve(RULES)
    done = couler("tune", *ONE, "-o", "tuned.yaml", "--format", "json", "-q")
    assert (done.code, done.err) == (0, "")
    assert done.json["schema_version"] == 1
    assert done.json["parameters"] == GOOD
    assert yaml.safe_load((folder / "tuned.yaml").read_text()) == done.json
    assert not [one for one in folder.iterdir() if one.name.startswith(".")]
    couler("tune", *ONE, "-o", "tuned.json", "-q")
    assert json.loads((folder / "tuned.json").read_text()) == done.json


PROGRAM = """
import couler
from couler.steps import sklearn

with couler.Workflow("fit") as wf:
    data = couler.Dataset(name="wine")
    model = sklearn.train("MLPClassifier", data, {"max_iter": 50}, step_name="fit")
    wf.output("score", model.score)
"""


def test_the_pass_takes_the_file(couler: Run, serve: Serve, folder: Path) -> None:
    serve(RULES)
    couler("tune", *ONE, "-o", "tuned.yaml")
    (folder / "fit.py").write_text(PROGRAM)
    done = couler("plan", "fit.py", "--pass", "tune{outcome=tuned.yaml}", "-v")
    assert done.code == 0
    assert "2 of 2 hyperparameters of fit are filled." in done.out
    why = "learning_rate_init is 0.01: best of 2 by the ranking of the language model, accuracy"
    assert why in json.dumps(
        couler(
            *("plan", "fit.py", "--pass", "tune{outcome=tuned.yaml}", "--format", "json"),
        ).json
    )


def test_p_takes_the_file(couler: Run, serve: Serve, folder: Path) -> None:
    serve(RULES)
    couler("tune", *ONE, "-o", "tuned.yaml")
    (folder / "flow.yaml").write_text("""
ir_version: "1"
name: flow
parameters:
- {name: learning_rate_init, type: float, default: 0.5}
- {name: hidden_layer_sizes, type: list, default: []}
outputs:
- {name: rate, type: float, value: {kind: param, name: learning_rate_init}}
- {name: sizes, type: list, value: {kind: param, name: hidden_layer_sizes}}
steps:
- {name: a, action: {kind: script, image: x, source: "pass"}}
""")
    done = couler("run", "flow.yaml", "-p", "@tuned.yaml", "--format", "json")
    assert done.json["outputs"] == {"rate": 0.01, "sizes": [50]}
    (folder / "own.yaml").write_text("{learning_rate_init: 0.2}")
    done = couler("run", "flow.yaml", "-p", "@own.yaml", "--format", "json")
    assert done.json["outputs"]["rate"] == 0.2
    done = couler("run", "flow.yaml", "-p", "@missing.yaml")
    assert (done.code, "-p @missing.yaml: the file of parameters" in done.err) == (2, True)
    (folder / "list.yaml").write_text("[1]")
    assert "no table of parameters" in couler("run", "flow.yaml", "-p", "@list.yaml").err


@pytest.mark.parametrize(
    ("type_", "written", "value"),
    [
        ("json", '"5"', "5"),
        ("json", "'null'", "null"),
        ("json", "abc", "abc"),
        ("json", "null", None),
        ("json", "1e-4", 0.0001),
        ("json", "[1, '2']", [1, "2"]),
        ("str", '"5"', "5"),
        ("int", "5", 5),
    ],
)
def test_p_takes_values_of_a_file_as_they_are(
    couler: Run, folder: Path, type_: str, written: str, value: object
) -> None:
    (folder / "flow.yaml").write_text(f"""
ir_version: "1"
name: flow
parameters:
- {{name: a, type: {type_}, required: true}}
outputs:
- {{name: a, type: {type_}, value: {{kind: param, name: a}}}}
steps:
- {{name: s, action: {{kind: script, image: x, source: "pass"}}}}
""")
    (folder / "own.yaml").write_text(f"a: {written}\n")
    done = couler("run", "flow.yaml", "-p", "@own.yaml", "--format", "json")
    assert done.code == 0, done.err
    assert done.json["outputs"] == {"a": value}


def test_p_does_not_take_a_text_of_a_file_for_a_number(couler: Run, folder: Path) -> None:
    (folder / "flow.yaml").write_text("""
ir_version: "1"
name: flow
parameters: [{name: a, type: int, default: 1}]
steps:
- {name: s, action: {kind: script, image: x, source: "pass"}}
""")
    (folder / "own.yaml").write_text('{a: "5"}')
    done = couler("run", "flow.yaml", "-p", "@own.yaml")
    assert (done.code != 0, "'5' is a text, and its type is int" in done.err) == (True, True)


def test_anonymous_leaves_the_scoring_protocol_as_it_is(
    couler: Run, serve: Serve, folder: Path
) -> None:
    server = serve(RULES)
    classes = "{kind: classes, classes: [mean, trained]}"
    (folder / "data.yaml").write_text(DATA.replace("{kind: classes, class_count: 3}", classes))
    done = couler("tune", *ONE, "--anonymous", "--format", "json")
    asked = server.requests[0].messages[-1][1]
    protocol = "accuracy: the mean over 5 random splits of the rows. For each the model is trained"
    assert f'<scoring>"{protocol}' in asked
    assert done.json["scoring"].startswith(protocol)
    assert '"classes": ["class 1", "class 2"]' in asked


@pytest.mark.slow
def test_validate_trains_as_many_settings_as_it_says(
    couler: Run, serve: Serve, folder: Path
) -> None:
    bad = {"learning_rate_init": 1.0, "hidden_layer_sizes": [10]}
    server = serve([ranks((GOOD, 0.97), times=1), ranks((GOOD, 0.99), (bad, 0.9))])
    done = couler(
        *("tune", *CARDS, "--validate", "3", "--rounds", "2", "--splits", "1", "--home", "home"),
        "--anonymous",
    )
    assert done.code == 0, done.err
    assert "why: best of 3 by real training, accuracy " in done.out
    assert "real accuracy" in done.out
    assert "rank correlation of predicted and real (Spearman): not defined, n = 2\n" in done.out
    assert (folder / "home" / "couler.db").exists()
    first, second = (one.messages[-1][1] for one in server.requests)
    assert "the mean over 1 random splits of the rows" in first
    assert (first.count('"score"'), second.count('"score"')) == (1, 2)
    assert ('"name": "data"' in first, "wine" in first) == (True, False)
    assert "training c01" in done.err


def test_what_cannot_be_trained_is_told_before_a_call_is_paid(
    couler: Run, serve: Serve, folder: Path
) -> None:
    server = serve(RULES)
    (folder / "data.yaml").write_text(DATA.replace("data: {name: wine}", ""))
    done = couler("tune", *ONE, "--validate", "2")
    assert done.code == 1
    assert "does not say where the data are" in done.err
    assert server.requests == ()


@pytest.mark.slow
def test_a_training_that_fails_is_told_before_a_call_is_paid(
    couler: Run, serve: Serve, folder: Path
) -> None:
    server = serve(RULES)
    (folder / "data.yaml").write_text(DATA.replace("metric: accuracy", "metric: roc_auc"))
    done = couler("tune", *ONE, "--validate", "2", "-o", "tuned.yaml")
    assert (done.code, done.err.count("error:")) == (1, 1)
    assert "the default cannot be trained, so no language model was asked: " in done.err
    assert server.requests == ()
    assert not (folder / "tuned.yaml").exists()


@pytest.mark.parametrize("is_told_to_end", [False, True])
def test_what_was_predicted_is_kept_if_it_is_interrupted(
    couler: Run, serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch, is_told_to_end: bool
) -> None:
    serve(RULES)
    ask_for, number = OpenedModel.ask_for, signal.SIGTERM if is_told_to_end else signal.SIGINT

    def interrupted(self: OpenedModel, prompt: Prompt, *rest: t.Any, **options: t.Any) -> t.Any:
        if prompt.name == "tune-log" and self.usage.calls == 2:
            signal.raise_signal(number)
        return ask_for(self, prompt, *rest, **options)

    monkeypatch.setattr(OpenedModel, "ask_for", interrupted)
    logs = ("tune", *ONE, "--predict-logs")
    done = couler(*logs, "-o", "tuned.yaml", "--record", "all.jsonl")
    assert done.code == 128 + number, done.err
    assert done.err.count("error:") == 1
    assert "chosen: c01" in done.out
    lines = done.err.splitlines()
    assert lines[-2:] == [
        "tuned.yaml has the best setting so far, for -p @tuned.yaml and the pass tune",
        "--replay all.jsonl in place of --record reuses the recorded answers",
    ]
    monkeypatch.setattr(OpenedModel, "ask_for", ask_for)
    again = couler(*logs, "--replay", "all.jsonl", "--format", "json")
    assert (again.code, again.json["chosen"]) == (4, "c01")
    assert read_outcome(folder / "tuned.yaml").ended_early == "interrupted"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_trained_is_kept_if_training_is_interrupted(
    couler: Run,
    serve: Serve,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
) -> None:
    serve([ranks((GOOD, 0.97))])
    run = Workflow.run

    def cancelled(self: Workflow, **options: t.Any) -> t.Any:
        told: list[str] = []

        def tell(event: t.Any) -> None:
            # A second signal would end it at once.
            if event.kind == "finished" and "c02" in str(event.path) and not told:
                told.append(event.kind)
                signal.raise_signal(number)

        return run(self, **{**options, "on_event": tell})

    monkeypatch.setattr(Workflow, "run", cancelled)
    done = couler(
        *("tune", *ONE, "--validate", "2", "--splits", "2", "-o", "tuned.yaml", "--home", "home")
    )
    assert done.code == 128 + number, done.err
    assert "chosen: c01" in done.out
    assert done.err.splitlines()[-3:] == [
        "error: interrupted" if number == signal.SIGINT else "error: told to end (SIGTERM)",
        "tuned.yaml has the best setting so far, for -p @tuned.yaml and the pass tune",
        "`couler llm log` shows the answers; the same command requests them again",
    ]
    outcome = read_outcome(folder / "tuned.yaml")
    assert [one.real is None for one in outcome.candidates] == [False, True]


@pytest.mark.parametrize("place", ["/proc/tuned.yaml", "/dev/null"])
def test_a_place_that_cannot_be_written_is_told_before_a_call_is_paid(
    couler: Run, serve: Serve, place: str
) -> None:
    server = serve(RULES)
    done = couler("tune", *ONE, "-o", place)
    assert (done.code, place in done.err) == (2, True)
    assert server.requests == ()


FAULTS: dict[str, tuple[list[dict[str, t.Any]], tuple[str, ...], int, str]] = {
    "budget": (RULES, ("--max-tokens-total", "1500"), 4, "budget"),
    "rubbish": (
        [*RULES[:1], {"when": {"prompt": "tune-log"}, "reply": {"text": "I can't."}}],
        ("--predict-logs",),
        1,
        "no setting has a score",
    ),
    "refused": ([{"status": 401, "message": "no such key"}], (), 4, "401"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_faults_are_one_message_and_nothing_is_written(
    couler: Run, serve: Serve, folder: Path, what: str
) -> None:
    rules, flags, code, told = FAULTS[what]
    serve(rules)
    (folder / "tuned.yaml").write_text("as it was\n")
    done = couler("tune", *ONE, "-o", "tuned.yaml", *flags, "-q")
    assert (done.code, done.out) == (code, "")
    assert done.err.count("error:") == 1
    assert told in done.err
    assert "Traceback" not in done.err
    assert (folder / "tuned.yaml").read_text() == "as it was\n"
    assert not [one for one in folder.iterdir() if one.name.startswith(".")]


def test_a_missing_key_and_a_dead_endpoint(
    couler: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COULER_LLM_MODEL", "m")
    done = couler("tune", *ONE)
    assert (done.code, done.err.count("error:")) == (3, 1)
    assert "key" in done.err
    monkeypatch.setenv("COULER_LLM_API_KEY", "none")
    monkeypatch.setenv("COULER_LLM_MAX_RETRIES", "0")
    done = couler("tune", *ONE, "--base-url", "http://127.0.0.1:9/v1")
    assert (done.code, done.err.count("error:")) == (4, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((*CARDS, "--splits", "3"), 2, "--splits requires --validate K"),
        ((*CARDS, "--rounds", "3"), 2, "--rounds requires --validate K"),
        (("card", "data", "--set", "iris", "--label", "x"), 2, "--label: not of a set"),
        (("card", "data", "R.md"), 1, "R.md is neither .csv, .tsv nor .npz"),
        (("card", "data", "r.npz", "--delimiter", ";"), 2, "--delimiter: not of an npz file"),
        ((*CARDS, "--seed", "-1"), 2, "-1 is not in the range"),
        (("--data-card", "data.yaml"), 2, "--data-card, --model-card and --space are needed"),
        ((*CARDS, "-o", "nowhere/tuned.yaml"), 2, "there is no folder nowhere"),
        ((*CARDS[:-1], "model.yaml"), 1, 'there is no key "structure"'),
        ((*CARDS, "--validate", "1"), 2, "1 is not in the range x>=2"),
    ],
)
def test_wrong_calls(
    *, couler: Run, serve: Serve, folder: Path, arguments: tuple[str, ...], code: int, told: str
) -> None:
    serve([])
    for name in ("R.md", "r.npz"):
        (folder / name).touch()
    done = couler("tune", *arguments)
    assert (done.code, told in done.err) == (code, True), done.err


def test_cards_are_drawn(couler: Run, folder: Path) -> None:
    (folder / "rows.csv").write_text("a,kind\n1,x\n2,y\n")
    (folder / "cards").mkdir()
    done = couler("tune", "card", "data", "rows.csv", "-o", "cards/d.yaml")
    assert (done.code, done.err) == (0, "wrote cards/d.yaml\n")
    card = yaml.safe_load((folder / "cards" / "d.yaml").read_text())
    assert card["data"] == {"file": "../rows.csv"}
    assert yaml.safe_load(couler("tune", "card", "data", "--set", "iris").out)["rows"] == 150
    drawn = couler("tune", "card", "model", "--estimator", "SVC").out
    assert yaml.safe_load(drawn)["training"]["scale"] is True
    assert couler("tune", "card", "data").code == 2
    missing = couler("tune", "card", "data", "digits")
    assert missing.code == 2
    assert "there is no file digits. The set of scikit-learn is --set digits." in missing.err
    assert "does not exist" in couler("tune", "card", "data", "digit").err
    assert couler("tune", "card", "model").code == 2
