"""Which weights a run takes from a base model of another task, kind of network, set of labels or vocabulary.

Tensors are taken by module: what has the same name and shape, and what a stack of another name holds where the new network has no other
use for it. Outputs are taken only for the same vocabulary or the same labels. Rows of an embedding are taken by their pieces.

    new network         its encoder is                                  its decoder, or its one stack, is
    encoder             the base's encoder, else its one stack          -
    encoder + decoder   the base's encoder, else a prefix stack         the base's decoder, else its one stack
    one stack           -                                               the base's decoder, else its encoder
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.bundle.building import meta_network
from regard.bundle.bundle import read_network
from regard.bundle.config import BundleSettings
from regard.bundle.opened import OpenBundle
from regard.errors import ConfigError
from regard.layers.positions import RelativeBias
from regard.models.config import BagConfig
from regard.models.network import ClassifierNetwork
from regard.models.prefix import PrefixTransformer
from regard.tasks.module_names import listed
from regard.text.build import TokenizerPair
from regard.text.growing import spelled
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import Vocabulary
from regard.training.objective import Fitted, Trained

TABLES = {"source.embedding.weight": "source", "target.embedding.weight": "target"}
OUTPUTS = ("output", "output_bias")
READING = ("encoder", "encoder_norm", "encoder_bias", "source.positions", "source.norm")
WRITING = ("decoder", "decoder_norm", "decoder_bias", "target.positions", "target.norm")

Row = int | list[int] | None
"""The row of the base that a piece has: one, the mean of several, or none."""


def transfer_of(objective: Trained | Fitted, base: OpenBundle | None) -> "Transfer | None":
    """The transfer to an objective's network. None: there is no base, or all of it is taken over as it is."""
    if base is None or not isinstance(objective.codecs, TokenizerPair) or not isinstance(base.codecs, TokenizerPair):
        return None
    bundle, ours, theirs = objective.bundle, objective.codecs, base.codecs
    network = bundle.task == base.config.task and type(bundle.model) is type(base.config.model)
    vocabulary = (
        ours.source.vocabulary == theirs.source.vocabulary and ours.target.vocabulary == theirs.target.vocabulary
    )
    if network and vocabulary and _labels(bundle) == _labels(base.config):
        return None
    if isinstance(base.config.model, BagConfig):
        raise ConfigError(
            "text.grow: a bag of words has a weight for each piece and label, and none for new pieces; leave it out"
        )
    return Transfer(base, bundle, ours)


def _labels(config: Any) -> Any:
    return getattr(config, "labels", None)


