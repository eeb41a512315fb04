"""The task `translate`: sentence pairs in, translations out."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regard.bundle.opened import OpenBundle
from regard.tasks.base_model import config_of, tokenizers_for
from regard.tasks.interface import EvaluationFiles, PreparationListener, ResultFile, TestFlags
from regard.tasks.translate.settings import TranslateBundle, TranslateSettings

if TYPE_CHECKING:
    import torch

    from regard.tasks.translate.evaluate import TranslateTest
    from regard.tasks.translate.objective import TranslateObjective
    from regard.tasks.translate.translator import Translator
    from regard.training.objective import Evaluation


class Translate:
    """Translates a source text to a target text."""

    name = "translate"
    run = TranslateSettings
    bundle = TranslateBundle
    scores = ("bleu", "chrf", "ter", "exact_match", "perplexity", "aer")
    validated = ("bleu", "chrf", "exact_match")
    results = ResultFile("translations.jsonl", ("source", "reference", "hypothesis"), ("sentences", "sentences"))
    advice = "use `regard translate`, or score and evaluate with sources"
    evaluation_files = EvaluationFiles(("src", "ref"), "a translator", ("groups",))

    def objective(
        self, settings: TranslateSettings, base: OpenBundle | None, listener: PreparationListener
    ) -> "TranslateObjective":
        from regard.data.prepare import prepare
        from regard.files import cache_directory
        from regard.tasks.translate.directed_objective import check_tagged_positions
        from regard.tasks.translate.objective import TranslateObjective

        own = config_of(self.name, base)
        if own is not None and own.directions:
            check_tagged_positions(settings.model.reach, settings.data.max_length)
        base_tokenizers = tokenizers_for(self.name, base)
        prepared = prepare(settings.data, settings.text, cache_directory() / "corpora", listener, base_tokenizers)
        return TranslateObjective(settings, prepared, own)

    def load(self, bundle: OpenBundle, device: "str | torch.device", engine: str, precision: str) -> "Translator":
        from regard.tasks.translate.load import make_translator

        return make_translator(bundle, device, engine, precision)

    def test_set(self, served: "Translator", flags: TestFlags) -> "TranslateTest":
        from regard.tasks.translate.evaluate import test_from_flags

        return test_from_flags(flags)

    def evaluate(self, served: "Translator", test: "TranslateTest") -> "Evaluation":
        from regard.tasks.translate.evaluate import evaluate_translator
        from regard.tasks.translate.evaluate_directions import evaluate_directions

        if test.directions is not None:
            return evaluate_directions(served, test)
        return evaluate_translator(served, test)

    def shown(self, metrics: Mapping[str, Any]) -> str:
        from regard.metrics.systems import group_table, score_table

        names = [name for name, value in metrics.items() if isinstance(value, float)]
        records = metrics.get("scores", {})
        rows = {
            name: {"value": metrics[name], "signature": metrics["signatures"].get(name), **records.get(name, {})}
            for name in names
        }
        resamples = metrics.get("bootstrap", {}).get("resamples", 0)
        table = score_table(rows, metrics["sentences"], metrics.get("references", 1), resamples)
        return table + group_table(metrics.get("groups", {}))
