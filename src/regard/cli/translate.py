"""`regard translate`: translates line by line, in order. An empty line gives an empty line."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from regard.cli import search_flags as flags
from regard.cli.align import Method
from regard.cli.direction_flags import From, To
from regard.cli.term_flags import GlossaryFile, Protect, chosen_terms, resume_keys
from regard.extras import missing, needing, require
from regard.files import to_json_line
from regard.search.options import SearchKeywords

if TYPE_CHECKING:
    from regard.bundle.precision import PrecisionChoice
    from regard.cli.lines import LineResult
    from regard.search.options import SearchOptions
    from regard.tasks.checks import Engine
    from regard.tasks.translate.language_check import LanguageCheck
    from regard.tasks.translate.reranking import Reranker
    from regard.tasks.translate.terms.guided import Terms
    from regard.tasks.translate.translation import Source, Translation
    from regard.tasks.translate.translator import Translator


@flags.search_flags()
def translate(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    input_file: Annotated[str, typer.Option("-i", "--input", help="Text to translate; - is stdin.")] = "-",
    output_file: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="Where results go; stdout by default. If interrupted, run it again: it goes on."
        ),
    ] = None,
    *,
    to: To = None,
    from_: From = None,
    search: SearchKeywords,
    with_prefix: flags.WithPrefix = False,
    with_phrases: flags.WithPhrases = False,
    protect: Protect = None,
    glossary: GlossaryFile = None,
    ensemble: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Another run or bundle to decide with; may be repeated.")
    ] = None,
    rerank: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Choose among the hypotheses by a language model of lines (less of what is probable anyway), or by a reverse translator.",
        ),
    ] = None,
    rerank_weight: Annotated[float, typer.Option(help="What the second model counts.")] = 0.5,
    rerank_among: Annotated[int, typer.Option(min=2, max=1000, help="How many hypotheses it chooses from.")] = 5,
    align: Annotated[
        bool, typer.Option("--align", help="Add word alignments after a tab (Pharaoh, source-target).")
    ] = False,
    align_method: Method = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One object a line, with scores, tokens and word alignment.")
    ] = False,
    format: Annotated[
        str | None,
        typer.Option(
            help="Translate a document: auto (by the name of the file), text, html, md, srt, vtt, docx, po or xliff; its markup "
            "stays. Without it, text line by line."
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
    engine: Annotated[str, typer.Option(help="auto, torch, or ct2: CTranslate2, faster on a CPU.")] = "auto",
    precision: Annotated[str, typer.Option(help="CTranslate2's weights: float32, bfloat16, int8 or auto.")] = "float32",
) -> None:
    """Translate text with a trained model."""
    from regard.bundle.locate import find_bundle
    from regard.bundle.manifest import identity
    from regard.cli.align import read_method
    from regard.cli.lines import process_lines, quiet_if_typed
    from regard.cli.streams import print_status
    from regard.engine.constraints import ConstraintWarning, note_on_suppressed
    from regard.engine.input_length import TruncationWarning
    from regard.errors import ConfigError

    options = flags.search_options(search)
    document = None
    if format is not None:
        from regard.cli.documents import OpenedDocument, refuse_line_options

        line_options = {
            "--align": align,
            "--json": as_json,
            "--with-prefix": with_prefix,
            "--with-phrases": with_phrases,
        }
        refuse_line_options(format, {**line_options, "--nbest": options.nbest > 1})
        document = OpenedDocument(input_file, output_file, format)
    bundles = [find_bundle(path) for path in (bundle, *(ensemble or ()))]
    settings = read_method(align_method, "--align-method")
    with quiet_if_typed(input_file):
        translator = load_translators(bundles, device, engine, precision).towards(to, from_)
    translator.alignment = settings or translator.alignment
    if rerank is not None:
        translator.reranker = _reranker(rerank, rerank_weight, rerank_among, device, translator)
    elif (rerank_weight, rerank_among) != (0.5, 5):
        raise ConfigError(
            "--rerank-weight and --rerank-among have no effect without --rerank DIR; add it, or leave them out"
        )
    terms = chosen_terms(protect, glossary, translator)
    if document is not None:
        document.translate(translator, options, terms)
        return
    processor = TranslateLines(translator, options, with_prefix, with_phrases, align, as_json, terms=terms)
    chosen = asdict(options)
    if options.time_limit is None:
        del chosen["time_limit"]  # a file begun before there was --time-limit can be resumed
    if not options.shortlist:
        del chosen["shortlist"]  # likewise
    resume_settings = {
        **chosen,
        "with_prefix": with_prefix,
        "with_phrases": with_phrases,
        "align": align,
        "align_method": translator.alignment.model_dump(mode="json"),
        "engine": engine,
        "precision": precision,
        "models": [identity(path) for path in bundles],
        # a file begun before there was --json, --to or --from can be resumed
        **({"json": True} if as_json else {}),
        **({"to": to} if to is not None else {}),
        **({"from": from_} if from_ is not None else {}),
        **({} if rerank is None else {"rerank": [identity(find_bundle(rerank)), rerank_weight, rerank_among]}),
        **resume_keys(protect, glossary),
    }
    with warnings.catch_warnings(), quiet_if_typed(input_file):
        warnings.simplefilter("ignore", TruncationWarning)  # reported with the line's number
        warnings.simplefilter("ignore", ConstraintWarning)
        processor.check()
        if as_json and translator.aligns and not processor.can_align:
            print_status(f"note: alignment is null: {missing('word alignment', 'torch')}")
        target = translator.tokenizers.target.vocabulary
        if options.suppress and (note := note_on_suppressed(target, options.suppress)) is not None:
            print_status(f"note: {note}")
        process_lines(processor, input_file, output_file, settings=resume_settings)


class Line(NamedTuple):
    """The parsed fields of an input line, and a warning of its language."""

    source: "Source"
    prefix: str
    phrases: Sequence[str]
    warning: str | None


@dataclass(frozen=True)
class TranslateLines:
    """Translates lines: a `LineProcessor`."""

    translator: "Translator"
    options: "SearchOptions"
    with_prefix: bool
    with_phrases: bool
    align: bool
    as_json: bool = False
    with_alignment: bool = True
    """Whether JSON has word alignments, which cost one more reading."""
    terms: "Terms | None" = None
    """Protected strings and a glossary."""

    name = "translating"

    @cached_property
    def language(self) -> "LanguageCheck":
        """Notices lines in another language."""
        from regard.tasks.translate.language_check import LanguageCheck

        config = None if self.translator.bundle is None else self.translator.bundle.config
        piece_length = getattr(config, "characters_per_piece", None)  # other tasks' translators may lack it
        languages, directions = self.translator.languages, self.translator.directions
        if directions.seen:
            piece_length = directions.characters_per_piece(languages)
            languages = languages.model_copy(update={"source": directions.reads(languages)})
        return LanguageCheck(self.translator.tokenizers, languages, piece_length)

    @cached_property
    def can_align(self) -> bool:
        """Whether words can be aligned, here and with this model."""
        return self.with_alignment and self.translator.can_align

    def check(self) -> None:
        """Refuse invalid options, and load what the search needs, before any input is read."""
        if self.align and not self.can_align:
            require("torch", "--align")
        constrained = int(self.with_prefix or self.with_phrases)
        self.translator.search(
            [""] * constrained,
            self.options,
            prefixes=["a"] * constrained if self.with_prefix else None,
            phrases=[["a"]] * constrained if self.with_phrases else None,
        )
        self.translator.prepare(self.options, constrained=bool(constrained))

    @cached_property
    def max_batch_width(self) -> int | None:
        """The most tokens of a batch, padding included."""
        # random draws depend on the position in the window; torch searches the batches of a window side by side
        return None if self.options.draws else self.translator.fast_batch_tokens(self.options)

    def parse(self, first: int, lines: list[str]) -> list[Line]:
        """The lines, encoded as tokens."""
        from regard.engine.constraints import MOST_PHRASES

        texts, prefixes, phrases = flags.fields(lines, self.with_prefix, self.with_phrases)
        empty, sources = [""] * len(texts), self.translator.read(texts)
        warnings: list[str | None] = [None] * len(texts)
        if (suspicious := self.language.warning(first, sources)) is not None:
            warnings[suspicious[0]] = suspicious[1]
        for place, wanted in enumerate(phrases or ()):
            if len(wanted) > MOST_PHRASES:
                warnings[place] = f"line {first + place + 1}: of its {len(wanted):,} phrases {MOST_PHRASES} are read"
                del wanted[MOST_PHRASES:]
        return [*map(Line, sources, prefixes or empty, phrases or empty, warnings)]

    def width(self, line: Line) -> int:
        """The number of source tokens."""
        return len(line.source.ids)

    def process(self, first: int, places: list[int], lines: list[Line]) -> "list[LineResult]":
        """The translations of a batch of lines."""
        from regard.cli.lines import LineResult

        options = self.options
        if options.draws:
            options = replace(options, seed=(options.seed + first) % 2**64)
        search = self.translator.search_read if self.terms is None else partial(self.terms.search_read, self.translator)
        translations = search(
            [line.source for line in lines],
            options,
            prefixes=[line.prefix for line in lines] if self.with_prefix else None,
            phrases=[line.phrases for line in lines] if self.with_phrases else None,
            batch_tokens=self.max_batch_width,  # the lines are one batch; others are searched beside it
            scores=self.as_json or options.nbest > 1,  # other output does not print them
        )
        return [
            LineResult(
                "".join(f"{text}\n" for text in self._lines(first + place, translation)),
                tuple(self._remarks(first + place, line, translation)),
            )
            for place, line, translation in zip(places, lines, translations, strict=True)
        ]

    def _lines(self, number: int, translation: "Translation") -> Iterator[str]:
        if self.as_json:
            yield to_json_line(self._record(translation)).rstrip("\n")
            return
        if self.options.nbest == 1:
            yield f"{translation.text}\t{_pharaoh(translation)}" if self.align else translation.text
            return
        for alternative in translation.alternatives:
            rank = alternative.score if alternative.utility is None else alternative.utility
            fields = [str(number), alternative.text, f"F0={alternative.logprob:.6f}", f"{rank:.6f}"]
            yield " ||| ".join([*fields, _pharaoh(alternative)] if self.align else fields)

    def _record(self, translation: "Translation") -> dict[str, Any]:
        """The JSON object of a line; docs/decoding.md describes its keys."""
        record: dict[str, Any] = {"source": translation.source, **self._fields(translation)}
        if translation.truncated:
            record["truncated"] = True
        if self.options.nbest > 1:
            record["nbest"] = [self._fields(alternative) for alternative in translation.alternatives]
        return record

    def _fields(self, translation: "Translation") -> dict[str, Any]:
        fields: dict[str, Any] = {
            "translation": translation.text,
            "score": translation.score,
            "logprob": translation.logprob,
            "finished": translation.finished,
            "tokens": translation.tokens,
            "alignment": translation.alignment if self.can_align else None,
        }
        if translation.second_logprob is not None:
            fields["second_logprob"] = translation.second_logprob
        if translation.utility is not None:
            fields["utility"] = translation.utility
        if self.terms is not None:
            fields |= terms_record(translation)
        if translation.unmet:
            fields["unmet"] = translation.unmet
        if translation.proof is not None:
            fields["proof"] = asdict(translation.proof)
        if translation.timed_out:
            fields["timed_out"] = True
        return fields

    def _remarks(self, number: int, line: Line, translation: "Translation") -> Iterator[str]:
        """Warnings and proofs for a line, printed to stderr."""
        unmet_terms = [term for term in translation.terms if term.said is None]
        unusual = (
            line.warning or translation.truncated or translation.timed_out or translation.unmet or translation.proof
        ) or unmet_terms
        if translation.finished and not unusual:
            return
        from regard.tasks.translate.output_length import cut_by_width

        if line.warning is not None:
            yield f"regard: warning: {line.warning}"
        if translation.truncated:
            limit = f"longer than {self.translator.max_tokens} tokens"
            yield f"regard: warning: line {number + 1} is {limit}; its end was not read"
        if cut_by_width(len(line.source.ids), self.options, translation, self.translator.longest):
            most = f"cut at {len(translation.tokens)} tokens, the most with {self.options.width:,} hypotheses"
            yield f"regard: warning: line {number + 1}: its translation was {most}"
        if translation.timed_out:
            empty = "" if translation.text else "; its translation is empty"
            yield f"regard: warning: line {number + 1}: --time-limit {self.options.time_limit:g} ended its search{empty}"
        for term in unmet_terms:
            wanted = "' or '".join(term.targets)
            yield f"regard: warning: line {number + 1}: its translation does not have '{wanted}' for {term.source!r}"
        for phrase in translation.unmet:
            yield f"regard: warning: line {number + 1}: its translation does not have {phrase!r}"
        if translation.proof is not None:
            yield f"regard: line {number + 1}: {translation.proof}"


def _reranker(path: Path, weight: float, among: int, device: str, translator: "Translator") -> "Reranker":
    with needing("--rerank"):
        from regard.tasks.translate.reranking import check_direction, load_reranker

        reranker = load_reranker(path, weight, among, device)
        check_direction(reranker, translator, path)
        return reranker


def load_translators(
    bundles: Sequence[Path], device: str, engine: str = "auto", precision: str = "float32"
) -> "Translator":
    """The translator of a bundle, or an ensemble of several."""
    from regard.errors import ConfigError
    from regard.tasks.load import load_translator

    if len(bundles) == 1:
        return load_translator(bundles[0], device, cast("Engine", engine), cast("PrecisionChoice", precision))
    if engine not in ("auto", "torch") or precision != "float32":
        raise ConfigError(
            f"--engine {engine} --precision {precision}: an ensemble runs on torch, in float32; leave them out"
        )
    from regard.tasks.translate.ensemble import load_ensemble

    return load_ensemble(bundles, device)


def terms_record(translation: "Translation") -> dict[str, Any]:
    """The protected strings and terms that a translation has and lacks, for JSON."""
    text = translation.text
    return {
        "protected": [
            {"text": text[span.start : span.end], "start": span.start, "end": span.end}
            for span in translation.protected
        ],
        "terms": [
            {"source": use.source, "targets": use.targets, "said": use.said, "line": use.line}
            for use in translation.terms
        ],
    }


def _pharaoh(translation: "Translation") -> str:
    from regard.metrics.alignment import to_pharaoh

    return to_pharaoh(frozenset(translation.alignment))
