"""Recognising a failure, telling of it, and deciding whether to try again."""

from __future__ import annotations

import pytest

from couler.failures import (
    Backoff,
    GiveUp,
    Wait,
    decide,
    explain,
    first_line,
    headline,
    recognise,
)
from couler.failures.recognise import FIRST_LINE_SIZE, LOG_SIZE, MESSAGE_SIZE


def half() -> float:
    return 0.5


def test_nothing_known_is_nothing_recognised() -> None:
    assert recognise() is None
    assert recognise("") is None
    assert recognise("main: Error (exit code 1)", exit_code=1) is None
    assert recognise(reason="Error", exit_code=2, http_status=200) is None


def test_what_is_explained_already_is_explained_as_before() -> None:
    found = recognise("main: OOMKilled (exit code 137)", exit_code=137, system="argo")
    assert found is not None
    again = recognise(explain(found), exit_code=137, system="argo")
    assert again is not None
    assert explain(again) == explain(found)


def test_a_status_alone_is_enough() -> None:
    found = recognise(http_status=429)
    assert found is not None
    assert found.pattern.name == "TooManyRequestsErr"
    assert found.line == ""


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("it ended with exit code 137 (OOMKilled)", "OOMKilledErr"),
        ("it ended with exit code 143", "TerminatedErr"),
        ("main: Error (exit code 137)", "KilledErr"),
        ("main: ContainerCannotRun (exit code 128): no such device", "ContainerStartErr"),
        ("Evicted: The node was low on resource: memory.", "EvictedErr"),
        ("OutOfcpu", "NodeRefusedErr"),
        ("Service Unavailable (HTTP 503)", "ServiceUnavailableErr"),
        ("Pod failed before main container starts due to ErrImagePull: ", "ImagePullErr"),
    ],
)
def test_reasons_and_exit_codes_are_read_from_messages_of_engines(message: str, name: str) -> None:
    found = recognise(message)
    assert found is not None
    assert found.pattern.name == name


@pytest.mark.parametrize(
    "message",
    [
        "main: Error (exit code 1)",
        "it ended with exit code 3 (Error)",
        "Conflict: two rows have one key",
        "the tenant was Evicted: no rent",
    ],
)
def test_words_elsewhere_in_a_message_are_no_reasons(message: str) -> None:
    assert recognise(message) is None


def test_rows_that_only_another_engine_tells_of_are_left_out() -> None:
    assert recognise("pod deleted", system="airflow") is None
    assert recognise("pod deleted", system="kubernetes") is None
    assert recognise("pod deleted", system="argo") is not None
    assert recognise("etcdserver: leader changed", system="airflow") is not None


def test_a_long_message_is_known_by_its_ends() -> None:
    word = "etcdserver: leader changed"
    filler = "x" * MESSAGE_SIZE
    assert recognise(f"{word} {filler}") is not None
    assert recognise(f"{filler} {word}") is not None
    assert recognise(f"{filler} {word} {filler}") is None


def test_engines_words_are_not_looked_for_in_the_log_of_a_process() -> None:
    assert recognise("main: Error (exit code 1)", log="etcdserver: leader changed") is None


def test_the_end_of_a_log_is_looked_at() -> None:
    word = "AirflowTaskTimeout: Timeout"
    assert recognise(log=f"{'x' * LOG_SIZE}\n{word}") is not None
    assert recognise(log=f"{word}\n{'x' * LOG_SIZE}") is None


def test_colours_and_progress_bars_hide_nothing_and_reach_no_terminal() -> None:
    line = "RuntimeError: CUDA error: device-side assert triggered"
    found = recognise(log=f"epoch 1: 10%\r\x1b[1;31m{line}\x1b[0m\x07\x1b]0;title\x07\r\n")
    assert found is not None
    assert found.line.startswith(line)
    assert found.line.isprintable()
    found = recognise(log="50%\rAn ORTE daemon has unexpectedly failed after launch and before\r\n")
    assert found is not None
    assert found.pattern.name == "MpiDaemonErr"


def test_what_is_shown_keeps_the_line_that_tells() -> None:
    found = recognise("Traceback:\n  x\nfailed: etcdserver: leader changed \nmore")
    assert found is not None
    assert found.line == "failed: etcdserver: leader changed"
    shown = explain(found).splitlines()
    assert shown[0] == headline(found) + "."
    assert shown[-1] == "etcd: failed: etcdserver: leader changed"


def test_without_a_text_that_tells_the_first_line_is_kept() -> None:
    found = recognise("\nsomething\nelse", http_status=503)
    assert found is not None
    assert found.line == "something"
    assert len(first_line("y" * 9999)) == FIRST_LINE_SIZE


def test_explanation_says_whether_retrying_helps() -> None:
    by_name = {
        "etcdserver: leader changed": "Retrying helps: at most 5 times",
        "etcdserver: too many requests": "Retrying helps after a wait: at most 8 times",
        "etcdserver: request is too large": "Retrying does not help without a change.",
    }
    for message, sentence in by_name.items():
        found = recognise(message)
        assert found is not None
        assert sentence in explain(found)


def test_waits_grow_to_the_cap_and_are_drawn_below_it() -> None:
    backoff = Backoff(first_s=2, factor=3, cap_s=20, tries=4)
    assert [backoff.longest_s(n) for n in range(4)] == [2, 6, 18, 20]
    assert backoff.longest_s(10_000) == 20
    assert [backoff.wait_s(n, lambda: 0.0) for n in range(4)] == [0, 0, 0, 0]
    assert all(0 <= backoff.wait_s(n) < backoff.longest_s(n) for n in range(4))


@pytest.mark.parametrize("fields", [(0, 2, 1, 1), (2, 2, 1, 1), (1, 0.5, 1, 1), (1, 2, 1, 0)])
def test_a_back_off_that_makes_no_sense_is_refused(fields: tuple[float, float, float, int]) -> None:
    with pytest.raises(ValueError, match="first_s"):
        Backoff(*fields)


def test_decision_counts_tries_and_says_why() -> None:
    found = recognise("etcdserver: leader changed")
    told = [decide(found, retries, random=half) for retries in range(6)]
    assert [one.wait_s for one in told if isinstance(one, Wait)] == [0.5, 1, 2, 4, 8]
    assert told[0].reason == "EtcdLeaderChangedErr: retry 1 of 5 in 0.5 s"
    assert told[5] == GiveUp("EtcdLeaderChangedErr: 5 retries did not help")


def test_a_limit_of_retries_is_kept() -> None:
    found = recognise("etcdserver: leader changed")
    name = "EtcdLeaderChangedErr"
    assert decide(found, 0, 0) == GiveUp(f"{name}: no retries are allowed")
    assert decide(found, 1, 1) == GiveUp(f"{name}: 1 retry did not help")


def test_what_is_not_known_or_does_not_pass_is_given_up() -> None:
    assert isinstance(decide(None, 0), GiveUp)
    found = recognise("main: OOMKilled (exit code 137)", exit_code=137)
    assert decide(found, 0) == GiveUp("OOMKilledErr: retrying does not help without a change")
