"""Forward pass of small Qwen2 models on a CPU, as plain functions over merged weights.

Used for sampling and for training alike, so both see the same function. A role's LoRA is merged into a copy
(W + scale B A), differentiably where asked: on a model this small the copy costs a millisecond and saves two thirds of
the operations. Norm weights and the attention scale are folded into the projections that follow them, query, key and
value are one product, gate and up another, and the halves of queries and keys are interleaved so that a rotation is one
complex product. Rows that branch from the same prefix compute it once, in training too. Left out, because the
transformers backend has them: quantised weights, sliding windows, rotary scaling, large models (`supports` says no).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from selfplay.game.episode import Role


@dataclass(frozen=True, slots=True)
class Shape:
    heads: int
    kv_heads: int
    head_size: int
    eps: float


@dataclass(frozen=True, slots=True)
class Layer:
    qkv: Tensor  # [(heads + 2 kv_heads) head_size, hidden]
    qkv_bias: Tensor
    out: Tensor  # [hidden, heads head_size]
    gate_up: Tensor  # [2 intermediate, hidden]
    down: Tensor  # [hidden, intermediate]
    eps: float


@dataclass(frozen=True, slots=True)
class Weights:
    shape: Shape
    embedding: Tensor  # [vocabulary, hidden]
    layers: tuple[Layer, ...]
    head: Tensor  # [vocabulary, hidden], the last norm folded in
    rotations: Tensor  # [positions, head_size / 2], complex: the rotary factor of each pair


def supports(config: Any, device: torch.device) -> bool:
    """Whether this file may stand in for the transformers forward of a model."""
    plain = config.model_type == "qwen2" and not config.use_sliding_window and config.hidden_act == "silu"
    rope = config.rope_parameters.get("rope_type", "default") == "default" if plain else False
    return plain and rope and config.hidden_size <= 512 and device.type == "cpu"


def merged(model: Any, role: Role | None) -> Weights:
    """The weights of `model` (a peft-wrapped Qwen2) as `role` sees them, graph included; None: the base's."""
    causal = model.get_base_model()
    config, inner = causal.config, causal.model
    head_size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    shape = Shape(config.num_attention_heads, config.num_key_value_heads, head_size, config.rms_norm_eps)
    rotations = _rotations(config.rope_parameters["rope_theta"], head_size, config.max_position_embeddings)
    layers = tuple(_layer(layer, shape, role) for layer in inner.layers)
    head = causal.lm_head.weight * inner.norm.weight
    return Weights(shape, inner.embed_tokens.weight, layers, head, rotations)


def _layer(layer: Any, shape: Shape, role: Role | None) -> Layer:
    attention, mlp = layer.self_attn, layer.mlp
    scale = shape.head_size**-0.5
    qkv = torch.cat(
        [_weight(attention.q_proj, role) * scale, _weight(attention.k_proj, role), _weight(attention.v_proj, role)]
    )
    bias = torch.cat([attention.q_proj.bias * scale, attention.k_proj.bias, attention.v_proj.bias])
    order = _interleaved(shape)
    gate_up = torch.cat([_weight(mlp.gate_proj, role), _weight(mlp.up_proj, role)])
    return Layer(
        qkv[order] * layer.input_layernorm.weight,
        bias[order],
        _weight(attention.o_proj, role),
        gate_up * layer.post_attention_layernorm.weight,
        _weight(mlp.down_proj, role),
        shape.eps,
    )


def _weight(module: Any, role: Role | None) -> Tensor:
    """A linear layer's weight with the role's LoRA merged in, [out, in]."""
    base = getattr(module, "base_layer", module).weight
    if role is None or role not in getattr(module, "lora_A", {}):
        return base
    delta = module.lora_B[role].weight @ module.lora_A[role].weight
    return torch.add(base, delta, alpha=module.scaling[role])


