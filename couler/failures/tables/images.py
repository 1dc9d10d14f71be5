"""Images: what the kubelet and the registry say of one that cannot be had."""

from __future__ import annotations

from couler.failures.pattern import Failure, Pattern, sign
from couler.failures.tables.waits import BUSY, LONG

_IMAGES = "https://kubernetes.io/docs/concepts/containers/images/"

PATTERNS = (
    Pattern(
        name="ImageRateLimitErr",
        system="registry",
        signs=(sign(r"\btoomanyrequests: (?:You have reached your|Rate exceeded)\b"),),
        example=Failure(
            'Failed to pull image "nginx:1.14.2": Error response from daemon: toomanyrequests: You '
            "have reached your unauthenticated pull rate limit. "
            "https://www.docker.com/increase-rate-limit",
            reason="ErrImagePull",
        ),
        means="the registry gives this cluster no more images for some hours",
        retry="after a wait",
        backoff=LONG,
        advice="Pull as a registered user (image pull secrets), or from a registry of your own.",
        source="https://docs.docker.com/docker-hub/usage/pulls/",
    ),
    Pattern(
        name="ImageAuthErr",
        system="registry",
        signs=(
            sign(
                r"\bpull access denied\b.{0,300}, repository does not exist or may require "
                r"(?:authorization|'docker login')"
            ),
            sign(r"\bno basic auth credentials\b"),
            sign(r"\bfailed to authorize: .{0,500}: 40[13] (?:Unauthorized|Forbidden)"),
        ),
        example=Failure(
            'Failed to pull image "busybox888": rpc error: code = Unknown desc = failed to pull '
            'and unpack image "docker.io/library/busybox888:latest": failed to resolve reference '
            '"docker.io/library/busybox888:latest": pull access denied, repository does not exist '
            "or may require authorization: server message: insufficient_scope",
            reason="ErrImagePull",
        ),
        means="the registry does not give the image: it does not exist, or is not for everybody",
        retry="never",
        backoff=None,
        advice="Correct the name of the image, or give the namespace an image pull secret.",
        source="https://kubernetes.io/docs/tasks/configure-pod-container/"
        "pull-image-private-registry/",
    ),
    Pattern(
        name="ImagePlatformErr",
        system="registry",
        signs=(
            sign(r"\bno match for platform in manifest\b"),
            sign(r"^exec \S{1,300}: exec format error$", in_log=True),
        ),
        example=Failure(
            'Failed to pull image "team/api:latest": rpc error: code = NotFound desc = failed to '
            'pull and unpack image "team/api:latest": no match for platform in manifest: not found',
            reason="ErrImagePull",
        ),
        means="the image was not built for the processors of the node",
        retry="never",
        backoff=None,
        advice="Build the image for the platform of the nodes, such as linux/amd64, or choose "
        "other nodes (node_selector).",
        source="https://docs.docker.com/build/building/multi-platform/",
    ),
    Pattern(
        name="ImageNotFoundErr",
        system="registry",
        signs=(
            sign(
                r"\bfailed to resolve reference \"[^\"\n]{1,500}\": (?:[^ \n]{1,500}: )?not found\b"
            ),
            sign(r"\bmanifest for \S{1,500} not found\b"),
            sign(r"\bmanifest unknown\b"),
        ),
        example=Failure(
            'Failed to pull image "nginx:1.19-alpne": rpc error: code = NotFound desc = failed to '
            'pull and unpack image "docker.io/library/nginx:1.19-alpne": failed to resolve '
            'reference "docker.io/library/nginx:1.19-alpne": '
            "docker.io/library/nginx:1.19-alpne: not found",
            reason="ErrImagePull",
        ),
        means="the registry has no image of that name and tag",
        retry="never",
        backoff=None,
        advice="Correct the name or the tag of the image, or push the image.",
        source=_IMAGES,
    ),
    Pattern(
        name="InvalidImageNameErr",
        system="kubernetes",
        signs=(
            sign(reason="InvalidImageName"),
            sign(r"\bFailed to apply default image tag \"[^\"\n]{0,500}\": couldn't parse image "),
        ),
        example=Failure(
            'Failed to apply default image tag "busyBOX": couldn\'t parse image name "busyBOX": '
            "invalid reference format: repository name must be lowercase",
            reason="InvalidImageName",
        ),
        means="what is given as the image is not a valid name",
        retry="never",
        backoff=None,
        advice="Correct the name of the image: it is in lower case, with at most one tag.",
        source=f"{_IMAGES}#image-names",
    ),
    Pattern(
        name="ImageNeverPullErr",
        system="kubernetes",
        signs=(
            sign(reason="ErrImageNeverPull"),
            sign(r"\bContainer image \"\S{1,500}\" is not present with pull policy of Never\b"),
        ),
        example=Failure(
            'Container image "flask-demo:version1" is not present with pull policy of Never',
            reason="ErrImageNeverPull",
        ),
        means="the node does not have the image, and may not pull it",
        retry="never",
        backoff=None,
        advice="Use another image_pull_policy, or load the image on every node.",
        source=f"{_IMAGES}#image-pull-policy",
    ),
    Pattern(
        name="ImagePullErr",
        system="registry",
        signs=(
            sign(reason=("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable")),
            sign(r"\b(?:Failed to pull|Back-off pulling) image \"\S{1,500}\""),
            sign(r"\bImage cannot be pulled, unable to start: "),
            sign(r"\bdue to (?:ErrImagePull|ImagePullBackOff): "),
        ),
        example=Failure('Back-off pulling image "registry.example.com/train:1"'),
        means="the image could not be pulled",
        retry="after a wait",
        backoff=BUSY,
        advice="Look at the pod's events: the registry cannot be reached, or refuses.",
        source=f"{_IMAGES}#imagepullbackoff",
    ),
)
