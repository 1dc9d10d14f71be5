"""Running an evaluation: every task is asked for some times, and every answer is judged."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product

from benchmarks.nl.generating import MODES, Question, program_for
from benchmarks.nl.items import Benchmark, Item
from benchmarks.nl.judging import Judge, reference_workflow
from benchmarks.nl.records import Key, Records, Sample, writable
from couler.errors import LanguageModelError, ModelAnswerError
from couler.ir.wording import counted
from couler.llm import Answer, LanguageModel, Parsed, Prompt, Usage
from couler.llm.dialogue import M

TEMPERATURES = (0.2, 0.6, 0.8)
"""Those of the Couler paper, section VI-D1."""


@dataclass(frozen=True)
class Plan:
    """What is asked for."""

    benchmark: Benchmark
    samples: int = 5
    temperatures: tuple[float, ...] = TEMPERATURES
    modes: tuple[str, ...] = tuple(MODES)
    descriptions: int | None = None
    seed: int = 0

    def tasks(self) -> Iterator[tuple[Item, int]]:
        """Yield the tasks: items, each with the number of a description."""
        for item in self.benchmark.items:
            for number in range(len(item.descriptions[: self.descriptions])):
                yield item, number

    def asked(self) -> Iterator[tuple[Item, Key]]:
        """Yield all samples; first samples of all tasks come before second ones."""
        tasks = list(self.tasks())
        numbers = range(self.samples)
        for sample, mode, temperature in product(numbers, self.modes, self.temperatures):
            for item, number in tasks:
                yield item, Key(item.name, number, mode, temperature, sample)


@dataclass
class Result:
    """What an evaluation came to."""

    plan: Plan
    samples: list[Sample] = field(default_factory=list)
    stopped: LanguageModelError | None = None

    @property
    def is_scripted(self) -> bool:
        """Whether any answer came from a script; then no figure says anything of a model."""
        return any(sample.is_scripted for sample in self.samples)

    @property
    def missing(self) -> int:
        """How many answers are still to come."""
        return sum(1 for _ in self.plan.asked()) - len(self.samples)


def evaluate(
    plan: Plan,
    model: LanguageModel,
    judge: Judge,
    records: Records,
    *,
    jobs: int = 1,
    tell: Callable[[Sample], None] | None = None,
    say: Callable[[str], None] = lambda _text: None,
) -> Result:
    """Ask for all samples that are not there yet, and judge them."""
    wanted = {key: item for item, key in plan.asked()}
    for item in plan.benchmark.items:  # before there are threads: programs are run one at a time
        reference_workflow(item)
    is_interrupted = threading.Event()
    under_way: set[Key] = set()
    stopped: list[LanguageModelError] = []

    def work(item: Item, key: Key) -> Sample | None:
        # An interrupt comes to the main thread, wherever that is: what is kept here is not lost.
        if stopped or is_interrupted.is_set():
            return None
        under_way.add(key)
        try:
            sample = sample_of(
                item, key, plan.seed, model, judge,
                lose=records.lose, is_interrupted=is_interrupted,
            )  # fmt: skip
        except LanguageModelError as error:
            stopped.append(error)
            return None
        finally:
            under_way.discard(key)
        records.add(sample)
        return sample

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        missing = [(item, key) for key, item in wanted.items() if key not in records.samples]
        try:
            for future in as_completed([pool.submit(work, *one) for one in missing]):
                sample = future.result()
                if sample is not None and tell is not None:
                    tell(sample)
        except BaseException:
            is_interrupted.set()
            if count := len(under_way):
                verb = "is" if count == 1 else "are"
                say(f"interrupted: {counted(count, 'sample')} {verb} under way")
            raise
    found = [sample for key, sample in sorted(records.samples.items()) if key in wanted]
    return Result(plan, found, stopped[0] if stopped else None)


def sample_of(
    item: Item,
    key: Key,
    seed: int,
    model: LanguageModel,
    judge: Judge,
    *,
    lose: Callable[[Usage], None] = lambda _usage: None,
    is_interrupted: threading.Event | None = None,
) -> Sample:
    """Ask for one sample, and judge it; `lose` gets the usage of one that did not finish."""
    own = sample_seed(seed, key)
    question = Question(
        item.descriptions[key.description],
        item.engines[0],
        key.mode,
        key.temperature,
        own,
    )
    watched = WatchedModel(model, is_interrupted)
    try:
        program = program_for(question, watched)
    except ModelAnswerError:
        program = None
    except LanguageModelError:
        if watched.usage.calls:
            lose(watched.usage)
        raise
    verdict = judge.judge(item, program)
    return Sample.of(key, own, verdict, program, watched.name, watched.usage)


def sample_seed(seed: int, key: Key) -> int:
    """Return the seed of a sample, which follows from that of the evaluation; below 2**31."""
    text = repr((seed, *key)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest()) & 0x7FFFFFFF


class WatchedModel:
    """A model of which is counted what one sample took, and which an interrupt silences."""

    def __init__(self, model: LanguageModel, is_interrupted: threading.Event | None = None) -> None:
        self._model = model
        self._is_interrupted = is_interrupted or threading.Event()
        self._lock = threading.Lock()
        self.usage = Usage(cost=None if model.usage.cost is None else 0.0)
        self.name = ""

    def ask(
        self, prompt: Prompt, *, temperature: float | None = None, seed: int | None = None
    ) -> Answer:
        """Return what the model answers."""
        with self._counting_what_is_no_use():
            answer = self._model.ask(prompt, temperature=temperature, seed=seed)
        self._count(answer)
        return replace(answer, text=writable(answer.text))

    def ask_for(
        self,
        prompt: Prompt,
        schema: type[M],
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> Parsed[M]:
        """Return what the model answers, in the form of a pydantic model."""
        with self._counting_what_is_no_use():
            parsed = self._model.ask_for(prompt, schema, temperature=temperature, seed=seed)
        self._count(parsed.answer)
        return parsed

    @contextmanager
    def _counting_what_is_no_use(self) -> Iterator[None]:
        if self._is_interrupted.is_set():
            raise LanguageModelError("the evaluation is interrupted")
        try:
            yield
        except LanguageModelError as error:
            if error.answer is not None:
                self._count(error.answer)
            raise

    def _count(self, answer: Answer) -> None:
        with self._lock:
            self.usage += answer.usage
            self.name = writable(answer.model)


def spent(samples: Sequence[Sample]) -> Usage:
    """Return what all samples took."""
    return sum((sample.usage for sample in samples), Usage())
