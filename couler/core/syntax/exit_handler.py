"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.settings import set_exit_handler as set_exit_handler
