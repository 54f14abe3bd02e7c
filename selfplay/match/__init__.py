"""A judged group and what is made of it: examined, scored, shown, kept. No torch.

record.py     the match: one problem's group, played and judged
examine.py    from a group of conversations to a match
score.py      from a match's verdicts to rewards, under any rule
ledger.py     a match as JSON, and back
"""

from selfplay.match.record import Chain, Match, Suite, Target

__all__ = ["Chain", "Match", "Suite", "Target"]
