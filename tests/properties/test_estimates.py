"""What must hold for every input: permissible, additive, scaled, seeded, relabelled."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trueup as tu

BAYESIAN = ["bayes", "constrained", "joint", "full"]


@st.composite
def situations(draw):
    """A test matrix with some units on the diagonal, predicted counts, sums and squares."""
    K = draw(st.integers(2, 4))
    n = np.array([[draw(st.integers(0, 3)) for _ in range(K)] for _ in range(K)])
    n += np.diag([draw(st.integers(9, 30)) for _ in range(K)])  # better than chance, all seen
    v_hat = n.sum(axis=0) + np.array([draw(st.integers(1, 400)) for _ in range(K)])
    values = [np.exp(draw(st.floats(-2, 2)) * np.linspace(-1, 1, v)) for v in v_hat]
    sums, squares = (np.array([(y**k).sum() for y in values]) for k in (1, 2))
    return n, v_hat, sums, squares


@settings(max_examples=8, deadline=None)
@given(situation=situations(), method=st.sampled_from(BAYESIAN), seed=st.integers(0, 2**32))
def test_totals_are_permissible_and_add_up(situation, method, seed):
    n, v_hat, sums, squares = situation
    est = tu.correct_counts(
        n, v_hat, sums, squares, design="shifted", method=method, draws=200, seed=seed
    )
    assert (est.draws >= 0).all()
    assert np.allclose(est.draws.sum(axis=1), sums.sum(), rtol=1e-9)
    for row in est.rows():
        assert row["lower"] <= row["estimate"] <= row["upper"]


@settings(max_examples=8, deadline=None)
@given(situation=situations(), method=st.sampled_from(BAYESIAN), seed=st.integers(0, 2**32))
def test_counts_are_permissible_and_add_up(situation, method, seed):
    n, v_hat, *_ = situation
    est = tu.correct_counts(n, v_hat, design="by_class", method=method, draws=200, seed=seed)
    assert (est.draws >= 0).all()
    assert np.allclose(est.draws.sum(axis=1), v_hat.sum(), rtol=1e-9)


@settings(max_examples=6, deadline=None)
@given(
    situation=situations(),
    method=st.sampled_from(["joint", "bayes", "inverse", "calibrated"]),
    power=st.integers(-30, 30),
)
def test_scaling_the_value_scales_the_answer(situation, method, power):
    n, v_hat, sums, squares = situation
    scale = 2.0**power
    options = {"design": "by_class", "method": method, "draws": 200, "seed": 1}
    one = tu.correct_counts(n, v_hat, sums, squares, **options)
    other = tu.correct_counts(n, v_hat, scale * sums, scale**2 * squares, **options)
    for a, b in zip(one.rows(), other.rows(), strict=True):
        for name in ("naive", "estimate", "lower", "upper"):
            assert b[name] == pytest.approx(
                scale * a[name], rel=1e-6, abs=1e-9 * scale * sums.sum()
            )


@settings(max_examples=6, deadline=None)
@given(situation=situations(), method=st.sampled_from([*BAYESIAN, "inverse"]))
def test_the_same_seed_gives_the_same_draws(situation, method):
    n, v_hat, sums, squares = situation
    options = {"design": "by_class", "method": method, "draws": 200, "seed": 9}
    one = tu.correct_counts(n, v_hat, sums, squares, **options)
    other = tu.correct_counts(n, v_hat, sums, squares, **options)
    assert one.rows() == other.rows()


def relabelled(method, draws, order=(2, 0, 1)):
    """Return two estimates, of which the second has the classes in another order."""
    n, order = np.array([[40, 3, 2], [4, 30, 5], [1, 6, 20]]), list(order)
    v_hat, sums = np.array([400, 300, 200]), np.array([5e3, 9e3, 1e3])
    squares = sums**2 / v_hat * 3
    options = {"design": "by_class", "method": method, "draws": draws, "overlap": False}
    return tu.correct_counts(n, v_hat, sums, squares, **options), tu.correct_counts(
        n[np.ix_(order, order)], v_hat[order], sums[order], squares[order], **options
    )


@pytest.mark.parametrize("method", ["joint", "constrained", "full"])
def test_relabelling_permutes_the_moments(method):
    """Within 5 errors, some 5% of an interval's width."""
    one, other = relabelled(method, 1500)
    for g, original in enumerate([2, 0, 1]):
        for power in (1, 2):
            x, y = (est.draws[:, i] ** power for est, i in ((one, original), (other, g)))
            sizes = (min(est.info.get("ess", 1500), 1500) for est in (one, other))
            error = np.sqrt(sum(z.var() / size for z, size in zip((x, y), sizes, strict=True)))
            assert abs(x.mean() - y.mean()) < 5 * error


@pytest.mark.parametrize("method", ["bayes", "inverse"])
def test_relabelling_permutes_the_answer(method):
    """Their draws have no mean."""
    one, other = (est.rows() for est in relabelled(method, 20_000))
    for g, original in enumerate([2, 0, 1]):
        width = one[original]["upper"] - one[original]["lower"]
        for name in ("estimate", "lower", "upper"):
            # quantiles of 20,000 draws: 5 errors of the 2.5% quantile are under 6% of the width
            assert abs(one[original][name] - other[g][name]) < 0.06 * width


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize("method", BAYESIAN)
def test_nearly_perfect_predictions_change_next_to_nothing(method):
    n = 100_000 * np.eye(3, dtype=int)
    est = tu.correct_counts(n, [500, 300, 200], design="shifted", method=method, draws=400)
    assert [row["estimate"] for row in est.rows()] == pytest.approx([500, 300, 200], abs=1)


def test_signed_values_have_no_bound_and_info_says_so():
    est = tu.correct_counts(
        [[40, 3], [4, 30]], [400, 300], [-50.0, 20.0], [4000.0, 3000.0], design="shifted"
    )
    assert est.info["signed"] is True
    assert (est.draws < 0).any()
    assert np.allclose(est.draws.sum(axis=1), -30.0)


@pytest.mark.parametrize(
    "options",
    [{}, {"id": "unit"}, {"by": "g"}, {"drawn_within": "g"}, {"signed": True}, {"score": "p"}],
    ids=lambda x: next(iter(x), "plain"),
)
def test_the_unit_of_the_value_does_not_matter(options, rng, short_chains):
    """Bands once had fixed edges, and groups were fitted to within a fixed number of euros."""
    options = {"draws": 100, "seed": 1, "value": "y", **options}
    N, signed = 2000, options.pop("signed", False)
    true, p = rng.integers(2, size=N), rng.random(N)
    y = np.exp(rng.standard_normal(N) + true) * np.where(signed & (rng.random(N) < 0.3), -1, 1)
    units = pd.DataFrame({"unit": np.arange(N), "g": rng.integers(3, size=N), "p": p, "y": y})
    units["predicted"] = np.where(rng.random(N) < 0.8, true, 1 - true)
    audited = units.assign(true=true).iloc[rng.permutation(N)[:150]]
    if "id" in options:
        audited = audited[["unit", "true"]]
    found = []
    for scale in (1.0, 1000.0, 1 / 3, 1e-7):
        test_set = audited.assign(y=scale * audited["y"]) if "y" in audited else audited
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tu.TrueupWarning)
            est = tu.correct(units.assign(y=scale * units["y"]), test_set, **options)
        found.append(est.draws / scale)
    for draws in found[1:]:
        assert draws == pytest.approx(found[0], rel=1e-6, abs=1e-6)
