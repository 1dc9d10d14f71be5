"""Text reaches a process byte for byte, past Argo and the kubelet."""

from __future__ import annotations

from hypothesis import example, given, strategies as st

from couler.backends.argo.tags import (
    BRACE_VARIABLE,
    has_tag,
    protect,
)
from couler.ir.kubernetes_pods import protect_dollars
from tests.support.mills import TagReadError, argo, kubelet

PIECES = ["{", "}", "{{", "}}", "{{=", "$", "$$", "$(", ")", "(", "HOME", "COULER_BRACE", " ", "\n"]
PIECES += ["item", "inputs.parameters.x", "workflow.name", "tasks.a.outputs.result", "x", "'", '"']
hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)

ENVIRONMENT = {"HOME": "/root", BRACE_VARIABLE: "{"}


@given(hostile)
@example("{{{item}}}")
@example("$(COULER_BRACE){item}}")
@example("{{ {{item}}")
@example("$$(HOME)")
def test_a_protected_text_comes_out_as_it_went_in(text: str) -> None:
    assert kubelet(argo(protect(text)), ENVIRONMENT) == text


@given(hostile)
def test_a_script_without_tags_comes_out_as_it_went_in(text: str) -> None:
    if not has_tag(text):
        assert kubelet(argo(protect_dollars(text)), ENVIRONMENT) == text


@given(hostile)
def test_a_text_that_the_model_reads_counts_as_having_a_tag(text: str) -> None:
    try:
        argo(text)
    except TagReadError:
        assert has_tag(text)


@given(st.text())
def test_harmless_text_is_not_changed(text: str) -> None:
    if "{{" not in text and "$$" not in text and "$(" not in text:
        assert protect(text) == text


def test_the_model_of_the_kubelet_on_hand_worked_cases() -> None:
    cases = {
        "$(HOME)": "/root",
        "$$(HOME)": "$(HOME)",
        "$$$(HOME)": "$/root",
        "$HOME": "$HOME",
        "$(NONE)": "$(NONE)",
        "$(": "$(",
        "a$": "a$",
        "$$": "$",
    }
    for text, expected in cases.items():
        assert kubelet(text, ENVIRONMENT) == expected