@dataclass(frozen=True)
class _Network:
    """A network without numbers: its tensors, each with all its names, and their vocabularies."""

    module: nn.Module
    tensors: dict[str, tuple[Tensor, tuple[str, ...]]]  # by the first name
    tokenizers: TokenizerPair
    labels: Any

    @staticmethod
    def of(config: BundleSettings, tokenizers: TokenizerPair) -> "_Network":
        module = meta_network(config)
        names: dict[int, list[str]] = {}
        tensors = module.state_dict(keep_vars=True)
        for name, tensor in tensors.items():
            names.setdefault(id(tensor), []).append(name)
        return _Network(
            module, {own[0]: (tensors[own[0]], tuple(own)) for own in names.values()}, tokenizers, _labels(config)
        )

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every name."""
        return {name: tuple(tensor.shape) for tensor, names in self.tensors.values() for name in names}

    @property
    def classifies(self) -> bool:
        return isinstance(self.module, ClassifierNetwork)

    @property
    def tied_output(self) -> Sequence[str]:
        """The embedding that is the output too: that of the target, else of the source."""
        return [name for name in reversed(TABLES) if name in self.shapes][:1]

    def has(self, stack: str) -> bool:
        return any(name.startswith(f"{stack}.") for name in self.tensors)

    def tokenizer(self, name: str) -> Tokenizer:
        """The tokenizer whose pieces are the rows of a tensor. A masked encoder writes what it reads."""
        reads = TABLES.get(name) == "source" or not self.has("decoder")
        return self.tokenizers.source if reads else self.tokenizers.target

    def bidirectional(self, name: str) -> bool | None:
        """Whether a table of relative positions tells both directions apart; None: it is no such table."""
        owner = self.module.get_submodule(name.rpartition(".")[0])
        return owner.bidirectional if isinstance(owner, RelativeBias) else None

    def keeps_pad(self, name: str) -> bool:
        """Whether the last row of an embedding is padding, which stays zero, and no vector of the start token."""
        owner = self.module.get_submodule(name.rpartition(".")[0])
        return getattr(owner, "padding_idx", None) is not None


class Transfer:
    """The tensors that a new network takes from its base, those that are new, and those of the base that are left out."""

    def __init__(self, base: OpenBundle, bundle: BundleSettings, codecs: TokenizerPair) -> None:
        """bundle, codecs: of the new run."""
        self.base, self.bundle = base, bundle
        self._ours, self._theirs = _Network.of(bundle, codecs), _Network.of(base.config, base.tokenizers)
        self.taken = {name: source for name in self._ours.tensors if (source := self._source(name)) is not None}
        """Tensor of the new network -> tensor of the base."""
        self.new = tuple(name for name in self._ours.tensors if name not in self.taken)
        used = {self._first_name(source) for source in self.taken.values()}
        self.left_out = tuple(name for name in self._theirs.tensors if name not in used)
        """Tensors of the base that nothing takes."""
        same_task = bundle.task == base.config.task and type(bundle.model) is type(base.config.model)
        self.whole = same_task and not self.new and not self.left_out
        """Whether the network is that of the base, but for pieces that its vocabulary lacked: it may be validated as step 0."""
        if not self.taken:
            raise ConfigError(
                f"train.start: {base.directory} has nothing in common with this network: no tensor of the same module and shape; "
                "leave it out, or start from another model"
            )

    @property
    def fresh(self) -> tuple[str, ...]:
        """The tensors that are new, and those with rows for new pieces: what LoRA must train in full."""
        return (*self.new, *(name for name in self.taken if self._new_pieces(name)))

    @torch.no_grad()
    def fill(self, network: nn.Module) -> None:
        """Put the weights of the base into a new network, whose other weights stay as they are."""
        stored, state = read_network(self.base).state_dict(), network.state_dict()
        for name, source in self.taken.items():
            rows = self._rows(name, source)
            if rows is None:
                state[name].copy_(stored[source])
            else:
                _fill_rows(state[name], stored[source], rows)

    def notes(self) -> Iterator[str]:
        """Notes for the user: taken, new and left out."""
        config, ours = self.base.config, self._ours
        yield f"it starts from {self.base.directory}, a model for task {config.task!r}"
        size = sum(ours.tensors[name][0].numel() for name in self.taken)
        every = sum(tensor.numel() for tensor, _ in ours.tensors.values())
        yield f"taken: {listed(self.taken, ours.tensors)} ({size:,} of {every:,} weights)"
        if self.new:
            yield f"new: {listed(self.new, ours.tensors)}"
        if self.left_out:
            yield f"left out: {listed(self.left_out, self._theirs.tensors)}"
        yield from self._notes_on_vocabulary()

    def vocabularies(self, name: str) -> tuple[Vocabulary, Vocabulary]:
        """The pieces of the rows of a tensor that is taken, and those of the base's."""
        return self._ours.tokenizer(name).vocabulary, self._theirs.tokenizer(self.taken[name]).vocabulary

    def record(self) -> dict[str, Any]:
        """The same by tensors, for the file of the run."""
        return {
            "start": str(self.base.directory),
            "task": self.base.config.task,
            "taken": self.taken,
            "new": list(self.new),
            "left_out": list(self.left_out),
            "new_pieces": {name: pieces for name in self.taken if (pieces := self._new_pieces(name))},
        }

    def _notes_on_vocabulary(self) -> Iterator[str]:
        grown = {
            TABLES[name]: (name, pieces) for name in self.taken if name in TABLES and (pieces := self._new_pieces(name))
        }
        joint = self._ours.tokenizers.joint
        for side, (name, pieces) in list(grown.items())[: 1 if joint else None]:
            before = len(self._theirs.tokenizer(self.taken[name]).vocabulary)
            unit = "piece" if len(pieces) == 1 else "pieces"
            which = "vocabulary" if joint else f"vocabulary of the {side}"
            yield f"its {which} of {before:,} grows by {len(pieces):,} {unit}, to {before + len(pieces):,}"

    def _new_pieces(self, name: str) -> list[str]:
        """The pieces of a tensor's rows that the base has not."""
        rows = self._rows(name, self.taken[name])
        pieces = self._ours.tokenizer(name).vocabulary.pieces
        return [] if rows is None else [pieces[at] for at, row in enumerate(rows[:-1]) if not isinstance(row, int)]

    def _source(self, name: str) -> str | None:
        """The tensor of the base for a tensor of the new network; None: it is new."""
        tensor, names = self._ours.tensors[name]
        shapes = self._theirs.shapes
        candidates = [source for own in names for source in self._candidates(own)]
        for source in candidates:
            if source not in shapes:
                continue
            if _is_of_vocabulary(name, self._ours) and _is_of_vocabulary(source, self._theirs):
                ours, theirs = self._ours.tokenizer(name).vocabulary, self._theirs.tokenizer(source).vocabulary
                fits = shapes[source][1:] == tuple(tensor.shape)[1:] and all(map(ours.__contains__, theirs.pieces))
            else:
                fits = shapes[source] == tuple(tensor.shape)
            if fits and self._alike(name, source):
                return source
        return None

    def _candidates(self, name: str) -> Iterator[str]:
        """The tensors of the base with the same use, the likeliest first."""
        ours, theirs = self._ours, self._theirs
        if name in TABLES:
            yield name
            yield from (other for other in TABLES if other != name)
            return
        if name in OUTPUTS:
            if ours.classifies == theirs.classifies and (not ours.classifies or ours.labels == theirs.labels):
                yield name
            if name == OUTPUTS[0] and not (ours.classifies or theirs.classifies) and name not in theirs.shapes:
                yield from theirs.tied_output
            return
        yield name
        if _is_in(name, READING) and not theirs.has("encoder"):
            if isinstance(theirs.module, PrefixTransformer) or not ours.has("decoder"):
                yield name.replace("encoder", "decoder", 1).replace("source", "target", 1)
        elif _is_in(name, WRITING) and not theirs.has("decoder") and not ours.has("encoder"):
            yield name.replace("decoder", "encoder", 1).replace("target", "source", 1)

    def _alike(self, name: str, source: str) -> bool:
        """Whether two tensors of one shape mean the same: buckets of relative positions are of one direction or of both."""
        return "." not in name or self._ours.bidirectional(name) == self._theirs.bidirectional(source)

    def _rows(self, name: str, source: str) -> list[Row] | None:
        """For each row of a vocabulary's tensor the row of the base, the last being padding; None: all rows are taken as they are."""
        if not _is_of_vocabulary(name, self._ours):
            return None
        ours, theirs = self._ours.tokenizer(name), self._theirs.tokenizer(source)
        table = name in TABLES
        pads = not table or self._ours.keeps_pad(name) == self._theirs.keeps_pad(source)
        same_shape = (
            self._ours.shapes[name] == self._theirs.shapes[source]
        )  # a tied output has a row for padding, another none
        if ours.vocabulary == theirs.vocabulary and pads and same_shape:
            return None
        rows: list[Row] = [_row(piece, ours, theirs) for piece in ours.vocabulary.pieces[:-1]]
        return [*rows, theirs.vocabulary.pad if pads else None]

    def _first_name(self, name: str) -> str:
        return next(first for first, (_, names) in self._theirs.tensors.items() if name in names)


def _row(piece: str, ours: Tokenizer, theirs: Tokenizer) -> Row:
    if piece in theirs.vocabulary:
        return theirs.vocabulary.id_of(piece)
    return None if piece in ours.vocabulary.silent else spelled(theirs, piece)


def _is_in(name: str, modules: Sequence[str]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def _is_of_vocabulary(name: str, network: _Network) -> bool:
    """Whether the rows of a tensor are pieces of a vocabulary."""
    return name in TABLES or (name in OUTPUTS and not network.classifies)


def _fill_rows(tensor: Tensor, stored: Tensor, rows: Sequence[Row]) -> None:
    """Copy rows, average others, and leave the rest. Outputs have no row for padding."""
    own = list(enumerate(rows[: len(tensor)]))
    single = [(at, row) for at, row in own if isinstance(row, int)]
    places, sources = (torch.tensor([pair[side] for pair in single]) for side in (0, 1))
    tensor[places] = stored[sources].to(tensor)
    for at, row in own:
        if isinstance(row, list) and row:
            tensor[at] = stored[torch.tensor(row)].to(tensor).mean(dim=0)
