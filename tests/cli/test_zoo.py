"""`couler zoo`: what is listed and shown, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable

import jsonschema
import pytest


def test_ls(couler: Callable) -> None:
    done = couler("zoo", "ls")
    assert done.code == 0
    header, *lines = done.out.splitlines()
    assert header.split() == ["name", "version", "from", "summary"]
    [line] = [line for line in lines if line.startswith("tensorflow.train")]
    assert line.split(None, 3) == [
        *("tensorflow.train", "1", "couler"),
        "Train with TensorFlow: a TFJob (kubeflow.org/v1).",
    ]
    steps = couler("zoo", "ls", "--format", "json").json["steps"]
    assert {"name", "version", "summary", "distribution"} == set(steps[0])
    assert len(steps) == len(lines)


def test_show(couler: Callable) -> None:
    done = couler("zoo", "show", "sklearn.train")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[:2] == ["sklearn.train 1, of couler", "Train an estimator of scikit-learn."]
    assert "estimator: str" in lines
    assert "model_path: str = 'model.joblib'" in lines
    assert "    Name of the file that the model is written to, for `joblib.load`." in lines
    assert lines[-1].strip().startswith("wf.output(")
    [gives] = [index for index, line in enumerate(lines) if line == "Gives:"]
    assert lines[gives + 1].startswith("    The step: `model` (a file)")
    assert "Example:" in lines


def test_show_tells_of_hyperparameters(couler: Callable) -> None:
    lines = couler("zoo", "show", "pytorch.train").out.splitlines()
    place = lines.index("input_<NAME>: any")
    assert lines[place + 1].strip().startswith("Hyperparameters as keywords")


@pytest.mark.parametrize(
    ("step", "names", "told"),
    [
        ("trainer.train", ("volume_mounts", "node_selector", "tolerations"), "from 2.2 on"),
        (
            "katib.run",
            ("image", "args", "env", "gpu", "tolerations"),
            "trial without `raw_template`",
        ),
    ],
)
def test_a_step_may_say_more_of_shared_options(
    couler: Callable, step: str, names: tuple[str, ...], told: str
) -> None:
    known = couler("zoo", "show", step, "--format", "json").json["parameters"]["properties"]
    assert all(told in known[name]["description"] for name in names)


def test_show_as_json(couler: Callable) -> None:
    shown = couler("zoo", "show", "katib.run", "--format", "json").json
    assert (shown["schema_version"], shown["name"]) == (1, "katib.run")
    jsonschema.Draft202012Validator.check_schema(shown["parameters"])
    tuned = [{"name": "--lr", "type": "double", "range": [0.1, 0.2]}]
    jsonschema.validate({"tuning_params": tuned, "input_epochs": 3}, shown["parameters"])


def test_unknown_step(couler: Callable) -> None:
    done = couler("zoo", "show", "pytorch")
    assert done.code == 3
    assert 'Did you mean "pytorch.train"?' in done.err
