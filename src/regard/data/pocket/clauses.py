"""The clauses of the pocket corpus: a subject and a predicate become a statement or a question in both languages.

Here the languages part ways: French wraps the verb in "ne ... pas" and puts pronouns before it, English brings in "do"
for questions and negation and puts adverbs before the main verb. The tenses, one English for each French: the present
is the simple present, the passé composé the simple past, the imparfait "was eating" (or, of a state, "knew"), the future
"will eat", aller with an infinitive "is going to eat". The links:
- an English auxiliary (do, will, was, is going to) is linked to the French word that carries the tense;
- a passé composé gives both its words to the English past ("a vu", "saw"), or one to "did" and one to the verb;
- both halves of a negation are linked to "not", "never" or "no longer";
- "est-ce que" is linked to the English auxiliary that moves before the subject;
- punctuation is linked as told in `writing`.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from regard.data.pocket.nominals import Nominal
from regard.data.pocket.tokens import Draft, Token, marked
from regard.data.pocket.verbs import ALLER, AVOIR, BE_PAST, BE_PRESENT, DEVOIR, ETRE, POUVOIR, Verb

Tense = Literal["present", "past", "imperfect", "future", "near", "can", "must"]
PERIPHRASES = {"near": ALLER, "can": POUVOIR, "must": DEVOIR}


class Predicate(NamedTuple):
    """A verb with everything that stands with it but the tense and the negation."""

    verb: Verb
    mark: int
    clitics: Sequence[Token] = ()  # French pronouns before the verb
    middle: Sequence[Token] = ()  # French adverbs between auxiliary and participle
    french: Sequence[Token] = ()  # what follows the verb
    english: Sequence[Token] = ()
    agreement: int = 0  # of a participle with "avoir", with the object before it


class Negation(NamedTuple):
    """ "ne" and what goes with it; alone it is what "personne" and "que" ask for."""

    mark: int
    french: Sequence[Token] = ()  # the second half, after the finite verb
    refusal: Sequence[Token] = ()  # English "not", which asks for an auxiliary
    adverb: Sequence[Token] = ()  # English "never", which does not


class Clause(NamedTuple):
    """The parts of a clause, still to be put in order."""

    subject: Nominal
    before: list[Token]  # French before the finite verb
    finite: Token
    after: list[Token]  # French after it
    helper: Token  # the English auxiliary
    helped: bool  # whether a statement has it too
    bare: list[Token]  # English after the auxiliary
    plain: list[Token]  # English of a statement without it


NEGATIONS = (
    *(("pas", "not"),) * 6,
    *(("jamais", "never"),) * 2,
    ("plus", "no longer"),
)


def negation(draft: Draft, tense: Tense) -> Negation:
    french, english = draft.choose(NEGATIONS)
    if tense in ("past", "near", "must") and french == "plus":
        french, english = "pas", "not"
    return negation_of(draft, french, english)


def negation_of(draft: Draft, french: str, english: str) -> Negation:
    mark = draft.mark()
    words = marked(english.split(), mark)
    return Negation(mark, [(french, mark)], words if english == "not" else (), () if english == "not" else words)


def _english_verb(
    predicate: Predicate, person: int, tense: Tense, auxiliary: int
) -> tuple[Token, bool, list[Token], list[Token]]:
    """The auxiliary, whether a statement needs it, the words after it, and the inflected verb without it."""
    verb, mark = predicate.verb, predicate.mark
    be = verb.base[0] == "be"
    base = marked(verb.base, mark)
    if tense == "present":
        if be:
            return (BE_PRESENT[person], mark), True, [], []
        third = person == 2
        return ("does" if third else "do", mark), False, base, marked(verb.third if third else verb.base, mark)
    if tense == "past":
        return ("did", auxiliary), False, base, marked(verb.past, mark | auxiliary)
    if tense == "imperfect":
        if be:
            return (BE_PAST[person], mark), True, [], []
        if verb.stative:
            return ("did", mark), False, base, marked(verb.past, mark)
        return (BE_PAST[person], mark), True, marked(verb.gerund, mark), []
    if tense == "future":
        return ("will", mark), True, base, []
    if tense == "near":
        return (BE_PRESENT[person], auxiliary), True, [("going", auxiliary), ("to", auxiliary), *base], []
    return (tense, auxiliary), True, base, []


def clause(
    draft: Draft,
    subject: Nominal,
    predicate: Predicate,
    tense: Tense,
    refused: Negation | None = None,
    adverb: tuple[str, str] | None = None,
    *,
    english_tense: Tense | None = None,
) -> Clause:
    """Conjugate. `adverb` is one of frequency; `english_tense` differs after "quand", where only French has a future.

    A verb without a passé composé of the same meaning takes the imparfait.
    """
    verb, mark, person = predicate.verb, predicate.mark, subject.person
    if tense == "past" and not verb.perfect:
        tense = "imperfect"
    auxiliary = draft.mark()
    before = list(predicate.clitics)
    after: list[Token] = []
    if tense == "past":
        finite = ((ETRE if verb.with_etre else AVOIR).present[person], auxiliary)
        agreement = subject.agreement if verb.with_etre else predicate.agreement
        after = [*predicate.middle, (verb.participle[agreement], mark)]
    elif tense in PERIPHRASES:
        finite = (PERIPHRASES[tense].present[person], auxiliary)
        after = [*before, (verb.infinitive, mark)]
        before = []
    else:
        forms = verb.present if tense == "present" else verb.future if tense == "future" else verb.imperfect
        finite = (forms[person], mark)
        after = list(predicate.middle)
    helper, helped, bare, plain = _english_verb(predicate, subject.english_person, english_tense or tense, auxiliary)
    adverbs: list[Token] = []
    refusal: list[Token] = []
    if adverb is not None:
        often = draft.mark()
        adverbs.append((adverb[1], often))
        after.insert(0, (adverb[0], often))
    if refused is not None:
        before.insert(0, ("ne", refused.mark))
        after = [*refused.french, *after]
        adverbs = [*refused.adverb, *adverbs]
        refusal.extend(refused.refusal)
    return Clause(
        subject,
        before,
        finite,
        [*after, *predicate.french],
        helper,
        helped or bool(refusal),
        [*refusal, *adverbs, *bare, *predicate.english],
        [*adverbs, *plain, *predicate.english],
    )


def statement(parts: Clause) -> tuple[list[Token], list[Token]]:
    french = [*parts.subject.french, *parts.before, parts.finite, *parts.after]
    if parts.helped:
        return french, [*parts.subject.english, parts.helper, *parts.bare]
    return french, [*parts.subject.english, *parts.plain]


def ask(french: list[Token], english: list[Token]) -> tuple[list[Token], list[Token]]:
    """Close a question. How its mark is written and linked is decided in `writing`."""
    return [*french, ("?", 0)], [*english, ("?", 0)]


def est_ce_que(
    draft: Draft, parts: Clause, french: Sequence[Token] = (), english: Sequence[Token] = ()
) -> tuple[list[Token], list[Token]]:
    """A question in the order of a statement, perhaps behind a question word: "où est-ce que tu vas ?"."""
    mark = draft.mark()
    asked = [*french, ("est-ce", mark), ("que", mark), *statement(parts)[0]]
    word, marks = parts.helper
    return ask(asked, [*english, (word, marks | mark), *parts.subject.english, *parts.bare])


def invert(
    parts: Clause, french: Sequence[Token] = (), english: Sequence[Token] = ()
) -> tuple[list[Token], list[Token]]:
    """A question with the pronoun behind the verb: "parle-t-il ?". The subject must be a pronoun other than je."""
    ((pronoun, theirs),) = parts.subject.french
    verb, ours = parts.finite
    hiatus = pronoun[0] in "ieo" and verb[-1] in "ae"
    joined = (f"{verb}-t-{pronoun}" if hiatus else f"{verb}-{pronoun}", ours | theirs)
    asked = [*french, *parts.before, joined, *parts.after]
    return ask(asked, [*english, parts.helper, *parts.subject.english, *parts.bare])
