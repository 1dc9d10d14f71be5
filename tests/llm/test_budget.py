"""A budget is checked before each call, and limits the answer."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from couler.errors import ConfigurationError, LanguageModelError, ModelBudgetError
from couler.llm import LlmSettings, Price, Prompt, Usage
from couler.llm.budget import Budget, max_prompt_tokens
from tests.llm.conftest import PROMPT, Task, World

BOUND = max_prompt_tokens(PROMPT.messages)
"""The most tokens that the prompt of these tests can take."""

OTHER = Prompt("generate", "1", PROMPT.messages)

PRICES = {"scripted": Price(prompt=1000.0, completion=2000.0)}


def test_the_answer_is_limited_to_what_is_left(world: World) -> None:
    model = world.model(
        [{"reply": "x", "usage": {"prompt_tokens": 20, "completion_tokens": 30}}],
        max_tokens_total=1000,
    )
    model.ask(PROMPT)
    model.ask(PROMPT)
    limits = [one.body["max_tokens"] for one in world.server.requests]
    assert limits == [1000 - BOUND, 1000 - 50 - BOUND]


def test_a_budget_that_is_spent_tells_by_what(world: World) -> None:
    model = world.model(
        [{"reply": "x", "usage": {"prompt_tokens": 300, "completion_tokens": 100}}],
        max_tokens_total=900,
    )
    model.ask(PROMPT)
    model.ask(OTHER)
    with pytest.raises(ModelBudgetError) as caught:
        model.ask(PROMPT)
    assert caught.value.spent == (
        "Used so far: 800 of 900 tokens, decompose: 400 tokens in 1 call, "
        "generate: 400 tokens in 1 call"
    )
    assert f'the call "decompose", which needs up to {BOUND} tokens' in str(caught.value)
    assert caught.value.spent in str(caught.value)
    assert caught.value.exit_code == 4
    assert len(world.server.requests) == 2  # it was not made
    assert model.usage.tokens == 800


def test_an_answer_that_the_budget_cuts_is_a_budget_error(world: World) -> None:
    model = world.model([{"reply": "word " * 1000}], max_tokens_total=BOUND + 100)
    with pytest.raises(ModelBudgetError, match='answer to "decompose" was cut off after 100 tok'):
        model.ask(PROMPT)
    assert model.usage.tokens <= BOUND + 100


def test_money_that_is_spent_is_told(world: World) -> None:
    model = world.model(
        [{"reply": "x", "usage": {"prompt_tokens": 100, "completion_tokens": 100}}],
        prices=PRICES,
        currency="EUR",
        max_cost=0.4,
    )
    model.ask(PROMPT)
    with pytest.raises(
        ModelBudgetError, match=r"Used so far: 200 tokens and 0\.3 of 0\.4 EUR, dec"
    ):
        model.ask(PROMPT)
    assert len(world.server.requests) == 1


def test_a_cost_without_a_price_tells_how_to_state_one(world: World) -> None:
    world.serve([])
    with pytest.raises(ConfigurationError) as caught:
        world.open(max_cost=1.0, prices={"other-*": Price(1.0, 1.0)})
    assert '[tool.couler.llm.prices."scripted"]\n  prompt = 0.5\n  completion' in str(caught.value)


def test_a_call_that_fails_uses_nothing(world: World) -> None:
    refusals = [{"status": 500, "times": 1}, {"status": 400, "times": 1}, {"reply": "x"}]
    model = world.model(refusals, max_tokens_total=BOUND + 20, max_retries=0)
    for _ in range(2):
        with pytest.raises(LanguageModelError, match="as the script says"):
            model.ask(PROMPT)
    assert model.ask(PROMPT).text == "x"


def test_tokens_that_the_endpoint_does_not_count_are_estimated(world: World) -> None:
    model = world.model(
        [{"reply": "x" * 100, "usage": "none"}], max_tokens_total=BOUND + 50, answer_tokens=100
    )
    assert model.ask(PROMPT).usage.tokens == 14 + 25
    with pytest.raises(ModelBudgetError, match=rf"Used so far: 39 of {BOUND + 50} tokens"):
        model.ask(PROMPT)


def test_a_form_counts_as_well(world: World) -> None:
    model = world.model([{"reply": '{"name": "a"}'}], max_tokens_total=BOUND + 20)
    with pytest.raises(ModelBudgetError):
        model.ask_for(PROMPT, Task)
    assert model.ask(PROMPT).text == '{"name": "a"}'


CALLS = st.lists(
    st.tuples(
        st.integers(1, 400),  # bound of the prompt
        st.floats(0, 1),  # of it, the share that the prompt takes
        st.floats(0, 1),  # of the limit, the share that the answer takes
    ),
    max_size=30,
)


@given(
    calls=CALLS,
    tokens=st.none() | st.integers(1, 3000),
    cost=st.none() | st.floats(0, 5),
    price=st.tuples(st.floats(0, 5000), st.floats(0, 5000)),
    answer=st.none() | st.integers(1, 500),
)
def test_no_sequence_of_calls_exceeds_its_budget(
    calls: list[tuple[int, float, float]],
    tokens: int | None,
    cost: float | None,
    price: tuple[float, float],
    answer: int | None,
) -> None:
    settings = LlmSettings(
        model="m",
        prices={"m": Price(*price)},
        max_tokens_total=tokens,
        max_cost=cost,
        answer_tokens=answer,
    )
    budget = Budget(settings, is_priced=True)
    for bound, of_prompt, of_answer in calls:
        try:
            limit = budget.answer_limit("p", bound)
        except ModelBudgetError:
            continue
        used = round(bound * of_prompt), round((1000 if limit is None else limit) * of_answer)
        budget.add("p", Usage(1, *used, cost=Price(*price).cost(*used)))
    if tokens is not None:
        assert budget.total.tokens <= tokens
    if cost is not None:
        assert (budget.total.cost or 0) <= cost * (1 + 1e-9) + 1e-12
