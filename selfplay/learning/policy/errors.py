"""What can go wrong with a policy. Every message names the value, the limit and the next action."""

from selfplay.errors import SelfplayError


class PolicyError(SelfplayError, RuntimeError):
    """The model, its adapters or their training are not in the state that was asked for."""


NO_CUDA = "device is cuda but this PyTorch finds no CUDA GPU; use --device cpu or install a CUDA build"
