"""A sign of life in the database, for processes of other machines that cannot see this one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from couler.errors import StateError
from couler.state.database import Database
from couler.state.runs import note_session

PERIOD_S = 60.0
"""How often; those who look wait for many of them (`couler.state.leftovers.SILENCE`)."""


@asynccontextmanager
async def signs_of_life(database: Database, run_id: str, session: int) -> AsyncIterator[None]:
    """Record again and again that a session goes on, while the block lasts."""
    beating = asyncio.create_task(_beat(database, run_id, session))
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.wait((beating,))


async def _beat(database: Database, run_id: str, session: int) -> None:
    while True:
        await asyncio.sleep(PERIOD_S)
        # What cannot be written now can be in a minute; of what stays so the journal tells.
        with contextlib.suppress(StateError):
            await asyncio.to_thread(note_session, database, run_id, session, datetime.now(UTC))
