// The tree of runs under random actions of a visitor and random progress of its workers.

import assert from "node:assert/strict";
import { allSettings, MAX_FORKS, readLink, writeLink } from "../../../transformer/client/app/trainer/link.js";
import { makeRuns } from "../../../transformer/client/app/trainer/runs.js";
import { Random } from "../../../transformer/client/training/random.js";

const [CORES, STEPS, ACTIONS, TREES, STOP] = [3, 60, 60, 24, 30]; // a head finds the rule at step STOP
const OFFS = ["", "c0.0", "c1.1", "e0", "d1.3", "c9.9"];

// A worker whose steps the test takes: it knows of its run only what training/worker.js is told.
class FakeWorker {
  constructor(live) {
    this.live = live;
    live.add(this);
    [this.inbox, this.step, this.isRunning, this.isOver] = [[], 0, false, false];
  }
  postMessage(message) {
    this.inbox.push(message);
  }
  terminate() {
    this.live.delete(this);
  }
  send(data) {
    if (this.live.has(this)) this.onmessage({ data });
  }
  read() {
    const message = this.inbox.shift();
    if (!message) return;
    if (message.type === "start") {
      this.start = message;
      this.step = message.state?.step ?? 0;
      const changed = Object.assign(
        {},
        message.description.settings,
        ...message.description.changes.map((c) => c.settings),
      );
      this.steps = changed.steps ?? STEPS;
      this.isRunning = true;
      this.stopsAt = message.stopsAtShare ? STOP : -1;
      this.send({ type: "started", step: this.step, settings: changed });
      this.afterStep();
    } else if (message.type === "state") {
      this.send({ type: "answer", id: message.id, result: this.state() });
    } else if (message.type === "pause" && this.isRunning) {
      this.isRunning = false;
      this.send({ type: "paused", step: this.step, checksum: "" });
    } else if (message.type === "resume") this.isRunning = !this.isOver;
    else if (message.type === "step") {
      this.isRunning = false;
      if (!this.isOver) this.takeStep();
    }
  }
  state() {
    return { description: this.start.description, step: this.step, weights: new Float32Array(1) };
  }
  takeStep() {
    this.step++;
    this.send({ type: "progress", step: this.step, steps: [], seconds: 0, examples: [] });
    this.afterStep();
  }
  afterStep() {
    if (this.start.forkSteps?.includes(this.step)) this.send({ type: "forkState", state: this.state() });
    if (this.step === this.stopsAt && this.step < this.steps) {
      this.isRunning = false;
      this.send({ type: "paused", step: this.step, checksum: "", isFound: true });
    }
    if (this.step < this.steps) return;
    [this.isRunning, this.isOver] = [false, true];
    const evaluation = { step: this.step, correct: 1, count: 1, linkShares: null };
    this.send({ type: "finished", step: this.step, seconds: 1, checksum: "", evaluation });
  }
  fail(random) {
    [this.isRunning, this.isOver] = [false, true];
    const report = { step: this.step, problem: "It failed.", checksum: "" };
    this.send({ type: random.below(2) ? "diverged" : "problem", ...report });
  }
}

const settle = () => new Promise((resolve) => setTimeout(resolve));
const isOver = ({ state }) => ["finished", "diverged", "problem", "cancelled"].includes(state);

function check(runs, live) {
  assert(runs.all.filter(({ state }) => state === "training").length <= CORES, "more runs train than there are cores");
  assert(runs.visible.length <= MAX_FORKS + 1, "more forks than a link can have");
  if (runs.paused) assert(!runs.visible.some(({ state }) => state === "training"), "a paused run trains");
  assert([...live].filter((worker) => worker.start).length <= runs.all.length);
  const planned = runs.planned();
  assert.deepEqual(readLink(writeLink(planned)), planned);
}

