"""An estimate for ArviZ: InferenceData of ArviZ 0.x, or the data tree of ArviZ 1.x."""

from typing import Any

from trueup.errors import EstimateError, optional
from trueup.estimate.result import Estimate


def to_arviz(est: Estimate) -> Any:
    """Return the draws with named coordinates: `total` or `count` by class, and `P` by both.

    Draws of NUTS keep their chains. Those of trueup's own samplers are independent, or shuffled and
    thinned: they are one chain, whose R-hat and effective size are in the attributes.
    """
    if est.draws is None:
        raise EstimateError(
            "ArviZ needs draws, and this estimate has none.",
            hint="use a method with draws; with many groups, keep_draws=True.",
        )
    chains = est.info.get("by_chain", 1) if est.groups is None else 1
    chains = chains if len(est.draws) % chains == 0 else 1  # those that were cut short are one
    labels = [str(label) for label in est.classes]
    name = "total" if est.totals else "count"
    coords: dict[str, list[str]] = {"class": labels}
    dims = {name: ["class"]}
    if est.groups is not None:
        coords["group"] = [" / ".join(map(str, label)) for label in est.groups.labels]
        dims[name] = ["group", "class"]

    def chained(x: Any) -> Any:
        return x.reshape(chains, -1, *x.shape[1:])

    variables = {name: chained(est.draws)}
    if est.P is not None and len(est.P) == len(est.draws):
        variables["P"] = chained(est.P)
        columns = [*map(str, est.counts.predicted)]  # some may be no class
        coords |= {"true": labels, "predicted": columns}
        dims["P"] = ["true", "predicted"]
    data = _from_dict(variables, coords, dims)
    kept = ("method", "design", "prior", "seed", "interval", "ess", "rhat", "version")
    data["posterior"].attrs.update({k: est.info[k] for k in kept if est.info[k] is not None})
    return data


def _from_dict(variables: dict[str, Any], coords: dict[str, Any], dims: dict[str, Any]) -> Any:
    """ArviZ 0.x takes groups as keywords, 1.x as one dict; given the other it does not complain."""
    try:
        import arviz as module
    except ImportError:
        words = "to_arviz() needs ArviZ, which is not installed."
        module = optional("arviz_base", words, "pip install arviz")
    from_dict: Any = module.from_dict
    modern = module.__name__ == "arviz_base" or not module.__version__.startswith("0.")
    if modern:
        data = from_dict({"posterior": variables}, coords=coords, dims=dims)
    else:
        data = from_dict(posterior=variables, coords=coords, dims=dims)
    assert set(data["posterior"].data_vars) == set(variables)
    return data
