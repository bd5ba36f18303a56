"""Machine code is made, found, called and freed; what goes wrong has one name."""

import ctypes
import gc
import importlib
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import NativeUnavailableError
from adjoint.executors.native.machine import llvm as module
from adjoint.executors.native.machine.effort import code_level
from adjoint.executors.native.machine.llvm import Code, Effort, Machine, effort_for, machine
from adjoint.executors.native.machine.symbols import define

pytest.importorskip("llvmlite")

from llvmlite.binding.newpassmanagers import NewPassManager

ADD = "define i32 @add(i32 %x) nounwind {\n  %y = add i32 %x, AMOUNT\n  ret i32 %y\n}\n"
SINE = """
declare double @NAME(double)
define double @call(double %x) nounwind {
  %y = call double @NAME(double %x)
  ret double %y
}
"""
TOTAL = """
define double @total(ptr %x, i64 %n) nounwind {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %sum = phi <8 x double> [zeroinitializer, %entry], [%more, %loop]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load <8 x double>, ptr %p, align 8
  %more = fadd <8 x double> %sum, %v
  %next = add nuw nsw i64 %i, 8
  %again = icmp slt i64 %next, %n
  br i1 %again, label %loop, label %done
done:
  %result = call reassoc double @llvm.vector.reduce.fadd.v8f64(double 0.0, <8 x double> %more)
  ret double %result
}
declare double @llvm.vector.reduce.fadd.v8f64(double, <8 x double>)
"""


@dataclass(frozen=True)
class Call:
    """A function of one number, which keeps its code alive."""

    code: Code
    name: str
    number: Any

    def __call__(self, x: float) -> float:
        address = self.code.address(self.name)
        result: float = ctypes.CFUNCTYPE(self.number, self.number)(address)(x)
        return result


def integer_function(code: Code, name: str) -> Call:
    return Call(code, name, ctypes.c_int)


def real_function(code: Code, name: str) -> Call:
    return Call(code, name, ctypes.c_double)


def straight_line(count: int) -> str:
    lines = ["define double @long(double %x) nounwind {", "  %v0 = fadd double %x, 1.0"]
    for i in range(1, count):
        operation, other = ("fmul", "0.5") if i % 2 else ("fadd", f"%v{max(0, i - 7)}")
        lines.append(f"  %v{i} = {operation} contract double %v{i - 1}, {other}")
    return "\n".join([*lines, f"  ret double %v{count - 1}", "}", ""])


def straight_line_by_hand(count: int, x: float) -> float:
    values = [x + 1.0]
    for i in range(1, count):
        values.append(values[-1] * 0.5 if i % 2 else values[-1] + values[max(0, i - 7)])
    return values[-1]


def is_mapped(address: int) -> bool:
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < end:
            return True
    return False


HOSTS = {
    "host": machine,
    "plain": lambda: Machine("x86-64", "", None),
    "avx2": lambda: Machine("x86-64", "+avx,+avx2,+fma"),
}


@pytest.fixture(scope="module", params=HOSTS)
def host(request: pytest.FixtureRequest) -> Machine:
    if request.param != "host" and not machine().is_x86:
        pytest.skip("a processor of another kind")
    if request.param == "avx2" and not machine().has("avx2"):
        pytest.skip("this processor lacks AVX2")
    made: Machine = HOSTS[request.param]()
    return made


# --- loading -------------------------------------------------------------------------------------


def test_llvm_is_not_loaded_before_it_is_needed() -> None:
    code = (
        "import sys; import adjoint, adjoint.executors.native.machine.llvm\n"
        "assert not any(name.startswith('llvmlite') for name in sys.modules)"
    )
    path = str(Path(module.__file__).parents[4])
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": path})


