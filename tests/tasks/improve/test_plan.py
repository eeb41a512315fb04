"""The plan as data: which stages there are, what they read, how long they take, and which are done."""

from pathlib import Path

import pytest

from regard.errors import ConfigError
from regard.tasks.improve.arguments import ImproveArguments, changed_arguments, stored_arguments
from regard.tasks.improve.plan import (
    RESULT,
    SUMMARY,
    Facts,
    JudgeStage,
    TextStage,
    TrainStage,
    TranslateStage,
    plan,
    state_of,
)

FACTS = Facts(steps=100, minutes=10.0, seed=7, pairs=600, seconds_per_sentence=0.1)


def places(facts: Facts = FACTS, **arguments: object) -> list[str]:
    return [stage.place for stage in plan(ImproveArguments.parse(arguments), facts)]


def test_its_own_two_directions() -> None:
    text, reverse, back, forward, improved, judged = plan(ImproveArguments(), FACTS)
    assert isinstance(text, TextStage)
    assert reverse == TrainStage("reverse", "back", seed=7, steps=100, minutes=10.0)
    assert back == TranslateStage("round-1/back", "back", ("reverse",), True, False, 600, 1.0, seed=7)
    earlier = ("round-1/back",)
    assert forward == TranslateStage(
        "round-1/forward", "forward", ("",), True, False, 600, 1.0, seed=7, earlier=earlier
    )
    added = ("round-1/back", "round-1/forward")
    assert improved == TrainStage("round-1/improved", "forward", seed=7, steps=200, minutes=20.0, added=added)
    assert judged == JudgeStage(("round-1/improved",))


def test_only_what_the_text_needs() -> None:
    target = Facts(steps=100, minutes=10.0, seed=7, pairs=600, mono_tgt=50)
    source = Facts(steps=100, minutes=10.0, seed=7, pairs=600, mono_src=50)
    end = ["round-1/improved", "judged"]
    assert places(target, mono_tgt="a") == ["text", "reverse", "round-1/back", *end]
    assert places(target, mono_tgt="a", reverse="x") == ["text", "round-1/back", *end]
    assert places(source, mono_src="a") == ["text", "round-1/forward", *end]  # nothing back, so no model back
    [back, forward] = plan(ImproveArguments(mono_tgt="a", own_text=True), target)[2:4]
    assert isinstance(back, TranslateStage)
    assert isinstance(forward, TranslateStage)
    assert (back.sentences, back.mono, forward.sentences, forward.mono) == (650, True, 600, False)


def test_seeds_ensembles_and_rounds() -> None:
    assert places(seeds=2)[1:7] == [
        "reverse",
        "reverse-2",
        "forward-2",
        "round-1/back",
        "round-1/back-2",
        "round-1/forward",
    ]
    stages = {stage.place: stage for stage in plan(ImproveArguments(ensemble=2, rounds=2), FACTS)}
    assert [*stages][1:4] == ["reverse", "forward-2", "forward-3"]
    seeds = [stage.seed for stage in stages.values() if isinstance(stage, TrainStage)][:3]
    assert seeds == [7, 8, 9]
    forward = stages["round-1/forward"]
    assert isinstance(forward, TranslateStage)
    assert forward.models == ("", "forward-2", "forward-3")
    assert "round-1/forward-2" not in stages
    later = [stages[place] for place in ("round-2/back", "round-2/forward", "round-2/improved")]
    assert [stage.models for stage in later[:2] if isinstance(stage, TranslateStage)] == [
        ("round-1/reverse",),
        ("round-1/improved",),
    ]
    assert isinstance(later[2], TrainStage)
    assert later[2].added == ("round-2/back", "round-2/forward")
    assert stages["judged"] == JudgeStage(("round-1/improved", "round-2/improved"))


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_nothing_is_read_before_it_is_made(rounds: int) -> None:
    for seeds, ensemble in ((1, 0), (3, 0), (1, 2)):
        arguments = ImproveArguments(rounds=rounds, seeds=seeds, ensemble=ensemble)
        made: set[str] = {""}
        for stage in plan(arguments, FACTS):
            read = {TextStage: (), TrainStage: getattr(stage, "added", ())}.get(
                type(stage), getattr(stage, "models", ())
            )
            assert {*read, *getattr(stage, "earlier", ())} <= made, stage
            assert stage.place not in made
            made.add(stage.place)


