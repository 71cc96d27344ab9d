"""Training in the page: time to learn two tasks, a fork with five seeds, memory, the page's longest
task, models with and without attention, and the cases of the bug clinic.

    python -m benchmarks.page_training [--seeds 8]

Runs the site's worker in Chromium, and the Python trainer in the same run. A run is correct when at
least 99% of 500 held-out sequences (95% of French sentences) are written without an error in free
greedy decoding; all evaluations are counted.
"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Page

from benchmarks.harness import option_parser, report
from benchmarks.site import renderer_megabytes
from benchmarks.training import learn_ours
from tests.live_app import chromium, http_server
from transformer.figures.trainer_page import (
    CLINIC,
    POLICY,
    clinic_page,
    trainer_files,
    trainer_page,
)
from transformer.text.tasks import TASKS
from transformer.text.tasks.pair_data import pair_data

FRENCH_GOAL = 0.95
FORK_STEP, FORK_SEEDS = 200, 5
MODELS = ("transformer", "gru_attention", "gru")
PAGE_SECONDS, PAGE_HEADS = 10, 48
CLINIC_CASES = 12
PAGE = f"""<!doctype html><html><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<link rel="icon" href="data:,"><title>Training</title></head><body></body></html>"""

# Starts a worker and calls `look(report)` for each of its reports, until it returns something.
START_WORKER = """(() => {
  window.workers = [];
  window.train = (command, look) => new Promise((done, fail) => {
    const worker = new Worker("scripts/training/worker.js", { type: "module" });
    workers.push(worker);
    worker.onmessage = ({ data }) => {
      const result = look(data, worker);
      if (result !== undefined) done(result);
      if (data.problem) fail(new Error(data.problem));
    };
    worker.postMessage({ type: "start", ...command });
  });
  window.stop = () => { for (const worker of workers.splice(0)) worker.terminate(); };
})();"""

# The seconds until a share of the held-out pairs is first correct, or null.
TIME_TO_GOAL = """async ([settings, goal, data]) => {
  const seconds = await train({ description: { settings }, data }, (report) => {
    if (report.type === "finished") return Infinity;
    const { correct, count, seconds } = report.evaluation ?? { count: 0 };
    return count === 500 && correct >= goal * count ? seconds : undefined;
  });
  stop();
  return Number.isFinite(seconds) ? seconds : null;
}"""

# Milliseconds until the attention of the first trained weights has arrived.
TIME_TO_PICTURE = """async () => {
  const start = performance.now();
  const time = await train({ description: { settings: {} } }, (report) => {
    return report.type === "progress" && report.step > 0 ? performance.now() - start : undefined;
  });
  stop();
  return time;
}"""

# Seconds for the seeds of a fork in which one head is off, as many at a time as there are cores.
TIME_OF_FORK = """async ([step, seeds]) => {
  const state = await train({ description: { settings: { seed: 1 } } }, (report, worker) => {
    const moved = report.type === "progress" && report.step >= step;
    if (moved) worker.postMessage({ type: "state", id: 1 });
    return report.type === "answer" ? report.result : undefined;
  });
  stop();
  const start = performance.now();
  const queue = Array.from({ length: seeds }, (_, i) => i + 1);
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, async () => {
    while (queue.length) {
      const changes = [{ step: state.step, settings: { off: "c1.0", seed: queue.pop() } }];
      const start = { description: { ...state.description, changes }, state };
      await train(start, (report) => report.type === "finished" ? true : undefined);
    }
  }));
  stop();
  return (performance.now() - start) / 1000;
}"""

# A run and three forks, all of them training.
START_FOUR = """async () => {
  const moves = (report) => report.type === "progress" && report.step > 20 ? true : undefined;
  const start = (seed) => train({ description: { settings: { seed } } }, moves);
  await Promise.all([1, 2, 3, 4].map(start));
}"""


# Three models on the same data: shares of right outputs for the shortest and the longest inputs.
COMPARE_MODELS = """async ([models, settings, least, most]) => {
  const results = await Promise.all(models.map((model) =>
    train({ description: { settings: { ...settings, model } } }, (report) =>
      report.type === "finished" ? report.evaluation : undefined)));
  stop();
  const share = ({ byLength }, accept) => {
    const entries = byLength.filter(({ length }) => accept(length));
    const sum = (name) => entries.reduce((total, entry) => total + entry[name], 0);
    return sum("correct") / sum("count");
  };
  const groups = [(length) => length <= least, (length) => length >= most];
  return results.map((result) => groups.map((fits) => share(result, fits)));
}"""

# Before the page's scripts: the longest task of the main thread, and how many heads are painted.
OBSERVE_PAGE = """
window.observed = { longest: 0, painted: 0 };
new PerformanceObserver((list) => {
  const durations = list.getEntries().map(({ duration }) => duration);
  observed.longest = Math.max(observed.longest, ...durations);
}).observe({ type: "longtask" });
const paint = CanvasRenderingContext2D.prototype.putImageData;
CanvasRenderingContext2D.prototype.putImageData = function (...values) {
  observed.painted++;
  return paint.apply(this, values);
};"""

# From the click on a case of the bug clinic to its first picture.
CASE_TO_PICTURE = """(button) => new Promise((done) => {
  const start = performance.now();
  const look = () => document.querySelector(".hu-clinic .hu-trainer-heads:not([hidden]) canvas")
    ? requestAnimationFrame(() => done(performance.now() - start)) : requestAnimationFrame(look);
  button.click();
  look();
})"""


def _measure_models(page: Page, seeds: int) -> None:
    options = {"longest": 20, "letters": 10}
    settings = {"options": options, "steps": 800, "learning_rate": 0.005}
    shares = [
        page.evaluate(COMPARE_MODELS, [MODELS, {**settings, "seed": seed}, 4, 17])
        for seed in range(1, seeds + 1)
    ]
    for number, model in enumerate(MODELS):
        for end, inputs in enumerate(("1 to 4", "17 to 20")):
            percents = [100 * float(share[number][end]) for share in shares]
            spread = f"{min(percents):.0f} to {max(percents):.0f}"
            print(f"{model}, inputs of {inputs} symbols, {seeds} seeds: {spread} % right")


def _measure_page(page: Page, address: str) -> None:
    """Print the longest task and the frames of the page while it trains a model with 48 heads."""
    page.add_init_script(OBSERVE_PAGE)
    # With a fork in its link the run does not stop when a head has found the right tokens.
    page.goto(f"{address}train.html?here=n_layers%3D4%3Bsteps%3D3000~0%402999%3Boff%3Dc0.0")
    page.get_by_label("Speed").select_option("as fast as possible")
    page.get_by_text(re.compile(r"step \d\d+ · loss")).wait_for()
    page.evaluate("observed.longest = observed.painted = 0")
    page.wait_for_timeout(1000 * PAGE_SECONDS)
    observed = page.evaluate("observed")
    pictures = observed["painted"] / PAGE_HEADS
    report("longest task of the page that trains", [observed["longest"]], "50")
    report(f"pictures a second of {PAGE_HEADS} heads", [pictures / PAGE_SECONDS], "30", unit="")


def _measure_stop(page: Page, address: str) -> None:
    """Print the seconds from opening the page, at 60 steps a second, until it asks whether to
    switch a head off, and the time of the five seeds of the fork."""
    start = time.monotonic()
    page.goto(f"{address}train.html")
    off = page.get_by_role("button", name="Switch it off", exact=True)
    off.wait_for(timeout=120_000)
    report("from opening the page to “Switch it off?”", [time.monotonic() - start], "–", 1, "s")
    print(page.locator(".hu-trainer-caption").inner_text())
    off.click()
    finished = page.get_by_role("group", name="Runs").get_by_text("finished after")
    finished.nth(1).wait_for(timeout=300_000)
    page.get_by_role("button", name="Compare with five seeds").click()
    page.get_by_text("The pairs: 10 runs").wait_for(timeout=1_200_000)
    print(page.locator(".hu-trainer-comparisons").inner_text())


def _measure_clinic(page: Page, address: str) -> None:
    pictures: list[float] = []
    trainings: list[float] = []
    cases = page.locator(".hu-clinic-list button")
    for number in range(CLINIC_CASES):
        page.goto(f"{address}{CLINIC}")
        cases.first.wait_for()
        pictures.append(float(cases.nth(number).evaluate(CASE_TO_PICTURE)))
        page.locator(".hu-clinic[data-state=ready]").wait_for(timeout=120_000)
        status = page.locator(".hu-clinic .hu-trainer-status").inner_text()
        trainings += [float(seconds) for seconds in re.findall(r"in ([\d.]+) s", status)]
    report("bug clinic: from the click on a case to its first picture", pictures, "1000")
    report("… training of a case", trainings, "8", 1, "s")
    report("… slowest case", [max(trainings)], "8", 1, "s")


def _report_times(label: str, page_times: list[float | None], python_times: list[float]) -> None:
    learned = [time for time in page_times if time is not None]
    print(f"{label}: {len(learned)} of {len(page_times)} seeds", flush=True)
    if learned:
        report("  in the page, seconds of work", learned, "6 for reverse", 1, "s")
        report("  slowest seed", [max(learned)], "–", 1, "s")
    report("  Python trainer", python_times, "–", 1, "s")
    if learned:
        ratio = median(learned) / median(python_times)
        report("  page / Python", [ratio], "1, French 1.5", 2, "×")


def _measure_learning(page: Page, seeds: int) -> None:
    times = [page.evaluate(TIME_TO_GOAL, [{"seed": n}, 0.99, None]) for n in range(1, seeds + 1)]
    _report_times("reverse to 99%", times, [learn_ours(seed) for seed in (1, 2, 3)])
    data: dict[str, Any] = pair_data(TASKS["french"])
    times = [page.evaluate(TIME_TO_GOAL, [{"task": "french", "seed": 1}, FRENCH_GOAL, data])]
    _report_times("French grammar to 95%", times, [learn_ours(1, "french", FRENCH_GOAL)])


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=8, help="how often reverse is learned")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for path, content in trainer_files().items():
            file = Path(folder) / "scripts" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        (Path(folder) / "index.html").write_text(PAGE, encoding="utf-8")
        (Path(folder) / "train.html").write_text(trainer_page(""), encoding="utf-8")
        (Path(folder) / CLINIC).write_text(clinic_page(""), encoding="utf-8")
        with http_server(Path(folder)) as address:
            page = browser.new_page()
            page.add_init_script(START_WORKER)
            page.goto(address)
            pictures = [float(page.evaluate(TIME_TO_PICTURE)) for _ in range(8)]
            report("from Play to the first moving picture", pictures, "300")
            _measure_page(browser.new_page(), address)
            _measure_stop(browser.new_page(), address)
            _measure_clinic(browser.new_page(), address)
            _measure_models(page, options.seeds)
            _measure_learning(page, options.seeds)
            fork = float(page.evaluate(TIME_OF_FORK, [FORK_STEP, FORK_SEEDS]))
            report("a fork with five seeds", [fork], "45", 1, "s")
            page.evaluate(START_FOUR)
            report(
                "memory of the tab, four runs training", [renderer_megabytes()], "250", unit="MB"
            )


if __name__ == "__main__":
    main()
