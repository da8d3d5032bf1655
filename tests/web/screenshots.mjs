// node screenshots.mjs BINARY_DIR FOLDER: the pictures of the documentation, made by ./dev screenshots. Programs, recordings and
// the simulated interconnect (tests/interconnect) are real runs; only the demo server's data is made up. What the text beside a
// picture claims is checked against what the page shows.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Session } from '../../bench/page/session.mjs';
import { check, CONTEXT, DemoServer, drawn, watchErrors } from './harness.mjs';
import { shotArguments, takeShots } from './shots.mjs';

const { binaries, folder, attune } = shotArguments();
const description = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../catalog/declared/numaconnect2.toml');
const WAIT = 'numaconnect2.siu_rmpe_request_wait_cycles';
const NOTHING = () => {};

/** @param prepare runs in the page with `argument` @param act clicks and waits @param at where the pointer rests over the first chart, as shares of it; null: nowhere */
/** Points at the first chart, which moves until what is above it is there. @param at part of its width and height */
async function point(page, at) {
  for (let tries = 0; ; ++tries) {
    const box = await page.locator('.u-over').first().boundingBox();
    await page.mouse.move(box.x + box.width * at[0], box.y + box.height * at[1] + tries % 2);
    const unknown = await page.evaluate(() => [...document.querySelectorAll('.legend-entry .value, .strip-cell b')].filter((value) => value.textContent === '–').map((value) => value.parentElement.textContent));
    if (unknown.length === 0) return;
    if (tries === 60) throw new Error(`nothing is known of ${unknown.join(', ')}`);
    await page.waitForTimeout(250);
  }
}

async function shoot(browser, url, name, { colorScheme = 'dark', width = 1440, height = 920, prepare = NOTHING, argument = null, act = NOTHING, at = [0.62, 0.4] }) {
  const page = await (await browser.newContext({ ...CONTEXT, viewport: { width, height }, colorScheme })).newPage();
  watchErrors(page, `${name}: `);
  await page.goto(url);
  await drawn(page, 1);
  await page.evaluate(prepare, argument);
  await page.waitForFunction(() => {
    const { attune: app } = window;
    return app.charts.length > 0 && !app.view.needsRequest() && app.lastDrawnView === app.lastRequestedView;
  });
  if (at) await point(page, at);
  await act(page);
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
  await page.context().close();
}

/** In the page: exactly the series of these signals ("sensor.signal"), without the tables. @param onto the chart that all of them share @param lines what a line is @param percent of what there can be */
function showOnly({ signals, onto, lines = 'each', percent = false }) {
  const { attune: app } = window;
  app.selected.clear();
  for (const series of app.model.series.values()) {
    const signal = `${series.sensor}.${series.signal}`;
    if (!signals.includes(signal)) continue;
    app.selected.add(series.id);
    if (onto !== undefined && signal !== onto) app.settings.placed.set(series.id, onto);
    app.settings.options.set(signal, { style: null, percent, rate: false });
  }
  app.settings.lines = lines;
  if (app.drawer.isOpen) app.drawer.toggleOpen();
  app.selectionChanged();
  app.picker.render();
}

