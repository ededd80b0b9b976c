"""Other packages on the same inputs; those that are not installed are named as skipped."""

import warnings
from typing import Any

import numpy as np

from trueup.draws.samplers import draw_full, ess
from trueup.estimate import classical
from trueup.verify.findings import SKIPPED, Finding


def peers(seed: int) -> list[Finding]:
    """`difference` against ppi-python, and `full` against NumPyro."""
    return [_ppi(seed), _numpyro(seed)]


def _skipped(what: str) -> Finding:
    return Finding("peers", what, 0, "not installed", "", SKIPPED)


def _ppi(seed: int) -> Finding:
    what = "difference = ppi-python"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ppi_py  # type: ignore[import-untyped]
    except ImportError:
        return _skipped(what)
    rng = np.random.default_rng(seed)
    K, N, m, off = 3, 800, 90, []
    for lam in (None, 1):
        s = rng.choice(K, N, p=[0.15, 0.25, 0.6])
        s_hat = np.where(rng.random(N) < 0.25, rng.integers(0, K, N), s)
        y = rng.lognormal(1.0, 1.0, N)
        test = rng.permutation(N)[:m]
        cells = [np.zeros((K, K)) for _ in range(3)]
        for power, cell in enumerate(cells):
            np.add.at(cell, (s[test], s_hat[test]), y[test] ** power)
        v_hat, u_hat, w_hat = (np.bincount(s_hat, y**power, K) for power in (0, 1, 2))
        ours = classical.difference(
            cells[0], v_hat, u_hat, w_hat, cells[1], cells[2], power_tuning=lam is None
        )
        ends = np.array([ours.lower, ours.upper], float)
        for g in range(K):
            arrays = (y[test] * (s[test] == g), y[test] * (s_hat[test] == g), y * (s_hat == g))
            theirs = np.squeeze(ppi_py.ppi_mean_ci(*arrays, alpha=0.05, lam=lam))
            off += list(np.abs(ends[:, g] / (N * theirs) - 1))
    worst = float(max(off))
    return Finding.judged("peers", what, len(off), f"relative {worst:.1g}", "1e-8", worst < 1e-8)


def _numpyro(seed: int) -> Finding:
    what = "full = NumPyro (NUTS)"
    try:
        import jax
        import numpyro  # type: ignore[import-untyped,unused-ignore]
        import numpyro.distributions as dist  # type: ignore[import-untyped,unused-ignore]
        from numpyro.infer import MCMC, NUTS  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return _skipped(what)
    rng = np.random.default_rng(seed)
    K = 3
    alpha, gamma = 0.5 + np.eye(K), np.array([1.0, 1.5, 2.0])
    rows = rng.dirichlet([2.0, 1.0, 1.0], K) * 0.4 + 0.6 * np.eye(K)
    n = np.array([rng.multinomial(8 + 4 * g, rows[g]) for g in range(K)])
    v_hat = rng.multinomial(80, rng.dirichlet(2 * gamma) @ rows)

    def model() -> None:
        P: Any = numpyro.sample("P", dist.Dirichlet(alpha).to_event(1))
        beta: Any = numpyro.sample("beta", dist.Dirichlet(gamma))
        for g in range(K):
            numpyro.sample(f"n{g}", dist.Multinomial(int(n[g].sum()), P[g]), obs=n[g])
        numpyro.sample("v_hat", dist.Multinomial(int(v_hat.sum()), beta @ P), obs=v_hat)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = MCMC(
            NUTS(model), num_warmup=500, num_samples=1000, num_chains=4,
            chain_method="vectorized", progress_bar=False,
        )  # fmt: skip
        run.run(jax.random.PRNGKey(seed % 2**31))
        theirs = np.asarray(run.get_samples(group_by_chain=True)["beta"], float)
    ours = draw_full(alpha + n, gamma, v_hat.astype(float), 4000, rng)
    off = []
    for power in (1, 2):  # the mean, and the mean square
        a, b = ours.beta**power, theirs**power
        error = a.std(axis=0) / np.sqrt(ours.info["ess"])
        error_b = [b[:, :, g].std() / np.sqrt(ess(b[:, :, g])) for g in range(K)]
        off += list(np.abs(a.mean(axis=0) - b.mean(axis=(0, 1))) / np.hypot(error, error_b))
    worst = float(max(off))
    return Finding.judged("peers", what, len(off), f"{worst:.1f} errors", "< 5", worst < 5)
