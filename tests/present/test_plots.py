"""Charts: what they show is what the rows say, whatever the labels are."""

import datetime
import json

import numpy as np
import polars as pl
import pytest
import vl_convert

import trueup as tu
from trueup.present import plots
from trueup.present.output import as_text
from trueup.present.plots.density import histogram
from trueup.present.plots.groups import period
from trueup.present.plots.plane import permitted
from trueup.present.plots.style import palette

LIGHT = palette("light")

HOSTILE = [
    "<script>alert(1)</script>",
    "a.b[0]['c']",
    "\"quoted\" 'twice' \\ back",
    "');alert(datum.value)//",
    "{signal: 'width'}",
    "名前 – ünï\u202ecode",
    "x" * 500,
    "bell \x07 null \x00 \ud800 \ufffe",
]
pytestmark = [
    pytest.mark.filterwarnings("ignore::trueup.TrueupWarning"),
    pytest.mark.usefixtures("short_chains"),
]


def counts(K, rng, **options):
    P = 0.8 * np.eye(K) + 0.2 * rng.dirichlet(np.ones(K), K)
    n = np.array([rng.multinomial(30, p) for p in P])
    v_hat = np.round(rng.lognormal(7, 1.5, K) @ P * 10).astype(int) + 100
    options = {"design": "shifted", "method": "bayes", "noise": False, "draws": 500} | options
    return tu.correct_counts(n, v_hat, **options)


def tables(labels, rng, K=2, N=3000):
    names = np.array(HOSTILE[:K])
    s, g = rng.integers(K, size=N), rng.integers(len(labels), size=N)
    s_hat = np.where(rng.random(N) < 0.8, s, rng.integers(K, size=N))
    columns = {
        "unit": np.arange(N),
        "predicted": names[s_hat],
        "group": [labels[i] for i in g],
        "y": rng.lognormal(size=N),
    }
    predictions = pl.DataFrame(columns)
    audited = rng.choice(N, 200, replace=False)
    test_set = pl.DataFrame({"unit": audited, "true": names[s[audited]]})
    return predictions, test_set


def grouped(labels, rng, **options):
    predictions, test_set = tables(labels, rng)
    return tu.correct(predictions, test_set, by="group", id="unit", draws=200, **options)


def chained(**options):
    test, v_hat = [[9, 1], [2, 8]], [300, 700]
    return tu.correct_counts(test, v_hat, design="shifted", method="full", draws=400, **options)


def values(spec):
    """Every row of data in a chart."""
    if isinstance(spec, dict):
        for key, x in spec.items():
            if key == "values" and isinstance(x, list):
                yield from x
            else:
                yield from values(x)
    elif isinstance(spec, list):
        for x in spec:
            yield from values(x)


def briefly(spec):
    """The chart with little data: checking the schema goes by the row."""
    if isinstance(spec, dict):
        return {key: x[:2] if key == "values" else briefly(x) for key, x in spec.items()}
    return [briefly(x) for x in spec] if isinstance(spec, list) else spec


def render(spec):
    """Draw a chart that holds to the schema, and give its SVG."""
    import altair

    altair.Chart.from_dict(briefly(spec))
    return vl_convert.vegalite_to_svg(spec)


def test_totals_show_the_rows_sorted(rng):
    est = counts(5, rng)
    spec = plots.totals_spec(est, LIGHT)
    drawn = {row["name"]: row for row in values(spec)}
    for row in est.rows():
        shown = drawn[str(row["class"])]
        for field, name in (("corrected", "estimate"), ("naive", "naive"), ("upper", "upper")):
            assert shown[field] == row[name]
    order = spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert order == sorted(order, key=lambda name: -drawn[name]["corrected"])


def test_a_log_axis_only_where_figures_are_positive_and_far_apart():
    def scale(**figures):
        rows = [{"naive": 1.0, "corrected": 1.0, "lower": 0.5, "upper": 2.0}, figures]
        return plots.totals.logarithmic(rows)

    assert scale(naive=500.0, corrected=500.0, lower=400.0, upper=600.0) is not None
    assert scale(naive=50.0, corrected=50.0, lower=40.0, upper=60.0) is None
    assert scale(naive=500.0, corrected=500.0, lower=-1.0, upper=600.0) is None
    assert scale(naive=0.0, corrected=500.0, lower=400.0, upper=600.0) is None
    assert scale(naive=500.0, corrected=500.0, lower=0.0, upper=600.0) <= 0.5


