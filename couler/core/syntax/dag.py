"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.dag import dag as dag, set_dependencies as set_dependencies
