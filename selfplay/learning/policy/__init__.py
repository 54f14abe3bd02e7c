"""The two players as one language model: its chat, its two adapters, how it samples and how it scores.

chat.py       messages to ids, from the model's own template
adapters.py   one base, two LoRA adapters: switching, digests, saving, loading
draw.py       one keyed uniform per token, and the token that it picks
qwen2.py      merged weights and forward pass of small Qwen2 models on a CPU
sampler.py    the fast decoder on top of it
generate.py   the decoder for every other transformers model
swap.py       a saved folder in the place of an older one
hf.py         loading models and tokenizers
player.py     Policy: what the training loop holds
"""

from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.player import Policy, PolicySettings, open_policy

__all__ = ["Policy", "PolicyError", "PolicySettings", "open_policy"]
