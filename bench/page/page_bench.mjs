// What a zoom or a pan on the page takes, over a recording of 10^8 values, in headless Chromium: from the input to the
// frame that shows the new view's data. Prints figures as bench/harness/figure.h does.
// Usage: node page_bench.mjs BINARY_DIR

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { addDrawnAfter, CONTEXT, drawn, findChromium, launchBrowser, quantile } from '../../tests/web/harness.mjs';
import { report, reportUnavailable, Session } from './session.mjs';

const VALUES = Number(process.env.ATTUNE_BENCH_VALUES ?? 1e8);
const SERIES = 8;
const VIEWS = 300;
const LIMIT_MS = 100;

async function open(browser, url) {
  const page = await (await browser.newContext(CONTEXT)).newPage();
  await page.goto(`${url}&s=1-${SERIES}`);
  await drawn(page);
  await page.waitForFunction((count) => window.attune.model.points.size === count, SERIES);
  await addDrawnAfter(page);
  return page;
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

function reportTimes(figure, times) {
  const ms = (p) => Math.round(quantile(times, p) * 10) / 10;
  const note = `${times.length} views of ${SERIES} series over ${VALUES.toExponential(0)} values, median ${ms(0.5)} ms, longest ${ms(1)} ms; the browser draws 60 frames a second`;
  report(figure, ms(0.95), 'ms', LIMIT_MS, 'lower', note);
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
const file = path.join(folder, 'long.attune');
execFileSync(path.join(binaries, 'write_recording'), [file, String(VALUES)]);
const session = await Session.start(path.join(binaries, 'attune'), 'view', file);
const browser = await launchBrowser();
try {
  const page = await open(browser, session.url);
  await measure(page, 20); // the first views compile the page's code
  const times = await measure(page, VIEWS);
  reportTimes('page: zoom drawn, p95', times.zoom);
  reportTimes('page: pan drawn, p95', times.pan);
} finally {
  await browser.close();
  await session.stop();
  rmSync(folder, { recursive: true });
}
