"""How much memory a run takes, planned before anything is loaded: what stays, what sampling adds, what an update adds.

    weights + adapters + optimizers + max(sampling, update)

Plain arithmetic over a model's sizes; each term says what it counts, and `benchmarks/memory.py` holds them against what a
process really takes. Counted is the transformers backend, whose activations are the largest. Left out: what CUDA itself
takes (a reserve stands for it), the embedded player's own functions (a few MiB), and several GPUs: each holds all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from selfplay.learning.policy.settings import Choice, Precision
from selfplay.learning.shapes import ModelShape

GIB = 1 << 30
RESERVE = 1.0  # GiB for CUDA's context, its libraries and fragmentation: assumed, not measured
ROWS = (128, 64, 32, 16, 8, 4, 2, 1)  # conversations sampled at once, tried in this order
_LOGITS = 1 << 24  # entries of logits that the update holds at once (policy/logprobs.py)


@dataclass(frozen=True, slots=True)
class Plan:
    """Bytes by what they are for. `stays` is there all the time, `sampling` and `update` by turns."""

    shape: ModelShape
    choice: Choice
    stays: Mapping[str, int]
    sampling: Mapping[str, int]
    update: Mapping[str, int]

    @property
    def peak(self) -> int:
        return sum(self.stays.values()) + max(sum(self.sampling.values()), sum(self.update.values()))

    def fits(self, card: float) -> bool:
        """Whether it does on a card of so many GiB, with the reserve left free."""
        return self.peak <= (card - RESERVE) * GIB


def plan(shape: ModelShape, choice: Choice) -> Plan:
    """What a run by `choice` takes with a model of this shape."""
    lora = shape.layers * choice.rank * sum(i + o for i, o in _targets(shape, choice).values())  # numbers of an adapter
    stays = {"weights": weights(shape, choice.precision), "adapters": 2 * 4 * lora, "optimizers": 2 * 8 * lora}
    between = {"kept between turns": choice.cache_mib << 20} if choice.cache_mib else {}
    return Plan(shape, choice, stays, _sampling(shape, choice) | between, _update(shape, choice, lora))


def _wide(choice: Choice) -> int:
    """Bytes of a number that the base computes with."""
    return 4 if choice.precision == "32 bit" else 2


def weights(shape: ModelShape, precision: Precision) -> int:
    """Bytes of the base. NF4: half a byte a weight, a byte for each 64 as their scale, four for each 256 of those."""
    if precision == "4 bit":
        return int(shape.linear_weights * (1 / 2 + 1 / 64 + 4 / (64 * 256))) + 2 * shape.other_weights
    return (2 if precision == "16 bit" else 4) * (shape.linear_weights + shape.other_weights)


def _targets(shape: ModelShape, choice: Choice) -> dict[str, tuple[int, int]]:
    """(inputs, outputs) of a layer's modules that get an adapter."""
    if choice.targets == "all-linear":
        return dict(shape.linears)
    names = (choice.targets,) if isinstance(choice.targets, str) else choice.targets
    return {name: sizes for name, sizes in shape.linears.items() if name in names}


def _unpacked(shape: ModelShape, choice: Choice) -> int:
    """The largest matrix of a layer at the precision that is computed with: 4 bit unpacks one at a time."""
    return _wide(choice) * shape.hidden * shape.intermediate if choice.precision == "4 bit" else 0


def _sampling(shape: ModelShape, choice: Choice) -> dict[str, int]:
    """Keys and values of the largest batch, all conversations at their longest, and the largest of what comes on top.

    Feeding prompts: at the end of a layer four states, and of its MLP two inner states as wide as the base computes and two
    in fp32, which the adapter's branch computes in. Putting chunks together: five tensors of one layer, keys or values.
    A token each: one layer's keys while they grow; or keys and values as wide as the queries, which grouped attention under
    a mask asks for; or the logits, their logarithms and probabilities, and twice the sums of these in fp64.
    """
    batch, wide = choice.rows * choice.row_tokens, _wide(choice)
    fed = max(choice.prefill_tokens, choice.row_tokens)
    keys = shape.keys * wide * batch
    cast = 4 if wide == 2 else 0  # the state that the adapter's branch reads, in fp32
    added = 4 if wide == 2 and choice.cpu else 0  # PyTorch on a CPU adds 16 bit to fp32 by way of an fp32 copy
    prompts = fed * ((2 * wide + 2 * 4 + added) * shape.intermediate + (4 * wide + cast) * shape.hidden)
    joined = 5 * keys if batch > fed else 0
    grouped = 2 * shape.queries * wide * batch if shape.heads != shape.kv_heads else 0
    drawing = choice.rows * shape.vocabulary * (wide + 4 + 4 + 2 * 8)
    return {
        "keys and values": 2 * shape.layers * keys,
        "one pass": max(prompts + _unpacked(shape, choice), joined, keys, grouped, drawing),
    }


def _update(shape: ModelShape, choice: Choice, lora: int) -> dict[str, int]:
    """The larger of a full micro-batch and the longest row, which goes alone; and the gradients."""
    passes = [
        _pass(shape, choice, choice.row_tokens, alone=True),
        _pass(shape, choice, choice.micro_batch_tokens, alone=False),
    ]
    activations = max(passes, key=lambda each: sum(each.values()))
    gradients = 4 * lora
    reducing = 20 * lora  # gradients are summed over processes in fp64, when the activations are gone
    if gradients + sum(activations.values()) >= gradients + reducing:
        return {"gradients": gradients, **activations}
    return {"gradients": gradients + reducing}


