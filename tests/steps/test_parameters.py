"""Steps of the zoo check their arguments, know their schema, and are found by entry points."""

from __future__ import annotations

import functools
import inspect
import typing as t
from collections.abc import Mapping, Sequence

import jsonschema
import pytest
from hypothesis import given, settings, strategies as st

import couler
from couler import steps
from couler.errors import ConfigurationError
from couler.steps import STATIC, ZooStep, get_step, step_names, zoo_step
from tests.dsl.look import box, problems

BUILT_IN = (
    "katib.run",
    "lightgbm.train",
    "mpi.train",
    "pytorch.train",
    "sklearn.train",
    "tensorflow.train",
    "trainer.train",
    "xgboost.train",
)


@zoo_step("test.say", version="3", extra="with_")
def say(
    text: str,
    times: t.Annotated[int, STATIC] = 1,
    tone: t.Literal["loud", "soft"] | None = None,
    words: Sequence[str] = (),
    extra: Mapping[str, object] | None = None,
    mount: couler.VolumeMount | None = None,
    **more: object,
) -> t.Any:
    """Say something.

    At length.

    Parameters
    ----------
    text
        What is said.
    times, tone
        How often, and
        how.

    Examples
    --------
    Some words.

    >>> words = ["a"]
    >>> if words:
    ...     words.append("b")
    """
    return box("said", text, times, *sorted(more))


def codes(call: t.Callable[[couler.Workflow], object]) -> list[tuple[str, str]]:
    with couler.Workflow("w", count=2, name_="x") as wf:
        call(wf)
    return [(one.code, one.message) for one in problems(wf)]


def test_summary_example_and_schema() -> None:
    assert (say.name, say.version, say.summary) == ("test.say", "3", "Say something.")
    assert say.example == 'words = ["a"]\nif words:\n    words.append("b")'
    schema = say.parameters.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["required"] == ["text"]
    properties = schema["properties"]
    assert properties["text"] == {"type": "string", "description": "What is said."}
    assert properties["times"] == {
        "type": "integer",
        "default": 1,
        "description": "How often, and how.",
    }
    assert properties["tone"]["anyOf"] == [
        {"enum": ["loud", "soft"], "type": "string"},
        {"type": "null"},
    ]
    assert schema["patternProperties"] == {"^with_.": {}}
    jsonschema.validate({"text": "a", "words": ["b"], "with_x": 1}, schema)
    for wrong in ({}, {"text": 1}, {"text": "a", "tone": "flat"}, {"text": "a", "txt": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_the_types_are_shown_as_programs_write_them() -> None:
    labels = {name: one.label for name, one in say.parameters.named.items()}
    assert labels == {
        "text": "str",
        "times": "int",
        "tone": "Literal['loud', 'soft'] | None",
        "words": "Sequence[str]",
        "extra": "Mapping[str, object] | None",
        "mount": "VolumeMount | None",
    }


def test_right_arguments_are_no_problem() -> None:
    mount = couler.VolumeMount("data", "/data")
    assert codes(lambda wf: say("a", 2, "soft", ["b"], {"c": wf.params.count}, mount)) == []
    assert codes(lambda wf: say(wf.params["name_"], tone=None, with_noise=3)) == []
    assert codes(lambda wf: say(box("a"))) == []


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        (lambda wf: say(), "CLR101", '"text" is missing'),
        (lambda wf: say(txt="a"), "CLR104", 'no argument "txt". Did you mean "text"?'),
        (lambda wf: say("a", tmes=2), "CLR104", 'Did you mean "times"?'),
        (lambda wf: say("a", with_=2), "CLR104", 'no argument "with_"'),
        (lambda wf: say(3), "CLR107", "must be str, not 3, which is int"),
        (lambda wf: say("a", "2"), "CLR107", "must be int, not '2', which is str"),
        (lambda wf: say("a", tone="flat"), "CLR107", "must be Literal['loud', 'soft'] | None"),
        (lambda wf: say("a", words="b"), "CLR107", "must be Sequence[str]"),
        (
            lambda wf: say("a", words=["b", 3]),
            "CLR107",
            "(1: Input should be a valid string, not 3)",
        ),
        (lambda wf: say("a", mount="data"), "CLR107", "must be VolumeMount | None"),
        (lambda wf: say("a", wf.params.count), "CLR105", "known when the workflow is built"),
        (lambda wf: say("a", tone=wf.params.count), "CLR107", "which is int"),
        (lambda wf: say("a", text="b"), "CLR102", "given twice"),
        (
            lambda wf: say("a", 1, None, (), None, None, 7),
            "CLR102",
            "6 arguments at most, not 7",
        ),
    ],
)
def test_each_mistake_is_one_diagnostic(
    call: t.Callable[[couler.Workflow], object], code: str, words: str
) -> None:
    [(found, message)] = codes(call)
    assert found == code
    assert message.startswith('step "test.say": ')
    assert words in message


