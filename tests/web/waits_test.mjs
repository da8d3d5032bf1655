// node waits_test.mjs ATTUNE MANY_THREADS SOLVER: what 64 threads wait for, on the page: while they run, and in the recording, where
// the figures must be those of `attune report`.

import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { browserOrSkip, check, eventually, launchBrowser, recordWhole, testFolder, tipAt, watchErrors } from './harness.mjs';
import { findingShown, flameOf, flameShown, holdOf, openPage, openWaits, settled, showWorkspace, startThreads, waitOf, zoomIn } from './waits_page.mjs';

browserOrSkip();
const [attune, program, solver] = process.argv.slice(2);
const folder = testFolder('web-waits');
const file = path.join(folder, 'threads.attune');
/** So long that the page has time for everything; it is ended when that is done. */
const SECONDS = 3000;
/** Where to look: on a busy machine threads rest and wait for long, and not every part of the time has something of each kind. */
const PARTS = [0.5, 0.3, 0.4, 0.6, 0.7, 0.2, 0.8];
/** The kind of waits for files, which are not in the flame graph. */
const FILES = 16;
const CAUSE = 'flush_table (many_threads.c';
const browser = await launchBrowser();

async function open(url) {
  const page = await openWaits(browser, url, CAUSE);
  return watchErrors(page);
}

const waited = (page) => page.evaluate(() => window.attune.waits.documents.get('waits').waits.locks[0].wait_ns);

async function findings(page, what) {
  const line = page.locator('.finding', { hasText: CAUSE }).first();
  check((await line.textContent()).includes('lock-contention'), `${what}: the lock that is held for long comes with its place`);
  await line.click();
  const details = await page.locator('.finding-details').textContent();
  check(details.includes('Do less while the lock is held') && details.includes('add_result (many_threads.c'), `${what}: with what to do, and where threads wait`);
  await line.click();
  check((await page.locator('.finding-details').count()) === 0, `${what}: a second click folds it`);
}

async function locks(page, what) {
  await showWorkspace(page, 'Locks');
  const first = page.locator('.locks .table-rows .table-row').first();
  // While the program begins another one may have more.
  await page.waitForFunction(() => /mutex table_lock/.test(document.querySelector('.locks .table-rows .table-row')?.textContent ?? ''));
  check(true, `${what}: the lock with most waiting comes first`);
  await first.click();
  const columns = page.locator('.lock-columns section');
  check((await columns.nth(0).textContent()).includes('add_result'), `${what}: it was waited for at add_result`);
  check((await columns.nth(1).textContent()).includes('flush_table'), `${what}: it was had meanwhile by flush_table`);
  await page.getByLabel('Filter locks').fill('step');
  await page.waitForFunction(() => document.querySelectorAll('.locks .table-rows .table-row:not([hidden])').length === 0);
  await page.getByRole('button', { name: 'Conditions, barriers, …' }).click();
  await page.waitForFunction(() => /barrier step_end/.test(document.querySelector('.locks .table-rows .table-row:not([hidden])')?.textContent ?? ''));
  check(true, `${what}: the filter knows places`);
  await page.getByLabel('Filter locks').fill('');
  await page.getByRole('button', { name: 'Locks', exact: true }).click();
}

async function source(page, what) {
  await page.locator('.lock-columns section').nth(1).locator('.place-row', { hasText: 'flush_table' }).click();
  await page.waitForSelector('.source .line.current');
  const line = await page.locator('.source .line.current').textContent();
  check(line.includes('pthread_mutex_lock(&table_lock);'), `${what}: the source of a place: ${line.trim()}`);
  check((await page.locator('.source .line-waited b').count()) > 2, `${what}: with the time waited at its lines`);
  await page.keyboard.press('Escape');
  check(await page.locator('.source').isHidden(), `${what}: Escape closes it`);
}

async function graph(page, what) {
  await showWorkspace(page, 'Graph');
  const hasAll = (names) => ['flusher', 'worker', 'team'].every((name) => names.includes(name));
  const names = await eventually(() => page.locator('.graph .node-name').allTextContents(), hasAll);
  check(hasAll(names), `${what}: threads of a name are one node: ${[...new Set(names)].slice(0, 8).join(', ')}`);
  const rows = (which) => page.locator('.graph .segment').nth(which).textContent().then((text) => Number(/\d+$/.exec(text)[0]));
  const all = await rows(0);
  await page.locator('.graph .node', { hasText: 'flusher' }).first().click();
  const some = await rows(0);
  check(some > 0 && some < all && (await page.locator('.graph-heading').textContent()).includes('flusher'), `${what}: a node chooses its ${some} of ${all} rows`);
  await page.locator('.graph .segment').nth(1).click();
  check((await page.locator('.graph .table:not([hidden]) .table-rows .table-row').first().textContent()).includes('flusher'), `${what}: and whom it made wait`);
  await page.locator('.graph .segment').nth(0).click();
  const edge = page.locator('.graph .edge').first();
  await edge.dispatchEvent('click');
  check((await page.locator('.graph-heading').textContent()).includes('→'), `${what}: an edge can be chosen`);
  await page.getByLabel('Threads', { exact: true }).selectOption('each');
  await page.waitForFunction(() => [...document.querySelectorAll('.graph .node-name')].some((name) => name.textContent.startsWith('worker 1 ')));
  check(true, `${what}: each thread by itself`);
}

