"""The task `classify`: label texts, or each of their words."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from regard.bundle.opened import OpenBundle
from regard.data.replay import replayed_labelled
from regard.errors import shown
from regard.tasks.base_model import config_of, kept, tokenizers_for
from regard.tasks.checks import torch_only
from regard.tasks.classify.settings import ClassifyBundle, ClassifySettings
from regard.tasks.interface import EvaluationFiles, PreparationListener, ResultFile, TestFlags

if TYPE_CHECKING:
    import torch

    from regard.tasks.classify.classifier import Classifier
    from regard.tasks.classify.evaluate import ClassifyTest
    from regard.tasks.classify.objective import ClassifyObjective
    from regard.tasks.classify.tagger import Tagger
    from regard.training.objective import Evaluation


class Classify:
    """Labels a text, or each of its words."""

    name = "classify"
    run = ClassifySettings
    bundle = ClassifyBundle
    scores = ("accuracy", "f1")
    validated = ("accuracy", "f1")
    results = ResultFile("predictions.jsonl", ("text", "expected", "found"), ("texts", "texts"))
    advice = "use `regard classify`, or evaluate with --data"
    evaluation_files = EvaluationFiles(("data",), "a classifier")

    def objective(
        self, settings: ClassifySettings, base: OpenBundle | None, listener: PreparationListener
    ) -> "ClassifyObjective":
        from regard.data.labelled import prepare_labelled
        from regard.files import cache_directory
        from regard.tasks.classify.objective import ClassifyObjective, refuse_other_labels, refuse_other_replay

        base_tokenizers = tokenizers_for(self.name, base)
        prepared = prepare_labelled(
            settings.data, settings.text, cache_directory() / "corpora", listener, base_tokenizers
        )
        if base is not None:
            refuse_other_labels(prepared.labels, base)
        objective = ClassifyObjective(settings, prepared, config_of(self.name, base))
        replay = settings.data.replay
        if replay is not None and replay.labelled is not None:
            old, text = replayed_labelled(settings.data, replay.labelled), kept(settings.text)
            texts = prepare_labelled(old, text, cache_directory() / "corpora", listener, prepared.tokenizers)
            refuse_other_replay(replay.labelled, texts.labels, prepared.labels)
            objective.replay(replay.labelled, texts, objective.labelled(texts.train), replay.share)
        return objective

    def load(
        self, bundle: OpenBundle, device: "str | torch.device", engine: str, precision: str
    ) -> "Classifier | Tagger":
        from regard.bundle.bundle import read_network
        from regard.tasks.classify.classifier import Classifier
        from regard.tasks.classify.tagger import Tagger

        torch_only(engine, precision)
        config, network = bundle.config, read_network(bundle, device)
        made: Any = Tagger if config.labels_of == "token" else Classifier
        served: Classifier | Tagger = made(
            network,
            bundle.tokenizers.source,
            config.labels,
            reach=config.reach,
            longest=config.longest,
            bundle=bundle,
        )
        return served

    def test_set(self, served: "Classifier | Tagger", flags: TestFlags) -> "ClassifyTest":
        from regard.tasks.classify.evaluate import test_from_flags

        return test_from_flags(served, flags)

    def evaluate(self, served: "Classifier | Tagger", test: "ClassifyTest") -> "Evaluation":
        from regard.tasks.classify.evaluate import evaluate_classifier

        return evaluate_classifier(served, test)

    def shown(self, metrics: Mapping[str, Any]) -> str:
        return shown_labels(metrics)


def shown_labels(metrics: Mapping[str, Any]) -> str:
    """Accuracy, F1 and the confusion matrix, as `regard evaluate` prints them."""

    def line(heading: str, name: str) -> str:
        interval = metrics.get("scores", {}).get(name, {}).get("interval")
        bounds = "" if interval is None else f"  [{100 * interval[0]:.2f}, {100 * interval[1]:.2f}]"
        return f"{heading:<8} {100 * metrics[name]:6.2f} %{bounds}\n"

    return (
        f"{line('accuracy', 'accuracy')}{line('F1', 'f1')}\n"
        "how often each label (a row) was taken for each (a column)\n"
        f"{_confusion(metrics['labels'], metrics['confusion'])}"
    )


def _confusion(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    names = [shown(label) for label in labels]
    rows = [["", *names], *([name, *map(str, row)] for name, row in zip(names, counts, strict=True))]
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = ([row[0].ljust(first), *map(str.rjust, row[1:], others)] for row in rows)
    return "".join(f"{'  '.join(cells)}\n" for cells in lines)
