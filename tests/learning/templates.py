"""Chat templates with tokenizers made on the spot: those that TRL bundles, read where it is installed, and four of our own.

A tokenizer has the tokens that the family's own has, special or merely added, with its beginnings and ends, over a small
vocabulary: bytes as in Qwen's, or pieces with a leading mark as in Llama 2's and Gemma's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TEXT = [
    "Explain the problem as you would to a colleague, in three to six plain sentences.",
    "# Problem\n\nDouble it.\n\nSignature:\n```python\ndef twice(n: int) -> int:\n```",
    "assert twice(2) == 4\nassert twice(-1) == -2\n\n# Your turn\n\n## Stage 2 of 5: Structured Reasoning",
]
MISTRAL = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}{% set system = messages[0].content %}"
    "{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}{% for m in rest %}{% if m.role == 'user' %}"
    "[INST] {% if loop.last and system is defined %}{{ system }}\n\n{% endif %}{{ m.content }}[/INST]"
    "{% else %} {{ m.content | trim }}{{ eos_token }}{% endif %}{% endfor %}"
)
MAGISTRAL = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}[SYSTEM_PROMPT]{{ m.content }}[/SYSTEM_PROMPT]"
    "{% elif m.role == 'user' %}[INST]{{ m.content }}[/INST]{% else %}{{ m.content.split('[/THINK]')[-1] }}{{ eos_token }}"
    "{% endif %}{% endfor %}"
)
PHI_4 = (
    "{% for m in messages %}<|im_start|>{{ m.role }}<|im_sep|>{{ m.content }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant<|im_sep|>{% endif %}"
)
GLM_4 = (
    "[gMASK]<sop>{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
OURS = {"glm4": GLM_4, "mistral": MISTRAL, "magistral": MAGISTRAL, "phi4": PHI_4}


@dataclass(frozen=True, slots=True)
class Family:
    """What a family's tokenizer knows. `end` ends a turn; where it is not `eos`, the generation settings name it.

    `special` and `added` are tokens; the latter are decoded and not split on request. `pieces`: "bytes"; "marked", spaces
    are marks; "prefixed", and a mark stands before each text; "first", and before the first of all. `strips`: tokens
    swallow the white space after them. `lead`: white space that the player writes before it speaks.
    """

    end: str
    special: tuple[str, ...]
    added: tuple[str, ...] = ()
    eos: str = ""
    bos: str = ""
    pieces: str = "bytes"
    strips: bool = False
    lead: str = ""


THINK, CALLS = ("<think>", "</think>"), ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
IM = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
QWEN_2, QWEN_3 = Family("<|im_end|>", IM, CALLS), Family("<|im_end|>", IM, (*THINK, *CALLS))
HEADERS = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
)
LLAMA_3 = Family("<|eot_id|>", HEADERS, eos="<|end_of_text|>", bos="<|begin_of_text|>")
TURNS = ("<start_of_turn>", "<end_of_turn>", "<h1>", "\n\n")
GEMMA = Family("<end_of_turn>", ("<bos>", "<eos>"), TURNS, eos="<eos>", bos="<bos>", pieces="marked")
CHANNELS = ("<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|think|>")
GEMMA_4 = Family("<turn|>", ("<bos>", "<eos>", *CHANNELS), eos="<eos>", bos="<bos>", pieces="marked")
PHI_TOKENS = ("<s>", "<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")
PHI_3 = Family("<|end|>", PHI_TOKENS, eos="<|endoftext|>", bos="<s>", pieces="prefixed", strips=True)
SENTENCE = ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>")
DEEPSEEK = Family(SENTENCE[1], SENTENCE, ("<｜User｜>", "<｜Assistant｜>", *THINK), bos=SENTENCE[0])
HARMONY = (
    "<|startoftext|>",
    "<|endoftext|>",
    "<|start|>",
    "<|end|>",
    "<|message|>",
    "<|channel|>",
    "<|return|>",
    "<|call|>",
)
GLM_TOKENS = ("<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>")
GLM = Family("<|user|>", GLM_TOKENS, ("/nothink", *THINK), eos="<|endoftext|>")
LFM = Family("<|im_end|>", ("<|startoftext|>", *IM), THINK, bos="<|startoftext|>")
COHERE_TOKENS = (
    *("<BOS_TOKEN>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>"),
    *("<|SYSTEM_TOKEN|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
)
COHERE = Family("<|END_OF_TURN_TOKEN|>", COHERE_TOKENS, bos="<BOS_TOKEN>")
COHERE_2 = Family("<|END_RESPONSE|>", COHERE_TOKENS, eos="<|END_OF_TURN_TOKEN|>", bos="<BOS_TOKEN>")
MUSE = Family("<|eot|>", ("<|begin|>", "<|start|>", "<|message|>", "<|eot|>", "<|eom|>"), bos="<|begin|>")
INST = ("<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[THINK]", "[/THINK]")
MISTRALS = Family("</s>", INST, bos="<s>", pieces="first")
PHI_4S = Family("<|im_end|>", (*IM, "<|im_sep|>"), strips=True)

FAMILIES: dict[str, Family] = {
    **dict.fromkeys(("cohere",), COHERE),
    **dict.fromkeys(("cohere2",), COHERE_2),
    **dict.fromkeys(("deepseek_r1_distill", "deepseekv3"), DEEPSEEK),
    **dict.fromkeys(("gemma", "gemma3"), GEMMA),
    **dict.fromkeys(("gemma4", "gemma4_v2", "gemma4_v3", "gemma4_v4", "gemma4_v5"), GEMMA_4),
    **dict.fromkeys(("glm4moe",), replace(GLM, lead="\n")),
    **dict.fromkeys(("gptoss",), Family("<|return|>", HARMONY, bos="<|startoftext|>")),
    **dict.fromkeys(("lfm2", "lfm2_v2", "lfm2_2_5", "lfm2_2_5_v2"), LFM),
    **dict.fromkeys(("llama3", "llama3_1", "llama3_2"), LLAMA_3),
    **dict.fromkeys(("muse_glimmer",), MUSE),
    **dict.fromkeys(("nemotron_3_nano", "nemotron_3_super", "nemotron_3_ultra", "nemotron_3_5_lightning"), QWEN_3),
    **dict.fromkeys(("phi3", "phi3_5"), PHI_3),
    **dict.fromkeys(("qwen2_5", "qwen2_5_vl", "qwen3_vl"), QWEN_2),
    **dict.fromkeys(("qwen3", "qwen3_instruct_2507"), QWEN_3),
    **dict.fromkeys(("qwen3_5_nothink", "qwen3_5_think", "qwen3_6", "qwen3_8"), QWEN_3),
    "glm4": replace(GLM, lead="\n"),
    "mistral": replace(MISTRALS, lead=" "),
    "magistral": MISTRALS,
    "phi4": PHI_4S,
}


def source(name: str) -> str | None:
    """A template's source; None where TRL is not installed or has none of this name."""
    if name in OURS:
        return OURS[name]
    found = find_spec("trl")
    file = Path(found.origin).parent / "chat_templates" / f"{name}.jinja" if found and found.origin else None
    return file.read_text(encoding="utf-8") if file and file.is_file() else None


