// node export_test.mjs ATTUNE MANY_THREADS: a recording as one HTML file, opened from the disk without a network, shows what
// attune view shows of the recording.

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { heldCounts, Session, wrongCounts } from '../../bench/page/session.mjs';
import { addDrawnAfter, browserOrSkip, check, checkSaving, drawn, eventually, launchBrowser, newContext, recordWhole, testFolder, watchErrors } from './harness.mjs';
import { showWorkspace } from './waits_page.mjs';

browserOrSkip();
const [, , attune, program] = process.argv;
const folder = testFolder('web-export');
const recording = path.join(folder, 'many.attune');
const exported = path.join(folder, 'many.html');
const MAX_BYTES = 3e6;
const browser = await launchBrowser();

/** @param offline whatever the page would load is a failure */
async function open(url, offline) {
  // The page's content security policy stays: it must allow the page itself.
  const context = await newContext(browser, { bypassCSP: !offline });
  if (offline) await context.setOffline(true);
  const page = watchErrors(await context.newPage());
  const loaded = [];
  page.on('request', (request) => request.url().startsWith('data:') || loaded.push(request.url()));
  await page.goto(url);
  await eventually(() => page.evaluate(() => window.attune?.drawnUpdates > 0 && window.attune.model.points.size > 0 && window.attune.waits !== null), Boolean);
  return { page, loaded };
}

/** The range is shown, and what was asked for of it is drawn. */
async function show(page, range) {
  await addDrawnAfter(page);
  await page.evaluate((wanted) => window.drawnAfter((app) => app.show(wanted)), range);
}

/** Ticks of CPU time are put into the samples after them: at the ends of a range up to two may be elsewhere. */
const pointsOf = (page) => page.evaluate(() => {
  const { t0, t1 } = window.attune.view.range;
  return Object.fromEntries([...window.attune.model.points].map(([series, points]) => {
    const all = Array.from({ length: points.length }, (_, i) => i).filter((i) => points.t[i] >= t0 && points.t[i] <= t1);
    const seconds = all.length < 2 ? 1 : (points.t[all.at(-1)] - points.t[all[0]]) / (all.length - 1) / 1e9;
    const ticks = 0.02 * (window.attune.model.series.get(series).maxPerSecond || 0) / seconds;
    return [series, { exact: points.exact, count: all.length, ticks, sum: all.reduce((sum, i) => sum + (points.mean[i] || 0), 0) }];
  }));
});

async function charts(page, other) {
  const { t0, t1 } = await page.evaluate(() => window.attune.model.extent);
  for (const share of [1, 0.2, 0.01]) {
    const middle = t0 + (t1 - t0) * 0.4;
    await show(page, { t0: middle - (t1 - t0) * share / 2, t1: middle + (t1 - t0) * share / 2 });
    const held = await heldCounts(page);
    const wrong = wrongCounts(attune, recording, held);
    check(held.length > 3 && wrong.length === 0, `at ${share} of the time the counts of ${held.length} series add up to what is recorded`);
  }
  await show(other, await page.evaluate(() => window.attune.view.range));
  const [ours, theirs] = [await pointsOf(page), await pointsOf(other)];
  const differ = Object.keys(theirs).filter((series) => !ours[series]?.exact || ours[series].count !== theirs[series].count || Math.abs(ours[series].sum - theirs[series].sum) > 1e-6 * Math.abs(theirs[series].sum) + 2 * ours[series].ticks);
  check(Object.keys(theirs).length > 3 && differ.length === 0, `zoomed in, each of ${Object.keys(theirs).length} series has the samples that attune view shows`);
}

const tab = (page, name) => page.getByRole('tab', { name, exact: true }).click();

