"""A screenshot of the page that `adjoint show --html` writes, for the manual.

Run it to write `page.png` next to this file. It needs Chromium, and says so where there is none.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from adjoint.report.page import function_page

TIMES = np.linspace(0.0, 2.0, 20)
MEASURED = 2.0 * np.exp(-1.5 * TIMES)


def misfit(p):
    """How far an exponential is from the measurements."""
    amount = p[0] * np.exp(-p[1] * TIMES)
    return np.sum(np.abs(amount - MEASURED))


def main() -> None:
    """Write the page, and take the picture of its upper part."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if browser is None:
        print("page.png is not drawn again: there is no Chromium", file=sys.stderr)
        return
    page = function_page(misfit, (np.array([2.0, 1.0]),), "misfit", "float64[2]", "page.py")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(page, encoding="utf-8")
        subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={folder}/profile",
                f"--screenshot={Path(__file__).with_suffix('.png')}",
                "--window-size=1200,960",
                path.as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )


if __name__ == "__main__":
    main()
