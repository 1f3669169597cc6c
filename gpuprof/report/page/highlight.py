"""CUDA source as lines of markup with classes for its tokens, by Pygments (which rich brings)."""

from __future__ import annotations

from markupsafe import Markup, escape

#: Token type -> class; the most special that fits, anything else is plain.
_CLASSES = (
    ("Comment.Preproc", "k-pre"),
    ("Comment", "k-com"),
    ("Keyword", "k-key"),
    ("Literal.String", "k-str"),
    ("Literal.Number", "k-num"),
    ("Name.Builtin", "k-blt"),
)


def highlighted(text: str, file: str) -> list[Markup]:
    """One piece of markup per line of ``text``; plain where the file's name is of no known language."""
    from pygments import lex
    from pygments.lexers import CudaLexer

    if not file.endswith((".cu", ".cuh", ".h", ".hpp", ".cpp", ".c", ".inl")):
        return [escape(line) for line in text.splitlines()]
    lines: list[list[Markup]] = [[]]
    for token, value in lex(text, CudaLexer(stripnl=False, ensurenl=False)):
        name = next((mark for kind, mark in _CLASSES if str(token).startswith(f"Token.{kind}")), "")
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append(Markup('<span class="{}">{}</span>').format(name, part) if name else escape(part))
    found = [Markup("").join(parts) for parts in lines]
    return found[: len(text.splitlines())] if text.endswith("\n") else found
