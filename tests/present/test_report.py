"""The report: what it says, that it stands alone, and that no label can break out of it."""

import builtins
import hashlib
import json
import re
import shlex
from html.parser import HTMLParser
from importlib import import_module

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import trueup as tu
from trueup.aggregate.groups import concentration
from trueup.cli import main
from trueup.cli.demo import run_demo
from trueup.draws.settings import METHODS as ALL_METHODS
from trueup.present.report import report_html
from trueup.present.reproduce import command_line, counts_hash, python_call
from trueup.present.sentences import headline

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></pre></svg><b>bold</b>",
    "&lt;b&gt; &#60;script&#62;",
    "javascript:alert(1)",
    "' onmouseover='alert(1)",
    "]]><!-- \u202e\x07\x00\ufffe\x85 x",
]
KNOWN = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "strong", "section",
    "figure", "svg", "g", "path", "line", "text", "rect", "defs", "clippath", "tspan", "div",
    "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li", "pre", "code", "span",
}  # fmt: skip
pytestmark = [
    pytest.mark.filterwarnings("ignore::trueup.TrueupWarning"),
    pytest.mark.usefixtures("short_chains"),
]


class Reader(HTMLParser):
    """Collect elements, attributes and text as a browser would see them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.text.append(data)

    def handle_comment(self, data):
        self.tags.add("comment")


def counts(**options):
    options = {"classes": ["webshop", "other"], "seed": 5} | options
    return tu.correct_counts([[40, 5], [3, 60]], [300, 700], **options)


def hostile_tables(rng, N=2000, K=3, B=7):
    names = np.array(HOSTILE[:K])
    s = rng.integers(K, size=N)
    s_hat = np.where(rng.random(N) < 0.8, s, rng.integers(K, size=N))
    predictions = pl.DataFrame(
        {
            "unit": np.arange(N),
            HOSTILE[0]: names[s_hat],
            HOSTILE[2]: np.array([f"{HOSTILE[i % 7]}{i // 7}" for i in range(B)])[
                rng.integers(B, size=N)
            ],
            HOSTILE[1]: rng.lognormal(size=N),
        }
    )
    audited = rng.choice(N, 300, replace=False)
    return predictions, pl.DataFrame({"unit": audited, HOSTILE[3]: names[s[audited]]})


def hostile(rng, **options):
    predictions, test_set = hostile_tables(rng)
    return tu.correct(
        predictions, test_set, predicted=HOSTILE[0], true=HOSTILE[3], value=HOSTILE[1],
        by=HOSTILE[2], id="unit", draws=200, **options,
    )  # fmt: skip


def assert_safe(text):
    page = Reader(text)
    assert page.tags <= KNOWN, page.tags - KNOWN
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name not in ("src", "href", "xlink:href", "action", "style", "srcdoc"), (tag, name)
        assert "url(" not in value or re.fullmatch(r"url\(#[\w-]+\)", value), value
    assert not re.search(r"https?:|//[a-z]", text)
    assert "url(" not in text.split("<body>")[0]
    return page


def test_nothing_in_the_data_becomes_markup(rng):
    est = hostile(rng)
    assert set(HOSTILE) <= {row[HOSTILE[2]][:-1] for row in est.rows() if row[HOSTILE[2]]}
    est.info["warnings"].append(HOSTILE[0])
    page = assert_safe(report_html(est, title=HOSTILE[2]))
    said = " ".join(page.text)
    for label in HOSTILE[:3]:
        assert label in said
    assert "\\u202e" in said
    assert not set("\u202e\x07\x00\ufffe\x85") & set(said)


def test_paths_are_text_too(rng, tmp_path):
    predictions, test_set = hostile_tables(rng)
    files = [tmp_path / name for name in ("<b>p&'.csv", "<i>t.csv")]
    for frame, file in zip((predictions, test_set), files, strict=True):
        frame.write_csv(file)
    est = tu.correct(*map(str, files), predicted=HOSTILE[0], true=HOSTILE[3], id="unit", draws=200)
    text = report_html(est)
    said = " ".join(assert_safe(text).text)
    for file in files:
        assert str(file) in said
        assert hashlib.sha256(file.read_bytes()).hexdigest() in said
    assert counts_hash(est.counts) in said
    files[0].unlink()
    assert "no longer there" in report_html(est)


def test_the_file_stands_alone_and_only_its_own_style_is_allowed():
    text = report_html(counts())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert text.count("<style>") == 1


def test_clips_of_one_chart_are_not_those_of_another():
    est = counts(design="shifted", method="full", draws=200)
    text = report_html(est)
    names = re.findall(r'\bid="([^"]+)"', text)
    assert names
    assert len(names) == len(set(names))
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(names)


# Words that the report of no other method has, and how much it must assume at least.
OWN_WORDS = {
    "naive": ("Nothing is corrected", 1),
    "inverse": ("parametric bootstrap", 2),
    "bayes": ("negative figures are not excluded", 1),
    "constrained": ("Meertens et al., 2019", 2),
    "joint": ("exact posterior", 2),
    "full": ("Ziegler and Czyż, 2024", 2),
    "calibrated": ("Olofsson et al., 2014", 2),
    "difference": ("power tuning", 2),
    "test_set": ("The predictions are not used", 2),
}


def section(text, heading):
    """The HTML of one section."""
    (found,) = re.findall(f"<section><h2>{heading}</h2>(.*?)</section>", text, re.DOTALL)
    return found


def test_what_the_estimate_allows_for_is_no_reason_to_doubt(rng):
    """False positives rise with the value, which cells learn; their draws are a sampler's."""
    N = 3000
    y = rng.lognormal(0, 1, N)
    s = rng.integers(2, size=N)
    h = np.where(rng.random(N) < np.minimum(0.3 * y, 0.9), 1, s)
    table = pl.DataFrame({"predicted": h, "y": y, "region": np.arange(N) % 2})
    test = table.with_columns(true=s)[:900]
    est = tu.correct(table, test, value="y", drawn_within="region", draws=200, seed=1)
    text = report_html(est)
    line = section(text, "Design check").split("true classes depend on the value")[1]
    line = line.split("</tr>")[0]
    assert "this estimate takes that into account" in line
    assert "look at this" not in line
    said = " ".join(Reader(section(text, "Method")).text)
    assert "those of a sampler" in said
    assert "exact posterior" not in said
    assert "the next section has them" in section(text, "Accuracy of the classifier")


