"""Effective draws per second of the slowest β_g: trueup, plain rejection and NumPyro NUTS.

    python bench/samplers.py            trueup against rejection
    python bench/samplers.py --nuts     and against NUTS (pip install trueup[mcmc])
    python bench/samplers.py --hard     what once took minutes, in seconds of processor time
    python bench/samplers.py --old OLD/src      side by side with another version's samplers, after
                                                git archive 77081dd src | tar -x -C OLD

All in one run on one machine, so read the ratios, not the times. Populations of 20,000, accuracy
0.85, unequal classes, test set with other base rates than the population, prior α = 1/K.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueup.draws.samplers import draw_constrained, ess, rhat
from trueup.draws.samplers.rejection import Proposals

CASES = [(2, 10), (3, 100), (5, 100), (15, 100), (15, 500), (15, 2000), (30, 500)]
FRESH = """
import time; t = time.perf_counter()
import sys; sys.path.insert(0, {folder!r})
from samplers import case
import numpy as np
from trueup.draws.samplers import draw_constrained
a, v_hat = case(15, {n})
draws = draw_constrained(a, v_hat, 4000, np.random.default_rng(1))
print(time.perf_counter() - t, draws.info["rhat"], draws.info["ess"])
"""


def case(K, n, seed=0, N=20_000, accuracy=0.85):
    """Posterior parameters a = 1/K + n and counts v̂ of a made-up population."""
    rng = np.random.default_rng([K, n, seed])
    base = 1 / np.arange(1, K + 1)
    base /= base.sum()
    P = accuracy * np.eye(K) + (1 - accuracy) * rng.dirichlet(np.ones(K), K)
    counts = rng.multinomial(n, (base[:, None] * P).ravel()).reshape(K, K)
    return counts + 1 / K, rng.multinomial(N, np.roll(base, -1) @ P).astype(float)


def peculiar(size=100_000):
    """Seconds for the Peculiar Example: batched rejection of both rectangles, and ours."""
    a, v_hat = np.array([[4.5, 1.5], [2.5, 3.5]]), np.array([10.0, 90.0])
    rho = v_hat / v_hat.sum()

    def reject():
        rng, found = np.random.default_rng(1), 0
        while found < size:
            x, y = rng.beta(1.5, 4.5, 500_000), rng.beta(2.5, 3.5, 500_000)
            keep = ((x <= rho[1]) & (y <= rho[0])) | ((x >= rho[1]) & (y >= rho[0]))
            found += np.count_nonzero(keep)

    def ours():
        draw_constrained(a, v_hat, size, np.random.default_rng(1))

    return min(timed(reject) for _ in range(3)), min(timed(ours) for _ in range(5))


def timed(f):
    """Seconds that f takes."""
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def rejection_rate(a, v_hat, seconds=2.0):
    """Independent draws per second by plain rejection."""
    K, found, start = len(a), 0, time.perf_counter()
    proposals = Proposals(a, v_hat / v_hat.sum(), np.random.default_rng(2))
    P, beta = np.empty((proposals.most, K, K)), np.empty((proposals.most, K))
    while (spent := time.perf_counter() - start) < seconds:
        found += proposals.keep(proposals.most, P, beta)
    return found / spent


MOST_NUTS = 15
"""Beyond this NUTS takes a quarter of an hour and more."""


@dataclass
class Nuts:
    """Draws of β (chains, draws, K) and seconds, without and with compilation."""

    beta: np.ndarray
    seconds: float
    with_compilation: float


def nuts(a, v_hat, warm_up=500, draws=1000, chains=2, seed=0, timed=True):
    """Run the same posterior in NumPyro: Dirichlet columns c, density of design/model.md.

    To be timed it runs twice, so that one run does not compile.
    """
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    numpyro.set_host_device_count(chains)  # before JAX starts: a device for each chain
    jax.config.update("jax_enable_x64", True)
    K, rho, powers = len(v_hat), jnp.asarray(v_hat / v_hat.sum()), jnp.asarray(a.sum(axis=1))

    def model():
        with numpyro.plate("columns", K):
            c = numpyro.sample("c", dist.Dirichlet(jnp.asarray(a.T)))
        theta = c.T * rho
        beta = numpyro.deterministic("beta", theta.sum(axis=1))
        numpyro.factor("p", jnp.linalg.slogdet(theta)[1] - powers @ jnp.log(beta))

    mcmc = MCMC(
        NUTS(model),
        num_warmup=warm_up,
        num_samples=draws,
        num_chains=chains,
        chain_method="parallel" if jax.local_device_count() >= chains else "sequential",
        progress_bar=False,
    )

    def run(key):
        mcmc.run(jax.random.PRNGKey(key))
        return np.asarray(mcmc.get_samples(group_by_chain=True)["beta"])

    if not timed:
        return Nuts(run(seed), np.nan, np.nan)
    start = time.perf_counter()
    run(seed)
    middle = time.perf_counter()
    beta = run(seed + 1)
    return Nuts(beta, time.perf_counter() - middle, middle - start)


THREE = np.array([[5, 3, 0], [2, 40, 1], [0, 1, 10]]) + 1 / 3, np.array([7.0, 593, 400])
ALIKE = np.array([[30, 32, 28, 30], [29, 33, 30, 28], [31, 30, 29, 30], [30, 28, 31, 31]]) + 0.25
ODDS = np.array([[29, 33, 6, 36], [31, 17, 9, 28], [4, 10, 29, 26], [12, 37, 30, 27]]) + 0.5
HARD = {
    "K=15, n=100": ("constrained", *case(15, 100)),
    "K=15, n=500": ("constrained", *case(15, 500)),
    "K=15, n=2,000": ("constrained", *case(15, 2000)),
    "K=10, n=60, shifted": ("constrained", *case(10, 60)),
    "K=4, near-equal rows": ("constrained", ALIKE, np.array([300.0, 200, 260, 240])),
    "contradicting, K=4": ("constrained", ODDS, np.array([19.0, 21, 1200, 40])),
    "full, by_class": (1.0, *THREE),
    "full, gamma 0.3": (0.3, *THREE),
    "full, gamma 0.03": (0.03, *THREE),
    "full, gamma 0.001": (1e-3, *THREE),
    "full, gamma 0.000001": (1e-6, *THREE),
    "full, gamma 0.001, four classes": (1e-3, *case(4, 40)),
    "K=30, n=500": ("constrained", *case(30, 500)),
    "K=40, n=600": ("constrained", *case(40, 600)),
}
ONE = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
import numpy as np
try:
    from trueup.draws.samplers import draw_constrained, draw_full
except ImportError:
    from trueup.samplers import draw_constrained, draw_full
import scipy.special
kind, a, v_hat = json.loads(sys.argv[2])
a, v_hat, rng = np.array(a), np.array(v_hat), np.random.default_rng(3)
begun = time.process_time()
if kind == "constrained":
    draws = draw_constrained(a, v_hat, 4000, rng)
else:
    draws = draw_full(a, np.full(len(a), kind), v_hat, 4000, rng)
spent = time.process_time() - begun
print(json.dumps([spent, draws.info["sampler"], draws.info["rhat"], draws.info["ess"]]))
"""


