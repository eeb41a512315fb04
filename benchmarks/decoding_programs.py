"""The programs that `decoding.py` compares, each in a process of its own: regard's engines, CTranslate2, Hugging Face's `generate`."""

import multiprocessing
import os
import platform
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from itertools import cycle, islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16")
CORES = len(os.sched_getaffinity(0))
CT2_BATCHES = (512, 1024, 2048, 4096)  # tokens


def say(message: str) -> None:
    """Tell how far it is, beside the results."""
    print(f"{time.strftime('%H:%M:%S')} {message}", file=sys.stderr, flush=True)


def processor() -> str:
    """The model of the processor, and what it has of `FLAGS`."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    have = [flag for flag in FLAGS if flag in found.get("flags", "").split()]
    return f"{found.get('model name', platform.machine())} ({', '.join(have) or 'no AVX2'})"


def clock_of(options: dict[str, Any]) -> Callable[[], float]:
    """The seconds of the wall, or those that the threads of this process ran."""
    return time.process_time if options["processor_time"] else time.perf_counter


class Runner:
    """A program in a process of its own, which does what it is asked."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self._name = name
        self._pipe, pipe = context.Pipe()
        # a daemon: it does not outlive a benchmark that ends early
        self._process = context.Process(target=_serve, args=(name, options, pipe), daemon=True)
        self._process.start()
        pipe.close()

    def ask(self, task: str, beam: int) -> Any:
        """The answer of the program; where it fails or dies, so does the benchmark, and says why."""
        began = time.perf_counter()
        try:
            self._pipe.send((task, beam))
            sound, answer = self._pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join()
            if self._pipe.poll():  # it failed before it was asked
                raise SystemExit(f"{self._name}: failed\n{self._pipe.recv()[1]}") from None
            raise SystemExit(f"{self._name}: died, exit code {self._process.exitcode}") from None
        if not sound:
            raise SystemExit(f"{self._name}: failed\n{answer}")
        say(f"{self._name}: {task}, beam {beam}, {time.perf_counter() - began:.1f} s")
        return answer

    def dismiss(self) -> None:
        self._pipe.send(None)
        self._process.join()


Translate = Callable[[Any, int], Any]


def _serve(name: str, options: dict[str, Any], pipe: Connection) -> None:
    """Answer with (True, what was asked for), or with (False, what went wrong) and end."""
    try:
        answers = _answers(name, options)
        for task, beam in iter(pipe.recv, None):
            pipe.send((True, answers[task](beam)))
    except EOFError:
        pass  # the benchmark has ended
    except SystemExit as refusal:
        pipe.send((False, str(refusal)))
    except Exception:
        pipe.send((False, traceback.format_exc()))


