"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.iteration import map as map
