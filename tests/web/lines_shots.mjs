// node lines_shots.mjs BINARY_DIR FOLDER: the pictures of the panes Hot lines (docs/profile.md) and Regions (docs/counters.md), made by
// ./dev screenshots: real runs of a program that touches pages, and of one that counts round its regions.

import { spawnSync } from 'node:child_process';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { check, watchErrors } from './harness.mjs';
import { shoot, shotArguments, SIZE, takeShots } from './shots.mjs';
import { openPage } from './waits_page.mjs';

const { binaries, folder, attune } = shotArguments();
const build = path.resolve(binaries, '..');
const SHOTS = [
  { name: 'hot-lines', tab: 'Hot lines', pane: '.lines-pane', options: ['--event-samples', 'page-faults:u=1,context-switches'], program: [path.join(build, 'tests/e2e/touch_pages'), '300', '300'], click: 'compute', height: 560 },
  { name: 'regions', tab: 'Regions', pane: '.regions-pane', options: [], program: [path.join(build, 'examples/example_regions'), '2', 'task-clock:u,page-faults:u'], height: 420 },
];

await takeShots(async (browser, scratch) => {
  for (const { name, tab, pane, options, program, click, height } of SHOTS) {
    const file = path.join(scratch, `${name}.attune`);
    const run = spawnSync(attune, ['run', '-q', '-o', file, ...options, '--', ...program], { stdio: 'ignore' });
    check(run.status === 0, `${name}: the program ran`);
    const session = await Session.start(attune, 'view', file);
    const page = watchErrors(await openPage(browser, session.url, { viewport: { ...SIZE, height }, colorScheme: 'light' }));
    await page.getByRole('tab', { name: tab, exact: true }).click();
    const rows = page.locator(`${pane} .table-rows .table-row:not([hidden])`);
    await rows.nth(1).waitFor();
    if (click) {
      await rows.filter({ hasText: click }).first().click();
      await page.locator('.source .line.head').waitFor();
    }
    await shoot(page, folder, name);
    await page.context().close();
    await session.stop();
  }
});