def _answers(name: str, options: dict[str, Any]) -> dict[str, Callable[[int], Any]]:
    """The tasks that a program can be asked for: task -> beam -> answer."""
    lines = [line for line in options["text"].read_text(encoding="utf-8").split("\n") if line.strip()]
    lines = lines[: options["sentences"]]
    build = _regard if name.startswith("regard") else _ctranslate2 if name.startswith("CT") else _hugging_face
    prepare, translate, read, stream = build(name, options)
    together = prepare(lines)
    some = [prepare([line]) for line in lines[:: max(1, len(lines) // options["singly"])][: options["singly"]]]

    clock = clock_of(options)

    def timed(work: Callable[[], object]) -> float:
        began = clock()
        work()
        return clock() - began

    def singly(beam: int) -> float:
        return statistics.median(timed(lambda one=one: translate(one, beam)) for one in some)

    return {
        "texts": lambda beam: read(lines, translate(together, beam)),
        "together": lambda beam: timed(lambda: translate(together, beam)),
        "singly": singly,
        "stream": lambda beam: stream(list(islice(cycle(lines), options["stream"])), beam),
    }


def _regard(full_name: str, options: dict[str, Any]) -> tuple[Any, Translate, Any, Any]:
    """Text in, text out."""
    from regard.cli.lines import process_lines
    from regard.cli.translate import TranslateLines
    from regard.search.options import SearchOptions
    from regard.tasks.load import load_served

    name = full_name.removesuffix(" shortlist")
    engine, _, precision = name.removeprefix("regard ").partition(" ")
    chosen = {"alpha": options["alpha"], "shortlist": name != full_name}
    if engine == "torch":
        import torch

        torch.set_num_threads(CORES)
    model = load_served(options["bundle"], engine=engine, precision=precision or "float32")  # type: ignore[arg-type]

    def translate(texts: list[str], beam: int) -> list[str]:
        batch_tokens = options["batch_tokens"] if engine == "torch" else None
        found = model.translate(texts, beam=beam, batch_tokens=batch_tokens, scores=options["scores"], **chosen)
        return [one.text for one in found]

    def stream(lines: list[str], beam: int) -> float:
        search = SearchOptions(beam=beam, **chosen)
        job = TranslateLines(model, search, with_prefix=False, with_phrases=False, align=False)
        with tempfile.TemporaryDirectory() as home:
            Path(home, "in").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            began = clock_of(options)()
            process_lines(job, f"{home}/in", f"{home}/out", settings={})
            return clock_of(options)() - began

    return list, translate, lambda lines, texts: texts, stream


def _ctranslate2(name: str, options: dict[str, Any]) -> tuple[Any, Translate, Any, Any]:
    """Pieces in, pieces out, sorted and with the settings that serve it best."""
    import ctranslate2

    from regard.bundle.ctranslate2 import converted
    from regard.bundle.locate import find_bundle
    from regard.tasks.bundles import open_bundle

    bundle, precision = open_bundle(find_bundle(options["bundle"])), name.split()[1]
    translator = ctranslate2.Translator(
        str(converted(bundle, precision)),  # type: ignore[arg-type]
        compute_type=precision,
        inter_threads=CORES,
        intra_threads=1,
    )
    source, target = bundle.tokenizers.source, bundle.tokenizers.target
    best: dict[int, int] = {}

    def prepare(texts: list[str]) -> list[list[str]]:
        rows = [[source.vocabulary.pieces[index] for index in ids] for ids in source.encode_batch(texts)]
        return sorted(rows, key=len, reverse=True)

    def run(rows: list[list[str]], beam: int, batch: int) -> list[Any]:
        found: list[Any] = translator.translate_batch(
            rows,
            beam_size=beam,
            length_penalty=options["alpha"],
            max_batch_size=batch,
            batch_type="tokens",
            return_scores=options["scores"],
            max_decoding_length=2 * len(rows[0]) + 10,  # as regard's longest; else what does not end goes on to 256
        )
        return found

    def translate(rows: list[list[str]], beam: int) -> list[Any]:
        if beam not in best and len(rows) > 1:
            times = {}
            for batch in CT2_BATCHES * 2:
                began = clock_of(options)()
                run(rows, beam, batch)
                times[batch] = min(times.get(batch, float("inf")), clock_of(options)() - began)
            best[beam] = min(times, key=times.__getitem__)
        return run(rows, beam, best.get(beam, CT2_BATCHES[0]))

    def read(lines: list[str], found: list[Any]) -> list[str]:
        lengths = [len(ids) for ids in source.encode_batch(lines)]
        order = sorted(range(len(lines)), key=lambda number: lengths[number], reverse=True)  # as `prepare` sorts
        texts = dict(zip(order, found, strict=True))
        ids = [[target.vocabulary.id_of(piece) for piece in texts[n].hypotheses[0]] for n in range(len(lines))]
        return [target.decode(row) for row in ids]

    def stream(lines: list[str], beam: int) -> float:
        rows = prepare(lines)
        began = clock_of(options)()
        translate(rows, beam)
        return clock_of(options)() - began

    return prepare, translate, read, stream


def _hugging_face(name: str, options: dict[str, Any]) -> tuple[Any, Translate, Any, Any]:
    """Ids in, ids out, in regard torch's batches."""
    import peers
    import torch

    from regard.bundle.locate import find_bundle
    from regard.engine.batching import length_batches, padded
    from regard.tasks.bundles import load_bundle

    torch.set_num_threads(CORES)
    bundle = load_bundle(find_bundle(options["bundle"]))
    source, target = bundle.tokenizers.source, bundle.tokenizers.target
    pad = target.vocabulary.pad
    model = peers.exported(bundle.model, bundle.config.model, len(target.vocabulary))

    def prepare(texts: list[str]) -> list[tuple[list[int], torch.Tensor]]:
        rows = source.encode_batch(texts)
        batches = length_batches([len(ids) for ids in rows], options["batch_tokens"])
        return [(batch, padded([[*rows[n], 0] for n in batch], pad, torch.device("cpu"))) for batch in batches]

    @torch.inference_mode()
    def translate(batches: list[tuple[list[int], torch.Tensor]], beam: int) -> dict[int, list[int]]:
        found = {}
        for numbers, ids in batches:
            said = model.generate(
                ids,
                attention_mask=(ids != pad).long(),
                num_beams=beam,
                do_sample=False,
                **({"length_penalty": options["alpha"]} if beam > 1 else {}),
                max_new_tokens=2 * ids.shape[1] + 10,
            )
            found.update(zip(numbers, said.tolist(), strict=True))
        return found

    def read(lines: list[str], found: dict[int, list[int]]) -> list[str]:
        return [target.decode(found[number]) for number in range(len(lines))]

    return prepare, translate, read, None