def test_more_rounds_only_add_stages() -> None:
    one, two = plan(ImproveArguments(), FACTS), plan(ImproveArguments(rounds=2), FACTS)
    assert two[: len(one) - 1] == one[:-1]


def test_a_budget_of_minutes_is_shared_by_steps() -> None:
    stages = plan(ImproveArguments(minutes=32.0, factor=4.0), FACTS)
    shares = {stage.place: stage.minutes for stage in stages if isinstance(stage, TrainStage)}
    assert shares == {"reverse": 6.0, "round-1/improved": 24.0}  # two of the 32 minutes are for translating
    assert sum(stage.minutes for stage in stages) == pytest.approx(32.0)
    assert all(stage.limited for stage in stages if isinstance(stage, TrainStage))
    short = plan(ImproveArguments(minutes=2.0), FACTS)  # translating alone would take all of it
    assert sum(stage.minutes for stage in short if isinstance(stage, TrainStage)) == pytest.approx(1.0)


def test_steps_that_are_set() -> None:
    arguments = ImproveArguments(sets=("train.max_steps=30",), sets_improved=("train.max_steps = 70",))
    steps = {stage.place: stage.steps for stage in plan(arguments, FACTS) if isinstance(stage, TrainStage)}
    assert steps == {"reverse": 30, "round-1/improved": 70}
    more = plan(ImproveArguments(sets=("train.max_steps=30",)), FACTS)
    assert [stage.steps for stage in more if isinstance(stage, TrainStage)] == [30, 30]


def test_what_is_done_is_told_by_files(tmp_path: Path) -> None:
    text, reverse, back, *_, judged = plan(ImproveArguments(), FACTS)
    assert {state_of(stage, tmp_path) for stage in (text, reverse, back, judged)} == {"left"}
    for stage, begun, end in (
        (reverse, ("config.json", "latest"), "metrics.json"),
        (back, ("translations.jsonl.partial",), SUMMARY),
    ):
        home = tmp_path / stage.place
        home.mkdir(parents=True)
        for name in begun:
            (home / name).write_text("{}", encoding="utf-8")
        assert state_of(stage, tmp_path) == "begun"
        (home / end).write_text("{}", encoding="utf-8")
        assert state_of(stage, tmp_path) == "done"
    (tmp_path / RESULT).write_text("{}", encoding="utf-8")
    assert state_of(judged, tmp_path) == "done"


def test_changed_arguments_are_named() -> None:
    def stored(digests: dict[str, str], **arguments: object) -> dict[str, object]:
        return stored_arguments(ImproveArguments.parse(arguments), digests)

    digests = {"mono_tgt": "a" * 64}
    before = stored(digests, mono_tgt="one.txt")
    assert changed_arguments(before, stored(digests, mono_tgt="moved/one.txt", device="cuda", rounds=3)) == []
    assert changed_arguments(before, stored({"mono_tgt": "b" * 64}, mono_tgt="one.txt", beam=4)) == [
        "--beam 5 -> 4",
        "--mono-tgt aaaaaaaaaaaa.. -> bbbbbbbbbbbb..",
    ]
    assert changed_arguments(stored({}, minutes=5.0), stored({}, minutes=5.0, rounds=2)) == ["--rounds 1 -> 2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mono_src": "a", "sample": True}, "translations back are drawn, and there are none"),
        ({"mono_tgt": "a", "ensemble": 2}, "it translates forward, and nothing is"),
        ({"ensemble": 2, "seeds": 3}, "ensemble = 2 and seeds = 3 exclude each other"),
        ({"mono_src": "a", "reverse": "b"}, "nothing is translated back"),
        ({"temperature": 0.5}, "add --sample"),
        ({"without": ["copies"]}, "'copies' is no filter"),
        ({"rounds": 0}, "rounds = 0"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ImproveArguments.parse(arguments)
