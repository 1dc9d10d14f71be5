"""The benchmark itself: its references are right, tell apart, and run to what is stated."""

import itertools
import random
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.nl.comparison import differences
from benchmarks.nl.items import read_benchmark
from benchmarks.nl.judging import Judge, aspects_of, diagnosed, reference_workflow
from couler.box import build_program, check_program, isolation
from couler.box.running import running_problem
from couler.generation.prompting import api_card
from couler.ir.policies import AnyOf, Dependency
from couler.ir.rewrite import map_scopes, rename_references
from couler.ir.values import map_children
from couler.ir.workflow import Workflow
from tests.nl_benchmark.other_names import in_other_names

BENCHMARK = read_benchmark(Path(__file__).parent)
ITEMS = BENCHMARK.items
RUNNING = [item for item in ITEMS if item.run is not None]

QUICK = ("hello", "quality_gate", "image_model_selection")
"""What is built in the box by default; `slow` builds all."""


def test_size():
    assert len(ITEMS) >= 60
    assert sum(len(item.descriptions) for item in ITEMS) >= 120
    tags = Counter(tag for item in ITEMS for tag in item.tags)
    for tag in (
        *("container", "script", "typed", "zoo", "job", "map", "condition", "loop", "files"),
        *("schedule", "gpu", "resources", "retry", "timeout", "exit-handler", "parameters"),
        *("secret", "cache", "volume", "suspend", "http", "dynamic", "ml", "paper"),
    ):
        assert tags[tag], tag


def test_descriptions_are_unique():
    texts = Counter(" ".join(text.casefold().split()) for i in ITEMS for text in i.descriptions)
    assert not [text for text, count in texts.items() if count > 1]


def test_every_program_has_an_item():
    folder = Path(__file__).parent / "items"
    assert {file.stem for file in folder.glob("*.py")} == {item.name for item in ITEMS}


@pytest.mark.slow
def test_references_are_right():
    for item in ITEMS:
        assert diagnosed(reference_workflow(item), item.engines) == ()
        assert check_program(item.reference) == ()
        program = in_other_names(item.reference)
        by_another = reference_workflow(item.model_copy(update={"reference": program}))
        verdict = Judge("").judge_workflow(item, by_another)
        assert verdict.is_right, (item, verdict.reasons)


@pytest.mark.nightly
@pytest.mark.slow
def test_references_differ():
    for one, other in itertools.permutations(ITEMS, 2):
        verdict = Judge("").compare(one, reference_workflow(other))
        assert not verdict.is_right, f"{other} is an answer to {one}"


@pytest.mark.slow
@settings(max_examples=3)
@given(chance=st.randoms(use_true_random=False))
def test_references_are_themselves_under_other_names(chance):
    for item in ITEMS:
        workflow = reference_workflow(item)
        other = renamed(workflow, chance)
        assert differences(workflow, other, aspects_of(item)) == (), item
        assert differences(other, workflow, aspects_of(item)) == (), item


def test_references_less_a_step_are_others():
    for item in ITEMS:
        workflow = reference_workflow(item)
        fewer = workflow.model_copy(update={"steps": workflow.steps[:-1], "outputs": ()})
        assert differences(workflow, fewer, aspects_of(item)), item


def renamed(workflow: Workflow, chance: random.Random) -> Workflow:
    """Return a workflow with other names of steps, in another order wherever they are listed."""
    outer: dict[str, str] = {}
    inside: dict[object, dict[str, str]] = {}

    def scope(there):
        numbers = list(range(len(there.steps)))
        chance.shuffle(numbers)
        names = {
            step.name: f"step-{len(there.path)}-{number}"
            for step, number in zip(there.steps, numbers, strict=True)
        }
        if not there.path and there.handler is None:
            outer.update(names)
        known = {**outer, **names} if there.handler is not None else names
        inside[there.key] = names
        steps = []
        for step in there.steps:
            own = inside.get((there.handler, (*there.path, step.name)), {})
            steps.append(changed(with_outputs(step, own), known))
        chance.shuffle(steps)
        return tuple(steps)

    made = map_scopes(workflow, scope)
    return with_outputs(made, outer).model_copy(update={"name": "renamed"})


def with_outputs(holder, names):
    """Return a workflow or a group whose outputs read steps by other names."""
    outputs = tuple(
        one
        if one.value is None
        else one.model_copy(update={"value": rename_references(one.value, names)})
        for one in holder.outputs
    )
    return holder.model_copy(update={"outputs": outputs})


