"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.loops import exec_while as exec_while
