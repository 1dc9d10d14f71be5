"""Evaluations against a scripted server: known shares, interruptions, budgets."""

import json
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks.nl.evaluating import Plan, evaluate, sample_seed
from benchmarks.nl.generating import MODES, check_modes, program_in
from benchmarks.nl.items import BenchmarkError, read_benchmark
from benchmarks.nl.judging import Judge
from benchmarks.nl.records import Header, Records
from benchmarks.nl.report import report_of
from couler.box import Built
from couler.errors import ConfigurationError, LanguageModelError, ModelBudgetError
from couler.ir.diagnostics import Diagnostic
from couler.llm import Answer, LlmSettings, Price, Usage, open_model
from couler.stages.programs import LoadError, load_program
from tests.fakes.llm import ScriptedServer
from tests.generation.replies import written
from tests.nl_benchmark.scripted import script

BENCHMARK = read_benchmark(Path(__file__).parents[2] / "nl_benchmark")
HEADER = Header(BENCHMARK.digest, "scripted", "here", 0)

RIGHT = {("hello", 0.2): 2, ("hello", 0.6): 0, ("diamond", 0.2): 1, ("diamond", 0.6): 4}
"""Of five answers so many are right."""


def plan(**fields):
    some = BENCHMARK.select(["hello", "diamond"])
    given = {"samples": 5, "temperatures": (0.2, 0.6), "modes": ("plain",), "descriptions": 1}
    return Plan(some, **{**given, **fields})


def schedule(key):
    wrong = ("wrong-graph", "no-answer", "build", "wrong-argument", "wrong-graph")
    right = RIGHT[key.item, key.temperature]
    return "right" if key.sample < right else wrong[key.sample]


@pytest.fixture
def built_here(tmp_path):
    """Build programs of the script, which are known, without a box: it takes a second for each."""
    numbers = iter(range(10_000))

    def build(program):
        file = tmp_path / f"program_{next(numbers)}.py"
        file.write_text(program)
        try:
            loaded = load_program(str(file))
            return Built(loaded.workflow, loaded.diagnostics)
        except LoadError as error:
            return Built(None, error.diagnostics)

    return build


def settings(server, **fields):
    return LlmSettings(server.base_url, "scripted", "key", **fields)


def run(plan, build, records, server, **options):
    with open_model(settings(server, **options)) as model:
        return evaluate(plan, model, Judge("x", build=build), records)


def test_known_shares(built_here):
    chosen = plan()
    with ScriptedServer(script(chosen, schedule)) as server:
        records = Records(None, HEADER)
        result = run(chosen, built_here, records, server, prices={"*": Price(1e6, 2e6)})
    report = report_of(result, (1, 3, 5))
    scores = {(one.k, one.temperature): one.estimate.value for one in report.scores}
    assert scores == {
        (1, 0.2): pytest.approx((2 / 5 + 1 / 5) / 2),
        (1, 0.6): pytest.approx((0 + 4 / 5) / 2),
        (3, 0.2): pytest.approx((9 / 10 + 6 / 10) / 2),
        (3, 0.6): pytest.approx((0 + 1) / 2),
        (5, 0.2): 1.0,
        (5, 0.6): 0.5,
    }
    assert {(one.k, one.temperature) for one in report.best} == {(1, 0.6), (3, 0.2), (5, 0.2)}
    outcomes = report.outcomes["plain"]
    assert {name: count for name, count in outcomes.items() if count} == {
        "right": 7,
        "wrong-graph": 5,
        "no-answer": 2,
        "build": 3,
        "wrong-argument": 3,
    }
    assert report.scripted
    assert report.missing == 0
    assert report.models == ("scripted",)
    assert report.samples == (5, 5)
    cost = report.costs["plain"]
    used = [one.usage for one in result.samples]
    assert cost.tokens == pytest.approx(sum(one.tokens for one in used) / 20)
    assert cost.money == pytest.approx(
        sum(one.prompt_tokens + 2 * one.completion_tokens for one in used) / 20
    )
    assert cost.calls == 1


