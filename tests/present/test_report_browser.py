"""A real browser without a network opens the report and the charts, and has nothing to complain."""

import shutil

import pytest
import vl_convert
from tests.patience import PATIENCE

import trueup as tu
from trueup.present.plots import specs_for

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
    pytest.mark.filterwarnings("ignore::trueup.TrueupWarning"),
]
HOSTILE = ["<script>document.title='broken'</script>", '"><img src=x onerror=alert(1)>']


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=1000 * PATIENCE
        )
        yield running
        running.close()


@pytest.fixture(scope="module")
def est():
    return tu.correct_counts(
        [[40, 5], [3, 60]],
        [3000, 7000],
        classes=HOSTILE,
        design="shifted",
        method="full",
        draws=400,
    )


def opened(browser, path, **options):
    """Open a file with the network off; give the page and what it said or asked for."""
    context = browser.new_context(offline=True, **options)
    context.set_default_timeout(1000 * PATIENCE)
    page, said, asked = context.new_page(), [], []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert asked == [path.as_uri()]
    return page, said


def test_the_report_opens_and_prints(browser, est, tmp_path):
    page, said = opened(browser, est.report(tmp_path / "report.html", title="A title"))
    assert said == []
    assert page.title() == "A title"
    assert page.locator("figure svg").count() == 5
    assert page.locator("script, img").count() == 0
    assert HOSTILE[0] in page.locator(".headline").inner_text()
    pdf = page.pdf(format="A4")
    assert pdf[:4] == b"%PDF"
    assert 3 <= pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page/") <= 15
    page.context.close()


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, {"color_scheme": "light"}])
def test_a_narrow_screen_does_not_scroll_sideways(browser, est, tmp_path, options):
    path = est.report(tmp_path / "report.html")
    page, said = opened(browser, path, viewport={"width": 360, "height": 640}, **options)
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (options["color_scheme"] == "dark")
    page.context.close()


def test_no_chart_makes_vega_warn_or_a_label_run(browser, est, tmp_path):
    """Altair and vl-convert write a chart into a page as it is, also where it holds a tag."""
    for kind, spec in specs_for(est).items():
        path = tmp_path / f"{kind}.html"
        path.write_text(vl_convert.vegalite_to_html(spec, bundle=True), encoding="utf-8")
        page, said = opened(browser, path)
        page.wait_for_selector("canvas, svg")
        assert said == [], kind
        assert page.title() != "broken"
        page.context.close()
