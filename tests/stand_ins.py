"""A stand-in for NUTS, where a test is about what happens before and after it.

One run of NUTS takes about ten seconds of processor time, nearly all of it to compile the density.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueup.draws import nuts


def quick_nuts(log_density: Any, starts: Any, settings: Any) -> tuple[Any, dict[str, Any]]:
    """Return noise around the starts in the form of `run_nuts`; it depends on the density too.

    Chains stay apart, so draws that go into the wrong chain change R-hat.
    """
    import jax

    each = -(-settings.draws // nuts.CHAINS)
    with jax.enable_x64(True):
        height = float(log_density({name: x[0] for name, x in starts.items()}))
    found = {}
    for name, x in starts.items():
        noise = settings.rng.normal(0, 0.3, (nuts.CHAINS, each, *x.shape[1:]))
        apart = np.arange(nuts.CHAINS).reshape(-1, *[1] * (noise.ndim - 1))
        found[name] = x[:, None] + noise + 0.1 * apart + 0.1 * np.sin(height)
    return found, {"sampler": "nuts", "divergences": 0, "warm_up": 0}
