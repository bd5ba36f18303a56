"""NumPy's products of arrays: each becomes contractions."""

from __future__ import annotations

from string import ascii_letters
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError, UnsupportedFunctionError
from adjoint.capture import protocols
from adjoint.capture.indexing import permute_plain, reshape_plain
from adjoint.capture.numpy_reduce import sum_
from adjoint.capture.numpy_shape import broadcast_to, diagonal, moveaxis, ravelled, stack
from adjoint.capture.table import as_operand, implements, normal_axis, strong
from adjoint.capture.traced import Traced, apply
from adjoint.capture.views import maybe_alias
from adjoint.primitives.contraction import CONTRACT, canonical
from adjoint.program import operation

_CACHE: dict[str, Any] = {}


def contract(x: Any, y: Any, spec: str) -> Any:
    """A contraction of two operands, in canonical form (see the primitive)."""
    op = _CACHE.get(spec)
    if op is None:
        op = _CACHE[spec] = operation(CONTRACT, spec=canonical(spec))
    return apply(op, (x, y))


PRODUCTS = {
    (2, 2): operation(CONTRACT, spec="ab,bc->ac"),
    (2, 1): operation(CONTRACT, spec="ab,b->a"),
    (1, 2): operation(CONTRACT, spec="a,ab->b"),
    (1, 1): operation(CONTRACT, spec="a,a->"),
}


@implements(np.matmul)
def matmul(x1: Any, x2: Any, /) -> Any:
    """Matrix product of two arrays."""
    x, y = as_operand(x1), as_operand(x2)
    shape_x: Any = getattr(x, "shape", ())
    shape_y: Any = getattr(y, "shape", ())
    if not shape_x or not shape_y:
        raise ShapeError(
            f"matmul: Input operand {0 if not shape_x else 1} does not have enough dimensions "
            "(has 0, but matmul needs at least 1); use * for products with scalars."
        )
    inner = shape_y[-2] if len(shape_y) > 1 else shape_y[0]
    if shape_x[-1] != inner:
        raise ShapeError(
            f"matmul: shapes {shape_x} and {shape_y} do not fit: {shape_x[-1]} columns on the "
            f"left, "
            f"{inner} rows on the right."
        )
    op = PRODUCTS.get((len(shape_x), len(shape_y)))
    return apply(op, (x, y)) if op is not None else _batched_matmul(x, y)


def _batched_matmul(x: Any, y: Any) -> Any:
    if np.ndim(x) == 1:
        return reshape_plain(matmul(x[None, :], y), (*y.shape[:-2], y.shape[-1]))
    if np.ndim(y) == 1:
        return contract(
            x,
            y,
            f"{ascii_letters[: x.ndim]},{ascii_letters[x.ndim - 1]}->{ascii_letters[: x.ndim - 1]}",
        )
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    labels = ascii_letters[3 : 3 + len(batch)]

    def own(a: Any) -> tuple[Any, str]:
        """The operand without batch axes of length one that the other repeats.

        And the labels of those it keeps.
        """
        lead = a.shape[:-2]
        places = list(
            zip(
                labels[len(labels) - len(lead) :],
                lead,
                batch[len(batch) - len(lead) :],
                strict=True,
            )
        )
        kept = [(label, n) for label, n, whole in places if n == whole]
        shape = (*(n for _, n in kept), *a.shape[-2:])
        return reshape_plain(a, shape), "".join(label for label, _ in kept)

    (x, left), (y, right) = own(x), own(y)
    return contract(x, y, f"{left}ab,{right}bc->{labels}ac")


