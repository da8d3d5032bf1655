// node regions_test.mjs ATTUNE EXAMPLE_REGIONS: regions of a program with what was counted round them, as the report has them: sorted,
// filtered, saved, with formulas; and a program without any.

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { axeFindings, browserOrSkip, check, drawn, eventually, launchBrowser, newContext, recordWhole, SKIPPED, testFolder, watchErrors } from './harness.mjs';

browserOrSkip();
const [attune, program] = process.argv.slice(2);
const EVENTS = 'task-clock:u,page-faults:u';
const ROWS = '.regions-pane .table-rows .table-row:not([hidden])';
const folder = testFolder('web-regions');
const browser = await launchBrowser();

async function open(url, options = {}) {
  const page = watchErrors(await (await newContext(browser, options)).newPage());
  await page.goto(url);
  await drawn(page);
  await page.waitForFunction(() => window.attune.waits !== null);
  await page.locator('.workspaces').getByRole('tab', { name: 'Regions', exact: true }).click();
  return page;
}

const rowsOf = (page) => page.locator(ROWS).evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));

/** @return rows of the saved table by the headings, which are first */
async function saved(page) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.regions-pane .save-choice select').selectOption('CSV')]);
  const file = path.join(folder, 'saved.csv');
  await download.saveAs(file);
  // No name in it has a comma.
  const [heads, ...lines] = readFileSync(file, 'utf8').trim().split('\r\n').map((line) => line.split(','));
  return { heads, rows: lines.map((line) => Object.fromEntries(line.map((cell, i) => [heads[i], cell]))) };
}

async function table(url, report) {
  const page = await open(url, { viewport: { width: 1440, height: 720 } });
  await page.locator(ROWS).nth(1).waitFor();
  const { heads, rows } = await saved(page);
  check(rows.length === 2 && heads.slice(0, 3).join() === 'Region,Calls,Own time (ns)', `two regions with the columns ${heads.join(', ')}`);
  check(Number(rows[0]['Own time (ns)']) >= Number(rows[1]['Own time (ns)']), 'the one with most time of its own is the first');
  for (const row of rows) {
    const theirs = report.regions.find(({ name }) => name === row.Region);
    const wanted = { 'Calls': theirs.count, 'Own time (ns)': theirs.self_ns, 'Time (ns)': theirs.total_ns, 'Mean (ns)': theirs.mean_ns, 'p99 (ns)': theirs.p99_ns, 'Longest (ns)': theirs.max_ns, 'Threads': theirs.threads };
    for (const { event, total } of theirs.counts) wanted[event.startsWith('task-clock') ? `${event} (ns)` : event] = total;
    for (const { metric, unit, value } of theirs.metrics) wanted[unit === '' ? metric : `${metric} (${unit})`] = value;
    const others = Object.entries(wanted).filter(([head, value]) => Math.abs(Number(row[head]) - value) > 1e-9 * Math.abs(value));
    check(theirs.counts.length === 2 && theirs.metrics.length > 0 && others.length === 0, `${row.Region} has the ${Object.keys(wanted).length} figures of the report${others.map(([head, value]) => `; ${head}: ${row[head]}, not ${value}`).join('')}`);
  }
  await page.getByLabel('Filter regions').fill('columns');
  check((await rowsOf(page)).map(([name]) => name).join() === 'by columns', 'the filter leaves one in sight');
  await page.getByLabel('Filter regions').fill('');

  const text = 'task-clock:u / calls';
  await page.locator('.regions-pane').getByLabel('Formula', { exact: true }).fill(text);
  check(/^by \w+: [\d.]+/.test(await page.locator('#region-preview').textContent()), `the preview is of the first region: ${await page.locator('#region-preview').textContent()}`);
  await page.keyboard.press('Enter');
  const formula = await eventually(() => saved(page), ({ heads: now }) => now.includes(text));
  const wrong = formula.rows.filter((row) => Math.abs(Number(row[text]) * Number(row.Calls) - Number(row['task-clock:u (ns)'])) > 1e-6 * Number(row['task-clock:u (ns)']));
  check(wrong.length === 0, 'a formula over events and calls is a column');
  await page.waitForFunction((formula) => new URLSearchParams(location.hash.slice(1)).getAll('p').includes(`regions~${formula}`), text);
  await page.reload();
  await page.locator('.regions-pane .table-row.head').getByText(text, { exact: true }).waitFor();
  check(true, 'which the link has');
  await page.context().close();
}

async function looks(url) {
  for (const colorScheme of ['dark', 'light']) {
    const page = await open(url, { colorScheme });
    await page.locator(ROWS).nth(1).waitFor();
    const found = await axeFindings(page);
    check(found.length === 0, `${colorScheme}: nothing serious is found by axe${found.map((one) => `\n     ${one}`).join('')}`);
    for (const [width, height] of [[1440, 920], [1024, 768], [768, 1024], [390, 844]]) {
      await page.setViewportSize({ width, height });
      const wide = await page.evaluate(() => ({ page: document.scrollingElement.scrollWidth, pane: document.querySelector('.regions-pane').getBoundingClientRect().right, table: document.querySelector('.regions-pane .table-scroller').clientHeight }));
      check(wide.page <= width && wide.pane <= width && wide.table > 120, `${colorScheme}, ${width} x ${height}: it fits, with rows: ${JSON.stringify(wide)}`);
    }
    await page.context().close();
  }
}

async function view(file, test) {
  const session = await Session.start(attune, 'view', file);
  try {
    await test(session.url);
  } finally {
    await session.stop();
  }
}

try {
  const [counted, plain] = ['counted', 'plain'].map((name) => path.join(folder, `${name}.attune`));
  try {
    recordWhole(attune, counted, () => execFileSync(attune, ['run', '-q', '-o', counted, '--', program, '2', EVENTS], { stdio: ['ignore', 'ignore', 'pipe'] }));
  } catch (error) {
    if (!/permi/.test(String(error.stderr))) throw error;
    console.log('skipped: events of perf are not permitted');
    process.exit(SKIPPED);
  }
  const report = JSON.parse(execFileSync(attune, ['report', '--json', counted], { maxBuffer: 1 << 28 })).program;
  await view(counted, (url) => table(url, report));
  await view(counted, looks);
  recordWhole(attune, plain, () => execFileSync(attune, ['run', '-q', '-o', plain, '--', 'true']));
  await view(plain, async (url) => {
    const page = await open(url);
    await page.locator('.regions-pane .counters-none code').first().waitFor();
    check((await page.locator('.regions-pane .counters-none').textContent()).includes('ATTUNE_REGION'), 'without regions it says how to mark them');
    await page.context().close();
  });
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
console.log(process.exitCode ? 'failed' : 'passed');