async function threads(page, what) {
  await showWorkspace(page, 'Timeline');
  const rows = await eventually(() => page.evaluate(() => window.attune.waits.timeline.shown.rows.filter((row) => row.thread).length), (count) => count === 64);
  check(rows === 64, `${what}: 64 threads have a row (${rows})`);
  let arrows = 0;
  for (const share of PARTS) {
    await zoomIn(page, 40e6, share);
    arrows = await page.evaluate(() => window.attune.waits.timeline.shown.arrows.length);
    if (arrows > 0 && (await waitOf(page, 'worker'))) break;
  }
  check(arrows > 0, `${what}: zoomed in there are single waits and ${arrows} arrows`);
  const waits = /worker \d+ \d+(?:waits .* for (?:mutex (?:queue|table)_lock|condition queue_has_jobs)|sleeps for .*)at \w+ \(many_threads\.c:\d+\)/;
  const { text: tip } = await tipAt(page, () => waitOf(page, 'worker'), '.timeline .threads-tip', waits);
  check(waits.test(tip), `${what}: the tooltip says what a thread waits for: ${tip}`);
  const before = await page.evaluate(() => window.attune.view.length);
  await page.mouse.wheel(0, -400);
  await page.waitForFunction((length) => window.attune.view.length < length * 0.9, before);
  await settled(page);
  check(true, `${what}: the wheel zooms`);
  await page.getByLabel('Filter rows').fill('team');
  await page.waitForFunction(() => window.attune.waits.timeline.shown.rows.filter((row) => row.thread).length === 10);
  check(true, `${what}: threads are filtered by name`);
  await page.getByLabel('Filter rows').fill('');
  // From a finding to its threads.
  await findingShown(page, 'flush_table (many_threads.c');
  await page.locator('.finding', { hasText: 'flush_table (many_threads.c' }).first().click();
  await page.getByRole('button', { name: 'On the timeline' }).click();
  const only = page.getByRole('button', { name: /^only \d+ threads/ });
  const losers = parseInt((await only.textContent()).slice('only '.length));
  await page.waitForFunction((count) => window.attune.waits.timeline.shown.rows.filter((row) => row.thread).length === count, losers);
  check(losers > 1 && losers < 64, `${what}: a finding leads to the ${losers} threads that lost the time`);
  await only.click();
  await page.waitForFunction(() => window.attune.waits.timeline.shown.rows.filter((row) => row.thread).length === 64);
  const copy = await page.context().newPage();
  await page.waitForFunction(() => location.hash.includes('w=timeline'));
  await copy.goto(page.url());
  await copy.waitForFunction(() => window.attune?.waits?.workspace === 'timeline');
  check(true, `${what}: a link keeps what is shown`);
  await copy.close();
}

async function criticalPath(page, what) {
  await page.waitForFunction(() => document.querySelectorAll('.critical-part').length > 0);
  const parts = await page.locator('.critical-part').evaluateAll((all) => all.map((part) => part.title));
  const shares = parts.map((title) => parseFloat(title));
  check(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 100) < 0.1 * parts.length, `${what}: the critical path has parts that are all of it: ${parts.slice(0, 2).join('; ')}`);
}

/** The time of all in the flame graph, of the range on screen or of all the time. */
async function flamesTotal(page, ofView) {
  await page.getByRole('button', { name: ofView ? 'Time in view' : 'All the time' }).click();
  await page.waitForFunction((wanted) => {
    const { range } = window.attune.waits.flames.shown;
    const { view } = window.attune;
    return wanted ? range !== null && range.t0 === Math.round(view.range.t0) && range.t1 === Math.round(view.range.t1) : range === null;
  }, ofView);
  return page.evaluate(() => ({ ...window.attune.waits.flames.shown.range, ns: window.attune.waits.flames.shown.tree.time[0] }));
}

