"""Numbers in sentences for the user."""

from __future__ import annotations


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun in the right form.

    Parameters
    ----------
    count : int
        How many there are.
    one : str
        The noun for one of them.
    many : str, optional
        The noun for more; by default with an s.

    Examples
    --------
    >>> from bochner.models.wording import counted
    >>> counted(1, "row"), counted(3, "row"), counted(2, "class", "classes")
    ('1 row', '3 rows', '2 classes')
    """
    return f"{count} {one if count == 1 else many or one + 's'}"
