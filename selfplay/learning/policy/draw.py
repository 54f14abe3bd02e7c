"""How a token is drawn: by inverting the cumulative distribution at one uniform number per token.

The uniform is a pure function of (run seed, turn, position), not of a stream: a turn samples the same tokens whatever
else is in its batch, in whichever process, before or after a resume. `torch.multinomial` was left out: it draws one
number per vocabulary entry from a stream. Top-k, top-p and repetition penalties were left out: they change the
distribution that the update scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy
import torch
from torch import Tensor

from selfplay.game.episode import TurnKey
from selfplay.learning.policy.errors import PolicyError

_GOLDEN = numpy.uint64(0x9E3779B97F4A7C15)
_MIX_1 = numpy.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = numpy.uint64(0x94D049BB133111EB)


def turn_seed(seed: int, key: TurnKey) -> int:
    """64 bits that name this turn of this run."""
    fields = (seed, key.step, key.problem, key.role, key.branch, key.stage)
    return int.from_bytes(hashlib.blake2b(repr(fields).encode(), digest_size=8).digest(), "little")


def uniforms(seeds: Sequence[int], positions: Sequence[int]) -> Tensor:
    """One float64 in [0, 1) per (turn seed, position in the turn). Source: SplitMix64, Steele, Lea and Flood 2014."""
    with numpy.errstate(over="ignore"):
        z = numpy.asarray(seeds, numpy.uint64) + (numpy.asarray(positions, numpy.uint64) + numpy.uint64(1)) * _GOLDEN
        z = (z ^ (z >> numpy.uint64(30))) * _MIX_1
        z = (z ^ (z >> numpy.uint64(27))) * _MIX_2
        z = z ^ (z >> numpy.uint64(31))
    return torch.from_numpy((z >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53)


def pick(logits_BV: Tensor, temperature: float, uniforms_B: Tensor) -> tuple[Tensor, Tensor]:
    """The drawn ids and their log-probabilities at `temperature` (at 1 where it is 0: greedy), both of shape [B].

    Raises PolicyError where one is not finite: such a model says nothing, and an update would carry it into the adapter.
    """
    ids_B, logprobs_B = drawn(logits_BV, temperature, uniforms_B)
    check_finite(logprobs_B)
    return ids_B, logprobs_B


def drawn(logits_BV: Tensor, temperature: float, uniforms_B: Tensor) -> tuple[Tensor, Tensor]:
    """`pick` without its check, which would wait for the GPU at each token: call `check_finite` at the end."""
    logprobs_BV = torch.log_softmax(logits_BV.float() / (temperature or 1.0), dim=-1)
    ids_B = logits_BV.argmax(-1) if temperature == 0 else _invert(logprobs_BV, uniforms_B)
    return ids_B, logprobs_BV.gather(1, ids_B[:, None])[:, 0]


def check_finite(logprobs: Tensor) -> None:
    if not logprobs.isfinite().all():
        raise PolicyError(
            f"the sampler's log-probability of a token is {float(logprobs[~logprobs.isfinite()][0])}: the model's "
            "logits overflow; load it in bf16 or fp32, or start again with a lower --learning-rate"
        )


def _invert(logprobs_BV: Tensor, uniforms_B: Tensor) -> Tensor:
    """The first id whose cumulative probability exceeds the uniform: never one of probability zero."""
    cumulative_BV = logprobs_BV.exp().cumsum(-1, dtype=torch.float64)
    target_B1 = uniforms_B.to(cumulative_BV.device)[:, None] * cumulative_BV[:, -1:]
    return torch.searchsorted(cumulative_BV, target_B1, right=True)[:, 0].clamp_(max=logprobs_BV.shape[1] - 1)
