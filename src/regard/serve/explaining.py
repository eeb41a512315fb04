"""Explanations for `/v1/regard/explain`: the JSON that `regard explain --out x.json` writes."""

from typing import Any

from regard.serve.errors import RequestError
from regard.serve.models import ServedModel
from regard.serve.typed import ExplainBody, decoded, files_of

MOST_CHARACTERS = 1_000
"""Characters of an explained text: the answer grows with their square."""
OPTIONS = ("target", "beam", "alpha", "prefix", "replace", "mask", "without")
"""Options of `regard explain` that a request may have."""
OF_PICTURES = ("classify_images", "caption")


def explained(model: ServedModel, served: Any, body: ExplainBody) -> dict[str, Any]:
    """The explanation of the body's text or picture, in JSON types."""
    from regard.explain.document import to_json_types
    from regard.explain.sentence_page import DATA_FORMAT
    from regard.explain.table import VERB, check_explainable

    check_explainable(model.task)
    item = _item(model, body)
    given = {name: value for name in OPTIONS if (value := getattr(body, name)) is not None}
    row = VERB[model.task]
    keywords = row.keywords(given, model.name)
    if model.task == "translate":
        served = served.towards(body.target_language, body.source)
    elif body.source or body.target_language:
        raise RequestError(f"source, target_language: {model.name} is a model to {model.task}; leave them out")
    row.check(served, item, model.name, keywords, None)
    explanation = row.explain(served, item, name=model.name, **keywords)
    return {"format": DATA_FORMAT, "explanations": to_json_types([explanation], cut=False)}


def _item(model: ServedModel, body: ExplainBody) -> Any:
    """The text or the decoded picture of a request."""
    needs = "picture" if model.task in OF_PICTURES else "text"
    for name in ("text", "picture"):
        if (getattr(body, name) is None) == (name == needs):
            raise RequestError(f"{model.name} is a model to {model.task}: give a {needs}, and no other input")
    if needs == "picture":
        [content] = files_of([body.picture or ""])
        return decoded(content, "picture")
    long = max((len(text) for text in (body.text, body.target) if text is not None), default=0)
    if long > MOST_CHARACTERS:
        raise RequestError(f"a text of {long} characters: this server explains at most {MOST_CHARACTERS}")
    return body.text