Deno.test("any order of pauses, forks, comparisons and failures keeps the tree of runs sound", async () => {
  for (let seed = 0; seed < TREES; seed++) {
    const random = new Random(seed + 1);
    const live = new Set();
    const runs = makeRuns(() => /** @type {any} */ (new FakeWorker(live)), () => undefined, CORES);
    const comparisons = [];
    let refused = 0;
    const links = [`steps=${STEPS}`, `steps=${STEPS}~0@20;off=c0.0~1@40;off=c0.1~0@0;seed=5`];
    const stops = seed % 2 === 0;
    runs.begin(readLink(links[seed % 2]), null, null, stops);
    const anyRun = () => runs.all[random.below(runs.all.length)];
    const act = [
      () => runs.pause(),
      () => runs.resume(),
      () => runs.step(),
      () => runs.setSpeed(random.below(3)),
      () => runs.fork(anyRun(), { off: OFFS[random.below(OFFS.length)] }).catch(() => refused++),
      () => {
        const run = runs.visible.at(-1); // two clicks in a row, on a run that trains
        for (let i = 0; i < 2; i++) runs.fork(run, { learning_rate: 0.001 }).catch(() => refused++);
      },
      () => {
        const run = anyRun();
        const isFork = run.parent >= 0 && !run.hidden;
        if (!isFork) return;
        const comparison = runs.compareSeeds(run, Boolean(random.below(2)), 2);
        comparisons.push({ ...comparison, isCancelled: false, pairs: comparison.pairs.catch((error) => error) });
      },
      () => {
        const comparison = comparisons[random.below(comparisons.length + 1)];
        if (!comparison || comparison.progress().done === comparison.count) return;
        comparison.isCancelled = true;
        comparison.cancel();
      },
      () => seed % 4 === 3 && [...live].filter((worker) => worker.isRunning).at(0)?.fail(random),
    ];
    for (let i = 0; i < ACTIONS; i++) {
      act[random.below(act.length)]();
      for (const worker of [...live]) {
        if (random.below(2)) worker.read();
        for (let n = random.below(4); n > 0 && worker.isRunning; n--) worker.takeStep();
      }
      if (random.below(3) === 0) await settle();
      check(runs, live);
    }

    // Played on, every run ends, and every comparison has its answer.
    for (let i = 0; i < 3000 && !runs.all.every(isOver); i++) {
      runs.resume(); // again where a head has found the rule
      for (const worker of [...live]) {
        worker.read();
        if (worker.isRunning) worker.takeStep();
      }
      if (i % 10 === 0) await settle();
      check(runs, live);
    }
    assert(runs.all.every(isOver), `seed ${seed}: ${runs.all.map(({ state }) => state)}`);
    assert(runs.all.every(({ hidden, worker }) => !hidden || !worker), "a hidden run keeps its worker");
    for (const { pairs, isCancelled, progress, count } of comparisons) {
      const outcome = await pairs;
      if (isCancelled) assert.equal(outcome, null);
      else assert(outcome instanceof Error || outcome.length === 2);
      assert.deepEqual(progress(), { done: count, share: 1 });
    }
    const [root] = runs.all;
    assert.equal(root.foundAt, stops && root.at >= STOP ? STOP : -1, "one stop, and only where it was wanted");
    const settings = runs.visible.map((
      _,
      i,
    ) => [runs.planned()[i].parent, runs.planned()[i].step, allSettings(runs.planned(), i)]);
    assert.equal(new Set(settings.map((entry) => JSON.stringify(entry))).size, settings.length, "two forks are equal");

    const pending = runs.all[0].worker && runs.fork(runs.all[0], { seed: 77, steps: STEPS + 9 });
    runs.close();
    assert.equal(live.size, 0);
    await Promise.race([pending, settle()]); // never answered, and never an error
  }
});

Deno.test("sixteen clicks make twelve forks, and a double click one", async () => {
  const live = new Set();
  const runs = makeRuns(() => /** @type {any} */ (new FakeWorker(live)), () => undefined, CORES);
  runs.begin(readLink(`steps=${STEPS}`), null);
  const [root] = runs.all;
  const read = () => [...live].forEach((worker) => worker.read());
  read();
  [...live][0].takeStep();
  const twice = [runs.fork(root, { off: "c0.0" }), runs.fork(root, { off: "c0.0" })];
  read();
  const [one, two] = await Promise.all(twice);
  assert.equal(one, two);
  const clicks = Array.from(
    { length: 16 },
    (_, i) => runs.fork(root, { seed: 100 + i }).then(() => "", (e) => e.message),
  );
  for (let i = 0; i < 20; i++) read();
  const results = await Promise.all(clicks);
  assert.deepEqual(results.map((text) => text.slice(0, 8)), [...Array(11).fill(""), ...Array(5).fill("The link")]);
  assert.equal(runs.visible.length, MAX_FORKS + 1);
  await assert.rejects(runs.fork(root, { off: "c9.9" }));
  runs.close();
});

Deno.test("pause, compare, play: the comparison ends", async () => {
  const live = new Set();
  const runs = makeRuns(() => /** @type {any} */ (new FakeWorker(live)), () => undefined, CORES);
  runs.begin(readLink(`steps=${STEPS}~0@20;off=c0.0`), null);
  const advance = () =>
    [...live].forEach((worker) => {
      worker.read();
      if (worker.isRunning) worker.takeStep();
    });
  for (let i = 0; i < 30; i++) advance();
  assert.equal(runs.all[1].step, 20);
  assert.equal(runs.all[1].start, null, "the fork began with the weights of its run");
  runs.pause();
  const comparison = runs.compareSeeds(runs.all[1], false).pairs;
  for (let i = 0; i < 5; i++) advance();
  runs.resume();
  for (let i = 0; i < 600; i++) advance();
  const pairs = await comparison;
  assert.equal(pairs.length, 5);
  assert(pairs.every(({ before, after }) => before.share === 1 && after.share === 1));
  assert(runs.all.every(isOver));
  runs.close();
});
