"""A run seen from outside: its folder and checkpoints, what it prints, how commands end, and the checks of this machine."""
