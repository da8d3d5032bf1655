// node looks_test.mjs DEMO_SERVER: how the page shows what it has: groups, sums, percent, stacks, maps, tables, the trees,
// pauses, and a recording loaded from a file.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { browserOrSkip, check, DemoServer, drag, drawn, launchBrowser, newContext, toastText, watchErrors } from './harness.mjs';

browserOrSkip();
const binary = process.argv[2];
const browser = await launchBrowser();

async function open(url) {
  const page = await (await newContext(browser)).newPage();
  watchErrors(page);
  await page.goto(url);
  await drawn(page);
  return page;
}

/** Shows exactly the series of these signals ("sensor.signal"). */
async function show(page, ...signals) {
  await page.evaluate((wanted) => {
    const { attune } = window;
    attune.selected.clear();
    for (const series of attune.model.series.values()) if (wanted.includes(`${series.sensor}.${series.signal}`)) attune.selected.add(series.id);
    attune.selectionChanged();
  }, signals);
  await page.waitForFunction(() => [...window.attune.selected].every((id) => window.attune.model.points.get(id)?.length > 1));
}

const chart = (page, title) => page.locator(`.chart[aria-label="${title}"]`);
const titles = (page) => page.locator('.chart h2').allTextContents();
/** What the legend says of each line, in the order of the lines: [name, number]. */
const legend = (page, title) => chart(page, title).locator('.legend-entry').evaluateAll((rows) => rows.map((row) => [row.querySelector('.name').textContent, parseFloat(row.querySelector('.value').textContent)]));
const axis = (page, index) => page.evaluate((i) => window.attune.charts[i].scale, index);

async function sums(server) {
  const page = await open(server.url);
  await show(page, 'link.wait');
  await chart(page, 'link wait').getByRole('button', { name: '%' }).click();
  await page.waitForFunction(() => document.querySelector('.legend-entry .value')?.textContent.endsWith('%'));
  const split = await legend(page, 'link wait');
  check(split.length === 6 && split[0][1] > 2 && split[0][1] < 3 && split[1][1] > 94 && split[1][1] < 98 && split[5][1] < 0.1, `split by board: ${split.map((line) => line.join(' ')).join(', ')} %`);
  check((await axis(page, 0)).high === 100, 'an axis of at most 100 % ends there');

  await chart(page, 'link wait').locator('select.level').selectOption({ label: 'sum per machine' });
  await page.waitForFunction(() => document.querySelectorAll('.legend-entry').length === 1 && parseFloat(document.querySelector('.legend-entry .value').textContent) > 0);
  const [[, sum]] = await legend(page, 'link wait');
  check(sum > 96 && sum < 101, `the sum of all boards: ${sum} %`);
  check((await chart(page, 'link wait').locator('.unit').textContent()).includes('at most 600'), 'and of how much at most');
  check((await chart(page, 'link wait').locator('.sum-note').textContent()) === 'sum of 6', 'and of how many');

  // The link keeps all of it; of what was changed first, a slow page has written it already.
  await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).getAll('c').some((chart) => /^~%~~[^~]+~link\.wait$/.test(chart)));
  const copy = await page.context().newPage();
  await copy.goto(page.url());
  await drawn(copy);
  await copy.waitForFunction(() => document.querySelectorAll('.legend-entry').length === 1);
  check((await chart(copy, 'link wait').locator('.unit').textContent()).includes('at most 600'), 'a link keeps sums and percent');
  await page.context().close();
}