def changed(step, names):
    def again(dependency):
        match dependency:
            case str():
                return names.get(dependency, dependency)
            case Dependency():
                return dependency.model_copy(update={"step": names[dependency.step]})
            case AnyOf():
                options = tuple(map(again, dependency.options))
                return dependency.model_copy(update={"options": options})

    step = map_children(step, lambda value: rename_references(value, names))
    update = {
        "name": names[step.name],
        "depends_on": tuple(map(again, step.depends_on)),
        "program_order": tuple(names.get(one, one) for one in step.program_order),
    }
    return step.model_copy(update=update)


# built and run in the box ------------------------------------------------------------------------

needs_box = pytest.mark.skipif(isolation().problem is not None, reason="no box on this system")
needs_runs = pytest.mark.skipif(running_problem() is not None, reason="no runs in a box here")


def marked(items, quick):
    slow = pytest.mark.slow
    return [item if item.name in quick else pytest.param(item, marks=slow) for item in items]


@pytest.mark.sampled(4)
@pytest.mark.slow
@needs_box
@pytest.mark.parametrize("item", marked(ITEMS, QUICK), ids=str)
def test_reference_builds_in_the_box(item):
    built = build_program(item.reference)
    assert built.is_sound
    assert differences(reference_workflow(item), built.workflow, aspects_of(item)) == ()


@pytest.mark.sampled(4)
@needs_runs
@pytest.mark.parametrize("item", marked(RUNNING, ("quality_gate",)), ids=str)
def test_reference_runs_to_what_is_stated(item):
    assert Judge().judge_workflow(item, reference_workflow(item)).reasons == ()


# prompts never contain items ---------------------------------------------------------------------

WORDS_IN_A_ROW = 9
"""So many words of a description in a row are no chance."""

LINES_IN_A_ROW = 4
"""So many lines of a reference in a row, imports and decorators apart."""


@cache
def prompt_files():
    """Return the files that prompts are made of: files of prompts, the Code Lake, examples."""
    import couler

    package = Path(couler.__file__).parent
    root = package.parent
    found = [file for file in package.glob("**/prompts/**/*") if file.is_file()]
    found += (root / "benchmarks" / "nl" / "prompts").glob("*")
    found += (package / "generation" / "snippets").glob("*.py")
    examples = set((root / "examples").glob("**/*.py"))
    found += examples - set((root / "examples" / "from_english").glob("*"))  # what users ask for
    found += [root / "docs" / name for name in ("writing-workflows.md", "step-zoo.md")]
    found += (package / "steps").glob("*.py")
    return [file for file in found if file.suffix not in (".pyc",)]


def words(text):
    return re.findall(r"[a-z0-9_]+", text.casefold())


def rows(parts, length):
    return {tuple(parts[start : start + length]) for start in range(len(parts) - length + 1)}


def code_lines(text):
    lines = (" ".join(line.split()) for line in text.splitlines())
    plain = ("import ", "from ", "@", "#", '"""')
    return [line for line in lines if len(line) > 3 and not line.startswith(plain)]


def overlaps(text):
    """Yield the items of which a text contains long pieces."""
    found, lines = rows(words(text), WORDS_IN_A_ROW), rows(code_lines(text), LINES_IN_A_ROW)
    for item in ITEMS:
        for description in item.descriptions:
            own = words(description)
            length = min(WORDS_IN_A_ROW, len(own))
            there = found if length == WORDS_IN_A_ROW else rows(words(text), length)
            if rows(own, length) & there:
                yield item.name
        if rows(code_lines(item.reference), LINES_IN_A_ROW) & lines:
            yield item.name


@pytest.mark.checkout
def test_prompts_contain_no_items():
    files = prompt_files()
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        assert not list(overlaps(text)), file
    card = api_card()
    assert "couler.run_container" in card
    assert not list(overlaps(card)), "the card of the API"


def test_overlaps_are_seen():
    item = ITEMS[0]
    assert item.name in overlaps("Example. " + item.descriptions[0] + " That is all.")
    assert (
        item.name in overlaps("def other():\n    return 1\n" + item.reference)
        or len(code_lines(item.reference)) < LINES_IN_A_ROW
    )
    long = next(one for one in ITEMS if one.name == "image_model_selection")
    assert "image_model_selection" in overlaps(long.reference)
    assert not list(overlaps("Write a workflow with couler. Steps are made by calls."))
