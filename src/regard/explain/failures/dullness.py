"""Check `dullness` of language models: drawn texts that are all alike.

distinct-n = different n-grams / all n-grams (Li et al. 2016), of texts that are drawn (top-p 0.95), cut to as many words as the test text's
own second halves have, and compared with these.
"""

from collections import Counter
from collections.abc import Sequence

from regard.explain.failures.findings import EXAMPLES, Example, Finding, Number, Status
from regard.explain.failures.statistics import share
from regard.explain.failures.subject import NotApplicableError, WriterSubject
from regard.explain.failures.words import ngrams, words

NAME, TITLE = "dullness", "Dull texts"
LOOK, FAULT = 0.75, 0.5  # times the distinct bigrams of the test text
LEAST_BIGRAMS = 20


def distinct(texts: Sequence[list[str]], size: int) -> float | None:
    """Different n-grams / all n-grams of texts in words; None: there are none."""
    grams = [gram for text in texts for gram in ngrams(text, size)]
    return len(set(grams)) / len(grams) if grams else None


def dullness(subject: WriterSubject) -> Finding:
    """The variety of drawn texts beside that of real text."""
    halves = subject.prompts(subject.texts.references)
    outputs = [one.text for one in subject.written([prompt for prompt, _ in halves], sample=True)]
    cut = [
        (words(output)[: len(words(rest))], words(rest)[: len(words(output))])
        for output, (_, rest) in zip(outputs, halves, strict=True)
    ]
    written, real = [pair[0] for pair in cut], [pair[1] for pair in cut]
    values = {name: [distinct(texts, size) for size in (1, 2)] for name, texts in (("model", written), ("text", real))}
    (model_1, model_2), (text_1, text_2) = values["model"], values["text"]
    if sum(max(0, len(words(rest)) - 1) for _, rest in halves) < LEAST_BIGRAMS:
        raise NotApplicableError(f"the test text has fewer than {LEAST_BIGRAMS} pairs of words to compare with")
    ratio = 0.0 if not (model_2 and text_2) else model_2 / text_2  # without two words in any text there is no variety
    empty = sum(not output.strip() for output in outputs)
    [(common, times)] = Counter(outputs).most_common(1)
    same = times if times > 1 else 0
    numbers = (
        Number("distinct_2_ratio", "distinct bigrams, of the model / of the test text", ratio, "times"),
        Number("distinct_1", "distinct words of the model", model_1, "", count=sum(map(len, written))),
        Number("distinct_2", "distinct bigrams of the model", model_2, ""),
        Number("distinct_1_text", "distinct words of the test text", text_1, "", count=sum(map(len, real))),
        Number("distinct_2_text", "distinct bigrams of the test text", text_2, ""),
        share("most_common", "texts that are the most common one", same, len(outputs)),
        share("empty", "empty texts", empty, len(outputs)),
    )
    status: Status = "sound" if ratio >= LOOK else "look" if ratio >= FAULT else "fault"
    verdict = f"drawn texts have {ratio:.2f} times the distinct bigrams of the test text"
    if empty:
        verdict += f"; {empty:,} of {len(outputs):,} are empty"
    examples = [Example(halves[outputs.index(common)][0], common, note=f"written {times} times")] if same else []
    return Finding(NAME, TITLE, status, verdict, numbers, examples=tuple(examples[:EXAMPLES]))