/** The page with made-up data: four compressors, and a machine of 512 CPUs. */
async function demo(browser) {
  const server = await DemoServer.start(path.join(binaries, 'live_demo_server'), '--hz', '100', '--history', '180', '--boards', '2', '--cpus', '8', '--threads', '4', '--title', 'demo: compressors');
  await shoot(browser, server.url, 'live-dark', {});
  await shoot(browser, server.url, 'live-light', { colorScheme: 'light', prepare: () => window.attune.showAll() });
  await shoot(browser, server.url, 'two-axes', {
    height: 520, argument: { signals: ['cpu.user', 'link.temperature'], onto: 'cpu.user', lines: 1 }, prepare: showOnly,
    act: async (page) => check((await page.locator('.legend-entry .axis-side').allTextContents()).join('') === '←→', 'two-axes: a line on each axis'),
  });
  await server.stop();
  const alarmed = await DemoServer.start(path.join(binaries, 'live_demo_server'), '--hz', '20', '--history', '120', '--boards', '2', '--cpus', '16', '--alarms', '--title', 'demo: compressors');
  await shoot(browser, alarmed.url, 'machine', {
    argument: { signals: ['cpu.user'] }, prepare: showOnly, at: null,
    act: async (page) => {
      await page.keyboard.press('m');
      await page.keyboard.press('5');
      await page.waitForFunction(() => document.querySelectorAll('.cpu b').length === 16 && [...document.querySelectorAll('.cpu b')].every((value) => value.textContent.endsWith('%')));
      const rows = await page.locator('.table:not([hidden]) .table-rows .table-row:not([hidden])').allTextContents();
      check(rows.length === 2 && rows[0].includes('use less memory'), 'machine: two alarms, with advice');
      await page.locator('.table:not([hidden]) .table-rows .table-row:not([hidden])').nth(1).click();
      await page.waitForFunction(() => !window.attune.view.needsRequest() && window.attune.lastDrawnView === window.attune.lastRequestedView);
    },
  });
  await alarmed.stop();
  const counted = await DemoServer.start(path.join(binaries, 'live_demo_server'), '--hz', '20', '--history', '60', '--boards', '4', '--cpus', '64', '--counters', '--title', 'demo: compressors');
  await shoot(browser, counted.url, 'hardware', {
    argument: { signals: ['hardware.l1d_hits'], lines: 1 }, prepare: showOnly, at: null,
    act: async (page) => {
      await page.keyboard.press('m');
      await page.getByLabel('Colour of the boxes').selectOption({ label: 'hardware l1d_hits' });
      await page.getByLabel('Arrangement of the boxes').selectOption('mesh');
      await page.waitForFunction(() => [...document.querySelectorAll('.mesh .cpu')].filter((cell) => cell.style.background !== '').length === 64);
      check((await page.locator('.machine-missing').textContent()).includes('l2_hits'), 'hardware: what cannot be counted is said');
    },
  });
  await counted.stop();
  const large = await DemoServer.start(path.join(binaries, 'live_demo_server'), '--hz', '20', '--history', '90', '--cpus', '512', '--boards', '6', '--title', 'demo: 512 CPUs');
  await shoot(browser, large.url, 'heat', {
    height: 620, argument: { signals: ['cpu.user'] }, prepare: showOnly,
    act: async (page) => check(await page.evaluate(() => window.attune.charts[0].traces.length === 512 && window.attune.charts[0].style === 'heat'), 'heat: 512 CPUs in one map'),
  });
  await large.stop();
}

/** The README's picture: a real program under attune. */
async function program(browser, scratch) {
  const input = path.join(scratch, 'input.tar');
  execFileSync('tar', ['--create', `--file=${input}`, '--absolute-names', '/usr/share/doc'], { stdio: 'ignore' });
  const file = path.join(scratch, 'xz.attune');
  execFileSync(attune, ['run', '-q', '-o', file, '--', 'sh', '-c', 'xz -1 -T2 -k -c input.tar | wc -c'], { stdio: 'ignore', cwd: scratch });
  const session = await Session.start(attune, 'view', file);
  await shoot(browser, session.url, 'page', {
    colorScheme: 'light', prepare: () => window.attune.showAll(),
    act: async (page) => {
      await page.keyboard.press('3');
      await page.waitForFunction(() => [...document.querySelectorAll('.table-row .command')].some((cell) => cell.textContent.startsWith('xz')));
    },
  });
  await session.stop();
}