def test_seeds_differ_and_stay():
    keys = [key for _, key in plan().asked()]
    seeds = {sample_seed(0, key) for key in keys}
    assert len(seeds) == len(keys)
    assert seeds.isdisjoint(sample_seed(1, key) for key in keys)
    assert sample_seed(7, keys[0]) == sample_seed(7, keys[0])


def test_goes_on_where_it_was_interrupted(built_here, tmp_path):
    chosen, file = plan(), tmp_path / "samples.jsonl"
    all_of_it = script(chosen, schedule)
    some = {**all_of_it, "rules": [*all_of_it["rules"][:7], {"status": 500, "message": "down"}]}
    with ScriptedServer(some) as server:
        result = run(chosen, built_here, Records(file, HEADER), server, max_retries=0)
    assert isinstance(result.stopped, LanguageModelError)
    assert result.missing == 13
    with file.open("a") as opened:
        opened.write('{"schema_version": 1, "sam')  # killed while it wrote
    with ScriptedServer(all_of_it) as server:
        records = Records(file, HEADER, resume=True)
        assert len(records.samples) == 7
        result = run(chosen, built_here, records, server)
        assert len(server.exchanges) == 13
    assert result.stopped is None
    assert result.missing == 0
    again = Records(file, HEADER, resume=True)
    assert again.samples == {one.key: one for one in result.samples}
    assert all(json.loads(line)["schema_version"] == 1 for line in file.read_text().splitlines())


def test_other_evaluations_are_no_part(tmp_path):
    file = tmp_path / "samples.jsonl"
    Records(file, HEADER)
    assert not file.exists()  # nothing is written before there is a sample
    file.write_text(json.dumps({"schema_version": 1, "evaluation": asdict(HEADER)}) + "\n")
    with pytest.raises(BenchmarkError, match="--resume"):
        Records(file, HEADER)
    for name, value in (("benchmark", "other"), ("model", "gpt"), ("seed", 1), ("endpoint", "x")):
        with pytest.raises(BenchmarkError, match=name):
            Records(file, replace(HEADER, **{name: value}), resume=True)
    for text in ("", "[]\n", "{\n", '{"schema_version": 2}\n', '{"schema_version": 1}\n'):
        file.write_text(text)
        with pytest.raises(BenchmarkError, match=file.name[:7]):
            Records(file, HEADER, resume=True)


def test_a_budget_ends_it(built_here):
    chosen = plan()
    with ScriptedServer(script(chosen, schedule)) as server:
        records = Records(None, HEADER)
        result = run(chosen, built_here, records, server, max_tokens_total=900, answer_tokens=200)
    assert isinstance(result.stopped, ModelBudgetError)
    assert 0 < len(result.samples) < 20
    assert sum(one.usage.tokens for one in result.samples) <= 900
    assert report_of(result, (1,)).missing == 20 - len(result.samples)


def test_an_answer_of_no_use_is_a_wrong_sample(built_here):
    chosen = plan(samples=1, temperatures=(0.2,))
    with ScriptedServer([{"refusal": "no"}]) as server:
        result = run(chosen, built_here, Records(None, HEADER), server)
    assert [one.outcome for one in result.samples] == ["no-answer", "no-answer"]


@pytest.mark.parametrize("rule", [{"refusal": "no"}, {"reply": "cut", "finish_reason": "length"}])
@pytest.mark.parametrize("prices", [{}, {"*": Price(1e6, 2e6)}])
def test_an_answer_of_no_use_counts_in_full(built_here, rule, prices):
    chosen = plan(samples=1, temperatures=(0.2,))
    with ScriptedServer({"model": "scripted", "rules": [rule]}) as server:
        result = run(chosen, built_here, Records(None, HEADER), server, prices=prices)
    report = report_of(result, (1,))
    assert report.scripted
    assert report.models == ("scripted",)
    cost = report.costs["plain"]
    assert cost.calls == 1
    assert cost.tokens > 100
    assert (cost.money or 0) > 100 if prices else cost.money is None


