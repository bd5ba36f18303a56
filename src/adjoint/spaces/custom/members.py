"""What the members of a space of the user's own give, tried as far as random elements can.

Each function raises an error that names the member at fault, and where it stands.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn, Protocol

import numpy as np

from adjoint.base.errors import (
    AdjointError,
    ArgumentError,
    ArgumentTypeError,
    NotLinearError,
    NotPositiveDefiniteError,
)
from adjoint.base.pytrees import leaves
from adjoint.base.trees.containers import code_place
from adjoint.spaces.custom.embedding import (
    Embedding,
    TrivialEmbedding,
    embedding_of,
    range_of,
)
from adjoint.spaces.elements.basis import Basis, unit
from adjoint.spaces.elements.values import describe, is_real_scalar
from adjoint.spaces.euclidean import Euclidean
from adjoint.spaces.inference import infer
from adjoint.spaces.inner_products.weighted import Weighted
from adjoint.spaces.space import Space

# What an element may be off the space: as many roundings of its largest coordinate, or of 1 where
# that is smaller, so that the difference of two elements is one.
_MEMBERSHIP: Final = 4096
# Of a projection of more numbers than these no basis is derived: the matrix would have 130 MB.
_LARGEST_BASIS: Final = 4096


class _Described(Protocol):
    """What is asked of a `CustomSpace` (a protocol, so that this file stands below it)."""

    @property
    def dimension(self) -> int: ...
    @property
    def ambient(self) -> Space: ...
    def from_coordinates(self, coordinates: Any) -> Any: ...
    def coordinates(self, x: Any) -> Any: ...
    def restrict(self, components: Any) -> Any: ...
    def inner(self, x: Any, y: Any) -> Any: ...
    def gram(self) -> Any: ...
    def why_not(self, x: Any) -> str | None: ...
    def basis(self) -> Basis: ...
    def _writes(self, member: str) -> bool: ...
    def _from_coordinates(self, coordinates: Any) -> Any: ...
    def _restrict(self, components: Any) -> Any: ...
    def _random(self, generator: np.random.Generator) -> Any: ...
    def _scale(self, scalar: Any, x: Any) -> Any: ...
    @property
    def _real_dtype(self) -> np.dtype[Any]: ...
    @property
    def _full(self) -> bool: ...
    @property
    def _embedding(self) -> Embedding: ...
    @property
    def _metric(self) -> Weighted | None: ...
    @property
    def _projects(self) -> bool: ...
    @property
    def _reads_coordinates(self) -> bool: ...


def name(space: _Described, member: str = "") -> str:
    """The class, or one of its members with its place, as a message names it."""
    if not member:
        return type(space).__qualname__
    written = getattr(type(space), member, None)
    place = f" ({code_place(written)})" if hasattr(written, "__code__") else ""
    return f"{type(space).__qualname__}.{member}{place}"


def as_dimension(space: _Described, given: Any) -> int:
    """The dimension, a whole number that is not negative."""
    try:
        dimension = operator.index(given)
    except TypeError:
        raise ArgumentTypeError(
            f"{name(space, 'dimension')} must be an integer. Got {describe(given)}. It is the "
            "number of coordinates that from_coordinates takes."
        ) from None
    if dimension < 0:
        raise ArgumentError(
            f"{name(space, 'dimension')} must not be negative. Got {dimension}. It is the number "
            "of coordinates that from_coordinates takes."
        )
    return dimension


# --- elements -------------------------------------------------------------------------------------


def ambient_of(space: _Described) -> Space:
    """The space of all arrays of the kind of the zero element."""
    if not space._writes("from_coordinates"):
        raise ArgumentError(
            f"{name(space)} says neither from_coordinates and dimension nor ambient and restrict. "
            "One of these pairs says which elements it has."
        )
    element = _built(space, np.zeros(as_dimension(space, space.dimension)))
    try:
        return infer(element)
    except AdjointError as error:
        raise type(error)(
            f"{name(space, 'from_coordinates')} must return arrays of floating-point numbers, or a "
            f"container of such. {error}"
        ) from None


def checked_ambient(space: _Described) -> Space:
    """The ambient space that is given or inferred, if it is one.

    Raises:
        ArgumentError, ArgumentTypeError: it is not.
    """
    ambient: Any = space.ambient
    if not isinstance(ambient, Space):
        raise ArgumentTypeError(
            f"{name(space, 'ambient')} must be a space. Got {describe(ambient)}. "
            "Euclidean(shape) is that of all arrays of a shape, infer(element) that of an element."
        )
    if not (ambient._full and ambient._orthonormal):
        raise ArgumentError(
            f"{name(space, 'ambient')} must be the space of all arrays of a kind, under the plain "
            f"inner product. Got {ambient!r}. restrict says which of them are elements, gram or "
            "inner what their inner product is."
        )
    return ambient


def _built(space: _Described, coordinates: Any) -> Any:
    """What from_coordinates makes of these."""
    try:
        return space.from_coordinates(coordinates)
    except AdjointError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"{name(space, 'from_coordinates')} must take coordinates of shape "
            f"{coordinates.shape}, since {name(space, 'dimension')} is {len(coordinates)}. It "
            f"raised {type(error).__name__}: {error}."
        ) from error


def embedding_of_space(space: _Described) -> Embedding:
    """How the coordinates lie among those of the ambient arrays."""
    ambient = checked_ambient(space)
    if not space._writes("from_coordinates"):
        if not space._projects:
            ambient_of(space)  # which says what is missing
        return range_of(_projector(space, ambient))
    count = as_dimension(space, space.dimension)
    trial = _trials(count, ambient._real_dtype)
    images = [_image(space, ambient, coordinates) for coordinates in trial]
    if count == ambient.dimension and np.array_equal(images, trial):
        embedding: Embedding = TrivialEmbedding(count)
    else:
        columns = _columns(space, ambient, count)
        try:
            embedding = embedding_of(columns, ambient.dimension, count, ambient._real_dtype)
        except (ArgumentError, NotPositiveDefiniteError) as error:
            _refuse_dependent(space, count, error)
    _require_linear(space, ambient, embedding, (*trial, trial[0] + 2 * trial[1], 0 * trial[0]))
    return embedding


def _image(space: _Described, ambient: Space, coordinates: Any) -> Any:
    """The ambient coordinates of the element with these coordinates."""
    element = _built(space, coordinates.copy())
    ambient.check(element, f"{name(space, 'from_coordinates')} of {len(coordinates)} numbers")
    return ambient._coordinates(element)


def _columns(space: _Described, ambient: Space, count: int) -> Iterator[Any]:
    for index in range(count):
        coordinates = np.zeros(count, ambient._real_dtype)
        coordinates[index] = 1
        yield _image(space, ambient, coordinates)


def _refuse_dependent(space: _Described, count: int, error: AdjointError) -> NoReturn:
    reason = str(error) if isinstance(error, ArgumentError) else "the basis vectors are dependent"
    raise ArgumentError(
        f"{name(space, 'from_coordinates')} must give different elements for different "
        f"coordinates, and {name(space, 'dimension')} is {count}; but {reason}. The dimension is "
        "the number of independent ones."
    ) from None


def _require_linear(space: _Described, ambient: Space, embedding: Embedding, trials: Any) -> None:
    for coordinates in trials:
        image, expected = _image(space, ambient, coordinates), embedding.lift(coordinates)
        error, scale = np.linalg.norm(image - expected), np.linalg.norm(image)
        # Written so that NaN does not pass.
        if not error <= _loose(space) * max(scale, np.linalg.norm(expected)):
            raise NotLinearError(
                f"{name(space, 'from_coordinates')} must be linear. For random coordinates c it "
                f"differs by {float(error):.3g} from the sum of c[i] times the basis vectors. An "
                "affine set is no vector space: let its elements be differences from a point."
            )


def try_coordinates(space: _Described) -> bool:
    """True if `coordinates` undoes `from_coordinates`.

    Raises:
        ArgumentError: it does not.
    """
    member, count = name(space, "coordinates"), space._embedding.count
    for coordinates in _trials(count, space._real_dtype):
        answer = space.coordinates(_built(space, coordinates.copy()))
        shape, dtype = getattr(answer, "shape", None), getattr(answer, "dtype", None)
        if shape != coordinates.shape or dtype is None or dtype.kind not in "iuf":
            raise ArgumentError(
                f"{member} must return a real array of shape {coordinates.shape}, since "
                f"{name(space, 'dimension')} is {count}. Got {describe(answer)}."
            )
        error = float(np.linalg.norm(answer - coordinates))
        if not error <= _loose(space) * np.linalg.norm(coordinates):
            raise ArgumentError(
                f"{member} must undo {name(space, 'from_coordinates')}. For random coordinates c, "
                f"coordinates(from_coordinates(c)) differs from c by {error:.3g}. Leave it out to "
                "have it derived."
            )
    return True


def lies_outside(space: _Described, x: Any) -> bool:
    """Whether the projection changes a concrete array by more than rounding."""
    if not space._projects and space._full:
        return False
    ambient = space.ambient
    components = ambient._riesz(x)
    given = ambient._component_coordinates(components)
    with np.errstate(invalid="ignore", over="ignore"):  # of infinities
        inside = ambient._component_coordinates(space._restrict(components))
        rest = np.abs(given - inside)
    magnitudes = np.abs(given)
    largest = np.max(magnitudes, initial=1, where=np.isfinite(magnitudes))
    # Written so that NaN passes: it is an element's right to be NaN.
    return bool(np.any(rest > _MEMBERSHIP * _precision(x) * largest))


def closed_under_i(space: _Described) -> bool:
    """Whether elements may be multiplied by complex numbers."""
    ambient = space.ambient
    if not ambient._complex or space.dimension % 2:
        return False
    return not lies_outside(space, space._scale(1j, space._random(np.random.default_rng(0))))


# --- the projection -------------------------------------------------------------------------------


def try_restrict(space: _Described) -> bool:
    """True if `restrict` is an orthogonal projection, which keeps the elements.

    Raises:
        ArgumentError: it is not.
    """
    ambient, member = checked_ambient(space), name(space, "restrict")
    generator = np.random.default_rng(0)
    a, b = (ambient._component_coordinates(ambient._random(generator)) for _ in range(2))
    image, other = (_restricted(space, ambient, numbers) for numbers in (a, b))
    allowed = _loose(space)
    size = np.linalg.norm(a) * np.linalg.norm(b)
    if not abs(image @ b - a @ other) <= allowed * size:
        raise ArgumentError(
            f"{member} must be an orthogonal projection. For random arrays x and y the plain inner "
            "products of restrict(x) with y and of x with restrict(y) differ. The projection takes "
            "an array to the nearest element."
        )
    twice = np.linalg.norm(_restricted(space, ambient, image) - image)
    if not twice <= allowed * np.linalg.norm(a):
        raise ArgumentError(
            f"{member} must be a projection, which changes no element. Done twice to a random "
            f"array it changes it again, by {float(twice):.3g}."
        )
    if space._writes("from_coordinates"):
        embedding = space._embedding
        projected = embedding.project(a)
        if not np.linalg.norm(projected - image) <= allowed * np.linalg.norm(a):
            raise ArgumentError(
                f"{member} must project onto what {name(space, 'from_coordinates')} gives. For a "
                "random array the nearest of those is another. Leave restrict out to have it "
                "derived."
            )
    return True


def _restricted(space: _Described, ambient: Space, numbers: Any) -> Any:
    image = space.restrict(ambient._components_from_coordinates(numbers))
    ambient._component_space.check(image, f"what {name(space, 'restrict')} returns")
    return ambient._component_coordinates(image)


def _projector(space: _Described, ambient: Space) -> Any:
    """The matrix of `restrict`, shape (ambient.dimension, ambient.dimension)."""
    if ambient.dimension > _LARGEST_BASIS:
        raise ArgumentError(
            f"The dimension, the basis and coordinates of {space!r} follow from "
            f"{name(space, 'restrict')} by a matrix of {ambient.dimension} rows, and more than "
            f"{_LARGEST_BASIS} are too many. dimension and from_coordinates give it a basis; "
            "gradients need none."
        )
    columns = [_restricted(space, ambient, unit(ambient, k)) for k in range(ambient.dimension)]
    return np.stack(columns, axis=1) if columns else np.zeros((0, 0), ambient._real_dtype)


# --- the inner product ----------------------------------------------------------------------------


def gram_of_inner(space: _Described) -> Any:
    """The values of `inner` at pairs of basis vectors, shape (dimension, dimension)."""
    basis = list(space.basis())
    rows = [[_real_number(space, space.inner(x, y)) for y in basis] for x in basis]
    return np.array(rows, space._real_dtype).reshape(len(basis), len(basis))


def _real_number(space: _Described, value: Any) -> float:
    if not is_real_scalar(value):
        raise ArgumentTypeError(
            f"{name(space, 'inner')} must return a real number. Got {describe(value)}. A complex "
            "space has the real inner product np.real(np.vdot(x, y))."
        )
    return float(value)


def metric_of(space: _Described) -> Weighted:
    """The inner product on coordinates.

    Raises:
        NotPositiveDefiniteError, ArgumentError, ArgumentTypeError: it is none.
        NotLinearError: `inner` is not bilinear.
    """
    by_gram = space._writes("gram")
    count, dtype = space._embedding.count, space._real_dtype
    member = name(space, "gram" if by_gram else "inner")
    weight = space.gram()
    try:
        metric = Weighted(Euclidean(count, dtype), weight)
        metric._represent(metric._zero())  # a sparse matrix is tried when it is factorised
    except (NotPositiveDefiniteError, ArgumentError, ArgumentTypeError) as error:
        raise type(error)(f"{member} gives no inner product on coordinates. {error}") from None
    if space._writes("inner"):
        _require_agreement(space, metric, by_gram)
    return metric


def _require_agreement(space: _Described, metric: Weighted, by_gram: bool) -> None:
    """Raise where `inner` of random elements is not what the Gram matrix says."""
    c, d = _trials(metric.dimension, space._real_dtype)
    x, y = space._from_coordinates(c), space._from_coordinates(d)
    value, expected = float(space.inner(x, y)), float(metric._inner(c, d))
    if abs(value - expected) <= _loose(space) * float(metric._norm(c) * metric._norm(d)):
        return
    if by_gram:
        raise ArgumentError(
            f"{name(space, 'gram')} and {name(space, 'inner')} disagree: for random elements <x, "
            f"y> is {expected:.6g} by the one and {value:.6g} by the other. One of them is enough."
        )
    raise NotLinearError(
        f"{name(space, 'inner')} must be linear in both arguments. For random elements <x, y> is "
        f"{value:.6g}, and {expected:.6g} by the inner products of the basis vectors."
    )


# --- all of them ----------------------------------------------------------------------------------


def checks(space: _Described) -> list[tuple[str, Callable[[], object]]]:
    """For each member that the space says, what raises where it is at fault."""
    listed: list[tuple[str, Callable[[], object]]] = [
        ("dimension", lambda: as_dimension(space, space.dimension)),
        ("ambient", lambda: checked_ambient(space)),
        ("from_coordinates", lambda: space._embedding),
        ("coordinates", lambda: space._reads_coordinates),
        ("restrict", lambda: space._projects),
        ("gram" if space._writes("gram") else "inner", lambda: space._metric),
        ("why_not", lambda: _try_why_not(space)),
        ("parameters", lambda: hash(space)),
    ]
    return [(member, check) for member, check in listed if space._writes(member)]


def _try_why_not(space: _Described) -> None:
    words = space.why_not(space._random(np.random.default_rng(0)))
    if words is not None:
        raise ArgumentError(
            f"{name(space, 'why_not')} must return None for an element. For a random one it "
            f"returned {words!r}. It says why a value is none."
        )


def _trials(count: int, dtype: np.dtype[Any]) -> Any:
    """Two random rows of coordinates, shape (2, count)."""
    return np.random.default_rng(0).standard_normal((2, count)).astype(dtype)


def _loose(space: _Described) -> float:
    return math.sqrt(np.finfo(space._real_dtype).eps)


def _precision(x: Any) -> float:
    """The rounding of the least precise array in a tree."""
    dtypes = [np.dtype(getattr(leaf, "dtype", float)) for leaf in leaves(x)]
    return max([float(np.finfo(dtype).eps) for dtype in dtypes if dtype.kind in "fc"], default=0.0)
