"""A pytest plugin: which worker of xdist runs which test, and in which order.

- Slow tests come first, so that no worker waits for the last of them.
- Tests that share something costly are a group, and run on one worker.
- `-n auto` starts one worker more than there are cores. It has the tests that mostly wait for a
  browser or a server, so that the cores compute meanwhile, and ends after them. With another
  worker for all tests, the cores only change between them more often.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

try:
    from xdist.scheduler import LoadGroupScheduling
except ImportError:  # without xdist there are no workers
    LoadGroupScheduling = object

COSTLY = ("servers", "browser", "site", "lines")
"""Fixtures that take long to make, so that only one worker should make them."""
HEAVY = {
    "nuts": (  # and ArviZ, for which one of its tests needs JAX
        "test_priors_regression.py::", "::test_nuts_", "_by_nuts_", "_jax", "says[docs/priors.md]",
        "test_arviz.py::", "_arviz", "test_ties_share_their_rank",
    ),
    "dask": ("test_dask.py::",),
    "second": ("test_second_chance.py::",),
}  # fmt: skip
"""Groups of tests by parts of their names: they load what takes seconds, or compile it (JAX)."""
WAITING = ("shared-servers", "shared-browser", "tests/web/", "tests/hostile/test_page")
"""How the groups and the tests begin that mostly wait for another process."""
SPARE = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put slow tests first; keep tests that share something costly on one worker."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            shared = [name for name in COSTLY if name in getattr(item, "fixturenames", ())]
            shared = [
                name for name, parts in HEAVY.items() if any(x in item.nodeid for x in parts)
            ] or shared
            if shared:
                item.add_marker(pytest.mark.xdist_group(f"shared-{shared[0]}"))


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Iterator[None]:
    """Start one worker more than cores if tests are in groups."""
    config.stash[SPARE] = config.option.dist == "loadgroup"
    return (yield) + config.stash[SPARE]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return Scheduling(config, log) if config.stash.get(SPARE, False) else None


class Scheduling(LoadGroupScheduling):  # type: ignore[misc,valid-type]
    """xdist's own by groups, with one worker for the tests that wait."""

    def _assign_work_unit(self, node: Any) -> None:
        """Give a worker the first group of its kind; if there are none, the first of all."""
        spare = node is self._spare
        if first := next((x for x in self.workqueue if waits(x) == spare), None):
            self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: Any) -> None:
        """Let the spare worker end when no test that waits is left."""
        if node is self._spare and not node.shutting_down and not any(map(waits, self.workqueue)):
            node.shutdown()
        else:
            super()._reschedule(node)

    @property
    def _spare(self) -> Any:
        """The last worker, unless others have ended or died."""
        return self.nodes[-1] if len(self.nodes) == self.numnodes else None


def waits(scope: str) -> bool:
    """Return whether a group, or a test alone, mostly waits for another process."""
    return scope.startswith(WAITING)
