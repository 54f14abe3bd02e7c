"""Where programs run: `task` says what a box is asked and answers, `kinds` takes the one that a configuration names.

`local` drives zygotes (`zygotes`, `wire`, `orders`) on this machine, and in virtual machines elsewhere for `e2b/`; `packages`
says what a program may import, `tiers` how strongly it is confined. What runs inside is in the top-level folder `sandbox/`.
"""
