"""Forward pass of small Qwen2 models on a CPU, as plain functions over merged weights.

Used for sampling and for training alike, so both see the same function. A role's LoRA is merged into a copy
(W + scale B A), differentiably where asked: on a model this small the copy costs a millisecond and saves two thirds of the
operations. Norm weights and the attention scale are folded into the projections that follow them, query, key and value
are one product, gate and up another. Left out, because the transformers backend has them: quantised weights, sliding
windows, rotary scaling, large models (`supports` says no).
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


@dataclass(frozen=True, slots=True)
class Weights:
    shape: Shape
    embedding: Tensor  # [vocabulary, hidden]
    layers: tuple[Layer, ...]
    head: Tensor  # [vocabulary, hidden], the last norm folded in
    cos: Tensor  # [positions, head_size]
    sin: Tensor


def supports(config: Any, device: torch.device) -> bool:
    """Whether this file may stand in for the transformers forward of a model."""
    plain = config.model_type == "qwen2" and not config.use_sliding_window and config.hidden_act == "silu"
    rope = config.rope_parameters.get("rope_type", "default") == "default" if plain else False
    return plain and rope and config.hidden_size <= 512 and device.type == "cpu"


def merged(model: Any, role: Role | None) -> Weights:
    """The weights of `model` (a peft-wrapped Qwen2) as `role` sees them; None: the base. Keeps the graph to the adapter."""
    causal = model.get_base_model()
    config, inner = causal.config, causal.model
    head_size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    shape = Shape(config.num_attention_heads, config.num_key_value_heads, head_size, config.rms_norm_eps)
    cos, sin = _rotary(config.rope_parameters["rope_theta"], head_size, config.max_position_embeddings)
    layers = tuple(_layer(layer, shape, role) for layer in inner.layers)
    head = causal.lm_head.weight * inner.norm.weight
    return Weights(shape, inner.embed_tokens.weight, layers, head, cos, sin)


def _layer(layer: Any, shape: Shape, role: Role | None) -> Layer:
    attention, mlp = layer.self_attn, layer.mlp
    scale = shape.head_size**-0.5
    qkv = torch.cat([_weight(attention.q_proj, role) * scale, _weight(attention.k_proj, role), _weight(attention.v_proj, role)])
    bias = torch.cat([attention.q_proj.bias * scale, attention.k_proj.bias, attention.v_proj.bias])
    gate_up = torch.cat([_weight(mlp.gate_proj, role), _weight(mlp.up_proj, role)])
    return Layer(
        qkv * layer.input_layernorm.weight,
        bias,
        _weight(attention.o_proj, role),
        gate_up * layer.post_attention_layernorm.weight,
        _weight(mlp.down_proj, role),
    )


def _weight(module: Any, role: Role | None) -> Tensor:
    """A linear layer's weight with the role's LoRA merged in, [out, in]."""
    if role is None or role not in getattr(module, "lora_A", {}):
        return module.weight
    delta = module.lora_B[role].weight @ module.lora_A[role].weight
    return torch.add(module.base_layer.weight, delta, alpha=module.scaling[role])


def _rotary(theta: float, head_size: int, positions: int) -> tuple[Tensor, Tensor]:
    frequencies = 1.0 / theta ** (torch.arange(0, head_size, 2, dtype=torch.float32) / head_size)
    angles = torch.arange(positions, dtype=torch.float32)[:, None] * frequencies
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def hidden(weights: Weights, ids_BT: Tensor) -> Tensor:
    """Normalised last hidden states [B, T, hidden] of right-padded rows, from their start, with gradients."""
    cos, sin = weights.cos[: ids_BT.shape[1]], weights.sin[: ids_BT.shape[1]]
    x = F.embedding(ids_BT, weights.embedding)
    for layer in weights.layers:
        q, k, v = project(weights.shape, layer, x, cos, sin)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0, enable_gqa=True)
        x = finish(weights.shape, layer, x, mixed)
    return norm(x, weights.shape.eps)


def extend(weights: Weights, kv: Tensor, ids_BS: Tensor, start_B: Tensor) -> Tensor:
    """Feeds S more tokens to each row, from that row's own position on; normalised hidden states [B, S, hidden].

    `kv` [layer, 2, B, kv_heads, T, head_size] is written in place. A query sees keys up to its own position, so rows may
    differ in length and what lies behind a row's end (padding, leftovers) is overwritten before it can be seen.
    """
    shape, (rows, steps) = weights.shape, ids_BS.shape
    position_BS = start_B[:, None] + torch.arange(steps)
    end = int(start_B.max()) + steps
    hidden_keys = torch.arange(end) > position_BS[:, None, :, None]
    group = shape.heads // shape.kv_heads
    mask = torch.zeros(hidden_keys.shape).masked_fill_(hidden_keys, -torch.inf).repeat(1, 1, group, 1)
    turned = position_BS.clamp(max=weights.cos.shape[0] - 1)  # padding may lie beyond the last position
    cos, sin = weights.cos[turned][:, None], weights.sin[turned][:, None]
    row_B1 = torch.arange(rows)[:, None]
    x = F.embedding(ids_BS, weights.embedding)
    for layer, (keys, values) in zip(weights.layers, kv, strict=True):
        q, k, v = project(shape, layer, x, cos, sin)
        keys[row_B1, :, position_BS] = k.transpose(1, 2)
        values[row_B1, :, position_BS] = v.transpose(1, 2)
        # Queries that share a key-value head become rows of one product: no copy of keys and values.
        q = q.reshape(rows, shape.kv_heads, group * steps, shape.head_size)
        mixed = F.scaled_dot_product_attention(q, keys[:, :, :end], values[:, :, :end], mask, scale=1.0)
        x = finish(shape, layer, x, mixed.reshape(rows, shape.heads, steps, shape.head_size))
    return norm(x, shape.eps)


def project(shape: Shape, layer: Layer, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rotated queries and keys, and values: [B, heads, T, head_size] each."""
    rows, steps, _ = x.shape
    qkv = F.linear(norm(x, shape.eps), layer.qkv, layer.qkv_bias)
    qkv = qkv.view(rows, steps, -1, shape.head_size).transpose(1, 2)
    rotated = rotate(qkv[:, : shape.heads + shape.kv_heads], cos, sin)
    return rotated[:, : shape.heads], rotated[:, shape.heads :], qkv[:, shape.heads + shape.kv_heads :]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-right, left], dim=-1) * sin


def finish(shape: Shape, layer: Layer, x: Tensor, mixed: Tensor) -> Tensor:
    """The rest of a layer after attention: output projection, gated MLP, both residuals."""
    rows, steps, _ = x.shape
    x = x + F.linear(mixed.transpose(1, 2).reshape(rows, steps, -1), layer.out)
    gate, up = F.linear(norm(x, shape.eps), layer.gate_up).chunk(2, dim=-1)
    return x + F.linear(F.silu(gate) * up, layer.down)


def norm(x: Tensor, eps: float) -> Tensor:
    """RMS norm without its weight, which is folded into the next projection."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
