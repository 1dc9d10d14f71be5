import couler

with couler.Workflow("books"):
    couler.run_container(
        "busybox:1.37",
        ["sh", "-c", "wc -w /in/book.txt > /out/words.txt"],
        input=couler.S3Artifact("/in/book.txt", bucket="library", key="books/moby.txt"),
        output=couler.S3Artifact("/out/words.txt", bucket="library", key="counts/moby.txt"),
        step_name="count",
    )
