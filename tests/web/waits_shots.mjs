// node waits_shots.mjs BINARY_DIR FOLDER: the pictures of what 64 threads wait for, while they run and in their recording; made
// by ./dev screenshots. What is said of them is checked by waits_test.mjs.

import { execFileSync } from 'node:child_process';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { watchErrors } from './harness.mjs';
import { shoot, shotArguments, SIZE, takeShots } from './shots.mjs';
import { flameOf, holdOf, openPage, openWaits, showWorkspace, startThreads, waitOf, zoomIn } from './waits_page.mjs';

const { binaries, folder, attune } = shotArguments();
// By its name: the page's title is the command.
process.env.PATH = `${binaries}:${process.env.PATH}`;
const CAUSE = 'flush_table (many_threads.c';
/** Of the program's life, before the pictures of it are taken. */
const LEAST_NS = 12e9;

async function open(browser, url, colorScheme, viewport = SIZE) {
  const page = await openWaits(browser, url, CAUSE, { viewport, colorScheme });
  return watchErrors(page);
}

async function live(browser, file) {
  const session = await startThreads(attune, 'many_threads', 300, file);
  const page = await open(browser, session.url, 'dark');
  await page.waitForFunction((ns) => window.attune.model.extent.t1 - window.attune.model.extent.t0 > ns, LEAST_NS);
  await page.locator('.finding', { hasText: CAUSE }).first().click();
  await page.waitForFunction(() => document.querySelector('.finding-details'));
  await shoot(page, folder, 'waits-findings');
  await page.locator('.finding', { hasText: CAUSE }).first().click();
  await showWorkspace(page, 'Graph');
  await shoot(page, folder, 'waits-graph');
  await page.evaluate(() => window.attune.view.follow(10e9));
  await showWorkspace(page, 'Timeline');
  await shoot(page, folder, 'waits-threads');
  await page.setViewportSize({ ...SIZE, height: 560 });
  await showWorkspace(page, 'Flames');
  const place = await flameOf(page, 'take_job');
  await page.mouse.move(place.x, place.y);
  await shoot(page, folder, 'waits-flames');
  await page.context().close();
  await session.stop();
}

async function recorded(browser, file) {
  const session = await Session.start(attune, 'view', file);
  const page = await open(browser, session.url, 'light');
  await showWorkspace(page, 'Locks');
  await page.locator('.lock-columns section').nth(1).locator('.place-row', { hasText: 'flush_table' }).click();
  await page.waitForSelector('.source .line.current');
  await shoot(page, folder, 'waits-locks');
  await page.keyboard.press('Escape');
  await showWorkspace(page, 'Timeline');
  await zoomIn(page, 50e6);
  const at = await waitOf(page, 'worker');
  await page.mouse.move(at.x, at.y);
  await shoot(page, folder, 'waits-arrows');
  await page.context().close();
  await session.stop();
}

/** Who has which lock is in traces alone. */
async function traced(browser, file) {
  execFileSync(attune, ['record', '--level', 'stamped', '-o', file, '--', 'many_threads', '12'], { stdio: 'ignore' });
  const session = await Session.start(attune, 'view', file);
  const page = await open(browser, session.url, 'dark');
  await showWorkspace(page, 'Timeline');
  await zoomIn(page, 30e6);
  await page.evaluate(() => {
    const { rows } = window.attune.waits.timeline.shown;
    const flusher = rows.find((row) => row.thread && window.attune.model.elements.get(row.thread.id).name.startsWith('flusher'));
    document.querySelector('.threads-scroller').scrollTop = flusher.top - 160;
  });
  const at = await holdOf(page, 'flusher');
  await page.mouse.move(at.x, at.y);
  await shoot(page, folder, 'waits-holds');
  await page.context().close();
  await session.stop();
}

async function computing(browser, file) {
  execFileSync(attune, ['record', '--cpu-samples', '1ms', '-o', file, '--', 'solver', '6'], { stdio: 'ignore' });
  const session = await Session.start(attune, 'view', file);
  const page = await openPage(browser, session.url, { viewport: { ...SIZE, height: 560 }, colorScheme: 'light' });
  await showWorkspace(page, 'Flames');
  await page.getByRole('button', { name: 'Computing' }).click();
  await page.getByRole('button', { name: 'Each thread' }).click();
  await page.waitForFunction(() => window.attune.waits.documents.get('sites'));
  const place = await flameOf(page, 'relax');
  await page.mouse.move(place.x, place.y);
  await shoot(page, folder, 'flames-computing');
  await page.context().close();
  await session.stop();
}

await takeShots(async (browser, scratch) => {
  const file = path.join(scratch, 'many-threads.attune');
  await live(browser, file);
  await recorded(browser, file);
  await traced(browser, path.join(scratch, 'trace.attune'));
  await computing(browser, path.join(scratch, 'solver.attune'));
});
