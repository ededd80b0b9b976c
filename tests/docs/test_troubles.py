"""docs/troubles.md quotes the messages as they are, and leaves none of these out."""

import re

import pytest
from messages import messages
from pages import ROOT
from tests.conftest import shorten_chains

from trueup.draws import pooling
from trueup.draws.samplers import chain

PAGE = (ROOT / "docs/troubles.md").read_text(encoding="utf-8")


def quotes():
    """The quoted messages, each on lines that begin with >; … stands for what differs."""
    return [
        " ".join(line.removeprefix(">").strip() for line in found.splitlines())
        for found in re.findall(r"(?:^>.*\n)+", PAGE, re.MULTILINE)
    ]


@pytest.mark.usefixtures("few_draws")
def test_every_quote_is_a_message_and_every_message_is_quoted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("trueup.estimate.periods.draw.PARTICLES", 200)
    wanted = {(module, "RHAT"): module.RHAT for module in (chain, pooling)}
    wanted |= {(pooling, "ENOUGH"): pooling.ENOUGH}
    shorten_chains(monkeypatch)
    for (module, name), value in wanted.items():  # two messages are of chains that are too short
        monkeypatch.setattr(module, name, value)
    patterns = {
        quote: re.compile(".*".join(map(re.escape, quote.split("…"))), re.DOTALL)
        for quote in quotes()
    }
    assert len(patterns) > 40
    found = [" ".join(message.split()) for message in messages()]
    unquoted = [m for m in found if not any(p.fullmatch(m) for p in patterns.values())]
    invented = [q for q, p in patterns.items() if not any(p.fullmatch(m) for m in found)]
    assert not unquoted
    assert not invented


def test_every_quote_is_followed_by_what_to_do():
    for end in re.finditer(r"^>.*\n(?!>)", PAGE, re.MULTILINE):
        rest = PAGE[end.end() :].lstrip("\n")
        assert rest[:1] not in ("", "#"), end[0]  # several messages may have one answer
