"""The two players as one language model that samples and learns. protocol.py says what the game asks of it.

protocol.py   Sampler and Trainer, and a legend of tensor names
player.py     Policy: one of each and a chat, what the training loop holds
opening.py    chooses and opens them
settings.py   Choice: what they are opened with
chat.py       messages to ids, from the model's own template
template.py   what a template writes around messages, and where thoughts are
hf.py         loading models and tokenizers
trainer.py    the trainer: transformers and PEFT, on qwen2.py for small models
unsloth.py    the trainer over Unsloth
adapter_check.py  whether sampler and trainer hear both adapters alike
relief.py     what to do when memory runs out
adapters.py   one base, two LoRA adapters: switching, digests, saving, loading
logprobs.py   log-probabilities of given tokens from hidden states
qwen2.py      merged weights and forward pass of small Qwen2 models on a CPU
decoder.py    the sampler on top of it, with a cache of prefixes
turns.py      turns in the making, and what samplers over a live model share
stepwise.py   the sampler for every other transformers model: a loop of our own
cache.py      the keys and values that it keeps between turns
attention.py  how a transformers model attends: shared prefixes once
generate.py   the same turns by the model's own generate
draw.py       one keyed uniform per token, and the token that it picks
swap.py       a saved folder in the place of an older one

Neither transformers nor PEFT is imported before a policy is opened.
"""

from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.opening import open_policy
from selfplay.learning.policy.player import Policy
from selfplay.learning.policy.relief import SILENT, Relief
from selfplay.learning.policy.settings import EMBEDDED, Choice
from selfplay.learning.policy.template import Thinking, names_thoughts

__all__ = [
    "EMBEDDED",
    "SILENT",
    "Choice",
    "Policy",
    "PolicyError",
    "Relief",
    "Thinking",
    "names_thoughts",
    "open_policy",
]
