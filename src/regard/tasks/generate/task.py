"""The task `generate`: a language model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regard.bundle.opened import OpenBundle
from regard.data.replay import replayed_text
from regard.errors import shown
from regard.tasks.base_model import config_of, kept, tokenizers_for
from regard.tasks.checks import torch_only
from regard.tasks.generate.settings import GenerateBundle, GenerateSettings
from regard.tasks.interface import EvaluationFiles, PreparationListener, ResultFile, TestFlags

if TYPE_CHECKING:
    import torch

    from regard.tasks.generate.evaluate import GenerateTest
    from regard.tasks.generate.objective import CountObjective, GenerateObjective
    from regard.tasks.generate.writer import Writer
    from regard.training.objective import Evaluation


class Generate:
    """Continues a text."""

    name = "generate"
    run = GenerateSettings
    bundle = GenerateBundle
    scores = ("perplexity_word", "bits_per_byte", "perplexity")
    validated = ("perplexity_word", "bits_per_byte")
    results = ResultFile("samples.jsonl", None, ("evaluated_words", "words"))
    advice = "use `regard generate`, or score and evaluate with --text"
    evaluation_files = EvaluationFiles(("text",), "a language model")

    def objective(
        self, settings: GenerateSettings, base: OpenBundle | None, listener: PreparationListener
    ) -> "GenerateObjective | CountObjective":
        from regard.data.prepare_texts import prepare_texts
        from regard.files import cache_directory
        from regard.models.config import MarkovConfig
        from regard.tasks.generate.objective import CountObjective, GenerateObjective

        base_tokenizers = tokenizers_for(self.name, base)
        prepared = prepare_texts(settings.data, settings.text, cache_directory() / "corpora", listener, base_tokenizers)
        if isinstance(settings.model, MarkovConfig):
            return CountObjective(settings, prepared)
        objective = GenerateObjective(settings, prepared, config_of(self.name, base))
        if settings.data.replay is not None and settings.data.replay.text is not None:
            old, text = replayed_text(settings.data, settings.data.replay.text), kept(settings.text)
            texts = prepare_texts(old, text, cache_directory() / "corpora", listener, prepared.tokenizers)
            objective.replay(settings.data.replay.text, texts, objective.contexts(texts), settings.data.replay.share)
        return objective

    def load(self, bundle: OpenBundle, device: "str | torch.device", engine: str, precision: str) -> "Writer":
        from regard.bundle.bundle import read_network
        from regard.tasks.generate.writer import Writer

        torch_only(engine, precision)
        network: Any = read_network(bundle, device)
        return Writer(network, bundle.tokenizers.target, bundle.config.texts, bundle)

    def test_set(self, served: "Writer", flags: TestFlags) -> "GenerateTest":
        from regard.tasks.generate.evaluate import test_from_flags

        return test_from_flags(served, flags)

    def evaluate(self, served: "Writer", test: "GenerateTest") -> "Evaluation":
        from regard.tasks.generate.evaluate import evaluate_writer

        return evaluate_writer(served, test)

    def shown(self, metrics: Mapping[str, Any]) -> str:
        numbers = {name: value for name, value in metrics.items() if name != "notes"}
        notes = [f"note: {shown(note)}\n" for note in metrics.get("notes", ())]
        return "".join([*(f"{name:<16} {value:12,.6g}\n" for name, value in numbers.items()), *notes])