/** What the legend says of each line: name to percent. */
async function shares(page) {
  const rows = await page.locator('.legend-entry').evaluateAll((entries) => entries.map((entry) => [entry.querySelector('.name').textContent, entry.querySelector('.value').textContent]));
  check(rows.length > 0 && rows.every(([, value]) => value.endsWith('%')), `values are in percent: ${rows.map((row) => row.join(' ')).join(', ')}`);
  return new Map(rows.map(([name, value]) => [name, parseFloat(value)]));
}

const near = (value, wanted, by) => Math.abs(value - wanted) <= by;

async function recordInterconnect(scenario, scratch) {
  const registers = `/dev/shm/attune-shots-${process.pid}`;
  const simulator = spawn(path.join(binaries, 'numaconnect_sim'), [scenario, description, registers, 'array_gib=0.00014'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(simulator.stdout, 'data');
    const file = path.join(scratch, `ep-class-d-${scenario}.attune`);
    execFileSync(attune, ['record', '-q', '-s', `numaconnect2=${registers}`, '-i', '50ms', '--for', '12s', '-o', file]);
    return file;
  } finally {
    simulator.kill();
    await once(simulator, 'exit');
  }
}

/** The paper's Figures 7, 6a and 6b: one board waits; what it is of all six; the same with the fix. And what changed. */
async function interconnect(browser, scratch) {
  const before = await recordInterconnect('parent', scratch);
  const after = await recordInterconnect('self', scratch);
  const session = await Session.start(attune, 'view', before);
  await shoot(browser, session.url, 'interconnect', {
    height: 460, argument: { signals: [WAIT], percent: true }, prepare: showOnly,
    act: async (page) => {
      const boards = await shares(page);
      check(boards.size === 6 && near(boards.get('board2'), 97, 1) && near(boards.get('board1'), 3, 0.5), 'Figure 7: board 2 waits 97 %, board 1 3 %');
      check(['board3', 'board4', 'board5', 'board6'].every((board) => boards.get(board) < 0.1), 'Figure 7: the others do not');
    },
  });
  await shoot(browser, session.url, 'interconnect-sum', {
    height: 460, argument: { signals: [WAIT], lines: 1, percent: true }, prepare: showOnly,
    act: async (page) => {
      const [sum, ...more] = (await shares(page)).values();
      check(more.length === 0 && near(sum, 100, 1.5), `Figure 6a: all boards together wait 100 %: ${sum}`);
      check((await page.locator('.chart .unit').textContent()) === 'of at most 600 %', 'Figure 6a: of at most 600 %');
    },
  });
  await session.stop();
  const fixed = await Session.start(attune, 'view', after);
  await shoot(browser, fixed.url, 'interconnect-fixed', {
    height: 460, argument: { signals: [WAIT], lines: 1, percent: true }, prepare: showOnly,
    act: async (page) => {
      const [sum] = (await shares(page)).values();
      check(near(sum, 2, 0.5), `Figure 6b: with the fix 2 %: ${sum}`);
    },
  });
  await fixed.stop();
  const both = await Session.start(attune, 'view', before, after);
  await shoot(browser, both.url, 'compare', {
    height: 620, at: null,
    act: async (page) => {
      await page.locator('.compare-bar .search input').fill('numaconnect2');
      const row = page.locator('.table-row:not([hidden])', { hasText: WAIT.replace('.', ' ') });
      await row.click();
      const cells = await row.locator(':scope > span').allTextContents();
      check(near(parseFloat(cells[1]), 100, 1.5) && near(parseFloat(cells[2]), 2, 0.5) && cells[5].includes('lower'), `the comparison: ${cells.join(' ')}`);
      await page.waitForFunction(() => window.attune.comparing.chart.settled);
      const box = await page.locator('.pair-over').boundingBox();
      await page.mouse.move(box.x + box.width * 0.55, box.y + box.height * 0.5);
    },
  });
  await both.stop();
}

await takeShots(async (browser, scratch) => {
  await demo(browser);
  await program(browser, scratch);
  await interconnect(browser, scratch);
});
