"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.settings import add_image_pull_secret as add_image_pull_secret
