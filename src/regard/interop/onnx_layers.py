"""The layers of a Transformer as operators of ONNX, written from its weights: positions, attention with every score, blocks.

Each function says in ONNX what a file of `layers/` says in torch; tests bind the two.

Shapes: B batch, T queries, S keys, D width, H heads, d = D / H head width, a width of a key as scores compare it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.interop.onnx_graph import Graph
from regard.models.config import TransformerBase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NEVER = -1e9  # added to the score of a key that is not seen
_LONGEST_DISTANCE = 128  # of `layers.positions.RelativeBias`
_BUCKETS = 32


@dataclass(frozen=True)
class KeysAndValues:
    """The keys and values that a query attends to."""

    keys: str  # [B, H, S, a], prepared for the score
    values: str  # [B, H, S, d]


@dataclass(frozen=True)
class Places:
    """The positions of new tokens, and of all that there are: [T] and [S]. They end together."""

    new: str
    all: str


class Layers:
    """Writes the layers of one network into a graph."""

    def __init__(self, graph: Graph, config: TransformerBase, tensors: "Mapping[str, NDArray[np.float32]]") -> None:
        self.graph, self.config, self.tensors = graph, config, tensors
        self.head = config.width // config.heads

    def weight(self, name: str) -> str:
        """A tensor of the bundle."""
        return self.graph.constant(self.tensors[name], name)

    def linear(self, x: str, name: str) -> str:
        """x W^T + b"""
        weight = self.graph.constant(self.tensors[f"{name}.weight"].T, f"{name}.weight.T")
        return self.graph.add(self.graph.apply("MatMul", x, weight), self.weight(f"{name}.bias"))

    def logits(self, x: str, table: str, outputs: int, bias: str | None = None) -> str:
        """The products of hidden states with the first rows of a table. Rows after them, pad, are no outputs."""
        graph = self.graph
        rows = graph.apply("Reshape", x, graph.constant([-1, self.config.width]))
        flat = graph.apply("Gemm", rows, self.weight(table), transB=1)
        shape = graph.apply("Concat", graph.apply("Shape", x, start=0, end=-1), graph.constant([-1]), axis=0)
        found = graph.apply("Reshape", flat, shape)
        if len(self.tensors[table]) > outputs:
            found = graph.apply("Slice", found, graph.constant([0]), graph.constant([outputs]), graph.constant([-1]))
        return found if bias is None else graph.add(found, self.weight(bias))

    def norm(self, x: str, name: str) -> str:
        graph, epsilon = self.graph, self.config.norm_epsilon
        if self.config.norm_kind == "layer":
            weights = (self.weight(f"{name}.weight"), self.weight(f"{name}.bias"))
            return graph.apply("LayerNormalization", x, *weights, axis=-1, epsilon=epsilon)
        mean = graph.apply("ReduceMean", graph.apply("Mul", x, x), axes=[-1])
        scale = graph.apply("Sqrt", graph.add(mean, graph.constant(float(epsilon))))
        return graph.apply("Mul", graph.apply("Div", x, scale), self.weight(f"{name}.weight"))

    def last_norm(self, x: str, stack: str) -> str:
        """The final norm of a stack of pre-norm blocks. Post-norm blocks have none."""
        return self.norm(x, f"{stack}_norm") if self.config.norm == "pre" else x

    def embedded(self, ids: str, front: str, table: str, places: str) -> str:
        """[B, T, D]: embeddings with the positions that are added to them."""
        graph, config = self.graph, self.config
        x = graph.apply("Gather", self.weight(table), ids)
        x = graph.times(x, math.sqrt(config.width) if config.scale_embedding else 1.0)
        if config.positions == "learned":
            x = graph.add(x, graph.apply("Gather", self.weight(f"{front}.positions.table"), places))
        elif config.positions == "sinusoidal":
            angles = self._angles(places, config.width)
            halves = [graph.apply(wave, angles) for wave in ("Sin", "Cos")]
            x = graph.add(x, graph.apply("Concat", *halves, axis=-1))
        return self.norm(x, f"{front}.norm") if config.embedding_norm else x

    def padding(self, mask: str) -> str:
        """[B, 1, 1, S]: what is added to the scores, of a mask [B, S] of ones and zeros."""
        return self._hidden_unless(self.graph.unsqueezed(self.graph.numbers(mask), 1, 2))

    def causal(self, places: Places) -> str:
        """[T, S]: what hides the future."""
        graph = self.graph
        seen = graph.apply("LessOrEqual", graph.unsqueezed(places.all, 0), graph.unsqueezed(places.new, 1))
        return self._hidden_unless(graph.numbers(seen))

    def with_bias(self, mask: str, stack: str, places: Places) -> str:
        """The mask with the bias of relative positions, where the network has them."""
        if self.config.positions != "relative":
            return mask
        graph, longest = self.graph, _LONGEST_DISTANCE
        limits = (graph.constant(-longest), graph.constant(longest))
        distance = graph.apply("Clip", self._distance(places), *limits)
        rows = self.tensors[f"{stack}_bias.table"][_buckets(bidirectional=stack == "encoder")]
        table = graph.constant(rows, f"{stack}_bias.by_distance")
        bias = graph.apply("Gather", table, graph.add(distance, graph.constant(longest)))  # [T, S, H]
        return graph.add(mask, graph.unsqueezed(graph.apply("Transpose", bias, perm=[2, 0, 1]), 0))

    def block(
        self,
        x: str,
        name: str,
        number: int,
        mask: str,
        places: Places,
        past: KeysAndValues | None = None,
        source: KeysAndValues | None = None,
        source_mask: str | None = None,
    ) -> tuple[str, KeysAndValues]:
        """(the hidden states after a block, the keys and values of its self-attention). past: those of earlier positions."""
        causal = name == "decoder"
        mixer = self.config.mixers[causal][number]
        own = f"{name}.{number}"
        score = self.config.score if mixer == "attention" else "scaled_dot"
        if mixer == "window":
            mask = self.graph.add(mask, self._window(places, causal=causal))
        entered = self._enter(x, f"{own}.around_mixer")
        seen = self._joined(past, self.keys_and_values(entered, f"{own}.mixer", score, places.new))
        attended = self._attention(entered, seen, f"{own}.mixer", score, mask, places.new)
        x = self._join(x, attended, f"{own}.around_mixer")
        if source is not None:
            assert source_mask is not None
            entered = self._enter(x, f"{own}.around_cross")
            attended = self._attention(entered, source, f"{own}.cross", self.config.score, source_mask)
            x = self._join(x, attended, f"{own}.around_cross")
        entered = self._enter(x, f"{own}.around_feed_forward")
        return self._join(x, self._feed_forward(entered, f"{own}.feed_forward"), f"{own}.around_feed_forward"), seen

    def keys_and_values(self, x: str, name: str, score: str, places: str | None = None) -> KeysAndValues:
        """Keys, prepared for the score, and values. places: of the keys, for rotary positions; None: they are of a source."""
        keys = self._split(x if score == "parameter_free" else self.linear(x, f"{name}.key"))
        if places is not None:
            keys = self._rotated(keys, places)
        return KeysAndValues(
            self._prepared(keys, name, score, side="key"), self._split(self.linear(x, f"{name}.value"))
        )

    def _attention(
        self, x: str, seen: KeysAndValues, name: str, score: str, mask: str, places: str | None = None
    ) -> str:
        graph = self.graph
        query = self._split(x if score == "parameter_free" else self.linear(x, f"{name}.query"))
        if places is not None:
            query = self._rotated(query, places)
        query = self._prepared(query, name, score, side="query")
        weights = graph.apply("Softmax", graph.add(self._compared(query, seen.keys, name, score), mask), axis=-1)
        context = graph.apply("Transpose", graph.apply("MatMul", weights, seen.values), perm=[0, 2, 1, 3])
        joined = graph.apply("Reshape", context, graph.constant([0, 0, self.config.width]))
        return self.linear(joined, f"{name}.output")

    def _prepared(self, x: str, name: str, score: str, side: str) -> str:
        """Queries or keys, prepared for `_compared`, as the scores of `layers.scores` do it."""
        weights = f"{name}.score"
        if score == "general" and side == "query":
            return self.graph.apply("MatMul", x, self.weight(f"{weights}.weight"))
        if score in ("additive", "latent"):
            return self._mapped(x, f"{weights}.{side}_weight")
        if score == "concat":
            columns = slice(None, self.head) if side == "query" else slice(self.head, None)
            return self._mapped(x, f"{weights}.weight", columns)
        if score == "mahalanobis":
            return self._mapped(x, f"{weights}.root")
        if score == "cosine":
            length = self.graph.apply("ReduceL2", x, axes=[-1])
            x = self.graph.apply("Div", x, self.graph.apply("Max", length, self.graph.constant(1e-12)))
            strength = math.sqrt(self.head) * math.exp(self.tensors[f"{weights}.log_strength"][0])
            return self.graph.times(x, strength) if side == "query" else x
        return self.graph.times(x, self.head**-0.5) if score == "scaled_dot" and side == "query" else x

    def _mapped(self, x: str, name: str, columns: slice = slice(None)) -> str:
        """x W^T of some columns of W."""
        matrix = self.tensors[name][:, columns].T
        return self.graph.apply("MatMul", x, self.graph.constant(matrix, f"{name}.T.{columns.start}"))

    def _compared(self, query: str, keys: str, name: str, score: str) -> str:
        """[B, H, T, S]: the scores of prepared queries and keys, up to a number for each query."""
        graph = self.graph
        if score in ("additive", "concat"):
            pairs = graph.add(graph.unsqueezed(query, 3), graph.unsqueezed(keys, 2))
            return graph.apply("MatMul", graph.apply("Tanh", pairs), self.weight(f"{name}.score.vector"))
        products = graph.apply("MatMul", query, graph.apply("Transpose", keys, perm=[0, 1, 3, 2]))
        if score not in ("mahalanobis", "gaussian"):
            return products
        # -1/2 |q - k|^2 without -1/2 |q|^2, which is the same for all keys of a query and so changes no weight
        squares = graph.apply("ReduceSumSquare", keys, axes=[-1], keepdims=0)
        near = graph.apply("Sub", products, graph.times(graph.unsqueezed(squares, 2), 0.5))
        if score == "mahalanobis":
            return near
        variance = math.sqrt(self.head) * math.exp(self.tensors[f"{name}.score.log_variance"][0])
        return graph.times(near, 1.0 / variance)

    def _joined(self, past: KeysAndValues | None, new: KeysAndValues) -> KeysAndValues:
        if past is None:
            return new
        parts = ((past.keys, new.keys), (past.values, new.values))
        return KeysAndValues(*(self.graph.apply("Concat", *both, axis=2) for both in parts))

    def _split(self, x: str) -> str:
        """[B, H, T, d]: states, cut into heads."""
        shape = self.graph.constant([0, 0, self.config.heads, self.head])
        return self.graph.apply("Transpose", self.graph.apply("Reshape", x, shape), perm=[0, 2, 1, 3])

    def _rotated(self, x: str, places: str) -> str:
        """Each pair (x_k, x_{k + d/2}), turned by the angle of its position, if positions are rotary."""
        if self.config.positions != "rotary":
            return x
        graph, half = self.graph, self.graph.constant([self.head // 2])
        angles = self._angles(places, self.head)
        cosine, sine = graph.apply("Cos", angles), graph.apply("Sin", angles)
        cosines = graph.apply("Concat", cosine, cosine, axis=-1)
        sines = graph.apply("Concat", graph.apply("Neg", sine), sine, axis=-1)
        first = graph.apply("Slice", x, graph.constant([0]), half, graph.constant([-1]))
        second = graph.apply("Slice", x, half, graph.constant([self.head]), graph.constant([-1]))
        across = graph.apply("Concat", second, first, axis=-1)
        return graph.add(graph.apply("Mul", x, cosines), graph.apply("Mul", across, sines))

    def _angles(self, places: str, width: int) -> str:
        """[T, width / 2]: p w_k, less whole turns. In double precision, so that far positions are as exact as near ones."""
        import numpy as np
        from onnx import TensorProto

        graph = self.graph
        frequencies = 10000.0 ** (-2.0 * np.arange(width // 2) / width)
        exact = graph.apply("Cast", graph.unsqueezed(places, 1), to=TensorProto.DOUBLE)
        angles = graph.apply("Mul", exact, graph.constant(frequencies, f"frequencies.{width}"))
        turn = graph.constant(np.asarray(2.0 * np.pi), "turn")
        turns = graph.apply("Floor", graph.apply("Div", angles, turn))
        return graph.numbers(graph.apply("Sub", angles, graph.apply("Mul", turns, turn)))

    def _distance(self, places: Places) -> str:
        """[T, S]: how far a key is after a query."""
        return self.graph.apply("Sub", self.graph.unsqueezed(places.all, 0), self.graph.unsqueezed(places.new, 1))

    def _window(self, places: Places, *, causal: bool) -> str:
        """[T, S]: what hides the keys outside of a window, as `layers.local_attention.WindowAttention` has it."""
        graph, window = self.graph, self.config.window
        before, after = (window - 1, 0) if causal else (window // 2, window // 2)
        distance = self._distance(places)
        near = graph.apply(
            "And",
            graph.apply("LessOrEqual", distance, graph.constant(after)),
            graph.apply("GreaterOrEqual", distance, graph.constant(-before)),
        )
        return self._hidden_unless(graph.numbers(near))

    def _hidden_unless(self, seen: str) -> str:
        """0 for a one, minus infinity in effect for a zero."""
        graph = self.graph
        return graph.times(graph.apply("Sub", graph.constant(1.0), seen), _NEVER)

    def _enter(self, x: str, residual: str) -> str:
        return self.norm(x, f"{residual}.norm") if self.config.norm == "pre" else x

    def _join(self, x: str, output: str, residual: str) -> str:
        joined = self.graph.add(x, output)
        return joined if self.config.norm == "pre" else self.norm(joined, f"{residual}.norm")

    def _feed_forward(self, x: str, name: str) -> str:
        plain, gated = self.config.activation, {"swiglu": "silu", "geglu": "gelu_tanh"}
        up = self.linear(x, f"{name}.up")
        if plain in gated:
            gate = self.linear(x, f"{name}.gate")
            inner = self.graph.apply("Mul", ACTIVATIONS[gated[plain]](self.graph, gate), up)
        else:
            inner = ACTIVATIONS[plain](self.graph, up)
        return self.linear(inner, f"{name}.down")


def _relu(graph: Graph, x: str) -> str:
    return graph.apply("Relu", x)


def _silu(graph: Graph, x: str) -> str:
    return graph.apply("Mul", x, graph.apply("Sigmoid", x))


def _gelu(graph: Graph, x: str) -> str:
    normal = graph.apply("Erf", graph.times(x, 2.0**-0.5))
    return graph.times(graph.apply("Mul", x, graph.add(normal, graph.constant(1.0))), 0.5)


def _gelu_tanh(graph: Graph, x: str) -> str:
    cube = graph.apply("Mul", graph.apply("Mul", x, x), x)
    inner = graph.times(graph.add(x, graph.times(cube, 0.044715)), math.sqrt(2.0 / math.pi))
    return graph.times(graph.apply("Mul", x, graph.add(graph.apply("Tanh", inner), graph.constant(1.0))), 0.5)


ACTIVATIONS: dict[str, Callable[[Graph, str], str]] = {
    "relu": _relu,
    "silu": _silu,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
}
"""The activations of `ops.activations.PLAIN`."""


def _buckets(*, bidirectional: bool) -> "NDArray[np.int64]":
    """The bucket of every distance from -128 to 128; all that are farther share the bucket of the last."""
    import torch

    from regard.ops.positions import relative_buckets

    distances, nowhere = torch.arange(-_LONGEST_DISTANCE, _LONGEST_DISTANCE + 1), torch.zeros(1, dtype=torch.long)
    found = relative_buckets(
        nowhere, distances, buckets=_BUCKETS, longest=_LONGEST_DISTANCE, bidirectional=bidirectional
    )
    buckets: NDArray[np.int64] = found[0].numpy()
    return buckets