def _interleaved(shape: Shape) -> Tensor:
    """Rows of the joint projection, reordered: rotary pairs (i, i + head_size / 2) of queries and keys side by side."""
    rows = torch.arange((shape.heads + 2 * shape.kv_heads) * shape.head_size).view(-1, shape.head_size)
    rotated = rows.view(-1, 2, shape.head_size // 2).transpose(1, 2).reshape_as(rows)
    last = shape.heads + shape.kv_heads
    return torch.cat([rotated[:last], rows[last:]]).flatten()


def _rotations(theta: float, head_size: int, positions: int) -> Tensor:
    frequencies = 1.0 / theta ** (torch.arange(0, head_size, 2, dtype=torch.float32) / head_size)
    angles = torch.arange(positions, dtype=torch.float32)[:, None] * frequencies
    return torch.polar(torch.ones_like(angles), angles)


def hidden(weights: Weights, ids_BT: Tensor) -> Tensor:
    """Normalised last hidden states [B, T, hidden] of right-padded rows, from their start, with gradients."""
    rotations = weights.rotations[: ids_BT.shape[1]]
    x = F.embedding(ids_BT, weights.embedding)
    for layer in weights.layers:
        q, k, v = project(weights.shape, layer, x, rotations)
        x = finish(layer, x, _causal(q, k, v))
    return norm(x, weights.shape.eps)


def hidden_at(weights: Weights, ids_BT: Tensor, where_BT: Tensor) -> Tensor:
    """Hidden states [N, hidden] that lead to the ids at `where_BT`, row by row, with gradients.

    Rows that agree up to where their first state is needed share that prefix, where this saves a tenth or more.
    """
    rows = ids_BT.tolist()
    known_B = (where_BT.int().argmax(1) - 1).tolist()
    prefixes = [tuple(row[:known]) for row, known in zip(rows, known_B, strict=True)]
    places = {prefix: i for i, prefix in enumerate(dict.fromkeys(prefixes))}
    width = ids_BT.shape[1]
    longest, rest = max(known_B), width - min(known_B)
    if len(places) * longest + len(rows) * rest > 0.9 * len(rows) * width:
        return hidden(weights, ids_BT)[:, :-1][where_BT[:, 1:]]
    padded = torch.tensor([prefix + (0,) * (longest - len(prefix)) for prefix in places])
    which_B, start_B = torch.tensor([places[prefix] for prefix in prefixes]), torch.tensor(known_B)
    column_BS = start_B[:, None] + torch.arange(rest)
    inside, column_BS = column_BS < width - 1, column_BS.clamp(max=width - 2)
    states = _branches(weights, padded, which_B, start_B, ids_BT.gather(1, column_BS))
    return states[where_BT[:, 1:].gather(1, column_BS) & inside]


def _branches(weights: Weights, prefix_PT: Tensor, which_B: Tensor, start_B: Tensor, ids_BS: Tensor) -> Tensor:
    """Hidden states [B, S, hidden] of rows that go on after the first `start_B` ids of prefix `which_B`."""
    known, steps = prefix_PT.shape[1], ids_BS.shape[1]
    earlier_hidden = (torch.arange(known) >= start_B[:, None])[:, None].expand(-1, steps, -1)
    later_hidden = torch.ones(steps, steps, dtype=torch.bool).triu(1).expand(len(ids_BS), -1, -1)
    unseen = torch.cat([earlier_hidden, later_hidden], dim=2)[:, None]
    mask = torch.zeros(unseen.shape).masked_fill_(unseen, -torch.inf)
    rotations = weights.rotations[(start_B[:, None] + torch.arange(steps)).clamp(max=len(weights.rotations) - 1)][
        :, None
    ]
    x = F.embedding(ids_BS, weights.embedding)
    for layer, (keys, values) in zip(weights.layers, _keys_values(weights, prefix_PT), strict=True):
        q, k, v = project(weights.shape, layer, x, rotations)
        k, v = torch.cat([keys[which_B], k], dim=2), torch.cat([values[which_B], v], dim=2)
        mixed = F.scaled_dot_product_attention(q, k, v, mask, scale=1.0, enable_gqa=True)
        x = finish(layer, x, mixed)
    return norm(x, weights.shape.eps)


def _keys_values(weights: Weights, ids_PT: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Keys and values of every layer, [P, kv_heads, T, head_size] each, with gradients."""
    rotations, made = weights.rotations[: ids_PT.shape[1]], []
    x = F.embedding(ids_PT, weights.embedding)
    for layer in weights.layers:
        q, k, v = project(weights.shape, layer, x, rotations)
        made.append((k, v))
        if len(made) < len(weights.layers):
            x = finish(layer, x, _causal(q, k, v))
    return made


def extend(weights: Weights, kv: Tensor, ids_BS: Tensor, start_B: Tensor) -> Tensor:
    """Feeds S more tokens to each row, from that row's own position on; normalised hidden states [B, S, hidden].

    `kv` [layer, 2, B, kv_heads, T, head_size] is written in place. A query sees keys up to its own position, so rows
    may differ in length and what lies behind a row's end (padding, leftovers) is overwritten before it can be seen.
    """
    shape, (rows, steps) = weights.shape, ids_BS.shape
    position_BS = start_B[:, None] + torch.arange(steps)
    end = int(start_B.max()) + steps
    unseen = torch.arange(end) > position_BS[:, None, :, None]
    group = shape.heads // shape.kv_heads
    mask = torch.zeros(unseen.shape).masked_fill_(unseen, -torch.inf).repeat(1, 1, group, 1)
    # Padding may lie beyond the last position.
    rotations = weights.rotations[position_BS.clamp(max=len(weights.rotations) - 1)][:, None]
    row_B1 = torch.arange(rows)[:, None]
    x = F.embedding(ids_BS, weights.embedding)
    for layer, (keys, values) in zip(weights.layers, kv, strict=True):
        q, k, v = project(shape, layer, x, rotations)
        keys[row_B1, :, position_BS] = k.transpose(1, 2)
        values[row_B1, :, position_BS] = v.transpose(1, 2)
        # Queries that share a key-value head become rows of one product: no copy of keys and values.
        q = q.reshape(rows, shape.kv_heads, group * steps, shape.head_size)
        mixed = F.scaled_dot_product_attention(q, keys[:, :, :end], values[:, :, :end], mask, scale=1.0)
        x = finish(layer, x, mixed.reshape(rows, shape.heads, steps, shape.head_size))
    return norm(x, shape.eps)


def _causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0, enable_gqa=True)


def project(shape: Shape, layer: Layer, x: Tensor, rotations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rotated queries and keys, and values: [B, heads, T, head_size] each."""
    rows, steps, _ = x.shape
    qkv = F.linear(norm(x, shape.eps), layer.qkv, layer.qkv_bias)
    qkv = qkv.view(rows, steps, -1, shape.head_size).transpose(1, 2)
    pairs = qkv[:, : shape.heads + shape.kv_heads].unflatten(-1, (-1, 2))
    rotated = torch.view_as_real(torch.view_as_complex(pairs) * rotations).flatten(-2)
    return rotated[:, : shape.heads], rotated[:, shape.heads :], qkv[:, shape.heads + shape.kv_heads :]


def finish(layer: Layer, x: Tensor, mixed: Tensor) -> Tensor:
    """The rest of a layer after attention: output projection, gated MLP, both residuals. No norm weights, see above."""
    rows, steps, _ = x.shape
    x = x + F.linear(mixed.transpose(1, 2).reshape(rows, steps, -1), layer.out)
    gate, up = F.linear(norm(x, layer.eps), layer.gate_up).chunk(2, dim=-1)
    return x + F.linear(F.silu(gate) * up, layer.down)


def norm(x: Tensor, eps: float) -> Tensor:
    """RMS norm without its weight, which is folded into the next projection."""
    return _Norm.apply(x, eps)  # type: ignore[return-value]


class _Norm(torch.autograd.Function):
    """Twice as fast as the graph of its single operations: y = x r, dx = r (g - y mean(g y))."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
        r = torch.linalg.vecdot(x, x).div_(x.shape[-1]).add_(eps).rsqrt_()[..., None]
        y = x * r
        ctx.save_for_backward(y, r)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        y, r = ctx.saved_tensors
        mean = torch.linalg.vecdot(grads[0], y).div_(y.shape[-1])[..., None]
        return torch.addcmul(grads[0], y, mean, value=-1).mul_(r), None
