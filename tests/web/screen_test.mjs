// node screen_test.mjs ATTUNE MANY_THREADS: what fits on screens of different sizes, and how it is moved: the first screen, back and
// forward of the browser, tooltips, fingers, and what axe finds of accessibility.

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { Session } from '../../bench/page/session.mjs';
import { addDrawnAfter, browserOrSkip, check, checkAxe, drawn, eventually, fingers, lacks, launchBrowser, newContext, recordWhole, testFolder, watchErrors } from './harness.mjs';

browserOrSkip();
const [, , attune, program] = process.argv;
const folder = testFolder('web-screen');
const recording = path.join(folder, 'many.attune');
const browser = await launchBrowser();

async function open(url, options = {}) {
  const page = watchErrors(await (await newContext(browser, options)).newPage());
  await page.goto(url);
  await drawn(page);
  await page.waitForFunction(() => window.attune.waits !== null && !document.querySelector('.verdict-line').hidden);
  return page;
}

/** After a click of the mouse Space is the page's, whatever was clicked. */
async function keys(url) {
  const page = await open(url);
  const following = () => page.evaluate(() => window.attune.view.following);
  for (const selector of ['.drawer-tab >> nth=1', '.legend-entry >> nth=0', '.tree-tabs .segment >> nth=0', '.fold']) {
    const before = await following();
    const clicked = page.locator(selector);
    await clicked.click();
    const state = () => clicked.evaluate((one) => `${one.className} ${one.getAttribute('aria-selected')} ${document.querySelectorAll('.drawer.closed').length}`);
    const now = await state();
    await page.keyboard.press('Space');
    check((await following()) === !before && (await state()) === now, `after a click on ${selector} Space stops or follows, and presses nothing again`);
  }
  await page.locator('.tool.theme').focus();
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  const before = await theme();
  await page.keyboard.press('Space');
  check((await theme()) !== before, 'a button that the keyboard has chosen keeps its Space');
  await page.context().close();
}

/** A run that is shorter than the window has all of its width; then the window slides. */
async function growing(url) {
  const page = await open(url);
  const look = () => page.evaluate(() => {
    const { view, model } = window.attune;
    const plot = document.querySelector('.navigator').getBoundingClientRect();
    const marked = document.querySelector('.navigator-window').getBoundingClientRect();
    return { ...view.range, from: model.extent.t0, to: model.extent.t1, marked: marked.width / plot.width, points: Math.max(...[...model.points.values()].map((points) => points.length)) };
  });
  await page.evaluate(() => window.attune.follow(240e9));
  const first = await eventually(look, ({ t0, from, marked, points }) => t0 === from && marked > 0.99 && points > 1);
  check(first.t0 === first.from && first.t1 - first.to < 9e9 && first.marked > 0.99, `a run of ${((first.to - first.from) / 1e9).toFixed(1)} s fills a window of four minutes, and the navigator: ${JSON.stringify(first)}`);
  const later = await eventually(look, ({ t1 }) => t1 > first.t1 + 1e9);
  check(later.t0 === first.t0 && later.t1 > first.t1 + 1e9, 'the window grows with it');
  await page.evaluate(() => window.attune.follow(1e9));
  const full = await eventually(look, ({ t0, t1, from }) => t0 > from && Math.round(t1 - t0) === 1e9);
  const slid = await eventually(look, ({ t0 }) => t0 > full.t0 + 5e8);
  check(slid.t0 > full.t0 + 5e8 && Math.round(slid.t1 - slid.t0) === 1e9, 'a window that is full slides');
  await page.context().close();
}