async function twoUnits(server) {
  const page = await open(server.url);
  await show(page, 'cpu.user', 'link.wait', 'link.temperature');
  await page.evaluate(() => window.attune.picker.render());
  await drag(page.getByRole('tree').locator('.row', { hasText: 'temperature' }).first(), chart(page, 'cpu user'));
  await page.waitForFunction(() => document.querySelectorAll('.chart').length === 2);
  check((await titles(page)).join() === 'cpu user,link wait', 'a signal dragged from the tree leaves its own chart');
  const shown = () => page.evaluate(() => {
    const [{ traces, style, scale, rightScale }] = window.attune.charts;
    return { left: traces.filter((trace) => trace.side === 'left').length, right: traces.filter((trace) => trace.side === 'right').length, style, scale, rightScale };
  });
  const both = await shown();
  check(both.left === 24 && both.right === 6 && both.style === 'lines', 'it is on the right axis, and both are lines');
  check((await chart(page, 'cpu user').locator('.unit').textContent()).includes('°C →'), 'the chart says which unit is where');
  await page.waitForFunction(() => window.attune.charts[0].rightScale.high > 40 && window.attune.charts[0].rightScale.high < 100 && window.attune.charts[0].scale.high === 100);
  check(true, 'each axis fits its own values');

  await page.getByLabel('One line a').selectOption({ label: 'sum per machine' });
  await page.waitForFunction(() => document.querySelectorAll('.chart[aria-label="cpu user"] .axis-side').length === 2);
  const sides = await chart(page, 'cpu user').locator('.legend-entry').evaluateAll((rows) => rows.map((row) => `${row.querySelector('.axis-side').textContent} ${row.querySelector('.sum-note').textContent}`));
  check(sides.join() === '← sum of 24,→ highest of 6', `the legend says which axis: ${sides.join()}`);

  await page.waitForFunction(() => location.hash.includes('cpu.user') && location.hash.includes('&l=1'));
  const copy = await page.context().newPage();
  await copy.goto(page.url());
  await drawn(copy);
  await copy.waitForFunction(() => document.querySelectorAll('.chart[aria-label="cpu user"] .axis-side').length === 2);
  check(true, 'a link keeps both axes');
  await copy.close();

  // By the keyboard: add to the chart with the percent axis, and take it out again.
  const wait = chart(page, 'link wait');
  check(await page.evaluate(() => window.attune.charts[1].hasRightAxis && !window.attune.charts[1].hasRightTraces), 'another chart has its axis in percent');
  await wait.getByRole('button', { name: 'Add a signal' }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.type('pgfault');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('.chart[aria-label="link wait"] .axis-side').length === 2);
  await wait.getByRole('button', { name: '%', exact: true }).click();
  await page.waitForFunction(() => window.attune.charts[1].scale.high <= 600 && document.querySelector('.chart[aria-label="link wait"] .unit').textContent.includes('%'));
  check(await page.evaluate(() => window.attune.charts[1].display(1).unit === 'faults/s' || window.attune.charts[1].display(1).unit.endsWith('/s')), 'percent on the left leaves the right axis as it is');
  await wait.getByRole('button', { name: 'Add a signal' }).click();
  await page.locator('.adder-row.added').click();
  await page.waitForFunction(() => document.querySelectorAll('.chart[aria-label="link wait"] .axis-side').length === 0);
  check(true, 'what was added is taken out again');
  await page.context().close();
}

async function groups(server) {
  const page = await open(server.url);
  await show(page, 'cpu.user', 'link.wait', 'link.temperature');
  check((await titles(page)).join() === 'cpu user,link wait,link temperature', 'charts by signal');
  await page.getByLabel('One chart a').selectOption({ label: 'by board' });
  const boards = await titles(page);
  check(boards.length === 18 && boards.filter((title) => title.startsWith('board3 ·')).length === 3, 'charts by board');
  await page.getByLabel('One chart a').selectOption({ label: 'by signal' });
  await page.getByLabel('One line a').selectOption({ label: 'sum per board' });
  await page.waitForFunction(() => document.querySelectorAll('.sum-note').length === 6);
  check((await chart(page, 'cpu user').locator('.sum-note').first().textContent()) === 'sum of 4', 'lines summed per board');
  check((await chart(page, 'link wait').locator('.sum-note').count()) === 0, 'what has nothing below is left as it is');
  await page.getByLabel('One line a').selectOption({ label: 'sum per machine' });
  await page.waitForFunction(() => document.querySelectorAll('.sum-note').length === 3);
  check((await chart(page, 'link temperature').locator('.sum-note').textContent()) === 'highest of 6', 'of temperatures the highest');
  await page.context().close();
}

