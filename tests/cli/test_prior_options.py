"""`--prior` and `--rates` from the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.stand_ins import quick_nuts

import trueup as tu
from trueup.cli import main
from trueup.draws import nuts, rates

TEST = "14,6;3,77"
NUMBERS = ["numbers", "--test", TEST, "--predicted-counts", "1700,8300", "--seed", "5"]
NUMBERS += ["--draws", "1000", "--classes", "web,other", "--json"]
AUDIT = [[70, 30], [12, 388]]


def run(arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def estimate(draws=1000, **options):
    return tu.correct_counts(
        [[14, 6], [3, 77]], [1700, 8300], classes=["web", "other"], seed=5, draws=draws, **options
    )


FORMS = {
    "jeffreys": "jeffreys",
    "from-counts:70,30;12,388:0.5": tu.prior.from_counts(AUDIT, 0.5),
    "from-range:web:0.60-0.85": tu.prior.from_range("web", recall=(0.6, 0.85)),
    "from-range:web:0.60-0.85:0.5": tu.prior.from_range("web", recall=(0.6, 0.85), probability=0.5),
    "diagonal:2": tu.prior.diagonal(2),
    "dirichlet:7,3;1,19": tu.Dirichlet([[7, 3], [1, 19]]),
    "logistic-normal": tu.prior.logistic_normal(),
    "logistic-normal:0.15": tu.prior.logistic_normal(error=0.15),
    "logistic_normal:0.15:0.8": tu.prior.logistic_normal(error=0.15, sd=0.8),
    "hierarchical:0.2:0.9:0.4": tu.prior.hierarchical(error=0.2, sd=0.9, between=0.4),
    "truncated:0.5-1": tu.prior.truncated(recall=(0.5, 1)),
    "symmetric:2": tu.prior.symmetric(2),
    "ordered": tu.prior.ordered(),
}


@pytest.mark.parametrize("text", FORMS)
def test_every_form_is_the_function(text):
    answer = run([*NUMBERS, "--prior", text, "--draws", "300"])  # so few need no NUTS
    est = estimate(prior=FORMS[text], draws=300)
    assert answer["rows"] == est.rows()
    assert answer["info"]["prior"] == est.info["prior"]
    assert {"rhat", "ess"} <= set(answer["info"])
    if est.info.get("sampler"):
        assert answer["info"]["sampler"] == est.info["sampler"]
        assert answer["info"]["ess"] > 100


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("haldane", "must be one of perks, jeffreys and uniform, or start with one of"),
        ("from_ranges:web:0.6-0.8", "trueup correct --help"),
        ("diagonal", "diagonal:2"),
        ("diagonal:much", "diagonal:2"),
        ("diagonal:2:3", "diagonal:2"),
        ("diagonal:-1", "`strength` must be a number between 0 and"),
        ("from-range:web:0.9", "from-range:webshop:0.80-0.95"),
        ("from-range:web:0.95-0.80", "0 < low < high < 1"),
        ("from-range:web:0.60-0.85:2", "between 0 and 1"),
        ("from-range:shop:0.60-0.85", "names class 'shop'"),
        ("from-range", "from-range:webshop:0.80-0.95"),
        ("from-counts:70,30;12,388", "from-counts:matrix.csv:0.5"),
        ("from-counts:70,30;12,388:3", "between 0 (forget it) and 1"),
        ("from-counts:no-such-file.csv:0.5", "no-such-file.csv"),
        ("from-counts:70,30;12:0.5", "equal length"),
        ("dirichlet:7,3,1;1,19,1;1,1,1", "shape (2, 2)"),
        ("dirichlet:", "must hold numbers"),
        ("logistic-normal:2", "between 0 and 1"),
        ("logistic-normal:0.1:1:7", "logistic-normal:0.1:1"),
        ("hierarchical:a", "hierarchical:0.15"),
        ("truncated:0.5", "truncated:0.5-1"),
        ("truncated", "truncated:0.5-1"),
        ("symmetric:0", "between 0 and 100"),
        ("ordered:3", "ordered"),
        ("regression:x", "needs the tables themselves"),
    ],
)
def test_a_bad_spelling_is_one_message(text, words):
    result = CliRunner().invoke(main, [*NUMBERS, "--prior", text])
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("Error:") == 1
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_prior_by_nuts_says_how_it_went_and_that_it_did_not_converge(monkeypatch):
    monkeypatch.setattr(rates, "ENOUGH", 2.0)
    monkeypatch.setattr(nuts, "run_nuts", quick_nuts)  # whose chains stay apart
    result = CliRunner().invoke(main, [*NUMBERS, "--prior", "logistic-normal:0.15"])
    assert result.exit_code == 0
    assert "Warning: NUTS has not converged: R-hat" in result.stderr
    info = json.loads(result.stdout)["info"]
    assert any(words.startswith("NUTS has not converged") for words in info["warnings"])
    assert info["sampler"] == "nuts"
    assert 1.1 < info["rhat"] < 2
    assert info["ess"] > 0
    assert info["chains"] == 4


def test_a_prior_by_chains_says_how_it_went(monkeypatch):
    monkeypatch.setattr(rates, "ENOUGH", 2.0)
    info = run([*NUMBERS, "--prior", "truncated:0.5-1"])["info"]
    assert info["sampler"] == "pair walk"
    assert 0.99 < info["rhat"] < 1.1
    assert info["ess"] > 50
    assert info["chains"] >= 4


def test_known_rates():
    answer = run([*NUMBERS, "--rates", "0.75,0.25;0.03,0.97"])
    est = estimate(P=[[0.75, 0.25], [0.03, 0.97]])
    assert answer["rows"] == est.rows()
    for text, words in (("0.75,0.25;0.3,0.97", "sum to 1"), ("1,2,3", "shape"), ("a", "numbers")):
        result = CliRunner().invoke(main, [*NUMBERS, "--rates", text])
        assert result.exit_code == 2
        assert words in result.stderr
        assert result.stderr.count("Error:") == 1


@pytest.fixture
def files(tmp_path):
    """Tables whose classes sort as other, web, and matrices that name them web, other."""
    rng = np.random.default_rng(1)
    true = np.where(rng.random(3000) < 0.2, "web", "other")
    miss = rng.random(3000) < np.where(true == "web", 0.3, 0.03)
    predicted = np.where(miss, np.where(true == "web", "other", "web"), true)
    table = pd.DataFrame({"unit": range(3000), "predicted": predicted, "y": rng.random(3000)})
    table.to_csv(tmp_path / "all.csv", index=False)
    table.assign(true=true)[:120].to_csv(tmp_path / "test.csv", index=False)
    (tmp_path / "audit.csv").write_text("true,web,other\nweb,70,30\nother,12,388\n")
    (tmp_path / "rates.csv").write_text("true,web,other\nweb,0.7,0.3\nother,0.03,0.97\n")
    return tmp_path


def correct(files, *more):
    paths = [str(files / "all.csv"), str(files / "test.csv")]
    return run(["correct", *paths, "--seed", "5", "--draws", "500", "--json", *more])


def of(files, **options):
    paths = str(files / "all.csv"), str(files / "test.csv")
    return tu.correct(*paths, seed=5, draws=500, **options).rows()


def test_a_labelled_file_is_read_by_its_labels(files):
    """Not by its order: the tables' classes are other, web; the file has web, other."""
    turned = [[388, 12], [30, 70]]
    answer = correct(files, "--prior", f"from-counts:{files / 'audit.csv'}:0.5")
    assert answer["rows"] == of(files, prior=tu.prior.from_counts(turned, 0.5))
    answer = correct(files, "--prior", f"dirichlet:{files / 'audit.csv'}")
    assert answer["rows"] == of(files, prior=tu.Dirichlet(turned))


