"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.control import when as when
