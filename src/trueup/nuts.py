"""Priors that are not conjugate, by NUTS: NumPyro's, the extra ``mcmc``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.density import Posterior, back, log_density, starts
from trueup.errors import OptionError
from trueup.samplers.diagnostics import ess, rhat
from trueup.settings import Settings

__all__ = ["draw_nuts", "load_numpyro", "run_nuts"]

Floats = NDArray[np.float64]
Params = dict[str, Any]

CHAINS = 4
WARM_UP = 500
MOST_RHAT = 1.01
LEAST_ESS = 400


def load_numpyro() -> Any:
    """Import NumPyro, or say how to get it."""
    try:
        import numpyro
    except ImportError:
        raise OptionError(
            "With these data this prior needs NUTS from NumPyro, which is not installed.",
            hint="pip install 'trueup[mcmc]'",
        ) from None
    return numpyro


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
    return P, c, info | _diagnose(P, info["divergences"])


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
        """NUTS that says how far it is."""

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


def _diagnose(P: Floats, divergences: int) -> dict[str, Any]:
    """R-hat and effective draws of the worst rate, with a warning where they are not good."""
    by_chain = P.reshape(CHAINS, -1, P.shape[1] ** 2)
    cells = range(by_chain.shape[2])
    worst = max(rhat(by_chain[:, :, i]) for i in cells)
    least = min(ess(by_chain[:, :, i]) for i in cells)
    warnings = []
    if worst > MOST_RHAT or least < LEAST_ESS:
        warnings.append(
            f"NUTS has not converged: R-hat {worst:.3f} (at most {MOST_RHAT} is good), {least:.0f} "
            f"effective draws (at least {LEAST_ESS}). Ask for more draws, or a gentler prior."
        )
    elif divergences > 0.01 * len(P):
        warnings.append(
            f"NUTS diverged on {divergences} of {len(P):,} draws: a corner of this prior may be "
            "missing from the answer."
        )
    return {"rhat": worst, "ess": min(least, float(len(P))), "warnings": warnings, "chains": CHAINS}
