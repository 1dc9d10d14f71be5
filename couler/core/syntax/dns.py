"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.settings import set_dns as set_dns
