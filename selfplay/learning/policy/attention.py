"""How a model's layers attend: PyTorch's kernel, without copies of keys and values, and over branches of shared prefixes.

transformers' own function repeats keys and values for each query head that shares them, which on a CPU takes most of a
decoding step; the kernel there needs no copies. And rows that begin alike may be laid out `Flat`, one after the other without
padding, with what they share computed once, gradients included. A mask over the whole flat row was left out: it costs the
square of all branches together (docs/experiments.md). What a model is asked to do is tried on it first, on a few tokens; where
it does not hold, the model is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface, DynamicCache
from transformers.cache_utils import DynamicLayer
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from selfplay.learning.policy.protocol import Rows

NAME = "selfplay"
WORTH = 0.9  # of the padded tokens: what a flat row may have at most to be worth laying out
Group = tuple[int, tuple[int, ...]]  # tokens of a prefix, and of each branch that goes on from it


@dataclass(frozen=True, slots=True)
class Flat:
    """Rows laid out as one: each prefix, then its branches. `leads_N`: where the states are that lead to the scored ids."""

    ids_1T: Tensor
    positions_1T: Tensor
    leads_N: Tensor
    groups: tuple[Group, ...]


def flat(rows: Rows) -> Flat | None:
    """The rows with what they share laid out once; None where that would save less than a tenth of the padded tokens.

    Shared is all before the state that leads to a row's first scored id, where it is the same. What follows the last scored id
    is left out.
    """
    ids, where = rows.ids_BT.tolist(), rows.where_BT.int()
    width = where.shape[1]
    known = (where.argmax(1) - 1).tolist()
    ends = (width - 1 - where.flip(1).argmax(1)).tolist()  # the last scored id leads to nothing
    branches: dict[tuple[int, ...], list[int]] = {}
    for i, row in enumerate(ids):
        branches.setdefault(tuple(row[: known[i]]), []).append(i)
    if sum(map(len, branches)) + sum(ends) - sum(known) > WORTH * rows.ids_BT.numel():
        return None
    laid, positions, groups, starts = list[int](), list[int](), list[Group](), dict[int, int]()
    for prefix, own in branches.items():
        laid += prefix
        positions += range(len(prefix))
        for i in own:
            starts[i] = len(laid) - known[i]
            laid += ids[i][known[i] : ends[i]]
            positions += range(known[i], ends[i])
        groups.append((len(prefix), tuple(ends[i] - known[i] for i in own)))
    row_N, column_N = rows.where_BT.nonzero(as_tuple=True)
    shift_B = torch.tensor([starts[i] - 1 for i in range(len(ids))], device=rows.ids_BT.device)
    made = torch.tensor([laid, positions], device=rows.ids_BT.device)
    return Flat(made[:1], made[1:], shift_B[row_N] + column_N, tuple(groups))


def attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **more: Any
) -> tuple[Tensor, Tensor | None]:
    """An attention function as transformers calls it: [B, heads, T, size] in, [B, T, heads, size] out. `groups` in `more`: the
    row is flat."""
    groups: tuple[Group, ...] | None = more.pop("groups", None)
    if groups is None:
        return _kernel(module, query, key, value, attention_mask, **more), None
    return torch.cat(list(_branches(module, query, key, value, groups, more)), dim=1), None


def _kernel(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **more: Any) -> Tensor:
    grouped = query.shape[1] > key.shape[1] and more.get("position_bias") is None
    if query.device.type != "cpu" or not grouped:
        return sdpa_attention_forward(module, query, key, value, mask, **more)[0]
    causal, dropout = mask is None and query.shape[2] > 1, more.get("dropout", 0.0)
    mixed = F.scaled_dot_product_attention(
        query, key, value, mask, dropout, causal, scale=more.get("scaling"), enable_gqa=True
    )
    return mixed.transpose(1, 2).contiguous()


def _branches(
    module: Any, query: Tensor, key: Tensor, value: Tensor, groups: tuple[Group, ...], more: dict[str, Any]
) -> Iterator[Tensor]:
    """Each prefix over itself, each branch over its prefix and itself."""
    at = 0
    for prefix, branches in groups:
        (q, k_prefix, v_prefix), at = [each[:, :, at : at + prefix] for each in (query, key, value)], at + prefix
        if prefix:
            yield _kernel(module, q, k_prefix, v_prefix, None, **more)
        for steps in branches:
            (q, k, v), at = [each[:, :, at : at + steps] for each in (query, key, value)], at + steps
            if not prefix:
                yield _kernel(module, q, k, v, None, **more)
                continue
            seen = torch.ones(steps, prefix + steps, dtype=torch.bool, device=q.device).tril(prefix)
            k, v = torch.cat([k_prefix, k], dim=2), torch.cat([v_prefix, v], dim=2)
            yield _kernel(module, q, k, v, seen[None, None], **more)


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)


def whole_cache(config: Any) -> bool:
    """Whether every layer keeps all keys and values, and nothing else: no sliding window, no state of another kind."""
    layers = DynamicCache(config=config).layers
    return bool(layers) and all(type(layer) is DynamicLayer for layer in layers)


@torch.no_grad()
def adopt(model: Any) -> bool:
    """Lets a model attend by `attend` where it attends by PyTorch's kernel; returns whether flat rows come out right."""
    if model.config._attn_implementation != "sdpa" or not whole_cache(model.config):
        return False
    expected = _tried(model, False)
    model.set_attn_implementation(NAME)
    if not near(_tried(model, False), expected):
        model.set_attn_implementation("sdpa")
        return False
    return near(_tried(model, True), expected)


def _tried(model: Any, shared: bool) -> Tensor:
    """States of two rows with a common beginning, padded or flat."""
    ids_BT = torch.tensor([[1, 2, 3, 4, 5, 6, 0, 0], [1, 2, 3, 7, 8, 9, 10, 11]], device=model.device)
    mask_BT = torch.tensor([[1] * 6 + [0] * 2, [1] * 8], device=model.device)
    where_BT = (torch.arange(8, device=model.device) > 3) & (mask_BT > 0)
    body = getattr(model, model.base_model_prefix)
    if not shared:
        states = body(input_ids=ids_BT, attention_mask=mask_BT, use_cache=False).last_hidden_state
        return states[:, :-1][where_BT[:, 1:]]
    laid = flat(Rows(ids_BT, mask_BT, where_BT))
    assert laid is not None
    states = body(input_ids=laid.ids_1T, position_ids=laid.positions_1T, groups=laid.groups, use_cache=False)
    return states.last_hidden_state[0][laid.leads_N]


def near(one: Tensor, other: Tensor) -> bool:
    """Whether two results differ by rounding alone."""
    most = 2e-5 if one.dtype == torch.float32 else 5e-2
    return bool((one - other).float().norm() <= most * other.float().norm())
