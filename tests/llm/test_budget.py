"""Budgets cannot be passed, whatever an endpoint does."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given, strategies as st

from couler.errors import ConfigurationError, ModelBudgetError
from couler.llm import LlmSettings, Price, Prompt
from couler.llm.budget import Budget, most_tokens
from tests.llm.conftest import PROMPT, Task, World

BOUND = most_tokens(PROMPT.messages)
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
        "Spent are 800 of 900 tokens, by decompose (1 call, 400 tokens), "
        "generate (1 call, 400 tokens)"
    )
    assert f'the call "decompose", which may take up to {BOUND} tokens' in str(caught.value)
    assert caught.value.spent in str(caught.value)
    assert caught.value.exit_code == 4
    assert len(world.server.requests) == 2  # it was not made
    assert model.usage.tokens == 800


def test_an_answer_that_the_budget_cuts_is_a_budget_error(world: World) -> None:
    model = world.model([{"reply": "word " * 1000}], max_tokens_total=BOUND + 100)
    with pytest.raises(ModelBudgetError, match='the answer to "decompose" was cut after 100 token'):
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
        ModelBudgetError, match=r"Spent are 200 tokens and 0\.3 of 0\.4 EUR, by dec"
    ):
        model.ask(PROMPT)
    assert len(world.server.requests) == 1


def test_a_cost_without_a_price_tells_how_to_state_one(world: World) -> None:
    world.serve([])
    with pytest.raises(ConfigurationError) as caught:
        world.open(max_cost=1.0, prices={"other-*": Price(1.0, 1.0)})
    assert '[tool.couler.llm.prices."scripted"]\n  prompt = 0.5\n  completion' in str(caught.value)


@pytest.mark.parametrize("fault", [{"cut": True}, {"rubbish": "json"}, {"status": 504}])
def test_a_call_that_broke_off_is_held_to_be_billed(world: World, fault: dict[str, t.Any]) -> None:
    each = BOUND + 100
    model = world.model([fault], max_tokens_total=3 * each - 50, answer_tokens=100)
    with pytest.raises(ModelBudgetError) as caught:
        model.ask(PROMPT)
    assert len(world.server.requests) == 3  # the third answer was limited to what was left
    assert world.server.requests[2].body["max_tokens"] == 50
    assert f"{3 * each - 50:,} tokens are held back for 3 that broke off" in caught.value.spent


def test_a_call_that_was_refused_takes_nothing(world: World) -> None:
    refusals = [{"status": 429, "times": 4}, {"status": 500, "times": 4}, {"reply": "x"}]
    model = world.model(refusals, max_tokens_total=BOUND + 20, max_retries=8)
    assert model.ask(PROMPT).text == "x"


def test_what_nobody_counts_keeps_what_was_reserved(world: World) -> None:
    model = world.model(
        [{"reply": "x", "usage": "none"}], max_tokens_total=2 * BOUND + 100, answer_tokens=100
    )
    model.ask(PROMPT)
    with pytest.raises(ModelBudgetError):
        model.ask(PROMPT)


def test_a_form_counts_as_well(world: World) -> None:
    model = world.model([{"reply": '{"name": "a"}'}], max_tokens_total=BOUND + 20)
    with pytest.raises(ModelBudgetError):
        model.ask_for(PROMPT, Task)
    assert model.ask(PROMPT).text == '{"name": "a"}'


CALLS = st.lists(
    st.tuples(
        st.integers(1, 400),  # bound of the prompt
        st.floats(0, 1),  # of it, what the prompt takes
        st.floats(0, 1),  # of what is allowed, what the answer takes
        st.sampled_from(["settle", "release", "lose", "leave"]),
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
def test_no_run_passes_its_budget(
    calls: list[tuple[int, float, float, str]],
    tokens: int | None,
    cost: float | None,
    price: tuple[float, float],
    answer: int | None,
) -> None:
    """Whatever calls take of what they may, and whichever of them break off and are billed."""
    chosen = Price(*price)
    settings = LlmSettings(
        model="m",
        prices={"m": chosen},
        max_tokens_total=tokens,
        max_cost=cost,
        answer_tokens=answer,
    )
    budget = Budget(settings)
    billed: list[tuple[int, int]] = []
    for bound, of_prompt, of_answer, end in calls:
        try:
            one = budget.reserve("p", bound)
        except ModelBudgetError:
            continue
        allowed = 1000 if one.answer_tokens is None else one.answer_tokens
        took = (round(bound * of_prompt), round(allowed * of_answer))
        if end == "settle":
            budget.settle(one, *took)
        elif end == "release":
            budget.release(one)
            continue
        elif end == "lose":
            budget.lose(one)
        billed.append(took)
    if tokens is not None:
        assert sum(map(sum, billed)) <= tokens
    if cost is not None:
        assert sum(chosen.cost(*one) for one in billed) <= cost * (1 + 1e-9) + 1e-12
