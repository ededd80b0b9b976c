"""A table that is itself a sample: shares of the larger population, with their sampling error."""

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from scipy import stats

import trueup as tu
from trueup.cli import main
from trueup.present.sentences import citations, question

KNOWN = {"P": [[1.0, 0.0], [0.0, 1.0]], "method": "constrained", "overlap": False}


def test_with_known_classes_shares_are_a_beta(rng):
    """Predictions that are never wrong: 40 of 400, Beta(40 + 1, 360 + 1): Perks has γ = 1."""
    est = tu.correct_counts([[9, 0], [0, 9]], [40, 360], **KNOWN, sample_of=float("inf"),
                            draws=20_000, seed=int(rng.integers(2**32)))  # fmt: skip
    row, exact = est.rows()[0], stats.beta(41, 361)
    error = exact.std() / np.sqrt(20_000)
    assert abs(row["mean"] / 400 - exact.mean()) < 5 * error
    for name, p in (("lower", 0.025), ("upper", 0.975)):
        assert abs(exact.cdf(row[name] / 400) - p) < 5 * np.sqrt(p * (1 - p) / 20_000)
    assert est.info["sample_of"] == "inf"


@pytest.mark.parametrize(
    ("infected", "free", "survey"),
    [([30, 2], [0, 80], [0, 200]), ([30, 2], [1, 80], [3, 47])],
)
@pytest.mark.parametrize("gamma", [[1.0, 1.0], [0.3, 4.0]])
def test_the_share_has_the_exact_posterior_of_beta(infected, free, survey, gamma, rng):
    """By quadrature over sensitivity, specificity and β, none of which trueup's draws go through.

    Half a unit for each class, whatever γ, put the median of 0 of 200 at a third of what it is.
    """
    b = stats.beta(*gamma).ppf((np.arange(1000) + 0.5) / 1000)
    p = (np.arange(80) + 0.5) / 80
    se = stats.beta(infected[0] + 1, infected[1] + 1).ppf(p)[:, None]
    fp = stats.beta(free[0] + 1, free[1] + 1).ppf(p)
    N, v = sum(survey), survey[0]
    likelihood = np.array([stats.binom.pmf(v, N, se * x + fp * (1 - x)).mean() for x in b])
    est = tu.correct_counts(
        [infected, free], survey, design="by_class", overlap=False, method="full",
        prior=tu.Dirichlet(1, gamma), sample_of=float("inf"), draws=20_000,
        seed=int(rng.integers(2**32)),
    )  # fmt: skip
    row, below = est.rows()[0], np.concatenate([[0.0], likelihood.cumsum() / likelihood.sum()])
    for name, q in (("lower", 0.025), ("estimate", 0.5), ("upper", 0.975)):
        at = stats.beta(*gamma).cdf(row[name] / N) * 1000
        found = np.interp(at, np.arange(1001), below)
        assert abs(found - q) < 5 * np.sqrt(q * (1 - q) / est.info["ess"]) + 0.002


def test_a_finite_population_is_beta_binomial(rng):
    est = tu.correct_counts([[9, 0], [0, 9]], [40, 360], **KNOWN, sample_of=1000,
                            draws=20_000, seed=int(rng.integers(2**32)))  # fmt: skip
    exact = stats.betabinom(600, 41, 361)
    row = est.rows()[0]
    assert abs(row["mean"] - 40 - exact.mean()) < 5 * exact.std() / np.sqrt(20_000)
    assert row["sd"] == pytest.approx(exact.std(), rel=0.05)
    assert row["naive"] == 100
    assert (est.draws.sum(axis=1) == 1000).all()
    whole = tu.correct_counts([[9, 0], [0, 9]], [40, 360], **KNOWN, sample_of=400, seed=1)
    assert whole.rows()[0]["sd"] == 0


def test_from_tables_and_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("predicted\n" + "a\n" * 40 + "b\n" * 360)
    (tmp_path / "t.csv").write_text("predicted,true\n" + "a,a\n" * 9 + "b,b\n" * 9)
    alone = tu.correct("p.csv", "t.csv", design="by_prediction", seed=1).rows()[0]
    wider = tu.correct("p.csv", "t.csv", design="by_prediction", seed=1, sample_of="inf").rows()[0]
    assert wider["sd"] > alone["sd"]
    est = tu.correct("p.csv", "t.csv", sample_of=5000, seed=1)
    larger = "The figures are about the 5,000 units that these 400 are a random sample of."
    assert "from the 400 units in p.csv" in question(est)
    assert question(est).endswith(larger)
    assert citations(est)[0].endswith(larger)
    done = CliRunner().invoke(main, ["correct", "p.csv", "t.csv", "--sample-of", "5000", "--json"])
    assert done.exit_code == 0, done.output
    assert '"sample_of": 5000' in done.stdout


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"sample_of": 399}, "at least the 400 units"),
        ({"sample_of": 500.5}, "whole number"),
        ({"sample_of": "many"}, "whole number"),
        ({"sample_of": 500, "predicted_sums": [4.0, 5.0]}, "sum of squares"),
        ({"sample_of": 500, "method": "calibrated"}, "method with draws"),
    ],
)
def test_what_it_cannot_be(more, words):
    with pytest.raises(tu.OptionError, match=words):
        tu.correct_counts([[9, 1], [2, 9]], [40, 360], **more)


def test_groups_are_corrected_one_by_one_instead():
    table = pa.table({"predicted": ["a", "b"], "true": ["a", "b"], "region": ["n", "s"]})
    with pytest.raises(tu.OptionError, match="cannot be combined with `by`") as refusal:
        tu.correct(table, table, by="region", sample_of=500)
    assert "correct each group by itself" in refusal.value.hint
