"""A run seen from outside: its folder, what it prints, how commands end, and the checks of this machine."""
