// node timeline_test.mjs ATTUNE MANY_THREADS: the one timeline: states of threads, rows of findings and marks on the rows of their threads,
// the way from a finding to its time and back, links of older versions, and a phone.

import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { browserOrSkip, check, eventually, launchBrowser, recordWhole, testFolder, watchErrors } from './harness.mjs';
import { openPage, openWaits, showWorkspace, zoomIn } from './waits_page.mjs';

browserOrSkip();
const [attune, program] = process.argv.slice(2);
const folder = testFolder('web-timeline');
const file = path.join(folder, 'threads.attune');
const CAUSE = 'flush_table (many_threads.c';
const AXIS = 24;
const browser = await launchBrowser();

async function open(url, context = {}) {
  const page = watchErrors(await openWaits(browser, url, 'many_threads.c', context));
  await showWorkspace(page, 'Timeline');
  return page;
}

const shown = (page) => page.evaluate(() => {
  const { rows, marks, chosen } = window.attune.waits.timeline.shown;
  return { findings: rows.filter((row) => row.kind === 'finding').map((row) => row.mark?.key ?? `${row.threads} more`), threads: rows.filter((row) => row.thread).length, marks: marks.map((mark) => ({ key: mark.key, parts: mark.parts?.length ?? 0, first: mark.parts?.at(0)?.t0, last: mark.parts?.at(-1)?.t1 })), chosen };
});

/** The name of a row, as a point on the page. */
const nameOf = (page, key) => page.evaluate(([wanted, axis]) => {
  const { rows } = window.attune.waits.timeline.shown;
  const row = rows.find((one) => one.mark?.key === wanted);
  const box = document.querySelector('.timeline .threads-scroller').getBoundingClientRect();
  return { x: box.left + 60, y: box.top + axis + row.top + row.height / 2 };
}, [key, AXIS]);

