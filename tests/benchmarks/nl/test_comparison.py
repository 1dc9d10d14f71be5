"""Workflows are the same if they mean the same."""

import pytest

import couler
from benchmarks.nl.aspects import FIELDS, aspects_for, row_of
from benchmarks.nl.comparison import differences, policies
from couler.errors import ConfigurationError
from couler.ir.base import Node
from couler.ir.traversal import slots
from couler.ir.workflow import Workflow


@couler.step
def load() -> list[int]:
    return [1, 2]


@couler.step
def train(model: str, data: list[int]) -> float:
    return 0.9


@couler.step
def train_tree(data: list[int]) -> float:
    return 0.9


@couler.step
def best(scores: list[float]) -> float:
    return max(scores)


@couler.step
def tell(value: float) -> None:
    assert value


def made(body, **options):
    with couler.Workflow("w", **options) as wf:
        body(wf)
    ir = wf.to_ir()
    assert not [one for one in ir_problems(ir) if one.severity == "error"]
    return ir


def ir_problems(ir):
    from couler.ir.verify import verify

    return verify(ir)


def run(image, *words, **options):
    return couler.run_container(image, list(words), step_name=words[0], **options)


def mapped(wf):
    data = load()
    best(train.partial(data=data).map(model=["tree", "forest", "svm"]))


def by_function(wf):
    data = load()
    best(couler.map(lambda model: train(model, data), ["a", "b", "c"]))


def first_then_second(wf):
    run("a", "x") >> run("b", "y")


def test_defaults_are_those_of_steps():
    stated = made(lambda wf: run("a", "x", retry=3, memory="1024Mi", env={"TZ": "UTC"}))
    defaults = couler.StepDefaults(retry=3, memory="1Gi", env={"TZ": "UTC"})
    assert differences(stated, made(lambda wf: run("a", "x"), defaults=defaults)) == ()


def test_command_and_arguments_are_one_row_of_words():
    one = made(lambda wf: couler.run_container("a", ["echo", "x"], step_name="s"))
    other = made(lambda wf: couler.run_container("a", ["echo"], args=["x"], step_name="t"))
    assert differences(one, other) == ()
    entry = made(lambda wf: couler.run_container("a", args=["echo", "x"], step_name="t"))
    assert differences(one, entry)  # the image's own program is given two arguments


def test_a_shell_script_is_a_container_with_a_shell():
    one = made(lambda wf: run("a", "sh", "-c", "echo x"))
    other = made(lambda wf: couler.run_script("a", command="sh", source="echo x", step_name="s"))
    assert differences(one, other) == ()
    other = made(lambda wf: couler.run_script("a", command="sh", source="echo y", step_name="s"))
    assert differences(one, other)
    assert differences(one, other, aspects_for(one, any_kind=True)) == ()


def test_where_files_are_read_does_not_count():
    def by_argument(wf):
        made_ = run("a", "x", output={"numbers": couler.File("numbers.txt")}, working_dir=".")
        run("b", "wc", args=[made_.numbers])

    def by_place(wf):
        made_ = run("a", "x", output={"n": couler.File("numbers.txt")}, working_dir=".")
        run("b", "wc", "in/data.txt", input={"in/data.txt": made_.n}, working_dir=".")

    one, other = made(by_argument), made(by_place)
    assert differences(one, other, aspects_for(one, ignore=["working_dir"])) == ()


def test_parameters_that_only_the_answer_has_count_as_their_defaults():
    one = made(lambda wf: run("a", "x", "7"))
    other = made(lambda wf: run("a", "x", args=[wf.params.n]), n=7)
    assert differences(one, other) == ()
    assert differences(other, one)
    required = made(lambda wf: run("a", "x", args=[wf.params.n]), n=int)
    assert differences(one, required)


def test_outputs_that_only_the_answer_gives_do_not_count():
    one = made(lambda wf: mapped(wf))
    other = made(
        lambda wf: wf.output("best", best(train.partial(data=load()).map(model=list("abc"))))
    )
    assert differences(one, other) == ()
    assert differences(other, one)


def test_more_care_than_was_asked_for_is_no_fault():
    one = made(lambda wf: run("a", "x"))
    careful = made(lambda wf: run("a", "x", retry=2, timeout="1h", memory="1Gi"))
    assert differences(one, careful) == ()
    assert differences(careful, one)
    for dear in ({"gpu": 1}, {"cache": True}):
        assert differences(one, made(lambda wf, dear=dear: run("a", "x", **dear)))


