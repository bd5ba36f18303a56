"""Routines on matrices of many rows: calls of LAPACK and BLAS, which have the Fortran interface.

What lies in memory row by row is to them the transpose, column by column, so that nothing but a
matrix that is factorised is moved around: X = T^-1 B becomes X^T = B^T T^-T.
"""

from __future__ import annotations

from collections.abc import Callable

from adjoint.executors.native.machine.module import Module, Value, number_text
from adjoint.executors.native.machine.routines import Routine, arguments, routine
from adjoint.executors.native.systems.plan import SquareSystem
from adjoint.executors.native.systems.registers import INDEX
from adjoint.executors.native.systems.rolled import Entry, RolledRoutine

LETTERS = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}
NAMES = ("getrf", "potrf", "trsm")


def is_there(system_dtype: str) -> bool:
    """Whether this process has the functions for a dtype."""
    letter = LETTERS[system_dtype]
    return all(routine(letter + name) is not None for name in NAMES)


def emit_calls(module: Module, name: str, system: SquareSystem, lanes: int) -> int:
    """Write the function of a routine; returns how many bytes of scratch it needs."""
    writer = _LapackRoutine(module, system, lanes)
    with writer.matrices():
        writer.body()
    writer.function(name, len(writer.results), len(system.operands))
    return writer.scratch_bytes


