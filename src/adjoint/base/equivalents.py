"""What other tools call what is here under another name, or not needed: for those who ask for it.

`ad.jacfwd` is no attribute, and its error says what to write. The page "Coming from other tools"
has the same, tool by tool, with code that runs.
"""

from __future__ import annotations

import sys
from typing import Final, NoReturn

_NUMPY: Final = "nothing: NumPy's own functions are differentiated, after `import numpy as np`"
_DIMENSIONS: Final = "nothing: arrays are NumPy's, and so are their types and methods"
_CUSTOM: Final = "`ad.primitive(f)`, and then `f.jvp(rule)`, `f.vjp(rule)` or `f.derivative(rule)`"
_EACH: Final = (
    "`ad.vmap(ad.grad(f))`, of second derivatives `ad.vmap(ad.grad(ad.grad(f)))`; or "
    "`ad.vjp(f, x)[1](np.ones_like(f(x)))`"
)
_RANDOM: Final = "nothing: NumPy's generators are drawn from anew at each call"
_LOOPS: Final = (
    "a Python loop, which is rolled, or `ad.scan`, `ad.fori_loop`, `ad.while_loop`, `ad.cond`"
)
_TREES: Final = "lists, tuples and dictionaries as they are, and `ad.register_container` for others"

# By the tool and the name there: what to write here.
EQUIVALENTS: Final[dict[str, dict[str, str]]] = {
    "JAX": {
        "jacfwd": '`ad.jacobian(f, mode="forward")`',
        "jacrev": '`ad.jacobian(f, mode="reverse")`',
        "jet": "`ad.taylor(f, x, u, order)`",
        "forward_laplacian": "`ad.value_grad_laplacian(f)`",
        "nn": _NUMPY,
        "lax": _LOOPS,
        "random": _RANDOM,
        "tree": _TREES,
        "tree_util": _TREES,
        "tree_map": _TREES,
        "pmap": "`ad.vmap(f)`; long loops of machine code run on all cores by themselves",
        "remat": "`ad.checkpoint(f)`",
        "custom_jvp": _CUSTOM,
        "custom_vjp": _CUSTOM,
        "make_jaxpr": "`ad.program(f, x)`",
        "eval_shape": "`ad.program(f, x)`, which has the types of all values",
        "disable_jit": "`with ad.config(native=False, replay=False): ...`",
        "debug_nans": "`ad.explain_nan(f, x)`",
        "debug": "`print` and `breakpoint()`, which work as ever, `ad.nodes` and `ad.explain_nan`",
        "block_until_ready": "nothing: results are there when a call returns",
        "clear_caches": "`ad.cache_clear()`",
        "linear_util": "`ad.linearize` and `ad.linear_transpose`",
        "closure_convert": "nothing: what a function closes over is read at each call",
        "enable_x64": "nothing: numbers have the precision that NumPy gives them",
    },
    "autograd": {
        "elementwise_grad": _EACH,
        "egrad": _EACH,
        "make_vjp": "`value, pullback = ad.vjp(f, x)`",
        "make_jvp": "`value, tangent = ad.jvp(f, (x,), (u,))`",
        "make_hvp": "`ad.hvp(f, x, u)`",
        "hessian_vector_product": "`ad.hvp(f, x, u)`",
        "hessian_tensor_product": "`ad.hvp(f, x, u)`",
        "make_ggnvp": "`ad.pullback_metric(model)`",
        "tensor_jacobian_product": "`ad.vjp(f, x)[1](y)`",
        "vector_jacobian_product": "`ad.vjp(f, x)[1](y)`",
        "holomorphic_grad": "`ad.derivative(f, z)`, a complex linear map where f is holomorphic",
        "grad_and_aux": "`ad.value_and_grad(f, has_aux=True)`",
        "multigrad_dict": "`ad.grad` of a function of a dictionary",
        "defvjp": _CUSTOM,
        "defjvp": _CUSTOM,
        "check_grads": "`ad.testing.check(f, x)`",
        "argnum": "`argnums`, also where it is one: `ad.grad(f, argnums=1)`",
        "fixed_point": "`ad.implicit.fixed_point(f, x0, a)`, of f(x, a)",
        "adam": "a loop over `ad.grad(f)` of your own, or `ad.optimize.minimize(f, x)`",
        "sgd": "a loop over `ad.grad(f)` of your own, or `ad.optimize.minimize(f, x)`",
        "flatten": "nothing: arguments may be lists, tuples and dictionaries",
        "isinstance": "Python's own `isinstance`",
    },
    "PyTorch": {
        "Tensor": _DIMENSIONS,
        "tensor": _DIMENSIONS,
        "requires_grad": "`argnums`: with respect to which arguments",
        "no_grad": "`ad.stop_gradient(x)`; values that nobody differentiates cost nothing",
        "detach": "`ad.stop_gradient(x)`",
        "backward": "`ad.grad(f)(x)`, or `ad.vjp(f, x)[1](y)`",
        "autograd": "`ad.grad(f)(x)`, or `ad.vjp(f, x)[1](y)`",
        "func": "`ad.grad`, `ad.vjp`, `ad.jvp`, `ad.vmap`, `ad.jacobian` and `ad.hessian`",
        "gradcheck": "`ad.testing.check(f, x)`",
        "compile": "`ad.jit(f)`",
        "optim": "`ad.optimize.minimize(f, x)`, or `scipy.optimize.minimize` with `jac=ad.grad(f)`",
        "Function": _CUSTOM,
        "vhp": "`ad.hvp(f, x, u)`",
    },
    "CasADi": {
        "SX": _DIMENSIONS,
        "MX": _DIMENSIONS,
        "DM": _DIMENSIONS,
        "gradient": "`ad.grad(f)`",
        "jtimes": "`ad.jvp(f, (x,), (u,))`, or `ad.vjp(f, x)[1](y)` for the transpose",
        "nlpsol": "`scipy.optimize.minimize` with `jac=ad.grad(f)` and `hess=ad.hessian(f)`",
        "rootfinder": "`ad.implicit.root(residual, start)`",
        "integrator": "`scipy.integrate.solve_ivp`, which is differentiated",
        "if_else": "Python's `if`, or `np.where`",
        "mapaccum": "a Python loop, which is rolled, or `ad.scan`",
        "sumsqr": "`np.sum(x**2)`",
    },
    "SciPy": {
        "curve_fit": "`ad.optimize.curve_fit(model, xdata, ydata, p0)`, which makes `jac`",
        "minimize": "`scipy.optimize.minimize` with `jac=ad.grad(f)`, or `ad.optimize.minimize`",
        "least_squares": "`scipy.optimize.least_squares` with `jac=ad.jacobian(residuals)`",
        "approx_fprime": "`ad.grad(f)`",
        "solve_ivp": "`scipy.integrate.solve_ivp`, which is differentiated",
    },
}
_ALL: Final = {name: text for names in EQUIVALENTS.values() for name, text in names.items()}


def advice(name: str) -> str:
    """A sentence on what to write for a name of another tool; empty where it is not known."""
    text = _ALL.get(name)
    if text is None:
        return ""
    needed = text.removeprefix("nothing: ")
    return f" Write {text}." if needed == text else f" It is not needed: {needed}."


def absent(name: str) -> NoReturn:
    """What a module does whose attribute is asked for and is not there.

    Raises:
        AttributeError: always.
    """
    text = f"adjoint has no {name!r}.{advice(name)}"
    raise AttributeError(text, name=name, obj=sys.modules["adjoint"])


# The package is given it here: where it is defined there, type checkers take any name for one.
sys.modules["adjoint"].__getattr__ = absent  # type: ignore[method-assign]
