"""What users call of the bridges. The other libraries are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args, overload

from adjoint.base.errors import ArgumentError
from adjoint.base.signatures.calling import named
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.interop.exported import Exported, ExportedC

JaxMode = Literal["reverse", "forward", "matrix"]


def jax(function: Callable[..., Any], *, mode: JaxMode = "reverse", result: Any = None) -> Any:
    """A NumPy function as a function of JAX's, with its derivatives.

    It can be called within JAX code, under `jax.jit` and `jax.vmap` too; it runs on the host
    (`jax.pure_callback`). Its derivatives are those of adjoint. In a batch it runs as one program,
    or row by row where it asks for values.

    Arguments and results may be trees. Arrays and numbers in them are operands, by the types that
    JAX gives them: without JAX's double precision all is in single precision. Other leaves are
    passed on as they are.

    Args:
        function: plain NumPy code without side effects.
        mode: which derivatives JAX may ask for. "reverse": `jax.grad`, `vjp`, `jacrev`, nested to
            any order. "forward": `jax.jvp`, `jacfwd`, nested. "matrix": all of them in any order,
            `jax.hessian` and `linearize` too, by the Jacobian matrix as a whole, which costs no
            more than a gradient where the result is one number; real numbers only.
        result: the type of the result, where it cannot be told without values: an array, a tree of
            arrays, or a function of the arguments that returns one. It is given objects with
            `shape` and `dtype`.

    Returns:
        The function of JAX's arrays.

    Raises:
        ArgumentError: there is no such mode.
        ArgumentTypeError: what is given is no function; or, in mode "matrix", numbers are complex.
        UnknownResultError: it asks for values, and was called under `jax.jit` or the like.
        XlaUnavailableError: JAX is not there, or is of a version that is wrong.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> import jax, jax.numpy as jnp  # doctest: +SKIP
        >>> energy = ad.interop.jax(lambda x: np.sum(x**3))  # doctest: +SKIP
        >>> slope = jax.jit(jax.grad(lambda x: 2 * energy(x)))  # doctest: +SKIP
        >>> slope(jnp.array([1.0, 2.0]))  # doctest: +SKIP
        Array([ 6., 24.], dtype=float32)
    """
    check_callable(function, "interop.jax")
    if mode not in get_args(JaxMode):
        raise ArgumentError(f"mode must be one of {', '.join(get_args(JaxMode))}, got {mode!r}.")
    from adjoint.interop.into_jax import bridged

    return bridged(function, mode, result)


def from_jax(function: Callable[..., Any], *, result: Any = None) -> Callable[..., Any]:
    """A function of JAX's as one of NumPy's arrays, with its derivatives.

    It is compiled by `jax.jit` and runs in double precision where its arguments are, whatever JAX's
    own switch says. All modes of any order, and `ad.vmap`, ask JAX (`jax.jvp`, `jax.vjp`,
    `jax.vmap`); capture does not enter it.

    Arguments and results may be trees. Arrays and floating-point numbers among the positional
    arguments are operands; anything else, and every keyword argument, is static and must be
    hashable.

    Args:
        function: JAX code that `jax.jit` takes, without side effects.
        result: the type of the result, as `ad.primitive` takes it; it is hardly needed, since JAX
            tells it.

    Returns:
        The function to call in NumPy code.

    Raises:
        ArgumentTypeError: what is given is no function.
        XlaUnavailableError: JAX is not there, or is of a version that is wrong.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> import jax.numpy as jnp  # doctest: +SKIP
        >>> energy = ad.interop.from_jax(lambda x: jnp.sum(x**3))  # doctest: +SKIP
        >>> ad.grad(lambda x: 2 * energy(x))(np.array([1.0, 2.0]))  # doctest: +SKIP
        array([ 6., 24.])
    """
    check_callable(function, "interop.from_jax")
    from adjoint.interop.jax_functions import primitive

    return primitive(function, result)


def torch(function: Callable[..., Any]) -> Any:
    """A NumPy function as a function of PyTorch's, with its derivatives.

    It is a `torch.autograd.Function` whose backward function is one too, so that gradients of
    gradients are there to any order; forward mode (`torch.func.jvp`) and `torch.func.vmap` as well.
    It runs on the host: tensors on another device are copied there, and the results back.

    Arguments and results may be trees. Tensors in them are operands; other leaves, numbers too, are
    passed on as they are.

    Args:
        function: plain NumPy code without side effects. A backward pass calls it again, so its
            state, and what it draws, must be what they were.

    Returns:
        The function of tensors.

    Raises:
        MissingPackageError: PyTorch is not there.
        ArgumentTypeError: what is given is no function.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> import torch  # doctest: +SKIP
        >>> energy = ad.interop.torch(lambda x: np.sum(x**3))  # doctest: +SKIP
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)  # doctest: +SKIP
        >>> (2 * energy(x)).backward()  # doctest: +SKIP
        >>> x.grad  # doctest: +SKIP
        tensor([ 6., 24.])
    """
    check_callable(function, "interop.torch")
    from adjoint.interop.into_torch import bridged

    return bridged(function)


def from_torch(function: Callable[..., Any], *, result: Any = None) -> Callable[..., Any]:
    """A function of PyTorch's as one of NumPy's arrays, with its derivatives.

    It runs as it is, on tensors with the numbers of its arguments; all modes of any order, and
    `ad.vmap`, ask PyTorch (`torch.func.jvp`, `vjp`, `vmap`). Capture does not enter it.

    Arguments and results may be trees. Arrays and floating-point numbers among the positional
    arguments are operands; anything else, and every keyword argument, is static and must be
    hashable.

    Args:
        function: PyTorch code without side effects, such as a module. Its parameters are constants.
            Where it draws random numbers, it has values and no derivatives.
        result: the type of the result, as `ad.primitive` takes it; needed inside `ad.vmap` where
            PyTorch cannot tell it on tensors without numbers (`device="meta"`).

    Returns:
        The function to call in NumPy code.

    Raises:
        ArgumentTypeError: what is given is no function.
        MissingPackageError: PyTorch is not there.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> import torch  # doctest: +SKIP
        >>> energy = ad.interop.from_torch(lambda x: torch.sum(x**3))  # doctest: +SKIP
        >>> ad.grad(lambda x: 2 * energy(x))(np.array([1.0, 2.0]))  # doctest: +SKIP
        array([ 6., 24.])
    """
    check_callable(function, "interop.from_torch")
    from adjoint.interop.torch_functions import primitive

    return primitive(function, result)


@overload
def export(
    function: Callable[..., Any],
    *args: Any,
    format: Literal["stablehlo"] = ...,
    platforms: tuple[str, ...] = ...,
) -> Exported: ...


@overload
def export(
    function: Callable[..., Any], *args: Any, format: Literal["c"], name: str = ...
) -> ExportedC: ...


@named
def export(
    function: Callable[..., Any],
    *args: Any,
    format: str = "stablehlo",
    platforms: tuple[str, ...] = ("cpu",),
    name: str = "derivative",
) -> Exported | ExportedC:
    """A function, such as a derivative, as a file that runs without adjoint.

    In format "stablehlo" it is a program in the language of XLA, which `jax.export` loads, and
    whatever else reads that language. In format "c" it is an object file with a header, for a
    program in C or in what calls C, on processors like this one.

    Arrays and numbers of the function's closure are written into it. The function is captured on
    types alone, so that the file is right for all arguments of these types: what asks for values,
    as `if x > 0`, is refused. What NumPy would refuse (a singular matrix, an index beyond its axis)
    gives NaN in the first format, and a status that is not 0 in the second, since nobody is there
    to raise an error; nobody warns of infinities.

    Args:
        function: plain NumPy code, or what `ad.grad` and the like make of it.
        args: arguments of the types to come: arrays and numbers, in tuples, lists and dicts.
        format: "stablehlo" (needs the extra `xla`) or "c".
        platforms: where StableHLO is to run: `cpu`, `cuda`, `rocm`, `tpu`, in a tuple.
        name: of the function of C.

    Returns:
        An `interop.Exported` or `interop.ExportedC`, to be saved.

    Raises:
        ValueNeededError: the function asks for a value.
        NotExportableError: a part of the program cannot be in such a file; it is named.
        ArgumentError: there is no such format or platform, or the name is none of C's.
        ArgumentTypeError: there are other things than arrays and numbers among the arguments.
        XlaUnavailableError: JAX is not there, or is of a version that is wrong.
        NativeUnavailableError: LLVM cannot be used here.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> slope = ad.grad(lambda x: np.sum(x**3))
        >>> ad.export(slope, np.ones(2)).save("slope.stablehlo")  # doctest: +SKIP
        >>> ad.export(slope, np.ones(2), format="c", name="slope").libraries
        ('-lm',)
    """
    check_callable(function, "export")
    if format == "c":
        from adjoint.interop.c_export import exported_c

        return exported_c(function, args, name)
    if format != "stablehlo":
        raise ArgumentError(f"format must be 'stablehlo' or 'c', got {format!r}.")
    from adjoint.interop.stablehlo import exported

    return exported(function, args, platforms)
