import couler

with couler.Workflow("download"):
    couler.run_container(
        "curlimages/curl:8.9.1",
        ["curl", "-fsSO", "https://example.org/data.csv"],
        retry=couler.Retry(limit=4, wait="10s", factor=2, cap="2m"),
        step_name="download",
    )
