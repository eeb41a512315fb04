"""The task `classify_images`: label pictures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regard.bundle.opened import OpenBundle
from regard.tasks.checks import torch_only
from regard.tasks.classify.task import shown_labels
from regard.tasks.classify_images.settings import ClassifyImagesBundle, ClassifyImagesSettings
from regard.tasks.interface import EvaluationFiles, PreparationListener, ResultFile, TestFlags

if TYPE_CHECKING:
    import torch

    from regard.tasks.classify_images.classifier import PictureClassifier
    from regard.tasks.classify_images.evaluate import ImageTest
    from regard.tasks.classify_images.objective import ClassifyImagesObjective
    from regard.training.objective import Evaluation


class ClassifyImages:
    """Labels a picture."""

    name = "classify_images"
    run = ClassifyImagesSettings
    bundle = ClassifyImagesBundle
    scores = ("accuracy", "f1")
    validated = ("accuracy", "f1")
    results = ResultFile("predictions.jsonl", ("picture", "expected", "found"), ("pictures", "pictures"))
    advice = "use `regard classify DIR PICTURE ..`, or evaluate with --images"
    evaluation_files = EvaluationFiles(("images",), "a classifier of pictures")

    def objective(
        self, settings: ClassifyImagesSettings, base: OpenBundle | None, listener: PreparationListener
    ) -> "ClassifyImagesObjective":
        from regard.data.images import prepare_images
        from regard.files import cache_directory
        from regard.tasks.classify_images.objective import ClassifyImagesObjective, refuse_other_labels

        shape = None if base is None else base.config.shape
        prepared = prepare_images(settings.data, cache_directory() / "corpora", listener, shape)
        if base is not None:
            refuse_other_labels(prepared.labels, base)
        return ClassifyImagesObjective(settings, prepared, None if base is None else base.config)

    def load(
        self, bundle: OpenBundle, device: "str | torch.device", engine: str, precision: str
    ) -> "PictureClassifier":
        from regard.bundle.bundle import read_network
        from regard.tasks.classify_images.classifier import PictureClassifier

        torch_only(engine, precision)
        config, network = bundle.config, read_network(bundle, device)
        served: Any = network
        return PictureClassifier(served, config.pictures, config.labels, tokens=config.tokens, bundle=bundle)

    def test_set(self, served: "PictureClassifier", flags: TestFlags) -> "ImageTest":
        from regard.tasks.classify_images.evaluate import test_from_flags

        return test_from_flags(served, flags)

    def evaluate(self, served: "PictureClassifier", test: "ImageTest") -> "Evaluation":
        from regard.tasks.classify_images.evaluate import evaluate_pictures

        return evaluate_pictures(served, test)

    def shown(self, metrics: Mapping[str, Any]) -> str:
        return shown_labels(metrics)
