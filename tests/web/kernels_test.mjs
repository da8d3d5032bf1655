// node kernels_test.mjs ATTUNE KMEANS: the graph of a dataflow program's kernels, with the figures of the report; while it runs and after; on a phone.

import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { browserOrSkip, check, checkAxe, checkSaving, drawn, launchBrowser, newContext, recordWhole, testFolder, watchErrors } from './harness.mjs';

browserOrSkip();
const [attune, kmeans] = process.argv.slice(2);
const folder = testFolder('web-kernels');
const browser = await launchBrowser();
const NODES = '.kernels-canvas rect';

async function open(url, options = {}) {
  const page = watchErrors(await (await newContext(browser, options)).newPage());
  await page.goto(url);
  await drawn(page);
  await page.waitForFunction(() => window.attune.waits !== null);
  await page.locator('.workspaces').getByRole('tab', { name: 'Kernels', exact: true }).click();
  await page.waitForSelector(NODES);
  return page;
}

async function graph(page, report) {
  const texts = await page.locator('.kernels-canvas text.name').allTextContents();
  check(texts.sort().join() === report.kernels.map(({ kernel }) => kernel).sort().join(), `the graph has the kernels ${texts.join(', ')}`);
  const fields = await page.locator('.kernels-canvas text.field-name').allTextContents();
  check(fields.sort().join() === 'centres,distances,points', `and the fields ${fields.join(', ')}`);
  check((await page.locator('.kernels-canvas .edge').count()) === report.data.length, `and an edge for each of ${report.data.length} fetches and stores`);
  const boxes = await page.locator(NODES).evaluateAll((all) => all.map((one) => one.getBBox()).map(({ x, y, width, height }) => [x, y, x + width, y + height]));
  const overlap = boxes.some(([a, b, c, d], i) => boxes.some(([e, f, g, h], j) => i < j && a < g && e < c && b < h && f < d));
  check(!overlap, 'none stands on another one');
  const first = await page.locator('.kernels .table-row:not(.head):not([hidden])').first().locator('span').first().textContent();
  check(first === report.kernels[0].kernel, `the first row has the most time: ${first}`);
  const { forecast } = report;
  const bound = forecast.halved[0].kernel;
  check(forecast.fits && bound === 'refine', `the model of the run fits (${forecast.modelled_ns} of ${forecast.measured_ns} ns), and ${bound} bounds it`);
  const forecastShown = await page.locator('.kernels-forecast').textContent();
  check(forecastShown.startsWith('2 threads without work for ') && forecastShown.includes(`bound by ${bound}: run −`), `it says so: ${forecastShown}`);
  check((await page.locator('.kernels-canvas .bounds').count()) === 1, 'and marks that kernel');
  await page.locator('.kernels .segments').getByRole('button', { name: 'Kernels alone' }).click();
  await page.waitForFunction((selector) => document.querySelectorAll(selector).length === 4, NODES);
  const titles = await page.locator('.kernels-canvas .edge title').allTextContents();
  check(titles.some((text) => text.startsWith('kernel assign → kernel refine: ')), `kernels alone hand to each other: ${titles.join(' | ')}`);
}

async function phone(url) {
  const page = await open(url, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: process.env.ATTUNE_BROWSER !== 'firefox' });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  check(wide <= 390, `on a phone nothing is wider than the screen: ${wide}`);
  await page.context().close();
}

/** @return the instances of the kernel, in the table */
const instancesOf = (page, name) => page.evaluate((kernel) => window.attune.waits.documents.get('work').kernels.find((one) => one.kernel === kernel).instances, name);

try {
  const file = path.join(folder, 'kmeans.attune');
  recordWhole(attune, file, () => execFileSync(attune, ['run', '-q', '-o', file, '--', kmeans, '20000', '100', '40', '2'], { stdio: 'ignore' }));
  const report = JSON.parse(execFileSync(attune, ['report', '--json', file], { maxBuffer: 1 << 28 })).work;
  const session = await Session.start(attune, 'view', file);
  try {
    const page = await open(session.url);
    await graph(page, report);
    await checkAxe(page, 'the graph of kernels');
    await checkSaving(page, 'the graph of kernels', '.kernels');
    await page.context().close();
    await phone(session.url);
  } finally {
    await session.stop();
  }
  const live = await Session.start(attune, 'live', '--', kmeans, '20000', '100', '400', '2');
  try {
    const page = await open(live.url);
    const before = await instancesOf(page, 'refine');
    await page.waitForFunction((least) => window.attune.waits.documents.get('work').kernels.find(({ kernel }) => kernel === 'refine').instances > least, before, { timeout: 60_000 });
    check(true, `while it runs, instances of refine grow from ${before} to ${await instancesOf(page, 'refine')}`);
    await page.context().close();
  } finally {
    await live.stop();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