def test_there_is_one_machine_however_many_threads_ask() -> None:
    found: list[Machine] = []
    threads = [threading.Thread(target=lambda: found.append(machine())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(map(id, found))) == 1


def test_without_llvmlite(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(NativeUnavailableError, match="No module named 'llvmlite"):
        Machine()


@pytest.mark.parametrize(
    "function", ["initialize_native_target", "get_host_cpu_features", "create_lljit_compiler"]
)
def test_an_llvm_that_fails_at_the_start(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **keywords: Any) -> Any:
        raise RuntimeError("no such luck")

    binding = importlib.import_module("llvmlite.binding")
    monkeypatch.setattr(binding, function, broken)
    with pytest.raises(NativeUnavailableError, match="no such luck"):
        Machine()


def test_a_system_that_forbids_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*arguments: Any) -> Any:
        raise RuntimeError("Permission denied")

    builder = importlib.import_module("llvmlite.binding").JITLibraryBuilder
    monkeypatch.setattr(builder, "link", forbidden)
    with pytest.raises(NativeUnavailableError, match=r"linking machine code failed.*Permission"):
        Machine()


def test_wrong_machine_code_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Machine.compile
    wrong = ADD.replace("add(", "check(").replace("AMOUNT", "2")
    monkeypatch.setattr(Machine, "compile", lambda self, text: made(self, wrong))
    with pytest.raises(NativeUnavailableError, match="gave 43"):
        Machine()


# --- the processor -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("features", "size"),
    [("", 16), ("+avx", 32), ("+avx,+avx2", 32), ("+avx2,-avx2", 16), ("+avx,+avx2,+avx512f", 64)],
)
def test_vectors_are_as_wide_as_the_processor_allows(features: str, size: int) -> None:
    if not machine().is_x86:
        pytest.skip("a processor of another kind")
    made = Machine("x86-64", features) if size < 64 or machine().has("avx512f") else None
    if made is None:
        pytest.skip("this processor lacks AVX-512")
    assert made.vector_bytes == size
    assert made.native_lanes(np.dtype("f8")) == size // 8
    assert made.native_lanes(np.dtype("f4")) == size // 4
    assert made.native_lanes(np.dtype("c16")) == size // 8
    assert made.native_lanes(np.dtype("?")) == size


def test_wide_vectors_stay_whole() -> None:
    if not machine().has("avx512f"):
        pytest.skip("this processor lacks AVX-512")
    assert "zmm" in machine().assembly(TOTAL)


# --- symbols -------------------------------------------------------------------------------------


def test_c_functions_are_found(host: Machine) -> None:
    assert real_function(host.compile(SINE.replace("NAME", "sin")), "call")(0.5) == np.sin(0.5)
    assert host.resolve("malloc") == host.resolve("malloc")
    assert host.resolve("PyTuple_New") != 0


def test_a_symbol_can_be_defined() -> None:
    host = machine()
    define("adjoint_test_function", host.resolve("cos"))
    call = real_function(host.compile(SINE.replace("NAME", "adjoint_test_function")), "call")
    assert call(0.5) == np.cos(0.5)


def test_an_unknown_symbol_is_named() -> None:
    with pytest.raises(NativeUnavailableError, match="'no_such_function'"):
        machine().compile(SINE.replace("NAME", "no_such_function"))
    assert machine().find("no_such_function") is None


def test_vector_functions_can_be_left_out() -> None:
    if not machine().is_x86:
        pytest.skip("a processor of another kind")
    assert Machine("x86-64", "", None).find("_ZGVbN2v_sin") is None
    assert Machine("x86-64", "", "no_such_library.so").find("_ZGVbN2v_sin") is None


# --- compilation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("effort", Effort)
def test_code_runs(host: Machine, effort: Effort) -> None:
    code = host.compile(TOTAL, effort, verify=True)
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)(code.address("total"))
    x = np.arange(64.0)
    assert call(x.ctypes.data, x.size) == x.sum()
    assert code.compile_seconds > 0


def test_functions_that_llvm_brings_in_are_found(host: Machine) -> None:
    text = """
    define double @fused(double %x) nounwind {
      %r = frem double %x, 3.0
      %y = call double @llvm.fma.f64(double %r, double %r, double %x)
      ret double %y
    }
    define void @copy(ptr %to, ptr %from, i64 %n) nounwind {
      call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
      ret void
    }
    declare double @llvm.fma.f64(double, double, double)
    declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
    """
    assert real_function(host.compile(text), "fused")(7.5) == 1.5 * 1.5 + 7.5


