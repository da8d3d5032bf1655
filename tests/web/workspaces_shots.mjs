// node workspaces_shots.mjs BINARY_DIR FOLDER: each workspace of the page in three sizes and both themes, for docs/workspaces.md; made by
// ./dev screenshots, from recordings of real runs. A picture is on a palette of 96 colours: there are many.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { check, watchErrors } from './harness.mjs';
import { allowRoot, recordJob } from './messages_page.mjs';
import { shotArguments, takeShots } from './shots.mjs';
import { openPage } from './waits_page.mjs';

const { binaries, folder: images, attune } = shotArguments();
const folder = path.join(images, 'workspaces');
const build = path.resolve(binaries, '..');
const SIZES = [[1440, 900], [1280, 720], [390, 844]];
const THEMES = ['light', 'dark'];
const COLOURS = 96;
process.env.PATH = `${binaries}:${path.join(build, 'tests/web')}:${path.join(build, 'tests/e2e')}:${path.join(build, 'examples')}:${process.env.PATH}`;
allowRoot();

/** Recordings, and their workspaces that are shown: each has something there. */
const RECORDINGS = [
  {
    name: 'threads', make: (file) => record(file, ['--cpu-samples', '4ms', '--count', 'task-clock,context-switches,page-faults'], ['many_threads', '6']),
    workspaces: ['Charts', 'Timeline', 'Flames', 'Locks', 'Graph', 'Counters'],
  },
  { name: 'job', make: (file) => recordJob(attune, 'mpi_job', 4, 500, file, 500, 1000), workspaces: ['Messages'] },
  { name: 'lines', make: (file) => record(file, ['--event-samples', 'page-faults:u=1,context-switches'], ['touch_pages', '300', '300']), workspaces: ['Hot lines'] },
  { name: 'regions', make: (file) => record(file, [], ['example_regions', '2', 'task-clock:u,page-faults:u']), workspaces: ['Regions'] },
  { name: 'tuned', make: (file) => spawnSync(attune, ['tune', '-q', '-o', file, '--', 'crowd', '30'], { stdio: 'ignore' }), workspaces: ['Tuning'] },
];

function record(file, options, program) {
  execFileSync(attune, ['run', '-q', '-o', file, ...options, '--', ...program], { stdio: 'ignore' });
}

/** Waits until what the workspace shows is there. */
async function settled(page, workspace) {
  if (workspace === 'Timeline') await page.waitForFunction(() => window.attune.waits?.timeline.settled);
  if (workspace === 'Charts') await page.waitForFunction(() => !window.attune.view.needsRequest() && window.attune.lastDrawnView === window.attune.lastRequestedView);
  await page.waitForFunction(() => !document.body.innerText.includes('Being computed'));
}

async function shoot(page, name, [width, height], theme) {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const file = path.join(folder, `${name}-${width}-${theme}.png`);
  writeFileSync(file, await page.screenshot());
  execFileSync('gm', ['convert', file, '-colors', String(COLOURS), '+dither', file]);
}

await takeShots(async (browser, scratch) => {
  mkdirSync(folder, { recursive: true });
  for (const { name, make, workspaces } of RECORDINGS) {
    const file = path.join(scratch, `${name}.attune`);
    make(file);
    const session = await Session.start(attune, 'view', file);
    for (const size of SIZES) {
      for (const colorScheme of THEMES) {
        const page = watchErrors(await openPage(browser, session.url, { viewport: { width: size[0], height: size[1] }, colorScheme }));
        await page.waitForFunction(() => window.attune?.model?.series?.size > 0);
        for (const workspace of workspaces) {
          const tab = page.locator('.workspaces').getByRole('tab', { name: workspace, exact: true });
          if ((await tab.count()) === 0) {
            check(false, `${name}: there is a workspace ${workspace}`);
            continue;
          }
          await tab.click();
          await settled(page, workspace);
          await shoot(page, workspace.toLowerCase().replaceAll(' ', '-'), size, colorScheme);
        }
        await page.context().close();
      }
    }
    await session.stop();
  }
});
