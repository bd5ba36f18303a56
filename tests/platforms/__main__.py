"""Run tests on CPython 3.14 and 3.15, and on aarch64, from Debian's packages.

    python -m tests.platforms 3.14 3.15           # `forky`, the testing suite, in a root of its own
    python -m tests.platforms aarch64             # Python 3.13 of `trixie`, under qemu's emulation
    python -m tests.platforms 3.15 -- tests/base  # other tests than those of capture and executors

Needs Debian or what is like it, root's rights, and its packages debootstrap and, for aarch64,
qemu-user-static. The mirror is the one that this machine's apt uses. Roots stay in
`build/platforms`, some 1.5 GB each. An emulated processor is about thirty times slower.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
ROOTS = HERE / "build" / "platforms"
SUITES = ("tests/capture", "tests/executors")
VERSIONS = ("3.14", "3.15")
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "mpmath")
SETTINGS = ("etc/ssl/certs/ca-certificates.crt", "etc/pip.conf", "etc/resolv.conf", "etc/hosts")
DEVICES = (("null", 3), ("zero", 5), ("random", 8), ("urandom", 9))  # and their minor numbers


def mirror() -> str:
    """Where this machine's apt has Debian's packages from."""
    sources = Path("/etc/apt")
    for file in [*sources.glob("sources.list.d/*"), sources / "sources.list"]:
        for line in file.read_text().splitlines() if file.is_file() else ():
            place = re.match(r"(?:URIs:|deb(?:\s+\[.*?\])?)\s+(\S+/debian)/?(?:\s|$)", line)
            if place:
                return place[1]
    raise SystemExit("tests.platforms: apt has no source of Debian's packages")


def call(*command: str | Path, env: dict[str, str] | None = None) -> int:
    """Run a command and show it."""
    print("$", *command, flush=True)
    return subprocess.run(list(map(str, command)), env=env, check=False).returncode


def need(*command: str | Path) -> None:
    """Run a command without which nothing else can be done."""
    if call(*command):
        raise SystemExit(f"tests.platforms: {command[0]} failed")


def bootstrap(root: Path, suite: str, packages: Sequence[str], *options: str) -> None:
    """A root with these packages of Debian's, if it is not there already."""
    if (root / "done").exists():
        return
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    included = f"--include={','.join([*packages, 'ca-certificates'])}"
    script = "/usr/share/debootstrap/scripts/sid"
    need("debootstrap", "--variant=minbase", included, *options, suite, root, mirror(), script)
    (root / "done").touch()


def forky() -> Path:
    """Debian's testing suite with both Pythons, the settings of this machine and the project."""
    root = ROOTS / "forky"
    parts = ("", "-venv", "-dev")
    packages = [f"python{version}{part}" for version in VERSIONS for part in parts]
    bootstrap(root, "forky", [*packages, "gcc"])
    for name in SETTINGS:
        if Path("/", name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path("/", name), root / name)
    for name, minor in DEVICES:
        if not (root / "dev" / name).exists():
            os.mknod(root / "dev" / name, 0o20666, os.makedev(1, minor))
    shutil.rmtree(root / "project", ignore_errors=True)
    leave = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", ".*_cache")
    shutil.copytree(HERE, root / "project", ignore=leave, symlinks=True)
    return root


def on_version(version: str, tests: Sequence[str]) -> int:
    """The tests on a version of CPython."""
    root = forky()
    python = f"/environment-{version}/bin/python"
    steps = [f"[ -e {python} ] || python{version} -m venv /environment-{version}"]
    steps.append(f"{python} -m pip install -q -e . {' '.join(TOOLS)}")
    steps.append(f"{python} -m pytest -q -n 2 -p no:cacheprovider {' '.join(tests)}")
    return call("chroot", root, "bash", "-c", f"cd /project && {' && '.join(steps)}")


def on_aarch64(tests: Sequence[str]) -> int:
    """The tests on another processor, emulated: its files are unpacked, and never installed."""
    root, site = ROOTS / "aarch64", ROOTS / "aarch64" / "site"
    bootstrap(root, "trixie", ["python3.13"], "--arch=arm64", "--foreign")
    if not site.exists():
        for package in sorted((root / "var/cache/apt/archives").glob("*.deb")):
            need("dpkg", "-x", package, root)
        wheels = ["--platform=manylinux_2_28_aarch64", "--platform=manylinux2014_aarch64"]
        only = ["--python-version=3.13", "--only-binary=:all:", *wheels]
        pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(site)]
        need(*pip, *only, "numpy", "scipy", "llvmlite", "optree", *TOOLS)
    unset = {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}  # which are of the processor outside
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env["PYTHONPATH"] = os.pathsep.join(map(str, (site, HERE / "src", HERE)))
    env["PYTHONPYCACHEPREFIX"] = str(root / "bytecode")
    emulator = ["qemu-aarch64-static", "-L", str(root), str(root / "usr/bin/python3.13")]
    # What starts another Python has no emulator there.
    unfit = "tests/executors/native/entry/test_callable.py::test_python_ends_while_a_kernel_runs"
    options = ["-q", "-p", "no:cacheprovider", "--deselect", unfit]
    return call(*emulator, "-m", "pytest", *options, *tests, env=env)


def main() -> int:
    """The platforms and tests of the command line, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m tests.platforms")
    parser.add_argument("platforms", nargs="+", choices=[*VERSIONS, "aarch64"])
    given, tests = sys.argv[1:], list(SUITES)
    if "--" in given:
        place = given.index("--")
        given, tests = given[:place], given[place + 1 :]
    failed = []
    for platform in parser.parse_args(given).platforms:
        if (on_aarch64 if platform == "aarch64" else lambda t, v=platform: on_version(v, t))(tests):
            failed.append(platform)
    print("all passed" if not failed else f"failed on {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
