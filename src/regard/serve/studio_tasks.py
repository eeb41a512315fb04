"""What the studio does with a model of each task: watch it, explain it, and write the offline page of what is seen.

The functions run in a worker thread. `stopped` ends them between two steps of a search, or two parts of an explanation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from regard.data.pictures import picture_of_bytes
from regard.errors import DataError
from regard.explain import caption_page, picture_page, sentence_page
from regard.explain.beam_tree import GrowingTree
from regard.explain.captions import explain_caption
from regard.explain.drawing import Drawing, watch_drawing
from regard.explain.explain import check_request, explain
from regard.explain.explanation import PARTS, Explanation
from regard.explain.intervened import Intervened, intervened
from regard.explain.pictures import explain_picture
from regard.explain.text import explain_text
from regard.search.expansion import Expansion
from regard.search.interruption import SearchStopped, StopSignal
from regard.serve.studio_state import StudioState
from regard.tasks.caption.captioner import Captioner
from regard.tasks.classify_images.classifier import PictureClassifier
from regard.tasks.generate.writer import Writer
from regard.tasks.translate.translator import Translator

Tell = Callable[[str, Any], None]
"""(name of the event, value of it): tells the reader something while the work goes on."""
SLOW_UNDER_CHANGES = "searches"
"""The part that a network with silent heads or masked words, which has no cache, would take too long for."""


@dataclass(frozen=True)
class StudioTask:
    """The studio's functions for the models of a task."""

    explain: Callable[[Any, StudioState, str], Any]
    """(served, state, name of the model) -> the explanation of what is on the page."""
    data: Callable[[Sequence[Any]], dict[str, Any]]
    """Explanations -> what the modules of the page read."""
    page: Callable[[Sequence[Any]], str]
    """Explanations -> the offline page, as `regard explain --out page.html` writes it."""
    watch: Callable[[Any, StudioState, Tell, StopSignal], None] | None = None
    """(served, state, tell, stopped): tells every step of a search, and its end. None: there are no steps."""
    whole: Callable[[Any, StudioState, str], Sequence[Any]] | None = None
    """The explanations of an offline page, if it shows more than the one of the page."""


def direct(model: Translator, state: StudioState) -> Translator:
    """The translator in the direction of the state."""
    return model.towards(state.target, state.source) if model.directions.seen else model


def changed(model: Translator, state: StudioState) -> Intervened:
    """The translator under the changes of the state. Refuses what cannot be explained."""
    changes = state.changes()
    check_request(model, state.text, beam=state.beam, alpha=state.alpha, changes=changes)
    return intervened(model, state.text, changes)


def watch_translation(served: Translator, state: StudioState, tell: Tell, stopped: StopSignal) -> None:
    """Every step of the search as new nodes of its tree, and at the end the translations, the best first."""
    model = direct(served, state)
    under = changed(model, state)
    target = model.tokenizers.target
    tree = GrowingTree(target.vocabulary, state.alpha)

    def step(expansion: Expansion) -> None:
        if stopped():
            raise SearchStopped
        nodes = tree.add(expansion)
        live = max((node for node in nodes if node.state == "kept"), key=lambda node: node.score, default=None)
        tell("step", {"nodes": nodes, "text": None if live is None else target.decode(list(tree.prefix(live)))})

    found = under.model.watch(under.text, step, state.search(), prefix=under.prefix)
    pieces = target.vocabulary.pieces
    before = under.changes and model.translate([state.text], beam=state.beam, alpha=state.alpha)[0].text
    tell(
        "done",
        {
            "nodes": tree.ended(found[0]),
            "source": under.text,
            "changes": under.name,
            "before": before or None,
            "hypotheses": [
                {
                    "text": target.decode(one.tokens),
                    "tokens": [pieces[token] for token in one.tokens],
                    "logprob": one.logprob,
                    "score": one.score,
                    "finished": one.finished,
                }
                for one in found
            ],
        },
    )


def explain_translation(served: Translator, state: StudioState, name: str) -> Explanation:
    """The explanation of the translation under all changes."""
    under = changed(direct(served, state), state)
    plain = not (state.mask or state.without)
    parts = [part for part in state.parts if plain or part != SLOW_UNDER_CHANGES]
    said = state.said
    if said is None and under.prefix:
        said = under.translate(beam=state.beam, alpha=state.alpha)
    shown = f"{name}, {under.name}" if under.changes else name
    return explain(under.model, under.text, target=said, beam=state.beam, alpha=state.alpha, parts=parts, name=shown)


def whole_translation(served: Translator, state: StudioState, name: str) -> list[Explanation]:
    """The explanation in full and, under changes, the one without them before it."""
    state = state.model_copy(update={"parts": list(PARTS)})
    now = explain_translation(served, state, name)
    if not state.changes():
        return [now]
    without: dict[str, Any] = {"mask": [], "replace": [], "without": [], "prefix": "", "said": None}
    return [explain_translation(served, state.model_copy(update=without), name), now]


def watch_text(served: Writer, state: StudioState, tell: Tell, stopped: StopSignal) -> None:
    """Every token that a language model draws, with what it was drawn from."""

    def told(drawing: Drawing) -> None:
        tell("step", drawing)

    found = watch_drawing(served, state.text, state.draw(max_length=state.max_length), told, stopped)
    tell(
        "done",
        {
            "text": found.text,
            "tokens": found.tokens,
            "logprob": found.logprob,
            "finished": found.finished,
            "truncated": found.truncated,
        },
    )


def explain_given_text(served: Any, state: StudioState, name: str) -> Explanation:
    """The explanation of a text: of a language model, of the text with what it drew."""
    if not state.text.strip():
        raise DataError("nothing to explain; give a text")
    return explain_text(served, state.said if state.said is not None else state.text, name=name)


def explain_labelled_picture(served: PictureClassifier, state: StudioState, name: str) -> Any:
    """The explanation of a picture's label."""
    picture = picture_of_bytes(state.picture_bytes(), state.picture_name)
    return replace(explain_picture(served, picture, label=state.said or None), picture=state.picture_name)


def explain_described_picture(served: Captioner, state: StudioState, name: str) -> Any:
    """The explanation of a picture's caption."""
    picture = picture_of_bytes(state.picture_bytes(), state.picture_name)
    read = served.read_one(picture, state.picture_name)._replace(name=state.picture_name)
    return explain_caption(served, read, caption=state.said or None, beam=state.beam, alpha=state.alpha, name=name)


def _sentence_data(explanations: Sequence[Explanation]) -> dict[str, Any]:
    shown = [sentence_page.limit_computation(one) for one in explanations]
    return sentence_page.to_data(shown, packed=True)


_TEXT = StudioTask(explain_given_text, _sentence_data, sentence_page.render_sentences)

STUDIO: Mapping[str, StudioTask] = {
    "translate": StudioTask(
        explain_translation, _sentence_data, sentence_page.render_sentences, watch_translation, whole_translation
    ),
    "generate": replace(_TEXT, watch=watch_text),
    "classify": _TEXT,
    "classify_images": StudioTask(
        explain_labelled_picture,
        lambda explanations: picture_page.to_data(explanations, packed=True),
        picture_page.render_pictures,
    ),
    "caption": StudioTask(
        explain_described_picture,
        lambda explanations: caption_page.to_data(explanations, packed=True),
        caption_page.render_captioned,
    ),
}
"""Task -> what the studio does with its models. A model of another task is not shown."""
