"""The machine that code is made for, and the LLVM that makes it.

LLVM comes with `llvmlite`, which is imported only when a machine is first asked for. A module goes
through it as text: it is parsed, lightly optimised, turned into an object file, and linked into
the process by LLVM's JITLink, which frees the code as soon as its `Code` is garbage.
"""

from __future__ import annotations

import ctypes
import importlib
import mmap
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from adjoint.base.errors import NativeUnavailableError
from adjoint.base.process.forking import hold_over_forks
from adjoint.executors.disk.object_cache import Counts, StoredObject, digest, object_cache
from adjoint.executors.native.machine.effort import Effort, code_level, effort_for
from adjoint.executors.native.machine.symbols import (
    address_of,
    define,
    functions_to_simplify,
    has_variables,
    hot_functions,
    symbols_of,
)

# The functions that LLVM may call of its own accord: for copies, for remainders, and for the
# fused multiply-add and the roundings of machines that have no instruction for them.
_IMPLIED = (
    *("memcpy", "memmove", "memset", "memcmp", "bcmp", "bzero"),
    *("fmod", "fmodf", "fma", "fmaf", "floor", "floorf", "ceil", "ceilf", "trunc", "truncf"),
    *("rint", "rintf", "nearbyint", "nearbyintf", "roundeven", "roundevenf", "round", "roundf"),
    *("sqrt", "sqrtf", "fmin", "fminf", "fmax", "fmaxf", "ldexp", "ldexpf"),
    *("__divti3", "__modti3", "__udivti3", "__umodti3", "__multi3"),
    *("__chkstk", "_fltused"),  # on Windows: see `Machine`
    *("__extendhfsf2", "__truncsfhf2", "__truncdfhf2", "__gnu_h2f_ieee", "__gnu_f2h_ieee"),
)

# To this refer all objects with floating-point numbers on Windows, and nothing reads it.
_FLOATS_ARE_USED = ctypes.c_int(1)


@contextmanager
def _llvm_errors(doing: str) -> Iterator[None]:
    """Turn whatever goes wrong inside LLVM into the one error that callers expect."""
    try:
        yield
    except NativeUnavailableError:
        raise
    except Exception as error:  # llvmlite raises errors of many types
        raise NativeUnavailableError(f"{doing} failed: {type(error).__name__}: {error}") from error


class Code:
    """The machine code of one module; it is freed when this object is.

    key: what it is kept under on disk; nothing where it is not kept. compile_seconds: what making
    it took, from the text to the addresses.
    """

    __slots__ = ("__weakref__", "_machine", "_tracker", "compile_seconds", "key")

    def __init__(self, machine: Machine, key: bytes, tracker: Any, compile_seconds: float) -> None:
        self._machine = machine  # which keeps the linker alive for as long as the code lives
        self._tracker = tracker
        self.key = key
        self.compile_seconds = compile_seconds

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._machine.free(self._tracker)

    def address(self, name: str) -> int:
        """Where the function or global of this name begins."""
        try:
            return int(self._tracker[name])
        except KeyError:
            raise NativeUnavailableError(f"the module defines no visible symbol {name!r}") from None


