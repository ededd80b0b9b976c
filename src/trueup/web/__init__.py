"""The page at localhost: ``trueup serve``. Needs the extra ``web``.

``server`` puts it together, ``run`` listens. What is computed, is computed in worker processes
(``workers``, ``worker``): they can be stopped at any moment, and the page stays awake.
"""
