"""Training: graphics processors, and the libraries by which processes train together."""

from __future__ import annotations

from couler.failures.pattern import Failure, Pattern, sign
from couler.failures.tables.waits import FEW, QUICK

_TORCH = "https://github.com/pytorch/pytorch/blob/v2.7.0/torch"
_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"
_CUDA = (
    "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html#group__CUDART__TYPES"
)


def _wrote(log: str) -> Failure:
    """Return a failure of which only the log tells why."""
    return Failure("main: Error (exit code 1)", exit_code=1, log=log)


PATTERNS = (
    Pattern(
        name="CudaOutOfMemoryErr",
        system="training",
        signs=(
            sign(r"\bCUDA out of memory\. Tried to allocate \d", in_log=True),
            sign(r"\bCUDA error: out of memory\b", in_log=True),
        ),
        example=_wrote(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 146.00 MiB. GPU 0 has a "
            "total capacity of 8.00 GiB of which 0 bytes is free."
        ),
        means="the model and its batch need more memory than the GPU has",
        retry="never",
        backoff=None,
        advice="Use smaller batches, gradient checkpointing or a lower precision, or a GPU with "
        "more memory.",
        source="https://pytorch.org/docs/stable/notes/faq.html",
    ),
    Pattern(
        name="TensorFlowOutOfMemoryErr",
        system="training",
        signs=(
            sign(
                r"\bResourceExhaustedError: {1,2}OOM when allocating tensor with shape ?\[",
                in_log=True,
            ),
        ),
        example=_wrote(
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError:  OOM when allocating "
            "tensor with shape[32,1024,64,64] and type float on /job:localhost/replica:0/task:0/"
            "device:GPU:0 by allocator GPU_0_bfc"
        ),
        means="the model and its batch need more memory than the device has",
        retry="never",
        backoff=None,
        advice="Use smaller batches, or a GPU with more memory.",
        source="https://www.tensorflow.org/api_docs/python/tf/errors/ResourceExhaustedError",
    ),
    Pattern(
        name="CudaHardwareErr",
        system="training",
        signs=(
            sign(
                r"\bCUDA error: (?:uncorrectable ECC error encountered|unspecified launch failure"
                r"|hardware stack error|uncorrectable NVLink error detected)",
                in_log=True,
            ),
        ),
        example=_wrote("RuntimeError: CUDA error: uncorrectable ECC error encountered"),
        means="the GPU of the node failed",
        retry="always",
        backoff=QUICK,
        advice="Let retries run on another node (Retry(other_node=True)), and tell the cluster's "
        "administrator which node it is.",
        source=_CUDA,
    ),
    Pattern(
        name="CudaProgramErr",
        system="training",
        signs=(
            sign(
                r"\bCUDA error: (?:device-side assert triggered"
                r"|an illegal memory access was encountered)",
                in_log=True,
            ),
        ),
        example=_wrote(
            "RuntimeError: CUDA error: device-side assert triggered\n"
            "CUDA kernel errors might be asynchronously reported at some other API call"
        ),
        means="a kernel on the GPU read what it may not, such as a label that is out of range",
        retry="never",
        backoff=None,
        advice="Run it once with CUDA_LAUNCH_BLOCKING=1, or on the CPU, to see the line.",
        source=_CUDA,
    ),
    Pattern(
        name="CudaDriverErr",
        system="training",
        signs=(
            sign(r"\bCUDA driver version is insufficient for CUDA runtime version\b", in_log=True),
            sign(r"\bno kernel image is available for execution on the device\b", in_log=True),
            sign(r"\bCUDA error: no CUDA-capable device is detected\b", in_log=True),
        ),
        example=_wrote(
            "RuntimeError: CUDA error: no kernel image is available for execution on the device"
        ),
        means="the image's CUDA does not fit the GPU or the driver of the node",
        retry="never",
        backoff=None,
        advice="Use an image that was built for the node's GPU and driver, or choose other nodes; "
        "ask for a GPU (resources) if the step has none.",
        source=_CUDA,
    ),
    Pattern(
        name="NcclTimeoutErr",
        system="training",
        signs=(sign(r"\bWatchdog caught collective operation timeout: ", in_log=True),),
        example=_wrote(
            "[rank0]:[E1218 20:27:21.426415540 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught "
            "collective operation timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST, "
            "NumelIn=131072000, NumelOut=131072000, Timeout(ms)=600000) ran for 600081 "
            "milliseconds before timing out."
        ),
        means="one process waited too long for the others, which were lost, slow or elsewhere",
        retry="after a wait",
        backoff=FEW,
        advice="Look into the logs of the other ranks for the first one that failed. If all are "
        "well, raise the timeout of the process group.",
        source=f"{_TORCH}/csrc/distributed/c10d/ProcessGroupNCCL.cpp",
    ),
    Pattern(
        name="NcclErr",
        system="training",
        signs=(
            sign(
                r"\bNCCL error in: [^\n,]{1,300}, (?:unhandled system error|unhandled cuda error"
                r"|internal error|remote process exited or there was a network error)",
                in_log=True,
            ),
            sign(
                r"\bNCCL error: remote process exited or there was a network error\b", in_log=True
            ),
        ),
        example=_wrote(
            "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/"
            "NCCLUtils.hpp:317, unhandled system error (run with NCCL_DEBUG=INFO for details), "
            "NCCL version 2.21.5"
        ),
        means="the GPUs could not speak to each other, or another process ended",
        retry="after a wait",
        backoff=FEW,
        advice="Run it with NCCL_DEBUG=INFO: mostly it is the network interface, too little shared "
        "memory (/dev/shm), or another rank that failed first.",
        source=_NCCL,
    ),
    Pattern(
        name="GlooErr",
        system="training",
        signs=(
            sign(
                r"\bgloo/transport/tcp/pair\.cc:\d{1,5}\]\s{1,3}"
                r"(?:Connection closed by peer|(?:Read|Write) error)",
                in_log=True,
            ),
            sign(r"\bGloo connectFullMesh failed with \[", in_log=True),
        ),
        example=_wrote(
            "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection "
            "closed by peer [172.19.2.2]:33177"
        ),
        means="another process of the training ended, or cannot be reached",
        retry="after a wait",
        backoff=FEW,
        advice="Look into the logs of the other ranks for the first one that failed.",
        source="https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/pair.cc",
    ),
    Pattern(
        name="RendezvousErr",
        system="training",
        signs=(
            sign(
                r"\btorch\.distributed\.elastic\.rendezvous\.api\."
                r"Rendezvous(?:Timeout|Connection|Closed)Error\b",
                in_log=True,
            ),
            sign(
                r"\bThe client socket has timed out after \w{1,12} while trying to connect to \(",
                in_log=True,
            ),
        ),
        example=_wrote(
            "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to "
            "the C10d store has failed. See inner exception for details."
        ),
        means="the processes of the training did not find each other in time",
        retry="after a wait",
        backoff=FEW,
        advice="Check that all pods of the job were started: some may wait for a node. Raise the "
        "timeout of the rendezvous if they start slowly.",
        source=f"{_TORCH}/distributed/elastic/rendezvous/api.py",
    ),
    Pattern(
        name="SharedMemoryErr",
        system="training",
        signs=(
            sign(
                r"\bDataLoader worker \(pid(?:\(s\))? [\d, ]{1,100}\) is killed by signal: Bus",
                in_log=True,
            ),
        ),
        example=_wrote(
            "RuntimeError: DataLoader worker (pid 2479) is killed by signal: Bus error. It is "
            "possible that dataloader's workers are out of shared memory. Please try to raise your "
            "shared memory limit."
        ),
        means="the processes that load data have too little shared memory (/dev/shm)",
        retry="never",
        backoff=None,
        advice="Mount a volume in memory at /dev/shm, or use fewer workers in the data loader.",
        source=f"{_TORCH}/utils/data/_utils/signal_handling.py",
    ),
    Pattern(
        name="TensorFlowUnavailableErr",
        system="training",
        signs=(
            sign(
                r"\btensorflow\.python\.framework\.errors_impl\.(?:Unavailable|Aborted)Error: ",
                in_log=True,
            ),
        ),
        example=_wrote(
            "tensorflow.python.framework.errors_impl.UnavailableError: Endpoint read failed"
        ),
        means="another process of the training ended, or cannot be reached",
        retry="after a wait",
        backoff=FEW,
        advice="Look into the logs of the other workers for the first one that failed.",
        source="https://www.tensorflow.org/api_docs/python/tf/errors/UnavailableError",
    ),
    Pattern(
        name="HorovodErr",
        system="training",
        signs=(
            sign(r"\bHorovod has been shut down\. This was caused by an exception on", in_log=True),
        ),
        example=_wrote(
            "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was "
            "caused by an exception on one of the ranks or an attempt to allreduce, allgather or "
            "broadcast a tensor after one of the ranks finished execution."
        ),
        means="another process of the training failed, so all were ended",
        retry="after a wait",
        backoff=FEW,
        advice="Look into the logs of the other ranks for the first one that failed.",
        source="https://horovod.readthedocs.io/en/stable/troubleshooting_include.html",
    ),
    Pattern(
        name="MpiDaemonErr",
        system="training",
        signs=(
            sign(r"^ORTE was unable to reliably start one or more daemons\b", in_log=True),
            sign(r"^An ORTE daemon has unexpectedly failed after launch and before\b", in_log=True),
            sign(r"^PRTE has lost communication with a remote daemon\b", in_log=True),
        ),
        example=_wrote(
            "ssh: connect to host train-worker-0 port 22: Connection refused\n"
            "----------------------------------------------------------------------\n"
            "ORTE was unable to reliably start one or more daemons.\n"
            "This usually is caused by:"
        ),
        means="mpirun could not start its processes in the workers' pods, or lost them",
        retry="after a wait",
        backoff=FEW,
        advice="Check that the workers run and that their ssh server is up before mpirun starts; "
        "launcher and workers need the same image.",
        source="https://www.open-mpi.org/faq/?category=running",
    ),
    Pattern(
        name="MpiSlotsErr",
        system="training",
        signs=(
            sign(
                r"^There are not enough slots available in the system to satisfy the ", in_log=True
            ),
        ),
        example=_wrote(
            "There are not enough slots available in the system to satisfy the 4\n"
            "slots that were requested by the application:"
        ),
        means="mpirun is asked for more processes than the workers have slots",
        retry="never",
        backoff=None,
        advice="Ask for as many processes as workers times slots of each.",
        source="https://docs.open-mpi.org/en/v5.0.x/launching-apps/scheduling.html",
    ),
    Pattern(
        name="XGBoostWorkerErr",
        system="training",
        signs=(
            sign(
                r"^- \[\w{1,30}\.(?:cc|h):\d{1,5}\|[\d:]{5,12}\]: (?:Failed to bootstrap the "
                r"communication group\.|Another worker is running into error\.)",
                in_log=True,
            ),
            sign(r"\bXGBoostError: .{0,300}Failed to start tracker, timeout: ", in_log=True),
        ),
        example=_wrote(
            "xgboost.core.XGBoostError: [16:22:23] /workspace/src/collective/result.cc:83: "
            "[comm.cc:220|16:22:23]:\n\n"
            "- [comm.cc:220|16:22:23]: Failed to bootstrap the communication group.\n"
            "- [comm.cc:239|16:22:23]: Bootstrap failed.\n"
            "- [comm.cc:41|16:22:23]: Failed to connect to the tracker."
        ),
        means="the processes of the training did not find each other, or one of them failed",
        retry="after a wait",
        backoff=FEW,
        advice="Check that the tracker runs before the workers, and look into the logs of the "
        "other workers for the first one that failed.",
        source="https://xgboost.readthedocs.io/en/stable/python/python_api.html"
        "#module-xgboost.collective",
    ),
    Pattern(
        name="LightGbmSocketErr",
        system="training",
        signs=(
            sign(
                r"\bSocket (?:recv|send|accept) error, [A-Z][\w ]{1,60} \(code: \d{1,5}\)",
                in_log=True,
            ),
        ),
        example=_wrote(
            "lightgbm.basic.LightGBMError: Socket recv error, Connection reset by peer (code: 104)"
        ),
        means="another process of the training ended, or cannot be reached",
        retry="after a wait",
        backoff=FEW,
        advice="Look into the logs of the other machines for the first one that failed.",
        source="https://github.com/microsoft/LightGBM/blob/v4.6.0/src/network/socket_wrapper.hpp",
    ),
    Pattern(
        name="DaskWorkerErr",
        system="training",
        signs=(
            sign(
                r"\bAttempted to run task .{1,300} on \d{1,3} different workers, but all those "
                r"workers died while running it\b",
                in_log=True,
            ),
        ),
        example=_wrote(
            "distributed.scheduler.KilledWorker: Attempted to run task "
            "'finalize-hlgfinalizecompute-ac2f174f' on 4 different workers, but all those workers "
            "died while running it. The last worker that attempt to run the task was "
            "tcp://127.0.0.1:37493."
        ),
        means="a task ended every Dask worker that it ran on, mostly for memory",
        retry="never",
        backoff=None,
        advice="Give the workers more memory, or make the partitions smaller.",
        source="https://distributed.dask.org/en/stable/killed.html",
    ),
    Pattern(
        name="DaskConnectionErr",
        system="training",
        signs=(
            sign(r"\bTimed out trying to connect to (?:tcp|tls)://\S{1,253} after ", in_log=True),
            sign(r"\bdistributed\.comm\.core\.CommClosedError\b", in_log=True),
        ),
        example=_wrote(
            "OSError: Timed out trying to connect to tcp://172.21.10.164:8786 after 30 s"
        ),
        means="the Dask scheduler or a worker ended, or cannot be reached",
        retry="after a wait",
        backoff=FEW,
        advice="Check that the scheduler runs, and look into its log.",
        source="https://distributed.dask.org/en/stable/communications.html",
    ),
)
