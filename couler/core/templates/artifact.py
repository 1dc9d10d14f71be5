"""The ancestor's import path; the names are in `couler`."""

from couler import Artifact, LocalArtifact, OssArtifact, S3Artifact

__all__ = ["Artifact", "LocalArtifact", "OssArtifact", "S3Artifact"]
