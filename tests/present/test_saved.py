"""Saved estimates: what was saved comes back, and a file that is none of ours is refused."""

import json
import re
import zipfile

import numpy as np
import pytest

import trueup as tu
from trueup.present.saved import HEAD, KNOWN

TEST, V = [[30, 5], [4, 61]], [400, 600]


def report(est, folder):
    """The text of its report; the drawings number their parts anew."""
    text = est.report(folder / "report.html").read_text(encoding="utf-8")
    return re.sub(r"clip\d+", "clip", text)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "naive"},
        {"design": "shifted", "prior": tu.Dirichlet([[2, 1], [1, 2]])},
        {"predicted_sums": [900.0, 500.0], "predicted_squares": [4e3, 2e3], "sample_of": "inf"},
        {"P": [[0.9, 0.1], [0.2, 0.8]], "design": "shifted"},
    ],
)
def test_what_was_saved_comes_back(options, tmp_path):
    est = tu.correct_counts(TEST, V, classes=["a", "b"], seed=1, draws=300, **options)
    back = tu.load(est.save(tmp_path / "est.trueup"))
    assert back.rows() == est.rows()
    assert str(back) == str(est)
    assert json.dumps(back.info, default=str) == json.dumps(est.info, default=str)
    for name in ("whole", "P", "M"):
        one, other = getattr(est, name), getattr(back, name)
        assert (one is None and other is None) or np.array_equal(one, other)
    again = est.again(seed=2).rows()
    assert back.again(seed=2).rows() == again
    assert report(back, tmp_path) == report(est, tmp_path)


def test_groups_come_back(tmp_path, rng):
    import polars as pl

    table = pl.DataFrame({"region": list("nsx") * 100, "predicted": rng.choice(["a", "b"], 300)})
    test = table[:60].with_columns(true=pl.col("predicted"))
    est = tu.correct(table, test, by="region", seed=1, draws=200)
    back = tu.load(est.save(tmp_path / "est.trueup"))
    assert back.rows() == est.rows()
    assert back.contrast("n", "s") == est.contrast("n", "s")
    assert back.rank() == est.rank()
    assert back.again().rows() == est.rows()


def test_a_prior_of_the_users_own_is_told_but_not_made_again(tmp_path):
    prior = tu.prior.log_density(lambda P: np.log(P).sum())
    est = tu.correct_counts(TEST, V, design="shifted", prior=prior, seed=1, draws=200)
    back = tu.load(est.save(tmp_path / "est.trueup"))
    assert back.rows() == est.rows()
    for call in (back.again, back.sensitivity):
        with pytest.raises(tu.EstimateError, match="a file holds only those with a name"):
            call()


@pytest.mark.filterwarnings("ignore::trueup.TrueupWarning")
@pytest.mark.parametrize("column", ["cluster", "probability"])
def test_audited_units_come_back(column, tmp_path, rng):
    """`again` said that `correct` had not made it."""
    import polars as pl

    table = pl.DataFrame({"predicted": rng.choice(["a", "b"], 600)})
    known = {"cluster": np.arange(90) // 3, "probability": rng.choice([0.1, 0.2], 90)}
    wrong = np.where(rng.random(90) < 0.2, "a", table["predicted"][:90])
    test = table[:90].with_columns(true=wrong, known=known[column])
    est = tu.correct(table, test, **{column: "known"}, seed=1, draws=200)
    back = tu.load(est.save(tmp_path / "est.trueup"))
    assert back.again().rows() == est.rows()
    assert back.again(interval=0.8).rows() == est.again(interval=0.8).rows()
    if column == "cluster":
        assert str(back.sensitivity()) == str(est.sensitivity())


def test_what_is_no_saved_estimate_is_refused(tmp_path):
    est = tu.correct_counts(TEST, V, seed=1, draws=200)
    path = est.save(tmp_path / "est.trueup")
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}

    def changed(head):
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in (files | {HEAD: json.dumps(head).encode()}).items():
                archive.writestr(name, content)

    head = json.loads(files[HEAD])
    for content in (b"", b"a,b\n1,2\n", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(tu.FileError, match="damaged"):
            tu.load(path)
    for strange in ([], {}, head | {"content": {"os.system": {}}}, head | {"content": [1]}):
        changed(strange)
        with pytest.raises(tu.FileError, match="damaged"):
            tu.load(path)
    changed(head | {"trueup estimate": 99})
    with pytest.raises(tu.FileError, match="of format 99"):
        tu.load(path)
    with pytest.raises(tu.FileError, match="No such file"):
        tu.load(tmp_path / "none.trueup")
    with pytest.raises(tu.OptionError, match=r"must end in \.trueup"):
        est.save(tmp_path / "est.csv")


def test_no_pickle_is_opened(tmp_path, monkeypatch):
    est = tu.correct_counts(TEST, V, seed=1, draws=200)
    path = est.save(tmp_path / "est.trueup")
    monkeypatch.setattr("pickle.load", None)
    monkeypatch.setattr("pickle.loads", None)
    assert tu.load(path).rows() == est.rows()
    assert set(KNOWN) >= {"Estimate", "Counts", "Job"}
