"""Rates from several published studies, against brute force on the same model."""

import json
import warnings

import numpy as np
import pytest
from click.testing import CliRunner
from tests.seeds import fresh, fresh_seed

import trueup as tu
from trueup.cli import main
from trueup.prior.studies import draw_rate

# Bendavid et al. 2020, second version, as Gelman and Carpenter (JRSS C 2020) use them: right of n
SENSITIVITY = [(78, 85), (27, 37), (25, 35)]
SPECIFICITY = [
    (368, 371), (30, 30), (70, 70), (1102, 1102), (300, 300), (311, 311), (500, 500), (198, 200),
    (99, 99), (29, 31), (146, 150), (105, 108), (50, 52),
]  # fmt: skip
STUDIES = {
    "infected": [[y, n - y] for y, n in SENSITIVITY],
    "free": [[n - y, y] for y, n in SPECIFICITY],
}
POSITIVE, TESTED = 50, 3330
X = np.linspace(-14, 22, 2401)


def brute_force(studies, between):
    """Density of the logit of a new study's rate on X: sums over μ, σ and each study's own rate."""
    mu = np.linspace(-6, 12, 121)[:, None]
    sigma = (np.arange(60) + 0.5) / 60 * 4 * between
    log_rate, log_wrong = -np.logaddexp(0, -X), -np.logaddexp(0, X)
    found = np.zeros(len(X))
    for s in sigma:
        normal = np.exp(-(((X - mu) / s) ** 2) / 2) / s * (X[1] - X[0])
        log_post = -np.logaddexp(0, mu[:, 0]) - np.logaddexp(0, -mu[:, 0]) - (s / between) ** 2 / 2
        for y, n in studies:
            one = y * log_rate + (n - y) * log_wrong
            log_post += np.log(normal @ np.exp(one - one.max()) + 1e-300) + one.max()
        found += np.exp(log_post + 300) @ normal
    return found / found.sum()


def quantiles(density, at):
    return np.interp(at, np.cumsum(density), X)


@pytest.mark.parametrize("studies", [SENSITIVITY, SPECIFICITY, [(3, 9)]])
@pytest.mark.parametrize("between", [0.3, 1.0])
def test_a_new_study_against_brute_force(studies, between):
    right, n = np.array(studies, float).T
    R = 20_000
    rate, _, _ = draw_rate(right, n, between, R, fresh(81))
    logit = np.sort(np.log(rate / (1 - rate)))
    density = brute_force(studies, between)
    for p in (0.025, 0.25, 0.5, 0.75, 0.975):
        below = (logit <= quantiles(density, p)).mean()
        assert abs(below - p) < 5 * np.sqrt(p * (1 - p) / R) + 0.002  # the grid's own error


def test_without_differences_the_studies_are_one():
    """σ = 0: the posterior is the Beta of all units together, with a uniform prior."""
    R = 40_000
    rate, _, sigma = draw_rate(np.array([8.0, 20]), np.array([10.0, 22]), 0.0, R, fresh(82))
    a, b = 28 + 1, 4 + 1
    mean, var = a / (a + b), a * b / (a + b) ** 2 / (a + b + 1)
    assert (sigma == 0).all()
    assert abs(rate.mean() - mean) < 5 * np.sqrt(var / R)
    assert abs(rate.var() / var - 1) < 5 * np.sqrt(3 / R)


@pytest.mark.parametrize("between", [0.2, 0.5])
def test_prevalence_of_santa_clara(between):
    """Method `full` against sums over rates and prevalence.

    Gelman and Carpenter print (0.003, 0.012, 0.021) for between=0.2, with a flat prior of μ.
    """
    sens, spec = (brute_force(x, between) for x in (SENSITIVITY, SPECIFICITY))
    few = np.linspace(0, 0.2, 801)[1:]
    p = np.exp(-np.logaddexp(0, -X))
    weight = np.zeros(len(few))
    for i in np.flatnonzero(spec > 1e-9)[::8]:
        positive = few[:, None] * p[::12] + (1 - few[:, None]) * (1 - p[i])
        value = POSITIVE * np.log(positive) + (TESTED - POSITIVE) * np.log1p(-positive)
        weight += spec[i] * np.exp(value + 270) @ sens[::12]
    oracle = np.cumsum(weight) / weight.sum()
    est = run(between=between, method="full", draws=20_000)
    infected = est.draws[:, 0]
    prevalence = fresh(83).beta(1 + infected, 1 + TESTED - infected)
    same = np.unique(est.P[:, 0, 0], return_inverse=True)[1]  # one P may serve for many draws
    for at in (0.025, 0.5, 0.975):
        below = (prevalence <= np.interp(at, oracle, few)) - at
        error = np.sqrt((np.bincount(same, below) ** 2).sum()) / len(below)
        assert abs(below.mean()) < 5 * error + 0.004  # of the oracle's grid
    if between == 0.2:
        printed = np.quantile(prevalence, [0.025, 0.5, 0.975])
        assert np.abs(printed - [0.003, 0.012, 0.021]).max() < 0.0015


