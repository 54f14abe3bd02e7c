"""A judged group and what is made of it: examined, scored, shown, kept. No torch.

match.py      the match: one problem's group, played and judged
examine.py    from a group of conversations to a match
score.py      from a match's verdicts to rewards, under any rule
counts.py     the figures of a step
ledger.py     a match as JSON, and back; fields.py holds it to the kinds of its fields
rescore.py    a ledger under another rule
show.py       a match as text; excerpt.py, parts of it
solver.py     a player's best program for a problem; solution.py, agreement.py
testbank.py   tests worth keeping; livebank.py, those of a run; testfile.py, as files for pytest
"""

from selfplay.match.match import Chain, Match, Suite, Target

__all__ = ["Chain", "Match", "Suite", "Target"]
