"""Where settings and the key come from."""

from __future__ import annotations

import pytest

from couler.errors import ConfigurationError
from couler.llm import LlmSettings, Price
from couler.llm.reading import NAMES, find_settings, settings_from_environ, variable_of

FILE = "[tool.couler] of /p/pyproject.toml"


def test_defaults() -> None:
    found = find_settings({}, {})
    assert found.settings == LlmSettings()
    assert set(found.origins.values()) == {"default"}
    assert set(found.origins) == {*NAMES, "api-key"}


def test_everything_can_be_stated() -> None:
    texts = {
        "base-url": "http://127.0.0.1:8000/v1/",
        "model": "small",
        "structured": "text",
        "timeout": "2.5",
        "max-retries": "0",
        "temperature": "0.2",
        "seed": "7",
        "answer-tokens": "100",
        "max-tokens-total": "1000",
        "max-cost": "0.5",
        "currency": "EUR",
    }
    environ = {variable_of(name): text for name, text in texts.items()}
    expected = LlmSettings(
        base_url="http://127.0.0.1:8000/v1",
        model="small",
        api_key="k",
        structured="text",
        timeout_s=2.5,
        max_retries=0,
        temperature=0.2,
        seed=7,
        answer_tokens=100,
        max_tokens_total=1000,
        max_cost=0.5,
        currency="EUR",
    )
    assert settings_from_environ({**environ, "COULER_LLM_API_KEY": "k"}) == expected


def test_prices_go_by_patterns() -> None:
    prices = {"small-*": {"prompt": 0.1, "completion": 0.2}, "*": {"prompt": 1, "completion": 2}}
    found = find_settings({"model": ("small-1", "--model")}, {}, prices)
    assert found.settings.price == Price(0.1, 0.2)
    assert find_settings({"model": ("big", "--model")}, {}, prices).settings.price == Price(1, 2)
    assert find_settings({"model": ("big", "--model")}, {}).settings.price is None


def test_variables_of_openai_stand_in() -> None:
    environ = {"OPENAI_BASE_URL": "http://a/v1", "OPENAI_API_KEY": "theirs"}
    found = find_settings({}, environ)
    assert (found.settings.base_url, found.settings.api_key) == ("http://a/v1", "theirs")
    assert found.origins["base-url"] == "OPENAI_BASE_URL"
    assert found.origins["api-key"] == "OPENAI_API_KEY"
    own = find_settings(
        {"base-url": ("http://b/v1", "COULER_LLM_BASE_URL")},
        {**environ, "COULER_LLM_API_KEY": "ours"},
    )
    assert (own.settings.base_url, own.settings.api_key) == ("http://b/v1", "ours")


def test_the_key_of_openai_does_not_go_where_a_file_says() -> None:
    environ = {"OPENAI_API_KEY": "theirs"}
    found = find_settings({"base-url": ("http://elsewhere/v1", FILE)}, environ)
    assert found.settings.api_key == ""
    named = find_settings(
        {"base-url": ("http://elsewhere/v1", FILE), "api-key-env": ("OPENAI_API_KEY", FILE)},
        environ,
    )
    assert named.settings.api_key == "theirs"


def test_a_key_is_named_by_its_variable() -> None:
    stated = {"api-key-env": ("MY_KEY", FILE)}
    found = find_settings(stated, {"MY_KEY": " abc\n"})
    assert (found.settings.api_key, found.origins["api-key"]) == ("abc", "MY_KEY")
    with pytest.raises(ConfigurationError, match="the environment has no variable MY_KEY"):
        find_settings(stated, {})
    both = find_settings(stated, {"MY_KEY": "abc", "COULER_LLM_API_KEY": "own"})
    assert both.settings.api_key == "own"


@pytest.mark.parametrize(
    "value", ["sk-abc", "abcdef0123456789", "AKIA0123456789ABCDEF0123", "a b", "", "KEY=1"]
)
def test_what_may_be_a_key_is_no_name_and_is_not_shown(value: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        find_settings({"api-key-env": (value, FILE)}, {value: "x"})
    assert "must be the name of an environment variable" in str(caught.value)
    assert FILE in str(caught.value)
    assert not value or value not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("timeout", "long", "timeout must be a number, not 'long'"),
        ("seed", "1.5", "seed must be a whole number, not '1.5'"),
        ("structured", "json", "structured must be one of auto, schema, text, not 'json'"),
    ],
)
def test_wrong_values_name_their_place(name: str, value: str, what: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        find_settings({name: (value, "SOMEWHERE")}, {})
    assert str(caught.value) == f"SOMEWHERE: {what}"
