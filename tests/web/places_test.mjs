// node places_test.mjs ATTUNE MANY_THREADS: on a recording, what is on screen stays where it is and follows the range.

import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { browserOrSkip, check, drawn, eventually, launchBrowser, newContext, recordWhole, testFolder, watchErrors } from './harness.mjs';

browserOrSkip();
const [, , attune, program] = process.argv;
const folder = testFolder('web-places');
const recording = path.join(folder, 'many.attune');
const browser = await launchBrowser();

const tab = (page, name) => page.getByRole('tab', { name, exact: true });

/** What says of the time on screen, and of what is in it. */
const told = (page) => page.evaluate(() => {
  const text = (selector) => document.querySelector(selector)?.textContent ?? '';
  const window_ = document.querySelector('.navigator-window');
  return { range: text('.range-text'), navigator: window_.style.transform + window_.style.width, values: [...document.querySelectorAll('.drawer .table-row:not(.head)')].map((row) => row.textContent).join(), strip: [...document.querySelectorAll('.strip-cell canvas')].map((canvas) => canvas.toDataURL()).join(), all: window.attune.view.range };
});

/** Lines of a busy machine may be the same at any time: with this, a strip that is drawn again differs from the one before. */
const stainStrip = (page) => page.evaluate(() => document.querySelectorAll('.strip-cell canvas').forEach((canvas) => canvas.getContext('2d').fillRect(0, 0, 3, 3)));

/** After the act all of them are of the new range. */
async function follows(page, what, act, wanted) {
  await stainStrip(page);
  const before = await told(page);
  await act();
  const after = await eventually(() => told(page), (now) => ['range', 'navigator', 'values', 'strip'].every((one) => now[one] !== before[one]));
  check(['range', 'navigator', 'values', 'strip'].every((one) => after[one] !== before[one]), `${what}: range, navigator, values and strip follow: ${after.range}`);
  const extent = await page.evaluate(() => window.attune.model.extent);
  check(wanted(after.all, extent), `${what}: what is on screen is ${JSON.stringify(after.all)} of ${JSON.stringify(extent)}`);
}

async function recordingRange(page) {
  const { t0, t1 } = await page.evaluate(() => window.attune.model.extent);
  const zoomIn = () => page.evaluate(([from, to]) => window.attune.show({ t0: from, t1: to }), [t0 + 1e9, t0 + 1.5e9]);
  await follows(page, 'a zoom', zoomIn, (range) => Math.round(range.t1 - range.t0) === 5e8);
  await follows(page, 'End', () => page.keyboard.press('End'), (range, extent) => range.t1 === extent.t1 && Math.round(range.t1 - range.t0) === 5e8);
  await tab(page, 'Flames').click();
  const flames = await eventually(() => page.evaluate(() => window.attune.waits.flames.shown.range), (range) => range !== null && range.t1 === Math.round(t1));
  check(flames?.t1 === Math.round(t1) && flames.t1 - flames.t0 === 5e8, `the flame graph is of the part at the end: ${JSON.stringify(flames)}`);
  await tab(page, 'Charts').click();
  await follows(page, '30 min', () => page.getByRole('button', { name: '30 min' }).click(), (range, extent) => range.t0 <= extent.t0 && range.t1 >= extent.t1);
}

async function tabsStay(page) {
  for (const width of [1440, 1280, 1024, 390]) {
    await page.setViewportSize({ width, height: 800 });
    const lefts = new Set();
    for (const name of ['Charts', 'Locks', 'Timeline', 'Flames', 'Charts']) {
      await tab(page, name).click();
      lefts.add(await page.locator('.workspaces').evaluate((tabs) => { tabs.parentElement.scrollLeft = 0; const box = tabs.getBoundingClientRect(); return `${box.left},${box.top}`; }));
    }
    await page.keyboard.press('s');
    lefts.add(await page.locator('.workspaces').evaluate((tabs) => { const box = tabs.getBoundingClientRect(); return `${box.left},${box.top}`; }));
    await page.keyboard.press('s');
    check(lefts.size === 1, `at ${width} pixels the tabs stay where they are: ${[...lefts].join(' ')}`);
    const cut = await page.locator('.range-bar .grouping:visible select').evaluateAll((selects) => selects.filter((select) => select.getBoundingClientRect().right > innerWidth).length);
    check(width < 900 || cut === 0, `at ${width} pixels no choice is cut at the edge`);
  }
}

