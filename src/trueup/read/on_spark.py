"""Jobs on the workers of Spark: a session as a `concurrent.futures.Executor`.

Each job is a table of one row, which `mapInPandas` turns into its answer on whichever worker is
free. This works with Spark Connect too, where there are no RDDs. Workers need trueup, pandas and
PyArrow.
"""

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

from trueup.errors import OptionError
from trueup.numerics.blocks import MOST_WAITING


class OnSpark(Executor):
    """Run each job on a worker of Spark; a thread here waits for it."""

    def __init__(self, session: Any) -> None:
        self.session, self.threads = session, ThreadPoolExecutor(MOST_WAITING)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Send a job."""
        return self.threads.submit(self._run, pickle.dumps((fn, args, kwargs)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for no more jobs; the session stays as it is."""
        self.threads.shutdown(wait, cancel_futures=cancel_futures)

    def _run(self, job: bytes) -> Any:
        table = self.session.createDataFrame([(job,)], "job binary")
        ((done,),) = table.mapInPandas(_there, "done binary").collect()
        return pickle.loads(done)


def _there(tables: Iterator[Any]) -> Iterator[Any]:
    """Do the jobs of some rows, on a worker."""
    import pandas as pd  # type: ignore[import-untyped]

    for table in tables:
        done = []
        for job in table["job"]:
            work, args, kwargs = pickle.loads(job)
            done.append(pickle.dumps(work(*args, **kwargs)))
        yield pd.DataFrame({"done": done})


def as_executor(given: Any) -> Executor | None:
    """Return an executor for what a user gave: a session of Spark becomes one."""
    if given is None or hasattr(given, "submit"):
        executor: Executor | None = given
        return executor
    if hasattr(given, "createDataFrame"):
        return OnSpark(given)
    raise OptionError(
        "`executor` must be a concurrent.futures.Executor, or a session of Spark; got "
        f"{type(given).__name__}.",
        hint="with Dask give client.get_executor().",
    )