/** The navigator shows how busy the CPUs were all the time long. */
async function navigator(url) {
  const page = await open(url);
  const course = await eventually(() => page.evaluate(() => window.attune.navigator.shown), (now) => now !== null && now.busy.length > 4);
  const known = course.busy.filter((share) => share !== null);
  check(known.length > 0.8 * course.busy.length && known.every((share) => share >= 0 && share <= 1), `the navigator has the course of the CPUs, in ${course.busy.length} parts`);
  await page.evaluate(() => window.attune.showAll());
  const [, charted] = await eventually(() => page.evaluate(() => {
    const { model } = window.attune;
    const idle = [...model.series.values()].filter(({ sensor, signal }) => sensor === 'cpu' && signal === 'idle').map(({ id }) => model.points.get(id)).filter((points) => points?.length > 1);
    const shares = idle.flatMap((points) => Array.from({ length: points.length }, (_, i) => points.mean[i]).filter((value) => !Number.isNaN(value)).map((value) => 1 - value / 1e9));
    return [shares.length, shares.reduce((sum, share) => sum + share, 0) / shares.length];
  }), ([count]) => count > 4);
  const mean = known.reduce((sum, share) => sum + share, 0) / known.length;
  check(Math.abs(mean - charted) < 0.1, `of ${(mean * 100).toFixed(0)} % in the mean, as the CPUs’ series have: ${(charted * 100).toFixed(0)} %`);
  // It is drawn a frame after what it shows has come.
  const colours = await eventually(() => page.evaluate(() => {
    const canvas = document.querySelector('.navigator canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i] > 60 && data[i] < 110) count++;
    return count / (data.length / 4);
  }), (part) => part > 0.02);
  check(colours > 0.02, `it is drawn: ${(colours * 100).toFixed(0)} % of the navigator`);
  await page.context().close();
}

/** Nothing is above what there can be, however short the time in view is. */
async function limits(url) {
  const page = await open(url);
  await addDrawnAfter(page);
  const { t0, t1 } = await page.evaluate(() => window.attune.model.extent);
  for (const ns of [t1 - t0, 2e8, 5e7, 5e6]) {
    const middle = (t0 + t1) / 2;
    await page.evaluate((range) => window.drawnAfter((app) => app.show(range)), { t0: middle - ns / 2, t1: middle + ns / 2 });
    const above = await page.evaluate(() => {
      const { model, charts } = window.attune;
      const series = [...model.points].flatMap(([id, points]) => {
        const most = model.series.get(id).maxPerSecond;
        return most > 0 && Array.from({ length: points.length }, (_, i) => points.high[i]).some((value) => value > most * 1.0001) ? [model.series.get(id).signal] : [];
      });
      return [...series, ...charts.filter(({ group, scale }) => group.title === 'CPU' && scale.high > 100.01 * navigator.hardwareConcurrency).map(({ scale }) => `the axis up to ${scale.high}`)];
    });
    check(above.length === 0, `in ${ns / 1e6} ms nothing is above its limit: ${above.join(', ')}`);
  }
  await page.context().close();
}

/** No tab is empty: what there is none of says how to get it. */
async function tabs(url, of) {
  const page = await open(url, { viewport: { width: 1280, height: 720 } });
  const empty = [];
  for (const name of await page.locator('.workspaces [role=tab]').allTextContents()) {
    await page.locator('.workspaces').getByRole('tab', { name, exact: true }).click();
    const look = () => page.evaluate(() => {
      const pane = [...document.querySelectorAll('.chart-scroller, .waits > *')].filter((one) => one.getClientRects().length > 0);
      return pane.map((one) => one.innerText).join(' ').replace(/\s+/g, ' ').trim();
    });
    const text = await eventually(look, (now) => now.length > 40 && !now.includes('Being computed'));
    if (text.length <= 40 || text.includes('Being computed')) empty.push(`${name}: “${text}”`);
  }
  check(empty.length === 0, `${of}: no tab is empty: ${empty.join(', ')}`);
  await page.context().close();
}

/** Behind the login there is no moment. */
async function login(url) {
  const page = await (await newContext(browser, { timezoneId: 'America/New_York' })).newPage();
  await page.goto(new URL(url).origin);
  await page.waitForSelector('.login[open]');
  const seen = await page.evaluate(() => ({ text: document.body.innerText, window: document.querySelector('.navigator-window').hidden, drawn: document.querySelector('.navigator canvas').getContext('2d').getImageData(0, 0, 2000, 40).data.some((value) => value > 0) }));
  check(!/19\d\d-|\d\d:\d\d/.test(seen.text) && seen.window && !seen.drawn, `behind the login neither a date nor a time is written: ${JSON.stringify(seen.text.slice(0, 40))}`);
  await page.context().close();
}

/** Everything that a first look is for is on the screen, without scrolling. */
async function firstScreen(url, of, [width, height] = [1280, 720]) {
  const what = `${of}, ${width} x ${height}`;
  const page = await open(url, { viewport: { width, height } });
  await page.waitForFunction(() => document.querySelectorAll('.chart.compact').length === 5);
  const whole = () => page.evaluate(() => {
    const scroller = document.querySelector('.chart-scroller').getBoundingClientRect();
    const isWhole = (element, box) => element.top >= box.top - 0.5 && element.bottom <= box.bottom + 0.5 && element.right <= box.right + 0.5 && element.height > 0;
    const window_ = { top: 0, bottom: innerHeight, right: innerWidth };
    return {
      charts: [...document.querySelectorAll('.chart')].filter((chart) => isWhole(chart.getBoundingClientRect(), scroller)).map((chart) => chart.querySelector('h2').textContent),
      others: ['.balance', '.verdict-line p', '.navigator', '.drawer-tabs'].filter((one) => isWhole(document.querySelector(one).getBoundingClientRect(), window_)),
    };
  });
  const { charts, others } = await eventually(whole, (now) => now.charts.length === 5);
  check(charts.join() === 'CPU,memory,run queue,disk,network', `${what}: these charts are whole: ${charts.join(', ')}`);
  check(others.length === 4, `${what}: so are balance, verdict, navigator and the names of the tables: ${others.join(', ')}`);
  const balance = await page.locator('.balance-text').textContent();
  check(/^program \d+ %/.test(balance), `${what}: the balance: ${balance}`);
  const lines = await page.evaluate(() => ({ style: window.attune.charts[0].style, names: window.attune.charts[0].traces.map((trace) => trace.name) }));
  check(lines.style === 'stack' && lines.names.includes('steal') && lines.names.length === 7, `${what}: the time of the CPUs is stacked: ${lines.names.join(', ')}`);
  check((await page.locator('.drawer .table:visible').count()) === 0, `${what}: the tables are closed`);
  const findings = await page.locator('.findings:visible').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
  check(findings.every((height) => height < 44), `${what}: findings take one line: ${findings.join()} pixels`);
  await page.context().close();
}

/** A link to the first look shows it again. */
async function linked(url) {
  const page = await open(url, { viewport: { width: 1280, height: 720 } });
  await page.waitForFunction(() => location.hash.includes('s='));
  const copy = await page.context().newPage();
  await copy.goto(page.url());
  await copy.waitForFunction(() => document.querySelectorAll('.chart.compact').length === 5 && window.attune.charts[0].style === 'stack' && window.attune.charts[0].traces.length === 7);
  check(true, 'a link to the first look shows it again');
  await page.context().close();
}

/** The recording is saved as a trace for Perfetto: the very file that attune export writes. */
async function trace(url) {
  const page = await open(url);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByLabel('Save the recording').selectOption('Perfetto trace')]);
  const [saved, exported] = [path.join(folder, 'saved.pftrace'), path.join(folder, 'exported.pftrace')];
  await download.saveAs(saved);
  execFileSync(attune, ['export', recording, '--to', 'perfetto', '-o', exported]);
  const [ours, theirs] = [readFileSync(saved), readFileSync(exported)];
  check(ours.equals(theirs) && ours.length > 1000, `the page saves ${download.suggestedFilename()}, the ${theirs.length} bytes of attune export`);
  await page.context().close();
}

