"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.objects import Volume as Volume, VolumeMount as VolumeMount
