"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.settings import add_toleration as add_toleration