def test_labelled_rates_too(files):
    answer = correct(files, "--rates", str(files / "rates.csv"))
    expected = of(files, P=[[0.7, 0.3], [0.03, 0.97]], classes=["web", "other"])
    assert answer["rows"] == expected
    answer = correct(files, "--rates", str(files / "rates.csv"), "--classes", "other,web")
    assert answer["rows"] == of(files, P=[[0.97, 0.03], [0.3, 0.7]])
    numbers = [x if x != "web,other" else "other,web" for x in NUMBERS]
    answer = run([*numbers, "--rates", str(files / "rates.csv")])
    swapped = {"P": [[0.97, 0.03], [0.3, 0.7]], "classes": ["other", "web"]}
    est = tu.correct_counts([[14, 6], [3, 77]], [1700, 8300], seed=5, draws=1000, **swapped)
    assert answer["rows"] == est.rows()


def test_labels_of_another_data_set_are_refused(files):
    (files / "audit.csv").write_text("true,shop,other\nshop,70,30\nother,12,388\n")
    paths = [str(files / "all.csv"), str(files / "test.csv")]
    prior = f"from-counts:{files / 'audit.csv'}:0.5"
    result = CliRunner().invoke(main, ["correct", *paths, "--prior", prior])
    assert result.exit_code == 2
    assert "'shop'" in result.stderr


def test_check_takes_a_prior_that_names_a_class(files):
    paths = [str(files / "all.csv"), str(files / "test.csv")]
    result = CliRunner().invoke(main, ["check", *paths, "--prior", "from-range:web:0.60-0.85"])
    assert result.exit_code == 0, result.output
    assert "prior 'from_range' counts as" in result.stdout


def test_a_regression_from_the_command_line(files, monkeypatch):
    monkeypatch.setattr(nuts, "run_nuts", quick_nuts)
    answer = correct(files, "--prior", "regression:y:log")
    assert answer["info"]["sampler"] == "nuts"
    assert answer["info"]["prior"] == "regression"
    plain, logs = (of(files, prior=tu.prior.regression("y", log=log)) for log in (False, True))
    assert answer["rows"] == logs
    assert answer["rows"] != plain
