"""The clerk: a process of its own in which what models wrote is read and compared.

The trainer must not hang or swell because of a text. Every reader here has budgets, but a list of things to charge is
never complete, so the clerk adds limits that need no list: CPU seconds per request and memory per process, kept by the kernel.

    client.py    starts the process, sends requests, gives up on one that costs too much
    server.py    the process: takes a request, does the duty, answers
    duties.py    what can be asked of it: pure functions of data
    desk.py      the duties with what becomes of each when the clerk gave up: a refusal, a failed case, no code
"""

from selfplay.judging.clerk.desk import Desk, shared_desk

__all__ = ["Desk", "shared_desk"]
