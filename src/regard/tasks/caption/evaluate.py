"""Evaluates captioners, for the end of training, `regard evaluate` and the report."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.activity import activity
from regard.data.captioned import CaptionCorpus
from regard.data.captions import read_captions
from regard.data.regions import WordRegion
from regard.metrics.perplexity import perplexity
from regard.metrics.systems import bootstrap_record, score_systems
from regard.search.options import SearchOptions
from regard.tasks.caption.captioner import Captioner, ReadPicture
from regard.tasks.caption.looking import Pointing, pointing
from regard.training.objective import Evaluation

BEAM, ALPHA = 5, 1.0
SCORES = ("cider", "bleu", "chrf", "exact_match")


@dataclass(frozen=True)
class CaptionTest:
    """A test set of captioned pictures, with the options of the evaluation."""

    pictures: Sequence[ReadPicture]
    references: Sequence[tuple[str, ...]]
    """The captions of each picture."""
    regions: Sequence[tuple[WordRegion, ...]] | None = None
    """The gold region of each word of each picture's first caption, empty where they are not known; None: of none."""
    name: str | None = None
    """The set of the run that it is: test or validation."""
    beam: int = BEAM
    alpha: float = ALPHA
    tokenize: str = "13a"
    lowercase: bool = False
    resamples: int = 0
    """The number of resampled test sets for confidence intervals."""

    @classmethod
    def of(cls, corpus: CaptionCorpus, name: str | None = None) -> "CaptionTest":
        """The pictures of a prepared corpus."""
        images, described = corpus.images, corpus.described
        regions = [row.regions[0] for row in described]
        return cls(
            [ReadPicture(*pair) for pair in zip(images.names, images.pixels, strict=True)],
            [row.captions for row in described],
            regions if any(regions) else None,
            name,
        )


def reference_lists(references: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """The first caption of each picture, the second, ..; empty where a picture has fewer."""
    most = max(map(len, references))
    return [[own[rank] if rank < len(own) else "" for own in references] for rank in range(most)]


def evaluate_captioner(captioner: Captioner, test: CaptionTest) -> Evaluation:
    """Describe, score and, with gold regions, point at the pictures of the test set."""
    began = time.perf_counter()
    with activity(f"beam {test.beam}"):
        captions = captioner.search(test.pictures, SearchOptions(beam=test.beam, alpha=test.alpha))
    decoding_seconds = time.perf_counter() - began
    firsts = [own[0] for own in test.references]
    forced = captioner.score(test.pictures, firsts)
    lists = reference_lists(test.references)
    [scores] = score_systems(
        [[caption.text for caption in captions]],
        lists,
        SCORES,
        tokenize=test.tokenize,
        lowercase=test.lowercase,
        resamples=test.resamples,
    )
    metrics: dict[str, Any] = {name: score.value for name, score in scores.items()}
    nll, tokens = -sum(score.logprob for score in forced), sum(len(score.token_logprobs) for score in forced)
    metrics["perplexity"] = perplexity(nll, tokens)
    metrics["signatures"] = {name: score.signature for name, score in scores.items() if score.signature is not None}
    if test.resamples:
        metrics["scores"] = {name: score.record() for name, score in scores.items()}
        metrics["bootstrap"] = bootstrap_record(test.resamples)
    found = judge_attention(captioner, test)
    metrics |= {
        "pointing": None if found is None else found.share,
        **({} if found is None else {"pointing_chance": found.chance, "pointing_words": found.words}),
        "set": test.name,
        "captions": len(test.pictures),
        "references": len(lists),
        "beam": test.beam,
        "alpha": test.alpha,
        "decoding_seconds": decoding_seconds,
        "engine": "torch",
    }
    rows = [
        {"picture": picture.name, "reference": own[0], "hypothesis": caption.text, "score": caption.score}
        | ({"references": list(own)} if len(own) > 1 else {})
        for picture, own, caption in zip(test.pictures, test.references, captions, strict=True)
    ]
    return Evaluation(metrics, rows)


def judge_attention(captioner: Captioner, test: CaptionTest) -> Pointing | None:
    """How often colour and shape words look at what they name; None without gold regions."""
    if test.regions is None:
        return None
    maps = captioner.look(test.pictures, [own[0] for own in test.references])
    return pointing(maps, test.regions)


def test_from_flags(captioner: Captioner, flags: Mapping[str, Any]) -> CaptionTest:
    """The test set of `regard evaluate DIR --captions F [--images DIR]`."""
    file = read_captions(flags["captions"], flags["images"])
    with activity("reading pictures", len(file.pictures), "pictures") as progress:
        pictures = []
        for picture in file.pictures:
            pictures.append(captioner.read_one(picture.path))
            progress.advance()
    return CaptionTest(
        pictures,
        [picture.captions for picture in file.pictures],
        beam=flags["beam"],
        alpha=flags["alpha"],
        tokenize=flags["tokenize"],
        lowercase=flags["lowercase"],
        resamples=flags["resamples"],
    )