/** So is the recording, or a part of it, as a page: that of attune export. */
async function html(url) {
  const page = await open(url);
  const save = async (kind) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByLabel('Save the recording').selectOption(kind)]);
    const file = path.join(folder, download.suggestedFilename());
    await download.saveAs(file);
    return file;
  };
  const whole = await save('HTML page');
  const exported = path.join(folder, 'exported.html');
  execFileSync(attune, ['export', recording, '--to', 'html', '-o', exported]);
  const [ours, theirs] = [whole, exported].map((file) => readFileSync(file));
  check(path.basename(whole) === 'many.html' && ours.equals(theirs), `the page saves ${path.basename(whole)}, the ${theirs.length} bytes of attune export`);
  const wanted = await page.evaluate(() => {
    const { t0 } = window.attune.model.extent;
    window.attune.show({ t0: t0 + 1e9, t1: t0 + 2e9 });
    return window.attune.model.wallMs(t0 + 1e9);
  });
  const part = await save('HTML page of the time in view');
  const other = watchErrors(await (await newContext(browser)).newPage());
  await other.goto(pathToFileURL(part).href);
  await drawn(other);
  const held = await other.evaluate(() => ({ from: window.attune.model.wallMs(window.attune.model.extent.t0), length: window.attune.model.extent.t1 - window.attune.model.extent.t0, title: window.attune.model.title }));
  check(path.basename(part) === 'many.part.html' && Math.abs(held.from - wanted) < 1 && Math.abs(held.length - 1e9) < 2e6, `${path.basename(part)} is of the time that was in view: ${JSON.stringify(held)}`);
  await other.context().close();
  await page.context().close();
}