class _LapackRoutine(RolledRoutine):
    """One routine. The matrix in scratch lies column by column where it has been factorised."""

    def __init__(self, module: Module, system: SquareSystem, lanes: int) -> None:
        super().__init__(module, system, lanes)
        matrix = -(-self.size * self.size * system.dtype.itemsize // 64) * 64
        self.matrix_place = "%scratch"
        self.pivots = self.block.op(f"getelementptr i8, ptr %scratch, i64 {matrix}")
        start = matrix + -(-4 * self.size // 64) * 64
        self.numbers_place = self.block.op(f"getelementptr i8, ptr %scratch, i64 {start}")
        self.scratch_bytes = start + 8 * self.size
        self.by_columns = False

    # --- calls -----------------------------------------------------------------------------------

    def _routine(self, name: str) -> Routine:
        called = routine(LETTERS[self.system.dtype.str[1:]] + name)
        assert called is not None
        return called

    def _call(self, called: Routine, letters: str, *others: str) -> None:
        symbol = called.symbol
        function = self.module.declare(symbol, f"@{symbol} = external global i8")
        listed = arguments([*map(self._letter, letters)], others)
        self.block.do(f"call void {function}({listed})")

    def _letter(self, text: str) -> str:
        return self._constant(f"lapack.{text}", "i8", str(ord(text)))

    def _whole(self, called: Routine, value: int) -> str:
        kind = f"i{called.integer_bits}"
        return self._constant(f"lapack.{kind}.{value}", kind, str(value))

    def _constant(self, name: str, kind: str, value: str) -> str:
        return self.module.declare(name, f"@{name} = private unnamed_addr constant {kind} {value}")

    def _one(self) -> str:
        """A one of the dtype in memory."""
        part = self.scalar
        texts = number_text(1.0, self.system.dtype)
        value = ", ".join(f"{part} {text}" for text in texts)
        count = len(texts)
        return self._constant(f"lapack.one.{part}.{count}", f"[{count} x {part}]", f"[{value}]")

    def _information(self, called: Routine) -> str:
        return self.block.stack(f"i{called.integer_bits}", 8)

    def _noted(self, called: Routine, place: str, predicate: str) -> None:
        """A fault where what a function says of itself compares so with zero."""
        kind = f"i{called.integer_bits}"
        told = self.block.op(f"load {kind}, ptr {place}")
        self.numbers.faults.append(self.truth(self.block.op(f"icmp {predicate} {kind} {told}, 0")))
        self.flush()

    # --- factors ---------------------------------------------------------------------------------

    def _factorise(self, place: int) -> None:
        read, size, dtype = self.entry(place), self.size, self.system.dtype
        with self.counting("0", size) as j, self.counting("0", size) as i:
            at = self.at(self.matrix_place, dtype, self.plus(self.times(j, size), i))
            self.store(read(i, j), at)
        called = self._routine("getrf")
        rows, told = self._whole(called, size), self._information(called)
        self._call(called, "", rows, rows, self.matrix_place, rows, self.numbers_place, told)
        self._noted(called, told, "slt")
        kind = f"i{called.integer_bits}"
        self.swaps.set(self.truth("false"))
        with self.counting("0", size) as k:
            at = self.block.op(f"getelementptr {kind}, ptr {self.numbers_place}, i64 {k}")
            number = self.block.op(f"load {kind}, ptr {at}")
            if called.integer_bits != 32:
                number = self.block.op(f"trunc {kind} {number} to i32")
            number = self.block.op(f"sub nsw i32 {number}, 1")
            self.store(Value((number,), INDEX), self.at(self.pivots, INDEX, k))
            own = self.block.op(f"trunc i64 {k} to i32")
            moved = self.truth(self.block.op(f"icmp ne i32 {number}, {own}"))
            self.swaps.set(self.numbers.writer.binary("xor", self.swaps.get(), moved))
        self.by_columns = True

    def factors(self) -> Entry:
        """Reads the factors: given, or writer here."""
        if self.system.factored:
            return self.entry(0)
        self._factorise(0)
        dtype = self.system.dtype

        def read(i: str, j: str) -> Value:
            offset = self.plus(self.times(j, self.size), i)
            return self.load(self.at(self.matrix_place, dtype, offset), dtype)

        return read

    # --- systems ---------------------------------------------------------------------------------

    def _for_columns(self, entry: Entry, right: Callable[[str, str], Value]) -> None:
        """The right-hand sides where the solutions will be, which are then writer of them."""
        columns, dtype, size = self.columns, self.system.dtype, self.size
        with self.counting("0", size) as i:
            start = self.at(self.targets[0], dtype, self.times(i, columns))
            with self.pieces(columns, self.right.lanes) as j:
                self.store(right(i, j), self.at(start, dtype, j), self.right.lanes, 1)
        triangle = self._triangle()
        system = self.system
        if system.operation == "solve_triangular":
            self._divide(triangle, system.lower, system.unit)
        elif system.turned:
            self._divide(triangle, False, False)
            self._divide(triangle, True, True)
            self._permute(backwards=True)
        else:
            self._permute(backwards=False)
            self._divide(triangle, True, True)
            self._divide(triangle, False, False)
        with self.counting("0", size) as i:
            start = self.at(self.targets[0], dtype, self.times(i, columns))
            with self.pieces(columns, self.right.lanes) as j:
                at = self.at(start, dtype, j)
                self.numbers.require_finite([self.load(at, dtype, self.right.lanes, 1)])
                self.flush()

    def _swap_rows(self, one: str, other: str) -> None:
        columns, dtype = self.columns, self.system.dtype
        first, second = (
            self.at(self.targets[0], dtype, self.times(row, columns)) for row in (one, other)
        )
        lanes = self.right.lanes
        with self.counting("0", columns - columns % max(lanes, 1), max(lanes, 1)) as j:
            self._swapped(self.at(first, dtype, j), self.at(second, dtype, j), lanes)
        if columns % max(lanes, 1):
            with self.counting(str(columns - columns % lanes), columns) as j:
                self._swapped(self.at(first, dtype, j), self.at(second, dtype, j), 0)

    def _swapped(self, one: str, other: str, lanes: int) -> None:
        dtype = self.system.dtype
        x, y = (self.load(at, dtype, lanes, 1) for at in (one, other))
        self.store(y, one, lanes, 1)
        self.store(x, other, lanes, 1)

    def _permute(self, backwards: bool) -> None:
        with self.counting("0", self.size) as step:
            k = self._reversed(step) if backwards else step
            self._swap_rows(k, self._pivot(k))

    def _triangle(self) -> tuple[str, int]:
        """Where the triangular matrix is, and how far its rows (or columns) are apart."""
        if self.by_columns:
            return self.matrix_place, self.size
        strides, dtype, size = self.system.operands[0], self.system.dtype, self.size
        if strides.column == 1 and size <= strides.row < 2**31:
            return self.places[0], strides.row
        conjugates = self.system.conjugated and dtype.kind == "c"
        if strides.row == 1 and size <= strides.column < 2**31 and not conjugates:
            self.by_columns = True
            return self.places[0], strides.column
        read = self.entry(0)
        with self.counting("0", size) as i, self.counting("0", size) as j:
            at = self.at(self.matrix_place, dtype, self.plus(self.times(i, size), j))
            self.store(read(i, j), at)
        return self.matrix_place, size

    def _divide(self, triangle: tuple[str, int], lower: bool, unit: bool) -> None:
        """X^T = B^T op(T)^-T, where op(T) is T, its transpose or its adjoint."""
        place, leading = triangle
        system = self.system
        called = self._routine("trsm")
        if self.by_columns:
            trans, upper = "N" if system.turned else "T", not lower
        else:
            trans = ("C" if system.conjugated else "T") if system.turned else "N"
            upper = lower
        rows, columns = self._whole(called, self.size), self._whole(called, self.columns)
        letters = f"R{'U' if upper else 'L'}{trans}{'U' if unit else 'N'}"
        self._call(
            called,
            letters,
            *(columns, rows, self._one(), place, self._whole(called, leading)),
            *(self.targets[0], columns),
        )

    # --- Cholesky --------------------------------------------------------------------------------

    def _cholesky(self) -> None:
        """Of the lower triangle in rows, which is the upper one of the conjugate in columns."""
        read, size, dtype = self.entry(0), self.size, self.system.dtype
        zero = self.numbers.number(0.0)
        with self.counting("0", size) as i:
            with self.counting("0", self.plus(i, 1)) as j:
                self._write(self.plus(self.times(i, size), j), read(i, j))
            with self.counting(self.plus(i, 1), size) as j:
                self._write(self.plus(self.times(i, size), j), zero)
        called = self._routine("potrf")
        rows, told = self._whole(called, size), self._information(called)
        self._call(called, "U", rows, self.targets[0], rows, told)
        self._noted(called, told, "ne")
        with self.counting("0", size) as i, self.counting("0", self.plus(i, 1)) as j:
            at = self.at(self.targets[0], dtype, self.plus(self.times(i, size), j))
            self.numbers.require_finite([self.load(at, dtype)])
            self.flush()
