"""Tables that people publish: the same figures in every form, and no markup from the data."""

import html
import html.parser
import json
import re

import numpy as np
import pandas as pd
import pytest
from markdown import markdown
from tests.seeds import fresh, fresh_seed

import trueup as tu
from trueup.estimate.answer import monte_carlo_errors
from trueup.present.output import as_text
from trueup.present.report import report_html
from trueup.present.sentences import citations
from trueup.text import rounded
from trueup.web.numbers import shown

HOSTILE = [
    "<script>alert(1)</script>",
    "**b** _i_ `c` ~~s~~",
    "[l](javascript:alert(1)) ![i](http://x/y.png)",
    "a | b || c",
    r"\input{/etc/passwd} \\ \hline $x^2$ % & # {} ~",
    "[1ex]",
    "*",
    "line\nbreak\r\n| new | row |\n\n# head",
    "www.example.org me@example.org https://example.org",
    "&lt;b&gt; &amp; <!-- -->",
    "\u202egnp.exe",
]
pytestmark = pytest.mark.usefixtures("short_chains")
TABLE_TAGS = {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p", "b"}


def made(labels, **more):
    K = len(labels)
    n = np.full((K, K), 1) + 20 * np.eye(K, dtype=int)
    return tu.correct_counts(n, np.full(K, 3000), classes=labels, seed=1, draws=500, **more)


class Tags(html.parser.HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text.append(data)


def groups():
    frame = pd.DataFrame({"predicted": list("aabb") * 50, "<i>by</i> | *x*": HOSTILE[:10] * 20})
    value = "\n\n# <b>y</b>"
    frame[value] = range(200)
    audited = frame.assign(true=frame["predicted"]).iloc[::7]
    return tu.correct(frame, audited, by="<i>by</i> | *x*", value=value, seed=1, draws=200)


@pytest.mark.parametrize("make", [lambda: made(HOSTILE), groups], ids=["classes", "groups"])
def test_nothing_from_the_data_is_markup(make):
    est = make()
    for text in (est.to_html(), est._repr_html_()):
        assert Tags(text).tags <= TABLE_TAGS
    page = Tags(markdown(est.to_markdown(), extensions=["tables"]))
    assert page.tags <= TABLE_TAGS
    said = "".join(page.text)
    assert "<script>alert(1)</script>" in said
    assert "**b** _i_ `c` ~~s~~" in said
    assert len(est.to_markdown().splitlines()) == 2 + len(est.rows()) + 2


def test_great_tables_escapes():
    text = made(HOSTILE).to_great_tables().as_raw_html()
    body = text[text.index("<tbody") : text.index("</tbody>")]
    assert Tags(body).tags == {"tbody", "tr", "td"}
    assert "<script>alert(1)</script>" in "".join(Tags(body).text)
    head = groups().to_great_tables().as_raw_html()
    assert "<i>by" not in head


@pytest.mark.parametrize("make", [lambda: made(HOSTILE), groups], ids=["classes", "groups"])
def test_latex_has_its_own_commands_only(make):
    """No character of the data stays active, and a row cannot begin with an optional argument."""
    lines = make().to_latex().splitlines()
    begin, end = lines.index(r"\hline"), lines.index(r"\end{tabular}")
    own = r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar)\{\}"
    for line in lines[begin:end]:
        if line == r"\hline":
            continue
        assert line.endswith(r" \\")
        row = re.sub(own, "", line.removesuffix(r"\\"))
        row = re.sub(r"\\[&%$#_{}]", "", row)
        assert "\\" not in row
        assert not set("$#%_~^") & set(row)
        assert row.lstrip()[:1] not in ("[", "*")
        assert re.sub(r"\{[\[\]*]\}", "", row).count("{") == 0


def test_figures_are_the_same_everywhere():
    """Printed, Markdown, LaTeX, HTML, report, page, sentence; and JSON has them in full."""
    est = tu.correct_counts(
        [[50, 3], [4, 70]], [20_000, 33_000], [1.48412345e8, 2.5e8], [1e13, 2e13],
        classes=["a", "b"], seed=fresh_seed(),
    )  # fmt: skip
    page = shown(est)["headlines"]
    report = "".join(Tags(report_html(est)).text)
    full = json.loads(as_text(est))["rows"]
    for row, texts, said in zip(full, page, citations(est), strict=True):
        half = (row["upper"] - row["lower"]) / 2
        for name in ("estimate", "lower", "upper", "naive"):
            text = texts[name]
            for form in (str(est), est.to_markdown(), est.to_latex(), est.to_html(), report, said):
                assert text in form
            assert abs(float(text.replace(",", "")) - row[name]) < half / 2
        assert row == est.rows()[full.index(row)]


def test_shares_of_groups_and_of_the_whole_in_every_form():
    est = groups()
    lines = est.to_markdown(share=True).splitlines()
    whole = est.whole / est.whole.sum(axis=1, keepdims=True)
    low, high = np.quantile(whole[:, 0], [0.025, 0.975])
    cells = [float(x.strip().rstrip("%")) / 100 for x in lines[-4].split("|")[3:7]]
    assert cells[0] == pytest.approx(est.counts.u_hat[0] / est.counts.u_hat.sum(), abs=high - low)
    assert cells[1:] == pytest.approx([np.median(whole[:, 0]), low, high], abs=(high - low) / 5)
    assert len(lines) == 2 + len(est.rows()) + 2
    assert lines[-1].startswith("Share of the total of")
    assert r"\%" in est.to_latex(share=True)
    assert Tags(est.to_html(share=True)).tags <= TABLE_TAGS


def test_no_exponents_and_no_empty_decimals():
    est = tu.correct_counts(
        [[400, 3], [4, 600]], [200_000, 330_000], [1.484e8, 2.5e9], [1e13, 2e15], seed=1
    )
    assert not re.search(r"\de[+-]\d|\d\.0\b", str(est) + est.to_markdown().split("\n\n")[0])


def test_a_known_count_is_written_in_full():
    est = tu.correct_counts([[40, 5], [3, 60]], [31_972, 70_031], seed=1)
    assert "31,972" in str(est)
    assert "31,972" in est.to_markdown()


@pytest.mark.parametrize("K", [2, 12])
def test_print_fits_100_columns(K):
    labels = [f"{g} " + "a rather long name of a class " * 8 for g in range(K)]
    est = made(labels, predicted_sums=np.full(K, 7.5e13))  # without squares: a long warning
    assert est.info["warnings"]
    assert max(map(len, str(est).splitlines())) <= 100
    frame = pd.DataFrame({"predicted": list("ab") * 40, **{f"{x * 30}": x * 50 for x in "pqrst"}})
    audited = frame.assign(true=frame["predicted"]).iloc[:20]
    wide = tu.correct(frame, audited, by=[x * 30 for x in "pqrst"], seed=1, draws=100)
    assert max(map(len, str(wide).splitlines())) <= 100


def test_long_labels_that_differ_at_their_end_stay_apart():
    est = made([f"{'a rather long name of a class ' * 5}{g}" for g in range(3)])
    lines = [line.split("…")[1][:30] for line in str(est).splitlines() if "…" in line]
    assert len(set(lines)) == 3


def test_a_console_shows_the_table_and_not_the_draws():
    est = made(["a", "b"])
    assert repr(est) == str(est)


def test_digits_are_no_more_than_the_draws_can_tell():
    """The last printed digit is worth at least the Monte Carlo error; more draws give it back."""
    few = tu.correct_counts([[40, 5], [3, 60]], [310_000, 700_000], seed=1, draws=200)
    row = few.rows()[0]
    middle, *ends = (few.info[f"monte_carlo_error{x}"][0] for x in ("", "_lower", "_upper"))
    steps = np.array([1, 2, 5]) * 10.0 ** np.arange(8)[:, None]
    printed = [float(x.replace(",", "")) for x in re.findall(r"[\d,]+", str(few).split("\n")[3])]
    _, _, estimate, mean, _, lower, upper = printed
    half = (row["upper"] - row["lower"]) / 2
    first = 10.0 ** np.floor(np.log10(half))
    for x, error in ((estimate, middle), (mean, middle), (lower, ends[0]), (upper, ends[1])):
        assert x % steps[steps >= min(2 * error, first)].min() == 0
    assert rounded(row["upper"], half, True) != rounded(row["upper"], half, True, ends[1])


CASE = [[40, 5], [3, 60]], [310_000, 700_000]


def test_more_draws_are_taken_until_the_ends_can_be_printed():
    """With draws=None; the seed decides, a number given is kept, and few units need no more."""
    seed = fresh_seed(31)
    est = tu.correct_counts(*CASE, seed=seed, draws=None)
    assert est.info["draws"] in (16_000, 64_000)
    same = tu.correct_counts(*CASE, seed=seed, draws=est.info["draws"])
    assert (est.draws == same.draws).all()
    assert tu.correct_counts(*CASE, seed=seed).info["draws"] == 4000
    few = tu.correct_counts([[40, 5], [3, 60]], [60, 70], seed=seed, draws=None)
    assert few.info["draws"] == 4000
    row = est.rows()[0]
    for end in ("lower", "upper"):
        error = est.info[f"monte_carlo_error_{end}"][0]
        # 1% of the half-width is aimed at, from a first look at 4,000 draws
        assert error < 0.02 * (row["upper"] - row["lower"]) / 2


def test_tails_of_a_chain_count_for_the_ends():
    """A chain that seldom visits its tails: the ends' error is larger than independent draws'."""
    rng = fresh(32)
    x = rng.normal(size=(4000, 1))
    alike = monte_carlo_errors(x, {"ess": 4000.0, "interval": 0.95})
    slow = monte_carlo_errors(x, {"ess": 4000.0, "interval": 0.95, "ess_tails": 400.0})
    assert slow["monte_carlo_error"] == alike["monte_carlo_error"]
    for end in ("_lower", "_upper"):
        ratio = slow[f"monte_carlo_error{end}"][0] / alike[f"monte_carlo_error{end}"][0]
        assert 2 < ratio < 8  # √10 where the density is level; it falls towards the tails


def test_monte_carlo_errors_are_those_of_other_seeds():
    """Of the median and of both ends, against the spread over 200 seeds."""
    figures, errors = [], []
    for k in range(200):
        est = tu.correct_counts([[40, 5], [3, 60]], [3_100, 7_000], seed=fresh_seed(k), draws=400)
        figures.append([est.rows()[0][name] for name in ("estimate", "lower", "upper")])
        names = ("", "_lower", "_upper")
        errors.append([est.info[f"monte_carlo_error{end}"][0] for end in names])
    ratio = np.sqrt(np.mean(np.square(errors), axis=0)) / np.std(figures, axis=0)
    # the spread of 200 seeds is known to 5%, and brackets of ±1 rank step are rough themselves
    assert ratio == pytest.approx(1, abs=0.35)


def test_what_was_not_corrected_says_so():
    est = made(["a", "b"], method="naive")
    assert "not corrected" in str(est)
    assert "not corrected" in est.to_markdown()
    assert "corrected |" not in est.to_markdown()
    said = [report_html(est), *citations(est)]
    assert all(
        "not corrected" in x and "orrected for classification errors with" not in x for x in said
    )
    assert ">corrected<" not in said[0]
    assert (
        "Number of units, corrected for classification errors with" in made(["a", "b"]).to_latex()
    )


def test_tables_and_files_tell_groups_from_the_whole(tmp_path):
    """A group whose label is missing is not the whole."""
    frame = pd.DataFrame({"predicted": list("aabb") * 10, "g": ["x", None] * 20})
    est = tu.correct(frame, frame.assign(true=frame["predicted"]).iloc[:9], by="g", seed=1)
    part = est.table["part"].tolist()
    assert part == ["group"] * 4 + ["whole"] * 2
    assert est.table["g"].isna().sum() == 4
    assert "part" not in est.rows()[0]
    with pytest.raises(tu.TrueupError, match="that the answer has"):
        tu.correct(frame.rename(columns={"g": "part"}), frame, by="part")


def test_without_great_tables_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "great_tables", None)
    with pytest.raises(tu.TrueupError, match="great-tables"):
        made(["a", "b"]).to_great_tables()


def test_what_is_printed_says_all_for_the_whole_and_no_prior_where_none_is_used():
    counts = [[40, 5], [3, 60]], [300, 700]
    assert (
        "prior" not in str(tu.correct_counts(*counts, method="difference", seed=1)).split("\n")[0]
    )
    assert "prior perks" in str(tu.correct_counts(*counts, seed=1)).split("\n")[0]
    frame = pd.DataFrame({"predicted": list("ab") * 20, "g": list("xxyy") * 10})
    frame["true"] = frame["predicted"]
    est = tu.correct(frame, frame[:12], by="g", draws=200, seed=1)
    assert any(line.split()[:2] == ["all", "a"] for line in str(est).split("\n"))


def test_a_group_called_all_is_told_from_the_whole():
    units = pd.DataFrame({"predicted": [*"aabb"] * 20, "group": ["all", "s"] * 40})
    audited = units[:16].assign(true=units.predicted)
    est = tu.correct(units, audited, by="group", seed=1, draws=200)
    assert [line.split("|")[1].strip() for line in est.to_markdown().splitlines()[2:8]] == [
        "all", "all", "s", "s", "all groups", "all groups",
    ]  # fmt: skip
    assert "\nall groups  a" in str(est)
