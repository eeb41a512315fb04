"""Protected strings: which there are, and patterns that are wrong or take too long."""

import pytest

from regard.errors import ConfigError, DataError
from regard.text import protected
from regard.text.protected import MOST_PATTERNS, Protection, Span, occurrences


def found(text: str, *patterns: str) -> list[str]:
    return [text[start:end] for start, end in Protection(patterns or ("default",)).spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "See https://x.org/a?b=1. (http://y.de/a_(b)), www.z.fr!",
            ["https://x.org/a?b=1", "http://y.de/a_(b)", "www.z.fr"],
        ),
        ("Mail to a.b+c@x-y.co.uk, please", ["a.b+c@x-y.co.uk"]),
        ("{name} owes {{ amount }} to ${x} and {0} {}", ["{name}", "{{ amount }}", "${x}", "{0}", "{}"]),
        ("%s of %(count)d: %1$s %5.2f %% %@", ["%s", "%(count)d", "%1$s", "%5.2f", "%%", "%@"]),
        ("100% sure, 50%discount, a { b } c", []),
        ("", []),
    ],
)
def test_what_is_protected_by_default(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_numbers_are_whole_ones() -> None:
    assert found("In 2024, 1,000.50 at 3:45; B2B, 10th, v2", "numbers") == ["2024", "1,000.50", "3:45"]
    assert found("In 2024") == []


def test_matches_that_overlap_are_one_and_white_space_at_the_ends_is_left_out() -> None:
    assert found("a red car b", "red car", "car b") == ["red car b"]
    assert found("a {x} b", r"\s\{x\}\s*", "default") == ["{x}"]
    assert found("abc", "x*") == []  # what matches nothing protects nothing


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", "missing ) at character 3"),
        ("[", "at character 2"),
        (r"\L<x>", "named list"),
        ("(((a{1000}){1000}){1000}){1000}", "multiply to more than 10,000"),
        ("(?R)*", "calls itself"),
        ("x" * 2000, "2,000 characters"),
    ],
)
def test_a_wrong_pattern_is_one_line(pattern: str, message: str) -> None:
    with pytest.raises(ConfigError) as failure:
        Protection((pattern,))
    assert message in str(failure.value)
    assert "\n" not in str(failure.value)


def test_patterns_are_limited() -> None:
    with pytest.raises(ConfigError, match="at most"):
        Protection(tuple(map(str, range(MOST_PATTERNS + 1))))


def test_a_pattern_that_takes_exponential_time_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protected, "SECONDS", 0.05)
    with pytest.raises(DataError, match="takes more than"):
        Protection((r"(?:a|aa|b?a)+\d",)).spans("a" * 80 + "!")


@pytest.mark.parametrize("part", ["http://", "{{", "(", "a@", "%(", "www.((", "a.a@a.a", "9,", "${"])
def test_our_own_patterns_take_linear_time(part: str) -> None:
    Protection(("default", "numbers")).spans(part * 20_000)  # pytest's timeout fails it


def test_occurrences_are_whole_words_and_the_longest_first() -> None:
    assert occurrences("{a} {{a}} {a}", ["{a}", "{{a}}"]) == [Span(0, 3), Span(4, 9), Span(10, 13)]
    assert occurrences("15 5 5x", ["5"]) == [Span(3, 4)]
    assert occurrences("anything", ["", ""]) == []
