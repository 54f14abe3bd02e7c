"""The rules of the game in plain Python: problems, stages, prompts, episodes, extraction, rewards, advantages, phases.

No torch and no network. `players` is the one interface to whatever produces text, `rollout` plays a step's groups.
"""
