// node messages_shots.mjs BINARY_DIR FOLDER: the pictures of how ranks talk, while they run and in recordings; made by ./dev
// screenshots. What is said of them is checked by messages_test.mjs.

import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { watchErrors } from './harness.mjs';
import { allowRoot, openMessages, pointOnRanks, ranksSettled, recordJob, showMessages, startJob, zoomRanks } from './messages_page.mjs';
import { shoot, shotArguments, SIZE, takeShots } from './shots.mjs';

const { binaries, folder, attune } = shotArguments();
// By their names: the page's title is the command.
process.env.PATH = `${binaries}:${path.resolve(binaries, '../tests/web')}:${process.env.PATH}`;
allowRoot();
/** Of the job's life, before the pictures of it are taken. */
const LEAST_NS = 8e9;

async function open(browser, url, ranks, colorScheme, viewport = SIZE) {
  const page = await openMessages(browser, url, ranks, { viewport, colorScheme });
  return watchErrors(page);
}

async function live(browser, file) {
  const session = await startJob(attune, 'mpi_job', 16, 300, file);
  const page = await open(browser, session.url, 16, 'dark');
  await page.waitForFunction((ns) => window.attune.model.extent.t1 - window.attune.model.extent.t0 > ns, LEAST_NS);
  await page.locator('.task-edge[aria-label^="rank 0 → rank 1"] .task-hit').dispatchEvent('click');
  await shoot(page, folder, 'messages-graph');
  await page.keyboard.press('Escape');
  await page.getByLabel('Layout of the task graph').selectOption('machine');
  await page.waitForFunction(() => document.querySelectorAll('.machine-box').length > 0);
  await shoot(page, folder, 'messages-machine');
  await page.context().close();
  await session.stop();
}

async function few(browser, file) {
  recordJob(attune, 'mpi_job', 4, 500, file, 500, 1000);
  const session = await Session.start(attune, 'view', file);
  const page = await open(browser, session.url, 4, 'light', { ...SIZE, height: 640 });
  await page.getByRole('tab', { name: 'Timeline', exact: true }).click();
  await zoomRanks(page, 6);
  const at = await pointOnRanks(page, 'arrow');
  await page.mouse.move(at.x, at.y);
  await shoot(page, folder, 'ranks-arrows');
  await page.context().close();
  await session.stop();
}

async function many(browser, file) {
  recordJob(attune, 'mpi_job', 64, 60, file, 20000, 5000);
  const session = await Session.start(attune, 'view', file);
  const page = await open(browser, session.url, 64, 'light');
  await showMessages(page, 'Matrix');
  await page.waitForFunction(() => window.attune.waits.messages.matrix.shown.matrix?.ranks.length === 64);
  await shoot(page, folder, 'messages-matrix');
  await page.getByRole('tab', { name: 'Timeline', exact: true }).click();
  await page.evaluate(() => window.attune.show({ t0: window.attune.model.extent.t0, t1: window.attune.model.extent.t1 }));
  await ranksSettled(page);
  await shoot(page, folder, 'ranks-all');
  await page.context().close();
  await session.stop();
}

await takeShots(async (browser, scratch) => {
  await live(browser, path.join(scratch, 'live.attune'));
  await few(browser, path.join(scratch, 'few.attune'));
  await many(browser, path.join(scratch, 'many.attune'));
});
