// node session_test.mjs ATTUNE: the page on real sessions of attune: steering, files, comparisons, lost and slow connections.
// At the end the recordings say whether the pages had every sample.

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { heldCounts, Session, wrongCounts } from '../../bench/page/session.mjs';
import { browserOrSkip, check, drawn, eventually, launchBrowser, newContext, Proxy, testFolder, toastText, watchErrors } from './harness.mjs';

browserOrSkip();
const attune = process.argv[2];
const folder = testFolder('web-session');
const browser = await launchBrowser();
const PAUSED = 2;
const file = (name) => path.join(folder, name);

async function open(url) {
  const page = await (await newContext(browser)).newPage();
  watchErrors(page);
  await page.goto(url);
  await drawn(page, 1);
  return page;
}

const close = (page) => page.context().close();
const newest = (page) => page.evaluate(() => window.attune.model.extent.t1);
const longer = (page, t, by = 1e9) => page.waitForFunction(([before, more]) => window.attune.model.extent.t1 > before + more, [t, by]);
const intervalOf = (page, sensor) => page.evaluate((name) => [...window.attune.model.series.values()].find((series) => series.sensor === name).interval, sensor);
const hasInterval = (page, sensor, ns) => page.waitForFunction(([name, wanted]) => [...window.attune.model.series.values()].some((series) => series.sensor === name && series.interval === wanted), [sensor, ns]);

async function toastOf(page, act, kind = 'error') {
  await page.evaluate(() => document.querySelectorAll('.toast').forEach((toast) => toast.remove()));
  await act();
  return toastText(page, kind);
}

/** The page outlives the program, and says when the server is gone. */
async function ends() {
  const recording = file('ends.attune');
  const session = await Session.start(attune, 'live', '-s', 'cpu:sum', '-i', '50ms', '-o', recording, '--', 'sh', '-c', 'while [ ! -e "$0" ]; do sleep 0.1; done; exit 3', file('end'));
  // What fails when the server is gone is no error of the page's.
  const page = await (await newContext(browser)).newPage();
  await page.goto(session.url);
  await drawn(page, 1);
  // A window that is shorter than the run: once that has ended all of it is to be seen.
  await page.evaluate(() => window.attune.follow(1e9));
  await page.waitForFunction(() => window.attune.model.processes.size > 0 && window.attune.model.extent.t1 > 3e9 && document.querySelector('.live').classList.contains('on'));
  writeFileSync(file('end'), '');
  await page.waitForFunction(() => document.querySelector('.state').textContent === 'Live; the program ended, exit code 3');
  await longer(page, await newest(page));
  check(true, 'the page goes on after the end of the program, and says how it ended');
  const whole = await page.evaluate(() => ({ shown: window.attune.view.range, run: window.attune.model.run, isLit: document.querySelector('.live').classList.contains('on') }));
  check(whole.shown.t0 <= whole.run.t0 && whole.shown.t1 >= whole.run.t1 && whole.shown.t1 - whole.shown.t0 < 1.2 * (whole.run.t1 - whole.run.t0) && !whole.isLit, `the whole run is in view, and Live is not lit: ${JSON.stringify(whole)}`);
  await page.keyboard.press('Space');
  await page.waitForFunction(() => document.querySelector('.live').classList.contains('on') && window.attune.view.following);
  check(true, 'the machine can be followed again');
  await page.keyboard.press('o');
  await page.waitForSelector('.state.paused');
  await page.keyboard.press('o');
  await page.waitForSelector('.state.open');
  check(true, 'sampling can be paused after the end, too');
  await page.getByRole('tab', { name: 'Flames', exact: true }).click();
  const flames = await eventually(() => page.locator('.flames').textContent(), (text) => !text.includes('Being computed'));
  check(!flames.includes('Being computed'), `the flame graph comes after the end: ${flames.slice(0, 60)}`);
  check((await toastOf(page, () => page.evaluate(() => window.attune.addLabel('after the end')), 'ok')) === 'label added', 'labels are still added');
  const stopped = session.stop();
  await page.waitForFunction((name) => /^Server gone since [\d:]+: attune view .*/.test(document.querySelector('.state').textContent) && document.querySelector('.state').textContent.endsWith(name), 'ends.attune');
  check((await toastOf(page, () => page.evaluate(() => window.attune.addLabel('too late')))).includes('was not added'), 'when the server is gone the page says since when, what reopens it, and that a label is lost');
  check((await toastOf(page, () => page.keyboard.press('o'))).includes('the server is gone'), 'nor is a pause lost in silence');
  check(await page.locator('.live').isHidden(), 'what is gone is not followed: Live is not there');
  await page.getByRole('tab', { name: 'Messages', exact: true }).click();
  check(/^Server gone since/.test(await page.locator('.waits-problem:visible').textContent()), 'what is not computed any more says why');
  const [code] = await stopped.then(() => session.ended);
  check(code === 3, `attune ends as the program did: ${code}`);
  await close(page);
}

