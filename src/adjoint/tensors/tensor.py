"""Tensors of type (m, p): m input indices and p output indices, in bases (Table T.1.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import ascii_lowercase
from typing import Any, Final, final

import numpy as np
import optree

from adjoint.base.errors import ArgumentError, ArgumentTypeError, SpaceMismatchError
from adjoint.base.pytrees import NAMESPACE
from adjoint.base.signatures.checked import check_whole, checked_class
from adjoint.spaces import Space
from adjoint.spaces.elements.values import copied, describe, is_real_scalar
from adjoint.tensors.bases import Change, along, changes, in_basis_of, own_basis
from adjoint.tensors.indices import averaged, order_of, spaces_of, without


@checked_class
@final
class Tensor:
    """A tensor of type (m, p): a multilinear map of m vectors, with p output indices (T.1.2).

    Args:
        components: real numbers of shape (batch..., dimensions of the outputs..., dimensions of the
            inputs...), in the bases `space.basis()` (and their dual bases). Copied.
        outputs: the spaces of the p output indices, along which the components are coordinates of
            vectors (contravariant, upper indices).
        inputs: the spaces of the m input indices, each of which takes a vector (covariant, lower).
        batch: how many leading axes only number tensors. They are no indices, and no change of
            basis touches them: a batch of vectors is of type (0, 1) although its array has two
            axes.

    So a matrix [o, i] is a (1, 1) tensor as it stands. Tensors add, subtract, take real factors,
    and compose: `A @ B` contracts all inputs of A with all outputs of B.

    Raises:
        ArgumentError: the shape of the components does not fit.
        ArgumentTypeError: the components are not real numbers, or a space is none, or a dual one.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> space = Euclidean(2)
        >>> A = Tensor(
        ...     np.array([[1.0, 2.0], [3.0, 4.0]]), outputs=(space,), inputs=(space,)
        ... )
        >>> A.type, A.pattern, A(np.array([1.0, 0.0]))
        ((1, 1), 'i -> j', array([1., 3.]))
        >>> A.change_of_basis(np.diag([1.0, 10.0])).components
        array([[ 1. , 20. ],
               [ 0.3,  4. ]])
    """

    __slots__ = ("batch", "components", "inputs", "outputs")
    __array_ufunc__ = None  # NumPy scalars and arrays leave the operators to this class

    def __init__(
        self,
        components: Any,
        outputs: Sequence[Space] = (),
        inputs: Sequence[Space] = (),
        batch: int = 0,
    ) -> None:
        self.outputs: Final = spaces_of(outputs, "outputs")
        self.inputs: Final = spaces_of(inputs, "inputs")
        self.batch: Final = batch
        if isinstance(components, (list, int, float)):
            components = np.asarray(components)
        if getattr(getattr(components, "dtype", None), "kind", "") not in ("i", "u", "f"):
            raise ArgumentTypeError(
                f"The components of a tensor are real numbers. Got {describe(components)}. "
                "Coordinates are real: a complex space has two for each entry."
            )
        wanted = tuple(space.dimension for space in self.outputs + self.inputs)
        shape = tuple(components.shape)
        if len(shape) != batch + len(wanted) or shape[batch:] != wanted:
            raise ArgumentError(
                f"A tensor with outputs {self.outputs} and inputs {self.inputs} has components of "
                f"shape {wanted} after {batch} batch axes. Got {describe(components)}. "
                "Output indices come first, then input indices."
            )
        if isinstance(components, np.ndarray):
            whole = components.dtype.kind != "f"
            components = copied(components.astype(float) if whole else components, False)
        self.components: Final = components

    # --- what it is ------------------------------------------------------------------------------

    @property
    def type(self) -> tuple[int, int]:
        """(m, p): the numbers of input and of output indices (Table T.1.2)."""
        return len(self.inputs), len(self.outputs)

    @property
    def order(self) -> int:
        """The number of indices, m + p."""
        return len(self.inputs) + len(self.outputs)

    @property
    def pattern(self) -> str:
        """The index structure, inputs -> outputs, as in Table T.1.2: 'i j -> k'."""
        names = list(ascii_lowercase[8:] + ascii_lowercase[:8])
        if self.order > len(names):
            names = [f"i{number}" for number in range(self.order)]
        inputs, outputs = len(self.inputs), self.order
        return f"{' '.join(names[:inputs])} -> {' '.join(names[inputs:outputs])}".strip()

    def __repr__(self) -> str:
        batch = f", batch={self.batch}" if self.batch else ""
        return f"Tensor({self.components!r}, outputs={self.outputs}, inputs={self.inputs}{batch})"

    def _summary(self) -> str:
        return f"a Tensor of type {self.type} on {self.inputs} -> {self.outputs}"

    def _axis(self, variance: str, index: int) -> int:
        """The axis of the components of an output or an input index."""
        spaces = self.outputs if variance == "output" else self.inputs
        check_whole(index, variance)
        if not -len(spaces) <= index < len(spaces):
            raise ArgumentError(
                f"{variance} index {index!r} was asked of {self._summary()}. "
                f"It has {len(spaces)} {variance} indices, numbered from 0."
            )
        offset = 0 if variance == "output" else len(self.outputs)
        return int(self.batch + offset + index % len(spaces))

    # --- values ----------------------------------------------------------------------------------

    def __call__(self, *vectors: Any) -> Any:
        """The value at one vector for each input: a number, a vector, or a tensor of type (0, p).

        Raises:
            ArgumentError: there are more vectors, or fewer, than inputs.
            MembershipError, SpaceMismatchError: one is no element of its space.
        """
        return self._finished(self._applied((), vectors))

    def evaluate(self, covectors: Sequence[Any], vectors: Sequence[Any] = ()) -> Any:
        """The number that p covectors (one for each output) and m vectors are sent to.

        Args:
            covectors: of the duals of the outputs, in order.
            vectors: of the spaces of the inputs, in order.

        Returns:
            A real scalar; with a batch, an array of its shape.

        Raises:
            ArgumentError: there are not p covectors and m vectors.
            MembershipError, SpaceMismatchError: one is not of the space of its index.
        """
        if len(covectors) != len(self.outputs):
            raise ArgumentError(
                f"{self._summary()} takes {len(self.outputs)} covectors. Got {len(covectors)}. "
                "space.covector(components) and space.riesz(x) make covectors."
            )
        return self._finished(self._applied(covectors, vectors))

    def _applied(self, covectors: Sequence[Any], vectors: Sequence[Any]) -> Any:
        if len(vectors) != len(self.inputs):
            raise ArgumentError(
                f"{self._summary()} takes {len(self.inputs)} vectors. Got {len(vectors)}. "
                "Give one vector for each input index."
            )
        components = self.components
        for space, vector in reversed(list(zip(self.inputs, vectors, strict=True))):
            space.check(vector, "vector")
            components = np.tensordot(components, space._coordinates(vector), axes=((-1,), (0,)))
        for space, covector in reversed(list(zip(self.outputs, covectors, strict=False))):
            covector = in_basis_of(space, covector)
            space.dual.check(covector, "covector")
            row = space._component_coordinates(space._components_of(covector))
            components = np.tensordot(components, row, axes=((-1,), (0,)))
        return components if covectors else Tensor(components, self.outputs, batch=self.batch)

    def _finished(self, tensor: Any) -> Any:
        """A tensor as what it stands for: a number, an element of its one space, or itself."""
        if not isinstance(tensor, Tensor):
            return tensor[()]
        if not tensor.order:
            return tensor.components[()]
        if tensor.type == (0, 1) and not tensor.batch:
            return tensor.outputs[0]._from_coordinates(tensor.components)
        return tensor

    # --- the vector space ------------------------------------------------------------------------

    def __add__(self, other: Any) -> Tensor:
        self._require_alike(other, "+")
        return self._with(self.components + other.components)

    def __sub__(self, other: Any) -> Tensor:
        self._require_alike(other, "-")
        return self._with(self.components - other.components)

    def __neg__(self) -> Tensor:
        return self._with(-self.components)

    def __mul__(self, scalar: Any) -> Tensor:
        self._require_scalar(scalar)
        return self._with(self.components * scalar)

    __rmul__ = __mul__

    def __truediv__(self, scalar: Any) -> Tensor:
        self._require_scalar(scalar)
        return self._with(self.components / scalar)

    def _with(self, components: Any) -> Tensor:
        return Tensor(components, self.outputs, self.inputs, self.batch)

    def _require_alike(self, other: Any, sign: str) -> None:
        if (
            isinstance(other, Tensor)
            and (other.outputs, other.inputs) == (self.outputs, self.inputs)
            and tuple(other.components.shape) == tuple(self.components.shape)
        ):
            return
        raise SpaceMismatchError(
            f"A sum needs two tensors of one type over the same spaces. Got {self._summary()} "
            f"{sign} {describe(other)}. lowered() and raised() change the type."
        )

    def _require_scalar(self, scalar: Any) -> None:
        if not is_real_scalar(scalar):
            raise ArgumentTypeError(
                f"A tensor takes real scalar factors. Got {describe(scalar)}. "
                "A.product(B) is the tensor product, A @ B composes."
            )

    # --- products and contractions ---------------------------------------------------------------

    def product(self, other: Tensor) -> Tensor:
        """The tensor product: indices of this one, then of the other, outputs and inputs apart.

        Args:
            other: a tensor without a batch, over any spaces.

        Returns:
            A `Tensor` of the indices of both; its components are the outer product.

        Raises:
            ArgumentError, ArgumentTypeError: the other is no tensor, or one of them is a batch.
        """
        self._require_tensor(other, "product")
        joint = np.tensordot(self.components, other.components, axes=0)
        mine, yours = len(self.outputs), len(other.outputs)
        # outputs, inputs, other outputs, other inputs -> outputs, other outputs, inputs, inputs
        moved = range(self.order, self.order + yours)
        joint = np.moveaxis(joint, tuple(moved), tuple(range(mine, mine + yours)))
        return Tensor(joint, self.outputs + other.outputs, self.inputs + other.inputs)

    def __matmul__(self, other: Any) -> Any:
        """All inputs of this tensor contracted with all outputs of the other: composition.

        With a bra on the left and a ket on the right it is the number <bra|ket>; with a ket on the
        left and a bra on the right, which have nothing to contract, the map |ket><bra|.

        Raises:
            SpaceMismatchError: the inputs here and the outputs there are not over the same spaces.
        """
        if not isinstance(other, Tensor):
            return NotImplemented
        self._require_tensor(other, "@")
        if self.inputs != other.outputs:
            raise SpaceMismatchError(
                f"A @ B contracts all inputs of A with all outputs of B. Got {self._summary()} and "
                f"{other._summary()}. ad.tensors.contract names the indices one by one."
            )
        count = len(self.inputs)
        axes = tuple(range(len(self.outputs), self.order)), tuple(range(count))
        joint = np.tensordot(self.components, other.components, axes=axes)
        composite = Tensor(joint, self.outputs, other.inputs)
        return composite if composite.order else composite.components[()]

    def _require_tensor(self, other: Any, name: str) -> None:
        if not isinstance(other, Tensor):
            raise ArgumentTypeError(
                f"{name} takes another tensor. Got {describe(other)}. "
                "ad.tensors.from_vector, from_covector and from_map make tensors."
            )
        if self.batch or other.batch:
            raise ArgumentError(
                f"{name} takes single tensors. Got batches, of {self.batch} and {other.batch} "
                "axes. Index the components, or use ad.vmap over them."
            )

    def trace(self, output: int = 0, input: int = 0) -> Any:
        """One output index contracted with one input index; a number where no index is left.

        Args:
            output: the number of the output index.
            input: that of the input index.

        Returns:
            A `Tensor` of two indices less; a scalar where none is left.

        Raises:
            SpaceMismatchError: the two are over different spaces.
            ArgumentError: there is no such index.
            ArgumentTypeError: an index is no whole number.
        """
        rows, columns = self._axis("output", output), self._axis("input", input)
        above, below = self.outputs[output], self.inputs[input]
        if above != below:
            raise SpaceMismatchError(
                f"An output index over {above!r} was contracted with an input index over "
                f"{below!r}. A trace needs two indices over one space."
            )
        components = np.trace(self.components, axis1=rows, axis2=columns)
        outputs = without(self.outputs, output)
        contracted = Tensor(components, outputs, without(self.inputs, input), self.batch)
        return contracted if contracted.order or contracted.batch else contracted.components[()]

    # --- indices ---------------------------------------------------------------------------------

    def permuted(
        self, outputs: Sequence[int] | None = None, inputs: Sequence[int] | None = None
    ) -> Tensor:
        """The tensor with its outputs, its inputs, or both in another order.

        Args:
            outputs: the numbers of the outputs in their new order.
            inputs: the numbers of the inputs in their new order.

        Returns:
            A `Tensor` of the same type.

        Raises:
            ArgumentError: the numbers are no permutation.
        """
        above = order_of(self, "output", len(self.outputs), outputs)
        below = order_of(self, "input", len(self.inputs), inputs)
        first = self.batch + len(self.outputs)
        axes = [
            *range(self.batch),
            *(self.batch + number for number in above),
            *(first + number for number in below),
        ]
        return Tensor(
            np.transpose(self.components, axes),
            [self.outputs[number] for number in above],
            [self.inputs[number] for number in below],
            self.batch,
        )

    def symmetrised(self) -> Tensor:
        """The mean over all orders of the inputs (of the outputs, where there are no inputs).

        Returns:
            A `Tensor` of the same type, which any exchange leaves as it is.

        Raises:
            SpaceMismatchError: they are not all over one space.
        """
        mean: Tensor = averaged(self, signed=False)
        return mean

    def antisymmetrised(self) -> Tensor:
        """The mean over all orders of the inputs (or outputs, as above), odd ones negative.

        Returns:
            A `Tensor` of the same type, whose sign any exchange of two changes.

        Raises:
            SpaceMismatchError: they are not all over one space.
        """
        mean: Tensor = averaged(self, signed=True)
        return mean

    def lowered(self, output: int = -1) -> Tensor:
        """An output index turned into the first input index by the inner product of its space.

        A vector becomes the covector <x, .>, a map A the bilinear form <v, A u>. Its inverse is
        `raised`.

        Args:
            output: the number of the output index; the last, unless told.

        Returns:
            A `Tensor` with one output less and one input more.

        Raises:
            ArgumentError: there is no such index.
        """
        axis = self._axis("output", output)
        space = self.outputs[output]
        lowered = along(self.components, space._gram(), axis)
        last = self.batch + len(self.outputs) - 1
        return Tensor(
            np.moveaxis(lowered, axis, last),
            without(self.outputs, output),
            (space, *self.inputs),
            self.batch,
        )

    def raised(self, input: int = 0) -> Tensor:
        """An input index turned into the last output index: a covector becomes its gradient.

        The inverse of the Gram matrix does it; the inverse of `lowered`.

        Args:
            input: the number of the input index; the first, unless told.

        Returns:
            A `Tensor` with one input less and one output more.

        Raises:
            ArgumentError: there is no such index.
        """
        axis = self._axis("input", input)
        space = self.inputs[input]
        raised = along(self.components, np.linalg.inv(space._gram()), axis)
        return Tensor(
            np.moveaxis(raised, axis, self.batch + len(self.outputs)),
            (*self.outputs, space),
            without(self.inputs, input),
            self.batch,
        )

    # --- change of basis -------------------------------------------------------------------------

    def change_of_basis(self, matrix: Any) -> Tensor:
        """The same tensor in another basis, e'_j = sum_i C_ij e_i (E.1.80).

        Each output index is multiplied by C^-1 and each input index by C: vectors become C^-1 u,
        covectors C'v, maps C^-1 A C, inner products C'WC. The spaces of the result are
        `InBasis(space, C)`, so tensors in different bases are not mixed.

        Args:
            matrix: C, where all indices are over one space; or a dict from spaces to their
                matrices (a space that it lacks keeps its basis).

        Returns:
            A `Tensor` of the same type over `InBasis` spaces.

        Raises:
            ArgumentError: a matrix is singular, or of the wrong shape.
            SpaceMismatchError: one matrix was given for several spaces, or one for a space over
                which there is no index.
            ArgumentTypeError: the matrix is no array of numbers.
        """
        return self._changed(changes(self.outputs + self.inputs, matrix))

    def in_own_bases(self) -> Tensor:
        """The same tensor in the bases that the spaces had before any change of basis.

        Returns:
            A `Tensor` of the same type over the plain spaces.
        """
        spaces = dict.fromkeys(self.outputs + self.inputs)
        back = {space: own_basis(space) for space in spaces}
        return self._changed({space: change for space, change in back.items() if change})

    def _changed(self, change: dict[Space, Change]) -> Tensor:
        components, axis = self.components, self.batch
        for space in self.outputs:
            if space in change:
                components = along(components, change[space][2], axis)
            axis += 1
        for space in self.inputs:
            if space in change:
                components = along(components, change[space][1].T, axis)
            axis += 1
        outputs = [change[space][0] if space in change else space for space in self.outputs]
        inputs = [change[space][0] if space in change else space for space in self.inputs]
        return Tensor(components, outputs, inputs, self.batch)


def _split(tensor: Tensor) -> tuple[tuple[Any], Any, None]:
    return (tensor.components,), (tensor.outputs, tensor.inputs, tensor.batch), None


def _join(parts: Any, children: Iterable[Any]) -> Tensor:
    # Without __init__: the leaf may be anything while a tree is being mapped.
    tensor: Any = object.__new__(Tensor)
    (tensor.components,) = children
    tensor.outputs, tensor.inputs, tensor.batch = parts
    shape = getattr(tensor.components, "shape", None)
    if shape is not None:  # ad.vmap takes the first axis away, and adds one to what it returns
        tensor.batch = max(len(shape) - tensor.order, 0)
    return tensor  # type: ignore[no-any-return]


# optree's annotations ask for a Collection, which a node with a custom split need not be.
optree.register_pytree_node(Tensor, _split, _join, namespace=NAMESPACE)  # type: ignore[arg-type]
