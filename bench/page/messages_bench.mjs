// What moving through the timeline of ranks takes, over a recording of 10^7 messages and parts in collective operations, in
// headless Chromium: frames a second while it moves and zooms without a pause, and from a zoom to what it shows.
// Usage: node messages_bench.mjs BINARY_DIR   ATTUNE_BENCH_ROWS: how many (default 10^7)

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';

import { CONTEXT, findChromium, launchBrowser, quantile } from '../../tests/web/harness.mjs';
import { report, reportUnavailable, Session } from './session.mjs';

const ROWS = Number(process.env.ATTUNE_BENCH_ROWS ?? 1e7);
const RANKS = 64;
const SECONDS = 8;
const ZOOMS = 60;
const LIMIT_MS = 600_000;

async function open(browser, url) {
  const page = await (await browser.newContext(CONTEXT)).newPage();
  page.setDefaultTimeout(LIMIT_MS);
  await page.goto(url);
  await page.waitForFunction(() => window.attune?.waits);
  const begin = Date.now();
  await page.getByRole('tab', { name: 'Timeline', exact: true }).click();
  await page.evaluate(() => window.attune.show({ t0: window.attune.model.extent.t0, t1: window.attune.model.extent.t1 }));
  await page.waitForFunction(() => window.attune.waits.timeline.settled);
  return { page, firstMs: Date.now() - begin };
}

/** The times between frames while the view moves and zooms in and out, between all of the time and 5 ms of it. */
function framesWhileMoving(page, seconds) {
  return page.evaluate((limit) => new Promise((resolve) => {
    const app = window.attune;
    const { t0, t1 } = app.model.extent;
    const all = t1 - t0;
    const times = [];
    const begin = performance.now();
    let last = begin;
    const step = (now) => {
      if (now > begin) times.push(now - last);
      last = now;
      if (now - begin > limit * 1000) {
        resolve(times);
        return;
      }
      const turn = (now - begin) / 1000;
      const length = all * (5e6 / all) ** (0.5 - 0.5 * Math.cos((turn * Math.PI) / 2));
      const middle = t0 + all * (0.5 + 0.3 * Math.sin(turn * 0.7));
      app.show({ t0: middle - length / 2, t1: middle + length / 2 });
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }), seconds);
}

/** From a view of any length, anywhere, to the frame that has its data. */
function zooms(page, count) {
  return page.evaluate(async (views) => {
    const app = window.attune;
    const { t0, t1 } = app.model.extent;
    const length = t1 - t0;
    let state = 7;
    const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
    const times = [];
    for (let i = 0; i < views; i++) {
      const span = length * (2e6 / length) ** random();
      const from = t0 + (length - span) * random();
      times.push(await new Promise((resolve) => {
        const begin = performance.now();
        app.show({ t0: from, t1: from + span });
        const poll = () => (app.waits.timeline.settled ? requestAnimationFrame(() => resolve(performance.now() - begin)) : requestAnimationFrame(poll));
        requestAnimationFrame(poll);
      }));
    }
    return times;
  }, count);
}

const binaries = process.argv[2];
if (!binaries || !existsSync(path.join(binaries, 'write_messages'))) {
  console.error('usage: node messages_bench.mjs BINARY_DIR');
  process.exit(2);
}
if (!findChromium()) {
  reportUnavailable('ranks: frames a second', 'no Chromium (apt install chromium)');
  process.exit(0);
}
const folder = mkdtempSync(path.join(tmpdir(), 'attune-bench-'));
const file = path.join(folder, 'messages.attune');
execFileSync(path.join(binaries, 'write_messages'), [file, String(ROWS), String(RANKS)]);
const session = await Session.start(path.join(binaries, 'attune'), 'view', file);
const browser = await launchBrowser();
try {
  const { page, firstMs } = await open(browser, session.url);
  const what = `${ROWS.toExponential(0)} messages and parts in collective operations of ${RANKS} ranks; ${cpus().length} cores share browser, software rendering and attune`;
  report('ranks: first look', firstMs / 1000, 's', 30, 'lower', `${what}; makes the index`);
  await framesWhileMoving(page, 2); // the first ones compile the page's code
  const times = await framesWhileMoving(page, SECONDS);
  report('ranks: frames a second', (1000 * times.length) / times.reduce((sum, ms) => sum + ms, 0), 'frames/s', 40, 'higher', `moving and zooming for ${SECONDS} s between all of it and 5 ms; ${what}`);
  report('ranks: frame, p95', quantile(times, 0.95), 'ms', 67, 'lower', `median ${quantile(times, 0.5).toFixed(1)} ms, longest ${quantile(times, 1).toFixed(0)} ms`);
  const waits = await zooms(page, ZOOMS);
  report('ranks: zoom drawn, p95', quantile(waits, 0.95), 'ms', 1000, 'lower', `${ZOOMS} views of any length, median ${quantile(waits, 0.5).toFixed(0)} ms; what was there before stays on screen meanwhile`);
} finally {
  await browser.close();
  await session.stop();
  rmSync(folder, { recursive: true });
}