async function pausing(session) {
  const [page, other] = [await open(session.url), await open(session.url)];
  await page.keyboard.press('o');
  await other.waitForSelector('.state.paused');
  const stopped = await newest(page);
  await other.getByRole('button', { name: 'Go on sampling (O)' }).click();
  await page.waitForSelector('.state.open');
  await longer(page, stopped);
  const found = await page.waitForFunction((reason) => window.attune.model.gaps.find((gap) => gap.reason === reason && gap.t1 > gap.t0), PAUSED);
  const pause = await found.jsonValue();
  check(true, 'a pause stops the sampling for everybody, goes on again, and is in the data');
  // Elsewhere a busy machine may really miss samples.
  await page.evaluate(({ t0, t1 }) => window.attune.show({ t0: t0 + (t1 - t0) * 0.3, t1: t1 - (t1 - t0) * 0.3 }), pause);
  await page.waitForFunction((reason) => window.attune.model.gaps.length > 0 && window.attune.model.gaps.every((gap) => gap.reason === reason), PAUSED);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const red = await page.evaluate(() => {
    const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(css('--gap-text').slice(at, at + 2), 16));
    return [...document.querySelectorAll('.chart canvas, .navigator canvas')].filter((canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255) return true;
      return false;
    }).length;
  });
  check((await page.locator('.missing').textContent()) === '' && red === 0, `what somebody paused is neither counted as missing nor red: ${red} drawings have that colour`);
  await close(page);
  await close(other);
}

async function intervals(session) {
  const page = await open(session.url);
  await page.keyboard.press('i');
  await page.getByLabel('Interval of all sensors').evaluate((slider) => {
    slider.value = '8'; // 50 ms
    slider.dispatchEvent(new Event('input'));
    slider.dispatchEvent(new Event('change'));
  });
  await hasInterval(page, 'cpu', 50e6);
  await hasInterval(page, 'vmstat', 50e6);
  check(true, 'the interval of all sensors changes');
  await page.getByLabel('Interval of vmstat').selectOption({ label: '20 ms' });
  await hasInterval(page, 'vmstat', 20e6);
  check((await intervalOf(page, 'cpu')) === 50e6, 'the interval of one sensor changes, and of no other');
  const send = (control) => toastOf(page, () => page.evaluate((message) => window.attune.connection.send({ control: message }), control));
  for (const ns of [0, -5, 9e15]) check((await send({ interval_ns: ns })).includes('from 0.1 ms to an hour'), `an interval of ${ns} is refused, with what is possible`);
  check((await send({ interval_ns: 1e7, sensor: 'vmstatt' })).includes('vmstatt'), 'so is that of a sensor that there is not');
  check((await intervalOf(page, 'vmstat')) === 20e6, 'and nothing changes');
  // What is no number at all ends the connection that sent it, and no other.
  for (const text of ['{"control":{"interval_ns":"fast"}}', '{"control":{"interval_ns":1e300}}', 'interval 0', '{"interval":0}']) {
    const closed = await page.evaluate((message) => new Promise((resolve) => {
      const socket = new WebSocket(`ws://${location.host}/ws`);
      socket.onopen = () => socket.send(message);
      socket.onclose = (event) => resolve({ code: event.code, reason: event.reason });
    }), text);
    check(closed.code === 1008 && closed.reason !== '', `${text}: ${closed.reason}`);
  }
  const before = await newest(page);
  await longer(page, before);
  check(await page.locator('.state.open').isVisible(), 'the session goes on');
  await close(page);
}

