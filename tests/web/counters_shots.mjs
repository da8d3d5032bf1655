// node counters_shots.mjs BINARY_DIR FOLDER: the pictures of docs/counters.md: a real program's events in the pane Counters, counted by the
// processor of the emulated machine and by the kernel here. Without that machine (tools/count_lbzip2.sh says why) the pictures stay.

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Session } from '../../bench/page/session.mjs';
import { check, watchErrors } from './harness.mjs';
import { shoot, shotArguments, SIZE, takeShots } from './shots.mjs';
import { openPage } from './waits_page.mjs';

const { folder, attune } = shotArguments();
const UNAVAILABLE = 3;
const SHOTS = [['emulated', 'counters-processor', 'instructions:u / cycles:u'], ['here', 'counters-kernel', 'page-faults / task-clock * 1e9']];
const tools = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../tools');

async function shootCounters(browser, file, name, formula) {
  const session = await Session.start(attune, 'view', file);
  const page = watchErrors(await openPage(browser, session.url, { viewport: { ...SIZE, height: 580 }, colorScheme: 'light' }));
  await page.waitForFunction(() => window.attune?.model?.series?.size > 0);
  await page.getByRole('tab', { name: 'Counters', exact: true }).click();
  await page.locator('.threads-pane .counters-main .table-row:not(.head)').first().waitFor();
  await page.locator('.threads-pane').getByLabel('Formula', { exact: true }).fill(formula);
  await page.locator('.threads-pane').getByRole('button', { name: 'Add a column' }).click();
  await page.locator('.threads-pane .counters-main .table-row.head').getByText(formula, { exact: false }).waitFor();
  await shoot(page, folder, name);
  await page.context().close();
  await session.stop();
}

await takeShots(async (browser, scratch) => {
  const run = spawnSync(path.join(tools, 'count_lbzip2.sh'), [scratch], { stdio: ['ignore', 'ignore', 'inherit'] });
  if (run.status === UNAVAILABLE) return;
  check(run.status === 0, 'counters: lbzip2 is counted in the emulated machine and here');
  for (const [recording, name, formula] of SHOTS) await shootCounters(browser, path.join(scratch, `${recording}.attune`), name, formula);
});
