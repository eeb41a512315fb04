"""The gated delta rule: a memory that is decayed, corrected and read (Schlag et al. 2021; Yang et al. 2024).

S_t = a_t (I - b_t k_t k_t^T) S_(t-1) + b_t k_t v_t^T and y_t = S_t^T q_t. The memory S maps keys to values; what it says of k_t is replaced
by v_t, as far as b_t says, and all of it fades by a_t. `delta_rule` runs it position by position. `chunked_delta_rule` gives the same in
chunks: within one the corrections u_t solve a triangular system, as S_t = a_t S_(t-1) + k_t u_t^T with u_t = b_t (v_t - a_t S_(t-1)^T k_t).

Shapes: B batch, H heads, T positions, k key width, v value width, N chunks, C positions of a chunk.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.ops.linear_attention import in_chunks

CHUNK = 64


def delta_rule(
    query: Float[Tensor, "B H T k"],
    keys: Float[Tensor, "B H T k"],  # of length one
    values: Float[Tensor, "B H T v"],
    log_decay: Float[Tensor, "B H T"],  # log a
    strength: Float[Tensor, "B H T"],  # b
    memory: Float[Tensor, "B H k v"],
) -> tuple[Float[Tensor, "B H T v"], Float[Tensor, "B H k v"]]:
    """The outputs and the last memory, by the recurrence itself."""
    outputs = []
    for t in range(query.shape[2]):
        key = keys[:, :, t, :, None]  # [B, H, k, 1]
        memory = log_decay[:, :, t, None, None].exp() * memory
        known = (memory * key).sum(dim=2)  # S^T k, [B, H, v]
        correction = strength[:, :, t, None] * (values[:, :, t] - known)
        memory = memory + key * correction[:, :, None]
        outputs.append((memory * query[:, :, t, :, None]).sum(dim=2))
    return torch.stack(outputs, dim=2), memory


def chunked_delta_rule(
    query: Float[Tensor, "B H T k"],
    keys: Float[Tensor, "B H T k"],
    values: Float[Tensor, "B H T v"],
    log_decay: Float[Tensor, "B H T"],
    strength: Float[Tensor, "B H T"],
    memory: Float[Tensor, "B H k v"],
    chunk: int = CHUNK,
) -> tuple[Float[Tensor, "B H T v"], Float[Tensor, "B H k v"]]:
    """The outputs and the last memory, by matrix products of chunks. Time is O(T C) and memory O(T)."""
    length = query.shape[2]
    size = min(chunk, length)
    q, k, v = (in_chunks(x, size) for x in (query, keys, values))  # [B, H, N, C, ..]
    b = in_chunks(strength[..., None], size)
    g = in_chunks(log_decay[..., None], size)[..., 0].cumsum(dim=-1)  # log of the decay since the chunk began
    later = torch.ones(size, size, dtype=torch.bool, device=q.device).triu(1)
    decay = (g[..., :, None] - g[..., None, :]).masked_fill(later, float("-inf")).exp()  # from j to t, [.., C, C]
    since = g[..., None].exp()  # [.., C, 1]
    # u_t + b_t sum over j < t of decay(t, j) (k_t . k_j) u_j = b_t (v_t - since_t S^T k_t), with S the memory before the chunk
    system = b * (k @ k.transpose(-1, -2)) * decay  # its diagonal and what is above are not read
    solved = torch.linalg.solve_triangular(
        system, torch.cat([b * v, b * since * k], dim=-1), upper=False, unitriangular=True
    )
    plain, of_memory = solved.split([v.shape[-1], k.shape[-1]], dim=-1)
    compared = (q @ k.transpose(-1, -2)) * decay
    read, written = q * since, k * decay[..., -1, :, None]
    kept = since[..., -1:, :]  # [B, H, N, 1, 1]
    outputs = []
    steps = (x.unbind(2) for x in (plain, of_memory, compared, read, written.transpose(-1, -2), kept))
    for own, correcting, comparing, reading, writing, keeping in zip(*steps, strict=True):
        u = own - correcting @ memory
        outputs.append(reading @ memory + comparing @ u)
        memory = keeping * memory + writing @ u
    return torch.cat(outputs, dim=2)[:, :, :length], memory
