"""The keys of a run. Flags, YAML keys and Python keywords are these names; `--help` prints these texts.

Names follow TRL where it has one. A text says what the knob does and, where it matters, what to do when memory runs out
or learning stalls. A knob's default is what the embedded player gets, `model` what a real model gets where that differs;
there `none` means that default.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache, partial
from typing import Any, Literal, get_type_hints

from selfplay.config.values import ConfigError, check_range

SAME: Any = object()  # a model gets what the embedded player gets


def knob(
    group: str,
    default: Any,
    help: str,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    model: Any = SAME,
    anew: bool = False,
) -> Any:
    """A field of a group of the help, with its text and range, of each number where there are several; `above` excludes its
    bound.

    `anew`: whether a resumed run may be given another value, because it decides nothing that the run computes.
    """
    metadata = {"group": group, "help": help, "low": low, "above": above, "high": high, "anew": anew}
    return field(default=default, metadata=metadata | ({} if model is SAME else {"model": model}))


PLAYER = "the players"
run, saving = partial(knob, "the run"), partial(knob, "saving and resuming")
player, plan = partial(knob, PLAYER), partial(knob, "the schedule")
game, update = partial(knob, "playing"), partial(knob, "the update")
judge, evaluation = partial(knob, "judging"), partial(knob, "evaluation")


@dataclass(frozen=True, slots=True)
class Knobs:
    """The table of keys: types, defaults, ranges. `layers.Config`, which people use, also settles what hangs together."""

    output_dir: str = run(
        "runs/selfplay",
        "Folder that gets config.yaml, metrics.jsonl, episodes.jsonl, checkpoints and the adapters. Must not hold a run.",
    )
    seed: int = run(0, "Seeds problems, adapters and every sampled token. Compare settings over several seeds.", low=0)
    preset: str | None = run(
        None, "Named settings: smoke (one step per phase), or those of a GPU: t4 (a 1.5B model), l4, a100, h100."
    )
    device: Literal["auto", "cuda", "cpu"] = run(
        "auto",
        "auto takes a GPU where there is one; the embedded player then stays on the CPU, which suits its size.",
        anew=True,
    )
    processes: int | Literal["auto"] = run(
        "auto",
        "Processes that share each step's problems on this machine. auto: 2 for the embedded player where "
        "there are two cores, else 1. Set 1 when memory runs out. On several GPUs use torchrun or accelerate "
        "launch.",
        low=1,
        anew=True,
    )
    report_to: str | tuple[str, ...] | None = run(
        None,
        "Experiment trackers that get the figures of each step: trackio, tensorboard, wandb, or several with commas. "
        "Each is an extra of its name. none: metrics.jsonl alone.",
        anew=True,
    )
    callbacks: str | tuple[str, ...] | None = run(
        None,
        "What else is to be done as the run goes on: references, module:name, to classes derived from selfplay.Callback, "
        "with commas between them. none: nothing.",
        anew=True,
    )
    push_to_hub: str | None = run(
        None,
        "Repository user/name on the Hugging Face Hub that gets both adapters and a card, private where it is new. none: "
        "nothing is pushed.",
        anew=True,
    )
    ledger: Literal["full", "texts", "off"] = run(
        "full",
        "What episodes.jsonl keeps of every group: full, everything; texts, all but token ids and log-probabilities; "
        "off, nothing, and the run cannot be scored again. Choose texts or off when the disk runs full.",
    )

    resume: str | None = saving(
        None,
        "Folder of a run, or one of its checkpoints (RUN/checkpoints/8), to go on from, with its configuration. Only where "
        "and how fast it computes and where it reports may be given anew. none: a new run.",
        anew=True,
    )
    init_from: str | None = saving(
        None,
        "Begin a new run on adapters that are trained already: those of a run (its best checkpoint), of a checkpoint, "
        "a folder of adapters, or user/name on the hub. Rank, scale and layers are theirs. none: fresh adapters.",
    )

    model: str | None = player(
        None,
        "Folder or hub name of the one model that plays both roles, an adapter each. none: the player that "
        "comes with the package.",
    )
    lora_rank: int = player(8, "Rank of both adapters. Halve it when memory runs out.", low=1, model=16)
    lora_alpha: int = player(80, "Scale of the adapters, usually twice the rank.", low=1, model=32)
    lora_target_modules: str | tuple[str, ...] = player(
        "all-linear", "Layers that get an adapter: all-linear, or names such as q_proj,v_proj (less memory)."
    )
    backend: Literal["auto", "transformers", "unsloth"] = player(
        "auto",
        "What loads and trains the model. auto: unsloth for a real model where it is installed and a CUDA GPU is there, "
        "else transformers. On a CPU unsloth accelerates nothing. Or your own trainer, module:name.",
    )
    sampler: Literal["auto", "small", "own", "generate"] = player(
        "auto",
        "What draws the turns: small (small fp32 Qwen2 models on a CPU), own (our loop over any transformers model), "
        "generate (the model's own generate; the only one for unsloth on CUDA), or your own, module:name. auto: the first "
        "of these that fits.",
    )
    load_in_4bit: bool | Literal["auto"] = player(
        "auto", "Hold the base in 4 bit (NF4): a quarter of the memory. auto: on a GPU where bitsandbytes is installed."
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = player(
        "auto", "What the base computes in. auto: fp32 on a CPU; on a GPU bf16, or fp16 where it has none."
    )
    gradient_checkpointing: bool | Literal["auto"] = player(
        "auto",
        "Compute activations again in the backward pass: a tenth of the memory, a third slower. auto: for a real model.",
    )
    max_seq_length: int | Literal["auto"] = player(
        "auto",
        "Tokens of the longest conversation; one that fills them ends, truncated. auto: what the game can need and "
        "half as much again, within the model's context.",
        low=64,
    )
    generation_rows: int | Literal["auto"] = player(
        "auto",
        "Conversations sampled at once. auto: what fits by the memory plan, at most 128. Halve it when memory runs out "
        "in sampling.",
        low=1,
    )
    prompts: str = player(
        "compact",
        "Style of the prompts: compact or instruct, or a folder with templates of your own.",
        model="instruct",
    )
    thinking: Literal["auto", "on", "off"] = player(
        "auto",
        "Whether a model thinks before it speaks: on and off turn the switch of its chat template, auto leaves it as it "
        "is. Off is much faster.",
    )

    schedule: str = plan(
        "shared",
        "full: per stage N discriminator steps, N generator steps, K alternating ones. shared: the same steps, and both "
        "roles learn from each. joint: both learn, as often as each does in full (3 + 3 + 2 makes four steps a stage), from "
        "larger groups. generator_only, discriminator_only: the steps of one role. alternating, single_stage (no "
        "reasoning chain): as many steps as full, by turns.",
    )
    stages: tuple[int, ...] = plan((1, 2, 3, 4, 5), "Stages trained, in order; 3 alone trains one stage.")
    trained_stages: Literal["from", "only"] = plan(
        "from", "Turns that carry gradient at stage k: from k to the last, or stage k only."
    )
    n_discriminator_steps: int = plan(
        3, "N, the discriminator's steps per stage; under full the generator is held still in them.", low=0
    )
    n_generator_steps: int = plan(
        3, "N, the generator's steps per stage; under full the discriminator is held still in them.", low=0
    )
    k: int = plan(2, "Alternating steps per stage in total, beginning with the generator.", low=0)
    adversary: Literal["trained", "frozen", "none", "golden"] = plan(
        "trained",
        "For comparison: frozen never trains the discriminator, none leaves the problem's own tests alone, golden puts "
        "tests made from the reference in its place, the ceiling of what tests can teach.",
    )

    problems: str = game(
        "procedural",
        "A problem file (JSONL or a JSON array), a set of the package (procedural, handwritten, stdio), or your own "
        "problems, module:name.",
        model="handwritten",
    )
    train_problems: int | None = game(None, "Training problems, the first so many. none: all of the split.", low=1)
    problems_per_step: int = game(
        32,
        "Problems played in a step. More steady learning than any other knob; fewer when memory or patience runs out.",
        low=1,
        model=8,
    )
    num_generations: int = game(
        8,
        "Episodes of the trained role per problem (G). More when few groups are informative, fewer for memory.",
        low=2,
    )
    num_suites: int = game(
        3, "Chains of a generator step that a discriminator reads; their tests form the exam (S).", low=1, model=2
    )
    num_targets: int = game(4, "Further programs that a discriminator step's tests are held against (C).", low=0)
    cases_per_turn: int = game(2, "Tests asked for per turn; no more than this are paid.", low=1)
    temperature: float = game(
        1.0,
        "Of sampling and scoring. Raise it when episodes of a group come out alike, lower it when turns are gibberish.",
        above=0,
        high=10,
    )
    max_completion_length: int = game(
        96, "Tokens per turn. Raise it when many turns are truncated, lower it when memory runs out.", low=1, model=512
    )
    thinking_tokens: int = game(
        4096,
        "Tokens that a turn may think before its max_completion_length begins. Raise it when many thoughts are cut "
        "off (thought_cut), lower it when memory or patience runs out.",
        low=0,
    )

    rewards: str = update(
        "novel_kills",
        "Rule that pays both roles: novel_kills, or for comparison adversarial, progressive, shifted, "
        "fractional, deepcoder. An unknown name lists them. Or your own, module:name.",
    )
    validity_weight: float = update(
        0.6,
        "What a valid test earns beside its kills, under a rule that asks for it (adversarial, novel_kills). Raise it when few "
        "tests are valid, lower it when all are harmless.",
        low=0,
    )
    advantages: str = update(
        "group_std", "Baseline of the rewards: group_std, group, running (moving average), raw (the reward itself)."
    )
    learning_rate: tuple[float, ...] = update(
        (2.5e-3, 4e-3),
        "Of AdamW: one for both roles, or the generator's and the discriminator's. Halve it when rewards rise and then "
        "fall, double it when nothing moves.",
        low=0,
        model=(2e-5,),
    )
    lr_scheduler_type: Literal["linear", "constant"] = update(
        "linear",
        "linear lets the learning rate fall to zero over the schedule: late stages have little to learn from and "
        "much to spoil. constant leaves it.",
    )
    num_iterations: int = update(1, "Updates per batch. Clipping acts only above 1.", low=1)
    epsilon: tuple[float, ...] = update(
        (0.2,),
        "Clip range of the probability ratio, or the ranges below and above 1: 0.2 0.28 keeps rare tokens alive (DAPO).",
        above=0,
    )
    beta: float = update(
        0.0, "Weight of the KL to the untrained model. Raise it (0.01) when outputs degenerate.", low=0
    )
    micro_batch_tokens: int = update(
        2048,
        "Padded tokens per forward and backward. The first thing to halve when memory runs out; results do not change.",
        low=1,
        model=4096,
    )
    logprob_gap_limit: float | None = update(
        None,
        "Nats per token by which sampler and trainer may differ before the run stops: an ignored adapter "
        "shows here. none: 1e-4 in fp32, 0.5 in 16 and 4 bit; config.yaml says which. From 0.05 the run warns, and stops where "
        "turns are nearer to the other role or to the base.",
        above=0,
    )
    importance_cap: float | None = update(
        None,
        "A token weighs as much as the trainer's probability of it over the sampler's, at most this. none: 2 in 16 and 4 bit; "
        "no weights in fp32.",
        above=0,
    )

    timeout: float = judge(2.0, "CPU seconds that a program may take per test.", above=0)
    sandbox: Literal["local", "e2b"] = judge(
        "local",
        "Where programs run: local, jailed children on this machine; e2b, virtual machines of E2B's cloud (needs "
        "E2B_API_KEY and the extra e2b; references and their mutants stay here all the same).",
        anew=True,
    )
    sandbox_min_tier: Literal["limited", "seatbelt", "confined", "jailed", "e2b"] | None = judge(
        None,
        "Refuse to start where programs are confined less than this. Give jailed where a model trains for long: "
        "every hole in a judge is found by training. none: print the tier and start.",
        anew=True,
    )
    sandbox_workers: int | Literal["auto"] = judge(
        "auto",
        "Programs run at once, per process: sandboxes at E2B, whose Hobby plan allows 20 in all. More when seconds/judge "
        "dominates a step. auto: 1 on this machine, 4 at E2B.",
        low=1,
        anew=True,
    )
    e2b_budget: float | None = judge(
        36_000.0,
        "Sandbox-seconds that a process may spend at E2B; past them programs count as not judged. none: no limit.",
        above=0,
        anew=True,
    )

    eval_split: Literal["train", "dev", "test"] = evaluation(
        "dev", "Held-out problems that evaluations read. Choose settings on dev; read test once, for the final table."
    )
    eval_problems: tuple[int, ...] = evaluation(
        (60, 200),
        "Two numbers: problems evaluated after each stage, and before and after the run, as far as the split has them. "
        "One: for all.",
        low=1,
        model=(10, 40),
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            check_range(each, getattr(self, each.name))
        if not self.stages or list(self.stages) != sorted({1, 2, 3, 4, 5} & set(self.stages)):
            given = ", ".join(map(str, self.stages)) or "empty"
            raise ConfigError(f"stages is {given}: give some of 1 2 3 4 5, each once, in order")
        for name in ("learning_rate", "epsilon", "eval_problems"):
            if not 1 <= len(getattr(self, name)) <= 2:
                given = ", ".join(map(str, getattr(self, name)))
                raise ConfigError(f"{name} is {given}: give one number or two")
        if self.num_suites > self.num_generations:
            raise ConfigError(
                f"num_suites is {self.num_suites}, more than num_generations, {self.num_generations}: "
                "a suite reads one of the group's chains; lower num_suites or raise num_generations"
            )
        if self.eval_problems[0] > self.eval_problems[-1]:
            raise ConfigError(
                f"eval_problems is {self.eval_problems[0]}, {self.eval_problems[-1]}: what is evaluated after a stage is "
                "evaluated before and after too; lower the first or raise the second"
            )

    @property
    def embedded(self) -> bool:
        """Whether the package's own player plays."""
        return self.model is None


@cache
def hints() -> dict[str, Any]:
    """The type of every key."""
    return get_type_hints(Knobs)
