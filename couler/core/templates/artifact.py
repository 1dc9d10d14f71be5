"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.artifacts import Artifact as Artifact
from couler.dsl.artifacts import LocalArtifact as LocalArtifact
