"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.artifacts import Artifact as Artifact
from couler.dsl.artifacts import LocalArtifact as LocalArtifact
from couler.dsl.locations import OssArtifact as OssArtifact
from couler.dsl.locations import S3Artifact as S3Artifact