async function workspaces(page, other) {
  const look = {
    findings: (one) => one.evaluate(() => document.querySelector('.findings')?.textContent ?? ''),
    Locks: (one) => one.evaluate(() => document.querySelector('.locks')?.textContent ?? ''),
    Flames: (one) => one.evaluate(() => String(window.attune.waits.flames.shown.tree?.time[0] ?? '')),
  };
  for (const one of [page, other]) await one.evaluate(() => window.attune.showAll());
  for (const [name, text] of Object.entries(look)) {
    for (const one of [page, other]) if (name !== 'findings') await tab(one, name);
    // Until an answer comes, a workspace shows what it showed before.
    const [ours, theirs] = await eventually(async () => [await text(page), await text(other)], ([here, there]) => /[1-9]/.test(there) && here === there);
    check(/[1-9]/.test(theirs) && ours === theirs, `${name} are those of attune view: ${ours.slice(0, 60)}`);
  }
  const whole = await page.getByRole('button', { name: 'Time in view' });
  check(await whole.isDisabled() && /attune view/.test(await whole.getAttribute('title')), 'the flame graph is of all the time, and says so');
  await tab(page, 'Timeline');
  const { t0, t1 } = await page.evaluate(() => window.attune.model.extent);
  for (const length of [t1 - t0, (t1 - t0) / 10]) {
    await show(page, { t0, t1: t0 + length });
    await page.waitForFunction(() => window.attune.waits.timeline.settled);
    const { from, to, width } = await page.evaluate(() => {
      const { t0: first, t1: last, width: part } = window.attune.waits.timeline.shown.timeline;
      return { from: first, to: last, width: part };
    });
    check(from <= t0 && to >= t0 + length && width <= (t1 - t0) / 2000, `the timeline holds the ${length} ns in view, in parts of ${width} ns`);
  }
  for (const name of ['Graph', 'Messages', 'Tuning', 'Charts']) await tab(page, name);
}

async function sources(page) {
  await tab(page, 'Locks');
  await page.evaluate(() => window.attune.waits.openSource([...window.attune.waits.places.values()].find((place) => place.file !== '')));
  const said = await eventually(() => page.evaluate(() => window.attune.waits.source.root.textContent), (text) => text.includes('attune view'));
  check(said.includes('attune view'), 'instead of source code the page says where it is shown');
}

/** What the page saves. @param select the list with the kinds of files */
async function saved(page, select, kind) {
  const [download] = await Promise.all([page.waitForEvent('download'), select.selectOption(kind)]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

/** Width and height of an image, as its file says. */
const pngSize = (bytes) => (bytes.subarray(1, 4).toString() === 'PNG' ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) } : null);

/** @param text of a file @return whether a browser reads it as SVG with these elements */
function isDrawn(page, text, selector) {
  return page.evaluate(([svg, elements]) => {
    const read = new DOMParser().parseFromString(svg, 'image/svg+xml');
    return read.querySelector('parsererror') === null && read.documentElement.localName === 'svg' && read.querySelectorAll(elements).length > 0;
  }, [text, selector]);
}

async function saving(page) {
  await tab(page, 'Charts');
  await page.evaluate(() => {
    const app = window.attune;
    app.showAll();
    app.selected.clear();
    for (const chosen of [app.settings.placed, app.settings.linesOf, app.settings.options]) chosen.clear();
    for (const series of app.model.series.values()) if (series.sensor === 'cpu' && series.signal === 'user') app.selected.add(series.id);
    app.selectionChanged();
  });
  await page.waitForFunction(() => window.attune.charts.length === 1 && [...window.attune.selected].every((id) => window.attune.model.points.get(id)?.length > 1));
  const chart = page.getByLabel('Save the chart cpu user');
  const png = await saved(page, chart, 'PNG');
  const size = pngSize(png.bytes);
  check(png.name === 'many-cpu-user.png' && size?.width > 1000 && size.height > 300, `a chart as ${png.name}, ${size?.width} x ${size?.height}`);
  const svg = (await saved(page, chart, 'SVG')).bytes.toString();
  check((await isDrawn(page, svg, 'path[stroke]')) && svg.includes('>cpu user<') && svg.split('text-anchor="end"').length > 3, 'a chart as SVG has its title, its axis and a path for each line');
  const lines = (await saved(page, chart, 'CSV')).bytes.toString().trim().split('\r\n').map((line) => line.split(','));
  const cpus = new Set(lines.slice(1).map((line) => line[2]));
  const [first] = JSON.parse(execFileSync(attune, ['query', '--json', recording, 'select min(t_ns) as t0, max(t_ns) as t1 from samples']));
  check(lines[0].join() === 't_ns,real_time,line,unit,mean,lowest,highest,samples' && cpus.has('cpu0') && lines.slice(1).every((line) => line[3] === '%' && Number(line[0]) >= first.t0 && Number(line[0]) <= first.t1), `a chart as CSV has ${lines.length - 1} rows of ${[...cpus].join(', ')} within the recording`);
  const table = page.locator('.drawer .table:visible').getByLabel('Save the table');
  const rows = (await saved(page, table, 'CSV')).bytes.toString().trim().split('\r\n');
  const shown = await page.evaluate(() => window.attune.values.count);
  check(rows.length === shown + 1 && rows[0].startsWith('Line,Chart,Cursor,Mean') && rows[0].endsWith('Unit,Unit of the total'), `a table as CSV has its ${shown} rows and their units`);
  for (const [name, label, elements] of [['Flames', 'Save the flame graph', 'image'], ['Timeline', 'Save the timeline', 'image'], ['Graph', 'Save the graph', 'path[stroke]:not([stroke="none"])']]) {
    await tab(page, name);
    const select = page.getByLabel(label);
    check((await isDrawn(page, (await saved(page, select, 'SVG')).bytes.toString(), elements)) && pngSize((await saved(page, select, 'PNG')).bytes)?.width > 800, `${name} as SVG and as PNG`);
  }
}

