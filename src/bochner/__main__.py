"""The program ``bochner``, also as ``python -m bochner``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; if its packages are missing, say what to install."""
    try:
        from bochner.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"The program needs {error.name}: pip install 'bochner[cli]'")
    app()


if __name__ == "__main__":
    main()
