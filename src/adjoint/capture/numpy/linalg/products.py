"""NumPy's products of arrays: each becomes contractions."""

from __future__ import annotations

import operator
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.capture.numpy.indexing.indexing import permute_plain, reshape_plain
from adjoint.capture.numpy.reducing.reduce import sum_
from adjoint.capture.numpy.shaping.shape import broadcast_to, diagonal, moveaxis, ravelled, stack
from adjoint.capture.numpy.table import (
    as_array,
    as_operand,
    implements,
    normal_axis,
    stored,
    strong,
)
from adjoint.capture.recording.memory.views import maybe_alias
from adjoint.capture.recording.tracing.applying import apply
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.primitives.structure.contraction import CONTRACT, canonical
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
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Dot product of two arrays."""
    a, b = strong(a), strong(b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        result = a * b
    else:
        axis = np.ndim(b) - 2 if np.ndim(b) > 1 else 0
        result = _over(a, b, (np.ndim(a) - 1,), (axis,), "dot")
    if type(out) is Traced and out.dtype != result.dtype:
        raise ValueError(
            f"output array is not acceptable (must have the dtype {result.dtype}, and has "
            f"{out.dtype})"
        )
    return stored("numpy.dot", result, out)


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
        first, second = ([int(n) for n in np.atleast_1d(pair)] for pair in axes)
        axes_a = [normal_axis(n, np.ndim(a)) for n in first]
        axes_b = [normal_axis(n, np.ndim(b)) for n in second]
    else:
        axes_a, axes_b = list(range(-axes, 0)), list(range(axes))
    if len(axes_a) != len(axes_b):
        raise ShapeError("tensordot: as many axes of the one as of the other, or shape-mismatch.")
    for n, m in zip(axes_a, axes_b, strict=True):
        if np.shape(a)[n] != np.shape(b)[m]:
            raise ShapeError(f"tensordot: shapes {np.shape(a)} and {np.shape(b)} not aligned.")
    axes_a = [n + np.ndim(a) if n < 0 else n for n in axes_a]
    if not axes_a:
        return reshape_plain(outer(a, b), (*np.shape(a), *np.shape(b)))
    return _over(a, b, axes_a, axes_b, "tensordot")


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Compute the outer product of two vectors."""
    result = contract(ravelled(as_operand(a)), ravelled(as_operand(b)), "a,b->ab")
    return stored("numpy.outer", result, out, wide=True)


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    """Return the dot product of two vectors."""
    a, b = ravelled(as_operand(a)), ravelled(as_operand(b))
    if np.shape(a) != np.shape(b):
        raise ShapeError(f"vdot: sizes {np.size(a)} and {np.size(b)} differ.")
    return contract(np.conjugate(a) if a.dtype.kind == "c" else a, b, "a,a->")


