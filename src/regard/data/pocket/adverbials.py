"""The fixed phrases of the pocket corpus that say when, how often and how: word for word, with their links.

The notation is that of `tokens.fixed`: words with a digit in common are linked. French articles that English
does without have no digit. Which tense an adverbial may stand with is told by the name of its table.
"""

from regard.data.pocket.lexicon import HOURS
from regard.data.pocket.tokens import FixedPhrase, fixed

_DAYS = (
    ("lundi", "Monday"),
    ("mardi", "Tuesday"),
    ("mercredi", "Wednesday"),
    ("jeudi", "Thursday"),
    ("vendredi", "Friday"),
    ("samedi", "Saturday"),
    ("dimanche", "Sunday"),
)
_MONTHS = (
    ("janvier", "January"),
    ("mars", "March"),
    ("juillet", "July"),
    ("septembre", "September"),
)
_CLOCK = (
    fixed("à/1 midi/2", "at/1 noon/2"),
    fixed("à/1 minuit/2", "at/1 midnight/2"),
    fixed("à/1 une/2 heure/3", "at/1 one/2 o'clock/3"),
    *(fixed(f"à/1 {french}/2 heures/3", f"at/1 {english}/2 o'clock/3") for french, english in HOURS),
)
_MONTH = tuple(fixed(f"en/1 {french}/2", f"in/1 {english}/2") for french, english in _MONTHS)
_SEASON = (
    fixed("en/1 été/2", "in/1 summer/2"),
    fixed("en/1 hiver/2", "in/1 winter/2"),
    fixed("en/1 automne/2", "in/1 autumn/2"),
    fixed("au/1 printemps/2", "in/1 spring/2"),
)
_HABIT = (
    fixed("le/1 matin/2", "in/1 the/1 morning/2"),
    fixed("le/1 soir/2", "in/1 the/1 evening/2"),
    fixed("la/1 nuit/2", "at/1 night/2"),
    fixed("chaque/1 jour/2", "every/1 day/2"),
    fixed("chaque/1 semaine/2", "every/1 week/2"),
    fixed("tous/1 les/1 jours/2", "every/1 day/2"),
    *(fixed(f"le/1 {french}/2", f"on/1 {english}s/2") for french, english in _DAYS),
)
_YESTERDAY = (
    fixed("hier/1", "yesterday/1"),
    fixed("hier/1", "yesterday/1"),
    fixed("hier/1", "yesterday/1"),
    fixed("hier/1 soir/2", "last/1 night/2"),
    fixed("ce/1 matin/2", "this/1 morning/2"),
    fixed("la semaine/1 dernière/2", "last/2 week/1"),
    fixed("le mois/1 dernier/2", "last/2 month/1"),
    fixed("l'année/1 dernière/2", "last/2 year/1"),
    *(fixed(f"{french}/1 dernier/2", f"last/2 {english}/1") for french, english in _DAYS),
)
_TOMORROW = (
    fixed("demain/1", "tomorrow/1"),
    fixed("demain/1", "tomorrow/1"),
    fixed("demain/1", "tomorrow/1"),
    fixed("demain/1 matin/2", "tomorrow/1 morning/2"),
    fixed("demain/1 soir/2", "tomorrow/1 night/2"),
    fixed("ce/1 soir/2", "tonight/12"),
    fixed("la semaine/1 prochaine/2", "next/2 week/1"),
    fixed("le mois/1 prochain/2", "next/2 month/1"),
    fixed("l'année/1 prochaine/2", "next/2 year/1"),
    *(fixed(f"{french}/1 prochain/2", f"next/2 {english}/1") for french, english in _DAYS),
)
TODAY = (fixed("aujourd'hui/1", "today/1"), fixed("maintenant/1", "now/1"))

NOW: tuple[FixedPhrase, ...] = TODAY * 4 + _HABIT * 2 + _CLOCK + _MONTH + _SEASON
PAST: tuple[FixedPhrase, ...] = _YESTERDAY * 3 + _CLOCK + _MONTH + _SEASON
FUTURE: tuple[FixedPhrase, ...] = _TOMORROW * 3 + _CLOCK + _MONTH + _SEASON
# How an intransitive action is done: after the verb in both languages.
MANNER = (
    fixed("vite/1", "quickly/1"),
    fixed("lentement/1", "slowly/1"),
    fixed("tôt/1", "early/1"),
    fixed("tard/1", "late/1"),
    fixed("ici/1", "here/1"),
    fixed("là-bas/1", "over/1 there/1"),
)
MANNER_OF_OTHERS = (*MANNER, fixed("sans/1 moi/2", "without/1 me/2"), fixed("avec/1 nous/2", "with/1 us/2"))
# After the finite verb in French, before the main verb in English: "il mange souvent", "he often eats".
FREQUENCY = (
    ("souvent", "often"),
    ("toujours", "always"),
    ("parfois", "sometimes"),
    ("rarement", "rarely"),
    ("déjà", "already"),
)
# After the finite verb in French, at the end in English: "il a bien dormi", "he slept well".
DEGREE = (("bien", "well"), ("mal", "badly"), ("beaucoup", "a lot"), ("trop", "too much"))
# Before an adjective in both languages.
INTENSITY = (("très", "very"), ("trop", "too"), ("assez", "quite"), ("un peu", "a little"))
