"""Small workflows whose values and conditions must be the same on every engine."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

import couler
from couler.ir.defaults import resolve_defaults
from couler.ir.verify import verify
from couler.ir.workflow import Workflow

IMAGE = "busybox:1.37"
LARGE = 2**60 + 1
"""An integer that no float holds."""

Value: t.TypeAlias = t.Any


class ValueCase(t.NamedTuple):
    """What a workflow is built of, and how its run ends."""

    build: Callable[[couler.Workflow], object]
    result: object
    """Its output `r`; None where the run fails."""
    parameters: dict[str, object] = {}  # noqa: RUF012  # never changed

    def workflow(self) -> Workflow:
        """Return the workflow."""
        with couler.Workflow("values", params=self.parameters) as wf:
            result = self.build(wf)
            if result is not None:
                wf.output("r", result)
        workflow = wf.to_ir()
        problems = [*wf.diagnostics, *verify(resolve_defaults(workflow))]
        assert [str(one) for one in problems if one.severity == "error"] == []
        return workflow


@couler.step
def same(x: str) -> str:
    return x


@couler.step
def twice(x: str, y: t.Any) -> str:
    return f"{x} {y}"


@couler.step
def fill(text: str, who: str) -> str:
    return text.replace("{{who}}", who)


@couler.step
def letter() -> str:
    return "Hi {{who}}!"


@couler.step
def letters() -> list[dict]:
    return [{"text": "Hi {{who}}!"}, {"text": "{{"}]


@couler.step
def record() -> dict:
    return {"n": 2**60 + 1, "one": 1.0, "three": 3, "text": "a&<b>", "list": ["p&q"]}


@couler.step
def records() -> list[dict]:
    return [{"z": 2**60 + 1, "a": 1.0, "text": "a&b"}]


@couler.step
def number(x: int) -> int:
    return x


@couler.step
def large() -> int:
    return 2**70


@couler.step
def true() -> bool:
    return True


@couler.step
def shown(x: dict) -> str:
    return repr(x)


@couler.step
def shown_value(x: t.Any) -> str:
    return repr(x)


def echo(*words: object, **options: t.Any) -> Value:
    return couler.run_container(IMAGE, ["echo"], args=list(words), **options)


def printed(text: str, **options: t.Any) -> Value:
    return couler.run_container(IMAGE, ["printf", text], step_name="printed", **options)


def declared(text: str, type: type) -> Value:
    kept = couler.create_parameter_artifact("n", type=type)
    command = ["sh", "-c", f"printf '{text}' > n"]
    options = {"working_dir": ".", "output": {"n": kept}}
    return couler.run_container(IMAGE, command, step_name="declared", **options).n


@couler.step
def one() -> int:
    return 1


def skipped() -> Value:
    with couler.when(one() > 2):
        return number(5)


def text_if_large() -> Value:
    with couler.when(one() > 3):
        return same("0")


def is_true(value: Value) -> Value:
    return value == True  # noqa: E712  # a comparison with a boolean


def choice(condition: Value) -> Value:
    with couler.when(condition):
        then = echo("yes", step_name="then")
    return then.or_else("no")


def loop_of_large(_: couler.Workflow) -> Value:
    with couler.loop(while_=lambda: n["n"] < LARGE, max_iterations=3):
        n = record()
    return couler.text("{}", n["n"])


def carried(_: couler.Workflow) -> Value:
    first = echo("first", step_name="first")
    with couler.loop(max_iterations=2) as rounds:
        x = rounds.carry(first, name="x")
        y = echo(x, step_name="a", sidecars=[beside(x)])
        rounds.next(x, y)
        rounds.until(y == "first")
    return y


def beside(value: Value) -> couler.PodContainer:
    return couler.PodContainer("beside", IMAGE, ["sh", "-c", 'echo "$X"'], env={"X": value})


def counted(value: Value) -> Value:
    counter = couler.Counter("runs_of_values", "Runs.", labels={"value": value})
    return echo(value, step_name="counted", metrics=counter)


BRACES = {
    "a parameter in a map": ValueCase(
        lambda wf: fill.partial(text=wf.params["text"]).map(who=["x", "y"]),
        ["Hi x!", "Hi y!"],
        {"text": "Hi {{who}}!"},
    ),
    "an output in a map": ValueCase(
        lambda _: fill.partial(text=letter()).map(who=["x", "y"]), ["Hi x!", "Hi y!"]
    ),
    "items": ValueCase(lambda _: same.map(x=["Hi {{who}}!", "b"]), ["Hi {{who}}!", "b"]),
    "items that are tags": ValueCase(
        lambda _: same.map(x=["{{ item }}", "{{=1}}", "{{"]), ["{{ item }}", "{{=1}}", "{{"]
    ),
    "a field in a map": ValueCase(
        lambda _: couler.map(lambda one: same(one["text"]), letters()), ["Hi {{who}}!", "{{"]
    ),
    "escaped in items that are read as text and as JSON": ValueCase(
        lambda _: couler.map(lambda one: twice(one, one), printed(r'["\\u007b{=1}}"]')),
        ["{{=1}} {{=1}}"],
    ),
    "text around a value": ValueCase(
        lambda wf: echo(couler.text("{{{{ a }}}} {}", wf.params["who"]), step_name="a"),
        "{{ a }} me",
        {"who": "me"},
    ),
    "a value in braces": ValueCase(
        lambda wf: echo(couler.text("{{{{ {} }}}}", wf.params["who"]), step_name="a"),
        "{{ me }}",
        {"who": "me"},
    ),
}
"""Two braces in a row, which Argo reads as tags."""

VALUES = {
    "a large field": ValueCase(lambda _: number(record()["n"]), LARGE),
    "a large field in text": ValueCase(lambda _: couler.text("{}", record()["n"]), str(LARGE)),
    "a large item": ValueCase(
        lambda _: couler.map(lambda one: number(one["z"]), records()), [LARGE]
    ),
    "a large literal": ValueCase(
        lambda _: couler.map(lambda one: number(one["n"]), [{"n": LARGE}]), [LARGE]
    ),
    "a large part of a parameter": ValueCase(
        lambda wf: number(wf.params["d"]["n"]), LARGE, {"d": {"n": LARGE}}
    ),
    "a large field in a loop": ValueCase(loop_of_large, str(LARGE)),
    "a whole float in text": ValueCase(lambda _: couler.text("{}", record()["one"]), "1.0"),
    "a dict as item": ValueCase(
        lambda _: shown.map(x=records()), [repr({"z": LARGE, "a": 1.0, "text": "a&b"})]
    ),
    "text of a field": ValueCase(lambda _: couler.text("<{}>", record()["text"]), "<a&<b>>"),
    "text of a part": ValueCase(lambda _: echo(couler.text("{}", record()["list"][0])), "p&q"),
    "text of a field of an item": ValueCase(
        lambda _: couler.map(lambda one: same(couler.text("u={}", one["text"])), records()),
        ["u=a&b"],
    ),
    "text of a part of a parameter": ValueCase(
        lambda wf: same(couler.text("{}|{}", wf.params["d"]["k"], wf.params["d"]["f"])),
        "v&w|1.0",
        {"d": {"k": "v&w", "f": 1.0}},
    ),
    "a list in a text": ValueCase(
        lambda _: same.map(x=declared('{"n":"[1.0,2]"}', dict)["n"]), ["1.0", "2"]
    ),
    "lists in texts": ValueCase(
        lambda _: fill.map(text=declared('["[1.0,2]"]', list)[0], who=["x", "y"]), ["1.0", "2"]
    ),
    "a key with escapes": ValueCase(
        lambda _: couler.text("{}", declared('{"n":1,"\\\\u006e":2}', dict)["n"]), "2"
    ),
    "a default of another type": ValueCase(
        lambda _: shown_value(skipped().or_else("1")),
        "'1'",
    ),
    "the first of several types": ValueCase(
        lambda _: shown_value(couler.first_of(skipped(), same("1"))),
        "'1'",
    ),
    "a default for the first of none": ValueCase(
        lambda _: couler.first_of(skipped(), text_if_large()).or_else("7"), "7"
    ),
    "the first after a skipped text": ValueCase(
        lambda _: shown_value(couler.first_of(skipped(), text_if_large(), same("1"))),
        "'1'",
    ),
}
"""Numbers stay exact, whole floats are floats, dicts keep their order, texts have no quotes."""

CONDITIONS = {
    "a bool with newlines": ValueCase(
        lambda _: choice(is_true(declared("true\\n\\n", bool))),
        "yes",
    ),
    "an int with blanks": ValueCase(lambda _: choice(declared(" 42\\n\\n", int) > 40), "yes"),
    "an int is not true": ValueCase(
        lambda wf: choice(is_true(wf.params["n"])),
        "no",
        {"n": 3},
    ),
    "true is not one": ValueCase(lambda _: choice(true() == 1), "no"),
    "a text is no bool": ValueCase(lambda _: choice(is_true(printed("1"))), None),
    "a text is no number": ValueCase(lambda _: choice(printed("inf") > 0.5), None),
    "a literal above 64 bits": ValueCase(lambda _: choice(large() > 2**63), "yes"),
    "a large field": ValueCase(lambda _: choice(record()["n"] == LARGE), "yes"),
    "a large field and the next number": ValueCase(
        lambda _: choice(record()["n"] == LARGE - 1), "no"
    ),
    "a large number as text": ValueCase(lambda _: choice(printed(str(LARGE)) == LARGE - 1), "no"),
    "a form feed is no white space": ValueCase(
        lambda _: choice(declared("2\\f", int) == LARGE), None
    ),
    "minus zero in a list": ValueCase(lambda _: choice(declared("[-0.0]", list) == [0]), "yes"),
    "a dict in place of a number": ValueCase(
        lambda _: choice(skipped().or_else({"n": 1.0}) == {"n": 1}), "yes"
    ),
    "text of a part": ValueCase(
        lambda _: choice(couler.text("{}", record()["text"]) == "a&<b>"), "yes"
    ),
    "a text is not None": ValueCase(lambda _: choice(letter() != None), "yes"),  # noqa: E711
    "a text below a number": ValueCase(lambda _: choice(printed("2") < record()["three"]), "yes"),
}
"""Rule 5 of docs/semantics.md."""

MAPS_OF_ONE_STEP = {
    "an item in a sidecar": ValueCase(
        lambda _: couler.map(lambda x: echo(x, step_name="m", sidecars=[beside(x)]), ["p", "q"]),
        ["p", "q"],
    ),
    "a carried value in a sidecar": ValueCase(carried, "first"),
    "an item in a label of a metric": ValueCase(
        lambda _: couler.map(counted, ["p", "q"]), ["p", "q"]
    ),
}
"""Items and carried values reach all places of the step, also where it is the only one."""

VALUE_CASES = {
    f"{family}: {name}": case
    for family, cases in (
        ("braces", BRACES),
        ("values", VALUES),
        ("conditions", CONDITIONS),
        ("maps", MAPS_OF_ONE_STEP),
    )
    for name, case in cases.items()
}
