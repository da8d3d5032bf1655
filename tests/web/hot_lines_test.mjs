// node hot_lines_test.mjs ATTUNE TOUCH_PAGES: lines by CPU time and sampled events, as the report has them: sorted, filtered, saved, with
// formulas, of a part of the time, with the source beside; while the program runs; and without events.

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { axeFindings, browserOrSkip, check, drawn, eventually, launchBrowser, newContext, recordWhole, SKIPPED, testFolder, watchErrors } from './harness.mjs';

browserOrSkip();
const [attune, program] = process.argv.slice(2);
const PAGES = 300;
const ROWS = '.lines-pane .table-rows .table-row:not([hidden])';
const folder = testFolder('web-hot-lines');
const browser = await launchBrowser();

async function open(url, options = {}) {
  const page = watchErrors(await (await newContext(browser, options)).newPage());
  await page.goto(url);
  await drawn(page);
  await page.waitForFunction(() => window.attune.waits !== null);
  await page.locator('.workspaces').getByRole('tab', { name: 'Hot lines', exact: true }).click();
  return page;
}

const rowsOf = (page) => page.locator(ROWS).evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
const heading = (page, title) => page.locator('.lines-pane .table-row.head button').getByText(title, { exact: true });
/** Of the document that is shown. */
const held = (page) => page.evaluate(() => window.attune.waits.documents.get('hot-lines'));

async function saved(page) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.lines-pane .save-choice select').selectOption('CSV')]);
  const file = path.join(folder, 'saved.csv');
  await download.saveAs(file);
  // No name in it has a comma.
  return readFileSync(file, 'utf8').trim().split('\r\n').map((line) => line.split(','));
}

async function table(url, hot) {
  const page = await open(url, { viewport: { width: 1440, height: 720 } });
  await page.locator(ROWS).nth(1).waitFor();
  const [heads, ...lines] = await saved(page);
  check(heads.join() === 'Function,Line,Module,cpu-time (ns),page-faults:u', `the columns are ${heads.join(', ')}`);
  const theirs = hot.lines.map(({ counts }) => counts.join()).sort();
  check(lines.length === hot.lines_in_all && lines.map((line) => line.slice(3).join()).sort().join('\n') === theirs.join('\n'), `the ${lines.length} lines are those of the report`);
  check(lines[0][0] === 'compute', `by CPU time the first is ${lines[0].slice(0, 2).join(' at ')}`);
  await heading(page, 'page-faults:u').click();
  const [[name, , , , faults]] = await rowsOf(page);
  check(name === 'touch' && faults.startsWith(String(PAGES)), `by page faults it is ${name} with ${faults}`);
  const filter = page.getByLabel('Filter lines');
  await filter.fill('touch_pages compute');
  check((await rowsOf(page)).map(([of]) => of).join() === 'compute', 'the filter leaves one in sight');
  await filter.fill('');

  const text = 'page-faults:u / cpu-time * 1e6';
  await page.locator('.lines-pane').getByLabel('Formula', { exact: true }).fill(text);
  check(/^all lines: [\d.]+/.test(await page.locator('#lines-preview').textContent()), `the preview is of all lines: ${await page.locator('#lines-preview').textContent()}`);
  await page.keyboard.press('Enter');
  await heading(page, text).waitFor();
  const wrong = (await saved(page)).slice(1).filter(([, , , cpu, count, value]) => (Number(cpu) > 0 ? Math.abs(Number(value) - (Number(count) / Number(cpu)) * 1e6) > 1e-6 * Number(value) : value !== ''));
  check(wrong.length === 0, 'each line has its value of a formula');

  await page.locator(ROWS, { hasText: 'touch' }).first().click();
  await page.locator('.source .line.current').waitFor();
  const current = await eventually(() => page.locator('.source .line.current').textContent(), (now) => now.includes(String(PAGES)));
  check(current.includes(String(PAGES)) && current.includes('the line of the page faults'), `the source has the count beside its line: ${current}`);
  const head = await page.locator('.source .line.head').textContent();
  check(head.includes('cpu-time') && head.includes('page-faults:u'), `with a heading: ${head}`);
  await page.keyboard.press('Escape');
  check(await page.locator('.source').isHidden(), 'Escape closes it');
  await page.context().close();
}

