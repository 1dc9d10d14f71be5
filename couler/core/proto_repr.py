"""The ancestor's import path; what it held is gone, and asking for it says what to use instead."""

from couler.dsl.absent import missing as _missing


def __getattr__(name: str) -> object:
    raise _missing(__name__, name)