def test_another_schedule():
    plan = couler.Schedule
    one = made(first_then_second, schedule=plan("0 3 * * *"))
    assert differences(one, made(first_then_second))
    assert differences(made(first_then_second), one)
    assert differences(one, made(first_then_second, schedule=plan("00 03 * * *"))) == ()
    twice, turned = (
        made(first_then_second, schedule=plan(f"0 {hours} * * *")) for hours in ("1,9", "9,1")
    )
    assert differences(twice, turned) == ()
    quarters = made(first_then_second, schedule=plan("*/15 * * * MON-FRI"))
    for cron, is_same in (("0,15,30,45 * * * 1-5", True), ("0,15,30 * * * 1-5", False)):
        assert is_same != bool(differences(quarters, made(first_then_second, schedule=plan(cron))))
    zoned = made(first_then_second, schedule=plan("0 3 * * *", timezone="Europe/Berlin"))
    assert differences(zoned, one)


def test_only_what_is_asked_for_of_constants():
    one, other = made(mapped), made(by_function)
    asked = aspects_for(one, also=["literals"])
    assert differences(one, other) == ()
    assert differences(one, other, asked)


def test_bounds_of_maps():
    def bounded(bound):
        return lambda wf: couler.map(
            lambda x: run("a", "x", args=[x]), ["1", "2", "3"], max_parallel=bound
        )

    assert differences(made(bounded(2)), made(bounded(2))) == ()
    assert differences(made(bounded(2)), made(bounded(3)))
    assert differences(made(bounded(None)), made(bounded(2))) == ()


def test_instances_of_a_group_are_not_its_steps():
    def pair(x):
        run("a", "x", args=[x])
        run("a", "y", args=[x])

    bounded = made(lambda wf: couler.map(pair, ["1", "2", "3"], max_parallel=2))
    by_run = made(lambda wf: couler.map(pair, ["1", "2", "3"]), max_parallel=2)
    assert differences(bounded, by_run)


def test_more_steps_may_have_the_same_policy():
    def steps(*retries):
        def body(wf):
            for retry in retries:
                run("a", "x", retry=retry)

        return made(body)

    reference = steps(2, 2, 0)
    aspects = aspects_for(reference)
    assert policies(reference, steps(2, 0, 2), aspects) == ()
    assert policies(reference, steps(2, 2, 2, 0), aspects) == ()
    assert policies(reference, steps(2, 0, 0, 0), aspects)
    assert policies(reference, steps(2, 2, 2, 2, 2), aspects)
    assert policies(reference, steps(2, 2, 0, 3), aspects)


def test_an_unknown_aspect_is_refused_with_all_that_there_are():
    with pytest.raises(ConfigurationError, match='no aspect "retries"') as caught:
        aspects_for(made(mapped), ignore=["retries"])
    for name in ("data", "literals", "retry", "exit_handlers"):
        aspects_for(made(mapped), ignore=[name])
        assert f" {name}," in str(caught.value)


def test_a_field_that_is_ignored_is_ignored_with_all_in_it():
    one, other = (made(lambda wf, n=n: run("a", "x", memory=n)) for n in ("1Gi", "2Gi"))
    assert differences(one, other)
    assert differences(one, other, aspects_for(one, ignore=["resources"])) == ()


def test_a_policy_that_differs_is_named():
    one, other = (made(lambda wf, n=n: run("a", "x", retry=n, memory="1Gi")) for n in (2, 3))
    (reason,) = differences(one, other)
    assert reason == '"x": container: retry.limit should be 2, but is 3'
    reason, _ = differences(one, made(lambda wf: run("a", "x", memory="1Gi")))
    assert reason.startswith('"x": container: retry.limit should be 2, but is unset')


def test_every_field_is_in_the_table():
    classes = [Workflow]
    for cls in classes:  # which grows
        found = sorted({one for slot in slots(cls) for one in slot.classes}, key=str)
        classes += [one for one in found if issubclass(one, Node) and one not in classes]
        for field in cls.model_fields:
            assert row_of(cls, field) is not None, f"{cls.__name__}.{field}"
    assert FIELDS.keys() == {*classes}
