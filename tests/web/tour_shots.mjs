// node tour_shots.mjs BINARY_DIR FOLDER: the five pictures of docs/tour.md, and the texts that its commands print; made by ./dev screenshots
// from the recordings that the page's own commands make (tools/run_page.py). What the page says of each picture is checked.

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Session } from '../../bench/page/session.mjs';
import { check, newContext, watchErrors } from './harness.mjs';
import { shoot, shotArguments, takeShots } from './shots.mjs';
import { findingShown, flameOf, openPage, showWorkspace, waitOf, zoomIn } from './waits_page.mjs';

const { binaries, folder, attune } = shotArguments();
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const CONTEXT = { viewport: { width: 1280, height: 720 }, colorScheme: 'light' };
const CAUSE = 'words.cpp:';
const FUNCTION = 'count';
const MENDED = '5. Mend it';

async function firstScreen(browser, url) {
  const page = watchErrors(await openPage(browser, url, CONTEXT));
  await findingShown(page, CAUSE);
  const first = await page.locator('.finding').first().textContent();
  check(/lock-(contention|convoy)/.test(first) && first.includes(CAUSE), `tour-page: the lock comes first: ${first}`);
  await page.locator('.finding', { hasText: CAUSE }).first().click();
  await page.locator('.finding-details').waitFor();
  await shoot(page, folder, 'tour-page');
  return page;
}

async function timeline(page) {
  await page.locator('.finding', { hasText: CAUSE }).first().click();
  await showWorkspace(page, 'Timeline');
  let at = null;
  // Nobody waits for the lock while somebody else has one of the CPUs.
  for (const share of [0.5, 0.6, 0.4, 0.7, 0.3, 0.8, 0.2]) {
    await zoomIn(page, 2e6, share);
    at = await waitOf(page, '', 0.5);
    if (at) break;
  }
  check(at !== null, 'tour-timeline: a thread waits in the part that is shown');
  await page.mouse.move(at.x, at.y);
  await shoot(page, folder, 'tour-timeline');
}

async function source(page) {
  await showWorkspace(page, 'Locks');
  await page.locator('.place-row', { hasText: FUNCTION }).first().click();
  await page.locator('.source .line.current').waitFor();
  check((await page.locator('.source .line.current').textContent()).includes('guard'), 'tour-source: it is the line that takes the lock');
  await shoot(page, folder, 'tour-source');
  await page.keyboard.press('Escape');
}

async function flames(page) {
  await page.evaluate(() => window.attune.show({ ...window.attune.model.extent }));
  await showWorkspace(page, 'Flames');
  await page.getByRole('button', { name: 'Computing' }).click();
  await page.waitForFunction(() => window.attune.waits.flames.shown.kind === 'computing' && window.attune.waits.documents.get('sites'));
  // Those of the two milliseconds before are gone.
  await page.waitForFunction(() => /on a CPU/.test(document.querySelector('.flames').textContent) && !/ in the [\d.]+ \w+ in view/.test(document.querySelector('.flames').textContent));
  await flameOf(page, FUNCTION);
  await page.mouse.move(0, 0);
  await shoot(page, folder, 'tour-flames');
  await page.context().close();
}

async function comparison(browser, url) {
  const page = watchErrors(await (await newContext(browser, CONTEXT)).newPage());
  await page.goto(url);
  await page.waitForSelector('.compare-lead .compare-figure');
  check((await page.locator('.compare-figure').first().locator('.change.good').count()) === 1, 'tour-compare: the run is shorter');
  await shoot(page, folder, 'tour-compare');
  await page.context().close();
}

await takeShots(async (browser, scratch) => {
  const work = path.join(scratch, 'tour');
  const env = { ...process.env, PATH: `${binaries}:${process.env.PATH}` };
  const play = (...part) => {
    const played = spawnSync(path.join(root, 'tools/run_page.py'), [path.join(root, 'docs/tour.md'), work, '--write', ...part], { env, stdio: 'inherit' });
    check(played.status === 0, `tour: the commands of the page, ${part.join(' ')}`);
  };
  // The source is that of the program that ran, until it is mended.
  play('--until', MENDED);
  const [before, after] = ['before.attune', 'after.attune'].map((name) => path.join(work, name));
  const session = await Session.start(attune, 'view', before);
  const page = await firstScreen(browser, session.url);
  await timeline(page);
  await source(page);
  await flames(page);
  await session.stop();
  play('--from', MENDED);
  const both = await Session.start(attune, 'view', before, after);
  await comparison(browser, both.url);
  await both.stop();
});
