"""Searches over a shortlist beside searches over all outputs, in both engines."""

from pathlib import Path

import pytest

from regard.bundle.rewriting import rewrite_bundle
from regard.bundle.shortlist import SHORTLIST, Shortlist, read_shortlist
from regard.errors import BundleError, ConfigError, SearchError
from regard.tasks.bundles import open_bundle
from regard.tasks.load import load_served
from regard.tasks.translate.ensemble import load_ensemble
from regard.tasks.translate.shortlist import make_shortlist
from tasks.bundles import TEXTS, random_bundle

NETWORK = {"norm": "pre", "positions": "sinusoidal", "activation": "relu", "joint": True, "ending": 3.0}
ENGINES = ["torch", "ct2"]


def with_shortlist(home: Path, shortlist: Shortlist | None = None, **network: object) -> Path:
    path = random_bundle(home / "b", **(NETWORK | network))
    bundle = open_bundle(path)
    sizes = bundle.config.vocabulary
    everything = tuple(range(sizes.target - 1))
    rewrite_bundle(bundle, records={SHORTLIST: shortlist or Shortlist(always=everything, pieces=((),) * sizes.source)})
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose shortlist has every piece."""
    return with_shortlist(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4, "nbest": 4}, {"beam": 3, "alpha": 0.0}])
def test_a_shortlist_of_everything_changes_nothing(whole: Path, engine: str, options: dict) -> None:
    model = load_served(whole, engine=engine)
    for one, other in zip(
        model.translate(TEXTS[:6], **options), model.translate(TEXTS[:6], shortlist=True, **options), strict=True
    ):
        assert one.tokens == other.tokens
        assert one.logprob == pytest.approx(other.logprob, abs=1e-4)
        assert [a.tokens for a in one.alternatives] == [a.tokens for a in other.alternatives]


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose source pieces each have two candidates."""
    path = random_bundle(tmp_path_factory.mktemp("narrow") / "b", **NETWORK)
    bundle = open_bundle(path)
    sizes = bundle.config.vocabulary
    pieces = tuple((2 + place % (sizes.target - 4), 3 + place % (sizes.target - 4)) for place in range(sizes.source))
    rewrite_bundle(bundle, records={SHORTLIST: Shortlist(always=(0, 1), pieces=pieces)})
    return path


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4}, {"sample": True}, {"groups": 2, "beam": 4}])
def test_each_sentence_has_its_own_candidates_in_torch(narrow: Path, options: dict) -> None:
    model, shortlist = load_served(narrow, engine="torch"), read_shortlist(open_bundle(narrow))
    together = model.translate(TEXTS[:6], shortlist=True, **options)
    for number, (text, found) in enumerate(zip(TEXTS, together, strict=False)):
        if "sample" not in options:  # samples draw by their place
            assert model.translate([text], shortlist=True, **options)[0].tokens == found.tokens
        candidates = shortlist.candidates(model.read([text])[0].ids)
        ids = model.tokenizers.target.vocabulary.ids_of(found.tokens)
        assert set(ids) <= candidates, number
    assert any(one.tokens for one in together)


def test_ctranslate2_keeps_to_the_candidates(narrow: Path) -> None:
    model, shortlist = load_served(narrow, engine="ct2"), read_shortlist(open_bundle(narrow))
    for text in TEXTS[:6]:
        [found] = model.translate([text], shortlist=True)
        expected = load_served(narrow, engine="torch").translate([text], shortlist=True)[0]
        assert set(model.tokenizers.target.vocabulary.ids_of(found.tokens)) <= shortlist.candidates(
            model.read([text])[0].ids
        )
        assert found.tokens == expected.tokens


def test_a_shortlist_is_learned_from_pairs(narrow: Path) -> None:
    bundle = open_bundle(narrow)
    made = make_shortlist(bundle, TEXTS, TEXTS, frequent=3, candidates=2)
    assert len(made.always) <= 5
    assert {0, 1} <= set(made.always)
    rows = bundle.tokenizers.source.encode_batch(TEXTS)
    assert all(made.pieces[piece] for row in rows for piece in row if piece != 1)
    assert max(map(len, made.pieces)) <= 2


def test_refusals(whole: Path, tmp_path: Path) -> None:
    plain = random_bundle(tmp_path / "b", **NETWORK)
    for engine in ENGINES:
        with pytest.raises(SearchError, match=r"shortlist: .* has none; make it with `regard shortlist"):
            load_served(plain, engine=engine).translate(["a"], shortlist=True)
    with pytest.raises(SearchError, match="an ensemble has none"):
        load_ensemble([plain, plain]).translate(["a"], shortlist=True)
    with pytest.raises(SearchError, match="prefixes and phrases may need pieces"):
        load_served(whole).translate(["a"], shortlist=True, prefixes=["a"])
    with pytest.raises(ConfigError, match="precision = 'int4': not one of auto, float32, bfloat16, int8"):
        load_served(plain, precision="int4")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shortlist", "message"),
    [
        (Shortlist(always=(0,), pieces=((),)), "it has 1 source pieces, the bundle"),
        (Shortlist(always=(10**9,), pieces=((),) * 300), "id 1000000000 is no target piece"),
    ],
)
def test_a_shortlist_of_another_model_is_refused(tmp_path: Path, shortlist: Shortlist, message: str) -> None:
    path = random_bundle(tmp_path / "b", **NETWORK)
    size = open_bundle(path).config.vocabulary.source
    if len(shortlist.pieces) > 1:
        shortlist = Shortlist(always=shortlist.always, pieces=((),) * size)
    rewrite_bundle(open_bundle(path), records={SHORTLIST: shortlist})
    with pytest.raises(BundleError, match=message):
        load_served(path, engine="torch").translate(["a"], shortlist=True)
