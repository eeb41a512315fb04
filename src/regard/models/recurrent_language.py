"""The recurrent language model (Mikolov et al. 2010). It has no maximum context length.

Shapes: B batch, T tokens, E embedding, H width, L layers, k hypotheses.
"""

from jaxtyping import Float, Int
from torch import Tensor

from regard.layers.dropout import Dropout
from regard.layers.embedding import TokenEmbedding
from regard.layers.recurrent import PARTS, State
from regard.models.config import LanguageRecurrentConfig
from regard.models.network import LanguageModel, StepRecord, sentences_of
from regard.models.recurrent import plain_decoder, token_front
from regard.models.state import RecurrentState
from regard.ops.probe import Probe, within


class RecurrentLanguageModel(LanguageModel):
    """Front, a stack of cells and the projection to the vocabulary."""

    def __init__(self, config: LanguageRecurrentConfig, vocabulary: int) -> None:
        # pad has a vector too, as in `DecoderOnly`
        super().__init__(token_front(config, TokenEmbedding(vocabulary, config.embedding_width)), tie=config.tie)
        self.shape = (PARTS[config.cell], config.depth[1], config.width)  # of a state
        self.decoder = plain_decoder(config)
        self.dropout = Dropout(config.dropout)

    def hidden(
        self, source: Int[Tensor, "B S"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Float[Tensor, "B T E"]:
        """The last hidden states, which `project` maps to logits."""
        x = self.target.embed(target_in, probe=within(probe, "decoder"))
        hidden, _ = self.decoder(x, self._first(len(x)), None, None)
        dropped: Tensor = self.dropout(hidden)
        return dropped

    def start(self, source: Int[Tensor, "B S"] | None, prefix: Int[Tensor, "B P"] | None = None) -> RecurrentState:
        """Prefill the prefix in one pass."""
        rows = self._first(sentences_of(source, prefix))
        if prefix is not None and prefix.shape[1]:
            _, rows = self.decoder(self.target.embed(prefix), rows, None, None)
        return RecurrentState(None, rows, 1)

    def step(
        self, tokens: Int[Tensor, "B k"], state: RecurrentState, record: bool = False
    ) -> tuple[Float[Tensor, "B k V"], RecurrentState, StepRecord | None]:
        """Feed one token per hypothesis. Returns the logits of the next and the new state."""
        hidden, rows = self.decoder(self.target.embed(tokens.reshape(-1, 1)), state.rows, None, None)
        return self.project(hidden.view(*tokens.shape, -1)), RecurrentState(None, rows, tokens.shape[1]), None

    def _first(self, rows: int) -> State:
        """The initial state: zeros."""
        parts, layers, width = self.shape
        return tuple(self.target.embedding.weight.new_zeros(rows, layers, width) for _ in range(parts))
