"""A judged group and what is made of it: examined, scored, shown, kept. No torch.

record.py     the match: one problem's group, played and judged
examine.py    from a group of conversations to a match
score.py      from a match's verdicts to rewards, under any rule
credit.py     from rewards to advantages
ledger.py     a match as JSON, and back; fields.py holds it to the kinds of its fields
rescore.py    a ledger under another rule
"""

from selfplay.match.record import Chain, Match, Suite, Target

__all__ = ["Chain", "Match", "Suite", "Target"]
