"""The text of a reference: one spelling, told apart by kind, whatever the name."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from couler.errors import ArtifactError
from couler.store import Reference, content_of, parse_reference

DIGEST = "0123456789abcdef" * 4

# Names that Linux allows: bytes without "/" and NUL; not all are UTF-8.
NAMES = (
    st.binary(min_size=1, max_size=255)
    .filter(lambda name: not set(name) & {0, ord("/")} and name not in (b".", b".."))
    .map(lambda name: name.decode("utf-8", "surrogateescape"))
)


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (Reference(DIGEST, "report.html"), f"{DIGEST}/report.html"),
        (Reference(DIGEST, "model", "directory"), f"{DIGEST}/model/"),
        (Reference(DIGEST, "train", "executable"), f"{DIGEST}/train*"),
        (Reference(DIGEST, "a*"), f"{DIGEST}/a%2A"),
        (
            Reference(DIGEST, "Bericht über {{x}} $HOME.pdf"),
            f"{DIGEST}/Bericht über {{{{x}}}} $HOME.pdf",
        ),
        (Reference(DIGEST, "two\nlines"), f"{DIGEST}/two%0Alines"),
        (Reference(DIGEST, "100%"), f"{DIGEST}/100%25"),
        (Reference(DIGEST, "\udcff"), f"{DIGEST}/%FF"),
    ],
)
def test_the_text_keeps_the_name_readable_and_tells_the_kind(
    reference: Reference, text: str
) -> None:
    assert str(reference) == text
    assert parse_reference(text) == reference


@given(NAMES, st.sampled_from(["file", "executable", "directory"]))
def test_every_name_comes_back(name: str, kind: str) -> None:
    reference = Reference(DIGEST, name, kind)  # type: ignore[arg-type]  # one of the kinds
    text = str(reference)
    assert parse_reference(text) == reference
    assert text.encode().decode() == text  # travels as UTF-8
    assert text.isprintable() or not name.isprintable()
    assert "\n" not in text


@pytest.mark.parametrize(
    "text",
    [
        "",
        DIGEST,
        f"{DIGEST}/",
        f"{DIGEST}//",
        f"{DIGEST}/a/b",
        f"{DIGEST}/..",
        f"{DIGEST}/../",
        f"{DIGEST}/.",
        f"{DIGEST}/%2E%2E",
        f"{DIGEST}/%2F",
        f"{DIGEST}/a%00",
        f"{DIGEST}/%41",
        f"{DIGEST}/a%2a",
        f"{DIGEST}/a%",
        f"{DIGEST}/a\n",
        f"{DIGEST}/a**",
        f"{DIGEST[:-1]}/a",
        f"{DIGEST.upper()}/a",
        f"../{DIGEST}/a",
        "train[2]/model",
    ],
)
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ArtifactError, match="is no reference"):
        parse_reference(text)


def test_content_tells_kinds_apart_and_names_not() -> None:
    contents = [content_of(f"{DIGEST}/{name}") for name in ("a", "b", "a*", "a/", "b/")]
    assert contents[0] == contents[1] == DIGEST
    assert contents[3] == contents[4]
    assert len(set(contents)) == 3
