"""Makes Unsloth take its CUDA path while every tensor lies on the CPU, and Triton interpret kernels instead of compiling them.

    kernels = pretend()         # before anything imports transformers or unsloth; in a process of its own, nothing is put back
    import unsloth              # its CUDA Python, and its Triton source on numpy

Unsloth knows a CUDA build without a card (`UNSLOTH_ALLOW_CPU`, for its own tests), but asks PyTorch about a card all the same
once it works on a model: these questions are answered here, as a T4 would. `torch.cuda.is_available()` stays false. Who asks a
*tensor* where it lies still hears the CPU: kernels and launches that Unsloth keeps for tensors on a card are not taken, and its
general ones are.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

T4 = (7, 5)  # its compute capability: fp16, no bf16


def pretend() -> Counter[str]:
    """Patches this process. Returns how often each Triton kernel has been interpreted, which goes on counting.

    Raises ImportError where Triton is not installed.
    """
    os.environ |= {
        "UNSLOTH_ALLOW_CPU": "1",  # its CUDA path without a card
        "TRITON_INTERPRET": "1",  # read where a kernel is defined, so before Unsloth is imported
        "UNSLOTH_DISABLE_PINNED_MEMORY": "1",  # page-locked memory is CUDA's
        "UNSLOTH_DISABLE_DOUBLE_BUFFER": "1",  # decided by the card's free memory
        "UNSLOTH_DISABLE_STATISTICS": "1",
    }
    _answer_about_a_card()
    _compute_elsewhere()
    _Here().__enter__()
    return _count_kernels()


def offload_always() -> Callable[[], bool]:
    """Lets Unsloth's checkpointing offload activations of any size, where it takes 2 MiB and more. Returns whether it has.

    Call it after the model was loaded, which sets these anew.
    """
    from unsloth_zoo import gradient_checkpointing as own  # type: ignore[import-not-found]

    own.MINIMUM_SIZE = 0
    # It finds its buffers by the number of the tensor's card, which the CPU has not: None.
    own.GPU_BUFFERS, own.NEXT_BUFFER_SLOT = {None: own._new_gpu_buffer(0)}, {None: 0}
    own.EXTRA_STREAMS, own.MAIN_STREAMS = {None: _Stream()}, {None: _Stream()}
    return lambda: not own.USE_UNSLOTH_GC  # until the first one it is to be announced


def _answer_about_a_card() -> None:
    cuda: Any = torch.cuda
    card = SimpleNamespace(
        name="pretended", total_memory=16 << 30, major=T4[0], minor=T4[1], multi_processor_count=40, warp_size=32
    )
    cuda.device_count = lambda: 1  # lists with an entry for each card are as long as this
    cuda.current_device = lambda: 0
    cuda.get_device_properties = lambda *device: card  # printed, and read for its memory
    cuda.get_device_capability = lambda *device: T4  # chooses the kernels that the card can run
    cuda.get_rng_state = lambda *device: torch.empty(0, dtype=torch.uint8)  # fork_rng keeps it of each card
    cuda.set_rng_state = lambda *state: None
    # Kernels are launched on a stream by number, and checkpointing copies activations on one beside it. Here all of it
    # happens in order, so there is nothing to wait for: whether Unsloth waits where it must is not shown.
    torch._C._cuda_getCurrentRawStream = lambda *device: 0  # type: ignore[attr-defined]
    cuda.Stream = cuda.current_stream = cuda.default_stream = _Stream
    cuda.stream = lambda stream: nullcontext()


class _Stream:
    """A CUDA stream on which everything has happened already."""

    cuda_stream = 0

    def __init__(self, *device: Any, **more: Any) -> None: ...
    def wait_stream(self, other: Any) -> None: ...
    def wait_event(self, event: Any) -> None: ...
    def record_event(self, event: Any = None) -> Any: ...


def _compute_elsewhere() -> None:
    """What names CUDA for a computation means the CPU: autocast, and what its autograd functions remember of it."""
    amp: Any = torch.amp
    forward, backward, real = amp.custom_fwd, amp.custom_bwd, amp.autocast_mode.autocast

    class Autocast(real):
        def __init__(self, device_type: str, *rest: Any, **more: Any) -> None:
            super().__init__(device_type.replace("cuda", "cpu"), *rest, **more)

    amp.autocast_mode.autocast = amp.autocast = torch.autocast = Autocast  # type: ignore[misc,assignment]
    amp.custom_fwd = lambda own=None, *, device_type, **more: forward(own, device_type="cpu", **more)
    amp.custom_bwd = lambda own=None, *, device_type: backward(own, device_type="cpu")


class _Here(TorchFunctionMode):
    """A tensor made on CUDA or moved there stays on the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if _is_card(kwargs.get("device")):
            kwargs["device"] = "cpu"
        if func is torch.Tensor.to and _is_card(args[1] if len(args) > 1 else None):
            args = (args[0], "cpu", *args[2:])
        if func is torch.device and args and type(args[0]) is int:  # a number alone is a card's, and needs one
            args = ("cpu", args[0])
        return func(*args, **kwargs)


def _is_card(device: Any) -> bool:
    return type(device) is int or (isinstance(device, str | torch.device) and str(device).startswith("cuda"))


def _count_kernels() -> Counter[str]:
    from triton.runtime.interpreter import GridExecutor  # type: ignore[import-not-found]

    counted: Counter[str] = Counter()
    launch: Callable[..., Any] = GridExecutor.__call__

    def counting(self: Any, *rest: Any, **more: Any) -> Any:
        counted[self.fn.__name__] += 1
        return launch(self, *rest, **more)

    GridExecutor.__call__ = counting
    return counted