/** Of one that still grows, what there is. */
async function liveTrace(url) {
  const page = await open(url);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByLabel('Save the recording').selectOption('Perfetto trace')]);
  const saved = path.join(folder, 'live.pftrace');
  await download.saveAs(saved);
  check(readFileSync(saved).length > 1000, `a live session is saved as far as it has come: ${readFileSync(saved).length} bytes`);
  await page.context().close();
}

const rangeOf = (page) => page.evaluate(() => window.attune.view.range);
const lengthOf = (range) => range.t1 - range.t0;
const isNear = (a, b) => Math.abs(a.t0 - b.t0) < 1e4 && Math.abs(a.t1 - b.t1) < 1e4;
/** The address is written once the view has come to rest. */
const inAddress = (page, before) => page.waitForFunction((old) => location.href !== old, before);

/** Back and forward of the browser undo and redo what was zoomed and selected. */
async function history(url) {
  const page = await open(url);
  await page.waitForFunction(() => location.hash.includes('from='));
  const ranges = [await rangeOf(page)];
  const box = await page.locator('.u-over').first().boundingBox();
  const at = (share) => [box.x + box.width * share, box.y + box.height / 2];
  const acts = [
    async () => {
      await page.mouse.move(...at(0.5));
      await page.mouse.wheel(0, -500);
    },
    async () => {
      await page.keyboard.down('Shift');
      await page.mouse.move(...at(0.3));
      await page.mouse.down();
      await page.mouse.move(...at(0.6), { steps: 4 });
      await page.mouse.up();
      await page.keyboard.up('Shift');
    },
  ];
  for (const act of acts) {
    const before = page.url();
    await act();
    await inAddress(page, before);
    ranges.push(await rangeOf(page));
  }
  check(lengthOf(ranges[1]) < lengthOf(ranges[0]) && lengthOf(ranges[2]) < lengthOf(ranges[1]), 'a zoom and a selection make the range shorter');
  for (const [step, wanted] of [['goBack', 1], ['goBack', 0], ['goForward', 1], ['goForward', 2]]) {
    await page[step]();
    const found = await eventually(() => rangeOf(page), (range) => isNear(range, ranges[wanted]));
    check(isNear(found, ranges[wanted]), `${step} shows range ${wanted} again: ${JSON.stringify(found)}`);
    // The address is written again, which is no step.
    await page.waitForFunction(() => !window.attune.address.isTaken);
  }
  await page.context().close();
}

/** Tips are beside the pointer, and inside the window. */
async function tips(url) {
  const page = await open(url, { viewport: { width: 1280, height: 720 } });
  const near = async (what, selector, points) => {
    for (const [x, y] of points) {
      await page.mouse.move(x - 1, y);
      await page.mouse.move(x, y);
      const look = () => page.evaluate((name) => {
        const tip = [...document.querySelectorAll(name)].find((one) => one.getClientRects().length > 0);
        const { left, top, right, bottom } = tip?.getBoundingClientRect() ?? {};
        return tip ? { left, top, right, bottom, text: tip.textContent, width: innerWidth, height: innerHeight } : null;
      }, selector);
      const tip = await eventually(look, (now) => now !== null);
      const distance = Math.hypot(Math.max(tip.left - x, 0, x - tip.right), Math.max(tip.top - y, 0, y - tip.bottom));
      check(distance < 40 && tip.left >= 0 && tip.top >= 0 && tip.right <= tip.width && tip.bottom <= tip.height, `${what}: the tip is ${Math.round(distance)} pixels from ${Math.round(x)},${Math.round(y)}, inside the window: ${tip.text.slice(0, 60)}`);
    }
  };
  const charts = await page.locator('.chart.compact .u-over').all();
  for (const [what, chart] of [['the first chart', charts[0]], ['the last chart', charts[charts.length - 1]]]) {
    const box = await chart.boundingBox();
    await near(what, '.tip:not(.threads-tip)', [0.1, 0.5, 0.985].map((share) => [box.x + box.width * share, box.y + box.height * 0.7]));
  }
  check((await page.locator('.tip:not(.threads-tip) .value').count()) > 0, 'the tip of a chart has the values of its lines');
  await page.mouse.move(5, 5);
  check((await page.locator('.tip:visible').count()) === 0, 'it goes with the pointer');
  // Threads begin later than the recording, and end before it does.
  await page.evaluate(() => {
    const { t0, t1 } = window.attune.model.extent;
    window.attune.show({ t0: t0 + (t1 - t0) * 0.4, t1: t0 + (t1 - t0) * 0.6 });
  });
  await page.getByRole('tab', { name: 'Timeline', exact: true }).click();
  await page.waitForFunction(() => window.attune.waits.timeline.settled);
  const over = await page.locator('.threads-over:visible').boundingBox();
  await near('a timeline', '.threads-tip', [[0.3, 0.1], [0.95, 0.1], [0.5, 0.96], [0.95, 0.96]].map(([x, y]) => [over.x + over.width * x, over.y + over.height * y]));
  await page.context().close();
}

