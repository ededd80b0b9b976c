"""`dev.py studies`: tables of pages are printed again, and a run that stopped goes on."""

import importlib.util
import subprocess

import pytest
from pages import ROOT

spec = importlib.util.spec_from_file_location("reprint", ROOT / "docs" / "reprint.py")
reprint = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reprint)

PAGE = """# Studies
<!-- printed -->old<!-- /printed -->

```text
$ python studies/good.py --only a  # 2026-01-01, 1234567
old a
```

```text
$ python studies/bad.py
old bad
```

```text
$ python studies/good.py --only b
old b
```

```text
not a table
```
"""


def git(root, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", root, *who, *words], check=True, capture_output=True)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "studies").mkdir()
    (tmp_path / "docs" / "studies.md").write_text(PAGE, encoding="utf-8")
    good = (
        "import sys, pathlib\npathlib.Path('ran').open('a').write('x')\nprint('new', sys.argv[2])"
    )
    (tmp_path / "studies" / "good.py").write_text(good)
    (tmp_path / "studies" / "bad.py").write_text("raise SystemExit('it broke')")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "all")
    return tmp_path


def read(root):
    return (root / "docs" / "studies.md").read_text(encoding="utf-8")


def test_one_failure_leaves_the_others_printed(root, capsys):
    assert reprint.main([], root) == 1
    text, now = read(root), reprint.commit(root)
    assert "$ python studies/good.py --only a\nnew a\n```" in text
    assert "$ python studies/good.py --only b\nnew b\n```" in text
    assert "$ python studies/bad.py  # not printed yet\nold bad\n```" in text
    assert f", {now}.<!-- /printed -->" in text
    assert "All tables" not in text
    assert "```text\nnot a table\n```" in text
    assert "failed: it broke" in capsys.readouterr().out


def test_tables_that_are_not_printed_yet_have_no_date(root):
    page = root / "docs" / "studies.md"
    text = read(root).replace("# 2026-01-01, 1234567", "# not printed yet")
    page.write_text(text.replace("studies/bad.py", "studies/bad.py  # not printed yet"))
    reprint.main(["--only b"], root)
    assert f", {reprint.commit(root)}.<!-- /printed -->" in read(root)
    assert read(root).count("# not printed yet") == 2


def test_a_second_run_prints_only_what_is_missing(root, capsys):
    reprint.main(["--only b"], root)
    assert "old a" in read(root)
    (root / "studies" / "bad.py").write_text("print('mended')")
    (root / "ran").unlink()
    git(root, "add", "studies")
    git(root, "commit", "-m", "mended")
    reprint.main(["--only b"], root)
    assert reprint.main([], root) == 0
    assert (root / "ran").read_text() == "xx"  # a, and b once
    text = read(root)
    assert "<!-- printed -->All tables were printed on " in text
    assert "$ python studies/bad.py\nmended\n```" in text
    assert "printed already" in capsys.readouterr().out
    reprint.main(["--again"], root)
    assert (root / "ran").read_text() == "xxxx"


def test_a_stop_loses_no_table_that_was_printed(root, monkeypatch):
    """Tables before the stop name their commit in their own line, until the run is complete."""
    real = reprint.reprint

    def stopped(root, table, printed):
        if "bad" in table.command:
            raise KeyboardInterrupt
        return real(root, table, printed)

    monkeypatch.setattr(reprint, "reprint", stopped)
    with pytest.raises(KeyboardInterrupt):
        reprint.main([], root)
    monkeypatch.setattr(reprint, "reprint", real)
    reprint.main([], root)
    assert (root / "ran").read_text() == "xx"
