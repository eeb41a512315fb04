"""The commands of the pocket corpus: "ferme la porte", "donne-le-moi", "ne pars pas", "allons à la plage".

An order puts the pronouns behind the verb, joined to it by hyphens; a prohibition puts them back before it. "allons" is
"let us go". Which verbs there are and what they take is known to `predicates`.
"""

from regard.data.pocket import verbs as v
from regard.data.pocket.clauses import Predicate
from regard.data.pocket.nominals import Nominal
from regard.data.pocket.predicates import SIMPLE, Sides
from regard.data.pocket.tokens import Draft, Token, marked

ADDRESSEES = (1, 1, 1, 4, 4, 4, 3)  # tu, vous, nous
STRESSED = {"me": "moi", "te": "toi"}
END: Token = ("!", 0)  # perhaps written as a full stop
NOT_AT_WILL = (v.PERDRE, v.OUBLIER)


def imperative(verb: v.Verb, person: int) -> str:
    """The form of tu, vous or nous; the -s of tu is dropped after e and a: "mange", "va"."""
    form = verb.present[person]
    return form[:-1] if person == 1 and form.endswith(("es", "as")) else form


def _predicate(draft: Draft, addressee: Nominal, negative: bool) -> Predicate:
    while True:
        predicate = draft.choose(SIMPLE)(draft, addressee, "near", negative)
        if not predicate.verb.stative and predicate.verb not in NOT_AT_WILL:
            return predicate


def command(draft: Draft) -> Sides:
    person = draft.choose(ADDRESSEES)
    addressee = Nominal([], [], person, person, False, "person")
    negative = draft.chance(0.25)
    predicate = _predicate(draft, addressee, negative)
    form, mark = imperative(predicate.verb, person), predicate.mark
    invitation = marked(("let", "us"), mark) if person == 3 else []
    english = [*marked(predicate.verb.base, mark), *predicate.english]
    if negative:
        no = draft.mark()
        refusal: list[Token] = [("not", no)] if invitation else [("do", no), ("not", no)]
        french = [("ne", no), *predicate.clitics, (form, mark), ("pas", no), *predicate.french]
        return [*french, END], [*invitation, *refusal, *english, END]
    # "me le donner" turns into "donne-le-moi": what is given comes first.
    clitics = sorted(predicate.clitics, key=lambda token: token[0] not in ("le", "la", "les"))
    for clitic, own in clitics:
        form, mark = f"{form}-{STRESSED.get(clitic, clitic)}", mark | own
    return [(form, mark), *predicate.french, END], [*invitation, *english, END]
