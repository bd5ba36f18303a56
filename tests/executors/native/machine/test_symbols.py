"""The names in modules and object files, read without asking LLVM."""

from __future__ import annotations

import importlib

import pytest

from adjoint.executors.native.machine import symbols
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import PLAIN

TEXT = f"""
@address.0 = external global i8
@times = global [2 x i64] zeroinitializer
@table = internal constant [4 x i64] [i64 1, i64 2, i64 3, i64 4]
declare double @sin(double)
declare double @never_called(double)
declare double @llvm.fabs.f64(double)
define internal double @"inner.1"(double %x, i64 %k) noinline {{
  %y = call double @sin(double %x)
  %p = getelementptr i64, ptr @table, i64 %k
  %n = load i64, ptr %p
  %f = sitofp i64 %n to double
  %z = fadd double %y, %f
  ret double %z
}}
define ptr @entry(double %x, i64 %k) {PLAIN} {{
  %y = call double @"inner.1"(double %x, i64 %k)
  store double %y, ptr @times
  ret ptr @address.0
}}
"""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch):
    """The symbols of the object file of a module, and those that LLVM knows of the module."""
    found = {}

    def both(image, module):
        found["image"] = symbols.symbols_of(image, module)
        found["module"] = symbols.symbols_of_module(module)
        return found["image"]

    llvm = importlib.import_module("adjoint.executors.native.machine.llvm")
    monkeypatch.setattr(llvm, "symbols_of", both)
    machine()._object(TEXT, llvm.Effort.NORMAL, verify=True)
    return found["image"], found["module"]


def test_an_object_file_says_what_is_defined_and_what_is_wanted(compiled):
    image, _ = compiled
    assert set(image.defined) == {"entry", "times"}
    assert set(image.external) == {"sin", "address.0"}  # and not what is declared for nothing


def test_llvm_knows_the_same_of_the_module(compiled):
    image, module = compiled
    assert set(module.defined) == set(image.defined)
    assert set(module.external) == {*image.external, "never_called"}


def test_an_object_file_in_another_format_leaves_it_to_llvm():
    class Nothing:
        functions = global_variables = ()

    assert symbols.symbols_of(b"\xcf\xfa\xed\xfe", Nothing()) == ((), ())


def test_plain_functions_need_no_passes():
    assert symbols.functions_to_simplify(TEXT) == ["inner.1"]