def test_texts_of_code() -> None:
    text = ADD.replace("AMOUNT", "5")
    code = machine().compile(text)
    assert "add i32 %x, 5" in machine().optimised(text)
    assert "add:" in machine().assembly(text)
    with pytest.raises(NativeUnavailableError, match="'missing'"):
        code.address("missing")


def test_internal_functions_stay_inside() -> None:
    text = ADD.replace("AMOUNT", "5").replace("define", "define internal")
    text += "define i32 @entry(i32 %x) {\n  %y = call i32 @add(i32 %x)\n  ret i32 %y\n}\n"
    code = machine().compile(text)
    assert integer_function(code, "entry")(2) == 7
    with pytest.raises(NativeUnavailableError):
        code.address("add")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("define", "parsing a module"),
        ("define i32 @f() {\n  ret i32 %x\n}\n", "undefined value"),
        ("define i32 @f() {\n  ret float 0.0\n}\n", "parsing a module"),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(NativeUnavailableError, match=message):
        machine().compile(text)


def test_an_llvm_that_fails_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **keywords: Any) -> Any:
        raise RuntimeError("no such luck")

    text = ADD.replace("AMOUNT", "5")
    targets = importlib.import_module("llvmlite.binding.targets")
    binding = importlib.import_module("llvmlite.binding")
    with monkeypatch.context() as patch:
        patch.setattr(targets.TargetMachine, "_emit_to_memory", broken)
        with pytest.raises(NativeUnavailableError, match="making machine code failed"):
            machine().compile(text)
    with monkeypatch.context() as patch:
        patch.setattr(binding, "create_pass_builder", broken)
        patch.setattr(machine(), "_passes", None)  # which are made once
        with pytest.raises(NativeUnavailableError, match="optimising a module failed"):
            machine().compile(text)
    assert integer_function(machine().compile(text), "add")(1) == 6


def test_long_code_is_compiled_quickly() -> None:
    text = straight_line(20_000)
    assert effort_for(text) is Effort.QUICK
    code = machine().compile(text)
    assert real_function(code, "long")(0.25) == straight_line_by_hand(20_000, 0.25)


def test_hot_functions_are_compiled_well_beside_long_code() -> None:
    hot = """define internal double @square(double %x) "plain" "hot" {
entry:
  %s = alloca double
  store double %x, ptr %s
  %a = load double, ptr %s
  %y = fmul double %a, %a
  %r = call double @twice(double %y)
  ret double %r
}
define internal double @twice(double %x) "plain" "hot" {
entry:
  %y = fadd double %x, %x
  %z = call double @llvm.fabs.f64(double %y)
  ret double %z
}
"""
    calls = """declare double @llvm.fabs.f64(double)
define double @doubled(double %x) {
entry:
  %y = call double @square(double %x)
  ret double %y
}
"""
    text = calls + hot + straight_line(20_000)
    assert effort_for(text) is Effort.QUICK
    code = machine().compile(text)
    assert real_function(code, "doubled")(3.0) == 18.0
    assert real_function(code, "long")(0.25) == straight_line_by_hand(20_000, 0.25)
    with pytest.raises(NativeUnavailableError, match="no visible symbol"):
        code.address("square")


def test_effort_follows_the_text() -> None:
    short = straight_line(100)
    assert effort_for(short) is Effort.NORMAL
    many = "".join(straight_line(1000).replace("@long", f"@long{i}") for i in range(12))
    assert effort_for(many) is Effort.LIGHT
    assert effort_for(8 * many) is Effort.QUICK  # too much for good code, whatever its blocks
    metadata = "\n".join(f"!{i} = !{{!0, !0, i64 0}}" for i in range(100_000))
    assert effort_for(f"{many}{metadata}\n") is Effort.LIGHT  # it is no block
    table = f'@table = internal constant [600000 x i8] c"{600_000 * "0"}"'
    assert effort_for(f"{table}\n{short}") is Effort.NORMAL
    several = "".join(straight_line(1000).replace("@long", f"@long{i}") for i in range(2))
    gather = "  %v = call <8 x double> @llvm.masked.gather.v8f64.v8p0(<8 x ptr> align 8 %p)\n"
    assert effort_for(several) is Effort.LIGHT
    assert effort_for(gather + several) is Effort.NORMAL
    assert effort_for(gather + many) is Effort.LIGHT


