"""The memory plan against processes: random models, each played and trained in a fresh process on a CPU.

    python -m benchmarks.memory

For each shape a process loads the model, then samples one batch and makes one update; what it takes beyond what it took after
loading is its resident memory's high-water mark, reset before each part, after one pass over a few tokens that loads the
kernels' code. Each part is done again with its tensors counted: the plan is of these, and what is resident on top was taken by
the CPU's kernels. The parts that stay are counted by their tensors. What CUDA does with the same tensors is not shown.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import finalize

MIB = 1 << 20
SIZES = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "head_dim")


@dataclass(frozen=True, slots=True)
class Case:
    """A model and what is done with it. `rows` conversations of `row_tokens`, the last `new` of which are sampled."""

    name: str
    kind: str
    layers: int
    vocabulary: int
    tied: bool
    precision: str
    checkpointing: bool
    rows: int
    row_tokens: int
    new: int = 4
    prefill_tokens: int = 1024
    sizes: tuple[int, int, int, int, int] = (1024, 2816, 8, 2, 128)

    def config(self) -> dict[str, Any]:
        return {
            **dict(zip(SIZES, self.sizes, strict=True)),
            "max_position_embeddings": 8192,
            "sliding_window": None,
            "model_type": self.kind,
            "num_hidden_layers": self.layers,
            "vocab_size": self.vocabulary,
            "tie_word_embeddings": self.tied,
        }


CASES = (
    Case("Qwen2, fp32", "qwen2", 4, 32_000, True, "32 bit", False, 8, 1024),
    Case("Qwen3, bf16, checkpointed", "qwen3", 8, 32_000, True, "16 bit", True, 8, 1024),
    Case("Llama, fp32, checkpointed", "llama", 8, 8_000, False, "32 bit", True, 8, 2048),
    Case("Qwen2, 4 bit", "qwen2", 4, 32_000, False, "4 bit", False, 8, 512),
)
HELD_OUT = (
    Case("Qwen2, wide MLP, bf16", "qwen2", 6, 48_000, True, "16 bit", False, 6, 768, sizes=(768, 4096, 12, 4, 64)),
    Case(
        "Llama, small vocabulary, fp32",
        "llama",
        6,
        1_000,
        False,
        "32 bit",
        True,
        8,
        1536,
        sizes=(640, 1728, 10, 10, 64),
    ),
    Case(
        "Qwen3, wide attention, fp32", "qwen3", 5, 24_000, True, "32 bit", False, 4, 1024, sizes=(768, 2304, 16, 8, 128)
    ),
    Case("Mistral, bf16", "mistral", 6, 32_768, False, "16 bit", True, 6, 1536, sizes=(1024, 3584, 16, 4, 64)),
    Case("Qwen3, untied, bf16", "qwen3", 4, 64_000, False, "16 bit", False, 8, 640, sizes=(896, 2688, 14, 2, 64)),
)
FRESH = (
    Case("Llama, grouped, fp32", "llama", 5, 16_000, True, "32 bit", False, 6, 1024, sizes=(512, 1536, 8, 2, 64)),
    Case("Qwen2, untied, bf16", "qwen2", 4, 20_000, False, "16 bit", True, 4, 1024, sizes=(1280, 3456, 10, 2, 128)),
    Case("Mistral, fp32", "mistral", 5, 12_000, False, "32 bit", True, 6, 1024, sizes=(896, 2432, 14, 7, 64)),
    Case("Qwen3, 4 bit", "qwen3", 4, 16_000, False, "4 bit", True, 6, 768, sizes=(1024, 3072, 16, 8, 64)),
)
DRY = (Case("Llama, fp32, dry run", "llama", 2, 300, True, "32 bit", True, 2, 64, 2, 32, (256, 704, 2, 2, 128)),)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="one tiny model, whose figures mean nothing")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print("TOLD" + json.dumps(measured(Case(**json.loads(arguments.case)))))
        return 0
    print("| model | part | planned MiB | tensors MiB | planned / tensors | resident MiB | planned / resident |")
    print(f"|{'---|' * 7}")
    for case in DRY if arguments.dry_run else (*CASES, *HELD_OUT, *FRESH):
        if case.precision == "4 bit" and find_spec("bitsandbytes") is None:
            print(f"| {case.name} | not run: bitsandbytes is not installed |{' |' * 5}")
            continue
        expected, took = planned(case), in_process(case)
        for part, size in expected.items():
            cells = [cell for found in took[part] for cell in (f"{found / MIB:.1f}", f"{size / max(found, 1):.2f}")]
            print(f"| {case.name} | {part} | {size / MIB:.1f} | {' | '.join(cells)} |", flush=True)
    return 0


def in_process(case: Case) -> dict[str, list[int]]:
    """For each part the bytes of its tensors, and for what does not stay those resident."""
    # One threshold for all blocks: freed memory goes back to the system at once, so that peaks are those of live tensors.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "benchmarks.memory", "--case", json.dumps(asdict(case))]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"{case.name} failed:\n{ran.stderr[-2000:]}")
    return json.loads(ran.stdout.rpartition("TOLD")[2])


def planned(case: Case) -> dict[str, int]:
    from selfplay.learning.memory import plan
    from selfplay.learning.policy import Choice
    from selfplay.learning.shapes import shape_of

    choice = Choice(
        four_bit=case.precision == "4 bit",
        dtype="float32" if case.precision == "32 bit" else "bfloat16",
        checkpointing=case.checkpointing,
        row_tokens=case.row_tokens,
        rows=case.rows,
        prefill_tokens=case.prefill_tokens,
        micro_batch_tokens=case.row_tokens,
        cache_mib=0,
        cpu=True,
    )
    made = plan(shape_of(case.config()), choice)
    return {**made.stays, "sampling": sum(made.sampling.values()), "update": sum(made.update.values())}


def measured(case: Case) -> dict[str, list[int]]:
    import torch

    from selfplay.game.episode import ROLES, TurnKey
    from selfplay.game.players import Request, Sampling
    from selfplay.learning.policy import Choice
    from selfplay.learning.policy.protocol import Rows
    from selfplay.learning.policy.stepwise import StepwiseSampler
    from selfplay.learning.policy.trainer import PeftTrainer

    torch.set_num_threads(1)
    settings = Choice(fast=False, checkpointing=case.checkpointing)
    trainer = PeftTrainer(_model(case), settings)
    sampler = StepwiseSampler(
        trainer.adapters, frozenset(), 0, Choice(rows=case.rows, prefill_tokens=case.prefill_tokens, cache_mib=0)
    )

    def sample(rows: int, length: int, new: int) -> None:
        # Of different lengths, so that there is a mask.
        ids = [tuple((i * 7 + row) % case.vocabulary for i in range(length - new - row)) for row in range(rows)]
        asked = [Request(TurnKey(0, "p", "generator", row, 1), own) for row, own in enumerate(ids)]
        sampler.complete(asked, Sampling(1.0, new))

    def update(length: int) -> None:
        """A row alone, and two that are padded; every token is scored, as the plan assumes."""
        for rows in (1, 2):
            ids_BT = torch.arange(length).view(rows, -1) % case.vocabulary
            mask_BT = torch.ones_like(ids_BT)
            mask_BT[1:, -1] = 0
            where_BT = (mask_BT > 0) & (torch.arange(length // rows) > 0)
            trainer.accumulate("generator", Rows(ids_BT, mask_BT, where_BT), 1.0, torch.sum)
        trainer.step("generator", trainer.take_gradient("generator"), 1.0)

    sample(1, 8, 2)
    update(16)
    ours = {id(p) for role in ROLES for p in trainer.adapters.parameters[role].values()}
    held = trainer.state()["optimizers"]["generator"]["state"].values()
    told = {
        "weights": [_bytes(p for p in trainer.model.parameters() if id(p) not in ours) + _scales(trainer.model)],
        "adapters": [_bytes(p for p in trainer.model.parameters() if id(p) in ours)],
        # The other role's are made at its first step.
        "optimizers": [2 * _bytes(t for own in held for t in own.values() if t.ndim)],
    }
    for part, action in (
        ("sampling", lambda: sample(case.rows, case.row_tokens, case.new)),
        ("update", lambda: update(case.row_tokens)),
    ):
        before = _reset()
        action()
        resident = _status("VmHWM") - before
        with _counted() as peak:
            action()
        told[part] = [peak(), resident]
    return told


@contextmanager
def _counted() -> Iterator[Callable[[], int]]:
    """How many bytes of tensors that are made inside were alive at once, at most."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    live, peak = dict[int, int](), [0]

    class Counted(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            given = {id_of(each) for each in tree_leaves((args, kwargs)) if hasattr(each, "untyped_storage")}
            made = func(*args, **(kwargs or {}))
            for tensor in tree_leaves(made):
                if hasattr(tensor, "untyped_storage") and id_of(tensor) not in live.keys() | given:
                    storage = tensor.untyped_storage()
                    live[id_of(tensor)] = storage.nbytes()
                    finalize(storage, live.pop, id_of(tensor), 0)
            peak[0] = max(peak[0], sum(live.values()))
            return made

    def id_of(tensor: Any) -> int:
        return tensor.untyped_storage()._cdata

    with Counted():
        yield lambda: peak[0]


def _model(case: Case) -> Any:
    """Random weights, as they would be loaded: 4 bit by saving the model and loading it."""
    import tempfile

    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from selfplay.learning.policy import hf

    config = case.config()
    model = AutoModelForCausalLM.from_config(
        AutoConfig.for_model(config.pop("model_type"), **config),
        dtype=torch.float32 if case.precision == "32 bit" else torch.bfloat16,
    )
    if case.precision != "4 bit":
        return model.eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        del model
        return hf.load_model(Path(folder), torch.device("cpu"), True, "bfloat16")


def _bytes(tensors: Iterable[Any]) -> int:
    """Of distinct storages."""
    return sum({t.data_ptr(): t.numel() * t.element_size() for t in tensors}.values())


def _scales(model: Any) -> int:
    """What 4-bit weights bring beside their codes."""
    states = [getattr(p, "quant_state", None) for p in model.parameters()]
    return sum(
        _bytes([state.absmax, state.code] + ([state.state2.absmax, state.state2.code] if state.nested else []))
        for state in states
        if state is not None
    )


def _reset() -> int:
    """Forgets the high-water mark; what is resident, in bytes."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _status("VmRSS")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    sys.exit(main())
