"""An executor of one's own: it runs a program equation by equation, and says what took the time.

Whatever runs NumPy can run programs: a debugger, a device, a library with faster kernels. An
executor is a class with one method, `compile(program, needs)`. What that returns has `run` and
`report`. `ad.config(executor=...)` puts it in the place of machine code, for all that is
derived, replayed and jitted within the block.

    python examples/own_executor.py
"""

import time
from collections import defaultdict

import numpy as np

import adjoint as ad
from adjoint.executors import CompileReport
from adjoint.program import Literal


class ProfilingExecutor:
    """Notes the seconds and the calls of each primitive, by its name."""

    def __init__(self):
        self.seconds = defaultdict(float)
        self.calls = defaultdict(int)

    def compile(self, program, needs=None):
        """The program, to be run equation by equation."""
        return ProfiledProgram(program, self)

    def __str__(self):
        slowest = sorted(self.seconds, key=self.seconds.get, reverse=True)
        rows = (f"{name:<20}{self.calls[name]:>7}{self.seconds[name]:>10.4f}" for name in slowest)
        return "\n".join(["primitive             calls   seconds", *rows])


class ProfiledProgram:
    """A program that is run equation by equation."""

    guarded = False  # it always has results: errors and NaN are left as NumPy makes them
    pays = True  # the table is worth the time

    def __init__(self, program, profile):
        self.program = program
        self.profile = profile

    def run(self, *arguments):
        """The outputs for these inputs."""
        values = dict(zip(self.program.inputs, arguments, strict=True))

        def value(atom):
            return atom.value if isinstance(atom, Literal) else values[atom]

        for equation in self.program.equations:
            begin = time.perf_counter()
            with np.errstate(all="ignore" if equation.derived else None):
                operands = map(value, equation.inputs)
                results = equation.primitive.evaluate(*operands, **equation.params)
            self.profile.seconds[equation.primitive.name] += time.perf_counter() - begin
            self.profile.calls[equation.primitive.name] += 1
            results = results if equation.primitive.multiple else (results,)
            values.update(zip(equation.outputs, results, strict=True))
        return tuple(np.array(value(atom))[()] for atom in self.program.outputs)

    def report(self):
        """What is run, to be read."""
        return CompileReport(source=str(self.program))


def loss(weights, data):
    hidden = np.tanh(data @ weights)
    return np.log(np.sum(np.exp(hidden**2))) + np.linalg.norm(weights)


def inputs_of_loss():
    generator = np.random.default_rng(0)
    return generator.normal(size=(20, 30)), generator.normal(size=(5000, 20))


def main():
    weights, data = inputs_of_loss()
    profile = ProfilingExecutor()
    gradient = ad.jit(ad.grad(loss))
    with ad.config(executor=profile):
        for _ in range(20):
            profiled = gradient(weights, data)
    print(profile)
    print("the same as machine code's:", np.allclose(profiled, gradient(weights, data)))


if __name__ == "__main__":
    main()
