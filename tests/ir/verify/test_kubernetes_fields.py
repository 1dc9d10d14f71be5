"""The table of fields of Kubernetes' and Argo's objects is that of their schemas."""

from __future__ import annotations

import pytest

from tests.support import argo_schema, kubernetes_fields

pytestmark = [
    pytest.mark.checkout,
    pytest.mark.skipif(
        not argo_schema.available(), reason="Argo's schemas are not beside this checkout"
    ),
]


def test_the_table_is_made_of_the_schemas() -> None:
    made = kubernetes_fields.table(argo_schema.SCHEMAS)
    assert kubernetes_fields.FILE.read_text(encoding="utf-8") == made