async function labels(session) {
  const page = await open(session.url);
  await page.keyboard.press('l');
  await page.keyboard.type('from the page');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => window.attune.model.labels.some((label) => label.text === 'from the page'));
  check(true, 'a label comes back with the data');
  await close(page);
}

/** Whole, cut short, damaged within, foreign. */
async function loading(session, recording) {
  const page = await open(session.url);
  const own = await page.evaluate(() => window.attune.model.id);
  const load = (name) => page.getByLabel('Recording to load').setInputFiles(file(name));
  const whole = readFileSync(recording);
  writeFileSync(file('cut.attune'), whole.subarray(0, Math.floor(whole.length * 0.6)));
  const damaged = Buffer.from(whole);
  damaged.fill(0xa5, Math.floor(whole.length * 0.45), Math.floor(whole.length * 0.45) + 400);
  writeFileSync(file('damaged.attune'), damaged);
  writeFileSync(file('notes.txt'), 'no recording');
  for (const name of [path.basename(recording), 'cut.attune', 'damaged.attune']) {
    await load(name);
    await page.waitForFunction((title) => window.attune.model.title === title && window.attune.model.points.size > 0 && document.querySelectorAll('.chart').length > 0, name);
    const damage = await page.evaluate(() => window.attune.model.damage);
    const isWhole = name === path.basename(recording);
    check(isWhole ? damage.length === 0 : damage.length > 0, `${name} is shown${isWhole ? '' : `; not read: ${damage[0]}`}`);
    if (!isWhole) check(await page.locator('.damage').isVisible(), 'the page says so');
  }
  check((await toastOf(page, () => load('notes.txt'))).startsWith('notes.txt'), 'a foreign file is refused by its name');
  await page.locator('.back').click();
  await page.waitForFunction((id) => window.attune.model.id === id, own);
  check(true, 'and the live session is back');
  await close(page);
}

async function comparing(session, recording) {
  const page = await open(session.url);
  const load = (name) => page.getByLabel('Recording to compare with').setInputFiles(file(name));
  check((await toastOf(page, () => load('notes.txt'))).startsWith('notes.txt'), 'what is no recording is not compared with');
  check((await page.locator('.compare').count()) === 0, 'and nothing opens');
  await load(path.basename(recording));
  await page.waitForSelector('.compare');
  await page.getByLabel('Also what did not change').check();
  await page.getByLabel('Filter signals').fill('context_switches');
  const row = page.locator('.compare .table-row:not([hidden]):not(.head)').first();
  await row.click();
  await page.waitForFunction(() => window.attune.comparing.chart.settled);
  const lengths = await page.evaluate(() => window.attune.comparing.chart.sides.map((side) => side.points.length));
  check(lengths.every((length) => length > 3), `both recordings are drawn: ${lengths.join(' and ')} points`);
  check((await row.locator('.verdict').textContent()) !== '' && (await row.textContent()).includes('context_switches'), `a row: ${await row.textContent()}`);
  await page.getByLabel('Each element by itself').check();
  await page.getByLabel('Filter signals').fill('cpu user');
  await page.waitForFunction(() => document.querySelectorAll('.compare .table-row:not([hidden]) small')[0]?.textContent.startsWith('cpu'));
  check(true, 'each CPU by itself');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('.compare'));
  check(await page.locator('.chart').first().isVisible(), 'the comparison closes');
  await close(page);
}