async function states(page) {
  const tabs = await page.locator('.workspaces [role=tab]').allTextContents();
  check(tabs.filter((name) => ['Timeline', 'Threads', 'Ranks'].includes(name)).join() === 'Timeline', `there is one timeline: ${tabs.join(', ')}`);
  const hasAll = (names) => ['running', 'runnable, no CPU', 'lock', 'condition', 'barrier', 'sleep'].every((name) => names.includes(name));
  const legend = await eventually(() => page.locator('.timeline .legend-entry').allTextContents(), hasAll);
  check(hasAll(legend), `the legend has what the kernel says of threads, and what they wait for: ${legend.join(', ')}`);
  const sampled = await eventually(() => page.evaluate(() => window.attune.waits.timeline.wanted().filter((id) => window.attune.model.points.get(id)?.length > 1).length), (count) => count > 10);
  check(sampled > 10, `${sampled} series of the threads in sight are there`);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const colors = await page.evaluate(() => {
    const canvas = document.querySelector('.timeline canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const found = new Set();
    for (let i = 0; i < data.length; i += 4) found.add(`#${[0, 1, 2].map((k) => data[i + k].toString(16).padStart(2, '0')).join('')}`);
    const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    return Object.fromEntries(['--wait-lock', '--wait-condition', '--wait-sleep', '--warn'].map((name) => [name, found.has(css(name))]));
  });
  check(Object.values(colors).every(Boolean), `they are drawn: ${JSON.stringify(colors)}`);
}

async function findings(page) {
  const wanted = await page.evaluate(() => window.attune.waits.documents.get('waits').findings.length);
  const { findings: rows, marks, threads } = await shown(page);
  check(marks.length === wanted && rows.length === Math.min(wanted, 5), `each of ${wanted} findings is on the timeline: ${rows.join(', ')}`);
  check(marks.every(({ parts }) => parts > 0), `with the parts of the time in which it lost some: ${marks.map(({ parts }) => parts).join(', ')}`);
  const lost = await page.evaluate(() => {
    const { findings: all, finding_times: times } = window.attune.waits.documents.get('waits');
    return all.map(({ seconds }, i) => times[i].reduce((sum, part) => sum + part[2], 0) / 1e9 / seconds);
  });
  check(lost.every((share) => share > 0.5 && share < 1.5), `of what findings lost so much is in their parts: ${lost.map((share) => share.toFixed(2)).join(', ')}`);
  const { key } = marks[0];
  const at = await nameOf(page, key);
  await page.mouse.click(at.x, at.y);
  check((await shown(page)).chosen === key && (await page.locator('.finding[aria-expanded=true]').count()) === 1, 'a click on a finding’s row shows why it is one, and marks its threads');
  await page.keyboard.press('Escape');
  check((await shown(page)).chosen === '', 'Escape takes that back');
  await page.locator('.finding[aria-expanded=true]').click();
  const more = page.locator('.finding-more');
  if ((await page.locator('.finding', { hasText: CAUSE }).count()) === 0) await more.click();
  await page.locator('.finding', { hasText: CAUSE }).first().click();
  await zoomIn(page, 40e6);
  await page.getByRole('button', { name: 'On the timeline' }).click();
  await page.waitForFunction(() => window.attune.waits.timeline.settled);
  const now = await shown(page);
  const mark = now.marks.find((one) => one.key === now.chosen);
  const range = await page.evaluate(() => window.attune.view.range);
  check(now.threads > 1 && now.threads < threads && mark !== undefined, `a finding leads to its ${now.threads} of ${threads} threads`);
  check(range.t0 <= mark.first + 1e6 && range.t1 >= mark.last - 1e6, 'and to the time in which it lost some');
  await page.locator('.timeline .only').click();
  const back = await eventually(() => shown(page), (all) => all.threads === threads);
  check(back.threads === threads, 'and back to all of them');
}

async function tooltips(page) {
  await zoomIn(page, 40e6);
  const over = await page.locator('.threads-over:visible').boundingBox();
  const { findings: rows } = await shown(page);
  await page.mouse.move(over.x + over.width / 2, over.y + 9);
  const tip = await eventually(() => page.locator('.timeline .threads-tip').textContent(), (text) => text.startsWith('finding 1'));
  check(/^finding 1: [a-z-]+.* lost, /.test(tip) && rows.length > 0, `the tip of a finding: ${tip}`);
}

/** A program that waits for a disk, in one thread: the row is as high as there is room. */
async function files() {
  const recording = path.join(folder, 'files.attune');
  execFileSync(attune, ['run', '-q', '-o', recording, '--', 'dd', 'if=/dev/zero', `of=${path.join(folder, 'written')}`, 'bs=64k', 'count=200', 'oflag=sync'], { stdio: 'ignore' });
  const session = await Session.start(attune, 'view', recording);
  try {
    const page = watchErrors(await openPage(browser, session.url));
    await page.waitForFunction(() => window.attune?.waits);
    await page.getByRole('tab', { name: 'Timeline', exact: true }).click();
    await page.waitForFunction(() => window.attune.waits.timeline.settled);
    const legend = await eventually(() => page.locator('.timeline .legend-entry').allTextContents(), (names) => names.includes('file'));
    check(legend.includes('file'), `waits for files are states of their own: ${legend.join(', ')}`);
    const [row] = await page.evaluate(() => window.attune.waits.timeline.shown.rows.filter(({ thread }) => thread).map(({ height }) => height));
    check(row > 40, `one thread uses the room that there is: its row is ${row} pixels high`);
    await page.context().close();
  } finally {
    await session.stop();
  }
}

async function former(url) {
  for (const name of ['threads', 'ranks']) {
    const page = await openWaits(browser, url, 'many_threads.c');
    // The page may write its own address over it before it has read it.
    const workspace = await eventually(() => page.evaluate((wanted) => {
      if (window.attune.waits.workspace !== 'timeline') location.hash = `w=${wanted}`;
      return window.attune.waits.workspace;
    }, name), (now) => now === 'timeline');
    check(workspace === 'timeline', `a link to ${name} leads to the timeline`);
    await page.context().close();
  }
}

async function phone(url) {
  // One finding has a line there, and that may be any.
  const page = await openWaits(browser, url, '', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await showWorkspace(page, 'Timeline');
  const wide = await page.evaluate(() => ({ page: document.scrollingElement.scrollWidth, plot: document.querySelector('.timeline .threads-over').getBoundingClientRect().width, rows: document.querySelector('.timeline .threads-scroller').clientHeight }));
  check(wide.page <= 390 && wide.plot > 200 && wide.rows > 150, `on a phone there is room for names, bars and rows: ${JSON.stringify(wide)}`);
  await page.context().close();
}

try {
  recordWhole(attune, file, () => execFileSync(attune, ['record', '--level', 'blame', '-o', file, '--', program, '4'], { stdio: 'ignore' }));
  const session = await Session.start(attune, 'view', file);
  try {
    const page = await open(session.url);
    await states(page);
    await findings(page);
    await tooltips(page);
    await page.context().close();
    await former(session.url);
    await phone(session.url);
    await files();
  } finally {
    await session.stop();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(process.exitCode ? 'failed' : 'passed');