def test_an_answer_that_is_not_mended_counts_twice(built_here):
    chosen = plan(samples=1, temperatures=(0.2,), modes=("one-shot",))
    for second in ({"reply": "no form"}, {"refusal": "no"}):
        rules = [{"reply": "no form"}, second] * 2
        script_ = {"model": "scripted", "rules": [{**rule, "times": 1} for rule in rules]}
        with ScriptedServer(script_) as server:
            result = run(chosen, built_here, Records(None, HEADER), server)
        assert [one.outcome for one in result.samples] == ["no-answer", "no-answer"]
        assert [one.usage.calls for one in result.samples] == [2, 2]


def test_what_is_lost_counts_in_the_budget(built_here, tmp_path):
    chosen, file = plan(samples=1, temperatures=(0.2,), modes=("code",)), tmp_path / "f"
    broken = written("import couler\ncouler.nothing()\n")[1]  # so that it is asked again
    rules = [
        {"when": {"prompt": "write"}, "reply": {"json": broken}},
        {"status": 500, "message": "down"},
    ]
    with ScriptedServer({"model": "scripted", "rules": rules}) as server:
        records = Records(file, HEADER)
        result = run(chosen, built_here, records, server, max_retries=0)
    assert result.stopped is not None
    assert records.lost.calls == 1
    again = Records(file, HEADER, resume=True)
    assert again.lost == records.lost
    assert not again.samples


def test_an_answer_that_the_budget_cuts_is_lost(built_here):
    records = Records(None, HEADER)
    chosen = plan(samples=1, temperatures=(0.2,))
    script_ = {"model": "scripted", "rules": [{"reply": "word " * 10_000}]}
    with ScriptedServer(script_) as server:
        result = run(chosen, built_here, records, server, max_tokens_total=900)
    assert isinstance(result.stopped, ModelBudgetError)
    assert records.lost.calls == 1
    assert records.lost.tokens > 0


@pytest.mark.parametrize("limits", [{"max_tokens_total": 10**6}, {"max_retries": 0}])
def test_a_form_that_could_not_be_repaired_is_lost(built_here, limits):
    records = Records(None, HEADER)
    chosen = plan(samples=1, temperatures=(0.2,), modes=("one-shot",))
    usage = {"prompt_tokens": 10**6 - 9, "completion_tokens": 3}
    rules = [
        {"reply": "no form", "usage": usage, "times": 1},
        {"status": 500, "message": "down"},
    ]
    with ScriptedServer({"model": "scripted", "rules": rules}) as server:
        result = run(chosen, built_here, records, server, **limits)
    assert isinstance(result.stopped, ModelBudgetError) == ("max_tokens_total" in limits)
    assert records.lost.calls == 1


def test_an_interrupt_keeps_what_comes_and_asks_for_no_more(tmp_path, monkeypatch):
    chosen, file, calls = plan(samples=1, temperatures=(0.2,)), tmp_path / "f", []

    def asks_twice(question, model):
        model.ask("first")
        if question.description != BENCHMARK.select(["hello"]).items[0].descriptions[0]:
            calls.append("waits")
            time.sleep(1)
            model.ask("second")
        return "import couler"

    monkeypatch.setattr("benchmarks.nl.evaluating.program_for", asks_twice)
    judge = Judge("x", build=lambda program: Built(None, (Diagnostic("CLR001", "no"),)))

    def interrupt(_sample):
        while not calls:  # until the other one has made its first call
            time.sleep(0.01)
        raise KeyboardInterrupt

    records = Records(file, HEADER)
    with pytest.raises(KeyboardInterrupt):
        evaluate(
            *(chosen, Says("x"), judge, records),
            jobs=2, tell=interrupt,
        )  # fmt: skip
    assert [one.item for one in records.samples] == ["hello"]
    assert records.lost.calls == 1
    assert Records(file, HEADER, resume=True).lost == records.lost