def test_the_histogram_is_a_density_and_keeps_whole_numbers_whole(rng):
    for x in (rng.normal(size=1000), rng.poisson(3, size=1000).astype(float)):
        height, edges = histogram(x)
        inside = ((x >= edges[0]) & (x <= edges[-1])).mean()
        assert (height * np.diff(edges)).sum() == pytest.approx(inside)
        assert inside > 0.99
    assert np.allclose(edges % 1, 0.5)
    height, edges = histogram(np.full(100, 7.0))
    assert edges[0] < 7 < edges[-1]


def test_the_plane_shades_exactly_the_permitted_rates(rng):
    """Oracle: the corrected counts themselves, by inverting P."""
    v_hat = rng.integers(1, 1000, 2)
    rectangles = permitted(v_hat / v_hat.sum())
    for q, p in rng.random((500, 2)):
        P = np.array([[1 - p, p], [q, 1 - q]])
        possible = (np.linalg.solve(P.T, v_hat) >= 0).all()
        shaded = any(r["q"] <= q <= r["q2"] and r["p"] <= p <= r["p2"] for r in rectangles)
        assert shaded == possible


def test_the_plane_has_q_across_and_p_up():
    est = tu.correct_counts(
        [[90, 10], [30, 70]], [5000, 5000], design="shifted", method="bayes", seed=1
    )
    points = [row for row in values(plots.plane_spec(est, LIGHT)) if set(row) == {"q", "p"}]
    assert len(points) == 1000
    (plug_in,) = (
        row
        for row in values(plots.plane_spec(est, LIGHT))
        if row.get("what") == "rates of the test set"
    )
    assert (plug_in["q"], plug_in["p"]) == (0.3, 0.1)
    assert np.mean([row["q"] for row in points]) > np.mean([row["p"] for row in points])


def test_the_confusion_matrix_has_the_counts_and_readable_text(rng):
    for theme in ("light", "dark"):
        est = counts(15, rng)
        cells = list(values(plots.confusion_spec(est, palette(theme))))
        drawn = np.array([cell["units"] for cell in cells]).reshape(15, 15)
        assert (drawn == est.counts.n).all()
        shares = np.array([cell["share"] for cell in cells]).reshape(15, 15)
        assert np.allclose(shares.sum(axis=1), 1)
        look = palette(theme)
        low, high = (rgb(colour) for colour in (look.low, look.high))
        for x in np.linspace(0, 1, 101):
            text = rgb(look.text[0] if x < look.turn else look.text[1])
            assert contrast(low + x * (high - low), text) >= 4.5


def rgb(colour):
    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def contrast(one, other):
    """The contrast of two colours as WCAG 2 defines it, from 1 to 21."""
    light = [
        np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722)
        for x in (one, other)
    ]
    return (max(light) + 0.05) / (min(light) + 0.05)


def test_groups_show_the_rows_and_say_what_is_left_out(rng):
    est = grouped([f"g{i}" for i in range(60)], rng)
    spec = plots.groups_spec(est, LIGHT)
    rows = {(row["group"], row["class"]): row for row in est.rows() if row["group"]}
    first, _ = spec["concat"]
    assert "24 largest of 60" in spec["title"]["subtitle"]
    totals = dict.fromkeys((row["group"] for row in rows.values()), 0.0)
    for row in rows.values():
        totals[row["group"]] += row["naive"]
    shown = {row["name"] for row in values(first)}
    assert len(shown) == 24
    assert min(totals[g] for g in shown) >= max(totals[g] for g in set(totals) - shown)
    for row in values(first):
        assert row["corrected"] in {rows[row["name"], label]["estimate"] for label in est.classes}


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize(
    "labels",
    [
        ["2024-Q2", "2023-Q4", "2024-Q1"],
        [2023, 2021, 2022],
        ["2024-02", "2024-01", "2023-12"],
        [datetime.date(2024, 2, 1), datetime.date(2023, 2, 1), datetime.date(2024, 1, 1)],
    ],
    ids=["quarters", "years", "months", "dates"],
)
def test_periods_are_a_line_in_order(labels, rng):
    est = grouped(labels, rng, value="y")
    spec = plots.groups_spec(est, LIGHT)
    lines = spec["concat"][0]["layer"]
    assert [layer["mark"]["type"] for layer in lines] == ["area", "line"]
    times = [row["time"] for row in lines[0]["data"]["values"]]
    assert times == sorted(map(str, labels))
    render(spec)


def test_what_is_no_period():
    assert not period(("2024-Q1", "north"))
    for label in ("24-Q1", "9999", "12", None, 2024.0, "2024-Q5"):
        assert not period((label,))


