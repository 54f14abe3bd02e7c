"""A child that takes turns with the host: it says something and waits, the host answers and waits. Seen from the zygote.

Two kinds of child talk: one that runs tests and asks what the program would do (tester.py), and one that is a program and
performs operations (session.py). Both wait on the socket that they report over. A word of the host comes as an order of the
kind WORD, so that one which arrives when the child is gone already is told from the next order; an empty one ends the child.

A turn has an allowance of CPU and wall-clock time, all turns together have totals, and who waits for the host spends
nothing but what it burns behind our back: CPU time is always counted.
"""

import os
import select
import struct
import time

from sandbox.jail import THREADS
from sandbox.watch import CPU, DONE, FLOOD, TOTAL, WALL, Watch, exit_descriptor, threads_of

WORD = 9  # the kind of an order that is a word to the child that talks
_LENGTH = struct.Struct("!I")


class Talk(Watch):
    """Follows one child that talks, to its end."""

    def __init__(self, service, pid, reader, order):
        Watch.__init__(self, service, pid, reader, order)
        self.outgoing = memoryview(b"")
        self.its_turn = True
        self.said = self.start  # when it said something last

    def until_the_end(self):
        """The end frame's fields. Raises Failed."""
        os.set_blocking(self.reader, False)
        poller = select.poll()
        poller.register(self.service.commands, select.POLLIN)
        poller.register(self.reader, select.POLLIN)
        exited = exit_descriptor(self.pid)
        if exited >= 0:
            poller.register(exited, select.POLLIN)
        try:
            while True:
                begun = self.has_begun  # before that, what stands in the pipe is the order that the child reads
                events = poller.poll(10 if self.its_turn else 100)
                reason, status = self._look()
                if reason is None and begun:
                    reason, status = self._listen(events)
                if reason is not None:
                    return reason, status, self.reports, self.used, time.monotonic() - self.start
                poller.modify(self.reader, select.POLLIN | (select.POLLOUT if self.outgoing else 0))
        finally:
            if exited >= 0:
                os.close(exited)

    def _listen(self, events):
        """Takes a word of the host's, where there is one, and passes it on as far as it goes."""
        for what, mask in events:
            if what == self.service.commands:
                if not mask & select.POLLIN:  # the host has hung up
                    self._kill()
                    os._exit(0)
                word = self.service.word()
                if word is None:
                    self._kill()
                    os._exit(0)
                if not word:
                    return DONE, self._kill()
                now = time.monotonic()
                self.outgoing = memoryview(_LENGTH.pack(len(word)) + word)
                self.start += now - self.said
                self.begun, self.spent, self.its_turn = now, self.used, True
        if self.outgoing:
            try:
                self.outgoing = self.outgoing[os.write(self.reader, self.outgoing) :]
            except BlockingIOError:
                pass
            except OSError:  # it has closed its end, and will be found to have ended
                self.outgoing = memoryview(b"")
        return None, 0

    def _relay(self, to_the_end):
        """Passes on what it said; from then on the host is asked."""
        before = self.reports
        broken = Watch._relay(self, to_the_end)
        if self.reports > before:
            self.its_turn, self.said = False, time.monotonic()
        return broken

    def _over(self):
        if threads_of(self.pid) > THREADS:
            return FLOOD
        if self.used > self.order.total_cpu:
            return TOTAL
        if self.used - self.spent > self.order.cpu:
            return CPU
        if not self.its_turn:
            return None
        now = time.monotonic()
        if now - self.start > self.order.total_wall:
            return TOTAL
        return WALL if now - self.begun > self.order.wall else None