@pytest.mark.parametrize("method", [m for m in ALL_METHODS if m != "auto"])
def test_every_method_has_a_report_with_its_words(method):
    design = "shifted" if method in ("constrained", "full") else "random"
    text = report_html(counts(method=method, design=design, draws=200))
    assert_safe(text)
    said = " ".join(Reader(section(text, "Method")).text)
    assert [name for name, (words, _) in OWN_WORDS.items() if words in said] == [method]
    assert section(text, "Method").count("<li>") >= OWN_WORDS[method][1]
    assert not re.search(r"\b(nan|None|inf)\b", " ".join(Reader(text).text))
    assert re.findall("<h2>(.*?)</h2>", text) == [
        "Estimates", "Accuracy of the classifier", "The data in numbers", "Design check", "Method",
        "Diagnostics", "Prior sensitivity", "How to reproduce this",
    ]  # fmt: skip


def test_figures_are_those_of_the_rows():
    est = counts()
    body = section(report_html(est), "Estimates").split("<tbody>")[1]
    for row, line in zip(est.rows(), re.findall("<tr>(.*?)</tr>", body), strict=True):
        name, *cells = (re.sub("<.*?>", "", cell) for cell in re.split("</t[hd]>", line)[:-1])
        assert name == row["class"]
        shown = [float(cell.strip("%").replace(",", "")) for cell in cells[:6]]
        assert shown[:4] == pytest.approx(
            [row[x] for x in ("naive", "estimate", "lower", "upper")], abs=1.0
        )
        assert shown[4] == pytest.approx(100 * (row["naive"] / row["estimate"] - 1), abs=0.051)
        assert shown[5] == pytest.approx(100 * row["sd"] / row["estimate"], abs=0.051)


def test_plain_words_stand_for_technical_terms():
    said = " ".join(Reader(section(report_html(counts()), "Design check")).text)
    assert "(1 is perfect, 0 is not at all)" in said
    assert "times as large in the totals" in said
    assert not any(term in said for term in ("determinant", "condition of", "P̂"))


def test_the_headline_rounds_by_what_is_known():
    est = counts()
    one = est.rows()[0]
    line = headline(est)
    assert f"{one['estimate']:,.0f} (95% interval" in line
    assert "for webshop and" in line
    assert "with 108 audited units" in line
    assert "as predicted" in headline(counts(method="naive"))


def test_priors_move_the_answer_as_other_estimates_do():
    est = tu.correct_counts([[8, 1, 0], [1, 9, 2], [0, 1, 7]], [300, 700, 400], seed=5)
    pattern = r'([\d,.]+)<span class="under">([\d,.]+) to ([\d,.]+)</span>'
    shown = np.array(
        [
            [float(x.replace(",", "")) for x in found]
            for found in re.findall(pattern, report_html(est))
        ]
    ).reshape(3, 3, 3)
    for j, prior in enumerate(("perks", "jeffreys", "uniform")):
        for row, figures in zip(est.again(prior=prior).rows(), shown[:, j], strict=True):
            assert np.allclose(figures, [row["estimate"], row["lower"], row["upper"]], atol=25)
    assert "Under uniform instead of jeffreys" in report_html(est.again(prior="jeffreys"))