def run(seed=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = [POSITIVE, TESTED - POSITIVE]
        seed = fresh_seed(84) if seed is None else seed
        return tu.correct_counts(None, counts, studies=STUDIES, seed=seed, **options)


def test_more_different_studies_give_a_wider_interval_and_say_what_they_are():
    widths = []
    for between in (0.0, 0.2, 1.0):
        est = run(between=between, draws=4000)
        row = est.rows()[0]
        widths.append(row["upper"] - row["lower"])
    assert widths == sorted(widths)
    assert est.info["prior"] == "studies"
    assert [x["studies"] for x in est.info["studies"]] == [3, 13]
    assert "the error rates of 16 studies of 3,481 units" in est.to_markdown()
    assert not [x for x in est.info["warnings"] if "no test unit" in x]


def test_the_same_from_the_command(tmp_path):
    rows = [f"{g},{a},{b}" for g, x in STUDIES.items() for a, b in x]
    (tmp_path / "studies.csv").write_text("true,infected,free\n" + "\n".join(rows) + "\n")
    words = ["numbers", "--studies", str(tmp_path / "studies.csv"), "--predicted-counts", "50,3280"]
    words += ["--between", "0.2", "--seed", "7", "--json", "--report", str(tmp_path / "r.html")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == run(7, between=0.2).rows()
    assert "16 studies" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("option", "words"),
    [("--prior jeffreys", "place of `prior`"), ("--design random", "got 'random'")],
)
def test_the_command_ignores_neither_prior_nor_design(tmp_path, option, words):
    (tmp_path / "studies.csv").write_text("true,a,b\na,9,1\nb,1,9\n")
    given = ["--studies", str(tmp_path / "studies.csv"), "--predicted-counts", "10,90"]
    done = CliRunner().invoke(main, ["numbers", *given, *option.split()])
    assert done.exit_code == 2
    assert words in done.stderr


def test_a_file_without_a_header_is_told_to_have_one(tmp_path):
    path = tmp_path / "studies.csv"
    path.write_text("infected,78,7\nfree,3,368\n")
    for option in ("--studies", "--test"):
        done = CliRunner().invoke(main, ["numbers", option, str(path), "--predicted-counts", "9,9"])
        assert done.exit_code == 2
        assert "must name the predicted classes; got 'infected,78,7'" in done.stderr
        assert "put a header above it, as in: true,infected,free" in done.stderr
    path.write_text("true,infected,free\ninfected,78,7\n")
    done = CliRunner().invoke(
        main, ["numbers", "--studies", str(path), "--predicted-counts", "9,9"]
    )
    assert "both classes, 'infected' and 'free'; there is none of 'free'" in done.stderr


def test_the_design_is_that_of_known_cases():
    assert run(draws=200).info["design"] == "by_class"
    assert run(draws=200, design="shifted").info["design"] == "shifted"


def test_studies_have_no_sensitivity_to_a_prior_that_is_not_used():
    with pytest.raises(tu.OptionError, match="uses none"):
        run(draws=200).sensitivity()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"studies": None}, "neither `studies` nor `P`"),
        ({"between": -1}, "`between` must be"),
        ({"between": float("nan")}, "`between` must be"),
        ({"studies": [[1, 2]]}, "must name the true class"),
        ({"studies": {"a": [[1, 2]]}}, "two classes"),
        ({"studies": {"a": [[1, 2]], "b": []}}, "studies of both classes"),
        ({"studies": {"a": [[1, 2]], "b": [[0, 0]]}}, "at least one unit"),
        ({"studies": {"a": [[1, 2]], "b": [[-1, 2]]}}, "whole numbers"),
        ({"studies": {"a": [[1, 2]], "b": [[1, 2.5]]}}, "whole numbers"),
        ({"studies": {"a": [[1, 2]], "b": [[1, None]]}}, "whole numbers"),
        ({"studies": {"a": [[1, 2]], "b": [[1, 2, 3]]}}, "two numbers"),
        ({"studies": {"a": [[1, 2]], "b": [["x", 2]]}}, "two numbers"),
        ({"test": [[1, 2], [3, 4]]}, "takes the place of `test`"),
        ({"P": [[0.9, 0.1], [0.2, 0.8]]}, "takes the place of `P`"),
        ({"classes": ["a", "c"]}, "both classes, 'a' and 'c'; there is none of 'c'"),
        ({"studies": {"a": [[1, 2]], "b": []}}, "both classes, 'a' and 'b'; there is none of 'b'"),
        (
            {"studies": {"a": [[1, 2]], "b": [[1, 2]], "c": [[1, 2]]}, "classes": ["a", "b"]},
            r"got \['a', 'b', 'c'\]",
        ),
        ({"method": "joint"}, "`method` must be one of"),
        ({"seed": -1}, "`seed`"),
        ({"prior": "jeffreys"}, "takes the place of `prior`"),
        ({"prior": tu.Dirichlet(2.0)}, "takes the place of `prior`"),
        ({"design": "random"}, "'by_class' or 'shifted'; got 'random'"),
        ({"design": "by_prediction"}, "'by_class' or 'shifted'; got 'by_prediction'"),
        ({"design": "srs"}, "`design` must be one of"),
    ],
)
def test_bad_input_is_refused_in_words(options, words):
    given = {"test": None, "studies": {"a": [[9, 1]], "b": [[1, 9]]}} | options
    with pytest.raises(tu.TrueupError, match=words):
        tu.correct_counts(given.pop("test"), [10, 90], **given)