/** Steps of axes fit their unit. */
async function axes(url) {
  const page = await open(url);
  const written = await eventually(() => page.evaluate(() => window.attune.charts.map((chart) => {
    const ticks = chart.leftTicks();
    return { title: chart.group.title, step: chart.scale.step, texts: ticks.values(ticks.splits()) };
  })), (all) => all.some(({ title, step }) => title === 'memory' && step > 1));
  const cut = await page.evaluate(() => window.attune.charts.flatMap(({ plot, group }) => {
    const context = document.createElement('canvas').getContext('2d');
    context.font = '11px system-ui, -apple-system, "Segoe UI", sans-serif';
    const [time, values] = plot.axes;
    const isCut = (text, at) => text !== '' && at + context.measureText(text).width / 2 > plot.width;
    const late = time._values.filter((text, i) => isCut(text, plot.valToPos(time._splits[i], 'x') + plot.over.offsetLeft));
    return [...late, ...values._values.filter((text) => context.measureText(text).width > values._size - 8)].map((text) => `${group.title}: ${text}`);
  }));
  check(cut.length === 0, `no text of an axis is cut: ${cut.join(', ')}`);
  for (const { title, step, texts } of written) {
    if (['memory', 'disk', 'network'].includes(title)) check(step < 1 || Number.isInteger(Math.log2(step)), `${title}: the step ${step} is one of bytes: ${texts.join(', ')}`);
    check(new Set(texts).size === texts.length, `${title}: no two lines of the axis have the same text: ${texts.join(', ')}`);
  }
  await page.context().close();
}