/** The flame graph is of what was chosen on the timeline. */
async function flamesOfRange(page, what) {
  await showWorkspace(page, 'Flames');
  const middle = await page.evaluate(() => Math.round((window.attune.model.extent.t0 + window.attune.model.extent.t1) / 2));
  const show = (ns) => page.evaluate(([t0, length]) => window.attune.show({ t0, t1: t0 + length }), [middle, ns]);
  await show(40e6);
  const few = await flamesTotal(page, true);
  check(few.ns > 0 && few.ns <= 64 * 40e6, `${what}: 64 threads wait for ${(few.ns / 1e6).toFixed(1)} ms in 40 ms`);
  check(/ waited in the 40(\.\d+)? ms in view/.test(await page.locator('.flames .waits-summary').textContent()), `${what}: of which time it is, is said`);
  await show(80e6);
  const more = await flamesTotal(page, true);
  check(more.ns > few.ns, `${what}: and for more in more of it, ${(more.ns / 1e6).toFixed(1)} ms in 80 ms`);
  check(await page.locator('.navigator-frame').isVisible(), `${what}: the timeline is there to choose from`);
  const all = await flamesTotal(page, false);
  check(all.ns > more.ns, `${what}: and all the time can be had`);
  return more;
}

async function flames(page, what) {
  await flamesOfRange(page, what);
  const names = () => page.evaluate(() => window.attune.waits.flames.shown.boxes.map((box) => window.attune.waits.flames.shown.tree.frameOf(box.node)?.name ?? 'all'));
  const hasThem = (all) => ['all', 'add_result', 'take_job', 'step'].every((name) => all.includes(name)) && all.some((name) => /^wait for mutex (?:queue|table)_lock/.test(name));
  const all = await eventually(names, hasThem);
  check(hasThem(all), `${what}: the flame graph has functions, and what they waited for`);
  const place = await flameOf(page, 'add_result');
  await page.mouse.move(place.x, place.y);
  const tip = await page.locator('.flames .threads-tip').textContent();
  check(/^add_result.* waited, [\d.]+ % of all, [\d.]+ % of .*many_threads\.c:\d+, many_threads$/.test(tip), `${what}: the tooltip says how much of all and of what is above: ${tip}`);
  await page.mouse.click(place.x, place.y);
  check((await flameShown(page)) === 'add_result', `${what}: a click makes a box as wide as all`);
  check(/^all › .* › add_result$/.test(await page.locator('.flame-crumbs').textContent()), `${what}: and says where that is`);
  await page.locator('.flame-actions').getByRole('button', { name: 'Source' }).click();
  await page.waitForSelector('.source .line.current');
  check((await page.locator('.source .line.current').textContent()).includes('pthread_mutex_lock(&table_lock)'), `${what}: its source is a click away`);
  await page.keyboard.press('Escape');
  check((await flameShown(page)) === 'add_result' && (await page.locator('.source').isHidden()), `${what}: Escape closes the source first`);
  await page.keyboard.press('Escape');
  check((await flameShown(page)) === '', `${what}: then it shows all again`);
  await page.getByLabel('Find in the flame graph').fill('wait mutex');
  const found = await page.locator('.flame-found').textContent();
  check(/^found [\d.]+ %, /.test(found) && parseFloat(found.slice(6)) < 100, `${what}: a search says how much is found: ${found}`);
  await page.getByLabel('Find in the flame graph').fill('nothing of it');
  check((await page.locator('.flame-found').textContent()) === 'not found', `${what}: or that nothing is`);
  await page.getByLabel('Find in the flame graph').fill('');
  const canvas = page.locator('.flames canvas');
  await canvas.focus();
  for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
  const largest = await flameShown(page);
  check(largest !== '' && all.includes(largest), `${what}: keys go to the widest box below: ${largest}`);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  check((await flameShown(page)) !== largest, `${what}: and up again`);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Each thread' }).click();
  await page.waitForFunction(() => window.attune.waits.flames.shown.boxes.some((box) => /^worker 1 \d+$/.test(window.attune.waits.flames.shown.tree.frameOf(box.node)?.name ?? '')));
  const worker = await flameOf(page, 'worker 1 ');
  await page.mouse.click(worker.x, worker.y);
  await page.getByRole('button', { name: 'When it waited' }).click();
  await page.waitForFunction(() => window.attune.waits.timeline.shown.rows.filter((row) => row.thread).length === 1);
  check(true, `${what}: each thread by itself, and when it waited`);
  await page.getByRole('button', { name: /^only 1 thread/ }).click();
  await showWorkspace(page, 'Flames');
  await page.getByRole('button', { name: 'All threads together' }).click();
}

