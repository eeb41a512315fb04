"""The table of token vectors: torch's `nn.Embedding`, initialised for inputs that are scaled by sqrt(D)."""

from torch import nn


class TokenEmbedding(nn.Embedding):
    """V vectors of width D, normal with standard deviation 1 / sqrt(D). The row `padding_idx`, if there is one, is zero and stays so.

    Scaled by sqrt(D), as `TokenFront` does, a vector has unit variance; as weights of the output, logits are of order one.
    """

    def reset_parameters(self) -> None:
        """Initialise the table. `nn.Embedding` calls it when it is made."""
        nn.init.normal_(self.weight, std=self.embedding_dim**-0.5)
        self._fill_padding_idx_with_zero()


def token_embedding(vocabulary: int, width: int) -> TokenEmbedding:
    """A table [V, D] whose last row, pad, stays zero."""
    return TokenEmbedding(vocabulary, width, padding_idx=vocabulary - 1)
