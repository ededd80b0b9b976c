"""Charts of an estimate: plain Vega-Lite dicts for the page and the report, Altair for notebooks.

Every chart is a pure function from an `Estimate` to a dict. Labels of classes and groups are data
values and titles, never names of fields and never part of an expression.
"""

from collections.abc import Callable
from typing import Any

from trueup.errors import OptionError
from trueup.estimate.result import Estimate
from trueup.present.plots.calibration import calibration_spec
from trueup.present.plots.chains import chains_spec
from trueup.present.plots.confusion import confusion_spec
from trueup.present.plots.density import density_spec
from trueup.present.plots.groups import groups_spec
from trueup.present.plots.plane import plane_spec
from trueup.present.plots.studies import load_altair
from trueup.present.plots.style import Spec, finish, palette
from trueup.present.plots.totals import totals_spec

KINDS: dict[str, Callable[..., Spec]] = {
    "totals": totals_spec,
    "groups": groups_spec,
    "density": density_spec,
    "plane": plane_spec,
    "test_set": confusion_spec,
    "calibration": calibration_spec,
    "chains": chains_spec,
}
NEEDS: dict[str, tuple[str, Callable[[Estimate], bool]]] = {
    "groups": ("`by`", lambda est: est.groups is not None),
    "density": ("a method with draws", lambda est: est.whole is not None),
    "plane": (
        "two classes and a method with draws of P",
        lambda est: est.P is not None and est.counts.K == est.counts.L == 2,
    ),
    "test_set": ("a test set", lambda est: bool(est.counts.n.any())),
    "calibration": (
        "`score` and a method with draws",
        lambda est: bool(est.info.get("calibration")),
    ),
    "chains": ("a method that ran chains", lambda est: bool(est.info.get("trace"))),
}
COMPOSITE_CLASSES = 4
"""With up to this many classes the chart of the whole has the posteriors below it."""


def kinds_for(est: Estimate) -> list[str]:
    """Return the kinds of chart that apply to this estimate, in display order."""
    return [kind for kind in KINDS if kind not in NEEDS or NEEDS[kind][1](est)]


def specs_for(est: Estimate, theme: str = "light") -> dict[str, Spec]:
    """Return every chart that applies to this estimate, by kind, as Vega-Lite dicts."""
    colours = palette(theme)
    return {kind: finish(KINDS[kind](est, colours), colours) for kind in kinds_for(est)}


def plot(est: Estimate, kind: str | None = None, *, theme: str = "light", **options: Any) -> Any:
    """Return one Altair chart; it shows in a notebook, and ``.save("x.svg")`` writes a file.

    Parameters
    ----------
    est : Estimate
        What `correct` or `correct_counts` gave.
    kind : str, optional
        "totals": as predicted against corrected, per class, with intervals. "groups": the same
        per group, or over time. "density": the posterior of each class. "plane": for two classes,
        the permitted error rates, the draws and the test set's own rates. "test_set": the confusion
        matrix. "calibration": with `score`, how often predictions are right, by score. "chains":
        whether the chains have met. By default "groups" with `by`; else "totals", with "density"
        below it for up to four classes.
    theme : {"light", "dark"}
        For a white or a dark background.
    **options
        For "groups": `classes` (which), and `most` (how many groups each shows).
    """
    alt = load_altair()
    possible = kinds_for(est)
    if kind is not None and kind not in possible:
        reason = f"{kind!r} needs {NEEDS[kind][0]}" if kind in KINDS else f"got {kind!r}"
        raise OptionError(f"`kind` must be one of {possible} for this estimate; {reason}.")
    chosen = kind or ("groups" if "groups" in possible else "totals")
    if options and chosen != "groups":
        raise OptionError(f"Only the kind 'groups' has options; got {sorted(options)}.")
    unknown = sorted(set(options) - {"classes", "most"})
    if unknown:
        raise OptionError(f"The options of 'groups' are `classes` and `most`; got {unknown}.")
    colours = palette(theme)
    spec = KINDS[chosen](est, colours, **options)
    few = len(est.classes) <= COMPOSITE_CLASSES
    if kind is None and chosen == "totals" and "density" in possible and few:
        apart = dict.fromkeys(("color", "shape", "strokeDash"), "independent")
        resolve = {"scale": apart, "legend": apart}
        spec = {"vconcat": [spec, density_spec(est, colours)], "resolve": resolve}
    return alt.Chart.from_dict(finish(spec, colours) | {"background": colours.background})