async function everything(page, what) {
  await findings(page, what);
  await locks(page, what);
  await source(page, what);
  await graph(page, what);
  await threads(page, what);
  await criticalPath(page, what);
  await flames(page, what);
}

async function whileItRuns() {
  const session = await startThreads(attune, program, SECONDS, file);
  try {
    const page = await open(session.url);
    const before = await waited(page);
    await everything(page, 'live');
    await page.waitForFunction((ns) => window.attune.waits.documents.get('waits').waits.locks[0].wait_ns > ns, before);
    check(true, 'live: what was waited grows while the program runs');
    const place = await flameOf(page, 'take_job');
    await page.mouse.click(place.x, place.y);
    const total = await page.evaluate(() => window.attune.waits.flames.shown.tree.time[0]);
    await page.waitForFunction((ns) => window.attune.waits.flames.shown.tree.time[0] > ns, total);
    check((await flameShown(page)) === 'take_job', 'live: newer data leaves the flame graph where it is');
    await showWorkspace(page, 'Timeline');
    const end = await page.evaluate(() => {
      window.attune.follow();
      return window.attune.waits.timeline.shown.timeline.t1;
    });
    await page.waitForFunction((t) => window.attune.waits.timeline.shown.timeline.t1 > t + 2e9, end);
    check(true, 'live: the timeline follows');
    await page.context().close();
  } finally {
    await session.stop();
  }
}

async function recorded() {
  recordWhole(attune, file, () => execFileSync(attune, ['record', '--level', 'blame', '-o', file, '--', program, '6'], { stdio: 'ignore' }));
  const report = JSON.parse(execFileSync(attune, ['report', '--json', file], { maxBuffer: 1 << 26 }));
  const session = await Session.start(attune, 'view', file);
  try {
    const page = await open(session.url);
    await everything(page, 'recorded');
    const shown = await page.evaluate(() => window.attune.waits.documents.get('waits'));
    check(JSON.stringify(shown.findings) === JSON.stringify(report.findings), 'the findings are those of the report');
    check(JSON.stringify(shown.waits.locks) === JSON.stringify(report.waits.locks), 'so are the locks');
    check(JSON.stringify(shown.critical_path) === JSON.stringify(report.critical_path), 'so is the critical path');
    const flames = await page.evaluate(() => Object.entries(window.attune.waits.documents.get('flames')).map(([kind, { together }]) => [kind, together.time_ns[0] / 1000]));
    const part = await flamesOfRange(page, 'recorded');
    const [t0, t1] = await page.evaluate((times) => times.map((t) => String(window.attune.model.origin + BigInt(t))), [part.t0, part.t1]);
    const within = `select sum(min(t_ns, ${t1}) - max(t_ns - a, ${t0})) as ns from events where kind = 'wait' and b <> ${FILES} and t_ns > ${t0} and t_ns - a < ${t1}`;
    const waited = JSON.parse(execFileSync(attune, ['query', '--json', file, within]))[0].ns;
    check(waited === part.ns, `the flame graph of a range has what the waits have within it: ${part.ns} and ${waited} ns`);
    for (const [kind, total] of flames) {
      const format = kind === 'waiting' ? 'folded' : 'folded-cpu';
      const lines = execFileSync(attune, ['export', '--to', format, file], { maxBuffer: 1 << 26, encoding: 'utf8' }).trim().split('\n');
      const folded = lines.reduce((sum, line) => sum + Number(/\d+$/.exec(line)[0]), 0);
      check(folded <= total && total - folded <= lines.length, `the flame graph of ${kind} is that of export --to ${format}: ${folded} us in ${lines.length} stacks`);
    }
    await page.context().close();
  } finally {
    await session.stop();
  }
}

