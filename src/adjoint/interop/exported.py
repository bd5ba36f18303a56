"""What `export` gives: a program as bytes that others read."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from adjoint.base.errors import MissingPackageError, NotExportableError


class Exported:
    """A program that runs without adjoint, made by `ad.export`.

    It is loaded by `jax.export.deserialize(bytearray(data)).call(*args)`. Where there are numbers
    of 64 bits among the arguments, JAX's double precision is to be on there.

    Args:
        exported: what `jax.export` has made.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> file = ad.export(ad.grad(np.prod), np.ones(2))  # doctest: +SKIP
        >>> file  # doctest: +SKIP
        Exported((f8[2]) for cpu)
        >>> print(file.stablehlo())  # doctest: +SKIP
    """

    def __init__(self, exported: Any) -> None:
        self.exported = exported

    def __repr__(self) -> str:
        given = ", ".join(aval.str_short(short_dtypes=True) for aval in self.exported.in_avals)
        return f"Exported(({given}) for {', '.join(self.exported.platforms)})"

    def stablehlo(self) -> str:
        """The program, to be read.

        Returns:
            The text of the module in StableHLO.
        """
        return str(self.exported.mlir_module())

    def data(self) -> bytes:
        """The program, to be sent.

        Returns:
            What `jax.export.deserialize` reads.

        Raises:
            MissingPackageError: the package flatbuffers is not there, which JAX writes files with.
            NotExportableError: arguments or results are in containers that a file cannot name.
        """
        try:
            return bytes(self.exported.serialize())
        except ImportError as error:
            raise MissingPackageError(
                f"JAX writes files by the package flatbuffers: {error}. Install it: "
                "pip install 'adjoint[xla]'."
            ) from error
        except (TypeError, ValueError) as error:
            raise NotExportableError(f"JAX cannot write this program to a file: {error}") from error

    def save(self, path: str | PathLike[str]) -> None:
        """Write the program to a file.

        Args:
            path: of the file, which is overwritten.
        """
        Path(path).write_bytes(self.data())


class ExportedC:
    """A function of C, made by `ad.export` with `format="c"`: an object file and its header.

    The function is given one pointer an argument and one a result, and returns 0 if all is well. It
    is for processors like the one that it was made on.

    Args:
        name: of the function.
        image: the object file.
        header: the text that declares the function.
        libraries: what the linker is to be given besides.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> slope = ad.grad(lambda x: np.sum(x**3))
        >>> file = ad.export(slope, np.ones(2), format="c", name="slope")
        >>> "int slope(const double *x0, double *y0);" in file.header
        True
    """

    def __init__(self, name: str, image: bytes, header: str, libraries: tuple[str, ...]) -> None:
        self.name = name
        self.image = image
        self.header = header
        self.libraries = libraries

    def __repr__(self) -> str:
        return f"ExportedC({self.name}, {len(self.image)} bytes, {' '.join(self.libraries)})"

    def save(self, folder: str | PathLike[str]) -> tuple[Path, Path]:
        """Write both files, `NAME.o` and `NAME.h`, which are overwritten.

        Args:
            folder: where they are to be.

        Returns:
            The paths of the object file and of the header.
        """
        paths = Path(folder) / f"{self.name}.o", Path(folder) / f"{self.name}.h"
        paths[0].write_bytes(self.image)
        paths[1].write_text(self.header, encoding="utf-8")
        return paths
