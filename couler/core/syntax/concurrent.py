"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.control import concurrent as concurrent