@implements(np.dot)
def dot(a: Any, b: Any) -> Any:
    """Dot product of two arrays."""
    a, b = strong(a), strong(b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    axis = np.ndim(b) - 2 if np.ndim(b) > 1 else 0
    return _over(a, b, (np.ndim(a) - 1,), (axis,), "dot")


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    """Inner product of two arrays."""
    a, b = strong(a), strong(b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    return _over(a, b, (np.ndim(a) - 1,), (np.ndim(b) - 1,), "inner")


def _over(a: Any, b: Any, axes_a: Any, axes_b: Any, name: str) -> Any:
    """The sum of products over pairs of axes; what remains of a comes first."""
    shape_a, shape_b = np.shape(a), np.shape(b)
    if [shape_a[n] for n in axes_a] != [shape_b[n] for n in axes_b]:
        raise ShapeError(f"{name}: shapes {shape_a} and {shape_b} not aligned.")
    left = list(ascii_letters[: len(shape_a)])
    right = list(ascii_letters[len(shape_a) : len(shape_a) + len(shape_b)])
    for n, m in zip(axes_a, axes_b, strict=True):
        right[m] = left[n]
    result = [x for x in left if x not in right] + [y for y in right if y not in left]
    return contract(a, b, f"{''.join(left)},{''.join(right)}->{''.join(result)}")


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Compute tensor dot product along specified axes."""
    a, b = as_operand(a), as_operand(b)
    if np.iterable(axes):
        pairs = [list(np.atleast_1d(each)) for each in axes]
        axes_a = [normal_axis(n, np.ndim(a)) for n in pairs[0]]
        axes_b = [normal_axis(n, np.ndim(b)) for n in pairs[1]]
    else:
        axes_a = list(range(np.ndim(a) - axes, np.ndim(a)))
        axes_b = list(range(axes))
    if not axes_a:
        return reshape_plain(outer(a, b), (*np.shape(a), *np.shape(b)))
    return _over(a, b, axes_a, axes_b, "tensordot")


@implements(np.outer)
def outer(a: Any, b: Any) -> Any:
    """Compute the outer product of two vectors."""
    return contract(ravelled(as_operand(a)), ravelled(as_operand(b)), "a,b->ab")


@implements(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    """Compute the outer product of two vectors."""
    return outer(x1, x2)


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    """Return the dot product of two vectors."""
    a, b = ravelled(as_operand(a)), ravelled(as_operand(b))
    if np.shape(a) != np.shape(b):
        raise ShapeError(f"vdot: sizes {np.size(a)} and {np.size(b)} differ.")
    return contract(np.conjugate(a) if a.dtype.kind == "c" else a, b, "a,a->")


@implements(np.vecdot, np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Vector dot product of two arrays."""
    return sum_(np.conjugate(x1) * x2 if x1.dtype.kind == "c" else x1 * x2, axis)


@implements(np.trace, np.linalg.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the sum along diagonals of the array."""
    return sum_(diagonal(a, offset, axis1, axis2), -1)


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Kronecker product of two arrays."""
    a, b = as_operand(a), as_operand(b)
    rank = max(np.ndim(a), np.ndim(b))
    a = reshape_plain(a, (1,) * (rank - np.ndim(a)) + np.shape(a))
    b = reshape_plain(b, (1,) * (rank - np.ndim(b)) + np.shape(b))
    product = reshape_plain(outer(a, b), (*a.shape, *b.shape))
    order = tuple(n for pair in zip(range(rank), range(rank, 2 * rank), strict=True) for n in pair)
    return reshape_plain(
        permute_plain(product, order), tuple(n * m for n, m in zip(a.shape, b.shape, strict=True))
    )


@implements(np.cross, np.linalg.cross)
def cross(a: Any, b: Any, axis: int = -1) -> Any:
    """Return the cross product of two (arrays of) vectors."""
    a, b = moveaxis(as_operand(a), axis, -1), moveaxis(as_operand(b), axis, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ShapeError("cross: both arrays must have length 3 along the axis.")
    a1, a2, a3 = (a[..., place] for place in range(3))
    b1, b2, b3 = (b[..., place] for place in range(3))
    parts = (a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1)
    return moveaxis(stack(parts, -1), -1, axis)


# --- einsum ---------------------------------------------------------------------------------------


@implements(np.einsum)
def einsum(*operands: Any, optimize: Any = False) -> Any:
    """Evaluates the Einstein summation convention on the operands."""
    if not isinstance(operands[0], str):
        raise ShapeError("einsum on traced arrays takes its subscripts as a string first.")
    subscripts, *arrays = operands
    arrays = [as_operand(a) for a in arrays]
    labels, result = _subscripts(subscripts, [np.ndim(a) for a in arrays])
    terms = [_without_repeats(a, term) for a, term in zip(arrays, labels, strict=True)]
    while len(terms) > 1:
        (x, left), (y, right) = terms[0], terms[1]
        later = result + "".join(term for _, term in terms[2:])
        x, left = _sum_lone(x, left, right + later)
        y, right = _sum_lone(y, right, left + later)
        kept = "".join(c for c in dict.fromkeys(left + right) if c in later)
        if set(kept) == set(result) and len(terms) == 2:
            kept = result
        terms[:2] = [(_pair(x, y, left, right, kept), kept)]
    x, left = _sum_lone(*terms[0], result)
    x = permute_plain(x, tuple(left.index(c) for c in result)) if left else x
    if type(x) is Traced and x is arrays[0]:
        x = x.copy()
    # einsum gives a view of a lone operand where it can.
    return maybe_alias(arrays[0], x) if len(arrays) == 1 and type(x) is Traced else x


def _pair(x: Any, y: Any, left: str, right: str, kept: str) -> Any:
    # Axes of length one broadcast in einsum; a contraction wants them equal.
    for label in set(left) & set(right):
        n, m = np.shape(x)[left.index(label)], np.shape(y)[right.index(label)]
        if n != m and 1 in (n, m):
            x, y = _widen(x, left, label, max(n, m)), _widen(y, right, label, max(n, m))
    return contract(x, y, f"{left},{right}->{kept}")


def _widen(x: Any, labels: str, label: str, length: int) -> Any:
    place = labels.index(label)
    return broadcast_to(x, (*x.shape[:place], length, *x.shape[place + 1 :]))


def _sum_lone(x: Any, labels: str, elsewhere: str) -> tuple[Any, str]:
    """Sum over the labels that occur nowhere else."""
    lone = tuple(place for place, label in enumerate(labels) if label not in elsewhere)
    if not lone:
        return x, labels
    return sum_(x, lone), "".join(label for label in labels if label in elsewhere)


def _without_repeats(x: Any, labels: str) -> tuple[Any, str]:
    """Take diagonals until every label occurs once."""
    while len(set(labels)) < len(labels):
        label = next(c for c in labels if labels.count(c) > 1)
        one = labels.index(label)
        other = labels.index(label, one + 1)
        x = diagonal(x, 0, one, other)
        labels = labels[:one] + labels[one + 1 : other] + labels[other + 1 :] + label
    return x, labels


def _subscripts(text: str, ranks: list[int]) -> tuple[list[str], str]:
    """The labels of the operands and of the result.

    With ellipses and an implied result written out.
    """
    text = text.replace(" ", "")
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ShapeError(f"einsum: {len(terms)} terms in {text!r}, but {len(ranks)} operands.")
    spare = [c for c in ascii_letters if c not in text]
    depth = max(
        (
            rank - len(t.replace("...", ""))
            for t, rank in zip(terms, ranks, strict=True)
            if "..." in t
        ),
        default=0,
    )
    extra = "".join(spare[:depth])
    whole = []
    for term, rank in zip(terms, ranks, strict=True):
        if "..." in term:
            missing = rank - len(term.replace("...", ""))
            term = term.replace("...", extra[depth - missing :])
        if len(term) != rank:
            raise ShapeError(f"einsum: the term {term!r} does not fit an operand of {rank} axes.")
        whole.append(term)
    if arrow:
        return whole, result.replace("...", extra)
    joined = "".join(terms).replace("...", "")
    return whole, extra + "".join(sorted(c for c in set(joined) if joined.count(c) == 1))


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any) -> Any:
    """Compute the dot product of two or more arrays in a single function call."""
    result = arrays[0]
    for other in arrays[1:]:
        result = dot(result, other)
    return result


@implements(np.linalg.norm, np.linalg.vector_norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The Euclidean norm of a vector or matrix, and the usual vector norms.

    Its gradient at 0 is 0.
    """
    x = as_operand(x)
    matrix = (axis is None and x.ndim == 2 and ord is not None) or (
        isinstance(axis, tuple) and len(axis) == 2
    )
    if ord in (None, 2, "fro") and not (matrix and ord == 2):
        squares = np.square(x) if x.dtype.kind != "c" else np.square(x.real) + np.square(x.imag)
        total = sum_(squares, axis, keepdims=keepdims)
        # sqrt has no derivative at 0; there the norm is taken as the constant 0.
        positive = total > 0
        return np.where(positive, np.sqrt(np.where(positive, total, total.dtype.type(1))), total)
    if matrix:
        return _unsupported_norm(ord)
    size = np.abs(x)
    if ord == np.inf:
        return protocols.FUNCTION(np.max, (size, axis), {"keepdims": keepdims})
    if ord == -np.inf:
        return protocols.FUNCTION(np.min, (size, axis), {"keepdims": keepdims})
    if ord == 1:
        return sum_(size, axis, keepdims=keepdims)
    if isinstance(ord, (int, float)) and ord > 0:
        return sum_(size**ord, axis, keepdims=keepdims) ** (1 / ord)
    return _unsupported_norm(ord)


def _unsupported_norm(ord: Any) -> Any:
    raise UnsupportedFunctionError(
        f"numpy.linalg.norm with ord={ord!r} is not supported on traced arrays yet."
    )


protocols.MATMUL = matmul
protocols.PRODUCTS = PRODUCTS
