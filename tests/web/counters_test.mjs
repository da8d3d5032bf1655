// node counters_test.mjs ATTUNE MANY_THREADS: events that were counted of each thread, as the report has them: sorted, filtered, by
// process and by CPU, of a part of the time, with formulas, saved; and the virtual counters of a module.

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Session } from '../../bench/page/session.mjs';
import { axeFindings, browserOrSkip, check, drawn, eventually, launchBrowser, newContext, recordWhole, testFolder, watchErrors } from './harness.mjs';

browserOrSkip();
const [attune, program] = process.argv.slice(2);
const source = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const folder = testFolder('web-counters');
const browser = await launchBrowser();

async function open(url, options = {}) {
  const page = watchErrors(await (await newContext(browser, options)).newPage());
  await page.goto(url);
  await drawn(page);
  await page.waitForFunction(() => window.attune.waits !== null);
  await page.locator('.workspaces').getByRole('tab', { name: 'Counters', exact: true }).click();
  return page;
}

const ROWS = '.threads-pane .counters-main .table-rows .table-row:not([hidden])';
const rowsOf = (page) => page.locator(ROWS).evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
const AS_IF_CPU_0_WERE_SMALL = 'echo 512 > "$1"; mount --bind "$1" /sys/devices/system/cpu/cpu0/cpu_capacity || exit 99; shift; exec "$@"';
/** Of what it is called an arrow is a part, once the table is sorted by it. */
const heading = (page, title) => page.locator('.threads-pane .counters-main .table-row.head button').getByText(title, { exact: true });
const segment = (page, name) => page.locator('.threads-pane .segments').getByRole('button', { name, exact: true });
/** Of the document that is shown. */
const held = (page) => page.evaluate(() => window.attune.waits.documents.get('counters'));

/** @return rows of the saved table, the headings first */
async function saved(page) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.threads-pane .counters-main .save-choice select').selectOption('CSV')]);
  const file = path.join(folder, 'saved.csv');
  await download.saveAs(file);
  // No name in it has a comma.
  return { name: download.suggestedFilename(), lines: readFileSync(file, 'utf8').trim().split('\r\n').map((line) => line.split(',')) };
}

function reportOf(file) {
  return JSON.parse(execFileSync(attune, ['report', '--json', file], { maxBuffer: 1 << 28 })).thread_counts;
}

