"""What players are worth: played on held-out problems, counted per problem, told with intervals. No torch.

evaluator.py  both roles against an opponent that never changes, and what else the same turns tell
comparison.py several players beside each other
figures.py    from what was played to shares with intervals, and to differences
intervals.py  the intervals
crossplay.py  every generator against every discriminator
bugs.py       tests against bugs that no player made
standings.py  figures as a table, as JSON, as a picture
"""
