"""The recurrent language model (Mikolov et al. 2010): the state after what was said tells what comes next.

It forgets by itself, so step by step no text is too long for it.

Shapes: B batch, T tokens, E embedding, H width, L layers, k hypotheses.
"""

from torch import Tensor

from regard.layers.dropout import Dropout
from regard.layers.recurrent import PARTS, State
from regard.models.config import RecurrentConfig
from regard.models.network import LanguageModel, StepRecord, sentences_of
from regard.models.recurrent import plain_decoder, reset_parameters
from regard.models.state import RecurrentState
from regard.models.tables import embedded
from regard.ops.probe import Probe


class RecurrentLanguageModel(LanguageModel):
    """Embeddings, a stack of cells and the projection to the vocabulary."""

    def __init__(self, config: RecurrentConfig, vocabulary: int) -> None:
        super().__init__(vocabulary, config.embedding_width, tie=config.tie)
        self.shape = (PARTS[config.cell], config.depth[1], config.width)  # of a state
        self.decoder = plain_decoder(config)
        self.dropout = Dropout(config.dropout)
        reset_parameters(self, config.cell)

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """[B, T, E]"""
        x = self._embed(target_in)
        if probe is not None:
            x = probe.see("decoder.embedding", x)
        hidden, _ = self.decoder(x, self._first(len(x)), None, None)
        dropped: Tensor = self.dropout(hidden)
        return dropped

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> RecurrentState:
        """The tokens [B, P] that are already said are read in one pass."""
        rows = self._first(sentences_of(source, prefix))
        if prefix is not None and prefix.shape[1]:
            _, rows = self.decoder(self._embed(prefix), rows, None, None)
        return RecurrentState(None, rows, 1)

    def step(
        self, tokens: Tensor, state: RecurrentState, record: bool = False
    ) -> tuple[Tensor, RecurrentState, StepRecord | None]:
        """tokens [B, k], one for each hypothesis -> logits [B, k, V] of the next, and the new state."""
        hidden, rows = self.decoder(self._embed(tokens.reshape(-1, 1)), state.rows, None, None)
        return self.project(hidden.view(*tokens.shape, -1)), RecurrentState(None, rows, tokens.shape[1]), None

    def _first(self, rows: int) -> State:
        """The state before anything was said: zeros."""
        parts, layers, width = self.shape
        return tuple(self.target_embedding.weight.new_zeros(rows, layers, width) for _ in range(parts))

    def _embed(self, ids: Tensor) -> Tensor:
        """Scaled embeddings, [B, T, E]."""
        x: Tensor = self.dropout(embedded(self.target_embedding, ids))
        return x