/** attune view A B: the comparison opens by itself, and again on the next connection. */
async function viewingTwo(before, after) {
  const session = await Session.start(attune, 'view', before, after);
  try {
    const page = await open(session.url);
    await page.waitForSelector('.compare .verdict, .compare .empty:not([hidden])');
    check((await page.locator('.compare-name b').allTextContents()).join() === [before, after].map((name) => path.basename(name)).join(), 'attune view A B opens with what changed');
    await page.reload();
    await page.waitForSelector('.compare');
    check(true, 'and again after a reload');
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => !document.querySelector('.compare'));
    await close(page);
  } finally {
    await session.stop();
  }
  const refused = spawnSync(attune, ['view', before, file('notes.txt'), '--for', '1s'], { encoding: 'utf8' });
  check(refused.status !== 0 && refused.stderr.includes('notes.txt') && refused.stdout === '', `a foreign second file: ${refused.stderr.split('\n')[0]}`);
}

/** @return what the pages held at the end */
async function lostAndSlow(session) {
  const [lostLine, slowLine] = [await new Proxy(session.port).listen(), await new Proxy(session.port).listen()];
  const [fast, slow, lost] = [await open(session.url), await open(slowLine.urlFor(session.url)), await open(lostLine.urlFor(session.url))];
  const updates = (page) => page.evaluate(() => window.attune.drawnUpdates);
  lostLine.accepting = false;
  lostLine.cut();
  await lost.waitForSelector('.state.waiting');
  slowLine.hold();
  const [fastBefore, slowBefore] = [await updates(fast), await updates(slow)];
  const held = await newest(slow);
  await longer(fast, held, 4e9);
  await fast.waitForFunction((before) => window.attune.drawnUpdates > before + 40, fastBefore);
  const missed = (await updates(fast)) - fastBefore;
  slowLine.release();
  lostLine.accepting = true;
  const now = await newest(fast);
  const drawnThen = await slow.waitForFunction((t) => window.attune.model.extent.t1 > t && window.attune.drawnUpdates, now);
  const needed = (await drawnThen.jsonValue()) - slowBefore;
  check(needed < missed, `the slow client skips: ${needed} updates for the ${missed} of the other one`);
  await lost.waitForSelector('.state.open');
  await longer(lost, now, 0);
  check(true, 'the lost connection is made again');
  const counts = [];
  for (const page of [fast, slow, lost]) {
    const points = await heldCounts(page);
    check(points.length > 0, `${points.length} series held`);
    counts.push(...points);
    await close(page);
  }
  lostLine.stop();
  slowLine.stop();
  return counts;
}

try {
  const earlier = file('earlier.attune');
  execFileSync(attune, ['record', '-q', '-s', 'cpu,vmstat,memory', '-i', '20ms', '--for', '3s', '-o', earlier]);
  const recording = file('session.attune');
  const session = await Session.start(attune, 'run', '--live', '-s', 'cpu,vmstat,memory', '-i', '10ms', '-o', recording, '--', 'sh', '-c', 'while :; do :; done');
  let held;
  try {
    for (const test of [pausing, intervals, labels]) await test(session);
    await loading(session, earlier);
    await comparing(session, earlier);
    held = await lostAndSlow(session);
  } finally {
    await session.stop();
  }
  await viewingTwo(earlier, recording);
  await ends();
  const wrong = wrongCounts(attune, recording, held);
  check(wrong.length === 0, `the counts of ${held.length} series on three clients add up to what is recorded${wrong.map((one) => ` ${one.id}: ${one.count}`).join(';')}`);
  const stored = JSON.parse(execFileSync(attune, ['query', '--json', recording, 'select text from labels']));
  check(stored.some((label) => label.text === 'from the page'), 'the label is in the recording');
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
console.log(process.exitCode ? 'failed' : 'passed');
