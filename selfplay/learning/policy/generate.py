"""The sampler `generate`: the model's own `generate`, each row's token drawn by its key in a logits processor.

The processor draws as draw.py does and leaves one finite score, so that greedy decoding takes that token: the same turns as
from the sampler `own`, by whatever caches and kernels the model brings. It is the only way to sample from Unsloth on CUDA,
whose keys and values are its own. Finished rows are fed on until the last one ends, equal prompts are fed once each, and
prompts are not fed in chunks, so a batch keeps to the token limit as a whole. Sampling settings that a model brings (top-k,
penalties) are put away: they change the distribution that the update scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from selfplay.learning.policy.adapters import Adapters
from selfplay.learning.policy.draw import check_finite, drawn, uniforms
from selfplay.learning.policy.turns import LiveSampler, Row, left_padded


class GenerateSampler(LiveSampler):
    """Hands whole batches to the model."""

    def __init__(self, adapters: Adapters, ends: frozenset[int], *rest: Any, **more: Any) -> None:
        super().__init__(adapters, ends, *rest, **more)
        plain = GenerationConfig(eos_token_id=sorted(ends), pad_token_id=min(ends))
        for model in (adapters.model.get_base_model(), adapters.model):
            model.generation_config = plain  # type: ignore[union-attr]

    def _most(self, left: Sequence[Row]) -> int:
        """How many rows fit: by prompt tokens, and because `generate` refuses a batch whose longest prompt and longest turn
        would fill the context together."""
        longest, most = 0, 0
        for row in left:
            longest, width = max(longest, row.most), len(row.prompt)
            crowded = (most + 1) * width > self._choice.prefill_tokens or width + longest > self._choice.context
            if most and crowded:
                break
            most += 1
        return most

    def _play(self, model: Any, rows: list[Row], temperature: float) -> None:
        ids, mask = left_padded([row.prompt for row in rows], model.device)
        draw = KeyedDraw(rows, temperature, self._ends)
        model.generate(
            input_ids=ids,
            attention_mask=mask,
            do_sample=False,
            use_cache=True,
            max_new_tokens=max(row.most for row in rows),
            logits_processor=LogitsProcessorList([draw]),
        )
        draw.tell()


class KeyedDraw(LogitsProcessor):
    """Draws one token a row and step, and leaves no other. A row at its limit gets an end, for `generate` to be done with it.

    Rows are told at the end, because reading a token waits for the GPU; at each step where thoughts have tokens of their
    own, because a row's limit is then known by what it has said.
    """

    def __init__(self, rows: Sequence[Row], temperature: float, ends: frozenset[int]) -> None:
        self._rows, self._temperature, self._ends = rows, temperature, ends
        self._seeds = [row.seed for row in rows]
        self._tells = any(row.sampling.thinks for row in rows)
        self._step = 0
        self._ids: list[Tensor] = []
        self._logprobs: list[Tensor] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        ids_B, logprobs_B = drawn(scores, self._temperature, uniforms(self._seeds, [self._step] * len(self._seeds)))
        self._ids.append(ids_B)
        self._logprobs.append(logprobs_B)
        over = [i for i, row in enumerate(self._rows) if self._step >= row.limit]
        self._step += 1
        if self._tells:
            self.tell()
        if over:
            ids_B = ids_B.clone()
            ids_B[over] = min(self._ends)
        return torch.full_like(scores, -torch.inf).scatter_(1, ids_B[:, None], 0.0)

    def tell(self) -> None:
        """Gives each row what was drawn for it since the last time. Raises PolicyError where a log-probability is not finite,
        be it of a token after a row's end."""
        if not self._ids:
            return
        ids_BT, logprobs_BT = torch.stack(self._ids, 1), torch.stack(self._logprobs, 1)
        check_finite(logprobs_BT)
        for row, tokens, logprobs in zip(self._rows, ids_BT.tolist(), logprobs_BT.tolist(), strict=True):
            for token, logprob in zip(tokens, logprobs, strict=True):
                if not row.done:
                    row.add(token, logprob, self._ends)
        self._ids, self._logprobs = [], []
