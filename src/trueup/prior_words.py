"""Priors as they are written on the command line: ``from-range:webshop:0.80-0.95``."""

from __future__ import annotations

from collections.abc import Callable

from trueup import prior
from trueup.errors import OptionError
from trueup.matrix import parse_matrix

__all__ = ["parse_prior", "parse_rates"]

EXAMPLES = {
    "from-counts": "from-counts:matrix.csv:0.5",
    "from-range": "from-range:webshop:0.80-0.95 or from-range:webshop:0.80-0.95:0.9",
    "diagonal": "diagonal:2",
    "dirichlet": "dirichlet:alpha.csv",
    "logistic-normal": "logistic-normal:0.1:1",
    "hierarchical": "hierarchical:0.15",
    "truncated": "truncated:0.5-1",
    "symmetric": "symmetric:0.3",
    "ordered": "ordered",
    "regression": "regression:turnover:log or regression:turnover",
}


def parse_prior(text: str) -> object:
    """Read what was written as ``--prior``; a plain word stays as it is.

    Examples
    --------
    >>> parse_prior("jeffreys")
    'jeffreys'
    >>> parse_prior("diagonal:2").for_classes(2).alpha
    array([[2.5, 0.5],
           [0.5, 2.5]])
    """
    kind, *words = text.split(":")
    kind = kind.strip().lower().replace("_", "-")
    if kind not in EXAMPLES:
        return text
    try:
        return MAKERS[kind](words)
    except (IndexError, ValueError) as error:
        if isinstance(error, OptionError):
            raise
        raise OptionError(
            f"--prior {kind} must be written as {EXAMPLES[kind]}; {text!r} came."
        ) from None


def parse_rates(text: str) -> list[list[float]]:
    """Read ``--rates``, a matrix of known error rates."""
    return parse_matrix("--rates", text)[0]


def _range(word: str) -> tuple[float, float]:
    low, high = word.split("-")
    return float(low), float(high)


def _from_counts(words: list[str]) -> object:
    name, weight = ":".join(words[:-1]), float(words[-1])
    return prior.from_counts(parse_matrix("--prior from-counts", name)[0], weight)


def _from_range(words: list[str]) -> object:
    *label, last = words
    probability = 0.9
    if "-" not in last:
        probability, (*label, last) = float(last), label
    return prior.from_range(":".join(label), recall=_range(last), probability=probability)


def _dirichlet(words: list[str]) -> object:
    return prior.Dirichlet(parse_matrix("--prior dirichlet", ":".join(words))[0])


def _regression(words: list[str]) -> object:
    log = len(words) > 1 and words[-1] == "log"
    return prior.regression(":".join(words[:-1] if log else words), log=log)


def _numbers(words: list[str], *names: str) -> dict[str, float]:
    return {name: float(word) for name, word in zip(names, words, strict=False)}


MAKERS: dict[str, Callable[[list[str]], object]] = {
    "from-counts": _from_counts,
    "from-range": _from_range,
    "dirichlet": _dirichlet,
    "diagonal": lambda words: prior.diagonal(float(words[0])),
    "logistic-normal": lambda words: prior.logistic_normal(**_numbers(words, "error", "sd")),
    "hierarchical": lambda words: prior.hierarchical(**_numbers(words, "error", "sd", "between")),
    "truncated": lambda words: prior.truncated(recall=_range(words[0])),
    "symmetric": lambda words: prior.symmetric(**_numbers(words, "sd")),
    "ordered": lambda words: prior.ordered(),
    "regression": _regression,
}
