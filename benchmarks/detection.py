"""How often the language detector is right, and what its confidence is worth.

    python benchmarks/detection.py DATA --fit      # what BETA was chosen by: training text
    python benchmarks/detection.py DATA            # the table of docs/benchmarks.md: on test text

DATA has `multi30k/raw/{train,test2016}.{en,de,fr}` and `tatoeba-en-fr/{train,test}.{en,fr}.gz`. `--others DIR` adds the translated messages
of Django (`django/conf/locale` of its wheel), as text of languages that are not expected. Expected calibration error: 15 bins of
confidence, the mean distance between confidence and share of right answers, weighted by size.
"""

import argparse
import gettext
import gzip
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import regard.data.detection as detection
from regard.data.detection import Detector, LinguaDetector, OwnPieces, TrigramDetector
from regard.extras import is_installed
from regard.text.build import learn
from regard.text.config import OneTextConfig

LANGUAGES = ("en", "de", "fr")
FITTED = 2_000  # training sentences of a corpus and language
BINS = 15
LENGTHS = (0, 5, 3, 2, 1)  # words of a fragment; 0: whole sentences
Labelled = list[tuple[str, str]]


def lines(path: Path) -> list[str]:
    text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
    return [line for line in text.split("\n") if line.strip()]


def corpus(data: Path, test: bool) -> dict[str, Labelled]:
    """Corpus -> (language, sentence)."""
    part, other = ("test2016", "test") if test else ("train", "train")
    texts: dict[str, Labelled] = {"Multi30k": [], "Tatoeba": []}
    for language in LANGUAGES:
        own = lines(data / f"multi30k/raw/{part}.{language}")
        texts["Multi30k"] += [(language, line) for line in (own if test else own[:FITTED])]
    for language in ("en", "fr"):
        own = lines(data / f"tatoeba-en-fr/{other}.{language}.gz")
        texts["Tatoeba"] += [(language, line) for line in (own if test else own[:: len(own) // FITTED])]
    return texts


def fragments(texts: Labelled, words: int) -> Labelled:
    """So many words from a random place of each text."""
    if not words:
        return texts
    draw = random.Random(1)
    pieces = []
    for language, text in texts:
        split = text.split()
        first = draw.randrange(max(1, len(split) - words + 1))
        pieces.append((language, " ".join(split[first : first + words])))
    return pieces


def vocabularies(data: Path) -> list[OwnPieces]:
    """The vocabularies of models of training text that the detector is neither fitted nor judged on."""
    config = OneTextConfig.parse({"kind": "bpe", "vocabulary": 4000})
    texts = {
        "en": lines(data / "tatoeba-en-fr/train.en.gz")[1::9],
        "fr": lines(data / "tatoeba-en-fr/train.fr.gz")[1::9],
        "de": lines(data / "multi30k/raw/train.de")[FITTED:],
    }
    return [OwnPieces.of(learn(config, own).vocabulary, [language]) for language, own in texts.items()]


def judged(detector: Detector, texts: Labelled) -> tuple[NDArray[np.bool_], NDArray[np.float64], float]:
    """Whether each answer is right, its confidence, and the mean log-loss."""
    answers = detector.detect([text for _, text in texts])
    best = [own[0] if own else ("", 0.0) for own in answers]
    right = np.array([name == language for (name, _), (language, _) in zip(best, texts, strict=True)])
    given = [max(dict(own).get(language, 0.0), 1e-4) for own, (language, _) in zip(answers, texts, strict=True)]
    return right, np.array([confidence for _, confidence in best]), float(-np.log(given).mean())


def calibration_error(right: NDArray[np.bool_], confidence: NDArray[np.float64]) -> float:
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return float(
        sum((bins == b).mean() * abs(confidence[bins == b].mean() - right[bins == b].mean()) for b in np.unique(bins))
    )


def table(detectors: dict[str, Detector], texts: dict[str, Labelled]) -> None:
    print(
        "| detector | corpus | words | right | confidence | calibration error |\n| --- | --- | --- | --- | --- | --- |"
    )
    for name, detector in detectors.items():
        for corpus_name, own in texts.items():
            for words in LENGTHS:
                right, confidence, _ = judged(detector, fragments(own, words))
                error = calibration_error(right, confidence)
                print(
                    f"| {name} | {corpus_name} | {words or 'all'} | {100 * right.mean():.1f} % | {100 * confidence.mean():.1f} % "
                    f"| {error:.3f} |",
                    flush=True,
                )


def fit(name: str, make: Callable[[], Detector], texts: dict[str, Labelled], values: Sequence[float]) -> None:
    """The log-loss on training text, whole and in fragments, by the power of the probabilities."""
    together = [one for own in texts.values() for words in LENGTHS for one in fragments(own, words)]
    for value in values:
        setattr(detection, name, value)
        right, confidence, loss = judged(make(), together)
        error = calibration_error(right, confidence)
        print(f"{name} = {value}: log-loss {loss:.4f}, right {100 * right.mean():.2f} %, calibration error {error:.4f}")


def others(folder: Path, detector: Detector, limit: int = 150) -> None:
    """The answers for sentences in languages that are not expected, such as Dutch where English, German and French are served."""
    for language in ("nl", "sv", "es", "it", "pt", "pl", "ru", "fi"):
        catalogue = gettext.GNUTranslations((folder / language / "LC_MESSAGES/django.mo").open("rb"))
        messages = [text for text in catalogue._catalog.values() if len(text.split()) > 4][:limit]
        texts = [(language, text) for text in messages]
        right, confidence, _ = judged(detector, texts)
        error = calibration_error(right, confidence)
        print(f"{language}: {len(texts)} messages, {100 * right.mean():.1f} % right, calibration error {error:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--others", type=Path)
    given = parser.parse_args()
    own = vocabularies(given.data)
    if given.fit:
        texts = corpus(given.data, test=False)
        values = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
        print("all languages, statistics of the package")
        fit("BETA", TrigramDetector, texts, values)
        print("English, German and French expected, with vocabularies")
        fit("BETA", lambda: TrigramDetector(LANGUAGES, own), texts, values)
        if is_installed("lingua"):
            few = {name: some[:: len(some) // 300] for name, some in texts.items()}
            fit("LINGUA_BETA", lambda: LinguaDetector.of(()) or TrigramDetector(), few, (1.0, 2.0, 3.0, 4.0, 6.0, 8.0))
        return
    detectors: dict[str, Detector] = {
        "55 languages": TrigramDetector(),
        "3 of them expected": TrigramDetector(LANGUAGES),
        "3 expected, their models' vocabularies": TrigramDetector(LANGUAGES, own),
    }
    if is_installed("lingua") and (lingua := LinguaDetector.of(LANGUAGES)) is not None:
        detectors["lingua, 3 expected"] = lingua
    table(detectors, corpus(given.data, test=True))
    if given.others is not None:
        others(given.others, detectors["3 expected, their models' vocabularies"])


if __name__ == "__main__":
    main()