async function maps(server) {
  const page = await open(server.url);
  await show(page, 'cpu.user');
  const map = chart(page, 'cpu user');
  check((await map.getByRole('button', { name: 'Heat map' }).getAttribute('aria-pressed')) === 'true', '24 lines are a heat map at first');
  const box = await map.locator('.u-over').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height * (10.5 / 24));
  await page.waitForFunction(() => /^cpu10\s*[\d.]+ %$/.test(document.querySelector('.heat-hover')?.textContent ?? ''));
  check(true, 'the row under the pointer has its name and value');
  const colors = await page.evaluate(() => {
    const { plot } = window.attune.charts[0];
    const { left, top, width, height } = plot.bbox;
    const { data } = plot.ctx.getImageData(left, top, width, height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  check(colors > 60, `the map has ${colors} colours`);
  await map.getByRole('button', { name: 'Stacked areas' }).click();
  await page.waitForFunction(() => window.attune.charts[0].style === 'stack');
  const top = (await axis(page, 0)).high;
  check(top > 500 && top <= 2400, `24 stacked shares go up to ${top} %`);
  await map.getByRole('button', { name: 'Lines' }).click();
  await page.waitForFunction(() => window.attune.charts[0].scale.high <= 100);
  check((await axis(page, 0)).high === 100, 'as lines to 100 %');
  await page.context().close();
}

async function kinds(server) {
  const page = await open(server.url);
  await show(page, 'link.requests', 'link.temperature');
  await page.waitForFunction(() => [...document.querySelectorAll('.legend-entry .value')].every((value) => value.textContent !== '–'));
  const level = (await legend(page, 'link requests')).map(([, value]) => value);
  check(level.every((value) => value >= 0), 'an up-down counter is a level');
  await chart(page, 'link requests').getByRole('button', { name: '±/s' }).click();
  await page.waitForFunction(() => window.attune.charts[1].scale.low < 0);
  check((await chart(page, 'link requests').locator('.unit').textContent()) === 'requests/s', 'or a signed rate');
  await page.evaluate(() => window.attune.view.follow(30e9));
  await page.waitForFunction(() => document.querySelector('.chart[aria-label="link temperature"] .mark.slow'));
  const text = await chart(page, 'link temperature').locator('.legend-entry').first().getAttribute('title');
  check(text.includes('its source refreshes it every'), 'a level that is refreshed seldom is marked');
  await page.context().close();
}

async function tables(server) {
  const page = await open(server.url);
  await show(page, 'link.wait');
  await page.waitForFunction(() => document.querySelectorAll('.table-row .swatch').length >= 6);
  await page.getByRole('button', { name: 'Mean' }).click();
  const first = page.locator('.table-rows .table-row').first();
  await page.waitForFunction(() => document.querySelector('.table-rows .table-row span span')?.textContent === 'board1');
  check((await first.locator('.number').nth(1).textContent()).startsWith('19'), 'the table of values, sorted by the mean');
  await page.keyboard.press('2');
  await page.waitForFunction(() => {
    const rows = [...document.querySelectorAll('.table:not([hidden]) .table-rows .table-row')];
    return rows.length === 5 && rows.every((row) => row.querySelectorAll('.number')[1].textContent.endsWith('%'));
  });
  const shares = await page.locator('.table:not([hidden]) .table-rows .table-row .number:nth-child(4)').evaluateAll((cells) => cells.map((cell) => parseFloat(cell.textContent)));
  check(shares.every((share, i) => i === 0 || share <= shares[i - 1]), `threads by their share of a CPU: ${shares.join(', ')}`);
  await page.keyboard.press('4');
  await page.locator('.table:not([hidden]) .table-row', { hasText: 'second pass' }).click();
  check(await page.evaluate(() => {
    const label = window.attune.model.labels.find((one) => one.text === 'second pass');
    const { t0, t1 } = window.attune.view.range;
    return !window.attune.view.following && t0 < label.t && label.t < t1;
  }), 'a click on a label goes there');
  await page.context().close();
}

async function trees(server) {
  const page = await open(server.url);
  await page.getByRole('tab', { name: 'By place' }).click();
  const tree = page.getByRole('tree');
  await tree.getByText('board2', { exact: true }).click();
  await tree.getByText('node5', { exact: true }).click();
  await tree.getByText('cpu11', { exact: true }).click();
  await page.evaluate(() => window.attune.selected.clear());
  await tree.locator('[aria-level="5"]', { hasText: 'idle' }).locator('input').click();
  check((await titles(page)).join() === 'cpu idle', 'machine, board, node, CPU, signal');
  await page.keyboard.press('/');
  await page.keyboard.type('cpu7 user');
  await page.waitForFunction(() => document.querySelectorAll('.row').length < 8);
  check((await tree.locator('[aria-level="5"]').count()) === 1, 'the search keeps the way to what it finds');
  await page.context().close();
}

async function machines(server) {
  const page = await open(server.url);
  await page.keyboard.press('m');
  const panel = page.getByRole('region', { name: 'Machine' });
  await panel.waitFor();
  check((await panel.locator('.box.board').count()) === 6 && (await panel.locator('.cpu').count()) === 24, 'the machine: six boards, 24 CPUs');
  await page.waitForFunction(() => [...document.querySelectorAll('.cpu b')].every((value) => value.textContent.endsWith('%')));
  const busy = await panel.locator('.cpu').evaluateAll((cells) => [...new Set(cells.map((cell) => cell.style.background))].length);
  check(busy > 3, `its CPUs have ${busy} colours`);
  await panel.getByLabel('Colour of the boxes').selectOption({ label: 'link temperature' });
  await page.waitForFunction(() => [...document.querySelectorAll('.box.board > header .box-value')].every((value) => value.textContent.endsWith('°C')));
  check(true, 'boards by their temperature');
  await show(page, 'cpu.user', 'vmstat.pgfault');
  await panel.getByRole('button', { name: /^node5/ }).click();
  await page.waitForFunction(() => document.querySelectorAll('.chart').length === 1);
  check(await page.evaluate(() => window.attune.charts[0].traces.map((trace) => trace.name).join() === 'cpu10,cpu11'), 'a click on a node leaves its charts');
  await page.waitForFunction(() => location.hash.includes('&o='));
  const copy = await page.context().newPage();
  await copy.goto(page.url());
  await drawn(copy);
  check((await copy.locator('.only').textContent()) === 'only node5', 'a link keeps it');
  await copy.close();
  await page.locator('.only').click();
  await page.waitForFunction(() => document.querySelectorAll('.chart').length === 2);
  await show(page, 'vmstat.pgfault');
  await panel.getByLabel('Colour of the boxes').selectOption({ label: 'CPU busy' });
  await panel.getByRole('button', { name: /^cpu3\b/ }).click();
  await page.waitForFunction(() => document.querySelectorAll('.chart').length === 1);
  check((await titles(page)).join() === 'cpu idle', 'where nothing of it was chosen, what the colour shows');
  const shownBefore = await panel.locator('.cpu').count();
  await panel.getByRole('button', { name: 'Fold board2' }).click();
  check((await panel.locator('.cpu').count()) === shownBefore - 4, 'a board is folded');
  await page.keyboard.press('m');
  check((await panel.count()) === 0, 'M closes the machine');
  await page.context().close();
}

/** What the cores' hardware counts, as a mesh. */
async function hardware(server) {
  const page = await open(server.url);
  await page.keyboard.press('m');
  const panel = page.getByRole('region', { name: 'Machine' });
  await panel.getByLabel('Colour of the boxes').selectOption({ label: 'hardware l1d_hits' });
  await panel.getByLabel('Arrangement of the boxes').selectOption('mesh');
  await page.waitForFunction(() => [...document.querySelectorAll('.mesh .cpu')].filter((cell) => cell.style.background !== '').length === 16);
  const cells = await panel.locator('.mesh .cpu').evaluateAll((all) => ({ columns: new Set(all.map((cell) => cell.offsetLeft)).size, colours: new Set(all.map((cell) => cell.style.background)).size }));
  check(cells.columns === 4 && cells.colours > 3, `16 cores are a mesh of ${cells.columns} columns, in ${cells.colours} colours`);
  check((await panel.locator('.machine-event').textContent()) === 'L1-dcache-loads (RTM: HIT); loads that miss count too', 'with the event that is counted, and how it differs');
  check((await panel.locator('.machine-missing').textContent()).includes('l2_hitsno such event is known of these cores'), 'and what cannot be counted here, with why');
  await panel.getByLabel('Arrangement of the boxes').selectOption('topology');
  check((await panel.locator('.box.node').count()) > 0 && (await panel.locator('.mesh').count()) === 0, 'and back to the topology');
  await page.context().close();
}

async function alarms(server) {
  const page = await open(server.url);
  const bell = page.locator('.tool.alarms');
  check((await bell.textContent()) === '1' && (await bell.getAttribute('title')).startsWith('1 alarm is on, of 2'), 'the bell counts what is on');
  await bell.click();
  const rows = page.locator('.table:not([hidden]) .table-rows .table-row:not([hidden])');
  await rows.nth(1).waitFor();
  const texts = await rows.allTextContents();
  check(texts.length === 2 && texts[0].includes('swaps') && texts[0].includes('52k') && texts[0].includes('use less memory'), `the newest first: ${texts[0]}`);
  check((await page.locator('.table:not([hidden]) .number.on').count()) === 1, 'one of them is still on');
  await page.evaluate(() => {
    window.attune.selected.clear();
    window.attune.selectionChanged();
  });
  await rows.nth(1).click();
  await page.waitForFunction(() => document.querySelectorAll('.chart').length === 1 && !window.attune.view.following);
  const around = await page.evaluate(() => {
    const { model, view, selected } = window.attune;
    const alarm = model.alarms.find((one) => one.id === 1);
    return view.range.t0 < alarm.start && view.range.t1 > alarm.end && selected.has(alarm.series);
  });
  check(around, 'a click goes to its time and series');
  await page.waitForFunction(() => {
    const { plot } = window.attune.charts[0];
    const { data } = plot.ctx.getImageData(plot.bbox.left + plot.bbox.width / 2, plot.bbox.top + 1, 1, 1);
    const probe = document.createElement('canvas').getContext('2d');
    probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--warn');
    probe.fillRect(0, 0, 1, 1);
    return [...data].join() === [...probe.getImageData(0, 0, 1, 1).data].join();
  });
  check(true, 'the chart has a bar for as long as it was on');
  await page.context().close();
}

async function pauses(server) {
  const page = await open(server.url);
  const other = await open(server.url);
  await page.keyboard.press('o');
  await page.waitForSelector('.state.paused');
  await other.waitForSelector('.state.paused');
  check(true, 'a pause is seen by all clients');
  await page.getByRole('button', { name: 'Go on sampling (O)' }).click();
  await other.waitForSelector('.state.open');
  check(true, 'and its end');
  await page.keyboard.press('i');
  await page.getByLabel('Interval of cpu').selectOption({ label: '1 ms' });
  check((await toastText(page)).includes('interval is fixed'), 'what the session refuses is said');
  await page.context().close();
  await other.context().close();
}

async function files(server) {
  const folder = mkdtempSync(path.join(tmpdir(), 'attune-web-'));
  const page = await open(server.url);
  const session = await page.evaluate(() => window.attune.model.id);
  writeFileSync(path.join(folder, 'notes.txt'), 'no recording at all');
  await page.getByLabel('Recording to load').setInputFiles(path.join(folder, 'notes.txt'));
  check((await toastText(page)) === 'notes.txt is not a recording', 'what is no recording is refused by its name');
  check((await page.evaluate(() => window.attune.model.id)) === session, 'and nothing changes');
  writeFileSync(path.join(folder, 'mine.attune'), `demo ${'x'.repeat(200_000)}`);
  await page.getByLabel('Recording to load').setInputFiles(path.join(folder, 'mine.attune'));
  await page.waitForSelector('.state.recording');
  await page.waitForFunction(() => window.attune.model.points.size > 0 && document.querySelectorAll('.chart').length > 0);
  check((await page.locator('.bar h1').textContent()) === 'mine.attune' && (await page.title()).startsWith('mine.attune'), 'a recording from a file is shown instead');
  check(await page.getByRole('button', { name: 'Add a label (L)' }).isHidden(), 'without what only a live session can');
  await page.locator('.back').click();
  await page.waitForFunction((id) => window.attune.model.id === id, session);
  await page.waitForSelector('.state.open');
  check(await page.locator('.back').isHidden(), 'and left again');
  await page.context().close();
  rmSync(folder, { recursive: true });
}

const server = await DemoServer.start(binary, '--hz', '100', '--cpus', '24', '--boards', '6', '--threads', '5', '--history', '90', '--alarms');
try {
  for (const test of [sums, twoUnits, groups, maps, kinds, tables, trees, machines, alarms, pauses, files]) await test(server);
} finally {
  await server.stop();
}
const counted = await DemoServer.start(binary, '--hz', '20', '--boards', '2', '--cpus', '16', '--history', '30', '--counters');
try {
  await hardware(counted);
} finally {
  await counted.stop();
  await browser.close();
}
console.log(process.exitCode ? 'failed' : 'passed');
