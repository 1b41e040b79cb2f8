"""Mutants of a source file: where an operator applies, but not to types, decorators and the ``strict`` of zip."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

_BINARY = "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Mul Mod_FloorDiv Pow_Mul RShift_LShift LShift_RShift"
_BITWISE = "BitXor_BitOr BitAnd_BitOr BitOr_BitAnd"
_COMPARISONS = "Lt_LtE LtE_Lt Gt_GtE GtE_Gt Lt_Gt LtE_GtE Gt_Lt GtE_LtE Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is"
_UNARY = "USub_UAdd Delete_Not Delete_Invert"

_OPERATORS = (
    *(f"core/ReplaceBinaryOperator_{pair}" for pair in f"{_BINARY} {_BITWISE}".split()),
    *(f"core/ReplaceComparisonOperator_{pair}" for pair in _COMPARISONS.split()),
    *(f"core/ReplaceUnaryOperator_{pair}" for pair in _UNARY.split()),
    *("core/AddNot", "core/ReplaceTrueWithFalse", "core/ReplaceFalseWithTrue"),
    *("core/ReplaceAndWithOr", "core/ReplaceOrWithAnd", "core/NumberReplacer"),
    *("core/ReplaceBreakWithContinue", "core/ReplaceContinueWithBreak", "core/ZeroIterationForLoop"),
)
"""Signs, comparisons, constants and the flow of control. A replacement of one sign by ten others would count ten times
what one test holds."""

_KEYWORDS = {"strict", "compare", "expanding", "check_finite", "overwrite_a", "overwrite_ab"}
"""Keywords whose value changes nothing: an assertion, which holds in tested code; fields that follow from others, which
are compared; parameters that SQLAlchemy's ``in_`` expands in any case; what SciPy checks and which memory it reuses."""

_AMOUNTS = {"_CHUNK", "_AT_ONCE", "_CHUNKS_AT_ONCE"}
"""Constants of how much is done at a time, in whatever parts."""

_Place = tuple[int, int]


@dataclass(frozen=True)
class Mutant:
    """A file with one change: the index of the place at which an operator applies."""

    room: str
    file: str
    line: int
    operator: str
    occurrence: int

    @property
    def place(self) -> str:
        """Its file and line."""
        return f"{self.file}:{self.line}"

    def code(self, source: str) -> str:
        """Return the whole file with the change."""
        changed = mutate_code(source, get_operator(self.operator)(), self.occurrence)
        assert isinstance(changed, str), self
        return changed

    def change(self, source: str) -> tuple[str, str]:
        """Return the line of the change before and after; two empty ones if there is none."""
        lines = zip(source.splitlines(), self.code(source).splitlines(), strict=False)
        return next(((before.strip(), after.strip()) for before, after in lines if before != after), ("", ""))


def mutants_of(room: str, path: Path, folder: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    spared, binary = list(_spared(tree)), list(_binary(tree))
    nodes = list(ast_nodes(get_ast(source)))
    for name in _OPERATORS:
        operator = get_operator(name)()
        places = [place for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (start, _) in enumerate(places):
            if _within(start, spared) or ("BinaryOperator" in name and not _within(start, binary)):
                continue
            yield Mutant(room, str(path.relative_to(folder)), start[0], name, occurrence)


def _within(place: _Place, stretches: Iterable[tuple[_Place, _Place]]) -> bool:
    return any(first <= tuple(place) < last for first, last in stretches)


def _binary(tree: ast.Module) -> Iterator[tuple[_Place, _Place]]:
    """Yield the stretches of binary operators; a ``*`` may stand before an argument, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            before, after = node.left, node.right
        elif isinstance(node, ast.AugAssign):
            before, after = node.target, node.value
        else:
            continue
        yield (before.end_lineno or 0, before.end_col_offset or 0), (after.lineno, after.col_offset)


def _spared(tree: ast.Module) -> Iterator[tuple[_Place, _Place]]:
    """Yield the stretches of annotations, decorators and aliases of types, which mypy holds, and of what has no effect.

    The default of a ``cohort`` is for mechanisms that have only one.
    """
    for node in ast.walk(tree):
        for part in filter(None, _parts(node, top=node in tree.body)):
            yield (part.lineno, part.col_offset), (part.end_lineno or 0, part.end_col_offset or 0)


def _parts(node: ast.AST, *, top: bool) -> list[ast.expr | None]:
    """Return the parts of a node that are spared; ``top`` says whether it is a statement of the module."""
    parts: list[ast.expr | None] = []
    match node:
        case ast.FunctionDef(args=ast.arguments(args=names, defaults=defaults)):
            last = zip(reversed(names), reversed(defaults), strict=False)
            cohorts = [default for name, default in last if name.arg == "cohort"]
            parts = [*node.decorator_list, node.returns, *cohorts]
        case ast.ClassDef():
            parts = [*node.decorator_list]
        case ast.keyword(arg=name) if name in _KEYWORDS:
            parts = [node.value]
        case ast.arg() | ast.AnnAssign():
            parts = [node.annotation]
        case ast.Call(func=ast.Attribute(attr="reshape")):  # numpy infers the length for any negative number
            parts = [argument for argument in node.args if isinstance(argument, ast.UnaryOp)]
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            parts = [node.test]
        case ast.Assign(targets=targets):
            assigned = {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
            is_type = top and (isinstance(node.value, ast.Subscript) or _is_union(node.value))
            parts = [node.value] if is_type or assigned == {"TYPE_CHECKING"} or assigned <= _AMOUNTS else []
    return parts


def _is_union(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.BinOp)
        and isinstance(value.op, ast.BitOr)
        and isinstance(value.right, ast.Name | ast.Constant)
    )