async function table(url, file) {
  const report = reportOf(file);
  const page = await open(url, { viewport: { width: 1280, height: 720 } });
  await page.waitForFunction((selector) => document.querySelectorAll(selector).length > 3, ROWS);
  const { name, lines: [heads, ...lines] } = await saved(page);
  check(name === 'Counters.csv' && heads.join() === `Thread,TID,Process,PID,${report.events.map(({ event, unit }) => (unit === '' ? event : `${event} (${unit})`)).join()}`, `${name} has the columns ${heads.join(', ')}`);
  const theirs = report.threads.map(({ pid, tid, counts }) => [pid ?? '', tid ?? '', ...counts].join()).sort();
  const ours = lines.map(([, tid, , pid, ...counts]) => [pid, tid, ...counts].join()).sort();
  check(ours.length > 60 && ours.join('\n') === theirs.join('\n'), `the ${ours.length} rows are those of the report`);
  const cards = await page.locator('.counter-card span').allTextContents();
  check(cards.join() === report.events.map(({ event }) => event).join(), `each event has its total: ${(await page.locator('.counter-card').allTextContents()).join(', ')}`);

  const tids = async () => (await rowsOf(page)).map((row) => row[1]);
  const orderOf = (at, sign) => [...report.threads].sort((a, b) => sign * (a.counts[at] - b.counts[at]))[0].counts[at];
  const first = async (at) => {
    const [tid] = await tids();
    return report.threads.find((thread) => String(thread.tid ?? '–') === tid).counts[at];
  };
  check((await first(0)) === orderOf(0, -1), 'the thread with most of the first event is the first');
  await heading(page, 'page-faults').click();
  check((await first(1)) === orderOf(1, -1), 'a click on an event sorts by it');
  await heading(page, 'page-faults').click();
  check((await first(1)) === orderOf(1, 1), 'another click the other way round');
  await heading(page, 'Thread').focus();
  await page.keyboard.press('Enter');
  const isSorted = (all) => all.join() === [...all].sort().join();
  const names = await eventually(async () => (await rowsOf(page)).map((row) => row[0]), isSorted);
  check((await page.evaluate(() => document.activeElement.textContent)) === 'Thread', 'the keyboard stays at the heading that it sorted by');
  check(isSorted(names), `the keyboard sorts by names: ${names.slice(0, 4).join(', ')}`);

  const filter = page.getByLabel('Filter threads');
  await filter.fill('worker');
  const workers = await rowsOf(page);
  check(workers.length > 3 && workers.every((row) => row[0].includes('worker')), `the filter leaves ${workers.length} workers in sight`);
  const { lines: filtered } = await saved(page);
  check(filtered.length === 1 + report.threads.filter(({ thread }) => thread.includes('worker')).length, 'the saved table has those rows');
  await filter.fill('no such thread');
  check(await page.locator('.threads-pane .counters-main .empty').isVisible(), 'without any row the table says so');
  await filter.fill('');

  await segment(page, 'Processes').click();
  const pids = new Set(report.threads.map(({ pid }) => pid));
  const processes = (await saved(page)).lines.slice(1);
  const sumOf = (rows, of) => rows.reduce((sum, row) => sum + Number(of(row)), 0);
  check(processes.length === pids.size, `${processes.length} rows for ${pids.size} processes`);
  for (const at of [0, 1]) check(sumOf(processes, (row) => row[3 + at]) === report.events[at].count, `they have all ${report.events[at].event}: ${report.events[at].count}`);

  await segment(page, 'CPUs').click();
  const [cpuHeads, ...cpus] = (await saved(page)).lines;
  check(cpuHeads[0] === 'CPU' && cpus.map((row) => row[0]).sort().join() === report.cpus.map(({ cpu }) => cpu ?? '').sort().join(), `${cpus.length} rows for CPUs: ${cpus.map((row) => row[0]).join(', ')}`);
  const [cpu] = report.cpus;
  const ofCpu = cpus.find((row) => Number(row[0]) === cpu.cpu).slice(-2).map(Number);
  check(cpu.counts[0] > 0 && ofCpu.join() === cpu.counts.join(), `CPU ${cpu.cpu} has what the report says: ${ofCpu.join(', ')}`);
  for (const at of [0, 1]) check(sumOf(cpus, (row) => row.at(at - 2)) === report.events[at].count, `they have all ${report.events[at].event}`);
  check((await segment(page, 'Core types').isVisible()) === report.core_types.length > 0, 'kinds of cores are a choice where there are several');
  await segment(page, 'Threads').click();

  await segment(page, 'Share').click();
  const shares = (await saved(page)).lines.slice(1);
  check(Math.abs(sumOf(shares, (row) => row[4]) - 1) < 1e-9, 'shares add up to the whole');
  await segment(page, 'A second').click();
  const rates = (await saved(page)).lines.slice(1);
  const { time_ns: timeNs } = await held(page);
  check(Math.abs(sumOf(rates, (row) => row[5]) - (report.events[1].count * 1e9) / timeNs) < 1e-6 * report.events[1].count, `rates are of ${timeNs / 1e9} s`);
  await segment(page, 'Counts').click();
  await page.context().close();
}

