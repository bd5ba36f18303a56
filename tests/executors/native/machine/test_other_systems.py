"""Objects for Windows and macOS: what they want from outside is what the linker is given there.

Nothing of them is run. LLVM writes them for another system, and their symbol tables are read.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.machine import llvm as module
from adjoint.executors.native.machine.llvm import Machine, machine
from adjoint.executors.native.machine.symbols import symbols_of_module

llvm = pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.skipif(not machine().is_x86, reason="code is made for another processor")

X = np.linspace(0.1, 0.9, 50)
MATRIX = np.sin(np.arange(400.0)).reshape(20, 20)


def program_with_a_large_stack(x: Any) -> Any:
    y = ad.fori_loop(0, 100, lambda k, c: np.sin(c) * 1.1 + np.cumsum(x), x)
    return np.sum(np.sort(np.fmod(y, 0.3)) ** 2.5 + np.cos(x))


FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "elementwise": (lambda x: np.sum(np.exp(x) * np.tanh(x) + np.arctan2(x, 2.0) + x % 0.2), X),
    "products": (lambda a: np.sum(np.tanh(a @ a) @ a), MATRIX),
    "a loop": (program_with_a_large_stack, X),
    "complex": (lambda x: np.abs(np.exp(1j * x) + np.sqrt(x + 1j)).sum(), X),
    "half": (lambda x: np.sum(x.astype(np.float16).astype(float) * x), X),
    "threads": (lambda x: np.sum(np.exp(x)), np.linspace(0.0, 1.0, 500_000)),
}


def texts_of(function: Callable[..., Any], x: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that a gradient is compiled from."""
    texts: list[str] = []
    compile_text = Machine.compile

    def listening(self: Machine, text: str, *args: Any, **kwargs: Any) -> Any:
        texts.append(text)
        return compile_text(self, text, *args, **kwargs)

    monkeypatch.setattr(Machine, "compile", listening)
    ad.cache_clear()
    with ad.config(native=True):
        ad.jit(ad.grad(function))(x)
    return texts


def wanted_of_coff(image: bytes) -> Iterator[str]:
    """The external symbols of a Windows object that it does not define."""
    start, count = struct.unpack_from("<II", image, 8)
    strings, place = start + 18 * count, 0
    while place < count:
        entry = start + 18 * place
        section, _, kind, more = struct.unpack_from("<hHBB", image, entry + 12)
        name = image[entry : entry + 8]
        if name[:4] == bytes(4):
            name = image[strings + int.from_bytes(name[4:], "little") :]
        if section == 0 and kind == 2:
            yield name.partition(b"\0")[0].decode()
        place += 1 + more


def relocations_of_coff(image: bytes) -> Iterator[int]:
    """The kinds of the addresses that are put into code."""
    sections, opening = struct.unpack_from("<H", image, 2)[0], 20
    for number in range(sections):
        section = opening + 40 * number
        start, count = struct.unpack_from("<I", image, section + 24)[0], 0
        count = struct.unpack_from("<H", image, section + 32)[0]
        is_code = struct.unpack_from("<I", image, section + 36)[0] & 0x20
        for place in range(count if is_code else 0):
            yield struct.unpack_from("<H", image, start + 10 * place + 8)[0]


def wanted_of_mach(image: bytes) -> Iterator[str]:
    """The external symbols of a macOS object that it does not define, without their underscore."""
    commands, place = struct.unpack_from("<I", image, 16)[0], 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", image, place)
        if command == 2:  # LC_SYMTAB
            start, count, strings = struct.unpack_from("<III", image, place + 8)
            for number in range(count):
                offset, kind = struct.unpack_from("<IB", image, start + 16 * number)
                if kind & 0x0F == 1:  # external, and undefined
                    name = image[strings + offset :].partition(b"\0")[0]
                    yield name.decode().removeprefix("_")
        place += size


def objects(texts: list[str], triple: str, model: str) -> Iterator[tuple[bytes, set[str]]]:
    """The object of each text for a system, and the names that the text declares."""
    host = machine()
    target = llvm.Target.from_triple(triple).create_target_machine(
        cpu=host.cpu, features=host.features, opt=2, reloc="pic", codemodel=model, jit=True
    )
    heading = f'target triple = "{triple}"\ntarget datalayout = "{target.target_data}"\n'
    for text in texts:
        with (
            closing(llvm.create_context()) as context,
            closing(llvm.parse_assembly(heading + text, context)) as parsed,
        ):
            parsed.verify()
            _, declared = symbols_of_module(parsed)
            yield target.emit_object(parsed), set(declared)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_for_macos(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for image, declared in objects(
        texts_of(*FUNCTIONS[name], monkeypatch), "x86_64-apple-darwin", "small"
    ):
        assert image[:4] == b"\xcf\xfa\xed\xfe"
        assert set(wanted_of_mach(image)) - declared <= set(module._IMPLIED)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_for_windows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine(), "_on_windows", True)
    texts = texts_of(*FUNCTIONS[name], monkeypatch)
    for image, declared in objects(texts, "x86_64-pc-windows-msvc", "large"):
        wanted = set(wanted_of_coff(image))
        assert wanted - declared <= set(module._IMPLIED)
        assert not any("probe-stack" in text for text in texts)
        near = {2, 4, 5, 6, 7, 8, 9}  # addresses of 32 bits, which may not reach
        assert not near & set(relocations_of_coff(image))


def test_the_tables_are_read() -> None:
    text = (
        "declare double @sin(double)\n"
        "define double @f(double %x) {\n  %y = call double @sin(double %x)\n"
        "  %b = alloca i8, i64 9000\n  store volatile i8 1, ptr %b\n  ret double %y\n}\n"
    )
    (windows, _), (mac, _) = (
        *objects([text], "x86_64-pc-windows-msvc", "small"),
        *objects([text], "x86_64-apple-darwin", "small"),
    )
    assert set(wanted_of_coff(windows)) == {"sin", "__chkstk", "_fltused"}
    assert set(relocations_of_coff(windows)) & {4}
    assert set(wanted_of_mach(mac)) == {"sin"}
