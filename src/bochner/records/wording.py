"""Numbers and names in sentences for the user."""

from __future__ import annotations

from collections.abc import Iterable


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun in the right form.

    Examples
    --------
    >>> from bochner.records.wording import counted
    >>> counted(1, "row"), counted(3, "row"), counted(2, "class", "classes")
    ('1 row', '3 rows', '2 classes')
    """
    return f"{count} {one if count == 1 else many or one + 's'}"


def listed(names: Iterable[object], most: int = 8) -> str:
    """Join names with commas; only the first ones if there are many.

    Examples
    --------
    >>> from bochner.records.wording import listed
    >>> listed("abc"), listed("abc", most=2)
    ('a, b, c', 'a, b and 1 more')
    """
    shown = [str(name) for name in names]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def printable(text: str) -> str:
    """Escape the control characters of a text, except line ends: a terminal obeys none of it.

    Names in other people's files may hold commands for terminals, or turn the direction of text.

    Examples
    --------
    >>> from bochner.records.wording import printable
    >>> print(printable("size\\x1b[2J, größe"))
    size\\x1b[2J, größe
    """
    return "".join(
        char if char.isprintable() or char in "\n\t " else ascii(char)[1:-1] for char in text
    )
