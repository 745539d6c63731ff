"""The list of versions of the site: ``python docs/versions.py FOLDER URL``.

`FOLDER` holds one folder per version (`dev`, `0.1.0`, ...), and `stable`, a copy of the latest.
Writes `switcher.json`, which the pages read, and an `index.html` that leads to the latest.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any


def list_versions(folder: Path, url: str) -> list[dict[str, Any]]:
    """An entry for every version in `folder`, `dev` first, then from the newest to the oldest."""
    names = [path.name for path in folder.iterdir() if (path / "index.html").exists()]
    released = [name for name in names if re.fullmatch(r"\d+(\.\d+)*", name)]
    released.sort(key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    entries: list[dict[str, Any]] = []
    if "dev" in names:
        entries.append({"name": "dev", "version": "dev", "url": f"{url}/dev/"})
    for number, name in enumerate(released):
        entry: dict[str, Any] = {"name": name, "version": name, "url": f"{url}/{name}/"}
        if number == 0:
            entry |= {"name": f"{name} (stable)", "preferred": True}
        entries.append(entry)
    return entries


def main(folder: Path, url: str) -> None:
    entries = list_versions(folder, url.rstrip("/"))
    (folder / "switcher.json").write_text(json.dumps(entries, indent=1) + "\n")
    latest = "stable" if any(entry.get("preferred") for entry in entries) else "dev"
    (folder / "index.html").write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={latest}/">'
        f'<a href="{latest}/">bochner</a>\n'
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
