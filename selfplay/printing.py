"""Text of unknown origin, made fit for a terminal.

What a model wrote may hold escape sequences that move the cursor or hide lines, and lone surrogates that no encoding
takes. Both are shown as escapes; line breaks and tabs stay.
"""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str) -> str:
    """`text` with every character escaped that is no ordinary one."""
    if text.isprintable():
        return text
    return "".join(
        each if each in "\n\t" or unicodedata.category(each) not in _HIDDEN else each.encode("unicode_escape").decode()
        for each in text
    )
