"""Which cells a quick run of a page leaves out: those tagged ``long``, and all that need them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from symtable import SymbolTable, symtable

from dpbook.book.pages import Page

LONG = "long"
_AT_ONCE = {"top", "lambda", "listcomp", "setcomp", "dictcomp", "genexpr"}  # no call is needed
_MUTATORS = {"add", "append", "extend", "insert", "pop", "setdefault", "sort", "update"}


def left_out(page: Page) -> list[int]:
    """Numbers of the code cells, from 0, that a quick run leaves out.

    A cell needs another if that one is the last before it that makes or changes a name which it
    reads before making it anew, itself or in a function that it calls.
    """
    last: dict[str, int] = {}
    inside: dict[str, set[str]] = {}  # what a function reads
    out: set[int] = set()
    for number, (source, tags) in enumerate(zip(page.code_cells, page.code_tags, strict=True)):
        tree, made = ast.parse(source), set[str]()
        needed = {*_needed(tree.body, made, inside)}
        if LONG in tags or any(last.get(name) in out for name in needed):
            out.add(number)
        last |= dict.fromkeys([*made, *_changed(tree)], number)
    return sorted(out)


def _needed(body: Iterable[ast.stmt], made: set[str], inside: dict[str, set[str]]) -> Iterator[str]:
    """Names that statements need from before; `made` and `inside` grow by what these make."""
    for node in body:
        heads: list[ast.AST] = [node]  # what is read first
        stored = _stored(node)
        blocks: list[ast.stmt] = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            (table,) = _scope(node).get_children()
            inside[node.name] = {*_globals(table)}
            heads = []
        elif isinstance(node, ast.For):
            heads, blocks, stored = [node.iter], [*node.body, *node.orelse], _stored(node.target)
        elif isinstance(node, ast.If | ast.While):
            heads, blocks, stored = [node.test], [*node.body, *node.orelse], []
        todo = [name for head in heads for name in _read(head)]
        seen = set[str]()
        while todo:
            if (name := todo.pop()) not in seen:
                seen.add(name)
                todo += inside.get(name, ())
        yield from seen - made
        made |= {*stored}
        yield from _needed(blocks, made, inside)


def _scope(node: ast.AST) -> SymbolTable:
    return symtable(ast.unparse(node), "a cell", "exec")


def _read(node: ast.AST) -> Iterator[str]:
    """Names that are read when this runs."""
    yield from _globals(_scope(node))
    if isinstance(node, ast.AugAssign):
        yield from _stored(node)


def _globals(table: SymbolTable) -> Iterator[str]:
    """Global names that are read in a scope and in those that run with it."""
    top, function = table.get_type() == "module", table.get_type() == "function"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (top or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        if function or child.get_name() in _AT_ONCE:
            yield from _globals(child)


def _stored(node: ast.AST) -> list[str]:
    """Global names that a statement, or the variable of a loop, gives a value."""
    if isinstance(node, ast.expr):
        return [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    made = (s for s in _scope(node).get_symbols() if s.is_assigned() or s.is_imported())
    return [symbol.get_name() for symbol in made]


def _changed(tree: ast.AST) -> Iterator[str]:
    """Names whose objects are changed: by an assignment to a part, or by a method of lists."""
    for node in ast.walk(tree):
        part: ast.AST | None = None
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            part = node
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            if isinstance(called, ast.Attribute) and called.attr in _MUTATORS:
                part = called
        while isinstance(part, ast.Subscript | ast.Attribute):
            part = part.value
        if isinstance(part, ast.Name):
            yield part.id