/** Who has which lock is in traces alone; and what was not sampled is not shown. */
async function traced() {
  const trace = path.join(folder, 'trace.attune');
  recordWhole(attune, trace, () => execFileSync(attune, ['record', '--level', 'stamped', '--cpu-samples', 'off', '-o', trace, '--', program, '4'], { stdio: 'ignore' }));
  const session = await Session.start(attune, 'view', trace);
  try {
    const page = await open(session.url);
    await showWorkspace(page, 'Timeline');
    let held = [], long = [];
    for (const share of PARTS) {
      await zoomIn(page, 60e6, share);
      held = await page.evaluate(() => {
        const { t0: from, t1: to } = window.attune.view.range;
        return [...window.attune.waits.timeline.shown.timeline.holds.values()].flat().map(({ thread, t0, t1, object, holds, open }) => ({ thread: window.attune.model.elements.get(thread).name, ns: t1 - t0, object, once: holds === 1 && !open, whole: t0 > from && t1 < to, t0 }));
      });
      long = held.filter(({ thread, once, whole, ns }) => thread.startsWith('flusher') && once && whole && ns >= 6e6);
      if (long.length > 0) break;
    }
    check(long.length > 0, `trace: a flusher has its lock for the 6 ms that it rests: ${long.length} of ${held.length} holds in sight`);
    const clash = long.some((one) => held.some((other) => other.object === one.object && other !== one && other.once && other.t0 > one.t0 && other.t0 < one.t0 + one.ns));
    check(!clash, 'trace: nobody else has that lock meanwhile');
    const at = await holdOf(page, 'flusher');
    await page.mouse.move(at.x, at.y);
    const tip = await page.locator('.timeline .threads-tip').textContent();
    const [, ms] = /has mutex table_lock for ([\d.]+) ms, from flush_table \(many_threads\.c:\d+\)/.exec(tip) ?? [];
    check(Math.abs(ms - at.ms) < 0.05 * at.ms, `trace: the tooltip says what a thread has for ${at.ms} ms: ${tip}`);
    const refused = spawnSync(attune, ['export', '--to', 'folded-cpu', trace], { encoding: 'utf8' });
    check(refused.status !== 0 && refused.stderr.includes('the recording has no CPU samples'), 'trace: nor can it be exported');
    await showWorkspace(page, 'Flames');
    const computing = page.getByRole('button', { name: 'Computing' });
    check((await computing.isDisabled()) && /--cpu-samples off/.test(await computing.getAttribute('title')), 'trace: what was not sampled cannot be chosen, and says why');
    await page.context().close();
  } finally {
    await session.stop();
  }
}

/** Where threads compute, with whom called it. Samples are not permitted everywhere. */
async function computing() {
  const profile = path.join(folder, 'solver.attune');
  execFileSync(attune, ['record', '--cpu-samples', '1ms', '-o', profile, '--', solver, '3'], { stdio: 'ignore' });
  const { unseen } = JSON.parse(execFileSync(attune, ['report', '--json', profile], { maxBuffer: 1 << 26 }));
  const refused = unseen.find((what) => what.startsWith('CPU samples:'));
  if (refused) {
    console.log(`skipped: ${refused}`);
    return;
  }
  const session = await Session.start(attune, 'view', profile);
  try {
    const page = await openPage(browser, session.url);
    await showWorkspace(page, 'Flames');
    await page.getByRole('button', { name: 'Computing' }).click();
    await page.waitForFunction(() => window.attune.waits.flames.shown.kind === 'computing');
    check(/ (ms|s|min) on a CPU/.test(await page.locator('.flames .waits-summary').textContent()), 'profile: where threads compute is a flame graph, too');
    const above = await page.evaluate(() => {
      const { tree } = window.attune.waits.flames.shown;
      const nodes = Array.from({ length: tree.size }, (_, node) => node).filter((node) => tree.frameOf(node)?.name === 'relax').sort((a, b) => tree.time[b] - tree.time[a]);
      return tree.nodesTo(nodes[0]).map((node) => tree.frameOf(node).name);
    });
    check(above.join(' ').includes('run_solver solve relax'), `profile: a function is below those that called it: ${above.slice(1).join(', ')}`);
    await page.getByRole('button', { name: 'Each thread' }).click();
    await page.getByLabel('Find in the flame graph').fill('relax');
    const share = parseFloat((await page.locator('.flame-found').textContent()).slice('found '.length));
    const own = await page.evaluate(() => {
      const { tree } = window.attune.waits.flames.shown;
      // The first thread has the program's name, too.
      const threads = Array.from({ length: tree.size }, (_, node) => node).filter((node) => tree.frameOf(node)?.kind === 'thread' && tree.frameOf(node).name.startsWith('solver '));
      return (Math.max(...threads.map((thread) => tree.time[thread])) / tree.time[0]) * 100;
    });
    check(share > 0 && share <= own + 0.05, `profile: what is found lies in its thread: ${share} % of ${own.toFixed(1)} %`);
    const place = await flameOf(page, 'relax');
    await page.mouse.click(place.x, place.y);
    await page.locator('.flame-actions').getByRole('button', { name: 'Source' }).click();
    await page.waitForSelector('.source .line.current');
    check((await page.locator('.source').textContent()).includes('static void relax(void)'), 'profile: its source is shown');
    await page.context().close();
  } finally {
    await session.stop();
  }
}

try {
  await whileItRuns();
  await recorded();
  await traced();
  await computing();
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(process.exitCode ? 'failed' : 'passed');
