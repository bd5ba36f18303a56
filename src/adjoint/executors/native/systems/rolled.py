"""Routines on matrices of more than a few rows, in loops over rows of vectors in scratch.

The steps are those of LAPACK's unblocked routines. Where only single numbers of a matrix are read,
it stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.executors.native.machine.module import Module, Value, constant
from adjoint.executors.native.systems import registers
from adjoint.executors.native.systems.panels import Panel, Slot
from adjoint.executors.native.systems.plan import SquareSystem
from adjoint.executors.native.systems.registers import INDEX
from adjoint.executors.native.systems.stacks import StackWriter, fitting

Entry = Callable[[str, str], Value]

_SOLVING = ("solve", "solve_factored", "solve_triangular")
_LONG = np.dtype(np.int64)
_TRUTH = np.dtype(bool)


def emit_rolled(module: Module, name: str, system: SquareSystem, lanes: int) -> int:
    """Write the function of a routine; returns how many bytes of scratch it needs."""
    routine = RolledRoutine(module, system, lanes)
    with routine.matrices():
        routine.body()
    routine.function(name, len(routine.results), len(system.operands))
    return routine.scratch_bytes


class RolledRoutine(StackWriter):
    """One routine.

    square: the matrix that is factorised. right: a vector of columns of the right-hand side.
    pivots: the rows that were swapped, where they are found here.
    """

    def __init__(self, module: Module, system: SquareSystem, lanes: int) -> None:
        super().__init__(module, system, 1)
        size = system.size
        self.size = size
        self.square = Panel(self, 0, size, size, lanes if lanes > 1 else 0)
        self.columns = system.columns or size
        wide = fitting(lanes, self.columns)
        self.right = Panel(self, self.square.bytes, size, max(wide, 1), wide)
        start = self.square.bytes + self.right.bytes
        self.pivots = self.block.op(f"getelementptr i8, ptr %scratch, i64 {start}")
        self.scratch_bytes = start + 4 * size
        self.swaps = Slot(self, Value(("false",), _TRUTH))

    def body(self) -> None:
        """What is done with one matrix."""
        operation = self.system.operation
        if operation in _SOLVING:
            self._solve()
        elif operation == "cholesky":
            self._cholesky()
        elif operation in ("inv", "adjugate"):
            self._inverse()
        else:
            self._of_factors()

    # --- entries ---------------------------------------------------------------------------------

    def entry(self, place: int) -> Entry:
        """Reads single numbers of an operand."""
        strides, dtype = self.system.operands[place], self.dtype_of(place)
        start = self.places[place]

        def read(i: str, j: str) -> Value:
            row = self.at(start, dtype, self.times(i, strides.row))
            return self.load(self.at(row, dtype, self.times(j, strides.column)), dtype)

        return read

    def _pivot(self, k: str) -> str:
        """The row that step k swapped with its own; one that there is not is a fault."""
        if self.system.factored:
            at = self.at(self.places[1], INDEX, self.times(k, self.system.operands[1].row))
        else:
            at = self.at(self.pivots, INDEX, k)
        number = self.block.op(f"load i32, ptr {at}, align 4")
        row = self.block.op(f"sext i32 {number} to i64")
        if not self.system.factored:
            return row
        outside = self.block.op(f"icmp uge i64 {row}, {self.size}")
        self.numbers.faults.append(Value((outside,), _TRUTH))
        self.flush()
        return self.block.op(f"select i1 {outside}, i64 {k}, i64 {row}")

    def _copy_in(self, place: int) -> None:
        """The matrix into scratch, with zeros beside it."""
        read, square = self.entry(place), self.square
        lanes = fitting(square.lanes, self.size)
        vectors = self.system.operands[place].column == 1 and square.parts == 1 and lanes > 0
        with self.counting("0", self.size) as i:
            if square.width > self.size:
                square.set_vector(i, square.blocks - 1, self.numbers.number(0.0))
            if vectors:
                strides, dtype = self.system.operands[place], self.system.dtype
                row = self.at(self.places[place], dtype, self.times(i, strides.row))
                with self.pieces(self.size, lanes) as j:
                    value = self.load(self.at(row, dtype, j), dtype, lanes, 1)
                    start = self.plus(self.times(i, square.width), j)
                    self.store(value, self.at(square.base, dtype, start), lanes, 1)
            else:
                with self.counting("0", self.size) as j:
                    square.set_number(i, j, read(i, j))

    # --- factors ---------------------------------------------------------------------------------

    def _factorise(self, place: int) -> None:
        """LU with partial pivoting, in scratch; a column of zeros is left as it is."""
        self._copy_in(place)
        numbers, square = self.numbers, self.square
        self.swaps.set(Value(("false",), _TRUTH))
        with self.counting("0", self.size) as k:
            other = self._largest(k)
            self._swap(square, k, other)
            text = self.block.op(f"trunc i64 {other} to i32")
            self.block.do(f"store i32 {text}, ptr {self.at(self.pivots, INDEX, k)}, align 4")
            by = numbers.reciprocal(square.number(k, k))
            blocks = range(square.blocks)
            beyond = [
                numbers.select(square.where("sgt", b, k), square.vector(k, b), numbers.number(0.0))
                for b in blocks
            ]
            here = [square.where("eq", b, k) for b in blocks]
            with self.counting(self.plus(k, 1), self.size) as i:
                factor = numbers.multiply(square.number(i, k), by)
                for b in blocks:
                    product = numbers.multiply(factor, beyond[b])
                    rest = numbers.subtract(square.vector(i, b), product)
                    square.set_vector(i, b, numbers.select(here[b], factor, rest))

    def _largest(self, k: str) -> str:
        """The row from k on with the largest number in column k; notes whether that is another."""
        numbers, writer = self.numbers, self.numbers.writer
        best = Slot(self, numbers.size(self.square.number(k, k)))
        place = Slot(self, Value((k,), _LONG))
        with self.counting(self.plus(k, 1), self.size) as i:
            size, before = numbers.size(self.square.number(i, k)), best.get()
            larger = writer.compare("ogt", size, before)
            best.set(writer.select(larger, size, before))
            place.set(writer.select(larger, Value((i,), _LONG), place.get()))
        other = place.get()
        moved = writer.compare("ne", other, Value((k,), _LONG))
        self.swaps.set(writer.binary("xor", self.swaps.get(), moved))
        return other.text

    def _swap(self, panel: Panel, one: str, other: str) -> None:
        for block in range(panel.blocks):
            first, second = panel.vector(one, block), panel.vector(other, block)
            panel.set_vector(one, block, second)
            panel.set_vector(other, block, first)

    def factors(self) -> Entry:
        """Reads the factors: given, or made here."""
        if self.system.factored:
            return self.entry(0)
        self._factorise(0)
        self._require_significant()
        return self.square.number

    def _require_significant(self) -> None:
        """See `registers.factorised`."""
        numbers, writer = self.numbers, self.numbers.writer
        with self.counting("1", self.size) as k:
            above = Slot(self, constant(0.0, numbers.part))
            with self.counting("0", k) as i:
                other, before = numbers.size(self.square.number(i, k)), above.get()
                above.set(writer.select(writer.compare("ogt", other, before), other, before))
            numbers.require_significant(self.square.number(k, k), above.get(), self.system.size)
            self.flush()

    def _require_regular(self, entry: Entry) -> None:
        with self.counting("0", self.size) as k:
            self.numbers.require_regular([entry(k, k)])
            self.flush()

    def _require_finite(self, entry: Entry) -> None:
        with self.counting("0", self.size) as i, self.counting("0", self.size) as j:
            self.numbers.require_finite([entry(i, j)])
            self.flush()

    def _of_factors(self) -> None:
        entry, operation = self.factors(), self.system.operation
        with self.counting("0", self.size) as i, self.counting("0", self.size) as j:
            value = entry(i, j)
            self.numbers.require_finite([value])
            self.flush()
            if operation == "lu_factors":
                self._write(self.plus(self.times(i, self.size), j), value)
        if operation == "lu_factors":
            with self.counting("0", self.size) as k:
                row = self.load(self.at(self.pivots, INDEX, k), INDEX)
                self.store(row, self.at(self.targets[1], INDEX, k))
        elif operation == "det":
            self._write("0", self._determinant(entry))
        else:
            sign, logarithm = self._sign_and_logarithm(entry)
            self._write("0", sign)
            self.store(logarithm, self.targets[1])

    def _write(self, offset: str, value: Value) -> None:
        self.store(value, self.at(self.targets[0], self.system.dtype, offset))

    def _is_odd(self) -> Value:
        """Whether rows were swapped an odd number of times."""
        if not self.system.factored:
            return self.swaps.get()
        odd = Slot(self, Value(("false",), _TRUTH))
        with self.counting("0", self.size) as k:
            moved = self.block.op(f"icmp ne i64 {self._pivot(k)}, {k}")
            odd.set(self.numbers.writer.binary("xor", odd.get(), Value((moved,), _TRUTH)))
        return odd.get()

    def _determinant(self, entry: Entry) -> Value:
        """See `registers.determinant`."""
        numbers, writer = self.numbers, self.numbers.writer
        product = Slot(self, numbers.number(1.0))
        zero = Slot(self, Value(("false",), _TRUTH))
        with self.counting("0", self.size) as k:
            pivot = entry(k, k)
            some_zero = writer.either(zero.get(), numbers.is_zero(pivot))
            value = numbers.multiply(product.get(), pivot)
            numbers.faults.append(registers.too_small(numbers, value, some_zero))
            self.flush()
            product.set(value)
            zero.set(some_zero)
        value = product.get()
        value = numbers.select(self._is_odd(), numbers.negative(value), value)
        value = numbers.select(zero.get(), numbers.number(0.0), value)
        numbers.require_finite([value])
        return value

    def _sign_and_logarithm(self, entry: Entry) -> tuple[Value, Value]:
        """See `registers.sign_and_logarithm`."""
        numbers, writer = self.numbers, self.numbers.writer
        sign = Slot(self, numbers.number(1.0))
        total = Slot(self, constant(0.0, numbers.part))
        with self.counting("0", self.size) as k:
            pivot = entry(k, k)
            numbers.faults.append(numbers.is_zero(pivot))
            self.flush()
            turn, logarithm = registers.turn_and_logarithm(numbers, pivot)
            sign.set(numbers.multiply(sign.get(), turn))
            total.set(writer.add(total.get(), logarithm))
        value = sign.get()
        return numbers.select(self._is_odd(), numbers.negative(value), value), total.get()

    # --- systems ---------------------------------------------------------------------------------

    def _solve(self) -> None:
        system = self.system
        place = len(system.operands) - 1
        strides, dtype = system.operands[place], system.dtype
        triangular = system.operation == "solve_triangular"
        entry = self.entry(0) if triangular else self.factors()
        if system.checked:
            self._require_finite(entry)
        if not (triangular and system.unit):
            self._require_regular(entry)

        def right(i: str, column: str) -> Value:
            row = self.at(self.places[place], dtype, self.times(i, strides.row))
            at = self.at(row, dtype, self.times(column, strides.column))
            return self.load(at, dtype, self.right.lanes, strides.column)

        self._for_columns(entry, right)

    def _for_columns(self, entry: Entry, right: Callable[[str, str], Value]) -> None:
        """The solutions for a vector of columns after the other."""
        panel = self.right
        with self.pieces(self.columns, panel.lanes) as column:
            with self.counting("0", self.size) as i:
                panel.set_vector(i, 0, right(i, column))
            self._solve_panel(entry)
            start = self.at(self.targets[0], self.system.dtype, column)
            with self.counting("0", self.size) as i:
                value = panel.vector(i, 0)
                self.numbers.require_finite([value])
                self.flush()
                row = self.at(start, self.system.dtype, self.times(i, self.columns))
                self.store(value, row, panel.lanes, 1)

    def _solve_panel(self, entry: Entry) -> None:
        system = self.system
        if system.operation == "solve_triangular":
            self._substitute(entry, system.lower, system.unit)
        elif system.turned:
            self._substitute(entry, False, False)
            self._substitute(entry, True, True)
            self._permute(backwards=True)
        else:
            self._permute(backwards=False)
            self._substitute(entry, True, True)
            self._substitute(entry, False, False)

    def _permute(self, backwards: bool) -> None:
        with self.counting("0", self.size) as step:
            k = self._reversed(step) if backwards else step
            self._swap(self.right, k, self._pivot(k))

    def _reversed(self, step: str) -> str:
        return self.block.op(f"sub nsw i64 {self.size - 1}, {step}")

    def _substitute(self, entry: Entry, lower: bool, unit: bool) -> None:
        """Solve with a triangle, its transpose, or the conjugate of that, for one vector."""
        numbers, panel, system = self.numbers, self.right, self.system
        forward = lower is not system.turned

        def factor(i: str, j: str) -> Value:
            value = entry(j, i) if system.turned else entry(i, j)
            return numbers.conjugate(value) if system.conjugated else value

        with self.counting("0", self.size) as step:
            j = step if forward else self._reversed(step)
            known = panel.vector(j, 0)
            if not unit:
                known = numbers.multiply(known, numbers.reciprocal(factor(j, j)))
                panel.set_vector(j, 0, known)
            first, last = (self.plus(j, 1), str(self.size)) if forward else ("0", j)
            with self.counting(first, last) as i:
                product = numbers.multiply(factor(i, j), known)
                panel.set_vector(i, 0, numbers.subtract(panel.vector(i, 0), product))

    # --- inverses --------------------------------------------------------------------------------

    def _inverse(self) -> None:
        """The inverse, and of it the adjugate, where the condition number allows that."""
        system = self.system
        entry = self.factors()
        self._require_regular(entry)
        one, zero = self.numbers.number(1.0), self.numbers.number(0.0)

        def unit(i: str, column: str) -> Value:
            own = self.block.op(f"sub nsw i64 {i}, {column}")
            return self.numbers.select(self.right.where("eq", 0, own), one, zero)

        self._for_columns(entry, unit)
        if system.limit is None:
            return
        condition = self.numbers.writer.multiply(
            self._one_norm(self.entry(0)), self._one_norm(self._result)
        )
        limit = self.numbers.writer.constant(system.limit, condition)
        below = self.numbers.writer.compare("ole", condition, limit)
        self.numbers.faults.append(self.numbers.writer.invert(below))
        self.flush()
        if system.operation == "adjugate":
            determinant = self._determinant(entry)
            with self.counting("0", self.size * self.size) as n:
                at = self.at(self.targets[0], system.dtype, n)
                scaled = self.numbers.multiply(self.load(at, system.dtype), determinant)
                self.numbers.require_finite([scaled])
                self.flush()
                self.store(scaled, at)

    def _result(self, i: str, j: str) -> Value:
        offset = self.plus(self.times(i, self.size), j)
        return self.load(self.at(self.targets[0], self.system.dtype, offset), self.system.dtype)

    def _one_norm(self, entry: Entry) -> Value:
        writer, part = self.numbers.writer, self.numbers.part
        most = Slot(self, constant(0.0, part))
        with self.counting("0", self.size) as j:
            total = Slot(self, constant(0.0, part))
            with self.counting("0", self.size) as i:
                total.set(writer.add(total.get(), self.numbers.modulus(entry(i, j))))
            column, before = total.get(), most.get()
            larger = writer.compare("ogt", column, before)
            most.set(writer.select(larger, column, before))
        return most.get()

    # --- Cholesky --------------------------------------------------------------------------------

    def _cholesky(self) -> None:
        """Of the lower triangle, as the factor U of U^H U, whose rows are the columns of L."""
        numbers, square = self.numbers, self.square
        read, zero = self.entry(0), numbers.number(0.0)
        blocks = range(square.blocks)
        with self.counting("0", self.size) as i:
            for b in blocks:
                square.set_vector(i, b, zero)
            with self.counting(i, self.size) as j:
                square.set_number(i, j, numbers.conjugate(read(j, i)))
        with self.counting("0", self.size) as k:
            root = numbers.root(numbers.real(square.number(k, k)))
            self.flush()
            root = numbers.lifted(root)
            by = numbers.reciprocal(root)
            row = []
            for b in blocks:
                scaled = numbers.multiply(square.vector(k, b), by)
                row.append(numbers.select(square.where("eq", b, k), root, scaled))
                square.set_vector(k, b, row[b])
            with self.counting(self.plus(k, 1), self.size) as i:
                factor = numbers.conjugate(square.number(k, i))
                for b in blocks:
                    product = numbers.multiply(factor, row[b])
                    square.set_vector(i, b, numbers.subtract(square.vector(i, b), product))
        self._write_lower(square)

    def _write_lower(self, square: Panel) -> None:
        """The adjoint of what is above the diagonal, and zeros above it."""
        numbers = self.numbers
        with self.counting("0", self.size) as i:
            start = self.times(i, self.size)
            with self.counting("0", self.plus(i, 1)) as j:
                value = numbers.conjugate(square.number(j, i))
                numbers.require_finite([value])
                self.flush()
                self._write(self.plus(start, j), value)
            with self.counting(self.plus(i, 1), self.size) as j:
                self._write(self.plus(start, j), numbers.number(0.0))
