"""The task `pretrain`: learn from corrupted texts, for other tasks to start from."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regard.bundle.opened import OpenBundle
from regard.data.objectives import objectives_of
from regard.data.replay import replayed_text
from regard.tasks.base_model import config_of, kept, tokenizers_for
from regard.tasks.checks import torch_only
from regard.tasks.interface import EvaluationFiles, PreparationListener, ResultFile, TestFlags
from regard.tasks.pretrain.settings import PretrainBundle, PretrainSettings

if TYPE_CHECKING:
    import torch

    from regard.tasks.pretrain.evaluate import PretrainTest
    from regard.tasks.pretrain.filler import Filler
    from regard.tasks.pretrain.objective import PretrainObjective
    from regard.training.objective import Evaluation


class Pretrain:
    """Says what stood in a corrupted text."""

    name = "pretrain"
    run = PretrainSettings
    bundle = PretrainBundle
    scores = ("perplexity", "accuracy")
    validated = ("accuracy",)
    results = ResultFile("samples.jsonl", None, ("predicted_tokens", "predicted tokens"))
    advice = "use `regard fill`, train it further, or evaluate with --text"
    evaluation_files = EvaluationFiles(("text",), "a pretrained model")

    def objective(
        self, settings: PretrainSettings, base: OpenBundle | None, listener: PreparationListener
    ) -> "PretrainObjective":
        from regard.data.prepare_texts import prepare_texts
        from regard.files import cache_directory
        from regard.tasks.pretrain.objective import PretrainObjective, check_pieces

        check_pieces(settings, base)
        base_tokenizers = tokenizers_for(self.name, base)
        prepared = prepare_texts(
            settings.data, settings.reserving_text, cache_directory() / "corpora", listener, base_tokenizers
        )
        objective = PretrainObjective(settings, prepared, config_of(self.name, base))
        if settings.data.replay is not None and settings.data.replay.text is not None:
            old, text = replayed_text(settings.data, settings.data.replay.text), kept(settings.reserving_text)
            texts = prepare_texts(old, text, cache_directory() / "corpora", listener, prepared.tokenizers)
            objective.replay(settings.data.replay.text, texts, objective.corrupted(texts), settings.data.replay.share)
        return objective

    def goes_with(self, kind: str) -> dict[str, str]:
        """The settings that a kind of network needs beside it, for `regard init`."""
        return {"objective.kind": objectives_of(kind)[0]}

    def load(self, bundle: OpenBundle, device: "str | torch.device", engine: str, precision: str) -> "Filler":
        from regard.bundle.bundle import read_network
        from regard.tasks.pretrain.filler import filler_of
        from regard.tasks.pretrain.gaps import check_loaded

        torch_only(engine, precision)
        check_loaded(bundle)
        network: Any = read_network(bundle, device)
        return filler_of(network, bundle.tokenizers, bundle.config, bundle)

    def test_set(self, served: "Filler", flags: TestFlags) -> "PretrainTest":
        from regard.tasks.encoded_text import encoded_text
        from regard.tasks.pretrain.evaluate import PretrainTest
        from regard.tasks.pretrain.objective import corrupted_examples

        texts, tokenizer = served.config.texts, served.tokenizer
        corpus = encoded_text(flags["text"], tokenizer, texts.documents)
        return PretrainTest(
            corrupted_examples(corpus, tokenizer.vocabulary, served.config.objective, texts.context, texts.documents)
        )

    def evaluate(self, served: "Filler", test: "PretrainTest") -> "Evaluation":
        from regard.tasks.pretrain.evaluate import evaluate_pretrained

        with served.evaluating() as network:
            return evaluate_pretrained(network, served.tokenizer, test)

    def shown(self, metrics: Mapping[str, Any]) -> str:
        return "".join(f"{name:<16} {value:12,.6g}\n" for name, value in metrics.items())
