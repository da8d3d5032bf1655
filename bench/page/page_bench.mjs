// What a zoom or a pan on the page takes, over recordings of 10^8 values (8 series shown) and of 1.6 x 10^7 (200 shown), in headless
// Chromium: from the input to the frame that shows the new view's data; and the first chart, from the address to its lines, in a new
// browser context each time. Prints figures as bench/harness/figure.h does.
// Usage: node page_bench.mjs BINARY_DIR

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { addDrawnAfter, CONTEXT, drawn, findChromium, launchBrowser, quantile } from '../../tests/web/harness.mjs';
import { report, reportUnavailable, Session } from './session.mjs';

/** Values, counters in the recording, and how many of them are shown. */
const RECORDINGS = [
  { values: Number(process.env.ATTUNE_BENCH_VALUES ?? 1e8), counters: 100, shown: 8 },
  { values: Number(process.env.ATTUNE_BENCH_VALUES ?? 1.6e7), counters: 200, shown: 200 },
];
const VIEWS = 300;
const LIMIT_MS = 100;
const VISITS = 21;
const FIRST_CHART_LIMIT_MS = 400;

async function open(browser, url, shown) {
  const page = await (await browser.newContext(CONTEXT)).newPage();
  await page.goto(`${url}&s=1-${shown}`);
  await drawn(page);
  await page.waitForFunction((count) => window.attune.model.points.size === count, shown);
  await addDrawnAfter(page);
  return page;
}

/** Times from the request for the page until its first chart has lines, by the page's own clock, which begins with the request. */
async function firstCharts(browser, url) {
  const times = [];
  for (let i = 0; i < VISITS; i++) {
    const context = await browser.newContext(CONTEXT);
    const page = await context.newPage();
    await page.addInitScript(() => {
      const poll = () => {
        if (window.attune?.drawnUpdates >= 1 && window.attune.model.points.size > 0) window.firstChartMs = performance.now();
        else requestAnimationFrame(poll);
      };
      requestAnimationFrame(poll);
    });
    await page.goto(url);
    times.push(await (await page.waitForFunction(() => window.firstChartMs)).jsonValue());
    await context.close();
  }
  return times;
}

/** Views of any length from 10 ms to all, anywhere; and pans by a part of the view's length. */
function measure(page, views) {
  return page.evaluate(async (count) => {
    const { t0, t1 } = window.attune.model.extent;
    const length = t1 - t0;
    let state = 7;
    const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
    const times = { zoom: [], pan: [] };
    const shortest = 10e6 / length;
    for (let i = 0; i < count; i++) {
      const span = length * shortest ** random();
      const begin = t0 + (length - span) * random();
      times.zoom.push(await window.drawnAfter((app) => app.show({ t0: begin, t1: begin + span })));
      const shifted = Math.min(Math.max(begin + span * (random() - 0.5), t0), t1 - span);
      times.pan.push(await window.drawnAfter((app) => app.show({ t0: shifted, t1: shifted + span })));
    }
    return times;
  }, views);
}

function reportTimes(figure, times, { values, shown }) {
  const ms = (p) => Math.round(quantile(times, p) * 10) / 10;
  const note = `${times.length} views of ${shown} series over ${values.toExponential(1)} values, median ${ms(0.5)} ms, longest ${ms(1)} ms; the browser draws 60 frames a second`;
  report(figure, ms(0.95), 'ms', LIMIT_MS, 'lower', note);
}

function reportVisits(figure, times, { values, shown }) {
  const ms = (p) => Math.round(quantile(times, p) * 10) / 10;
  report(figure, ms(0.5), 'ms', FIRST_CHART_LIMIT_MS, 'lower', `median of ${times.length} visits, ${shown} series over ${values.toExponential(1)} values, longest ${ms(1)} ms`);
}

const binaries = process.argv[2];
if (!binaries || !existsSync(path.join(binaries, 'write_recording'))) {
  console.error('usage: node page_bench.mjs BINARY_DIR');
  process.exit(2);
}
if (!findChromium()) {
  reportUnavailable('page: zoom and pan', 'no Chromium (apt install chromium)');
  process.exit(0);
}
const folder = mkdtempSync(path.join(tmpdir(), 'attune-bench-'));
const browser = await launchBrowser();
try {
  for (const recording of RECORDINGS) {
    const { values, counters, shown } = recording;
    const file = path.join(folder, `${shown}.attune`);
    execFileSync(path.join(binaries, 'write_recording'), [file, String(values), String(counters)]);
    const session = await Session.start(path.join(binaries, 'attune'), 'view', file);
    reportVisits(`page: first chart, ${shown} series`, await firstCharts(browser, `${session.url}&s=1-${shown}`), recording);
    const page = await open(browser, session.url, shown);
    await measure(page, 20); // the first views compile the page's code
    const times = await measure(page, VIEWS);
    reportTimes(`page: zoom drawn, ${shown} series, p95`, times.zoom, recording);
    reportTimes(`page: pan drawn, ${shown} series, p95`, times.pan, recording);
    await page.context().close();
    await session.stop();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
