"""Formulas of the guide, in LaTeX, as functions: so that a test can compute what a page says.

It covers what the guide's tables use of LaTeX: sums, products without a sign, quotients, powers, roots, fractions,
sizes |x|, sums over all or over classes, a few functions. Names are those of the commands, with their indices: \\beta_1
is beta_1.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy

TOKEN = re.compile(r"\\(?:text|mathrm)\{(\w+)\s*\}|\\([a-zA-Z]+)|(\d+(?:\.\d+)?)|([A-Za-z])|(\S)")
FUNCTIONS: dict[str, Any] = {
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
    "abs": np.abs,
    "sum": lambda x: np.sum(x, axis=-1, keepdims=True),
    "max": np.maximum,
    "sigma": scipy.special.expit,
    "softmax": lambda z: scipy.special.softmax(z, axis=-1),
}
CLOSING = {"(": ")", "lvert": "rvert"}


def assignments(latex: str) -> list[tuple[str, str]]:
    """The name and the expression, in Python, of a formula such as `s \\leftarrow s + g^2` or `a = 1 = 2 - 1`."""
    name, *others = re.split(r"\\leftarrow|=", latex)
    return [(Reader(name).whole(), Reader(other).whole()) for other in others]


def value(latex: str, **names: Any) -> Any:
    """The value of a formula for these values of its names."""
    return evaluate(Reader(latex).whole(), names)


def evaluate(expression: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression of `Reader`."""
    return eval(expression, {"__builtins__": {}, **FUNCTIONS}, {f"v_{name}": each for name, each in names.items()})


class Reader:
    """A formula, read from left to right into an expression of Python; names get the prefix v_."""

    def __init__(self, latex: str) -> None:
        self.latex = latex
        plain = re.sub(r"\\left\b|\\right\b|\\,|\\cdot\b|[{]\s*[}]", " ", latex)
        self.tokens = [next(part for part in found if part) for found in TOKEN.findall(plain)]

    def whole(self) -> str:
        """All of it."""
        found = self.expression()
        assert not self.tokens, f"{self.latex!r}: {self.tokens} is left over"
        return found

    def take(self, wanted: str | None = None) -> str:
        assert self.tokens, f"{self.latex!r} ends too early"
        token: str = self.tokens.pop(0)
        assert wanted in (None, token), f"{self.latex!r}: {token!r} instead of {wanted!r}"
        return token

    def next_is(self, *tokens: str) -> bool:
        return bool(self.tokens) and self.tokens[0] in tokens

    def expression(self) -> str:
        found = self.take() if self.next_is("-", "+") else ""
        found += self.term()
        while self.next_is("+", "-"):
            found += self.take() + self.term()
        return f"({found})"

    def term(self) -> str:
        found = self.factor()
        while self.tokens and not self.next_is("+", "-", ")", "}", ",", "rvert"):
            found = (
                f"({found} / {self.factor()})" if self.next_is("/") and self.take() else f"{found} * {self.factor()}"
            )
        return found

    def factor(self) -> str:
        token = self.take()
        if token == "e" and self.next_is("^"):
            self.take()
            return f"exp({self.argument()})"
        if token in ("sqrt", "log"):
            found = f"{token}({self.argument()})"
        elif token == "sum":
            if self.next_is("_"):
                self.take()
                self.argument()  # over which index does not matter: names with it are arrays
            found = f"sum({self.factor()})"
        elif token == "frac":
            found = f"({self.argument()} / {self.argument()})"
        elif token in CLOSING:
            inside = self.expression()
            self.take(CLOSING[token])
            found = f"abs{inside}" if token == "lvert" else inside
        elif token in ("sigma", "max", "softmax"):
            found = self.call(token)
        elif re.fullmatch(r"[\d.]+", token):
            found = token
        else:
            assert token.isidentifier(), f"{self.latex!r} has {token!r}, which is not understood"
            found = f"v_{token}"
            if self.next_is("_"):
                self.take()
                found += f"_{self.take()}"
        if self.next_is("^"):
            self.take()
            found = f"{found} ** {self.argument()}"
        return found

    def call(self, name: str) -> str:
        self.take("(")
        given = [self.expression()]
        while self.next_is(","):
            self.take()
            given.append(self.expression())
        self.take(")")
        return f"{name}({', '.join(given)})"

    def argument(self) -> str:
        """What is in braces, or one factor."""
        if not self.next_is("{"):
            return self.factor()
        self.take()
        found = self.expression()
        self.take("}")
        return found
