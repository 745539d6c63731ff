import subprocess
import sys

import pytest

import bochner
import bochner.data

HELP = """
import sys
from typer.testing import CliRunner
from bochner.cli.app import app
assert CliRunner().invoke(app, ["compare", "--help"]).exit_code == 0
print([name for name in ("sklearn", "scipy", "pandas", "numba") if name in sys.modules])
"""


@pytest.mark.parametrize("package", [bochner, bochner.data])
def test_every_public_name_is_there(package):
    for name in package.__all__:
        found = getattr(package, name)
        assert getattr(found, "__name__", name) == name
        assert name in dir(package)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'x'"):
        package.x  # noqa: B018


def test_help_imports_nothing_heavy():
    found = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found.stderr
