"""Linear algebra: matrix properties, decompositions, solvers, inverses, products.

Every matrix may be a batch of matrices. Inputs that would crash torch are checked first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell.kapi.base import guard
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.math.rows import ANY, APART, Row, register

if TYPE_CHECKING:
    from torch import Tensor


def _finite(name: str, torch_name: str = "") -> Callable[..., Any]:
    """A decomposition of a matrix without nulls."""

    def run(x: Tensor, **options: Any) -> Any:
        guard.finite(name, x)
        return getattr(torch.linalg, torch_name or name)(x, **options)

    return run


def _hermitian(name: str) -> Callable[..., Any]:
    """The same for a Hermitian matrix, of which one triangle is read."""

    def run(x: Tensor, upper: bool = False, **out: Any) -> Any:
        guard.finite(name, x)
        return getattr(torch.linalg, name)(x, UPLO="U" if upper else "L", **out)

    return run


def _unpacked(name: str) -> Callable[..., Any]:
    """torch.lu_unpack for factors that match their pivots."""

    def run(lu: Tensor, pivots: Tensor, **options: Any) -> Any:
        guard.factors(name, lu, pivots)
        return torch.lu_unpack(lu, pivots, **options)

    return run


def lusolve(b: Tensor, lu: Tensor, pivots: Tensor, **out: Any) -> Any:
    """torch.linalg.lu_solve for factors that match their pivots."""
    guard.factors("lusolve", lu, pivots)
    return torch.linalg.lu_solve(lu, pivots, b, **out)


def lstsq(a: Tensor, b: Tensor, **options: Any) -> Any:
    """torch.linalg.lstsq for a non-empty matrix without nulls."""
    guard.unknowns("lstsq", a)
    guard.finite("lstsq", a)
    guard.finite("lstsq", b)
    return tuple(torch.linalg.lstsq(a, b, **options))


def power(x: Tensor, n: int, **out: Any) -> Any:
    """torch.linalg.matrix_power for exponents on which it terminates."""
    guard.exponent("power", n)
    return torch.linalg.matrix_power(x, n, **out)


def cross(x: Tensor, y: Tensor, dim: int = -1, **out: Any) -> Any:
    """torch.linalg.cross."""
    return torch.linalg.cross(x, y, dim=dim, **out)


def trisolve(a: Tensor, b: Tensor, **options: Any) -> Any:
    """torch.linalg.solve_triangular."""
    return torch.linalg.solve_triangular(a, b, **options)


def mmt(x: Tensor, y: Tensor, **out: Any) -> Any:
    """x times y transposed."""
    return torch.mm(x, y.t(), **out)


def mtm(x: Tensor, y: Tensor, **out: Any) -> Any:
    """x transposed times y."""
    return torch.mm(x.t(), y, **out)


def multidot(*tensors: Any) -> Any:
    """torch.linalg.multi_dot."""
    return torch.linalg.multi_dot(tensors)


def addbmm(x: Tensor, y: Tensor, z: Tensor, **options: Any) -> Any:
    """torch.addbmm; x may be a single number."""
    return torch.addbmm(_expanded(x, y, z), y, z, **options)


def baddbmm(x: Tensor, y: Tensor, z: Tensor, **options: Any) -> Any:
    """torch.baddbmm; x may be a single number."""
    return torch.baddbmm(_expanded(x, y, z), y, z, **options)


def _expanded(x: Tensor, y: Tensor, z: Tensor) -> Any:
    return x.expand(y.shape[-2], z.shape[-1]) if not x.dim() and y.dim() == z.dim() == 3 else x


def _matrix(
    name: str, torch_name: str, doc: str, example: str, options: str = "", outputs: int = 1
) -> Row:
    return Row(name, f"torch.linalg.{torch_name}", doc, example, options=options, outputs=outputs)


def _product(name: str, doc: str, example: str, target: str | Callable[..., Any] = "") -> Row:
    return Row(name, target or f"torch.{name}", doc, example, inputs=2)


def _sum(name: str, doc: str, example: str, target: str | Callable[..., Any] = "") -> Row:
    return Row(
        name,
        target or f"torch.{name}",
        f"A multiple (beta, 1) of x plus a multiple (alpha, 1) of {doc}.",
        example,
        inputs=3,
        options="beta:number alpha:number",
        inplace=f"{name}_",
    )


_A = "2 2#4 2 2 3f"  # symmetric, positive definite
_TOL = "atol:tolerance rtol:tolerance hermitian:flag"

_LUN = Row(
    "lun",
    _unpacked("lun"),
    "The permutation, lower and upper matrices from the result of lu.",
    "first lun lu 2 2#1 2 3 4f|0 1\\n1 0",
    inputs=2,
    spread=0,
    options="data/unpack_data:flag pivots/unpack_pivots:flag",
    outputs=3,
)

_ROWS = (
    Row("det", "torch.linalg.det", "The determinant.", f"det {_A}|8f"),
    Row(
        "logdet",
        "torch.logdet",
        "The logarithm of the determinant.",
        "logdet 2 2#1 0 0 1f|0f",
        out=False,
    ),
    _matrix(
        "slogdet",
        "slogdet",
        "The sign and the logarithm of the absolute value of the determinant.",
        "slogdet 2 2#0 1 1 0f|-1 0f",
        outputs=2,
    ),
    Row(
        "mrank",
        _finite("mrank", "matrix_rank"),
        "The rank, with absolute and relative tolerance.",
        "mrank 2 2#1 2 2 4f|1",
        options=_TOL,
    ),
    _matrix(
        "chol",
        "cholesky",
        "The Cholesky factor, lower unless the flag selects upper.",
        f"chol {_A}|2 0       \\n1 1.414214",
        "upper:flag",
    ),
    _matrix(
        "cholx",
        "cholesky_ex",
        "The Cholesky factor and an error code, 0 on success.",
        "last cholx 2 2#1 2 2 1f|2i",
        "upper:flag check/check_errors:flag",
        2,
    ),
    Row(
        "eig",
        _finite("eig"),
        "Complex eigenvalues and eigenvectors.",
        "first first eig 2 2#2 0 0 3f|2 3f",
        outputs=2,
    ),
    Row(
        "eigvals",
        _finite("eigvals"),
        "Complex eigenvalues.",
        "eigvals 2 2#0 1 -1 0f|0 0 \\n1 -1",
    ),
    Row(
        "eigh",
        _hermitian("eigh"),
        "Eigenvalues and eigenvectors of a Hermitian matrix, read from its upper "
        "triangle if the flag is 1b.",
        "first eigh 2 2#2 1 1 2f|1 3f",
        options="upper:flag",
        outputs=2,
    ),
    Row(
        "eigvalsh",
        _hermitian("eigvalsh"),
        "Eigenvalues of a Hermitian matrix, read from its upper triangle if the flag is 1b.",
        "eigvalsh 2 2#2 1 1 2f|1 3f",
        options="upper:flag",
    ),
    _matrix(
        "qr",
        "qr",
        "The QR decomposition; the mode is reduced, complete or r.",
        "abs first qr 2 2#0 1 1 0f|0 1\\n1 0",
        "mode:symbol",
        2,
    ),
    _matrix(
        "lu",
        "lu_factor",
        "The LU decomposition as one matrix, and its pivots.",
        "last lu 2 2#1 2 3 4f|2 2i",
        "pivot:flag",
        2,
    ),
    _matrix(
        "lux",
        "lu_factor_ex",
        "The LU decomposition as one matrix, its pivots, and an error code.",
        "last lux 2 2#1 2 2 4f|2i",
        "pivot:flag check/check_errors:flag",
        3,
    ),
    _LUN,
    _LUN._replace(
        name="luunpack",
        target=_unpacked("luunpack"),
        doc="Another name for lun.",
        example="first luunpack lu 2 2#1 2 3 4f|0 1\\n1 0",
    ),
    Row(
        "svd",
        _finite("svd"),
        "The singular value decomposition: U, S and V transposed; reduced if the flag is 0b.",
        "svd[2 2#3 0 0 2f]1|3 2f",
        options="full/full_matrices:flag driver:symbol",
        outputs=3,
    ),
    Row(
        "svdvals",
        _finite("svdvals"),
        "The singular values.",
        "svdvals 2 2#3 0 0 2f|3 2f",
        options="driver:symbol",
    ),
    Row(
        "solve",
        "torch.linalg.solve",
        "Solve ax=b for x; if the flag is 0b, xa=b.",
        f"solve({_A};8 8f)|1 2f",
        inputs=2,
        options="left:flag",
    ),
    Row(
        "trisolve",
        trisolve,
        "Solve ax=b with a triangular matrix a; upper says which triangle.",
        "trisolve(2 2#2 1 0 4f;2 1#4 8f;1b)|1\\n2",
        inputs=2,
        options="upper:flag* left:flag unitriangular:flag",
    ),
    Row(
        "cholsolve",
        "torch.cholesky_solve",
        "Solve ax=b given the Cholesky factor of a.",
        f"cholsolve(2 1#8 8f;chol {_A})|1\\n2",
        inputs=2,
        options="upper:flag",
    ),
    Row(
        "lstsq",
        lstsq,
        "Solve ax=b by least squares: x, residuals, rank and singular values; the method is gels, "
        "gelsy, gelsd or gelss.",
        "first lstsq(3 1#1 1 1f;3 1#1 2 3f)|2",
        inputs=2,
        options="rcond:float method/driver:symbol",
        outputs=4,
        out="copy",
    ),
    Row(
        "lusolve",
        lusolve,
        "Solve ax=b given the result of lu for a.",
        f"lusolve(2 1#8 8f;lu {_A})|1\\n2",
        inputs=3,
        spread=1,
    ),
    _matrix("inverse", "inv", "The inverse.", "inverse 2 2#2 0 0 4f|0.5 0   \\n0   0.25"),
    Row(
        "pinverse",
        _finite("pinverse", "pinv"),
        "The pseudo-inverse, with absolute and relative tolerance.",
        "pinverse 2 2#2 0 0 4f|0.5 0   \\n0   0.25",
        options=_TOL,
    ),
    Row(
        "cholinverse",
        "torch.cholesky_inverse",
        "The inverse from a Cholesky factor.",
        f"cholinverse chol {_A}|0.375 -0.25\\n-0.25 0.5",
        options="upper:flag",
    ),
    Row(
        "power",
        power,
        "Integer power of a matrix.",
        "power(2 2#1 1 1 0;5)|8 5\\n5 3",
        options="n:long*",
    ),
    _product("bmm", "Batched matrix product.", "bmm(1 1 2#1 2;1 2 1#3 4)|11"),
    Row(
        "Cross",
        cross,
        "The cross product along a dimension (the last).",
        "Cross(1 0 0;0 1 0)|0 0 1",
        inputs=2,
        options="dim:dim",
    ),
    _product("dot", "The dot product of two lists.", "dot(2 3;1 10)|32"),
    _product(
        "householder",
        "The product of Householder matrices.",
        "householder(2 1#1 2f;enlist 1f)|0\\n-2",
        "torch.linalg.householder_product",
    ),
    _product(
        "matmul", "The matrix product of matrices, lists or batches.", "matmul(1 2 3;4 5 6)|32"
    ),
    _product("mm", "The product of two matrices.", "mm(2 2#1 2 3 4;2 2#0 1 1 0)|2 1\\n4 3"),
    _product(
        "mmt",
        "The product of a matrix and the transpose of another.",
        "mmt(1 2#1 2;1 2#3 4)|11",
        mmt,
    ),
    _product(
        "mtm",
        "The product of the transpose of a matrix and another matrix.",
        "mtm(2 1#1 2;2 1#3 4)|11",
        mtm,
    ),
    Row(
        "multidot",
        multidot,
        "The product of several matrices, in the cheapest order.",
        "multidot(1 2#1 2f;2 2#0 1 1 0f;2 1#3 4f)|10",
        inputs=ANY,
        out=False,
    ),
    _product("mv", "The product of a matrix and a list.", "mv(2 2#1 2 3 4;1 10)|21 43"),
    _product("outer", "The outer product of two lists.", "outer(1 2;3 4 5)|3 4 5 \\n6 8 10"),
    _sum(
        "addbmm",
        "the sum of the products of batches y and z",
        "addbmm(1;2 1 1#1 2;2 1 1#3 4)|12",
        addbmm,
    ),
    _sum(
        "addmm",
        "the matrix product of y and z",
        "addmm(10 20;2 2#1 2 3 4;2 2#0 1 1 0)|12 21\\n14 23",
    ),
    _sum("addmv", "the product of matrix y and list z", "addmv(1 2;2 2#1 2 3 4;1 10)|22 45"),
    _sum("addr", "the outer product of lists y and z", "addr(2 2#0 1 2 3;1 2;3 4)|3 5 \\n8 11"),
    _sum(
        "baddbmm",
        "the products of batches y and z",
        "baddbmm(1;2 1 1#1 2;2 1 1#3 4)|4\\n9",
        baddbmm,
    ),
)
# fmt: off  # a table
# functions that start writing before they find a matrix invalid, or fail to converge
_FAILING = {
    "chol",
    "cholx",
    "eig",
    "eigvals",
    "eigh",
    "eigvalsh",
    "lu",
    "lux",
    "svd",
    "svdvals",
    "solve",
    "trisolve",
    "cholsolve",
    "lusolve",
    "inverse",
    "pinverse",
    "cholinverse",
    "mrank",
    "householder",
    "lun",
    "luunpack",
}
# fmt: on
ROWS = tuple(row._replace(half=APART) if row.name in _FAILING else row for row in _ROWS)
register(ROWS, "kapi.math.linalg")
