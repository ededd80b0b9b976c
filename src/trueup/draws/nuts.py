"""Priors that are not conjugate, by NUTS: NumPyro's, the extra ``mcmc``.

The chains of `pair_walk` need no gradient and no other package, but do not take its place: with
`prior.hierarchical()`, eight classes and a shifted test set of 240 units, they had R-hat 1.73 after
66 s of processor time, where NUTS had 1.005 after 29 s.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from trueup.count.counts import Counts
from trueup.draws.density import Posterior, back, log_density, starts
from trueup.draws.settings import Settings
from trueup.errors import OptionError, optional
from trueup.numerics.arrays import Floats
from trueup.numerics.diagnostics import ess, rhat

Params = dict[str, Any]

CHAINS = 4
WARM_UP = 500
MOST_UNITS = 10_000.0
MOST_RHAT = 1.01
LEAST_ESS = 400


def load_numpyro() -> Any:
    """Import NumPyro, or say how to get it."""
    words = "With these data this prior needs NUTS from NumPyro, which is not installed."
    return optional("numpyro", words, "pip install 'trueup[mcmc]'")


def draw_nuts(it: Posterior, settings: Settings) -> tuple[Floats, Floats | None, dict[str, Any]]:
    """Draw P, and c where the method has it; chains first, so the draws of one stand together.

    Each simplex is written in log odds against its own class, and ρ against its last.
    """
    load_numpyro()
    import jax
    import jax.numpy as jnp

    x = starts(it, CHAINS, settings.rng)
    J, K = x.shape[1:]
    against = np.minimum(np.arange(J), K - 1)
    free = np.arange(K) != against[:, None]

    def logs(z: Any) -> Any:
        return jax.nn.log_softmax(jnp.zeros((J, K)).at[free].set(z), axis=-1)

    def target(at: Params) -> Any:
        log_x = logs(at["z"])
        return log_density(log_x, it, jnp) + log_x.sum()  # the Jacobian of log odds is Π x

    with np.errstate(divide="ignore"):
        log_x = np.log(np.maximum(x, 1e-12))
    odds = log_x - log_x[:, np.arange(J), against][:, :, None]
    draws, info = run_nuts(target, {"z": odds[:, free]}, settings)
    z = np.zeros((*draws["z"].shape[:2], J, K))
    z[..., free] = draws["z"]
    e = np.exp(z - z.max(axis=-1, keepdims=True)).reshape(-1, J, K)
    P, c = back(e / e.sum(axis=-1, keepdims=True), it)
    by_chain = P.reshape(CHAINS, -1, K * K)
    return P, c, info | diagnose(by_chain, info["divergences"])


def run_nuts(
    log_density: Callable[[Params], Any], starts: Params, settings: Settings
) -> tuple[Params, dict[str, Any]]:
    """Run NUTS from `starts`, a value per chain; draws come as (chains, draws, …)."""
    load_numpyro()
    import jax
    from numpyro.infer import MCMC, NUTS

    each = -(-settings.draws // CHAINS)
    tell = settings.progress

    class Telling(NUTS):  # type: ignore[misc]
        """NUTS with a progress report."""

        def sample(self, state: Any, *arguments: Any) -> Any:
            if tell is not None:
                jax.debug.callback(
                    lambda i: tell(min(int(np.max(i)) / (WARM_UP + each), 1.0)), state.i
                )
            return super().sample(state, *arguments)

    with jax.enable_x64(True):
        mcmc = MCMC(
            Telling(potential_fn=lambda at: -log_density(at), target_accept_prob=0.9),
            num_warmup=WARM_UP,
            num_samples=each,
            num_chains=CHAINS,
            chain_method="vectorized",
            progress_bar=False,
        )
        key = jax.random.PRNGKey(int(settings.rng.integers(2**31)))
        try:
            mcmc.run(key, init_params=starts, extra_fields=("diverging",))
        except (jax.errors.JAXTypeError, TypeError, AttributeError) as error:
            first = str(error).strip().splitlines()[0]
            raise OptionError(
                f"NUTS must be able to differentiate the log density; it cannot: {first}",
                hint="write it as f(P, np) and use that np, not an imported one.",
            ) from None
        draws = {k: np.asarray(x) for k, x in mcmc.get_samples(group_by_chain=True).items()}
        divergences = int(np.asarray(mcmc.get_extra_fields()["diverging"]).sum())
    return draws, {"sampler": "nuts", "divergences": divergences, "warm_up": WARM_UP}


def diagnose(x: Floats, divergences: int) -> dict[str, Any]:
    """R-hat and effective draws of the worst of some quantities (chains, draws, quantities)."""
    cells = range(x.shape[2])
    worst = max(rhat(x[:, :, i]) for i in cells)
    least = min(ess(x[:, :, i]) for i in cells)
    size = x.shape[0] * x.shape[1]
    warnings = []
    if worst > MOST_RHAT or least < LEAST_ESS:
        warnings.append(
            f"NUTS has not converged: R-hat {worst:.4f} (at most {MOST_RHAT} is good), {least:.0f} "
            f"effective draws (at least {LEAST_ESS}). Ask for more draws, or a gentler prior."
        )
    elif divergences > 0.01 * size:
        warnings.append(
            f"NUTS diverged on {divergences} of {size:,} draws: a corner of this prior may be "
            "missing from the answer."
        )
    return {"rhat": worst, "ess": min(least, float(size)), "warnings": warnings, "chains": CHAINS}


def draw_regression(
    every: list[Counts], rests: list[Counts], settings: Settings
) -> tuple[Floats, Floats, dict[str, Any]]:
    """Draw P and β of every bin, (R, J, K, K) and (R, J, K), when log odds are linear in x.

    A test set drawn from the population tells of columns, Pr(true | predicted, x), and nothing
    else is needed. Otherwise it tells of rows, Pr(predicted | true, x); base rates of every bin
    then follow from v̂ ~ Mult(N, Pᵀβ), where N above `MOST_UNITS` counts as that many: the normal
    error of a share is then at most half a percentage point, and NUTS need not take tiny steps.
    """
    load_numpyro()
    import jax
    import jax.numpy as jnp

    prior, rng, from_population = settings.regression, settings.rng, settings.from_population
    assert prior is not None
    J, K = len(every), every[0].K
    x = np.asarray(prior.centres)
    n = np.stack([counts.n for counts in every]).astype(float)
    v_hat = np.stack([rest.v_hat for rest in rests]).astype(float)
    v_hat *= np.minimum(1.0, MOST_UNITS / np.maximum(v_hat.sum(axis=1, keepdims=True), 1.0))
    if from_population:
        n = np.swapaxes(n, 1, 2)  # a simplex per predicted class
    free = ~np.eye(K, dtype=bool)
    middle = np.log(prior.error / (K - 1) / (1 - prior.error))

    def simplices(at: Params) -> Any:
        """Logs of the rows (or columns) of every bin, (J, K, K)."""
        odds = middle + prior.sd * at["a"] + prior.slope_sd * at["b"] * x[:, None]
        return jax.nn.log_softmax(jnp.zeros((J, K, K)).at[:, free].set(odds), axis=-1)

    def target(at: Params) -> Any:
        log_p = simplices(at)
        found = (n * log_p).sum() - 0.5 * (at["a"] ** 2).sum() - 0.5 * (at["b"] ** 2).sum()
        if from_population:
            return found
        log_beta = jax.nn.log_softmax(jnp.append(at["r"], jnp.zeros((J, 1)), axis=1), axis=1)
        log_rho = jax.nn.logsumexp(log_beta[:, :, None] + log_p, axis=1)
        return found + (v_hat * log_rho).sum() + (settings.prior.gamma * log_beta).sum()

    begin: Params = {"a": rng.normal(0, 0.3, (CHAINS, K * (K - 1)))}
    begin["b"] = rng.normal(0, 0.3, (CHAINS, K * (K - 1)))
    if not from_population:
        shares = (v_hat + 1) / (v_hat + 1).sum(axis=1, keepdims=True)
        begin["r"] = np.tile(np.log(shares[:, :-1] / shares[:, -1:]), (CHAINS, 1, 1))
    draws, info = run_nuts(target, begin, settings)
    info |= diagnose(np.concatenate([draws["a"], draws["b"]], axis=2), info["divergences"])
    flat = {k: y.reshape(-1, *y.shape[2:])[: settings.draws] for k, y in draws.items()}
    odds = middle + prior.sd * flat["a"][:, None] + prior.slope_sd * flat["b"][:, None] * x[:, None]
    z = np.zeros((len(odds), J, K, K))
    z[..., free] = odds
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    e /= e.sum(axis=-1, keepdims=True)
    if not from_population:
        r = np.append(flat["r"], np.zeros((len(e), J, 1)), axis=2)
        beta = np.exp(r - r.max(axis=2, keepdims=True))
        return e, beta / beta.sum(axis=2, keepdims=True), info
    every_rho = np.stack([(c.v_hat + 1e-9) / (c.v_hat + 1e-9).sum() for c in every])
    theta = np.swapaxes(e, 2, 3) * every_rho[:, None, :]
    beta = theta.sum(axis=3)
    return theta / beta[..., None], beta, info
