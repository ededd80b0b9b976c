"""The page as people meet it: a real browser, the keyboard, both ways in, no internet."""

from __future__ import annotations

import csv
import os
import re
import shutil
from urllib.parse import urlsplit

import pytest

import trueup
from tests.later import Later
from tests.patience import PATIENCE
from tests.web.running import PECULIAR, running
from trueup.present.tables import written
from trueup.web.server import make_app

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no chromium on this machine", allow_module_level=True)

playwright = Later("playwright.sync_api")
ELSEWHERE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""No name has an address, so nothing gets elsewhere."""


def expect(what):
    return playwright.expect(what)


@pytest.fixture(scope="module")
def url():
    with running(make_app(max_upload=300_000)) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    playwright.expect.set_options(timeout=1000 * PATIENCE)
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--font-render-hinting=none", ELSEWHERE],
            timeout=1000 * PATIENCE,
        )
        yield launched
        launched.close()


@pytest.fixture
def open_page(url, browser):
    """Open the page; afterwards nothing may have gone elsewhere, and nothing to the console."""
    elsewhere, complaints, contexts = [], [], []

    def make(fragment="", width=1280, height=900, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            reduced_motion="reduce",
            accept_downloads=True,
            **options,
        )
        contexts.append(context)

        def note(request):  # to look at each one before it goes takes a sixth of the time
            if urlsplit(request.url).netloc not in (urlsplit(url).netloc, ""):
                elsewhere.append(request.url)

        context.on("request", note)
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url + "/" + fragment)
        expect(page.locator("#grid table")).to_be_visible()
        return page

    make.complaints = complaints
    yield make
    for context in contexts:
        context.close()
    assert elsewhere == []
    assert complaints == []


@pytest.fixture
def shoot(request):
    """Keep a screenshot for the docs, if TRUEUP_SCREENSHOTS is set."""

    def take(page, name, height=None):
        if os.environ.get("TRUEUP_SCREENSHOTS"):
            folder = request.config.rootpath / "docs" / "screenshots"
            folder.mkdir(exist_ok=True)
            page.mouse.move(0, 0)
            size = page.viewport_size
            clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"]}
            page.screenshot(path=folder / f"{name}.png", full_page=True, clip=clip)

    return take


def answer_of(page):
    return page.locator("#numbers-answer")


def drawn(page, view="numbers"):
    """Wait until every chart of a view is there; those of the answer before it may still go."""
    page.wait_for_function(
        """view => {
          const figures = [...document.querySelectorAll(`#${view}-answer figure`)];
          return figures.length && figures.every((figure) => figure.querySelector(".drawing svg"));
        }""",
        arg=view,
    )
    return page.locator(f"#{view}-answer figure")


def load(page, name):
    page.get_by_label("Load an example").select_option(label=name)


@pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")
def test_peculiar_example_by_keyboard_only(open_page, shoot):
    page = open_page()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the form")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()  # the browser gets there in its own time
    page.keyboard.press("Tab")
    expect(page.get_by_label("Load an example")).to_be_focused()
    for label, typed in (
        ("name of class 1", "webshop"),
        ("test units truly webshop, predicted webshop", "4"),
        ("test units truly webshop, predicted class 2", "1"),
        ("name of class 2", "other"),
        ("test units truly other, predicted webshop", "2"),
        ("test units truly other, predicted other", "3"),
        ("units in the population predicted webshop", "10"),
        ("units in the population predicted other", "90"),
    ):
        page.keyboard.press("Tab")
        expect(page.get_by_label(label)).to_be_focused()
        page.keyboard.press("Control+a")
        page.keyboard.type(typed)
    answer = answer_of(page)
    expect(answer.get_by_role("status")).to_contain_text("as predicted 10")
    while not page.locator("input[name=design]:focus").count():
        page.keyboard.press("Tab")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name=re.compile("elsewhere"))).to_be_checked()

    refused = page.locator("#refused")
    expect(refused).to_contain_text("−75")
    expect(refused).to_contain_text("refused")
    rows = trueup.correct_counts(**PECULIAR).rows()
    figures = answer.locator(".figure .value")
    expect(figures).to_have_text([f"{row['estimate']:g}" for row in rows])
    expect(answer.locator("tbody tr").first).to_contain_text("−75.0 refused")
    expect(page.locator("#numbers-answer-sentence")).to_contain_text("“webshop” is estimated at")
    kinds = [figure.get_attribute("data-kind") for figure in drawn(page).all()]
    assert {"totals", "density", "plane", "test_set"} <= set(kinds)
    shoot(page, "peculiar", height=1600)


def test_the_link_restores_the_numbers(open_page):
    page = open_page()
    load(page, "Seroprevalence, Santa Clara 2020")
    page.locator("#more summary").click()
    page.locator("#prior").select_option("uniform")
    page.locator("#seed").fill("42")
    first = answer_of(page).locator(".figure .value").first
    expect(answer_of(page)).to_contain_text("prior uniform")
    expect(answer_of(page)).to_contain_text("seed 42")
    expect(page).to_have_url(re.compile("130.*seed=42"))
    value, fragment = first.text_content(), urlsplit(page.url).fragment
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy a link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert urlsplit(copied).fragment == fragment

    again = open_page(f"#{fragment}")
    expect(again.get_by_label("test units truly antibodies, predicted antibodies")).to_have_value(
        "130"
    )
    expect(again.locator("#seed")).to_have_value("42")
    expect(answer_of(again).locator(".figure .value").first).to_have_text(value)


def test_a_broken_link_opens_an_empty_page(open_page):
    page = open_page("#test=1,2;3&design=nonsense")
    expect(page.locator("#grid tbody tr")).to_have_count(4)
    page = open_page("#test=4,1;2,3&counts=10,90&design=nonsense&prior=x&seed=1")
    expect(answer_of(page)).to_contain_text("design random")


def test_bad_input_is_said_beside_its_field(open_page):
    page = open_page()
    load(page, "The Peculiar Example")
    expect(page.locator("#refused")).to_be_visible()
    cell = page.get_by_label("test units truly webshop, predicted other")
    cell.fill("1.5")
    expect(page.locator("#grid-error")).to_contain_text("whole numbers of at least 0; got “1.5”")
    expect(cell).to_have_attribute("aria-invalid", "true")
    expect(cell).to_have_attribute("aria-describedby", "grid-error")
    expect(page.locator("#refused")).to_be_hidden()
    cell.fill("1")
    expect(page.locator("#grid-error")).to_be_hidden()
    expect(page.locator("#refused")).to_be_visible()
    # only the server knows this one: more audited units than there are in the population
    page.get_by_role("radio", name=re.compile("Only its size")).check()
    page.get_by_label("units in the population predicted webshop").fill("2")
    open_page.complaints[:] = [x for x in open_page.complaints if "422" not in x]
    expect(page.locator("#grid-error")).to_contain_text("Hint:")
    expect(answer_of(page)).to_contain_text("no answer to these numbers")
    open_page.complaints[:] = [x for x in open_page.complaints if "422" not in x]


def test_fifteen_classes(open_page, shoot):
    page = open_page(width=1440)
    load(page, "Land cover, 15 classes")
    expect(answer_of(page).locator(".rows tbody tr")).to_have_count(15)
    expect(page.locator("#grid input.number")).to_have_count(15 * 16)
    drawn(page)
    shoot(page, "fifteen-classes")
    page.get_by_role("button", name="remove wetland").click()
    expect(answer_of(page).locator(".rows tbody tr")).to_have_count(14)
    page.get_by_role("button", name="Add a class").click()
    expect(page.get_by_label("name of class 15")).to_be_focused()
    expect(answer_of(page)).to_contain_text("Still missing: the units per predicted class")


def paste(page, label, text):
    """Paste as a spreadsheet would put it on the clipboard."""
    page.get_by_label(label).evaluate(
        """(node, text) => {
            const data = new DataTransfer();
            data.setData("text", text);
            node.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
        }""",
        text,
    )


def test_totals_in_a_pasted_block_are_no_class(open_page):
    first = "test units truly class 1, predicted class 1"
    words = "leave out the row and the column of totals"
    for block in ("\tcat\tdog\ttotal\ncat\t30\t1\t31\ndog\t3\t40\t43\ntotal\t33\t41\t74",
                  "\tcat\tdog\ncat\t30\t1\ndog\t3\t40\ntotal\t33\t41",
                  "30\t1\t31\n3\t40\t43\n33\t41\t74"):  # fmt: skip
        page = open_page()
        paste(page, first, block)
        expect(page.locator("#grid-error")).to_contain_text(words)


def test_a_block_with_names_belongs_where_they_say(open_page):
    """Whichever cell has the focus, also one with the name of a column."""
    block = "\tcat\tdog\ncat\t30\t1\ndog\t3\t40\n"
    page = open_page()
    paste(page, "test units truly class 2, predicted class 2", block)
    expect(page.get_by_label("test units truly dog, predicted cat")).to_have_value("3")
    expect(page.get_by_label("test units truly cat, predicted cat")).to_have_value("30")
    assert page.locator("#grid input.name").count() == 2
    page = open_page()
    paste(page, "name of class 1", block)
    expect(page.get_by_label("test units truly cat, predicted dog")).to_have_value("1")
    page.locator("#more > summary").click()
    page.locator("#with-labels").check()
    paste(page, "name of predicted label 1", "hen\tpig")
    expect(page.get_by_label("test units truly dog, predicted pig")).to_have_value("40")


def test_a_block_from_a_spreadsheet_fills_the_grid(open_page):
    page = open_page()
    first = "test units truly class 1, predicted class 1"
    paste(page, first, "\tcat\tdog\tfox\r\ncat\t30\t1\t2\r\ndog\t3\t1,040\t5\r\nfox\t6\t7\t50\r\n")
    expect(page.get_by_label("test units truly dog, predicted dog")).to_have_value("1,040")
    paste(page, "units in the population predicted cat", "1 000\t20000\t3000")
    expect(answer_of(page).locator(".rows tbody tr")).to_have_count(3)
    expect(answer_of(page).locator(".rows tbody tr").nth(1)).to_contain_text("20,000")
    # a square of numbers with the population below it, and fewer classes than before
    paste(page, "test units truly cat, predicted cat", "4\t1\n2\t3\n10\t90\n")
    expect(page.get_by_label("units in the population predicted dog")).to_have_value("90")
    expect(answer_of(page).locator(".rows tbody tr")).to_have_count(2)


def test_typing_fast_ends_with_the_last_answer(open_page):
    page = open_page()
    load(page, "The Peculiar Example")
    cell = page.get_by_label("units in the population predicted other")
    for text in ("9", "91", "912", "91", "9", "95", "956", "9567"):
        cell.fill(text)
    expect(answer_of(page).locator(".rows tbody tr").nth(1)).to_contain_text("9,567")
    expect(page.locator("#numbers-answer.stale")).to_have_count(0)


def test_dark(open_page):
    page = open_page(color_scheme="dark")
    load(page, "Turnover of webshops")
    drawn(page)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", background)[:3])) < 60
    ink = page.evaluate(
        "getComputedStyle(document.querySelector('#numbers-answer .drawing svg text')).fill"
    )
    assert min(map(int, re.findall(r"\d+", ink)[:3])) > 150
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    for width in (360, 768, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert not page.evaluate(wide), width


def test_narrow_screens_do_not_scroll_sideways(open_page, tables):
    page = open_page(width=320, height=700)
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    for example in ("The Peculiar Example", "Turnover of webshops", "Land cover, 15 classes"):
        load(page, example)
        drawn(page)
        assert not page.evaluate(wide), example
    send_files(page, *tables())
    page.get_by_role("button", name="Check and correct").click()
    drawn(page, "files")
    assert not page.evaluate(wide)


def send_files(page, predictions, test_set):
    page.get_by_role("tab", name="Files").click()
    page.get_by_label("Predictions: the population").set_input_files(predictions)
    expect(page.locator("#about-predictions .file")).to_contain_text(predictions.name)
    page.get_by_label("Test set: the audited units").set_input_files(test_set)
    expect(page.locator("#about-test_set .file")).to_contain_text(test_set.name)


@pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")
def test_files_end_to_end(open_page, tables, tmp_path, shoot):
    page = open_page()
    predictions, test_set = tables()
    send_files(page, predictions, test_set)
    for role, column in (("Predicted class", "predicted"), ("True class", "true")):
        expect(page.get_by_label(role, exact=True)).to_have_value(column)
    expect(page.get_by_label("Value to total")).to_have_value("turnover")
    expect(page.get_by_label("Id of a unit")).to_have_value("company")
    page.get_by_label("Report per").select_option("region")
    page.get_by_role("button", name="Check and correct").click()

    answer = page.locator("#files-answer")
    expect(answer.locator(".check-list")).to_contain_text("test units per true class")
    expect(answer.locator(".rows tbody tr")).to_have_count(6)
    expect(answer.get_by_text("cannot be shown to beat no correction")).to_have_count(1)
    est = trueup.correct(predictions, test_set, value="turnover", id="company", by="region", seed=1)
    for shown, row in zip(answer.locator(".rows tbody tr").all(), written(est), strict=True):
        expect(shown).to_contain_text(row["estimate"])
    expect(answer.locator(".accuracy tbody tr")).to_have_count(7 + 2)  # and the error matrix
    expect(answer.get_by_role("button", name="Copy the table as Markdown")).to_be_visible()
    drawn(page, "files")

    with page.expect_download() as found:
        page.get_by_role("button", name="Download the table").click()
    table = tmp_path / "table.csv"
    found.value.save_as(table)
    assert len(table.read_text(encoding="utf-8").splitlines()) == 7
    report_button = answer.get_by_role("button", name="Download the report")
    expect(report_button).to_be_enabled()
    shoot(page, "files", height=1250)
    with page.expect_download() as found:
        report_button.click()
    report = tmp_path / "report.html"
    found.value.save_as(report)
    opened = page.context.browser.new_context(offline=True, java_script_enabled=False).new_page()
    opened.goto(report.as_uri())
    expect(opened.locator("body")).to_contain_text("webshop")
    expect(opened.locator("svg").first).to_be_visible()
    opened.context.close()


def test_files_that_are_wrong_are_refused_in_words(open_page, tmp_path):
    page = open_page()
    page.get_by_role("tab", name="Files").click()
    big = tmp_path / "big.csv"
    big.write_bytes(b"a,b\n" + b"1,2\n" * 100_000)
    page.get_by_label("Predictions: the population").set_input_files(big)
    expect(page.locator("#about-predictions")).to_contain_text("--max-upload")
    book = tmp_path / "book.xlsx"
    book.write_bytes(b"PK\x03\x04....")
    page.get_by_label("Predictions: the population").set_input_files(book)
    expect(page.locator("#about-predictions")).to_contain_text("Excel workbook")
    open_page.complaints[:] = [x for x in open_page.complaints if "422" not in x]


HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'


def test_hostile_class_names_show_as_text(open_page, tables):
    page = open_page()
    title = page.title()
    load(page, "The Peculiar Example")
    page.get_by_label("name of class 1").fill(HOSTILE)
    expect(answer_of(page).locator(".figure .of").first).to_have_text(HOSTILE)
    drawn(page)
    expect(page.locator("#numbers-answer-sentence")).to_contain_text(HOSTILE)
    send_files(page, *tables((HOSTILE, '=HYPERLINK("x")')))
    page.get_by_role("button", name="Check and correct").click()
    drawn(page, "files")
    expect(page.locator("#files-answer .rows")).to_contain_text(HOSTILE)
    quoted = HOSTILE.replace('"', "'")
    take(page, "predictions", "Take these predictions", f"{quoted}\tpredicted\n1\tcat\n2\tdog")
    expect(page.locator("#column-draw-id")).to_contain_text(quoted)
    page.get_by_role("tab", name="Numbers").click()
    page.get_by_label("some predicted labels are no class").check()
    page.get_by_label("name of predicted label 1").fill(HOSTILE + "?")
    expect(page.get_by_label(f"units in the population predicted {HOSTILE}?")).to_be_visible()
    drawn(page)
    assert page.locator("main img, main script").count() == 0
    assert page.title() == title


def test_a_long_computation_leaves_the_page_awake_and_can_be_cancelled(open_page):
    page = open_page()
    load(page, "The Peculiar Example")
    expect(page.locator("#refused")).to_be_visible()
    page.locator("#more summary").click()
    page.locator("#draws").fill("9000000")
    cancel = answer_of(page).get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible()
    page.get_by_role("tab", name="Files").click()  # the page listens meanwhile
    expect(page.get_by_role("heading", name="Two files")).to_be_visible()
    page.get_by_role("tab", name="Numbers").click()
    cancel.click()
    expect(answer_of(page)).to_contain_text("Cancelled")
    page.locator("#draws").fill("1000")
    expect(answer_of(page)).to_contain_text("1,000 draws")


def test_every_field_and_chart_has_a_name(open_page):
    page = open_page()
    load(page, "Turnover of webshops")
    drawn(page)
    page.locator("#more summary").click()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("#numbers input, #numbers select, #numbers button")]
            .filter((x) => !x.getAttribute("aria-label") && !x.labels?.length)
            .filter((x) => !x.textContent.trim())
            .map((x) => x.outerHTML)"""
    )
    assert nameless == []
    for drawing in page.locator("#numbers-answer .drawing").all():
        assert len(drawing.get_attribute("aria-label")) > 20
    figure = page.locator("#numbers-answer figure").first
    figure.get_by_text("The same in numbers").click()
    expect(figure.locator("table thead th[scope=col]").first).to_be_visible()
    expect(figure.locator("table tbody th[scope=row]").first).to_have_text("webshop")
    shown = answer_of(page).locator(".rows tbody tr").first.locator("td")
    for k in range(4):  # the same figures, written alike
        expect(figure.locator("table tbody tr").first.locator("td").nth(k)).to_have_text(
            shown.nth(k).text_content()
        )


@pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")
def test_labels_that_are_no_class_and_classes_that_are_never_predicted(open_page, shoot):
    page = open_page()
    page.get_by_label("some predicted labels are no class").check()
    page.get_by_role("button", name="Add a predicted label").click()
    expect(page.get_by_label("name of predicted label 3")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("abstains")
    page.get_by_role("button", name="Add a class").click()
    expect(page.get_by_label("test units truly class 3, predicted abstains")).to_be_visible()
    block = "\tyes\tno\tabstains\nyes\t40\t5\t6\nno\t4\t60\t3\nspam\t1\t2\t9\nrefusal\t3\t0\t8\n"
    paste(page, "test units truly class 1, predicted class 1", block)
    paste(page, "units in the population predicted yes", "900\t1400\t300")
    test = [[40, 5, 6], [4, 60, 3], [1, 2, 9], [3, 0, 8]]
    labels = {
        "classes": ["yes", "no", "spam", "refusal"],
        "predicted_classes": ["yes", "no", "abstains"],
    }
    est = trueup.correct_counts(test, [900, 1400, 300], **labels, seed=1)
    rows = answer_of(page).locator(".rows tbody tr")
    expect(rows).to_have_count(4)
    for shown, row in zip(rows.all(), written(est), strict=True):
        expect(shown.locator("th")).to_have_text(row["class"])
        figures = [row[name] for name in ("naive", "estimate", "lower", "upper")]
        expect(shown.locator("td")).to_have_text(figures)
    drawn(page)
    shoot(page, "labels")
    expect(page).to_have_url(re.compile("label=abstains"))
    again = open_page(f"#{urlsplit(page.url).fragment}")
    expect(again.get_by_label("test units truly refusal, predicted abstains")).to_have_value("8")
    expect(answer_of(again).locator(".rows tbody tr")).to_have_count(4)
    page.get_by_role("button", name="remove the column of abstains").click()
    expect(page.get_by_label("test units truly spam, predicted abstains")).to_have_count(0)


AUDIT = "\n".join(["predicted\ttrue", *["cat\tcat"] * 25, *["cat\tdog"] * 5, *["dog\tdog"] * 30])
CELLS = (
    "predicted\tregion\tunits\ncat\tnorth\t310\ncat\tsouth\t440\ndog\tnorth\t5200\ndog\tsouth\t4050"
)


def take(page, role, button, text):
    page.get_by_label(f"rows of the {role}").evaluate(
        "(node) => { node.closest('details').open = true; }"
    )
    page.get_by_label(f"rows of the {role}").fill(text)
    page.get_by_role("button", name=button).click()


@pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")
def test_aggregated_rows_from_a_spreadsheet(open_page, tmp_path):
    page = open_page()
    page.get_by_role("tab", name="Files").click()
    take(page, "predictions", "Take these predictions", CELLS)
    expect(page.locator("#about-predictions .file")).to_contain_text("3 columns")
    take(page, "test set", "Take this test set", AUDIT)
    page.get_by_label("Report per").select_option("region")
    page.get_by_text("More columns").click()
    page.get_by_label("Units in a row").select_option("units")
    page.get_by_label("Value to total").select_option("")
    by_prediction = page.locator("#files-options").get_by_role(
        "radio", name=re.compile("predicted")
    )
    by_prediction.check()
    page.get_by_role("button", name="Check and correct").click()
    rows = page.locator("#files-answer .rows tbody tr")
    expect(rows).to_have_count(6)
    for name, text in (("cells.csv", CELLS), ("audit.csv", AUDIT)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    tables = tmp_path / "cells.csv", tmp_path / "audit.csv"
    est = trueup.correct(*tables, count="units", by="region", design="by_prediction", seed=1)
    for shown, row in zip(rows.all(), written(est), strict=True):
        expect(shown).to_contain_text(row["estimate"])


def test_a_work_list_is_drawn_filled_in_and_read_back(open_page, tables, tmp_path, shoot):
    page = open_page()
    predictions, _ = tables()
    page.get_by_role("tab", name="Files").click()
    page.get_by_label("Predictions: the population").set_input_files(predictions)
    page.get_by_text("No test set yet?").click()
    page.get_by_label("How many", exact=True).fill("40")
    page.get_by_label("How", exact=True).select_option("by_prediction")
    expect(page.locator("#column-draw-id")).to_have_value("company")
    shoot(page, "work-list")
    with page.expect_download() as found:
        page.get_by_role("button", name="Download the work list").click()
    path = tmp_path / "list.csv"
    found.value.save_as(path)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    drawn_here = trueup.draw(predictions, 40, id="company", by_prediction=True, seed=1)
    assert [int(row["company"]) for row in rows] == list(drawn_here["company"])
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(row | {"true": row["predicted"]} for row in rows)
    page.get_by_label("Test set: the audited units").set_input_files(path)
    expect(page.locator("#work-list")).to_be_visible()
    expect(page.locator("#files-design-field")).to_be_hidden()
    page.get_by_role("button", name="Check and correct").click()
    expect(page.locator("#files-answer")).to_contain_text("design by_prediction")


@pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")
def test_a_series(open_page, tmp_path):
    page = open_page()
    months = [f"2024-{month:02}" for month in range(1, 5)]
    units = [
        f"{m},{'cat' if i % 10 < 3 + k else 'dog'}"
        for k, m in enumerate(months)
        for i in range(500)
    ]
    audit = [f"{months[0]},{p},{t}" for p, t, n in SERIES for _ in range(n)]
    predictions, test_set = tmp_path / "units.csv", tmp_path / "audit.csv"
    predictions.write_text("\n".join(["month,predicted", *units]), encoding="utf-8")
    test_set.write_text("\n".join(["month,predicted,true", *audit]), encoding="utf-8")
    send_files(page, predictions, test_set)
    page.get_by_label("Period", exact=True).select_option("month")
    page.get_by_role("button", name="Check and correct").click()
    rows = page.locator("#files-answer .rows tbody tr")
    expect(rows).to_have_count(10)
    est = trueup.correct(predictions, test_set, period="month", seed=1)
    for shown, row in zip(rows.all(), written(est), strict=True):
        expect(shown).to_contain_text(row["estimate"])
    assert "groups" in [x.get_attribute("data-kind") for x in drawn(page, "files").all()]


SERIES = [("cat", "cat", 27), ("cat", "dog", 3), ("dog", "dog", 65), ("dog", "cat", 5)]


def test_the_guide_ends_in_a_design(open_page):
    page = open_page("#test=40,1;2,30&counts=500,900")
    page.get_by_text("Not sure?").first.click()
    guide = page.locator("#guide")
    for answers, design, words in (
        (["No"], "shifted", "elsewhere"),
        (["Yes", "Yes", "Yes"], "by_prediction", "predicted class"),
        (["Yes", "Yes", "No", "Yes"], "by_class", "true class"),
        (["Yes", "Yes", "No", "No", "Yes"], "random", "More columns"),
        (["Yes", "Yes", "No", "No", "No"], "random", "Only its size"),
        (["Yes", "No"], "random", "No design fits"),  # as before
    ):
        for word in answers:
            guide.get_by_role("button", name=word, exact=True).press("Enter")
        expect(guide).to_contain_text(words)
        expect(page.locator(f"#design-field input[value={design}]")).to_be_checked()
        expect(answer_of(page)).to_contain_text(f"design {design}")
        guide.get_by_role("button", name="Start again").press("Enter")
