// The page on live sessions of attune, in headless Chromium: what a first visit loads, how old a sample is when it is on
// screen (two clients, one slow), frames a second, memory of page and session, and that both clients count every sample.
// Usage: node live_bench.mjs BINARY_DIR   ATTUNE_BENCH_MEMORY_S: how long memory is watched (default 60)

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';

import { findChromium, launchBrowser, Proxy, quantile } from '../../tests/web/harness.mjs';
import { agesMs, framesPerSecond, heldCounts, openPage, report, reportUnavailable, Session, wrongCounts } from './session.mjs';

const SENSORS = ['vmstat', 'cpu', 'memory'];
const AGE_S = 10;
const FRAMES_S = 5;
const WINDOW_S = 60;
/** 60 000, less what the sampler may miss beside a browser that draws with the same cores. */
const LEAST_SAMPLES = 57_000;
const MEMORY_S = Number(process.env.ATTUNE_BENCH_MEMORY_S ?? 60);
const HOLD_MS = 700;

/** Takes what comes in bursts, as a client on a bad line does. */
class SlowLine {
  static async open(port) {
    const line = new SlowLine();
    line.proxy = await new Proxy(port).listen();
    let held = false;
    line.timer = setInterval(() => {
      if (held) line.proxy.release();
      else line.proxy.hold();
      held = !held;
    }, HOLD_MS);
    return line;
  }

  stop() {
    clearInterval(this.timer);
    this.proxy.stop();
  }
}

async function firstLoad(browser, url) {
  const page = await (await browser.newContext()).newPage();
  const sizes = [];
  page.on('response', async (response) => sizes.push(Number((await response.allHeaders())['content-length'] ?? 0)));
  await page.goto(url);
  await page.waitForSelector('.chart');
  await page.waitForLoadState('networkidle').catch(() => {});
  await page.context().close();
  return sizes.reduce((sum, size) => sum + size, 0) / 1024;
}

async function heapBytes(page) {
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  await client.detach();
  return usedSize;
}

/** Resident memory, in MiB, of the session that writes this recording. */
function sessionMiB(binary, file) {
  const sessions = JSON.parse(execFileSync(binary, ['list', 'sessions', '--json'], { encoding: 'utf8' }));
  const { pid } = sessions.find(({ recording }) => recording === file);
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(kilobytes) / 1024;
}

async function ages(binary, browser, hz, folder) {
  const file = path.join(folder, `live-${hz}.attune`);
  const session = await Session.start(binary, 'live', '-s', SENSORS.join(), '-i', `${hz}Hz`, '-o', file);
  const line = await SlowLine.open(session.port);
  const limit = hz === 1000 ? 50 : 100;
  const noteOf = (measured) => `${measured.length} updates in ${AGE_S} s, 8 series, median ${quantile(measured, 0.5).toFixed(0)} ms`;
  let held;
  try {
    const page = await openPage(browser, session.url, SENSORS, 8);
    const alone = await agesMs(page, AGE_S);
    report(`page: sample to frame at ${hz} Hz, p95`, quantile(alone, 0.95), 'ms', limit, 'lower', noteOf(alone));
    const slow = await openPage(browser, line.proxy.urlFor(session.url), SENSORS, 8);
    const beside = await agesMs(page, AGE_S);
    held = [...(await heldCounts(page)), ...(await heldCounts(slow))];
    report(`page: sample to frame at ${hz} Hz beside a second page, p95`, quantile(beside, 0.95), 'ms', limit, 'lower',
      `${noteOf(beside)}; the other one takes nothing for ${HOLD_MS} ms of every ${2 * HOLD_MS}`);
    report(`session: resident memory at ${hz} Hz`, sessionMiB(binary, file), 'MiB', 128, 'lower', `with two clients, after ${2 * AGE_S} s`);
    await page.context().close();
    await slow.context().close();
  } finally {
    line.stop();
    await session.stop();
  }
  const wrong = wrongCounts(binary, file, held);
  report(`page: series with a wrong count at ${hz} Hz`, wrong.length, 'series', 0, 'lower', `of ${held.length} on the two clients, against the recording`);
}

/** Shows the last WINDOW_S seconds, all of which there are. @return the fewest samples that a series has in it */
async function fillWindow(page) {
  await page.evaluate((length) => window.attune.view.follow(length), WINDOW_S * 1e9);
  await page.waitForFunction((length) => {
    const { model, view } = window.attune;
    return model.extent.t1 - model.extent.t0 > length && !view.needsRequest() && window.attune.lastDrawnView === window.attune.lastRequestedView;
  }, WINDOW_S * 1e9);
  return page.evaluate(() => {
    const { model, view, selected } = window.attune;
    const { t0, t1 } = view.range;
    const inWindow = ({ t, count, length }) => t.subarray(0, length).reduce((sum, at, i) => (at >= t0 && at < t1 ? sum + count[i] : sum), 0);
    return Math.min(...[...selected].map((id) => inWindow(model.points.get(id))));
  });
}

async function frames(binary, browser) {
  const session = await Session.start(binary, 'live', '-s', SENSORS.join(), '-i', '1kHz');
  try {
    const loaded = await firstLoad(browser, session.url);
    report('page: first load', loaded, 'KB', 150, 'lower', 'compressed, with all that it shows first');
    const page = await openPage(browser, session.url, SENSORS, 8);
    const samples = await fillWindow(page);
    report('page: samples a series on screen', samples, 'samples', LEAST_SAMPLES, 'higher', `the fewest of 8 series in the last ${WINDOW_S} s, at 1 kHz beside the browser`);
    const cores = `${cpus().length} cores share browser, software rendering and attune`;
    report('page: frames a second, 8 series x 60 000 points', await framesPerSecond(page, FRAMES_S), 'frames/s', 58, 'higher', `following ${WINDOW_S} s at 1 kHz; ${cores}`);
    const before = await heapBytes(page);
    await page.waitForTimeout(MEMORY_S * 1000);
    const after = await heapBytes(page);
    report('page: memory after a while', after / before, 'ratio', 1.15, 'lower', `of the heap, ${(before / 2 ** 20).toFixed(1)} MiB at first, over ${MEMORY_S} s at 1 kHz`);
    await page.context().close();
    const many = await openPage(browser, session.url, SENSORS, 200);
    await fillWindow(many);
    report('page: frames a second, 200 series', await framesPerSecond(many, FRAMES_S), 'frames/s', 30, 'higher', `following ${WINDOW_S} s at 1 kHz; ${cores}`);
    await many.context().close();
  } finally {
    await session.stop();
  }
}

const binaries = process.argv[2];
if (!binaries || !existsSync(path.join(binaries, 'attune'))) {
  console.error('usage: node live_bench.mjs BINARY_DIR');
  process.exit(2);
}
if (!findChromium()) {
  reportUnavailable('page: live', 'no Chromium (apt install chromium)');
  process.exit(0);
}
const binary = path.join(binaries, 'attune');
const folder = mkdtempSync(path.join(tmpdir(), 'attune-bench-'));
const browser = await launchBrowser();
try {
  for (const hz of [1, 10, 100, 1000]) await ages(binary, browser, hz, folder);
  await frames(binary, browser);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