async function coreTypes(url, file) {
  const report = reportOf(file);
  const page = await open(url);
  await segment(page, 'Core types').click();
  const [heads, ...lines] = (await saved(page)).lines;
  check(heads.slice(0, 2).join() === 'Core type,CPUs' && lines.length === report.core_types.length, `kinds of cores have rows: ${lines.map((row) => row[0]).join(', ')}`);
  const theirs = report.core_types.map(({ core_type: type, cpus, counts }) => [type ?? '', cpus, ...counts].join()).sort();
  check(theirs.some((row) => row.startsWith('1,1,')) && lines.map((row) => row.join()).sort().join('\n') === theirs.join('\n'), 'they are those of the report');
  await segment(page, 'CPUs').click();
  const cpus = (await saved(page)).lines;
  check(cpus[0].slice(0, 2).join() === 'CPU,Core type' && cpus.slice(1).some((row) => row[0] === '0' && row[1] === '1'), 'each CPU has its kind');
  await page.context().close();
}

async function formulas(url, file) {
  const report = reportOf(file);
  const page = await open(url, { viewport: { width: 1280, height: 720 } });
  await page.waitForFunction((selector) => document.querySelectorAll(selector).length > 3, ROWS);
  const input = page.locator('.threads-pane').getByLabel('Formula', { exact: true });
  const preview = page.locator('.threads-pane .counter-preview');
  await input.fill('page-faults / task-clok');
  check((await preview.textContent()).includes('“task-clok”: did you mean task-clock?') && await page.locator('.threads-pane').getByRole('button', { name: 'Add a column' }).isDisabled(), `a mistake is named: ${await preview.textContent()}`);
  await input.fill('page-faults /');
  check((await preview.textContent()) === 'Expected a number or an event at the end', 'so is what is missing');
  await input.fill('');
  await page.locator('.counter-card', { hasText: 'page-faults' }).click();
  await page.keyboard.type(' / task-clock * 1e6');
  const of = (counts) => (counts[1] / counts[0]) * 1e6;
  const text = 'page-faults / task-clock * 1e6';
  check((await input.inputValue()) === text, 'a click on an event puts its name into the formula');
  check(/^all threads: [\d.]+/.test(await preview.textContent()), `the preview is of all threads: ${await preview.textContent()}`);
  const value = Number((await preview.textContent()).replace(/^all threads: /, '').replace(/[km]$/, ''));
  const exact = of(report.events.map(({ count }) => count));
  check((await preview.textContent()).endsWith('k') || Math.abs(value - exact) < 0.001 * exact + 0.001, `that is ${exact}`);
  await page.keyboard.press('Enter');
  await heading(page, text).waitFor();
  const [heads, ...lines] = (await saved(page)).lines;
  check(heads[6] === text && (await input.inputValue()) === '', 'Enter makes it a column');
  const wrong = lines.filter(([, , , , clock, faults, result]) => {
    const wanted = of([Number(clock), Number(faults)]);
    return Number.isFinite(wanted) ? Math.abs(Number(result) - wanted) > 1e-9 * wanted : result !== '';
  });
  check(lines.length > 60 && wrong.length === 0, `each of the ${lines.length} rows has its value`);
  await heading(page, text).click();
  const sorted = (await saved(page)).lines.slice(1).map((row) => Number(row[6] || -1));
  check(sorted.every((one, i) => i === 0 || one <= sorted[i - 1]), 'the table is sorted by it');
  await segment(page, 'Processes').click();
  check((await saved(page)).lines[0].includes(text), 'processes have it, too');
  await segment(page, 'CPUs').click();
  const ofCpus = (await saved(page)).lines.slice(1);
  const [cpu] = report.cpus;
  const computed = Number(ofCpus.find((row) => Number(row[0]) === cpu.cpu).at(-1));
  check(Math.abs(computed - of(cpu.counts)) < 1e-9 * of(cpu.counts), `and CPUs: ${computed} of CPU ${cpu.cpu}`);
  await page.waitForFunction((formula) => new URLSearchParams(location.hash.slice(1)).getAll('p').includes(`counters~${formula}`), text);
  await page.reload();
  await heading(page, text).waitFor();
  check(true, 'the link has it: it is there after a reload');
  await page.getByRole('button', { name: `Remove the column ${text}` }).click();
  await heading(page, text).waitFor({ state: 'detached' });
  check(true, 'it is removed');
  await segment(page, 'Threads').click();

  await page.locator(ROWS).first().click();
  check(await page.locator('.threads-pane .counters-status b').isVisible() && await page.locator(`${ROWS}.current`).count() === 1, `a click on a row shows its figures: ${await page.locator('.threads-pane .counters-status').textContent()}`);
  await page.keyboard.press('Escape');
  check(await page.locator('.threads-pane .counters-status').isHidden(), 'Escape takes them away');
  await page.context().close();
}

