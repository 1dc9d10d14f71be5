"""Workflows are the same if they mean the same."""

import pytest

import couler
from benchmarks.nl.aspects import aspects_for
from benchmarks.nl.comparison import differences


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


def one_by_one(wf):
    data = load()
    best([train("tree", data), train_tree(data), train("svm", data)])


def by_function(wf):
    data = load()
    best(couler.map(lambda model: train(model, data), ["a", "b", "c"]))


def in_a_group(wf):
    data = load()
    with couler.group("training"):
        scores = [train("tree", data), train("forest", data), train("svm", data)]
    best(scores)


def with_order_that_follows(wf):
    data = load()
    scores = [train("tree", data), train("forest", data), train("svm", data)]
    chosen = best(scores)
    data >> chosen
    scores[0] >> chosen


def other_way_round(wf):
    value = load()[0]
    with couler.when(value <= 5) as small:
        run("b", "y")
    with small.otherwise():
        run("a", "x")


def with_otherwise(wf):
    value = load()[0]
    with couler.when(value > 5) as large:
        run("a", "x")
    with large.otherwise():
        run("b", "y")


def two_whens(wf):
    value = load()[0]
    couler.when(couler.smaller_equal(value, 5), lambda: run("b", "y"))
    with couler.when(~(value <= 5)):
        run("a", "x")


def first_then_second(wf):
    run("a", "x") >> run("b", "y")


def by_nested_conditions(wf):
    value = load()
    with couler.when(value[0] > 1), couler.when(value[1] < 5):
        run("a", "x")


def by_joined_conditions(wf):
    value = load()
    with couler.when((value[1] < 5) & (value[0] > 1)):
        run("a", "x")


SAME = [
    (mapped, one_by_one),
    (mapped, by_function),
    (mapped, in_a_group),
    (mapped, with_order_that_follows),
    (with_otherwise, other_way_round),
    (with_otherwise, two_whens),
    (by_nested_conditions, by_joined_conditions),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_other_words(one, other):
    assert differences(made(one), made(other)) == ()
    assert differences(made(other), made(one)) == ()


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
    aspects = aspects_for(one)
    assert differences(one, other, aspects)
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


def different(one, other):
    assert differences(made(one), made(other))


def test_another_order():
    different(first_then_second, lambda wf: [run("a", "x"), run("b", "y")])
    different(first_then_second, lambda wf: run("b", "y") >> run("a", "x"))


def test_too_few_branches():
    def two(wf):
        best(train.partial(data=load()).map(model=["tree", "forest"]))

    different(mapped, two)

    def one(wf):
        best([train("tree", load())])

    different(mapped, one)


def test_one_after_another_is_not_side_by_side():
    def in_a_row(wf):
        data = load()
        first = train("tree", data)
        second = train("forest", data)
        third = train("svm", data)
        first >> second >> third
        best([first, second, third])

    different(mapped, in_a_row)


def test_a_list_that_is_known_is_not_one_that_is_made():
    different(lambda wf: tell.map(value=load()), lambda wf: tell.map(value=[1.0, 2.0]))


def test_another_condition():
    def at_least(wf):
        value = load()[0]
        with couler.when(value >= 5) as large:
            run("a", "x")
        with large.otherwise():
            run("b", "y")

    different(with_otherwise, at_least)
    different(with_otherwise, lambda wf: load() >> [run("a", "x"), run("b", "y")])


def test_what_swapped_branches_do():
    def swapped(wf):
        value = load()[0]
        with couler.when(value > 5) as large:
            run("b", "y")
        with large.otherwise():
            run("a", "x")

    different(with_otherwise, swapped)


def test_another_image_or_command():
    different(lambda wf: run("a", "x"), lambda wf: run("b", "x"))
    different(lambda wf: run("a", "x"), lambda wf: run("a", "y"))


def test_another_schedule():
    plan = couler.Schedule
    one = made(first_then_second, schedule=plan("0 3 * * *"))
    assert differences(one, made(first_then_second))
    assert differences(made(first_then_second), one)
    assert differences(one, made(first_then_second, schedule=plan("00 03 * * *"))) == ()
    zoned = made(first_then_second, schedule=plan("0 3 * * *", timezone="Europe/Berlin"))
    assert differences(zoned, one)


def test_handlers():
    def handled(status):
        def body(wf):
            run("a", "x")
            wf.on_exit(lambda: run("b", "y"), status=status, name="handler")

        return body

    different(handled("failure"), handled("any"))
    different(handled("failure"), lambda wf: run("a", "x"))


def test_loops():
    def loop(bound, rounds):
        def body(wf):
            with couler.loop(while_=lambda: value > bound, max_iterations=rounds):
                value = best([1.0])

        return body

    assert differences(made(loop(0.1, 5)), made(loop(0.1, 5))) == ()
    different(loop(0.1, 5), loop(0.1, 6))
    different(loop(0.1, 5), loop(0.2, 5))
    different(loop(0.1, 5), lambda wf: best([1.0]))


def test_what_is_carried_through_a_loop():
    def carrying(wf):
        with couler.loop(while_=lambda: value > 1, max_iterations=5) as rounds:
            before = rounds.carry(8.0, name="v")
            value = best([before])
            rounds.next(value)

    def forgetting(wf):
        with couler.loop(while_=lambda: value > 1, max_iterations=5):
            value = best([8.0])

    different(carrying, forgetting)


def test_dependencies_of_other_kinds():
    def after(kind):
        return lambda wf: kind(run("a", "x")) >> run("b", "y")

    different(after(couler.failure), after(couler.completion))
    different(after(couler.completion), first_then_second)


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


def test_whose_failure_it_is():
    def alarm(which):
        def body(wf):
            first, second = run("a", "x"), run("b", "y")
            couler.failure((first, second)[which]) >> run("c", "z")

        return body

    different(alarm(0), alarm(1))


def test_what_a_group_is_retried_with():
    def retried(count):
        def body(wf):
            runs = []
            with couler.group("again", retry=2):
                runs += [run("a", word) for word in ("x", "y", "z")[:count]]
            runs += [run("a", word) for word in ("x", "y", "z")[count:]]

        return body

    assert differences(made(retried(2)), made(retried(2))) == ()
    different(retried(2), retried(1))
    different(retried(1), retried(2))
