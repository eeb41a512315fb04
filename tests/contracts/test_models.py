"""Every check of every capability, over every model that claims it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from contracts import causal, copying, differentiable, forecasting, labelling, searchable, seeing, steppable
from contracts.cases import CASES, LABELLING, ModelCase
from contracts.masking import MASKING
from regard.layers.scores import SCORES
from regard.models.config import MIXER_TRAITS, ModelConfig


def able(capability: str, without: str | None = None) -> list[object]:
    cases = [case for case in (*CASES, *LABELLING, *seeing.SEEING, *MASKING) if capability in case.capabilities]
    return [pytest.param(case, id=case.name) for case in cases if without not in case.capabilities]


def named(checks: tuple[Callable[..., None], ...]) -> list[object]:
    return [pytest.param(check, id=check.__name__) for check in checks]


@pytest.mark.parametrize("case", able("steppable"))
@pytest.mark.parametrize("check", named(steppable.CHECKS))
def test_steppable(check: Callable[[ModelCase], None], case: ModelCase) -> None:
    check(case)


@pytest.mark.parametrize("case", able("reading"))
@pytest.mark.parametrize("check", named(steppable.READING_CHECKS))
def test_reading(check: Callable[[ModelCase], None], case: ModelCase) -> None:
    check(case)


@pytest.mark.parametrize("case", able("attending"))
@pytest.mark.parametrize("check", named(steppable.ATTENDING_CHECKS))
def test_attending(check: Callable[[ModelCase], None], case: ModelCase) -> None:
    check(case)


@pytest.mark.parametrize("case", able("steppable", without="attending"))
@pytest.mark.parametrize("check", named(steppable.BLIND_CHECKS))
def test_not_attending(check: Callable[[ModelCase], None], case: ModelCase) -> None:
    check(case)


@pytest.mark.parametrize("case", able("copying"))
@pytest.mark.parametrize("check", named(copying.CHECKS))
def test_copying(check: Callable[[ModelCase], None], case: ModelCase) -> None:
    check(case)


@pytest.mark.parametrize("case", able("labelling"))
@pytest.mark.parametrize("check", named(labelling.CHECKS))
def test_labelling(check: Callable[[ModelCase, Path], None], case: ModelCase, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize("case", able("order"))
@pytest.mark.parametrize("check", named(labelling.ORDER_CHECKS))
def test_order(check: Callable[[ModelCase, Path], None], case: ModelCase, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize("case", able("seeing"))
@pytest.mark.parametrize("check", named(seeing.CHECKS))
def test_seeing(check: Callable[[ModelCase, Path], None], case: ModelCase, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize("name", forecasting.FORECASTING)
@pytest.mark.parametrize("check", named(forecasting.CHECKS))
def test_forecasting(check: Callable[[ModelConfig], None], name: str) -> None:
    check(forecasting.FORECASTING[name])


@pytest.mark.parametrize("case", able("searchable"))
@pytest.mark.parametrize("check", named(searchable.CHECKS))
def test_searchable(check: Callable[[ModelCase], None], case: ModelCase) -> None:
    check(case)


@pytest.mark.parametrize("case", able("causal"))
@pytest.mark.parametrize("check", named(causal.CHECKS))
def test_causal(check: Callable[[ModelCase], None], case: ModelCase) -> None:
    check(case)


@pytest.mark.parametrize("case", able("differentiable"))
@pytest.mark.parametrize("check", named(differentiable.CHECKS))
def test_differentiable(check: Callable[[ModelCase, Path], None], case: ModelCase, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_the_cases_cover_the_transformer() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    for positions in ("sinusoidal", "learned", "relative", "rotary"):
        for norm in ("pre", "post"):
            assert any(f"{positions}-{norm}" in name for name in names)


def test_the_cases_cover_cells_and_scores() -> None:
    names = [case.name for case in CASES]
    for cell in ("rnn", "gru", "lstm"):
        for way in ("plain", "feeding"):
            assert any(name.startswith(f"recurrent-{cell}-{way}") for name in names)
    for score in SCORES:
        assert any(name.startswith("recurrent-") and f"-{score}" in name for name in names)
    for score in set(SCORES) - {"scaled_dot", "location"}:  # the first is every other case, the second is refused
        assert any(name.startswith(f"transformer-score-{score.replace('_', '-')}") for name in names)


def test_the_cases_cover_mixers() -> None:
    names = [case.name for case in (*CASES, *LABELLING)]
    for mixer, traits in MIXER_TRAITS.items():
        if mixer != "attention":  # every other case
            assert f"classifier-mixer-{mixer}" in names
            assert (f"decoder-only-mixer-{mixer}" in names) == traits.causal
