"""How much of an answer is prior."""

import numpy as np
import pytest

import trueup as tu

TEST, V_HAT = np.array([[14, 6], [3, 77]]), [1700, 8300]
OPTIONS = {"classes": ["web", "other"], "seed": 5, "draws": 2000}


def estimate(**options):
    return tu.correct_counts(TEST, V_HAT, **(OPTIONS | options))


def test_each_row_is_the_estimate_under_that_prior():
    found = estimate(prior=tu.prior.from_range("web", recall=(0.6, 0.8))).sensitivity()
    rows = found.rows()
    assert [row["class"] for row in rows] == ["web"] * 3 + ["other"] * 3
    assert [row["prior"] for row in rows] == ["from_range", "jeffreys", "uniform"] * 2
    for row in rows:
        prior = {"from_range": tu.prior.from_range("web", recall=(0.6, 0.8))}.get(
            row["prior"], row["prior"]
        )
        fresh = estimate(prior=prior).rows()[["web", "other"].index(row["class"])]
        assert [row[k] for k in ("estimate", "lower", "upper")] == [
            fresh[k] for k in ("estimate", "lower", "upper")
        ]


def test_prior_share_and_moves_by_hand():
    rows = estimate(prior=tu.Dirichlet([[8, 2], [1, 4]])).sensitivity().rows()
    shares = {(row["class"], row["prior"]): row["prior_share"] for row in rows}
    assert shares["web", "dirichlet"] == pytest.approx(10 / 30)  # 10 invented and 20 test units
    assert shares["other", "dirichlet"] == pytest.approx(5 / 85)
    assert shares["web", "jeffreys"] == pytest.approx(1 / 21)
    assert shares["other", "uniform"] == pytest.approx(2 / 82)
    given, other = rows[3], rows[5]
    assert given["moves"] == 0
    half = (given["upper"] - given["lower"]) / 2
    assert other["moves"] == pytest.approx((other["estimate"] - given["estimate"]) / half)


def test_what_moves_most_is_said():
    said = str(estimate(prior=tu.prior.diagonal(1)).sensitivity(["uniform"]))
    assert said.splitlines()[0].split()[:3] == ["class", "prior", "estimate"]
    assert "The choice of prior moves the estimate of" in said
    assert "under 'uniform'" in said
    assert "Audit more units" not in said
    strong = tu.Dirichlet([[900, 100], [300, 700]])
    assert "Audit more units" in str(estimate(prior=strong).sensitivity())


def test_a_prior_without_units_has_no_share():
    found = estimate(prior=tu.prior.logistic_normal()).sensitivity()
    assert found.rows()[0]["prior_share"] is None
    assert found.rows()[1]["prior_share"] is not None
    assert str(found).splitlines()[1].endswith("–")


def test_priors_of_one_kind_stand_beside_each_other():
    found = estimate(prior=tu.Dirichlet(1.0)).sensitivity([tu.Dirichlet(2.0), tu.Dirichlet(9.0)])
    assert list(found.estimates) == ["dirichlet", "dirichlet (2)", "dirichlet (3)"]
    third = estimate(prior=tu.Dirichlet(9.0)).rows()[0]["estimate"]
    assert found.rows()[2]["estimate"] == third


def test_the_given_prior_is_not_repeated():
    assert list(estimate(prior="jeffreys").sensitivity().estimates) == ["jeffreys", "uniform"]


def test_groups_are_compared_as_a_whole(rng):
    import pandas as pd

    true = rng.integers(2, size=900)
    table = pd.DataFrame({"predicted": np.where(rng.random(900) < 0.8, true, 1 - true)})
    table["region"] = np.arange(900) % 3
    est = tu.correct(table, table.assign(true=true)[:100], by="region", draws=500)
    rows = est.sensitivity().rows()
    assert len(rows) == 6
    assert rows[0]["estimate"] == est.rows()[-2]["estimate"]


@pytest.mark.parametrize(
    "options", [{"method": "naive"}, {"method": "inverse"}, {"P": [[0.8, 0.2], [0.1, 0.9]]}]
)
def test_without_a_prior_it_is_refused(options):
    with pytest.raises(tu.OptionError, match="needs a method that uses one"):
        estimate(**options).sensitivity()
