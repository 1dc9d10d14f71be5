import couler


@couler.step
def find_shards() -> list[str]:
    return ["0", "1"]


@couler.step
def process(shard: str) -> str:
    return f"done {shard}"


@couler.step
def merge(results: list[str]) -> str:
    return ", ".join(results)


with couler.Workflow("shards"):
    merge(process.map(shard=find_shards()))
