"""Priors on the command line, such as ``from-range:webshop:0.80-0.95``."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from trueup import prior
from trueup.cli.matrix import parse_matrix
from trueup.errors import OptionError, TrueupError
from trueup.prior.elicited import Built, arranged
from trueup.text import listed


def parse_prior(text: str) -> object:
    """Read ``--prior``; the name of a prior is returned unchanged.

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
    if (name := text.strip().lower()) in prior.NAMED_PRIORS:
        return name
    if kind not in EXAMPLES:
        raise OptionError(
            f"--prior must be one of {listed([*prior.NAMED_PRIORS])}, or start with one of "
            f"{listed([*EXAMPLES])}; got {text!r}.",
            hint="`trueup correct --help` shows how each is written.",
        )
    try:
        return replace(MAKERS[EXAMPLES[kind]](words), word=text)
    except (IndexError, ValueError) as error:
        if isinstance(error, TrueupError):
            raise
        raise OptionError(
            f"--prior {kind} must be written as {EXAMPLES[kind]}; got {text!r}."
        ) from None


def _range(word: str) -> tuple[float, float]:
    low, high = word.split("-")
    return float(low), float(high)


def _from_counts(words: list[str]) -> Any:
    name, weight = ":".join(words[:-1]), float(words[-1])
    _, matrix, labels, _ = parse_matrix("--prior from-counts", name)
    return prior.from_counts(matrix, weight, classes=labels)


def _from_range(words: list[str]) -> Any:
    *label, last = words
    probability = 0.9
    if "-" not in last:
        probability, (*label, last) = float(last), label
    return prior.from_range(":".join(label), recall=_range(last), probability=probability)


def _dirichlet(words: list[str]) -> Any:
    _, matrix, names, _ = parse_matrix("--prior dirichlet", ":".join(words))
    if names is None:
        return prior.Dirichlet(matrix)

    def rule(_: prior.Concentrations, labels: list[Hashable]) -> Any:
        found = prior.Dirichlet(arranged(np.asarray(matrix), names, labels))
        return (written := found.for_classes(len(labels))).alpha, written.gamma

    return Built(rule, "perks", "dirichlet")


def _regression(words: list[str]) -> Any:
    log = len(words) > 1 and words[-1] == "log"
    return prior.regression(":".join(words[:-1] if log else words), log=log)


def _numbers(words: list[str], *names: str) -> dict[str, float]:
    if len(words) > len(names):
        raise ValueError
    return {name: float(word) for name, word in zip(names, words, strict=False)}


def _one(words: list[str]) -> str:
    (word,) = words
    return word


# Each with an example: what stands before its first colon is the name.
MAKERS: dict[str, Callable[[list[str]], Any]] = {
    "from-counts:matrix.csv:0.5": _from_counts,
    "from-range:webshop:0.80-0.95 or from-range:webshop:0.80-0.95:0.9": _from_range,
    "diagonal:2": lambda words: prior.diagonal(float(_one(words))),
    "dirichlet:alpha.csv": _dirichlet,
    "logistic-normal:0.1:1": lambda words: prior.logistic_normal(**_numbers(words, "error", "sd")),
    "hierarchical:0.15": lambda words: prior.hierarchical(
        **_numbers(words, "error", "sd", "between")
    ),
    "truncated:0.5-1": lambda words: prior.truncated(recall=_range(_one(words))),
    "symmetric:0.3": lambda words: prior.symmetric(**_numbers(words, "sd")),
    "ordered": lambda words: prior.ordered(**_numbers(words)),
    "regression:turnover:log or regression:turnover": _regression,
}
EXAMPLES = {example.split(":")[0]: example for example in MAKERS}
