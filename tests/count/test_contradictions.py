"""Audited units matched by id whose other columns differ between the two tables."""

import pandas as pd
import pytest
from tests.read.makers import FILES, LOCAL, make

import trueup as tu

N = 120
TABLE = pd.DataFrame({
    "unit": range(N),
    "predicted": ["a", "a", "b"] * (N // 3),
    "region": ["n", "s"] * (N // 2),
    "size": ["1", "2", "3", "4"] * (N // 4),
    "y": [1.0 + i % 7 for i in range(N)],
    "p": [0.5 + i / 300 for i in range(N)],
})  # fmt: skip
AUDITED = TABLE.iloc[:60].assign(true=["a", "b", "b"] * 20)
pytestmark = pytest.mark.usefixtures("short_chains")
OPTIONS = {
    "y": ({"value": "y"}, 99.0),
    "region": ({"by": "region"}, "n"),
    "size": ({"drawn_within": "size"}, "1"),
    "p": ({"score": "p"}, 0.99),
}


@pytest.mark.filterwarnings("ignore::trueup.TrueupWarning")
@pytest.mark.parametrize("column", OPTIONS)
def test_a_contradiction_is_told_and_changes_nothing(column):
    options, wrong = OPTIONS[column]
    changed = AUDITED.copy()
    changed.loc[[5, 9], column] = wrong
    made = [
        tu.correct(TABLE, test, id="unit", seed=1, draws=100, **options)
        for test in (AUDITED, changed)
    ]
    assert made[0].rows() == made[1].rows()
    told = [x for x in made[1].info["warnings"] if "have another" in x]
    assert told == [
        f"2 audited units have another {column!r} in the test set than in predictions; the first "
        "is unit = 5. What predictions has was used."
    ]
    assert not any("have another" in x for x in made[0].info["warnings"])
    assert told[0] in tu.check(TABLE, changed, id="unit", **options).doubts


@pytest.mark.filterwarnings("ignore::trueup.TrueupWarning", "ignore:::ibis")
def test_rounded_values_missing_ones_and_text_contradict_nothing():
    rounded = AUDITED.assign(p=AUDITED["p"].round(3), y=AUDITED["y"].where(AUDITED["unit"] > 3))
    options = {"id": "unit", "seed": 1, "draws": 100, "value": "y", "score": "p"}
    for test in (rounded, AUDITED.assign(y=AUDITED["y"].astype(str))):
        found = tu.correct(TABLE, test, **options).info["warnings"]
        assert not any("have another" in x for x in found)


@pytest.mark.filterwarnings("ignore::trueup.TrueupWarning", "ignore:::ibis")
@pytest.mark.parametrize("engine", [*LOCAL, *FILES])
def test_every_engine_sees_it(engine, tmp_path):
    import pyarrow as pa

    changed = AUDITED.assign(region="n")
    population = make(engine, pa.Table.from_pandas(TABLE), tmp_path, None)
    est = tu.correct(population, changed, id="unit", by="region", seed=1, draws=100)
    assert any("30 audited units have another 'region'" in x for x in est.info["warnings"])