/** Nothing that is shown cannot be saved. */
async function savingEverything(page) {
  for (const name of ['Charts', 'Locks', 'Graph', 'Timeline', 'Flames']) {
    await showWorkspace(page, name);
    if (name === 'Locks') await page.locator('.locks .table-rows .table-row').first().click();
    if (name === 'Graph') await page.locator('.graph .table:visible .table-rows .table-row:not([hidden])').first().waitFor();
    await checkSaving(page, name);
  }
  await tab(page, 'Charts');
  for (const table of [2, 3, 4, 5]) {
    await page.keyboard.press(String(table));
    const empty = page.locator('.drawer .table:visible > .empty:not([hidden])');
    const rows = page.locator('.drawer .table:visible .table-rows .table-row:not([hidden])');
    await eventually(async () => (await rows.count()) + (await empty.count()), (count) => count > 0);
    if ((await empty.count()) > 0) check(await page.locator('.drawer .table:visible > .save-choice').isHidden(), `table ${table} is empty: there is nothing to save`);
    else await checkSaving(page, `table ${table}`, '.drawer');
  }
}

/** A part of the time is a page of its own. */
async function part() {
  const file = path.join(folder, 'part.html');
  execFileSync(attune, ['export', recording, '--to', 'html', '--from', '1s', '--to-time', '2500ms', '-o', file]);
  // States are as fine as of all of it: a part may be no smaller.
  check(statSync(file).size < MAX_BYTES, `a part has ${statSync(file).size} bytes`);
  const { page } = await open(pathToFileURL(file).href, true);
  const held = await page.evaluate(() => {
    const { model } = window.attune;
    const { t0, t1 } = model.extent;
    const times = [...model.points.values()].flatMap((points) => [points.t[0], points.t[points.length - 1]]);
    return { length: t1 - t0, from: Math.min(...times) - t0, to: t1 - Math.max(...times), title: model.title };
  });
  check(Math.abs(held.length - 1.5e9) < 2e6 && held.from >= 0 && held.to >= 0, `it holds that part only: ${JSON.stringify(held)}`);
  await tab(page, 'Timeline');
  await page.waitForFunction(() => window.attune.waits.timeline.settled);
  const spans = await page.evaluate(() => {
    const { timeline } = window.attune.waits.timeline.shown;
    return { rows: timeline.sums.rows.size + timeline.spans.size, outside: [...timeline.sums.bucket].filter((bucket) => timeline.t0 + bucket * timeline.width > window.attune.model.extent.t1).length };
  });
  check(spans.rows > 10 && spans.outside === 0, `so does its timeline, of ${spans.rows} threads`);
  await page.context().close();
  for (const [options, wanted] of [[['--from', '9h'], 'the recording is'], [['--from', '2s', '--to-time', '1s'], 'not behind --from'], [['--from', '2'], '--from']]) {
    const refused = spawnSync(attune, ['export', recording, '--to', 'json', ...options], { encoding: 'utf8' });
    check(refused.status === 2 && refused.stderr.includes(wanted), `${options.join(' ')} is refused: ${refused.stderr.split('\n')[0]}`);
  }
}

try {
  recordWhole(attune, recording, () => execFileSync(attune, ['run', '-q', '-s', 'cpu,vmstat,memory', '-i', '2ms', '--cpu-samples', '4ms', '-o', recording, '--', program, '5']));
  execFileSync(attune, ['export', recording, '--to', 'html', '-o', exported]);
  const { size } = statSync(exported);
  check(size < MAX_BYTES, `the file has ${size} bytes`);
  const view = await Session.start(attune, 'view', recording);
  try {
    const { page, loaded } = await open(pathToFileURL(exported).href, true);
    const { page: other } = await open(view.url, false);
    await drawn(other);
    check((await page.locator('.state').textContent()) === 'Recording', 'without a server the page shows the recording');
    await charts(page, other);
    await workspaces(page, other);
    await sources(page);
    await saving(page);
    await savingEverything(other);
    await part();
    const others = loaded.filter((address) => address !== pathToFileURL(exported).href);
    check(others.length === 0, `nothing but the file was loaded: ${others.join(' ')}`);
  } finally {
    await view.stop();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
console.log(process.exitCode ? 'failed' : 'passed');
