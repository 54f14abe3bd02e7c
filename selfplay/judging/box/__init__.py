"""The local box, seen from the host: `local` drives zygotes (`zygotes`, `wire`), `packages` says what a program may import,
`tiers` how strongly this machine confines it. What runs inside is in the top-level folder `sandbox/`.
"""
