"""Check `out_of_domain`: what a translator does with text that it was not made for, and whether its confidence tells.

Kinds: sentences in languages that the model is not known to read, random letters, and the user's text of another domain (`--other`).
Confidence is log p a token of the model's own output. told apart = the probability that a sentence of the test set has more confidence
than one of the kind (AUC).
"""

from collections.abc import Sequence

from regard.explain.failures.findings import EXAMPLES, Example, Finding, Number, Status, Table
from regard.explain.failures.repetition import loop_of
from regard.explain.failures.statistics import ranked_apart
from regard.explain.failures.subject import TranslatorSubject
from regard.explain.failures.words import words

NAME, TITLE = "out_of_domain", "Out of domain, wrong language"
LOOK, FAULT = 0.9, 0.7  # told apart less often than this
NONSENSE = 20  # lines of random letters
COPIED = 0.5  # the share of words from which an output counts as a copy

FOREIGN: dict[str, tuple[str, ...]] = {
    "en": (
        "The committee will publish its annual report next month.",
        "Heavy rain has closed several roads in the north of the country.",
        "Could you please send me the invoice again?",
        "She has been playing the violin since she was a child.",
        "The patient should take this medicine twice a day.",
    ),
    "fr": (
        "Le comité publiera son rapport annuel le mois prochain.",
        "De fortes pluies ont fermé plusieurs routes dans le nord du pays.",
        "Pourriez-vous m'envoyer la facture encore une fois ?",
        "Elle joue du violon depuis son enfance.",
        "Le patient doit prendre ce médicament deux fois par jour.",
    ),
    "de": (
        "Der Ausschuss wird seinen Jahresbericht im nächsten Monat veröffentlichen.",
        "Starker Regen hat im Norden des Landes mehrere Straßen gesperrt.",
        "Könnten Sie mir die Rechnung bitte noch einmal schicken?",
        "Sie spielt Geige, seit sie ein Kind war.",
        "Der Patient soll dieses Medikament zweimal täglich einnehmen.",
    ),
    "es": (
        "El comité publicará su informe anual el próximo mes.",
        "Las fuertes lluvias han cerrado varias carreteras en el norte del país.",
        "¿Podría enviarme la factura otra vez, por favor?",
        "Ella toca el violín desde que era niña.",
        "El paciente debe tomar este medicamento dos veces al día.",
    ),
    "it": (
        "Il comitato pubblicherà la sua relazione annuale il mese prossimo.",
        "Le forti piogge hanno chiuso diverse strade nel nord del paese.",
        "Potrebbe inviarmi di nuovo la fattura, per favore?",
        "Suona il violino da quando era bambina.",
        "Il paziente deve prendere questa medicina due volte al giorno.",
    ),
}
"""Language -> the same sentences in it."""


def out_of_domain(subject: TranslatorSubject) -> Finding:
    """Confidence and behaviour on text of each kind."""
    kinds: dict[str, list[str]] = {}
    foreign = [text for language, own in FOREIGN.items() if language not in subject.sources for text in own]
    if subject.sources and foreign:
        kinds["wrong language"] = foreign
    kinds["random letters"] = _nonsense(subject)
    if subject.texts.other:
        kinds["other domain"] = list(subject.texts.other)
    usual = subject.confidence(subject.texts.sources)
    rows: list[tuple[str | float | int | None, ...]] = [_row("test set", subject.texts.sources, subject, usual, None)]
    numbers: list[Number] = []
    examples: list[Example] = []
    for kind, texts in kinds.items():
        own = subject.confidence(texts)
        apart = ranked_apart(usual, own)
        key = kind.replace(" ", "_")
        numbers.append(Number(f"told_apart_{key}", f"{kind}: told apart by confidence", apart, "", count=len(texts)))
        rows.append(_row(kind, texts, subject, own, apart))
        surest = sorted(zip(own, texts, subject.outputs(texts), strict=True), reverse=True)
        examples += [
            Example(text, output, note=f"{kind}, confidence {value:.2f}") for value, text, output in surest[:2]
        ]
    least = min(numbers, key=lambda number: 1.0 if number.value is None else number.value)
    apart = 1.0 if least.value is None else least.value
    status: Status = "sound" if apart >= LOOK else "look" if apart >= FAULT else "fault"
    kind = least.name.removeprefix("told_apart_").replace("_", " ")
    verdict = f"its confidence tells {kind} from the test set in {100 * apart:.0f} % of the pairs"
    if status == "fault":
        verdict += ": it is as sure of what it cannot know"
    if "wrong language" not in kinds:
        why = "it reads all that are built in" if subject.sources else "the language that it reads is not known"
        verdict += f"; no other languages were tried: {why}"
    columns = ("input", "sentences", "confidence", "told apart", "copies %", "empty %", "loops %")
    numbers.sort(key=lambda number: number is not least)
    return Finding(
        NAME,
        TITLE,
        status,
        verdict,
        tuple(numbers),
        (Table(columns, tuple(rows), "What it does"),),
        tuple(examples[:EXAMPLES]),
    )


def _row(
    kind: str, texts: Sequence[str], subject: TranslatorSubject, confidence: Sequence[float], apart: float | None
) -> tuple[str | float | int | None, ...]:
    outputs = subject.outputs(texts)
    size = max(1, len(texts))
    copies = sum(_is_copy(source, output) for source, output in zip(texts, outputs, strict=True))
    empty = sum(not output.strip() for output in outputs)
    loops = sum(loop_of(output) is not None for output in outputs)
    return kind, len(texts), sum(confidence) / size, apart, *(100.0 * count / size for count in (copies, empty, loops))


def _is_copy(source: str, output: str) -> bool:
    """Whether at least half of the source's words stand in the output."""
    own, present = words(source), set(words(output))
    return bool(own) and sum(word in present for word in own) >= COPIED * len(own)


def _nonsense(subject: TranslatorSubject) -> list[str]:
    """Lines of words made of random letters, of the usual number and length."""
    random = subject.random(NAME)
    letters = sorted({letter for text in subject.texts.sources for word in words(text) for letter in word})
    letters = letters or list("abcdefghijklmnopqrstuvwxyz")
    lines = []
    for _ in range(NONSENSE):
        sizes = [random.randint(3, 8) for _ in range(random.randint(4, 9))]
        lines.append(" ".join("".join(random.choice(letters) for _ in range(size)) for size in sizes))
    return lines