def test_long_blocks_are_not_scheduled_a_second_time() -> None:
    short, long = straight_line(100), straight_line(4000)
    assert code_level(short, Effort.NORMAL) == 2
    assert code_level(long, Effort.NORMAL) == 1
    assert [code_level(long, effort) for effort in (Effort.QUICK, Effort.LIGHT)] == [0, 1]
    table = f'@table = internal constant [600000 x i8] c"{600_000 * "0"}"'
    assert code_level(f"{table}\n{short}", Effort.NORMAL) == 2


def test_no_function_is_simplified_with_the_callbacks_of_another(
    host: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # LLVM's runs leave callbacks on their builder, which point to what is no more.
    used: list[Any] = []
    run = NewPassManager.run

    def noted(self: Any, function: Any, builder: Any) -> None:
        used.append(builder)
        run(self, function, builder)

    monkeypatch.setattr(NewPassManager, "run", noted)
    with ad.config(cache=False):
        host.compile(
            ADD.replace("AMOUNT", "1") + ADD.replace("AMOUNT", "2").replace("@add", "@other")
        )
    assert len(used) == 2
    assert used[0] is not used[1]
    assert all(builder.closed for builder in used)


# --- lifetime ------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads the memory map of Linux")
def test_code_is_freed_with_its_object() -> None:
    code = machine().compile(ADD.replace("AMOUNT", "5"))
    address, alive = code.address("add"), weakref.ref(code)
    gc.collect()
    assert is_mapped(address)
    assert integer_function(code, "add")(1) == 6
    del code
    gc.collect()
    assert alive() is None
    assert not is_mapped(address)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads the memory map of Linux")
def test_nobody_who_lets_go_of_code_waits_for_llvm() -> None:
    own = Machine()
    code = own.compile(ADD.replace("AMOUNT", "5"))
    (tracker,) = [x for x in gc.get_referents(code) if hasattr(x, "close")]
    begun, go_on = threading.Event(), threading.Event()

    def works() -> None:
        with own._alone():
            begun.set()
            assert go_on.wait(60)

    thread = threading.Thread(target=works)
    thread.start()
    assert begun.wait(60)
    del code  # at once, though another thread has the machine
    assert not tracker.closed
    go_on.set()
    thread.join(60)
    assert tracker.closed
    again = own.compile(ADD.replace("AMOUNT", "6"))
    (tracker,) = [x for x in gc.get_referents(again) if hasattr(x, "close")]
    del again
    assert tracker.closed


def test_many_modules_leave_nothing_behind() -> None:
    def regions() -> int:
        gc.collect()
        return len(Path("/proc/self/maps").read_text().splitlines())

    for amount in range(5):
        machine().compile(ADD.replace("AMOUNT", str(amount)))
    before = regions()
    for amount in range(50):
        machine().compile(ADD.replace("AMOUNT", str(amount)))
    assert regions() <= before + 5


def test_code_outlives_its_neighbours_and_its_machine() -> None:
    own = Machine()
    codes = [own.compile(ADD.replace("AMOUNT", str(amount))) for amount in range(20)]
    kept = codes[7]
    del codes, own
    gc.collect()
    assert integer_function(kept, "add")(1) == 8


def test_threads_compile_and_drop_at_once() -> None:
    wrong: list[int] = []

    def work(seed: int) -> None:
        for amount in range(seed, seed + 15):
            code = machine().compile(ADD.replace("AMOUNT", str(amount)))
            if integer_function(code, "add")(1) != amount + 1:
                wrong.append(amount)

    threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_two_that_compile_one_text_share_its_code() -> None:
    text = ADD.replace("AMOUNT", "12345")
    one, other = machine().compile(text), machine().compile(text)
    assert one is other
    assert machine().compile(text, verify=True) is not one


def test_counters_belong_to_whoever_compiled_them() -> None:
    text = "@count = global i32 0\n" + ADD.replace("AMOUNT", "12345")
    one, other = machine().compile(text), machine().compile(text)
    assert one.address("count") != other.address("count")
