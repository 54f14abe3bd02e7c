"""How much memory a run takes, planned before anything is loaded: what stays, what sampling adds, what an update adds.

    weights + adapters + optimizers + max(sampling, update)

Plain arithmetic over a model's sizes; each term says what it counts, and `benchmarks/memory.py` holds them against what a
process really takes. Counted is the transformers backend, whose activations are the largest. Left out: what CUDA itself
takes (a reserve stands for it), the embedded player's own functions (a few MiB), and several GPUs: each holds all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from selfplay.learning.shapes import ModelShape

Precision = Literal["4 bit", "16 bit", "32 bit"]

GIB = 1 << 30
RESERVE = 1.0  # GiB for CUDA's context, its libraries and fragmentation: assumed, not measured
ROWS = (128, 64, 32, 16, 8, 4, 2, 1)  # conversations sampled at once, tried in this order
_LOGITS = 1 << 24  # entries of logits that the update holds at once (policy/logprobs.py)


@dataclass(frozen=True, slots=True)
class Use:
    """What a run does with its model. `row_tokens`: the longest conversation. `rows`: how many are sampled at once.

    `prefill_tokens` are fed at once, or one row if that is longer; `micro_batch_tokens` likewise in the update. `cache_mib` of
    keys and values are kept between turns. `cpu`: it computes on one, whose kernels take copies that a GPU's do not.
    """

    precision: Precision
    lora_rank: int
    targets: str | tuple[str, ...]
    row_tokens: int
    rows: int
    prefill_tokens: int
    micro_batch_tokens: int
    checkpointing: bool
    cache_mib: int = 0
    cpu: bool = False

    @property
    def wide(self) -> int:
        """Bytes of a number that the base computes with."""
        return 4 if self.precision == "32 bit" else 2


@dataclass(frozen=True, slots=True)
class Plan:
    """Bytes by what they are for. `stays` is there all the time, `sampling` and `update` by turns."""

    shape: ModelShape
    use: Use
    stays: Mapping[str, int]
    sampling: Mapping[str, int]
    update: Mapping[str, int]

    @property
    def peak(self) -> int:
        return sum(self.stays.values()) + max(sum(self.sampling.values()), sum(self.update.values()))

    def fits(self, card: float) -> bool:
        """Whether it does on a card of so many GiB, with the reserve left free."""
        return self.peak <= (card - RESERVE) * GIB


def plan(shape: ModelShape, use: Use) -> Plan:
    """What `use` takes with a model of this shape."""
    lora = lora_weights(shape, use)
    stays = {"weights": weights(shape, use.precision), "adapters": 2 * 4 * lora, "optimizers": 2 * 8 * lora}
    between = {"kept between turns": use.cache_mib << 20} if use.cache_mib else {}
    return Plan(shape, use, stays, _sampling(shape, use) | between, _update(shape, use, lora))


def weights(shape: ModelShape, precision: Precision) -> int:
    """Bytes of the base. NF4: half a byte a weight, a byte for each 64 as their scale, four for each 256 of those."""
    if precision == "4 bit":
        return int(shape.linear_weights * (1 / 2 + 1 / 64 + 4 / (64 * 256))) + 2 * shape.other_weights
    return (2 if precision == "16 bit" else 4) * (shape.linear_weights + shape.other_weights)


def lora_weights(shape: ModelShape, use: Use) -> int:
    """Numbers of one role's adapter."""
    return shape.layers * use.lora_rank * sum(i + o for i, o in _targets(shape, use).values())


def _targets(shape: ModelShape, use: Use) -> dict[str, tuple[int, int]]:
    if use.targets == "all-linear":
        return shape.linears
    names = (use.targets,) if isinstance(use.targets, str) else use.targets
    return {name: sizes for name, sizes in shape.linears.items() if name in names}


def _unpacked(shape: ModelShape, use: Use) -> int:
    """The largest matrix of a layer at the precision that is computed with: 4 bit unpacks one at a time."""
    return use.wide * shape.hidden * shape.intermediate if use.precision == "4 bit" else 0


def _sampling(shape: ModelShape, use: Use) -> dict[str, int]:
    """Keys and values of the largest batch, all conversations at their longest, and the largest of what comes on top.

    Feeding prompts: at the end of a layer four states, and of its MLP two inner states as wide as the base computes and two
    in fp32, which the adapter's branch computes in. Putting chunks together: five tensors of one layer, keys or values.
    A token each: one layer's keys while they grow; or keys and values as wide as the queries, which grouped attention under
    a mask asks for; or the logits, their logarithms and probabilities, and twice the sums of these in fp64.
    """
    batch, wide = use.rows * use.row_tokens, use.wide
    fed = max(use.prefill_tokens, use.row_tokens)
    keys = shape.keys * wide * batch
    cast = 4 if wide == 2 else 0  # the state that the adapter's branch reads, in fp32
    added = 4 if wide == 2 and use.cpu else 0  # PyTorch on a CPU adds 16 bit to fp32 by way of an fp32 copy
    prompts = fed * ((2 * wide + 2 * 4 + added) * shape.intermediate + (4 * wide + cast) * shape.hidden)
    joined = 5 * keys if batch > fed else 0
    grouped = 2 * shape.queries * wide * batch if shape.heads != shape.kv_heads else 0
    drawing = use.rows * shape.vocabulary * (wide + 4 + 4 + 2 * 8)
    return {
        "keys and values": 2 * shape.layers * keys,
        "one pass": max(prompts + _unpacked(shape, use), joined, keys, grouped, drawing),
    }


