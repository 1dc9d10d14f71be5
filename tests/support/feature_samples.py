"""A minimal workflow for each feature; every one of them is valid."""

from __future__ import annotations

from couler.ir.features import Feature
from couler.ir.workflow import Workflow
from tests.support.features.control import CONTROL
from tests.support.features.files import FILES
from tests.support.features.kinds import KINDS
from tests.support.features.pods import PODS
from tests.support.features.policies import POLICIES
from tests.support.features.values import VALUES
from tests.support.features.whole import WHOLE

FEATURE_SAMPLES: dict[Feature, Workflow] = {
    **KINDS,
    **CONTROL,
    **VALUES,
    **POLICIES,
    **PODS,
    **WHOLE,
    **FILES,
}