/** Counts of the time in view: the page asks for that part, and they are those of the table's rows within. */
async function ranges(url, file) {
  const page = await open(url);
  const all = await eventually(() => held(page), (now) => now !== null);
  const { t0, t1 } = await page.evaluate(() => window.attune.model.extent);
  const half = { t0: Math.round(t0 + (t1 - t0) * 0.3), t1: Math.round(t0 + (t1 - t0) * 0.7) };
  await page.evaluate((range) => window.attune.show(range), half);
  const part = await eventually(() => held(page), (now) => Math.abs(now.time_ns - (half.t1 - half.t0)) < 1000);
  const origin = await page.evaluate(() => String(window.attune.model.origin));
  const at = (t) => String(BigInt(origin) + BigInt(t));
  const [{ ns }] = JSON.parse(execFileSync(attune, ['query', '--json', file, `select sum(count) as ns from thread_counts where event = 'task-clock' and t_ns >= ${at(half.t0)} and t_ns < ${at(half.t1)}`]));
  const found = part.events.find(({ event }) => event === 'task-clock').count;
  check(found === ns && found < all.events[0].count, `in view are ${found} ns of ${all.events[0].count}, as in the table of the recording`);
  check((await page.locator('.threads-pane .waits-summary').textContent()).includes('in view'), `it says so: ${await page.locator('.threads-pane .waits-summary').textContent()}`);
  await page.evaluate((from) => window.attune.show({ t0: from, t1: from + 1000 }), half.t0);
  await page.locator('.threads-pane .counters-none', { hasText: 'in the time in view' }).waitFor();
  check(true, 'a part without any count says so');
  await segment(page, 'All the time').click();
  const again = await eventually(() => held(page), (now) => now.time_ns === all.time_ns);
  check(again.time_ns === all.time_ns, 'all the time is shown again');
  await page.context().close();
}

async function looks(url) {
  for (const colorScheme of ['dark', 'light']) {
    const page = await open(url, { colorScheme });
    await page.waitForFunction((selector) => document.querySelectorAll(selector).length > 3, ROWS);
    await page.locator('.threads-pane').getByLabel('Formula', { exact: true }).fill('page-faults / seconds');
    await page.keyboard.press('Enter');
    await page.locator(ROWS).first().click();
    await page.locator('.threads-pane').getByLabel('Formula', { exact: true }).fill('(');
    const found = await axeFindings(page);
    check(found.length === 0, `${colorScheme}: nothing serious is found by axe${found.map((one) => `\n     ${one}`).join('')}`);
    for (const [width, height] of [[1440, 920], [1280, 720], [1024, 768], [768, 1024], [390, 844]]) {
      await page.setViewportSize({ width, height });
      const wide = await page.evaluate(() => ({ page: document.scrollingElement.scrollWidth, pane: document.querySelector('.threads-pane').getBoundingClientRect().right, table: document.querySelector('.threads-pane .counters-main .table-scroller').clientHeight }));
      check(wide.page <= width && wide.pane <= width && wide.table > 120, `${colorScheme}, ${width} x ${height}: it fits, with rows: ${JSON.stringify(wide)}`);
    }
    await page.context().close();
  }
}