def test_a_mistake_is_told_once_whatever_follows() -> None:
    def program(wf: couler.Workflow) -> None:
        model = say(txt="a")
        after = box("after", model, model.path, model["x"].y)
        model >> after
        with couler.when(model.score > 0.5):
            box("good")
        wf.output("score", model.score)

    assert [code for code, _ in codes(program)] == ["CLR104"]


def test_a_diagnostic_has_the_line_of_the_call() -> None:
    with couler.Workflow("w") as wf:
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]  # CPython has frames
        say("a", tims=2)
    [problem] = wf.diagnostics
    assert problem.source is not None
    assert (problem.source.file, problem.source.line) == (wf.to_ir().source.file, line)
    [step] = wf.to_ir().steps
    assert step.source.line == line


def test_built_in_steps_are_found_like_all_others() -> None:
    assert set(BUILT_IN) <= set(step_names())
    for name in BUILT_IN:
        step = get_step(name)
        assert step.name == name
        assert step.summary.endswith(".")
        assert step.example
        schema = step.parameters.schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        missing = [one for one, of in schema["properties"].items() if not of.get("description")]
        assert missing == [], name


def test_unknown_step_names_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match=r'no step "pytorch.trian".*Did you mean "pytorch'):
        get_step("pytorch.trian")


def test_broken_step_names_its_distribution(
    tmp_path: t.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "bad-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[couler.steps]\nbad.one = math:pi\nbad.two = couler.steps.mpi:train\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match=r"of bad cannot be used: 3.14.* is no step made"):
        get_step("bad.one")
    with pytest.raises(ConfigurationError, match=r'it calls itself "mpi\.train"'):
        get_step("bad.two")


def test_modules_and_names_are_reached_from_the_package() -> None:
    import couler.argo

    assert couler.steps is steps
    assert couler.argo.steps.mpi.train is get_step("mpi.train")
    assert isinstance(couler.steps.sklearn.train, ZooStep)
    with pytest.raises(AttributeError, match='Did you mean "pytorch"'):
        _ = couler.steps.pytroch


NAMES = {
    "sklearn.train": {"estimator": "SVC", "datasource": couler.Dataset(name="iris")},
    "xgboost.train": {"datasource": couler.Dataset(name="iris")},
    "lightgbm.train": {"datasource": couler.Dataset(name="iris")},
}
SIMPLE = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(-2, 2).filter(lambda one: not one.is_integer())
    | st.sampled_from(["a", "Never", "Running", "OpenMPI", "categorical", "maximize"])
)
ARGUMENTS = (
    SIMPLE
    | st.lists(SIMPLE, max_size=2)
    | st.dictionaries(st.sampled_from(["name", "type", "metric_name", "a"]), SIMPLE, max_size=3)
)


@pytest.mark.parametrize("name", BUILT_IN)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_the_schema_takes_what_the_step_takes(name: str, data: st.DataObject) -> None:
    parameters = get_step(name).parameters
    chosen = data.draw(st.sampled_from([*parameters.named, "input_a", "input_", "unknown"]))
    value = data.draw(ARGUMENTS)
    schema = _schema(name)
    if chosen in parameters.named and _holds_objects(schema, chosen):
        return  # objects of Python, which JSON cannot be
    required = {key: one for key, one in NAMES.get(name, {}).items() if key != chosen}
    _, refused = parameters.bind((), {**required, chosen: value})
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({chosen: value}) is (not refused), (chosen, value, refused)


@functools.cache
def _schema(name: str) -> dict[str, t.Any]:
    """The schema of a step's arguments, of which any may be missing."""
    return {**get_step(name).parameters.schema(), "required": []}


def _holds_objects(schema: dict[str, t.Any], name: str) -> bool:
    """Whether an argument can be an object of Python, by the definitions that its schema names."""
    if name == "datasource":
        return True
    told = str(schema["properties"][name])
    dicts = ("TuningParameter", "Objective")
    return "$ref" in told and not any(f"#/$defs/{one}" in told for one in dicts)


@pytest.mark.parametrize("name", BUILT_IN)
def test_defaults_fit_the_schema(name: str) -> None:
    schema = get_step(name).parameters.schema()
    validator = jsonschema.Draft202012Validator(schema)
    told = {key: one["default"] for key, one in schema["properties"].items() if "default" in one}
    assert [error.message for error in validator.iter_errors(told) if error.path] == []
