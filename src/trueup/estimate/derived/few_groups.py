"""Groups that are compared, although too few of them show how far their error rates differ."""

import warnings
from typing import TYPE_CHECKING

from trueup.errors import TrueupWarning
from trueup.estimate.doubts.own_rates import compare_groups

if TYPE_CHECKING:
    from trueup.estimate.result import Estimate

FEW_GROUPS, ENOUGH = 3, 1000
FEW = (
    "With {groups} groups and {least_audited} audited units in one of them, little shows whether "
    "the groups' error rates differ. If they do, figures of groups and contrasts between them lean "
    "towards one set of rates for all, and their intervals may be too narrow. {way}; "
    "pooling='complete' says that rates are the same."
)
"""Of contrasts between groups, their shares and ranks. With 2 groups and false passes of 25% and
40%, 95% intervals of contrasts covered 95% of 40 with 150 audited units each, and 85% of 20 with
300."""


def warn_of_few(est: "Estimate", stacklevel: int) -> None:
    """Warn where groups are compared that may share error rates they do not have in common."""
    learned = est.info.get("group_rates")
    if est.groups is None or learned is None:
        return
    if learned["groups"] > FEW_GROUPS or learned["least_audited"] >= ENOUGH:
        return
    way = compare_groups(est.asked, est.groups.by, "units of each")
    warnings.warn(FEW.format(**learned, way=way), TrueupWarning, stacklevel=stacklevel)
