// node screenshots.mjs BINARY_DIR FOLDER: the pictures of docs/live.md. The interconnect is the simulated one of
// tests/interconnect, recorded by attune.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Session } from '../../bench/page/session.mjs';
import { CONTEXT, DemoServer, drawn, launchBrowser } from './harness.mjs';

const [, , binaries, folder] = process.argv;
const description = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../catalog/declared/numaconnect2.toml');
const WAIT = 'siu_rmpe_request_wait_cycles';

/** @param prepare runs in the page @param at where the pointer rests over the first chart, as shares of it */
async function shoot(browser, url, name, { colorScheme = 'dark', height = 900, prepare = () => {}, argument = null, at = [0.62, 0.4] }) {
  const page = await (await browser.newContext({ ...CONTEXT, viewport: { width: 1440, height }, colorScheme })).newPage();
  await page.goto(url);
  await drawn(page, 1);
  await page.evaluate(prepare, argument);
  await page.waitForFunction(() => {
    const { attune } = window;
    return attune.charts.length > 0 && !attune.view.needsRequest() && attune.lastDrawnView === attune.lastRequestedView;
  });
  const box = await page.locator('.u-over').first().boundingBox();
  await page.mouse.move(box.x + box.width * at[0], box.y + box.height * at[1]);
  await page.waitForFunction(() => [...document.querySelectorAll('.legend-entry .value')].every((value) => value.textContent !== '–'));
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
  await page.context().close();
}

async function demo(browser) {
  const server = await DemoServer.start(path.join(binaries, 'live_demo_server'), '--hz', '100', '--history', '180');
  await shoot(browser, server.url, 'live-dark', {});
  await shoot(browser, server.url, 'live-light', { colorScheme: 'light', prepare: () => window.attune.showAll() });
  await server.stop();
  const large = await DemoServer.start(path.join(binaries, 'live_demo_server'), '--hz', '20', '--history', '90', '--cpus', '512', '--boards', '6');
  await shoot(browser, large.url, 'heat', {
    height: 620,
    prepare: () => {
      const { attune } = window;
      attune.selected.clear();
      for (const series of attune.model.series.values()) if (series.sensor === 'cpu' && series.signal === 'user') attune.selected.add(series.id);
      attune.drawer.toggleOpen();
      attune.selectionChanged();
      attune.picker.render();
    },
  });
  await large.stop();
}

/** In the page: one signal in percent of what there can be, its lines as given. */
function showWaits([signal, lines]) {
  const { attune } = window;
  const series = [...attune.model.series.values()].filter((one) => one.signal === signal);
  attune.selected.clear();
  for (const { id } of series) attune.selected.add(id);
  attune.settings.options.set(`${series[0].sensor}.${signal}`, { style: null, percent: true, rate: false });
  attune.settings.lines = lines;
  attune.drawer.toggleOpen();
  attune.selectionChanged();
  attune.picker.render();
}

/** The paper's Figures 6a and 7: one board waits, and what it is of all six. */
async function interconnect(browser) {
  const scratch = mkdtempSync(path.join(tmpdir(), 'attune-shots-'));
  const registers = `/dev/shm/attune-shots-${process.pid}`;
  const simulator = spawn(path.join(binaries, 'numaconnect_sim'), ['imbalance', description, registers], { stdio: ['ignore', 'pipe', 'inherit'] });
  const file = path.join(scratch, 'ep-class-d.attune');
  try {
    await once(simulator.stdout, 'data');
    execFileSync(path.join(binaries, 'attune'), ['record', '-q', '-s', `numaconnect2=${registers}`, '-i', '50ms', '--for', '12s', '-o', file]);
    const session = await Session.start(path.join(binaries, 'attune'), 'view', file);
    for (const [name, lines] of [['interconnect', 'each'], ['interconnect-sum', 1]]) {
      await shoot(browser, session.url, name, { height: 460, argument: [WAIT, lines], prepare: showWaits });
    }
    await session.stop();
  } finally {
    simulator.kill();
    rmSync(scratch, { recursive: true });
  }
}

const browser = await launchBrowser();
try {
  await demo(browser);
  await interconnect(browser);
} finally {
  await browser.close();
}