def test_an_answer_that_needs_a_setting_is_a_wrong_sample(built_here):
    listing = """\
import couler
from couler import S3Artifact

with couler.Workflow("books"):
    couler.list_files(S3Artifact(path="/x", key="books"))
"""
    chosen = plan(samples=1, temperatures=(0.2,), modes=("one-shot", "plain"))
    whole = written(listing)[1]
    rules = [
        {"when": {"prompt": "write"}, "reply": {"json": whole}},
        {"reply": {"text": f"```python\n{listing}```\n"}},
    ]
    with ScriptedServer({"model": "scripted", "rules": rules}) as server:
        result = run(chosen, built_here, Records(None, HEADER), server)
    assert [(one.outcome, one.code) for one in result.samples] == [("not-verified", "CLR323")] * 4
    assert [one.usage.calls for one in result.samples] == [1] * 4


class Says:
    """A model that always says the same."""

    usage = Usage()

    def __init__(self, text):
        self._text = text

    def ask(self, prompt, **_options):
        return Answer(self._text, Usage(1, 10, 10), "scripted", "stop")


@pytest.mark.parametrize("sign", ["\ud800", "\u2028", "\u0085", "\x0b", "\U0001f600"])
def test_signs_in_answers_that_are_no_lines_and_no_characters(tmp_path, sign):
    chosen, file = plan(samples=1, temperatures=(0.2,)), tmp_path / "samples.jsonl"
    says = Says(f"```python\nimport couler\n\n# {sign}\n```\n")
    judge = Judge("x", build=lambda program: Built(None, (Diagnostic("CLR001", program),)))
    result = evaluate(chosen, says, judge, Records(file, HEADER))
    assert len(result.samples) == 2
    again = Records(file, HEADER, resume=True)
    assert again.samples == {one.key: one for one in result.samples}
    for one in result.samples:
        assert ("\N{REPLACEMENT CHARACTER}" if sign == "\ud800" else sign) in one.program
        (one.program + "".join(one.reasons)).encode()


def test_several_at_a_time():
    chosen = plan(samples=2)
    with ScriptedServer(script(chosen, schedule)) as server, open_model(settings(server)) as model:
        judge = Judge("x", build=lambda program: Built(None, (Diagnostic("CLR001", "no"),)))
        result = evaluate(chosen, model, judge, Records(None, HEADER), jobs=4)
    assert result.missing == 0
    assert len({one.key for one in result.samples}) == 8


@pytest.mark.parametrize("name", MODES)
def test_prompts_have_the_parts_of_a_row_and_no_others(built_here, name):
    chosen = plan(samples=1, temperatures=(0.2,), modes=(name,))
    chosen = replace(chosen, benchmark=BENCHMARK.select(["diamond"]))
    with ScriptedServer(script(chosen, lambda key: "right")) as server:
        run(chosen, built_here, Records(None, HEADER), server)
        asked = {one.prompt: str(one.body["messages"]) for one in server.requests}
    card = any("couler.first_of(*options)" in text for text in asked.values())
    assert card is (name != "plain")
    assert {*asked} == {
        "plain": {"plain"},
        "one-shot": {"write"},
        "code": {"write"},
        "modules": {"decompose", "extend", "critique"},
    }[name]


def test_a_mode_that_there_is_not_is_refused():
    check_modes(["plain"])
    with pytest.raises(ConfigurationError, match="there is no mode"):
        check_modes(["cards"])


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("```python\nx\n```", "x\n"),
        ("a\n```py\nx\n```\nb\n```\nlonger\n```\n", "longer\n"),
        ("```bash\npip install couler\n```\n```python\nx = '```'\n```\n", "x = '```'\n"),
        ("~~~\nx\n~~~", "x\n"),
        ("import couler\nx", "import couler\nx"),
        ("from couler import File", "from couler import File"),
        ("I use import couler", None),
        ("```json\n{}\n```", None),
        ("", None),
    ],
)
def test_programs_in_answers(text, program):
    assert program_in(text) == program