def test_perks_and_jeffreys_are_one_prior_for_two_classes():
    est = counts()
    assert est.again(prior="jeffreys").rows() == est.rows()
    assert "same as perks" in report_html(est)


def test_the_command_and_the_call_make_the_same_numbers(tmp_path):
    run_demo(tmp_path / "it's", seed=1)
    folder = tmp_path / "it's"
    est = tu.correct(
        folder / "predictions.csv", folder / "test_set.csv", value="turnover", id="company",
        design="by_prediction", noise=False, interval=0.9, draws=300,
    )  # fmt: skip
    space = {}
    exec(python_call(est), space)
    assert space["est"].rows() == est.rows()
    result = CliRunner().invoke(main, [*shlex.split(command_line(est))[1:], "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"] == est.rows()


def test_numbers_are_repeated_exactly():
    sums, squares = [1234.5678901234567, 1e9 / 3], [1e9, 1e18]
    est = tu.correct_counts(
        [[40, 5], [3, 60]],
        [300, 700],
        sums,
        squares,
        classes=["a b", "c'd"],
        draws=200,
        overlap=False,
    )
    space = {}
    exec(python_call(est), space)
    assert space["est"].rows() == est.rows()
    result = CliRunner().invoke(main, [*shlex.split(command_line(est))[1:], "--json"])
    assert result.exit_code == 0, result.output
    assert f'"estimate": {est.rows()[0]["estimate"]!r}' in result.output


def test_what_only_python_can_say_has_no_command(rng):
    assert command_line(hostile(rng)) is None
    assert "polars.DataFrame" in python_call(hostile(rng))
    own = counts(prior=tu.Dirichlet(np.full((2, 2), 0.7), np.ones(2)))
    assert command_line(own) is None


@pytest.mark.slow
def test_fifteen_classes_and_many_groups_fit(rng, tmp_path, monkeypatch):
    # the page matters here and its figures do not: chains of a few steps
    for name, steps in (("LEAST_GROUPS", 20), ("MOST_GROUPS", 20), ("WARM_UP", 4), ("KEEP", 2)):
        monkeypatch.setattr(concentration, name, steps)
    monkeypatch.setattr(import_module("trueup.aggregate.groups.base_rates"), "MOVES", 1)
    K, N = 15, 6_000
    names = np.array([f"a class with a fairly long name, number {i}" for i in range(K)])
    s = rng.integers(K, size=N)
    s_hat = np.where(rng.random(N) < 0.8, s, rng.integers(K, size=N))
    groups = np.array([f"municipality of somewhere {i}" for i in range(120)])
    predictions = pl.DataFrame(
        {"unit": np.arange(N), "predicted": names[s_hat], "group": groups[np.arange(N) % 120]}
    )
    audited = rng.choice(N, 900, replace=False)
    test_set = pl.DataFrame({"unit": audited, "true": names[s[audited]]})
    est = tu.correct(predictions, test_set, by="group", id="unit", pooling="complete", draws=100)
    path = est.report(tmp_path / "big.html")
    assert path.stat().st_size < 2_000_000
    text = path.read_text(encoding="utf-8")
    assert "largest of 120 groups" in text
    assert_safe(text)


def test_without_the_extra_there_is_a_report_without_charts(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "vl_convert":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    text = report_html(counts())
    assert "<svg" not in text
    assert "trueup[plot]" in text


def test_a_report_is_written_whole_or_refused(tmp_path):
    est = counts()
    for path in (tmp_path / "x.pdf", tmp_path / "nowhere" / "x.html"):
        with pytest.raises(tu.TrueupError):
            est.report(path)
    with pytest.raises(tu.OptionError, match="theme"):
        est.report(tmp_path / "x.html", theme="pink")
    assert not list(tmp_path.iterdir())
    assert est.report(tmp_path / "x.html", title="Mine") == tmp_path / "x.html"
    assert "<h1>Mine</h1>" in (tmp_path / "x.html").read_text(encoding="utf-8")


def test_the_commands_write_reports(tmp_path):
    arguments = ["numbers", "--test", "40,5;3,60", "--predicted-counts", "300,700", "--seed", "5"]
    target = tmp_path / "r.html"
    result = CliRunner().invoke(main, [*arguments, "--report", str(target)])
    assert result.exit_code == 0, result.output
    assert "Number of units per class" in target.read_text(encoding="utf-8")
    result = CliRunner().invoke(main, [*arguments, "--report", str(tmp_path / "r.doc")])
    assert result.exit_code == 2
    result = CliRunner().invoke(main, ["demo", "--folder", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "demo" / "report.html").stat().st_size < 1_000_000
