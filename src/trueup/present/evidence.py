"""What an estimate rests on, in a few words: the audited units, and the population it is about."""

from trueup.count.names import names
from trueup.estimate.result import Estimate
from trueup.text import UNSEEN, listed, shown

DESIGNS = {
    "random": "drawn at random from the population",
    "by_prediction": "drawn within predicted classes",
    "by_class": "drawn within true classes",
    "shifted": "drawn from another period or population",
}

MOST_NAMED = 5
"""Audited periods that are named one by one."""


def what(est: Estimate) -> str:
    """Return what is estimated: the value column in the user's words, or units."""
    value = est.asked.get("value")
    return f"total of {value}" if value else "total" if est.totals else "number of units"


def how_made(est: Estimate, share: bool = False) -> str:
    """Say what the figures are, and whether and how they were corrected, in one sentence."""
    info, subject = est.info, UNSEEN.sub(shown, what(est))
    if share:
        subject = f"share of the {subject}" if est.totals else "share of units"
    words = f"{subject[0].upper()}{subject[1:]}, "
    if info["method"] == "naive":
        return (
            f"{words}not corrected: {est.counts.N:,} units as predicted; trueup {info['version']}."
        )
    words += f"corrected for classification errors with {evidence(est)}; method {info['method']}"
    words += f", prior {info['prior']}" if est.whole is not None else ""
    first, *others = names("predicted", est.asked.get("predicted")) or ("",)
    words += f"; {first!r} corrected, with {listed([*map(repr, others)])} beside it" * bool(others)
    words = f"{words}; trueup {info['version']}, seed {info['seed']}."
    return f"{words} {larger}" if (larger := population(est, share)) else words


def population(est: Estimate, share: bool = False) -> str:
    """Say what larger population the figures are about; nothing if they are about the table."""
    size, N = est.info.get("sample_of"), est.counts.N
    if weight := est.asked.get("weight"):
        return (
            f"The figures are about the larger population that the weights in {weight!r} stand "
            f"for; the {N:,} units tell as much as {est.info['effective_size']:,.0f} with equal "
            "weights would."
        )
    if size is None:
        return ""
    if size == "inf" and share:
        return f"The population is what these {N:,} units are a random sample of."
    if size == "inf":
        return (
            f"The figures are shares in the population that these {N:,} units are a random sample "
            f"of, times {N:,}."
        )
    return f"The figures are about the {size:,} units that these {N:,} are a random sample of."


def evidence(est: Estimate) -> str:
    """Say what the error rates come from: audited units, studies, or elsewhere."""
    found = est.info.get("studies")
    if found:
        studies, units = (sum(row[name] for row in found) for name in ("studies", "units"))
        return f"the error rates of {studies:,} studies of {units:,} units in all"
    if not est.counts.n.sum():
        return "error rates from elsewhere"
    words = f"{est.counts.n.sum():,} audited units {drawn(est)}"
    return f"{words} ({over_time(est)})" if "audited_periods" in est.info else words


def audited_in(est: Estimate) -> str:
    """Name the periods that were audited; nothing without periods, or if none of them was."""
    labels = [str(label).strip() for label in est.info.get("audited_periods", ())]
    if len(labels) > MOST_NAMED:
        return f"{len(labels):,} of {len(est.groups.labels) if est.groups else 0:,} periods"
    return f"period{'s' if labels[1:] else ''} {listed(labels)}" if labels else ""


def over_time(est: Estimate) -> str:
    """Say what is taken for granted of error rates in periods that were not audited."""
    if est.info["drift"] is None:
        return "error rates are taken to be the same in all periods"
    points = 100 * est.info["drift"]
    return f"error rates may drift, a recall by about {points:.2g} points in one period"


def drawn(est: Estimate) -> str:
    """Say how the audited units were drawn, and from which periods if only from some."""
    words, where = _drawn(est), audited_in(est)
    return f"{words.replace(' from the population', '')} in {where}" if where else words


def _drawn(est: Estimate) -> str:
    """Say how the audited units were drawn: a work list in its own words."""
    asked, design = est.asked, est.info["design"]
    within = names("drawn_within", asked.get("drawn_within"))
    words = ""
    if asked.get("drawn"):
        words = f"drawn {asked['drawn']}"
    elif within:
        inside = [*(["predicted classes"] if design == "by_prediction" else []), *map(repr, within)]
        words = f"drawn within {listed(inside)}"
    elif asked.get("probability"):
        words = f"drawn with the probabilities in {asked['probability']!r}"
    if cluster := asked.get("cluster"):
        words = words or DESIGNS[design].replace("at random from the population", "")
        return f"{words.strip()} in clusters of {cluster!r}"
    return words or DESIGNS[design]