async function flames(url) {
  const page = await open(url);
  await page.locator('.workspaces').getByRole('tab', { name: 'Flames', exact: true }).click();
  await page.locator('.flames .segments').getByRole('button', { name: 'page-faults:u', exact: true }).click();
  const boxes = await eventually(() => page.evaluate(() => {
    const { boxes: shown, tree, kind } = window.attune.waits.flames.shown;
    return kind === 'event page-faults:u' ? shown.map(({ node }) => [tree.frameOf(node)?.name ?? '', tree.time[node]]) : [];
  }), (now) => now.length > 1);
  check(boxes.some(([name, count]) => name === 'touch' && count === PAGES), `the flame graph of the event has ${PAGES} at touch: ${JSON.stringify(boxes.slice(0, 8))}`);
  const summary = await page.locator('.flames .waits-summary').first().textContent();
  check(/^\d+ page-faults:u/.test(summary), `as counts, not as times: ${summary}`);
  await page.context().close();
}

/** Of the first half of the time there are the page faults, of the second one the computing. */
async function ranges(url) {
  const page = await open(url);
  const all = await eventually(() => held(page), (now) => now !== null);
  const { t0, t1 } = await page.evaluate(() => window.attune.model.extent);
  await page.evaluate((range) => window.attune.show(range), { t0: t0 + (t1 - t0) * 0.6, t1 });
  const part = await eventually(() => held(page), (now) => now.events[0].count < all.events[0].count);
  const faults = (of) => of.events.find(({ event }) => event === 'page-faults:u')?.count ?? 0;
  check(part.events[0].count > 0 && faults(part) < 0.1 * faults(all), `at the end of it ${faults(part)} of ${faults(all)} page faults`);
  check((await page.locator('.lines-pane .waits-summary').textContent()).includes('in view'), `it says so: ${await page.locator('.lines-pane .waits-summary').textContent()}`);
  await page.context().close();
}

async function looks(url) {
  for (const colorScheme of ['dark', 'light']) {
    const page = await open(url, { colorScheme });
    await page.locator(ROWS).nth(1).waitFor();
    await page.locator(ROWS).first().click();
    await page.locator('.source .line.current').waitFor();
    const found = await axeFindings(page);
    check(found.length === 0, `${colorScheme}: nothing serious is found by axe${found.map((one) => `\n     ${one}`).join('')}`);
    await page.keyboard.press('Escape');
    for (const [width, height] of [[1440, 920], [1024, 768], [768, 1024], [390, 844]]) {
      await page.setViewportSize({ width, height });
      const wide = await page.evaluate(() => ({ page: document.scrollingElement.scrollWidth, pane: document.querySelector('.lines-pane').getBoundingClientRect().right, table: document.querySelector('.lines-pane .table-scroller').clientHeight }));
      check(wide.page <= width && wide.pane <= width && wide.table > 120, `${colorScheme}, ${width} x ${height}: it fits, with rows: ${JSON.stringify(wide)}`);
    }
    await page.context().close();
  }
}

async function view(file, ...tests) {
  const session = await Session.start(attune, 'view', file);
  try {
    for (const test of tests) await test(session.url);
  } finally {
    await session.stop();
  }
}

try {
  const [counted, plain] = ['counted', 'plain'].map((name) => path.join(folder, `${name}.attune`));
  recordWhole(attune, counted, () => execFileSync(attune, ['run', '-q', '--event-samples', 'page-faults:u=1', '-o', counted, '--', program, String(PAGES), '400']));
  const report = JSON.parse(execFileSync(attune, ['report', '--json', counted], { maxBuffer: 1 << 28 }));
  if (report.unseen.some((text) => text.includes('CPU samples: the kernel permits none'))) {
    console.log('skipped: samples are not permitted');
    process.exit(SKIPPED);
  }
  await view(counted, (url) => table(url, report.hot_lines), flames, ranges, looks);
  recordWhole(attune, plain, () => execFileSync(attune, ['run', '-q', '-o', plain, '--', program, '10', '200']));
  await view(plain, async (url) => {
    const page = await open(url);
    await page.locator(ROWS).first().waitFor();
    check((await page.locator('.lines-pane .counters-status').textContent()).includes('--event-samples'), 'with CPU time alone it says how to sample events');
    await page.context().close();
  });
  const live = await Session.start(attune, 'live', '--event-samples', 'page-faults:u=1', '-o', path.join(folder, 'live.attune'), '--', program, '100', '100000');
  try {
    const page = await open(live.url);
    const first = await eventually(() => held(page), (now) => now !== null && now.events.length === 2);
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
