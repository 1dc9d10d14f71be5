"""Training on GPUs, with processors, memory, a time limit and retries with growing waits.

Resources, GPU type, node selector, tolerations, retry with back-off, timeout.
"""

import couler

PATIENT = couler.Retry(limit=3, wait="30s", factor=2, cap="5m")

with couler.Workflow("speech-model", epochs=20) as wf:
    trained = couler.run_container(
        "pytorch/pytorch:2.4.1-cuda12.4-cudnn9-runtime",
        ["python", "-c", "import sys; print('trained for', sys.argv[1], 'epochs')"],
        args=[wf.params.epochs],
        cpu=8,
        memory="32Gi",
        gpu=couler.Gpu(2, "a100"),
        node_selector={"pool": "gpu"},
        tolerations=[couler.Toleration(key="nvidia.com/gpu", operator="Exists")],
        retry=PATIENT,
        timeout="6h",
        name="train",
    )
    wf.output("said", trained)
