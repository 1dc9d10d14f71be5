"""Quantities of Kubernetes, cron expressions and time zones."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from couler.ir.quantity import parse_quantity
from couler.ir.verify.settings import check_cron, check_timezone


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("2", 2),
        ("500m", Decimal("0.5")),
        ("1.5", Decimal("1.5")),
        (".5", Decimal("0.5")),
        ("1.", 1),
        ("+1", 1),
        ("-1Ki", -1024),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1.5Gi", 1610612736),
        ("2E", 2 * 10**18),
        ("1e3", 1000),
        ("1E-3", Decimal("0.001")),
        ("100n", Decimal("1e-7")),
        ("3u", Decimal("0.000003")),
        ("1Ei", 1024**6),
    ],
)
def test_quantities(text: str, number: Decimal | int) -> None:
    assert parse_quantity(text) == number


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("4GB", '"4G"'),
        ("4 GiB", '"4Gi"'),
        ("1gi", '"1Gi"'),
        ("1K", '"1k"'),
        ("100 mb", '"100M"'),
        ("lots", "write a number and a unit"),
        ("", "write a number and a unit"),
        ("1.5.2", "write a number and a unit"),
        ("1 000", "write a number and a unit"),
        ("1_000", "write a number and a unit"),
        ("٣", "write a number and a unit"),
        ("1Gi\n", '"1Gi"'),
    ],
)
def test_what_is_no_quantity(text: str, advice: str) -> None:
    with pytest.raises(ValueError, match="is no quantity") as caught:
        parse_quantity(text)
    assert advice in str(caught.value)


@given(st.decimals("0", "1e9", places=3), st.sampled_from(["", "m", "k", "Ki", "M", "Gi"]))
def test_quantities_are_exact(number: Decimal, unit: str) -> None:
    factor = parse_quantity(f"1{unit}")
    assert parse_quantity(f"{number}{unit}") == number * factor


@pytest.mark.parametrize(
    "cron",
    ["* * * * *", "*/15 8-18 * * MON-FRI", "0 4 1,15 JAN,jul *", "59 23 29 2 *", "0 0 * * 0-6"],
)
def test_cron(cron: str) -> None:
    check_cron(cron)


@pytest.mark.parametrize(
    ("cron", "what"),
    [
        ("60 * * * *", "bad minute"),
        ("* 24 * * *", "bad hour"),
        ("* * 0 * *", "bad day of month"),
        ("* * * 13 *", "bad month"),
        ("* * * * 8", "bad day of week"),
        ("*/0 * * * *", "bad minute"),
        ("5-1 * * * *", "bad minute"),
        ("0 0 31 4 *", "bad day of month"),
        ("0 0 * * 7", "write 0"),
        ("0 0 * * 5-7", "write 0"),
        ("0 0 L * *", "not every engine knows"),
        ("0 0 * * 5L", "not every engine knows"),
        ("0 0 * * 1#2", "not every engine knows"),
        ("? * * * *", "bad minute"),
        ("* * * * * *", "has 6 fields"),
        ("", "has 0 fields"),
        ("@daily", 'Write "0 0 * * *"'),
        ("@dayly", 'Did you mean "@daily"?'),
        ("@reboot", "not every engine knows"),
    ],
)
def test_what_is_no_cron(cron: str, what: str) -> None:
    with pytest.raises(ValueError, match=re.escape(what)):
        check_cron(cron)


def test_time_zones() -> None:
    check_timezone("UTC")
    check_timezone("America/New_York")
    for name in ("", "/etc/passwd", "../UTC", "Mars/Olympus", "Europe"):
        with pytest.raises(ValueError, match="no time zone"):
            check_timezone(name)