/** What does not fit is not cut at an edge, whatever is shown. */
async function nothingIsCut(page) {
  for (const [width, height] of [[1440, 900], [1280, 720], [1024, 768]]) {
    await page.setViewportSize({ width, height });
    const cut = [];
    for (const name of await page.locator('.workspaces [role=tab]').allTextContents()) {
      await tab(page, name).click();
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      cut.push(...await page.evaluate((workspace) => {
        const isSeen = (one) => one.getClientRects().length > 0;
        const bars = [...document.querySelectorAll('.bar, .workspace-bar, .range-bar, .verdict-line, .waits-bar, .drawer-tabs')].filter(isSeen).filter((bar) => bar.scrollWidth > bar.clientWidth + 1).map((bar) => bar.className);
        const controls = [...document.querySelectorAll('button, select, input, [role=tab]')].filter(isSeen).filter((one) => {
          // Rows and the tree scroll, and a chart's controls come with the pointer.
          if (one.closest('.tree, .table, .strip, .chart, .charts, .threads-scroller, .source, .counters-aside')) return false;
          const { left, right } = one.getBoundingClientRect();
          return right > innerWidth + 0.5 || left < -0.5;
        });
        return [...bars, ...controls.map((one) => one.getAttribute('aria-label') ?? one.textContent)].map((what) => `${workspace}: ${what}`);
      }, name));
    }
    check(cut.length === 0, `at ${width} x ${height} nothing is cut: ${cut.join('; ')}`);
  }
  await tab(page, 'Charts').click();
}

async function compared(page) {
  await page.waitForSelector('.compare .empty:not([hidden]), .compare .verdict');
  const colours = await page.evaluate(() => {
    const colourOf = (className) => {
      const badge = document.createElement('em');
      badge.className = className;
      document.querySelector('.compare').append(badge);
      const { color } = getComputedStyle(badge);
      badge.remove();
      return color;
    };
    return [colourOf('verdict higher'), colourOf('verdict lower')];
  });
  check(colours[0] === colours[1], `neither higher nor lower is called better: ${colours.join(', ')}`);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('.compare'));
  await page.evaluate(() => window.attune.show({ t0: window.attune.model.extent.t0 + 5e8, t1: window.attune.model.extent.t0 + 9e8 }));
  const ranges = () => page.evaluate(() => [...new Set(window.attune.charts.filter((chart) => chart.onScreen).map(({ plot }) => `${plot.scales.x.min} ${plot.scales.x.max}`))]);
  const { t0, t1 } = await page.evaluate(() => window.attune.view.range);
  const found = await eventually(ranges, (all) => all.length === 1 && all[0] === `${t0} ${t1}`);
  check(found.length === 1 && found[0] === `${t0} ${t1}`, `after a comparison all charts have one grid of time: ${found.join(', ')}`);
}

try {
  recordWhole(attune, recording, () => execFileSync(attune, ['run', '-q', '-s', 'cpu,vmstat,memory', '-i', '20ms', '--cpu-samples', '4ms', '-o', recording, '--', program, '4']));
  for (const [files, tests] of [[[recording], [recordingRange, tabsStay, nothingIsCut]], [[recording, recording], [compared]]]) {
    const view = await Session.start(attune, 'view', ...files);
    try {
      const page = watchErrors(await (await newContext(browser)).newPage());
      await page.goto(view.url);
      await drawn(page);
      await page.waitForFunction(() => window.attune.waits !== null);
      for (const test of tests) await test(page);
    } finally {
      await view.stop();
    }
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
console.log(process.exitCode ? 'failed' : 'passed');
