"""Keep what slow steps gave for later runs: caching, and steps that are reused if nothing changed.

Cache, memoize, reuse of results, expiry.
"""

import couler


@couler.step(cache=couler.Cache(max_age="7d"))
def embed_documents(model: str) -> int:
    return len(model)


@couler.step(cache=True)
def build_clusters(vectors: int, count: int) -> list[int]:
    return [vectors // count] * count


with couler.Workflow("clusters", model="small", count=3) as wf:
    wf.output("sizes", build_clusters(embed_documents(wf.params.model), wf.params.count))
