// node compare_test.mjs ATTUNE MANY_THREADS: the comparison of two recordings on the page: the programs first, then what holds them back, what
// their threads waited for and the difference of their flame graphs; last the signals.

import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { browserOrSkip, check, checkAxe, checkSaving, launchBrowser, newContext, recordWhole, testFolder, watchErrors } from './harness.mjs';

browserOrSkip();
const [attune, program] = process.argv.slice(2);
const folder = testFolder('web-compare');
const [before, after] = ['before.attune', 'after.attune'].map((name) => path.join(folder, name));
const browser = await launchBrowser();

async function open(url, context = {}) {
  const page = watchErrors(await (await newContext(browser, context)).newPage());
  await page.goto(url);
  await page.waitForSelector('.compare-lead .compare-figure');
  return page;
}

const textsOf = (page, selector) => page.locator(selector).allTextContents();

async function whatComesFirst(page) {
  const order = await page.locator('.compare-body > :visible').evaluateAll((all) => all.map((one) => one.getAttribute('aria-label') ?? one.className));
  const wanted = ['The programs', 'What holds the programs back', 'What threads waited for', 'Difference of the flame graphs', 'Signals'];
  check(order.filter((name) => wanted.includes(name)).join() === wanted.join(), `the page leads from the programs to the signals: ${order.join(', ')}`);
  const figures = await textsOf(page, '.compare-figure span');
  check(figures[0] === 'wall time' && !figures.some((name) => /MPI|messages|efficiency/.test(name)), `wall time comes first, and nothing of MPI is compared: ${figures.join(', ')}`);
  const first = page.locator('.compare-figure').first();
  check((await first.locator('.change.good').count()) === 1 && /^−/.test(await first.locator('.change').textContent()), `a shorter run is good: ${await first.textContent()}`);
  const colors = await page.evaluate(() => [getComputedStyle(document.querySelector('.compare-figure .change.good')).color, (() => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = 'var(--good)';
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  })()]);
  check(colors[0] === colors[1], `and green: ${colors[0]}`);
}

async function whatChanged(page) {
  const findings = await textsOf(page, '[aria-label="What holds the programs back"] .compare-line:not(.head)');
  check(findings.some((line) => line.includes('flush_table (many_threads.c')), `findings of both runs: ${findings.join(' | ')}`);
  const waits = await textsOf(page, '[aria-label="What threads waited for"] .compare-line:not(.head)');
  check(waits.length > 2 && waits.length <= 8 && waits.some((line) => /mutex at add_result/.test(line)), `locks by their place: ${waits.slice(0, 3).join(' | ')}`);
  const tree = await page.evaluate(() => {
    const { shown } = window.attune.comparing.flames;
    return { kind: shown.kind, before: shown.tree.before, after: shown.tree.after };
  });
  const boxes = page.locator('.diff-box');
  check(tree.before > 0 && tree.after > 0 && (await boxes.count()) > 5, `the difference of the flame graphs has ${await boxes.count()} boxes of ${tree.kind}`);
  await page.getByRole('button', { name: 'Waiting' }).click();
  const box = page.locator('.diff-box', { hasText: 'add_result' }).first();
  await box.click();
  check((await page.locator('.diff-box').first().textContent()) === 'add_result' && (await page.getByRole('button', { name: 'Show all again' }).isVisible()), 'a click makes a box fill the width');
  await page.getByRole('button', { name: 'Show all again' }).click();
  check((await page.locator('.diff-box').first().textContent()) === 'all', 'and all is shown again');
}

async function phone(url) {
  const page = await open(url, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const wide = await page.evaluate(() => [document.scrollingElement.scrollWidth, ...[...document.querySelectorAll('.compare-body > :not(.compare-signals)')].map((one) => one.getBoundingClientRect().right)]);
  check(wide.every((right) => right <= 390.5), `on a phone nothing is wider than the screen: ${wide.map(Math.round).join(', ')}`);
  await page.context().close();
}

try {
  for (const [file, seconds] of [[before, '5'], [after, '3']]) {
    recordWhole(attune, file, () => execFileSync(attune, ['run', '-q', '--level', 'blame', '-i', '50ms', '--cpu-samples', '4ms', '-o', file, '--', program, seconds], { stdio: 'ignore' }));
  }
  const session = await Session.start(attune, 'view', before, after);
  try {
    const page = await open(session.url);
    await whatComesFirst(page);
    await whatChanged(page);
    await checkAxe(page, 'the comparison');
    await page.locator('.compare .table-row:not([hidden]):not(.head)').first().click();
    await page.waitForFunction(() => window.attune.comparing.chart.settled);
    await checkAxe(page, 'the comparison with a chart');
    await checkSaving(page, 'the comparison', '.compare-signals');
    await checkSaving(page, 'the difference of the flame graphs', '.compare-flames');
    await page.context().close();
    await phone(session.url);
  } finally {
    await session.stop();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(process.exitCode ? 'failed' : 'passed');
