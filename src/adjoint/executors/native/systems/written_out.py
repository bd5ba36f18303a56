"""Routines on matrices of a few rows, all of whose numbers stay in registers."""

from __future__ import annotations

from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.systems import registers
from adjoint.executors.native.systems.plan import SquareSystem
from adjoint.executors.native.systems.registers import PivotedFactors, Rows
from adjoint.executors.native.systems.stacks import StackWriter, fitting

_SOLVING = ("solve", "solve_factored", "solve_triangular")


def emit_written_out(module: Module, name: str, system: SquareSystem, lanes: int) -> int:
    """Write the function of a routine; returns how many bytes of scratch it needs."""
    writer = _WrittenOutRoutine(module, system, lanes)
    with writer.matrices():
        writer.body()
    writer.function(name, len(writer.results), len(system.operands))
    return 0


class _WrittenOutRoutine(StackWriter):
    """One routine. wide: the lanes of a vector of columns, where matrices come one by one."""

    def __init__(self, module: Module, system: SquareSystem, lanes: int) -> None:
        super().__init__(module, system, lanes)
        self.wide = 0 if self.lanes else fitting(lanes, system.columns)

    def body(self) -> None:
        """What is done with one matrix, or with one in each lane."""
        system, numbers = self.system, self.numbers
        if system.operation in _SOLVING:
            self._solve()
        elif system.operation == "cholesky":
            rows = registers.cholesky(numbers, self.matrix(0, system.size))
            self._checked(0, rows)
        elif system.operation == "adjugate":
            self._checked(0, registers.adjugate(numbers, self.matrix(0, system.size)))
        elif system.operation == "adjugate_slope":
            rows, tangents = self.matrix(0, system.size), self.matrix(1, system.size)
            self._checked(0, registers.adjugate_slope(numbers, rows, tangents))
        elif system.operation == "inv":
            self._inverse()
        else:
            self._of_factors(self.factors())

    def factors(self) -> PivotedFactors:
        """The LU factors: given, or made here."""
        system = self.system
        if not system.factored:
            return registers.factorised(self.numbers, self.matrix(0, system.size))
        rows = self.matrix(0, system.size)
        pivots = [row[0] for row in self.matrix(1, 1)]
        return registers.factors_of(self.numbers, rows, pivots)

    def _of_factors(self, factors: PivotedFactors) -> None:
        numbers, operation = self.numbers, self.system.operation
        numbers.require_finite([value for row in factors.rows for value in row])
        if operation == "det":
            self.write(0, [[registers.determinant(numbers, factors)]])
        elif operation == "slogdet":
            sign, logarithm = registers.sign_and_logarithm(numbers, factors)
            self.write(0, [[sign]])
            self.write(1, [[logarithm]])
        else:
            self.write(0, factors.rows)
            self.write(1, [factors.pivots])

    def _checked(self, place: int, rows: Rows) -> None:
        self.numbers.require_finite([value for row in rows for value in row])
        self.write(place, rows)

    def _inverse(self) -> None:
        numbers, system = self.numbers, self.system
        factors = self.factors()
        numbers.require_regular([factors.rows[k][k] for k in range(system.size)])
        unit = registers.identity(numbers, system.size)
        inverse = registers.solved(numbers, factors, unit, False, False)
        if system.limit is not None:
            rows = self.matrix(0, system.size)
            numbers.faults.append(registers.is_too_ill(numbers, rows, inverse, system.limit))
        self._checked(0, inverse)

    # --- systems ---------------------------------------------------------------------------------

    def _solve(self) -> None:
        """The solutions for all columns; what is made of the matrix is made before."""
        system, numbers = self.system, self.numbers
        place = len(system.operands) - 1
        if system.operation == "solve_triangular":
            triangle = self._triangle()
            if not system.unit:
                numbers.require_regular([triangle[k][k] for k in range(system.size)])

            def solved(right: Rows) -> Rows:
                how = system.lower, system.unit, system.turned, system.conjugated
                return registers.substituted(numbers, triangle, right, *how)
        else:
            factors = self.factors()
            numbers.require_regular([factors.rows[k][k] for k in range(system.size)])

            def solved(right: Rows) -> Rows:
                return registers.solved(numbers, factors, right, system.turned, system.conjugated)

        self.flush()
        with self.pieces(system.columns, self.wide) as index:
            solution = solved(self._right(place, index))
            numbers.require_finite([row[0] for row in solution])
            self._write_columns(solution, index)
            self.flush()

    def _triangle(self) -> Rows:
        """The triangle that is read; what is not is not loaded."""
        system = self.system
        zero = self.numbers.number(0.0)
        rows = self.matrix(0, system.size)
        if system.checked:
            self.numbers.require_finite([value for row in rows for value in row])
        for i in range(system.size):
            for j in range(system.size):
                if (j > i) if system.lower else (j < i):
                    rows[i][j] = zero
        return rows

    def _right(self, place: int, index: str) -> Rows:
        if not self.wide:
            return self.column(place, index)
        strides, dtype = self.system.operands[place], self.system.dtype
        start = self.at(self.places[place], dtype, self.times(index, strides.column))
        pointers = [self.at(start, dtype, i * strides.row) for i in range(self.system.size)]
        return [[self.load(pointer, dtype, self.wide, strides.column)] for pointer in pointers]

    def _write_columns(self, rows: Rows, index: str) -> None:
        columns, dtype = self.system.columns, self.system.dtype
        start = self.at(self.targets[0], dtype, index)
        lanes, step = (self.wide, 1) if self.wide else (self.lanes, self.result_step(0))
        for i, row in enumerate(rows):
            self.store(row[0], self.at(start, dtype, i * columns), lanes, step)