async function nothing(url) {
  const page = await open(url);
  const text = page.locator('.threads-pane .counters-none');
  await text.locator('code').first().waitFor();
  check((await text.textContent()).includes('attune run --count task-clock,page-faults -- PROGRAM'), `without counts it says how to get them: ${await text.textContent()}`);
  check(await page.locator('.threads-pane').getByLabel('Formula', { exact: true }).isHidden(), 'and there is nothing to compute with');
  await page.context().close();
}

async function virtual(url) {
  const page = await open(url);
  const rows = page.locator('.counters-aside .table-rows .table-row:not([hidden])');
  await rows.first().waitFor();
  const text = await eventually(() => rows.first().textContent(), (now) => /faults\/s/.test(now));
  check(text.startsWith('fault-rate') && /faults\/s/.test(text), `the module's counter is there with its values: ${text}`);
  const wanted = await page.evaluate(() => [...window.attune.model.series.values()].filter(({ signal }) => signal === 'fault-rate').length);
  check(text.endsWith(String(wanted)), `it is of ${wanted} threads`);
  await page.locator(ROWS).first().click();
  const one = await eventually(() => page.locator('.counters-aside').textContent(), (now) => !now.includes('of all'));
  check(!one.includes('of all'), `a click on a thread leaves its own: ${one}`);
  await page.keyboard.press('Escape');
  await rows.first().click();
  const charts = await eventually(() => page.evaluate(() => window.attune.charts.filter((chart) => chart.traces.some((trace) => trace.first.signal === 'fault-rate')).length), (count) => count > 0);
  check(charts > 0 && await page.locator('.chart-scroller').isVisible(), 'a click on a counter shows its chart');
  await page.context().close();
}

async function view(file, ...tests) {
  const session = await Session.start(attune, 'view', file);
  try {
    for (const test of tests) await test(session.url, file);
  } finally {
    await session.stop();
  }
}

try {
  const [counted, plain, modules, hybrid] = ['counted', 'plain', 'modules', 'hybrid'].map((name) => path.join(folder, `${name}.attune`));
  recordWhole(attune, counted, () => execFileSync(attune, ['run', '-q', '--count', 'task-clock,page-faults', '-o', counted, '--', program, '4']));
  await view(counted, table, formulas, ranges, looks);
  recordWhole(attune, plain, () => execFileSync(attune, ['run', '-q', '-o', plain, '--', program, '1']));
  await view(plain, nothing);
  const asIfHybrid = (...command) => spawnSync('unshare', ['-m', 'sh', '-c', AS_IF_CPU_0_WERE_SMALL, 'sh', path.join(folder, 'small'), ...command], { stdio: 'ignore' }).status === 0;
  if (asIfHybrid('true')) {
    recordWhole(attune, hybrid, () => asIfHybrid(attune, 'run', '-q', '--count', 'task-clock,page-faults', '-o', hybrid, '--', program, '2'));
    await view(hybrid, coreTypes);
  }
  const module = path.join(folder, 'faults.so');
  execFileSync(process.env.CC || 'cc', ['-O2', '-shared', '-fPIC', '-fvisibility=hidden', '-I', path.join(source, 'include'), path.join(source, 'examples/module/faults.c'), '-o', module]);
  recordWhole(attune, modules, () => execFileSync(attune, ['run', '-q', '--count', 'task-clock,page-faults', '--module', module, '-o', modules, '--', program, '3']));
  await view(modules, virtual);
  const live = await Session.start(attune, 'live', '--count', 'task-clock,page-faults', '-o', path.join(folder, 'live.attune'), '--', program, '3000');
  try {
    const page = await open(live.url);
    const first = await eventually(() => held(page), (now) => now !== null && now.threads.length > 60);
    const later = await eventually(() => held(page), (now) => now.events[0].count > first.events[0].count);
    check(later.events[0].count > first.events[0].count, `while it runs the counts grow: ${first.events[0].count}, ${later.events[0].count}`);
    await page.context().close();
  } finally {
    await live.stop();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
console.log(process.exitCode ? 'failed' : 'passed');
