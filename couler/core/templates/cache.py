"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.objects import Cache as Cache
