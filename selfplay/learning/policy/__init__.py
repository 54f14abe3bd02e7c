"""The two players as one language model that samples and learns. protocol.py says what the game asks of it.

opening.py opens one as settings.py says: with hf.py a model and its tokenizer, whose template (template.py) chat.py speaks;
adapter_check.py tries whether both halves hear the adapters. player.py holds them together.
To learn: trainer.py by transformers and PEFT, unsloth.py by Unsloth; adapters.py, logprobs.py, relief.py, swap.py serve both.
To play: decoder.py small models on a CPU, whose forward pass is qwen2.py's; stepwise.py every other, with cache.py and
attention.py; generate.py by the model's own generate. turns.py is common to them, draw.py the tokens.

Neither transformers nor PEFT is imported before a policy is opened.
"""

from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.opening import check_kind, open_policy
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
    "check_kind",
    "names_thoughts",
    "open_policy",
]
