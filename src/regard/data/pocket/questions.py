"""The questions of the pocket corpus: yes or no, and who, what, which, how many, where, when, why, how.

French asks with "est-ce que" or by inversion of a pronoun, English with an auxiliary; a question about the subject
keeps the order of a statement in both. The grammar of a clause is that of `clauses`.
"""

from regard.data.pocket import verbs as v
from regard.data.pocket.clauses import Clause, Predicate, Tense, ask, clause, est_ce_que, invert, negation_of, statement
from regard.data.pocket.frames import EVERYDAY, MEALS, PERSON_VERBS, THING_VERBS
from regard.data.pocket.lexicon import ANIMALS, PERSONS, READING, Noun
from regard.data.pocket.nominals import ARTICLES_OF_TOPICS, Nominal, noun_phrase, somebody, someone
from regard.data.pocket.predicates import (
    Sides,
    action,
    with_person,
    with_person_pronoun,
    with_thing,
    with_thing_pronoun,
)
from regard.data.pocket.tokens import Draft, Token

TENSES: tuple[Tense, ...] = (
    *("present",) * 6,
    *("past",) * 5,
    *("future",) * 3,
    *("near",) * 2,
    "imperfect",
    "can",
    "must",
)
AGE_TENSES: tuple[Tense, ...] = ("present", "present", "imperfect", "future")
ADVERBS = (("où", "where"), ("quand", "when"), ("pourquoi", "why"), ("comment", "how"))
ROOTED = (v.ALLER, v.ALLER, v.HABITER, v.HUMAN_INTRANSITIVE[0], v.INTRANSITIVE[0])  # aller, habiter, travailler, dormir
OF_THINGS = (with_thing, with_thing_pronoun)
OF_ALL = (with_thing, with_person, with_thing_pronoun, with_person_pronoun)
WHICH = ("quel", "quelle", "quels", "quelles")


def _order(draft: Draft, parts: Clause, french: list[Token], english: list[Token]) -> Sides:
    """Either way of asking; inversion needs a pronoun, and nobody says "mange-je"."""
    if parts.subject.pronoun not in ("", "je") and draft.chance(0.5):
        return invert(parts, french, english)
    return est_ce_que(draft, parts, french, english)


def yes_or_no(draft: Draft) -> Sides:
    subject, tense = somebody(draft), draft.choose(TENSES)
    return _order(draft, clause(draft, subject, action(draft, subject, tense, False), tense), [], [])


def with_adverb(draft: Draft) -> Sides:
    """Where, when, why, how."""
    subject, tense = someone(draft), draft.choose(TENSES)
    french, english = draft.choose(ADVERBS)
    mark = draft.mark()
    refused = None
    if french == "où" and draft.chance(0.5):
        predicate = Predicate(draft.choose(ROOTED), draft.mark())
    elif french == "pourquoi":
        refused = negation_of(draft, "pas", "not") if draft.chance(0.35) else None
        predicate = action(draft, subject, tense, refused is not None)
    else:
        # "comment" with a person asks for a name: "comment t'appelles-tu ?"
        builders = OF_THINGS if french == "comment" else OF_ALL
        predicate = draft.choose(builders)(draft, subject, tense, False)
    return _order(draft, clause(draft, subject, predicate, tense, refused), [(french, mark)], [(english, mark)])


def about_subject(draft: Draft) -> Sides:
    """ "qui a mangé le pain ?", "who ate the bread?": no auxiliary, no inversion."""
    mark = draft.mark()
    subject = Nominal([("qui", mark)], [("who", mark)], 2, 2, False, "person")
    tense = draft.choose(TENSES)
    refused = negation_of(draft, "pas", "not") if draft.chance(0.12) else None
    return ask(*statement(clause(draft, subject, action(draft, subject, tense, refused is not None), tense, refused)))


def about_object(draft: Draft) -> Sides:
    """Questions with what and whom: "qu'est-ce que tu lis ?", "who do you see?"."""
    subject, tense = someone(draft), draft.choose(TENSES)
    mark, own = draft.mark(), draft.mark()
    if draft.chance(0.6):
        verb = draft.choose(THING_VERBS)[0]
        return _order(draft, clause(draft, subject, Predicate(verb, own), tense), [("que", mark)], [("what", mark)])
    verb = draft.choose(PERSON_VERBS)
    predicate = Predicate(verb, own, english=[(word, own) for word in verb.tail])
    return _order(draft, clause(draft, subject, predicate, tense), [("qui", mark)], [("who", mark)])


def about_choice(draft: Draft) -> Sides:
    """Which and how many; the participle agrees with what is asked for: "quelles pommes as-tu mangées ?"."""
    subject, tense = someone(draft), draft.choose(TENSES)
    verb, nouns = draft.choose(THING_VERBS)
    noun = draft.choose(nouns)
    counted = not noun.mass and draft.chance(0.4)
    plural = counted or (not noun.mass and draft.chance(0.3))
    agreement = 2 * plural + noun.feminine
    mark, own = draft.mark(), draft.mark()
    french = [(word, own) for word in (noun.plural if plural else noun.singular)]
    english = [(word, own) for word in (noun.english_plural if plural else noun.english)]
    if counted:
        french = [("combien", mark), ("de", mark), *french]
        english = [("how", mark), ("many", mark), *english]
    else:
        french = [(WHICH[agreement], mark), *french]
        english = [("which", mark), *english]
    parts = clause(draft, subject, Predicate(verb, draft.mark(), agreement=agreement), tense)
    return _order(draft, parts, french, english)


def about_place(draft: Draft) -> Sides:
    """ "où est le chat ?", "where is the cat?": both languages put the noun last."""
    noun: Noun = draft.choose(draft.choose((PERSONS, ANIMALS, EVERYDAY, MEALS, READING)))
    it = noun_phrase(draft, noun, ARTICLES_OF_TOPICS)
    where, be = draft.mark(), draft.mark()
    if draft.chance(0.7):
        forms, verbs = v.ETRE.present, v.BE_PRESENT
    else:
        forms, verbs = v.ETRE.imperfect, v.BE_PAST
    return ask(
        [("où", where), (forms[it.person], be), *it.french],
        [("where", where), (verbs[it.english_person], be), *it.english],
    )


def about_age(draft: Draft) -> Sides:
    """ "quel âge as-tu ?", "how old are you?"."""
    subject, mark = somebody(draft), draft.mark()
    tense = draft.choose(AGE_TENSES)
    parts = clause(draft, subject, Predicate(v.AVOIR_BE, draft.mark()), tense)
    return _order(draft, parts, [("quel", mark), ("âge", mark)], [("how", mark), ("old", mark)])


QUESTIONS = (
    *(yes_or_no,) * 6,
    *(with_adverb,) * 4,
    *(about_subject,) * 2,
    *(about_object,) * 3,
    *(about_choice,) * 2,
    *(about_place,) * 2,
    about_age,
)
