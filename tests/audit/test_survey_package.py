"""Textbook estimators beside those of a survey package, through `correct`.

What svy 0.35.0 printed for the same tables: `python tests/audit/survey_case.py`. With strata it has
the finite-population correction; with tiny probabilities there is none to make.
"""

import pytest
from tests.audit.survey_case import tables

import trueup as tu

SVY = {
    "test_set, drawn_within": [(4180.2, 390.820368), (1893.8, 317.524361)],
    "difference, drawn_within": [(4073.56, 180.740382), (2055.44, 180.740382)],
    "test_set, probability": [(9580.540763, 1759.327362), (4748.314891, 1365.27947)],
    "difference, probability": [(4668.65956, 1145.009388), (1460.34044, 1145.009388)],
    "difference, probability, cluster": [(4668.65956, 1176.395071), (1460.34044, 1176.395071)],
}
COLUMNS = {"drawn_within": "size", "probability": "pi", "cluster": "block"}


@pytest.mark.parametrize("name", SVY)
def test_estimates_and_standard_errors_are_those_of_svy(name):
    """Planted and found: strata without the correction, clusters taken as units."""
    table, audit = tables()
    method, *options = name.split(", ")
    given = {option: COLUMNS[option] for option in options}
    rows = tu.correct(table, audit, value="y", id="unit", method=method, **given).rows()
    for row, (estimate, error) in zip(rows, SVY[name], strict=True):
        assert row["estimate"] == pytest.approx(estimate, rel=1e-7)
        assert row["sd"] == pytest.approx(error, rel=1e-5)
