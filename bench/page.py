"""How long the page takes after a key is pressed, as a multiple of the bare call.

One run measures, in turn and for the same numbers: `correct_counts`; a request to the running
page, until the answer is there and until the charts are; and, with --browser, the page itself in
Chromium, from the key to the answer in the document, beside what Chromium takes for the smallest
request there is. Medians, their quartiles, and the ratio to the bare call.

python bench/page.py [--rounds 200] [--browser] [--json]
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import time
import warnings
from functools import partial

import httpx

import trueup

MOST = 5.0
PAUSE = 0.4  # seconds between keys in the browser
WORDS = {
    "answer": "the answer ",
    "charts": "the charts ",
    "nothing": "an empty 404",
}
CASES = {
    "shifted counts": {
        "test": [[4, 1], [2, 3]],
        "predicted_counts": [10, 90],
        "design": "shifted",
    },
    "random counts": {"test": [[40, 10], [2, 300]], "predicted_counts": [1000, 9000]},
    "random totals": {
        "test": [[40, 10], [2, 300]],
        "predicted_counts": [1000, 9000],
        "predicted_sums": [2e5, 9e5],
        "predicted_squares": [9e7, 4e8],
    },
}


def clock(function):
    """Give the seconds that a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def request(client, given):
    """Ask the page; give the seconds until the answer and until the charts."""
    start = time.perf_counter()
    with client.stream("POST", "/api/numbers", json=given) as answer:
        seen = [(json.loads(line), time.perf_counter() - start) for line in answer.iter_lines()]
    return seen[0][1], seen[-1][1]


def http(url, rounds):
    """Measure every case, the bare call and the request in turn."""
    rows = []
    with httpx.Client(base_url=url, headers={"X-Trueup": "1"}, trust_env=False) as client:
        for name, case in CASES.items():
            given = case | {"classes": ["webshop", "other"], "seed": 1}
            times = {"bare": [], "answer": [], "charts": []}
            for i in range(rounds + 10):
                bare = clock(lambda given=given: trueup.correct_counts(**given))
                answer, charts = request(client, given)
                if i >= 10:  # the first ones load modules
                    for what, seconds in (("bare", bare), ("answer", answer), ("charts", charts)):
                        times[what].append(seconds)
            rows.append({"case": name} | times)
    return rows


TYPE = """async () => {
  const field = document.querySelector('[data-place="counts-1"]');
  const status = document.querySelector("#numbers-answer .headline");
  const [times, least] = [[], []];
  for (let i = 0; i < ROUNDS; i += 1) {
    const start = performance.now();
    const shown = new Promise((resolve) => {
      new MutationObserver((_, seen) => { seen.disconnect(); resolve(performance.now()); })
        .observe(status, { childList: true });
    });
    field.value = String(Number(field.value) + 1);
    field.dispatchEvent(new Event("input"));
    times.push((await shown) - start);
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    const empty = performance.now();
    await (await fetch("/nothing")).text();
    least.push(performance.now() - empty);
  }
  return [times, least];
}"""


def paused(call, rounds):
    """Time a call as often, with the pauses of somebody who types: a processor cools down."""
    times = []
    for _ in range(rounds):
        time.sleep(PAUSE)
        times.append(clock(call))
    return times


def browser(url, rounds):
    """Measure in Chromium: from the key to the answer in the document, nothing else going on."""
    from playwright.sync_api import sync_playwright

    links = {
        "shifted counts": "test=4,1;2,3&counts=10,90&design=shifted",
        "random counts": "test=40,10;2,300&counts=1000,9000",
    }
    script = TYPE.replace("ROUNDS", str(rounds)).replace("PAUSE", str(1000 * PAUSE))
    rows = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, link in links.items():
            page = chromium.new_page()
            page.goto(f"{url}/#{link}")
            page.locator("#numbers-answer figure .drawing svg").first.wait_for()
            bare = paused(partial(trueup.correct_counts, **CASES[name], seed=1), rounds)
            shown, least = page.evaluate(script)
            page.close()
            seconds = {"answer": [t / 1000 for t in shown], "nothing": [t / 1000 for t in least]}
            rows.append({"case": f"in the browser, {name}", "bare": bare} | seconds)
        chromium.close()
    return rows


def main():
    """Start the page, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    command = [sys.executable, "-m", "trueup", "serve", "--port", "0", "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://[\d.:]+", process.stdout.readline())[0]
        rows = http(url, options.rounds)
        if options.browser:
            rows += browser(url, min(options.rounds, 40))
    finally:
        process.terminate()
        process.wait()
    if options.json:
        print(json.dumps(rows))
        return 0
    worst = 0.0
    for row in rows:
        bare = statistics.median(row["bare"])
        print(f"{row['case']}: bare call {1000 * bare:.1f} ms")
        for what in ("answer", "charts", "nothing"):
            if what not in row:
                continue
            low, middle, high = statistics.quantiles(row[what], n=4)
            ratio = middle / bare
            print(
                f"  until {WORDS[what]} {1000 * middle:5.1f} ms ({1000 * low:.1f} to "
                f"{1000 * high:.1f}), {ratio:.2f} times the bare call"
            )
            if what == "answer":
                worst = max(worst, ratio)
    verdict = "within" if worst <= MOST else "MISSES"
    print(f"\nthe slowest answer takes {worst:.2f} times the bare call: {verdict} {MOST:g}")
    return 0 if worst <= MOST else 1


if __name__ == "__main__":
    raise SystemExit(main())
