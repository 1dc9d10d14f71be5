"""Everything that goes wrong between here and an endpoint is one clear error, or is repeated."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import sys
import traceback
import typing as t
from pathlib import Path

import pytest

from couler.errors import ConfigurationError, LanguageModelError, ModelAnswerError
from couler.llm import LlmSettings, open_model
from tests.llm.conftest import KEY, PROMPT, World
from tests.support.ports import free_port

OK = {"reply": "fine"}


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429, "retry_after": 0.001},
        {"status": 500, "retry_after": 0.001},
        {"status": 503, "retry_after": 0.001},
        {"cut": True},
        {"reply": "a" * 100_000, "cut": True},
    ],
    ids=["429", "500", "503", "cut", "cut-long"],
)
def test_transient_failures_are_retried(world: World, fault: dict[str, t.Any]) -> None:
    model = world.model([{**fault, "times": 1}, OK])
    assert model.ask(PROMPT).text == "fine"
    assert world.told == ["language model: retry 1 of 2"]


def test_the_wait_that_the_endpoint_demands_is_reported(world: World) -> None:
    refusal = {"status": 429, "retry_after": 3600, "message": "come back"}
    model = world.model([refusal], max_retries=0)
    with pytest.raises(LanguageModelError, match=r"429: come back \(Retry-After: 3600\)"):
        model.ask(PROMPT)


def test_the_number_of_retries_is_limited(world: World) -> None:
    down = {"status": 503, "message": "overloaded", "retry_after": 0.001}
    model = world.model([down], max_retries=3)
    with pytest.raises(LanguageModelError, match="after 4 attempts: it answered 503: overloaded"):
        model.ask(PROMPT)
    assert len(world.server.requests) == 4
    assert model.usage.calls == 0


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"status": 400, "message": "bad"}, 'call "decompose": it answered 400: bad'),
        ({"status": 401, "message": "who?"}, "401: who? Is COULER_LLM_API_KEY the key of this end"),
        ({"status": 403, "message": "no"}, "403: no. The key does not allow this model"),
        ({"status": 404, "message": "no model x"}, "404: no model x. Is the model the endpoint's"),
        ({"rubbish": "html"}, "its answer is no chat completion: <!doctype html>"),
        ({"rubbish": "json"}, 'its answer is no chat completion: {"id"'),
        ({"rubbish": "schema"}, 'its answer is no chat completion: {"answer": 42'),
    ],
)
def test_lasting_failures_are_errors_at_once(
    world: World, rule: dict[str, t.Any], said: str
) -> None:
    model = world.model([rule])
    with pytest.raises(LanguageModelError) as caught:
        model.ask(PROMPT)
    assert said in str(caught.value)
    assert not isinstance(caught.value, ModelAnswerError)
    assert caught.value.exit_code == 4
    assert len(world.server.requests) == 1


def test_an_account_without_credit(world: World) -> None:
    model = world.model([{"status": 429, "code": "insufficient_quota"}], max_retries=0)
    with pytest.raises(LanguageModelError, match=r"says\. The account has no credit"):
        model.ask(PROMPT)


def test_an_endpoint_that_is_down(world: World) -> None:
    model = world.open(base_url=f"http://127.0.0.1:{free_port()}/v1", max_retries=1)
    with pytest.raises(LanguageModelError) as caught:
        model.ask(PROMPT)
    assert "after 2 attempts: the connection failed: " in str(caught.value)
    assert "refused. Is the endpoint running, and is base-url its address?" in str(caught.value)


def test_an_address_without_v1(world: World) -> None:
    server = world.serve([OK])
    model = world.open(base_url=server.base_url.removesuffix("/v1"))
    with pytest.raises(LanguageModelError, match="404: there is no /chat/completions here"):
        model.ask(PROMPT)


def test_an_endpoint_without_tls(world: World) -> None:
    server = world.serve([OK])
    model = world.open(base_url=server.base_url.replace("http:", "https:"), max_retries=0)
    with pytest.raises(LanguageModelError, match=r"SSL.*\. Is it http:// instead of https://\?"):
        model.ask(PROMPT)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Return a certificate that nobody trusts, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not there to make a certificate")
    made, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run(
        [*command, "-addext", "subjectAltName=IP:127.0.0.1", "-out", made, "-keyout", key],
        check=True,
        capture_output=True,
    )
    return made, key


def test_a_certificate_that_nobody_trusts(world: World, certificate: tuple[Path, Path]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server = world.serve([OK])
    assert server._http is not None
    server._http.socket = context.wrap_socket(server._http.socket, server_side=True)
    model = world.open(base_url=server.base_url.replace("http:", "https:"), max_retries=0)
    with pytest.raises(LanguageModelError, match=r"certificate verify failed.*SSL_CERT_FILE"):
        model.ask(PROMPT)
    assert server.requests == ()


@pytest.mark.parametrize(
    ("name", "value"), [("SSL_CERT_FILE", "/absent.pem"), ("HTTPS_PROXY", "foo://h:1")]
)
def test_variables_that_no_connection_can_use(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    world.serve([OK])
    monkeypatch.setenv(name, value)
    with pytest.raises(
        ConfigurationError, match="Check SSL_CERT_FILE and the variables of proxies"
    ):
        world.open()


def test_an_answer_that_does_not_come(world: World) -> None:
    model = world.model([{"reply": "late", "slow": 60}], timeout_s=0.2, max_retries=1)
    with pytest.raises(
        LanguageModelError, match=r"after 2 attempts: no complete answer within 0.2"
    ):
        model.ask(PROMPT)


def test_the_key_stays_out_of_what_is_told(world: World) -> None:
    echo = f"Incorrect API key provided: {KEY}"
    model = world.model([{"status": 401, "message": echo}])
    with pytest.raises(LanguageModelError) as caught:
        model.ask(PROMPT)
    assert "Incorrect API key provided: ***" in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert KEY not in world.log.read_text()
    assert KEY not in repr(world.settings()) + str(world.settings())


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"model": ""}, "no model is chosen. Set COULER_LLM_MODEL"),
        ({"api_key": ""}, "there is no key. Set COULER_LLM_API_KEY"),
        ({"api_key": "two\nlines"}, "more than one line"),
        ({"base_url": "127.0.0.1:80"}, "base-url must be an address such as"),
        ({"base_url": "http://u:secret@h/v1"}, "must have no user, password"),
        ({"base_url": "http://h/v1?key=secret"}, "must have no user, password"),
        ({"structured": "yes"}, "structured must be one of auto, schema, text"),
        ({"timeout_s": 0}, "timeout must be a number of seconds above 0"),
        ({"temperature": 3}, "temperature must be a number from 0 to 2, not 3"),
        ({"max_retries": -1}, "max-retries must be"),
        ({"answer_tokens": 0}, "answer-tokens must be"),
        ({"max_tokens_total": 0}, "max-tokens-total must be"),
        ({"max_cost": float("nan")}, "max-cost must be"),
    ],
)
def test_settings_that_are_wrong(world: World, fields: dict[str, t.Any], said: str) -> None:
    world.serve([OK])
    with pytest.raises(ConfigurationError) as caught:
        world.open(**fields)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.exit_code == 3
    assert not world.log.exists()


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.delitem(sys.modules, "couler.llm.endpoint", raising=False)
    settings = LlmSettings(model="m", api_key="k")
    with pytest.raises(ConfigurationError) as caught, open_model(settings):
        pass
    assert str(caught.value).endswith("pip install 'couler[llm]'")


def test_the_interface_loads_no_sdk() -> None:
    probe = "import sys, couler.llm; print('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
