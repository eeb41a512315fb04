"""`nn.Linear` with Xavier initialisation and zero bias instead of torch's Kaiming initialisation."""

from torch import nn


class Linear(nn.Linear):
    """x W^T + b, with W from Xavier's uniform distribution and b = 0 (Glorot and Bengio 2010)."""

    def reset_parameters(self) -> None:
        """Initialise the weights. `nn.Linear` calls it when it is made."""
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
