"""One worker has the tests that wait, and the others need not wait with it."""

from types import SimpleNamespace

import pytest

from tests import sharing

GROUP = [f"tests/read/test_engine.py::test_{i}@shared-servers" for i in range(5)]
PAGE = [f"tests/web/test_web.py::test_{i}" for i in range(4)]
REST = [f"tests/draws/test_draws.py::test_{i}" for i in range(20)]


class Worker:
    """What the scheduler knows of a worker: tests are sent to it, or that there are no more."""

    def __init__(self, tests):
        self.tests, self.sent, self.shutting_down = tests, [], False
        self.gateway = SimpleNamespace(id="")

    def send_runtest_some(self, indices):
        self.sent += [self.tests[i] for i in indices]

    def shutdown(self):
        self.shutting_down = True


def schedule(tests, workers=3):
    """Return the scheduler and its workers, the spare one last, with the first tests sent."""
    config = SimpleNamespace(
        getvalue=lambda name: ["popen"] * workers,
        option=SimpleNamespace(loadscopereorder=True, tx=["popen"] * workers),
        getoption=lambda name: ["popen"] * workers,
    )
    found = sharing.Scheduling(config, None)
    nodes = [Worker(tests) for _ in range(workers)]
    for node in nodes:
        found.add_node(node)
    for node in nodes:
        found.add_node_collection(node, tests)
    found.schedule()
    return found, nodes


def finish(scheduler, node):
    """Let a worker run what it has been sent, and what it is sent meanwhile."""
    done = 0
    while done < len(node.sent):
        scheduler.mark_test_complete(node, node.tests.index(node.sent[done]))
        done += 1


def test_the_spare_worker_has_the_tests_that_wait_and_ends_after_them():
    scheduler, nodes = schedule([*PAGE, *REST, *GROUP])
    finish(scheduler, nodes[2])
    assert nodes[2].sent == [*GROUP, *PAGE]
    assert nodes[2].shutting_down
    finish(scheduler, nodes[0])
    assert sorted(nodes[0].sent + nodes[1].sent) == sorted(REST)


def test_others_help_with_what_waits_when_they_have_nothing_else():
    scheduler, nodes = schedule([*PAGE, *REST, *GROUP])
    finish(scheduler, nodes[0])
    finish(scheduler, nodes[1])
    finish(scheduler, nodes[2])
    assert set(GROUP) <= set(nodes[2].sent)
    assert set(PAGE) & set(nodes[0].sent)
    assert sorted(x for node in nodes for x in node.sent) == sorted([*PAGE, *REST, *GROUP])


def test_without_tests_that_wait_the_spare_worker_has_next_to_nothing():
    scheduler, nodes = schedule(REST)
    finish(scheduler, nodes[2])
    assert len(nodes[2].sent) == 1
    assert nodes[2].shutting_down


@pytest.mark.parametrize(("dist", "workers"), [("loadgroup", 5), ("load", 4), ("no", 4)])
def test_auto_is_one_worker_more_than_cores(dist, workers):
    config = SimpleNamespace(option=SimpleNamespace(dist=dist), stash=pytest.Stash())
    hook = sharing.pytest_xdist_auto_num_workers(config)
    next(hook)
    with pytest.raises(StopIteration) as end:
        hook.send(4)
    assert end.value.value == workers