def _update(shape: ModelShape, use: Use, lora: int) -> dict[str, int]:
    """The larger of a full micro-batch and the longest row, which goes alone; and the gradients."""
    passes = [_pass(shape, use, use.row_tokens, alone=True), _pass(shape, use, use.micro_batch_tokens, alone=False)]
    activations = max(passes, key=lambda each: sum(each.values()))
    gradients = 4 * lora
    reducing = 20 * lora  # gradients are summed over processes in fp64, when the activations are gone
    if gradients + sum(activations.values()) >= gradients + reducing:
        return {"gradients": gradients, **activations}
    return {"gradients": gradients + reducing}


def _pass(shape: ModelShape, use: Use, tokens: int, alone: bool) -> dict[str, int]:
    """Forward and backward over so many padded tokens, of one row or of at least two."""
    # Padded rows bring a mask of tokens x width, which is at most half of the tokens.
    layer = tokens * _kept(shape, use, alone) + (0 if alone else tokens * (tokens // 2) * use.wide)
    states = tokens * shape.hidden * use.wide
    kept = shape.layers * (states if use.checkpointing else layer)
    # The gradient of an MLP's inner states takes three of them, when one of those that were kept is gone.
    backward = 2 * use.wide * shape.intermediate * tokens + (layer if use.checkpointing else 0)
    logits = 3 * 4 * min(_LOGITS, tokens * shape.vocabulary)
    return {
        "activations kept": kept + 2 * states,
        "one layer or the logits": max(backward, logits) + _unpacked(shape, use),
    }


def _kept(shape: ModelShape, use: Use, alone: bool) -> int:
    """Bytes per token that one layer keeps for its backward pass.

    The base is frozen, so a linear layer keeps its input for the adapter alone, in fp32: once for all that share it where
    the base is fp32 too, else once for each. Norms keep theirs in fp32.
    """
    targets, wide = _targets(shape, use), use.wide
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
    return kept + attention + 3 * wide * inner + 4 * use.lora_rank * len(targets)


def fitted(shape: ModelShape, use: Use, card: float) -> Use:
    """`use` with as many rows as fit on a card of so many GiB; one where none does."""
    return next((each for each in _with_rows(use) if plan(shape, each).fits(card)), replace(use, rows=1))


def _with_rows(use: Use) -> Iterator[Use]:
    return (replace(use, rows=rows) for rows in ROWS if rows <= use.rows)


# ---- what it says ----


def table(made: Plan, card: float | None, name: str = "") -> str:
    """The plan in lines. `card`: GiB of the GPU, if there is one; `name`: which."""
    use = made.use
    lines = [
        f"memory, planned: {use.precision}, one base for both roles, conversations of up to {use.row_tokens:,} tokens",
        *(_line(what, size) for what, size in made.stays.items()),
        _line("sampling", sum(made.sampling.values()), f"{_rows(use.rows)} at once: {_terms(made.sampling)}"),
        _line("an update", sum(made.update.values()), _terms(made.update)),
        _line("peak", made.peak, _verdict(made, card, name)),
    ]
    advice = [] if card is None or made.fits(card) else ways_out(made, card)
    return "\n".join([*lines, *(f"  -> {each}" for each in advice)])


def _line(what: str, size: int, more: str = "") -> str:
    return f"  {what:<10} {size / GIB:6.2f} GiB  {more}".rstrip()


def _rows(rows: int) -> str:
    return "1 conversation" if rows == 1 else f"{rows} conversations"


def _terms(parts: Mapping[str, int]) -> str:
    return ", ".join(f"{what} {size / GIB:.2f}" for what, size in parts.items())


def _verdict(made: Plan, card: float | None, name: str) -> str:
    if card is None:
        return "the larger of the two on top of what stays"
    fits = "fits" if made.fits(card) else "does not fit"
    return f"{fits} in the {card:.1f} GiB of {name or 'this GPU'}, of which {RESERVE:.1f} are left to CUDA"


def ways_out(made: Plan, card: float) -> list[str]:
    """What to give so that it fits, the first that is enough; each is tried on top of those before it."""
    use, given = made.use, list[str]()
    for flag, turned in _knobs(made):
        use = turned(use)
        given.append(flag)
        least = fitted(made.shape, use, card)
        if plan(made.shape, least).fits(card):
            rows = [f"--generation-rows {least.rows}"] if least.rows < made.use.rows else []
            return [f"it fits with {' '.join([*filter(None, given), *rows])}"]
    need = plan(made.shape, replace(use, rows=1)).peak / GIB + RESERVE
    flags = " ".join([*filter(None, given), "--generation-rows 1"])
    return [f"it takes a GPU of {need:.0f} GiB even with {flags}; choose a smaller --model"]


def _knobs(made: Plan) -> Iterator[tuple[str, Callable[[Use], Use]]]:
    """Settings that save memory, those first that cost least."""
    use = made.use
    yield "", lambda each: each  # fewer rows may be enough
    if not use.checkpointing:
        yield "--gradient-checkpointing true", lambda each: replace(each, checkpointing=True)
    if use.micro_batch_tokens > use.row_tokens:
        yield f"--micro-batch-tokens {use.row_tokens}", lambda each: replace(each, micro_batch_tokens=each.row_tokens)
    if use.precision != "4 bit":
        yield "--load-in-4bit true", lambda each: replace(each, precision="4 bit")
    short = use.row_tokens // 2
    yield (
        f"--max-seq-length {short}",
        lambda each: replace(
            each, row_tokens=short, micro_batch_tokens=min(each.micro_batch_tokens, short), prefill_tokens=short
        ),
    )
