// node workspaces_shots.mjs BINARY_DIR FOLDER [WORKSPACE]: each workspace of the page, or this one, in three sizes and both themes, for docs/workspaces.md; made by
// ./dev screenshots, from recordings of real runs. A picture is on a palette of 96 colours: there are many.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { watchErrors } from './harness.mjs';
import { allowRoot, recordJob } from './messages_page.mjs';
import { shotArguments, takeShots } from './shots.mjs';
import { openPage } from './waits_page.mjs';

const { binaries, folder: images, attune, only } = shotArguments('WORKSPACE');
const folder = path.join(images, 'workspaces');
const build = path.resolve(binaries, '..');
const SIZES = [[1440, 900], [1280, 720], [390, 844]];
const THEMES = ['light', 'dark'];
const COLOURS = 96;
process.env.PATH = `${binaries}:${path.join(build, 'tests/web')}:${path.join(build, 'tests/e2e')}:${path.join(build, 'examples')}:${process.env.PATH}`;
allowRoot();

/** One run of the console, which all of its pictures show. */
let hasRun = false;

/** Views that are opened by something else than a tab. */
const OPENED = {
  Source: async (page) => {
    await page.locator('.workspaces').getByRole('tab', { name: 'Locks', exact: true }).click();
    await page.locator('.locks .table-rows .table-row').first().click();
    await page.locator('.place-row').first().click();
    await page.locator('.source .line.current').waitFor();
  },
  Machine: async (page) => {
    await page.keyboard.press('Escape');
    await page.keyboard.press('m');
    await page.locator('.machine-panel').waitFor();
  },
  Comparison: (page) => page.locator('.compare-lead .compare-figure').first().waitFor(),
  Console: async (page) => {
    await page.getByRole('button', { name: 'Console: run programs (C)' }).click();
    await page.getByLabel('Program', { exact: true }).waitFor();
    if (!hasRun) {
      hasRun = true;
      await page.getByLabel('Program', { exact: true }).fill('ls');
      await page.getByLabel('Arguments', { exact: true }).fill('-l /usr');
      await page.getByRole('button', { name: 'Run', exact: true }).click();
    }
    await page.waitForFunction(() => document.querySelector('.run .run-state')?.textContent === 'ended');
    await page.locator('.run').getByRole('button', { name: 'Output', exact: true }).click();
    await page.waitForFunction(() => document.querySelector('.console-text').textContent.includes('share'));
  },
};

const threads = (seconds) => (file) => record(file, ['--cpu-samples', '4ms', '--count', 'task-clock,context-switches,page-faults'], ['many_threads', seconds]);

/** Recordings of each page, and its workspaces: each has something there. */
const PAGES = [
  { of: [threads('6')], workspaces: ['Charts', 'Timeline', 'Flames', 'Locks', 'Graph', 'Counters', 'Source', 'Machine'] },
  { of: [threads('6'), threads('3')], workspaces: ['Comparison'] },
  { of: [(file) => recordJob(attune, 'mpi_job', 4, 500, file, 500, 1000)], workspaces: ['Messages'] },
  { of: [(file) => record(file, ['--event-samples', 'page-faults:u=1,context-switches'], ['touch_pages', '300', '300'])], workspaces: ['Hot lines'] },
  { of: [(file) => record(file, [], ['example_regions', '2', 'task-clock:u,page-faults:u'])], workspaces: ['Regions'] },
  { of: [(file) => record(file, [], ['p2g_kmeans', '20000', '100', '100', '2'])], workspaces: ['Kernels'] },
  { of: [(file) => spawnSync(attune, ['tune', '-q', '-o', file, '--', 'crowd', '30'], { stdio: 'ignore' })], workspaces: ['Tuning'] },
  { of: [], workspaces: ['Console'] },
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

async function open(page, workspace) {
  if (OPENED[workspace]) return OPENED[workspace](page);
  return page.locator('.workspaces').getByRole('tab', { name: workspace, exact: true }).click();
}

await takeShots(async (browser, scratch) => {
  mkdirSync(folder, { recursive: true });
  for (const { of, workspaces } of PAGES.filter((page) => !only || page.workspaces.includes(only))) {
    const files = of.map((make, i) => {
      const file = path.join(scratch, `run${i + 1}.attune`);
      make(file);
      return file;
    });
    const session = await Session.start(attune, ...(files.length > 0 ? ['view', ...files] : ['live', '-s', 'cpu', '--allow-run', '--runs', path.join(scratch, 'runs')]));
    for (const size of SIZES) {
      for (const colorScheme of THEMES) {
        const page = watchErrors(await openPage(browser, session.url, { viewport: { width: size[0], height: size[1] }, colorScheme }));
        await page.waitForFunction(() => window.attune?.model?.series?.size > 0);
        for (const workspace of workspaces) {
          await open(page, workspace);
          await settled(page, workspace);
          await shoot(page, workspace.toLowerCase().replaceAll(' ', '-'), size, colorScheme);
        }
        await page.context().close();
      }
    }
    await session.stop();
    for (const file of files) rmSync(file, { force: true });
  }
});