@cache
def made(name: str) -> PreTrainedTokenizerFast | None:
    """The tokenizer of this name with its template."""
    template, family = source(name), FAMILIES[name]
    if template is None:
        return None
    raw = _trained(family.pieces)
    raw.add_special_tokens(
        [AddedToken(t, normalized=False, special=True, rstrip=family.strips) for t in family.special]
    )
    raw.add_tokens([AddedToken(t, normalized=False) for t in family.added])
    names = {"eos_token": family.eos or family.end} | ({"bos_token": family.bos} if family.bos else {})
    names |= {} if family.pieces == "bytes" else {"unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, **names)
    tokenizer.chat_template = template
    return tokenizer


def _trained(pieces: str) -> Tokenizer:
    raw = Tokenizer(models.BPE(unk_token=None if pieces == "bytes" else "<unk>"))
    if pieces == "bytes":
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        raw.decoder = decoders.ByteLevel()
        alphabet, special = sorted(pre_tokenizers.ByteLevel.alphabet()), []
    else:
        if pieces == "first":
            raw.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        else:
            marks = [normalizers.Replace(" ", "▁")]
            raw.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), *marks] if pieces == "prefixed" else marks)
        stripped = [] if pieces == "marked" else [decoders.Strip(" ", 1, 0)]
        raw.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), *stripped])
        alphabet, special = ["▁", "\n", *map(chr, range(33, 127))], ["<unk>"]
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=special, initial_alphabet=alphabet, show_progress=False, max_token_length=12
    )
    raw.train_from_iterator(TEXT * 4, trainer)
    return raw


def end_ids(name: str) -> list[int]:
    """What the generation settings name as the ends of a turn."""
    tokenizer = made(name)
    assert tokenizer is not None
    return [tokenizer.convert_tokens_to_ids(FAMILIES[name].end)]  # type: ignore[list-item]  # one token, one id
