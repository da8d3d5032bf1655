// node tuning_shots.mjs BINARY_DIR FOLDER: the picture of docs/tuning.md, made by ./dev screenshots: a real run of a program whose
// teams of threads are too wide.

import { spawnSync } from 'node:child_process';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { check, watchErrors } from './harness.mjs';
import { shoot, shotArguments, SIZE, takeShots } from './shots.mjs';
import { openPage } from './waits_page.mjs';

const { binaries, folder, attune } = shotArguments();
const CROWD = path.resolve(binaries, '../tests/e2e/crowd');
const SECONDS = 30;

/** In the page: the objective alone, over the whole run. */
function showObjective() {
  const { attune: app } = window;
  app.selected.clear();
  for (const series of app.model.series.values()) {
    if (series.sensor === 'tuning') app.selected.add(series.id);
  }
  app.selectionChanged();
  app.picker.render();
  app.show({ t0: app.model.extent.t0, t1: app.model.extent.t1 });
}

await takeShots(async (browser, scratch) => {
  const file = path.join(scratch, 'tuned.attune');
  const run = spawnSync(attune, ['tune', '-q', '-o', file, '--', CROWD, String(SECONDS)], { stdio: 'ignore' });
  check(run.status === 0, 'tuning: the program ends as without attune');
  const session = await Session.start(attune, 'view', file);
  const page = watchErrors(await openPage(browser, session.url, { viewport: { ...SIZE, height: 520 }, colorScheme: 'light' }));
  await page.waitForFunction(() => window.attune?.model?.series?.size > 0);
  await page.evaluate(showObjective);
  await page.getByRole('tab', { name: 'Tuning', exact: true }).click();
  await page.waitForSelector('.tuning tr.kept');
  await page.waitForFunction(() => {
    const { attune: app } = window;
    return app.charts.length === 1 && !app.view.needsRequest() && app.lastDrawnView === app.lastRequestedView;
  });
  check(/openmp\.team/.test(await page.locator('.tuning tr.kept').first().textContent()), 'tuning: the width of teams is kept');
  await shoot(page, folder, 'tuning');
  await page.setViewportSize({ ...SIZE, height: 640 });
  await page.getByRole('tab', { name: 'Charts', exact: true }).click();
  await page.waitForFunction(() => window.attune.lastDrawnView === window.attune.lastRequestedView);
  await shoot(page, folder, 'tuning-objective');
  await page.context().close();
  await session.stop();
});