def _pass(shape: ModelShape, choice: Choice, tokens: int, alone: bool) -> dict[str, int]:
    """Forward and backward over so many padded tokens, of one row or of at least two."""
    # Padded rows bring a mask of tokens x width, which is at most half of the tokens.
    layer = tokens * _kept(shape, choice, alone) + (0 if alone else tokens * (tokens // 2) * _wide(choice))
    states = tokens * shape.hidden * _wide(choice)
    kept = shape.layers * (states if choice.checkpointing else layer)
    # The gradient of an MLP's inner states takes three of them, when one of those that were kept is gone.
    backward = 2 * _wide(choice) * shape.intermediate * tokens + (layer if choice.checkpointing else 0)
    logits = 3 * 4 * min(_LOGITS, tokens * shape.vocabulary)
    return {
        "activations kept": kept + 2 * states,
        "one layer or the logits": max(backward, logits) + _unpacked(shape, choice),
    }


def _kept(shape: ModelShape, choice: Choice, alone: bool) -> int:
    """Bytes per token that one layer keeps for its backward pass.

    The base is frozen, so a linear layer keeps its input for the adapter alone, in fp32: once for all that share it where
    the base is fp32 too, else once for each. Norms keep theirs in fp32.
    """
    targets, wide = _targets(shape, choice), _wide(choice)
    hidden, inner = shape.hidden, shape.intermediate
    readers = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"), ("down_proj",), ("o_proj",))
    kept = 2 * 4 * hidden + (4 * (shape.queries + shape.keys) if shape.head_norms else 0)
    for names, width in zip(readers, (hidden, hidden, inner, shape.queries), strict=True):
        taking = sum(name in targets for name in names)
        if wide == 4:
            shared = names == ("o_proj",)  # attention keeps that one already
            kept += 0 if shared else 4 * width * min(taking, 1)
        else:
            kept += 4 * width * taking
    grouped = shape.keys if alone else shape.queries
    attention = wide * (2 * shape.queries + 2 * grouped) + 4 * shape.heads
    return kept + attention + 3 * wide * inner + 4 * choice.rank * len(targets)


def fitted(shape: ModelShape, choice: Choice, card: float) -> Choice:
    """With as many rows, up to those of `choice`, as fit on a card of so many GiB; one where none does."""
    tried = (replace(choice, rows=rows) for rows in ROWS if rows <= choice.rows)
    return next((each for each in tried if plan(shape, each).fits(card)), replace(choice, rows=1))


# ---- what it says ----


def table(planned: Plan, card: float | None, name: str = "") -> str:
    """The plan in lines. `card`: GiB of the GPU, if there is one; `name`: which."""
    choice = planned.choice
    rows = "1 conversation" if choice.rows == 1 else f"{choice.rows} conversations"
    tokens = f"conversations of up to {choice.row_tokens:,} tokens"
    verdict, advice = "the larger of the two on top of what stays", list[str]()
    if card is not None:
        fits = "fits" if planned.fits(card) else "does not fit"
        verdict = f"{fits} in the {card:.1f} GiB of {name or 'this GPU'}, of which {RESERVE:.1f} are left to CUDA"
        advice = [] if planned.fits(card) else [f"  -> {way_out(planned, card)}"]
    lines = [
        f"memory, planned: {choice.precision}, one base for both roles, {tokens}",
        *(_line(what, size) for what, size in planned.stays.items()),
        _line("sampling", sum(planned.sampling.values()), f"{rows} at once: {_terms(planned.sampling)}"),
        _line("an update", sum(planned.update.values()), _terms(planned.update)),
        _line("peak", planned.peak, verdict),
    ]
    return "\n".join([*lines, *advice])


def _line(what: str, size: int, more: str = "") -> str:
    return f"  {what:<10} {size / GIB:6.2f} GiB  {more}".rstrip()


def _terms(parts: Mapping[str, int]) -> str:
    return ", ".join(f"{what} {size / GIB:.2f}" for what, size in parts.items())


def way_out(planned: Plan, card: float) -> str:
    """What to give so that it fits: the flags that are enough, those first that cost least."""
    choice, flags = planned.choice, list[str]()
    short = choice.row_tokens // 2
    shorter = {"micro_batch_tokens": min(choice.micro_batch_tokens, short), "prefill_tokens": short}
    knobs: list[tuple[str, bool, dict[str, Any]]] = [
        ("", True, {}),  # fewer rows may be enough
        ("--gradient-checkpointing true", not choice.checkpointing, {"checkpointing": True}),
        (
            f"--micro-batch-tokens {choice.row_tokens}",
            choice.micro_batch_tokens > choice.row_tokens,
            {"micro_batch_tokens": choice.row_tokens},
        ),
        ("--load-in-4bit true", not choice.four_bit, {"four_bit": True}),
        (f"--max-seq-length {short}", True, {"row_tokens": short, **shorter}),
    ]
    for flag, helps, changes in knobs:
        if not helps:
            continue
        choice = replace(choice, **changes)
        flags += [flag] if flag else []
        least = fitted(planned.shape, choice, card)
        if plan(planned.shape, least).fits(card):
            rows = [f"--generation-rows {least.rows}"] if least.rows < planned.choice.rows else []
            return f"it fits with {' '.join([*flags, *rows])}"
    need = plan(planned.shape, replace(choice, rows=1)).peak / GIB + RESERVE
    return f"it takes a GPU of {need:.0f} GiB even with {' '.join([*flags, '--generation-rows 1'])}; choose a smaller --model"
