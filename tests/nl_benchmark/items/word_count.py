import couler


@couler.step
def split(text: str) -> list[str]:
    return text.split()


@couler.step
def count(words: list[str]) -> dict[str, int]:
    return {word: words.count(word) for word in words}


@couler.step
def best(counts: dict[str, int]) -> str:
    word = min(counts, key=lambda each: (-counts[each], each))
    return f"{word} {counts[word]}"


with couler.Workflow("words", text="to be or not to be") as wf:
    wf.output("winner", best(count(split(wf.params.text))))