@pytest.mark.usefixtures("short_chains")
def test_every_chart_draws_whatever_the_labels(rng):
    est = counts(len(HOSTILE), rng, classes=HOSTILE)
    two = counts(2, rng, classes=HOSTILE[:2])
    groups = grouped(HOSTILE[:-1], rng)
    chain = tu.correct_counts(
        [[9, 1], [2, 8]],
        [300, 700],
        classes=HOSTILE[:2],
        design="shifted",
        method="full",
        draws=200,
    )
    scored = tu.correct(*tables("ab", rng, K=3), id="unit", score="y", draws=200)
    seen = set()
    for case in (est, two, groups, chain, scored):
        for kind, spec in plots.specs_for(case).items():
            assert "<script" not in json.dumps(spec)
            if kind not in seen:  # the first case has every label; to draw takes half a second
                assert "<script" not in render(spec)
            seen.add(kind)
    assert seen == set(plots.KINDS)


def test_the_calibration_chart_shows_the_audited_shares(rng):
    est = tu.correct(*tables("ab", rng), id="unit", score="y", draws=200)
    rows = est.info["calibration"]
    panels = plots.KINDS["calibration"](est, LIGHT)["concat"]
    dots = [row for panel in panels for row in panel["layer"][-1]["data"]["values"]]
    assert sum(row["audited"] for row in dots) == 200
    assert all(row["share"] == row["right"] / row["audited"] for row in dots)
    curves = [row for panel in panels for row in panel["layer"][2]["data"]["values"]]
    assert [row["learned"] for row in curves] == [row["learned"] for row in rows]


def test_labels_are_never_fields_or_expressions(rng):
    marker = "MARKER'\"]"
    est = counts(2, rng, classes=[marker, "b"])

    def strings(x, path=()):
        if isinstance(x, dict):
            for key, y in x.items():
                assert "MARKER" not in key
                yield from strings(y, (*path, key))
        elif isinstance(x, list):
            for y in x:
                yield from strings(y, path)
        elif isinstance(x, str) and "MARKER" in x:
            yield path

    allowed = {"values", "domain", "text", "title", "subtitle"}
    for spec in plots.specs_for(est).values():
        for path in strings(spec):
            assert allowed & set(path[-2:]), path
            assert not {"field", "labelExpr", "test", "calculate", "expr", "signal"} & set(path)


def test_labels_that_look_the_same_stay_apart(rng):
    est = counts(4, rng, classes=[1, "1", "y" * 80 + "a", "y" * 80 + "b"])
    domain = plots.totals_spec(est, LIGHT)["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert len(set(domain)) == 4


def test_methods_without_draws_have_the_charts_that_apply():
    for method in ("naive", "calibrated"):
        est = tu.correct_counts([[40, 5], [3, 60]], [300, 700], method=method)
        assert list(plots.specs_for(est)) == ["totals", "test_set"]
        est.plot()


def test_chains_are_those_of_the_run():
    est = tu.correct_counts(
        [[9, 1], [2, 8]], [300, 700], design="shifted", method="full", draws=400
    )
    trace = est.info["trace"]
    assert trace["beta"].shape == (est.info["chains"], len(trace["sweeps"]))
    # oracle: the draws of the estimate have the mean that the chains have
    share = est.draws[:, trace["class"]] / est.draws.sum(axis=1)
    error = np.hypot(share.std() / np.sqrt(est.info["ess"]), trace["beta"].std() / 10)
    assert abs(share.mean() - trace["beta"].mean()) < 5 * error
    assert "trace" not in json.loads(as_text(est))["info"]


def test_plot_is_an_altair_chart_that_saves(tmp_path, rng):
    est = counts(3, rng)
    chart = est.plot()
    assert "vconcat" in chart.to_dict()
    for ending in ("svg", "png"):
        chart.save(tmp_path / f"x.{ending}")
        assert (tmp_path / f"x.{ending}").stat().st_size > 1000
    assert est.plot("density", theme="dark").to_dict()["background"] == "#14181d"


def test_a_kind_that_does_not_apply_says_what_does(rng):
    est = counts(3, rng)
    for kind, words in (("groups", "needs `by`"), ("plane", "two classes"), ("pie", "got 'pie'")):
        with pytest.raises(tu.OptionError, match=words) as error:
            est.plot(kind)
        assert "['totals', 'density', 'test_set']" in str(error.value)
    with pytest.raises(tu.OptionError, match="theme"):
        est.plot(theme="pink")
    with pytest.raises(tu.OptionError, match="Only the kind 'groups'"):
        est.plot("totals", most=3)


def test_groups_take_options(rng):
    est = grouped(["a", "b", "c"], rng)
    spec = est.plot("groups", classes=[HOSTILE[1]], most=2).to_dict()
    assert len(spec["concat"]) == 1
    assert "2 largest of 3" in spec["title"]["subtitle"]
    with pytest.raises(tu.OptionError, match="among"):
        est.plot("groups", classes=["nobody"])
    with pytest.raises(tu.OptionError, match="classes"):
        est.plot("groups", colour="red")