@implements(np.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Vector dot product of two arrays."""
    x, y = as_array(x1), as_array(x2)
    if axis != -1:
        x, y = moveaxis(x, axis, -1), moveaxis(y, axis, -1)
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"vecdot: shapes {x.shape} and {y.shape} do not fit: both have a last axis, of one "
            "length."
        )
    product = (np.conjugate(x) if x.dtype.kind == "c" else x) * y
    return sum_(product, -1, product.dtype)


@implements(np.trace)
def trace(
    a: Any,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Return the sum along diagonals of the array."""
    return stored("numpy.trace", sum_(diagonal(a, offset, axis1, axis2), -1, dtype), out)


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Kronecker product of two arrays."""
    a, b = as_array(a), as_array(b)
    rank = max(np.ndim(a), np.ndim(b))
    a = reshape_plain(a, (1,) * (rank - np.ndim(a)) + np.shape(a))
    b = reshape_plain(b, (1,) * (rank - np.ndim(b)) + np.shape(b))
    product = reshape_plain(outer(a, b), (*a.shape, *b.shape))
    order = tuple(n for pair in zip(range(rank), range(rank, 2 * rank), strict=True) for n in pair)
    return reshape_plain(
        permute_plain(product, order), tuple(n * m for n, m in zip(a.shape, b.shape, strict=True))
    )


@implements(np.cross)
def cross(
    a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None
) -> Any:
    """Return the cross product of two (arrays of) vectors."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = (moveaxis(as_array(x), n, -1) for x, n in ((a, axisa), (b, axisb)))
    lengths = {a.shape[-1], b.shape[-1]}
    if not lengths <= {2, 3}:
        raise ShapeError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    dtype = np.promote_types(a.dtype, b.dtype)
    a, b = a.astype(dtype), b.astype(dtype)
    a1, a2, b1, b2 = a[..., 0], a[..., 1], b[..., 0], b[..., 1]
    last = a1 * b2 - a2 * b1
    if lengths == {2}:
        return last
    a3, b3 = (x[..., 2] if x.shape[-1] == 3 else dtype.type(0) for x in (a, b))
    parts = (a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, last)
    return moveaxis(stack(parts, -1), -1, axisc)


# --- einsum ---------------------------------------------------------------------------------------


@implements(np.einsum)
def einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = False,
    dtype: Any = None,
    order: str = "K",
    casting: str = "safe",
) -> Any:
    """Evaluates the Einstein summation convention on the operands."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    subscripts, given = operands[0], list(operands[1:])
    if not isinstance(subscripts, str):
        subscripts, given = _spelled(operands)
    arrays = [as_array(a) for a in given]
    if len(arrays) == 1 and out is None and _is_view(subscripts, arrays[0]):
        return _summed(subscripts, arrays)  # which NumPy makes without a look at the dtype
    common = np.result_type(*(a.dtype for a in arrays)) if dtype is None else np.dtype(dtype)
    if type(out) is Traced:
        if dtype is None:
            common = np.promote_types(common, out.dtype)
        if not np.can_cast(common, out.dtype, casting):  # type: ignore[arg-type]
            raise TypeError(
                f"einsum: a result of dtype {common} cannot be cast to that of out, {out.dtype}, "
                f"according to the rule {casting!r}"
            )
    for a in arrays:
        if not np.can_cast(a.dtype, common, casting):  # type: ignore[arg-type]
            raise TypeError(
                f"Cannot cast array data from {a.dtype!r} to {common!r} according to the rule "
                f"{casting!r}"
            )
    arrays = [a if a.dtype == common else a.astype(common) for a in arrays]
    result = _summed(subscripts, arrays)
    return result if out is None else stored("numpy.einsum", result, out)


def _is_view(subscripts: str, a: Any) -> bool:
    """Whether nothing is summed, so that NumPy gives a view of a lone operand."""
    labels, result = _subscripts(subscripts, [a.ndim])
    return set(labels[0]) == set(result)


_LABELS = ascii_uppercase + ascii_lowercase


def _spelled(operands: Any) -> tuple[str, list[Any]]:
    """Operands that alternate with lists of numbers, as subscripts and operands."""

    def spell(labels: Any) -> str:
        return "".join("..." if n is Ellipsis else _LABELS[operator.index(n)] for n in labels)

    arrays, lists = list(operands[: len(operands) // 2 * 2 : 2]), list(operands[1::2])
    text = ",".join(map(spell, lists))
    return (f"{text}->{spell(operands[-1])}" if len(operands) % 2 else text), arrays


def _summed(subscripts: str, arrays: list[Any]) -> Any:
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
    return sum_(x, lone, x.dtype), "".join(label for label in labels if label in elsewhere)


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
        labels = result.replace("...", extra)
        if len(set(labels)) < len(labels) or set(labels) - set("".join(whole)):
            raise ShapeError(
                f"einsum: the labels of the result in {text!r} must be some of those of the "
                "operands, each once."
            )
        return whole, labels
    joined = "".join(terms).replace("...", "")
    return whole, extra + "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
