"""The ancestor's `couler.core.constants`: how Argo's objects are called on a cluster."""

from couler.dsl.settings import WFStatus as WFStatus
from couler.dsl.step_options import ImagePullPolicy as ImagePullPolicy


class WorkflowCRD:
    """The names by which clients of a cluster ask for workflows."""

    GROUP = "argoproj.io"
    VERSION = "v1alpha1"
    KIND = "Workflow"
    PLURAL = "workflows"


class CronWorkflowCRD(WorkflowCRD):
    """The names by which clients of a cluster ask for workflows with a schedule."""

    KIND = "CronWorkflow"
    PLURAL = "cronworkflows"
