"""The task `caption`: pictures in, sentences about them out."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from regard.bundle.opened import OpenBundle
from regard.tasks.caption.settings import CaptionBundle, CaptionSettings
from regard.tasks.checks import torch_only
from regard.tasks.interface import EvaluationFiles, PreparationListener, ResultFile, TestFlags

if TYPE_CHECKING:
    import torch

    from regard.tasks.caption.captioner import Captioner
    from regard.tasks.caption.evaluate import CaptionTest
    from regard.tasks.caption.objective import CaptionObjective
    from regard.training.objective import Evaluation


class CaptionPictures:
    """Describes pictures."""

    name = "caption"
    run = CaptionSettings
    bundle = CaptionBundle
    scores = ("cider", "bleu", "chrf", "exact_match", "perplexity", "pointing")
    validated = ("cider", "bleu", "chrf", "exact_match")
    results = ResultFile("captions.jsonl", ("picture", "reference", "hypothesis"), ("captions", "pictures"))
    advice = "use `regard caption`, or evaluate with --captions"
    evaluation_files = EvaluationFiles(("captions",), "a captioner", optional=("images",))

    def objective(
        self, settings: CaptionSettings, base: OpenBundle | None, listener: PreparationListener
    ) -> "CaptionObjective":
        from regard.data.captioned import prepare_captions
        from regard.files import cache_directory
        from regard.tasks.caption.objective import CaptionObjective

        tokenizers, shape = (None, None) if base is None else (base.tokenizers, base.config.shape)
        cache = cache_directory() / "corpora"
        prepared = prepare_captions(settings.data, settings.text, cache, listener, tokenizers, shape)
        return CaptionObjective(settings, prepared, None if base is None else base.config)

    def load(self, bundle: OpenBundle, device: "str | torch.device", engine: str, precision: str) -> "Captioner":
        from regard.bundle.bundle import read_network
        from regard.tasks.caption.captioner import Captioner

        torch_only(engine, precision)
        config = bundle.config
        return Captioner(
            cast(Any, read_network(bundle, device)),
            bundle.tokenizers.target,
            config.pictures,
            config.grid,
            longest=config.longest,
            languages=config.languages,
            attention=config.attention,
            reach=config.reach,
            bundle=bundle,
        )

    def test_set(self, served: "Captioner", flags: TestFlags) -> "CaptionTest":
        from regard.tasks.caption.evaluate import test_from_flags

        return test_from_flags(served, flags)

    def evaluate(self, served: "Captioner", test: "CaptionTest") -> "Evaluation":
        from regard.tasks.caption.evaluate import evaluate_captioner

        return evaluate_captioner(served, test)

    def shown(self, metrics: Mapping[str, Any]) -> str:
        from regard.metrics.systems import score_table

        records = metrics.get("scores", {})
        rows = {
            name: {"value": value, "signature": metrics["signatures"].get(name), **records.get(name, {})}
            for name, value in metrics.items()
            if isinstance(value, float) and name != "alpha"
        }
        resamples = (metrics.get("bootstrap") or {}).get("resamples", 0)
        return score_table(rows, metrics["captions"], metrics["references"], resamples, unit="pictures")