def hard(old, only, times):
    """Print seconds, R-hat and effective draws per second: medians of new processes, in turn."""
    sources = [str(Path(__file__).parents[1] / "src"), *([old] if old else [])]
    heads = ["seconds, R-hat, ess/s: " + x for x in ["now", "old"][: len(sources)]]
    print("| | " + " | ".join(heads) + " |\n" + "|---" * (1 + len(sources)) + "|")
    for name, (kind, a, v_hat) in HARD.items():
        if not any(x in name for x in only or [""]):
            continue
        given = json.dumps([kind, a.tolist(), v_hat.tolist()])
        runs = [[] for _ in sources]
        for _ in range(times):
            for found, source in zip(runs, sources, strict=True):
                command = [sys.executable, "-c", ONE, source, given]
                out = subprocess.run(command, capture_output=True, text=True)
                found.append(json.loads(out.stdout.splitlines()[-1]))
        cells, rates = [], []
        for found in runs:
            spent = statistics.median(x[0] for x in found)
            _, sampler, worst, effective = found[-1]
            rates.append(effective / spent)
            worst = "independent" if worst is None else f"{worst:.3f}"
            cells.append(f"{spent:.3f} ({sampler}), {worst}, {rates[-1]:,.0f}")
        ratio = f" {rates[0] / rates[1]:.2f} times |" if len(rates) == 2 else ""
        print(f"| {name} | " + " | ".join(cells) + " |" + ratio, flush=True)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nuts", action="store_true", help="also run NumPyro NUTS")
    parser.add_argument("--size", type=int, default=4000, help="draws to ask for")
    parser.add_argument("--hard", action="store_true", help="what once took minutes")
    parser.add_argument("--old", help="folder with another version's trueup, to run side by side")
    parser.add_argument("--only", action="append", help="with --hard: cases with this in the name")
    parser.add_argument("--times", type=int, default=1, help="with --hard: runs of each, in turn")
    options = parser.parse_args()
    if options.hard or options.old:
        hard(options.old, options.only, options.times)
        return
    slow, fast = peculiar()
    print(f"Peculiar Example, 100,000 draws: {slow / fast:.1f} times faster than rejection")
    for n in (100, 500):
        code = FRESH.format(folder=__file__.rsplit("/", 1)[0], n=n)
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        print(f"First call, K=15, n={n}, 4,000 draws: {float(out.stdout.split()[0]):.2f} s")
    head = "| K | n | `auto` takes | seconds | ess/s | rejection ess/s | chain ess/s (rhat) |"
    print(
        head + (" NUTS ess/s (rhat) | auto/NUTS | with compilation | chain/NUTS |" * options.nuts)
    )
    print("|" + "---|" * (11 if options.nuts else 7), flush=True)
    for K, n in CASES:
        a, v_hat = case(K, n)
        rng = np.random.default_rng(3)
        rate, spent, draws = measured(lambda: draw_constrained(a, v_hat, options.size, rng))  # noqa: B023
        row = f"| {K} | {n} | {draws.info['sampler']} | {spent:.2f} | {rate:,.0f} | "
        row += f"{rejection_rate(a, v_hat):,.0f} | "
        chain = rate
        if draws.info["sampler"] != "chain":
            chain, _, draws = measured(
                lambda: draw_constrained(a, v_hat, options.size, rng, sampler="chain")  # noqa: B023
            )
        row += f"{chain:,.0f} ({draws.info['rhat']:.4f}) |"
        if options.nuts and K <= MOST_NUTS:
            other = nuts(a, v_hat)
            e = min(ess(other.beta[:, :, g]) for g in range(K))
            worst = max(rhat(other.beta[:, :, g]) for g in range(K))
            theirs = e / other.seconds
            row += f" {theirs:,.1f} ({worst:.3f}) | {rate / theirs:,.0f} |"
            row += f" {rate / (e / other.with_compilation):,.0f} | {chain / theirs:,.0f} |"
        elif options.nuts:
            row += " not run | | | |"
        print(row, flush=True)


def measured(call):
    """Effective draws per second, seconds and the draws themselves."""
    start = time.perf_counter()
    draws = call()
    spent = time.perf_counter() - start
    return draws.info["ess"] / spent, spent, draws


if __name__ == "__main__":
    main()
