"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.secrets import Secret as Secret