/** A phone: nothing is wider than the screen, fingers pan, zoom and scroll. */
async function phone(url) {
  const page = await open(url, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await page.waitForFunction(() => document.querySelectorAll('.chart.compact').length === 5);
  const move = await fingers(page);
  await page.evaluate(() => window.attune.show({ t0: window.attune.model.extent.t0 + 1e9, t1: window.attune.model.extent.t0 + 2e9 }));
  const box = await page.locator('.u-over').first().boundingBox();
  const y = box.y + box.height / 2;
  const before = await rangeOf(page);
  await move([[box.x + 220, y], [box.x + 80, y]]);
  const swiped = await eventually(() => rangeOf(page), (range) => range.t0 > before.t0 + 1e8, 20_000);
  check(swiped.t0 > before.t0 + 1e8 && Math.abs(lengthOf(swiped) - lengthOf(before)) < 1e3, `a swipe pans: ${JSON.stringify(swiped)}`);
  await move([[box.x + 120, y], [box.x + 40, y]], [[box.x + 160, y], [box.x + 260, y]]);
  const pinched = await eventually(() => rangeOf(page), (range) => lengthOf(range) < lengthOf(swiped) / 2, 20_000);
  check(lengthOf(pinched) < lengthOf(swiped) / 2, `two fingers zoom: ${Math.round(lengthOf(pinched) / 1e6)} ms of ${Math.round(lengthOf(swiped) / 1e6)}`);
  if (!lacks('fingers that scroll the page', 'its driver sends them to the page alone, not to what scrolls it')) {
    await move([[box.x + 150, box.y + box.height - 4], [box.x + 150, box.y - 200]]);
    const scrolled = await eventually(() => page.locator('.chart-scroller').evaluate((scroller) => scroller.scrollTop), (top) => top > 60, 20_000);
    check(scrolled > 60, `up and down the page scrolls past charts: ${scrolled} pixels`);
    check(isNear(await rangeOf(page), pinched), 'and the time stays');
  }
  for (const name of await page.getByRole('tab').filter({ visible: true }).allTextContents()) {
    const tab = page.locator('.workspaces').getByRole('tab', { name, exact: true });
    if ((await tab.count()) === 0) continue;
    await tab.click();
    const cut = await page.evaluate(() => [...document.querySelectorAll('.waits-bar > *, .waits-bar .save-choice')].filter((one) => one.getClientRects().length > 0 && one.getBoundingClientRect().right > one.closest('.waits > *').getBoundingClientRect().right + 0.5).map((one) => one.className));
    check(cut.length === 0, `${name}: nothing in its bar is cut: ${cut.join(', ')}`);
    const wide = await page.evaluate(() => ({ page: document.scrollingElement.scrollWidth, main: document.querySelector('main').getBoundingClientRect().right, screen: innerWidth }));
    check(wide.page <= wide.screen && wide.main <= wide.screen + 0.5 && wide.screen === 390, `${name} is no wider than the screen: ${JSON.stringify(wide)}`);
  }
  await page.context().close();
}

/** axe finds nothing serious, whatever is shown, in both themes. */
async function accessible(url) {
  const page = await open(url);
  const show = (name) => page.locator('.workspaces').getByRole('tab', { name, exact: true }).click();
  for (const name of await page.locator('.workspaces [role=tab]').allTextContents()) {
    await show(name);
    await page.waitForFunction(() => [...document.querySelectorAll('.finding')].length > 0);
    if (name === 'Timeline') await page.waitForFunction(() => window.attune.waits.timeline.settled);
    if (name === 'Locks') await page.waitForFunction(() => document.querySelectorAll('.locks .table-rows .table-row:not([hidden])').length > 0);
    if (name === 'Graph') await page.waitForFunction(() => document.querySelectorAll('.graph .edge').length > 0);
    if (name === 'Flames') await page.waitForFunction(() => window.attune.waits.flames.shown.boxes.length > 2);
    await checkAxe(page, name);
  }
  await show('Locks');
  await page.locator('.lock-columns .place-row').first().click();
  await page.waitForSelector('.source .line.current');
  await checkAxe(page, 'the source of a place');
  await page.keyboard.press('Escape');
  await show('Charts');
  await page.locator('.finding').first().click();
  await checkAxe(page, 'an open finding');
  await page.locator('.finding').first().click();
  for (const table of [2, 3, 4, 5]) {
    await page.keyboard.press(String(table));
    await checkAxe(page, `table ${table}`);
  }
  await page.keyboard.press('m');
  await page.waitForSelector('.machine-panel');
  await checkAxe(page, 'the machine');
  await page.keyboard.press('?');
  await page.waitForSelector('.help[open]');
  await checkAxe(page, 'the keys');
  await page.context().close();
}

try {
  recordWhole(attune, recording, () => execFileSync(attune, ['run', '-q', '-i', '50ms', '--cpu-samples', '4ms', '-o', recording, '--', program, '3']));
  const live = await Session.start(attune, 'live', '-o', path.join(folder, 'live.attune'), '--', program, '3000');
  try {
    await firstScreen(live.url, 'live');
    for (const test of [growing, keys, login, (to) => tabs(to, 'live')]) await test(live.url);
  } finally {
    await live.stop();
  }
  // A page saves no trace of more than 32 MiB: of a program that hardly waits it is smaller, however long it takes to ask for it.
  const begun = await Session.start(attune, 'live', '-s', 'cpu', '-o', path.join(folder, 'begun.attune'), '--', 'sleep', '3000');
  try {
    await liveTrace(begun.url);
  } finally {
    await begun.stop();
  }
  const view = await Session.start(attune, 'view', recording);
  try {
    for (const size of [[1280, 720], [1440, 900]]) await firstScreen(view.url, 'recording', size);
    for (const test of [linked, history, tips, axes, limits, navigator, (to) => tabs(to, 'recording'), phone, trace, html, accessible]) await test(view.url);
  } finally {
    await view.stop();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
console.log(process.exitCode ? 'failed' : 'passed');
