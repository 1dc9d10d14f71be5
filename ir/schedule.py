"""Cron expressions and time zones, as every engine understands them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from cronsim import CronSim, CronSimError

from couler.ir.diagnostics import did_you_mean

_ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS = ("minute", "hour", "day of month", "month", "day of week")
_PROBE = datetime(2024, 1, 1, tzinfo=UTC)


def check_cron(expression: str) -> None:
    """Refuse a cron expression that some engine would refuse or read in another way."""
    text = expression.strip()
    if text.startswith("@"):
        instead = _ALIASES.get(text.lower())
        hint = f' Write "{instead}".' if instead else did_you_mean(text, _ALIASES)
        raise ValueError(f'"{expression}" is a name that not every engine knows.{hint}')
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ValueError(
            f'"{expression}" has {len(fields)} fields; cron has five: {", ".join(_FIELDS)}'
        )
    day, weekday = fields[2].upper(), fields[4].upper()
    if re.search("[LW#?]", day) or re.search(r"[#?]|\dL", weekday):
        raise ValueError(f'"{expression}" uses L, W, # or ?, which not every engine knows')
    if re.search(r"(^|[-,])7", weekday):
        raise ValueError(f'"{expression}" has 7 for Sunday, which not every engine knows: write 0')
    try:
        next(CronSim(text, _PROBE))
    except CronSimError as error:
        problem = str(error).replace("Bad", "bad").replace("-of-", " of ")
        raise ValueError(f'"{expression}" is no cron expression: {problem}') from error
    except StopIteration as error:
        raise ValueError(f'"{expression}" never comes true') from error


def check_timezone(name: str) -> None:
    """Refuse a name that is no time zone of the IANA database."""
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError) as error:
        known = zoneinfo.available_timezones()
        if known:
            hint = did_you_mean(name, sorted(known)) or ' Write one such as "UTC".'
            raise ValueError(f'"{name}" is no time zone.{hint}') from error