class Machine:
    """A processor and the means to make code for it.

    cpu, features: as LLVM spells them; by default those of the processor that this runs on. When
        cpu is given, it has only the features that are named. vector_library: the file name of the
        library of vector functions, None for none, "default" for the one of the C library.
    """

    def __init__(
        self,
        cpu: str | None = None,
        features: str | None = None,
        vector_library: str | None = "default",
    ) -> None:
        self._lock = threading.RLock()
        self._freed: list[Any] = []  # what keeps code that nobody has any more
        # By the folder on disk that has it too, and what it is kept under there.
        self._living: WeakValueDictionary[tuple[Path | None, bytes], Code] = WeakValueDictionary()
        self._symbols: dict[str, int] = {}
        self._libraries = 0
        _check_memory()
        with _llvm_errors("loading LLVM through llvmlite"):
            self._llvm = importlib.import_module("llvmlite.binding")
            self._llvm.initialize_native_target()
            self._llvm.initialize_native_asmprinter()
            self.cpu = cpu if cpu is not None else str(self._llvm.get_host_cpu_name())
            self.features = features if features is not None else self._host_features(cpu)
            self.triple = str(self._llvm.get_process_triple())
            self._on_windows = "windows" in self.triple
            if self._on_windows:
                define("_fltused", ctypes.addressof(_FLOATS_ARE_USED))
            self._target = self._llvm.Target.from_triple(self.triple)
            self._target_machines: dict[int, Any] = {}
            self._passes: tuple[Any, Any] | None = None
            # The linker owns the target machine that it is given.
            linker_machine = self._create_target_machine(2)
            self._linker = self._llvm.create_lljit_compiler(
                linker_machine, use_jit_link=not self._on_windows, suppress_errors=True
            )
            self._layout = str(self._target_machine(2).target_data)
            self.identity = (self.triple, self.cpu, self.features, *self._versions())
        self.is_x86 = self.triple.startswith(("x86_64", "i386", "i686", "amd64"))
        self._feature_names = _enabled(self.features)
        self.vector_bytes = self._vector_bytes()
        self._c_libraries = tuple(_c_libraries())
        self._vector_library = _vector_library(vector_library) if self.is_x86 else None
        self._check()

    def _versions(self) -> tuple[str, str]:
        """Of LLVM, and of what is done with it here, to be counted up where that changes."""
        llvmlite = importlib.import_module("llvmlite").__version__
        return f"{self._llvm.llvm_version_info} {llvmlite}", "2"

    def _host_features(self, cpu: str | None) -> str:
        """Those of the host; with AVX-512, its vectors are to be used at their full width."""
        if cpu is not None:
            return ""
        names = str(self._llvm.get_host_cpu_features().flatten())
        return names + ",-prefer-256-bit" if "+avx512f" in names else names

    def _vector_bytes(self) -> int:
        sizes = {"avx512f": 64, "avx2": 32, "avx": 32} if self.is_x86 else {}
        return next((size for name, size in sizes.items() if self.has(name)), 16)

    @property
    def stack_probe(self) -> str:
        """The attribute of functions that take more of the stack than a page.

        Their pages are touched in order, for the system to grow the stack. On Windows LLVM calls
        `__chkstk` for that unasked, and would take the attribute for the name of a function.
        """
        return "" if self._on_windows else ' "probe-stack"="inline-asm"'

    def has(self, feature: str) -> bool:
        """Whether the processor has the feature that LLVM calls so."""
        return feature in self._feature_names

    def native_lanes(self, dtype: np.dtype[Any]) -> int:
        """How many numbers of the dtype (parts of them, if complex) fill one vector register."""
        size = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
        return max(1, self.vector_bytes // size)

    # --- symbols ---------------------------------------------------------------------------------

    def find(self, name: str) -> int | None:
        """The address of what was defined, or of an external C function or object; else None."""
        with self._lock:
            known = address_of(name) or self._symbols.get(name)
            if known is not None:
                return known
            for library in self._searched(name):
                address = _address_in(library, name)
                if address is not None:
                    self._symbols[name] = address
                    return address
        return None

    def resolve(self, name: str) -> int:
        """The address of what is defined somewhere."""
        address = self.find(name)
        if address is None:
            raise NativeUnavailableError(f"no library of this process has the symbol {name!r}")
        return address

    def _searched(self, name: str) -> Iterable[ctypes.CDLL]:
        if name.startswith("_ZGV"):
            return () if self._vector_library is None else (self._vector_library,)
        return self._c_libraries

    @cached_property
    def _implied(self) -> dict[str, int]:
        """The addresses of what LLVM may call of its own accord, where this process has it."""
        addresses = {name: self.find(name) for name in _IMPLIED}
        return {name: at for name, at in addresses.items() if at is not None}

    # --- compilation -----------------------------------------------------------------------------

    def compile(self, text: str, effort: Effort | None = None, *, verify: bool = False) -> Code:
        """Make machine code of a module without a target; all that it declares is resolved.

        verify: check the text for mistakes that parsing does not find; of use in tests.
        """
        start = time.perf_counter()
        effort = effort or effort_for(text)
        kept = None if verify else object_cache()
        key = digest(text, effort.value, *self.identity)
        name = (None if kept is None else kept.folder, key)
        own = verify or has_variables(text)
        with self._alone():
            living = None if own else self._living.get(name)
            if living is not None:  # as two loops of one program often come to the same text
                return living
            content = None if kept is None else kept.load(key)
            if content is not None:
                stored = StoredObject.of(content)
                Counts.loaded += 1
            else:
                stored = self._object(text, effort, verify)
                Counts.compiled += 1
                if kept is not None:
                    kept.store(key, stored.content())
            tracker = self._link(stored)
            code = Code(self, b"" if kept is None else key, tracker, time.perf_counter() - start)
            if not own:
                self._living[name] = code
        return code

    def load(self, key: bytes, provide: Callable[[str], None]) -> Code | None:
        """The machine code that is kept under this key; None where there is none.

        None also where it refers to what this process has not. provide: defines a symbol, if it
        is one that it knows.
        """
        start = time.perf_counter()
        kept = object_cache()
        content = None if kept is None else kept.load(key)
        if content is None:
            return None
        stored = StoredObject.of(content)
        with self._alone():
            for name in stored.external:
                provide(name)
                if self.find(name) is None:
                    return None
            tracker = self._link(stored)
            Counts.loaded += 1
        return Code(self, key, tracker, time.perf_counter() - start)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lets no other thread use LLVM, and frees afterwards what it was asked to meanwhile."""
        try:
            with self._lock:
                yield
        finally:
            self._free_all()

    def free(self, tracker: Any) -> None:
        """Let go of code: at once, or when what LLVM does in another thread is over.

        The thread that has the code last, which may be any, at any time, does not wait for that.
        """
        self._freed.append(tracker)
        self._free_all()

    def _free_all(self) -> None:
        while self._freed and self._lock.acquire(blocking=False):
            try:
                self._freed.pop().close()
            except IndexError:  # the collector has come between, and freed it
                pass
            finally:
                self._lock.release()

    def _object(self, text: str, effort: Effort, verify: bool) -> StoredObject:
        if effort is Effort.NORMAL or (hot := hot_functions(text)) is None:
            return StoredObject(*self._image(text, effort, verify))
        within, cold = hot
        one = StoredObject(*self._image(cold, effort, verify))
        other = StoredObject(*self._image(within, Effort.NORMAL, verify))
        external = {*one.external, *other.external} - {*other.defined}
        return StoredObject(one.images + other.images, one.defined, tuple(external))

    def _image(
        self, text: str, effort: Effort, verify: bool
    ) -> tuple[tuple[bytes], tuple[str, ...], tuple[str, ...]]:
        with (
            self._optimised(text, effort, verify) as module,
            _llvm_errors("making machine code"),
        ):
            image = bytes(self._target_machine(code_level(text, effort)).emit_object(module))
            return (image,), *symbols_of(image, module)

    def object_file(self, text: str) -> StoredObject:
        """The one object file of a module, well compiled, with the names in it; it is not kept."""
        with self._alone():
            return StoredObject(*self._image(text, Effort.NORMAL, True))

    def optimised(self, text: str, effort: Effort | None = None) -> str:
        """The text of a module after optimisation."""
        with self._alone(), self._optimised(text, effort or effort_for(text), True) as module:
            return str(module)

    def assembly(self, text: str, effort: Effort | None = None) -> str:
        """The assembly text of a module."""
        effort = effort or effort_for(text)
        with (
            self._alone(),
            self._optimised(text, effort, True) as module,
            _llvm_errors("making assembly"),
        ):
            return str(self._target_machine(code_level(text, effort)).emit_assembly(module))

    @contextmanager
    def _optimised(self, text: str, effort: Effort, verify: bool) -> Iterator[Any]:
        """The module of a text, optimised, in a context of its own.

        A shared context would keep every constant of every module for ever.
        """
        target = f'target triple = "{self.triple}"\ntarget datalayout = "{self._layout}"\n'
        with ExitStack() as stack:
            # Whatever happens, Ctrl-C too: a module that outlives its context crashes the process.
            with _llvm_errors("parsing a module"):
                context = self._llvm.create_context()
                stack.callback(context.close)
                module = self._llvm.parse_assembly(target + text, context)
                stack.callback(module.close)
                if verify:
                    module.verify()
            with _llvm_errors("optimising a module"):
                self._run_passes(module, functions_to_simplify(text), effort)
            yield module

    def _run_passes(self, module: Any, names: Sequence[str], effort: Effort) -> None:
        if effort is Effort.QUICK:
            return
        light, normal = self._passes or self._create_passes()
        passes = light if effort is Effort.LIGHT else normal
        for name in names:
            # Each run hangs callbacks on the builder, which stay: a second run would call those of
            # the first too, through pointers to what is no more. So it has a builder of its own.
            builder = self._llvm.create_pass_builder(self._target_machine(2), self._tuning())
            passes.run(module.get_function(name), builder)
            builder.close()

    def _tuning(self) -> Any:
        """How far LLVM is to go: it unrolls no loops."""
        options = self._llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_unrolling = False
        return options

    def _create_passes(self) -> tuple[Any, Any]:
        """The passes, which serve all modules: making them takes memory that LLVM never frees."""
        builder = self._llvm.create_pass_builder(self._target_machine(2), self._tuning())
        light = self._llvm.create_new_function_pass_manager()
        light.add_sroa_pass()
        light.add_simplify_cfg_pass()  # first: there are fewer instructions to combine
        light.add_instruction_combine_pass()
        # LLVM's own simplification of single functions; whole programs have nothing to inline.
        self._passes = light, builder.getFunctionPassManager()
        return self._passes

    def _link(self, stored: StoredObject) -> Any:
        images, defined, external = stored
        builder = self._llvm.JITLibraryBuilder()
        for image in images:
            builder.add_object_img(image)
        for name in external:
            builder.import_symbol(name, self.resolve(name))
        for name, address in self._implied.items():
            if name not in external:
                builder.import_symbol(name, address)
        for name in defined:
            builder.export_symbol(name)
        self._libraries += 1
        with _llvm_errors("linking machine code"):
            return builder.link(self._linker, f"adjoint.{self._libraries}")

    def _target_machine(self, level: int) -> Any:
        if level not in self._target_machines:
            self._target_machines[level] = self._create_target_machine(level)
        return self._target_machines[level]

    def _create_target_machine(self, level: int) -> Any:
        # JITLink puts code and constants side by side: short relative addresses reach them. The
        # linker for Windows gives no such promise, nor says where one is too short.
        model = "large" if self._on_windows else "small"
        return self._target.create_target_machine(
            cpu=self.cpu, features=self.features, opt=level, reloc="pic", codemodel=model, jit=True
        )

    def _check(self) -> None:
        """Run a first function, so that a system which forbids machine code is found out here."""
        code = self.compile("define i32 @check(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n")
        result = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(code.address("check"))(41)
        if result != 42:
            raise NativeUnavailableError(f"machine code for 41 + 1 gave {result}")


def _check_memory() -> None:
    """An error where memory that was written cannot be executed: LLVM would end the process."""
    if sys.platform == "win32":
        return
    size = mmap.PAGESIZE
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANON)
    first = ctypes.c_char.from_buffer(pages)
    protect = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, use_errno=True
    )(("mprotect", ctypes.CDLL(None)))
    failed = protect(ctypes.addressof(first), size, mmap.PROT_READ | mmap.PROT_EXEC)
    reason = os.strerror(ctypes.get_errno())
    del first
    pages.close()
    if failed:
        raise NativeUnavailableError(f"the system lets no new code be executed: {reason}")


def _enabled(features: str) -> frozenset[str]:
    """The names of the features that a list switches on; later entries override earlier ones."""
    enabled: set[str] = set()
    for entry in filter(None, (part.strip() for part in features.split(","))):
        if entry.startswith("+"):
            enabled.add(entry[1:])
        else:
            enabled.discard(entry[1:])
    return frozenset(enabled)


def _c_libraries() -> Iterator[ctypes.CDLL]:
    """The libraries that C functions are looked for in: the process, the C and maths libraries."""
    yield ctypes.pythonapi
    if sys.platform == "win32":
        for name in ("ucrtbase", "msvcrt", "ntdll"):
            yield from _opened(name)
        return
    yield from _opened(None)
    for stem in ("m", "c", "pthread"):
        # The file name is known on glibc; finding it elsewhere starts other programs.
        yield from _opened({"m": "libm.so.6", "c": "libc.so.6"}.get(stem, "libpthread.so.0"))


def _opened(name: str | None) -> Iterator[ctypes.CDLL]:
    try:
        yield ctypes.CDLL(name)
    except OSError:
        return


def _vector_library(name: str | None) -> ctypes.CDLL | None:
    if name is None or platform.system() != "Linux":
        return None
    return next(_opened("libmvec.so.1" if name == "default" else name), None)


def _address_in(library: ctypes.CDLL, name: str) -> int | None:
    try:
        function = getattr(library, name)
    except AttributeError:
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


def cores() -> int:
    """The cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


_MACHINE_LOCK = threading.Lock()


@cache
def _host_machine() -> Machine:
    host = Machine()
    # Code is freed by whichever thread lets go of it last, at any time, under llvmlite's lock.
    lock = getattr(importlib.import_module("llvmlite.binding.ffi").lib, "_lock", None)
    inner = getattr(lock, "_lock", None)
    if hasattr(inner, "acquire"):
        hold_over_forks(inner)
    return host


def machine() -> Machine:
    """The machine of this process, made when first asked for."""
    with _MACHINE_LOCK:
        return _host_machine()
