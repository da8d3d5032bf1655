// node browser_test.mjs DEMO_SERVER: the page in a real browser. Checks behaviour only; figures are printed for the reader.

import { addDrawnAfter, browserOrSkip, check, checkCounts, DemoServer, drawn, launchBrowser, newContext, Proxy, quantile, watchErrors } from './harness.mjs';

browserOrSkip();
const binary = process.argv[2];
const browser = await launchBrowser();

async function open(url, options = {}) {
  const page = await (await newContext(browser, options)).newPage();
  watchErrors(page);
  await page.goto(url);
  return page;
}

async function firstLook(server) {
  const transferred = [];
  const context = await newContext(browser, { bypassCSP: false });
  const page = await context.newPage();
  const problems = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('response', (response) => transferred.push(Number(response.headers()['content-length'] ?? 0)));
  await page.goto(server.url);
  await page.waitForSelector('.state.open');
  await page.waitForSelector('.chart');
  check(!page.url().includes('token'), 'the token is taken out of the address');
  check(problems.filter((text) => !text.includes('401')).length === 0, `the page keeps its own content security policy ${problems.join()}`);
  const bytes = transferred.reduce((a, b) => a + b, 0);
  check(bytes > 0 && bytes <= 150 * 1024, `first load: ${(bytes / 1024).toFixed(1)} KB compressed (limit 150)`);
  const link = page.url();
  await page.close();
  const again = await context.newPage();
  await again.goto(link);
  await again.waitForSelector('.state.open');
  check(true, 'the cookie lets the browser in again without a token');
  await context.close();

  const stranger = await open(link);
  await stranger.waitForSelector('.login[open]');
  check(true, 'without cookie and token the page asks for the token');
  await stranger.fill('.login input', server.url);
  await stranger.click('.login button');
  await drawn(stranger);
  check(true, 'an address typed in logs in');
  await stranger.context().close();
}

async function following(server) {
  const page = await open(server.url);
  await drawn(page, 20);
  await checkCounts(page, server, 'following');
  const before = await page.evaluate(() => window.attune.view.range.t1);
  await page.waitForFunction((t) => window.attune.view.range.t1 > t + 1e9, before);
  check(true, 'the view follows the newest data');

  await page.keyboard.press('l');
  await page.keyboard.type('from the browser');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => window.attune.model.labels.some((label) => label.text === 'from the browser'));
  check(true, 'a label added at the page comes back with the data');
  await page.context().close();
}

/** Time from an input until the points of the new view are drawn. */
async function zoomAndPan(server, what) {
  const page = await open(server.url);
  await drawn(page);
  await addDrawnAfter(page);
  const plot = page.locator('.u-over').first();
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 40);
  const lengthBefore = await page.evaluate(() => window.attune.view.length);
  await page.mouse.wheel(0, -600);
  await page.waitForFunction((length) => window.attune.view.length < length, lengthBefore);
  check(true, `${what}: the wheel zooms`);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 40, { steps: 5 });
  await page.mouse.up();
  check(await page.evaluate(() => !window.attune.view.following), `${what}: dragging stops following`);

  const times = await page.evaluate(async () => {
    const { t0, t1 } = window.attune.model.extent;
    const length = t1 - t0;
    const result = [];
    let state = 7;
    const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
    for (let i = 0; i < 60; i++) {
      const span = length * 10 ** (-3 * random());
      const begin = t0 + (length - span) * random();
      result.push(await window.drawnAfter((app) => app.show({ t0: begin, t1: begin + span })));
    }
    return result;
  });
  console.log(`     ${what}: zoom and pan, 60 random views: median ${quantile(times, 0.5).toFixed(1)} ms, p95 ${quantile(times, 0.95).toFixed(1)} ms`);
  await checkCounts(page, server, `${what}, after 60 views`);
  await page.keyboard.press('a');
  await page.waitForFunction(() => window.attune.view.range.t0 <= window.attune.model.extent.t0);
  await page.keyboard.press('End');
  check(await page.evaluate(() => {
    const { model, view } = window.attune;
    return model.growing ? view.following : view.range.t1 >= model.extent.t1;
  }), `${what}: End goes to the newest data`);
  await page.context().close();
}

async function reconnecting(server) {
  const proxy = await new Proxy(server.port).listen();
  const page = await open(proxy.urlFor(server.url));
  await drawn(page, 20);
  const heldBefore = await page.evaluate(() => [...window.attune.model.points.values()][0].t[0]);
  const revision = await page.evaluate(() => window.attune.model.revision);
  proxy.accepting = false;
  proxy.cut();
  await page.waitForSelector('.state.waiting');
  check(true, 'a lost connection is shown');
  server.tell('label while away');
  const end = await page.evaluate(() => window.attune.model.extent.t1);
  // So much data passes meanwhile that a gap would show.
  const growing = await open(server.url);
  await growing.waitForFunction((t) => window.attune?.model.extent.t1 > t + 2e9, end);
  await growing.context().close();
  proxy.accepting = true;
  await page.waitForSelector('.state.open');
  await page.waitForFunction((t) => window.attune.model.extent.t1 > t + 2e9, end);
  await page.waitForFunction((r) => window.attune.model.revision > r, revision);
  await checkCounts(page, server, 'after a reconnect');
  check((await page.evaluate(() => [...window.attune.model.points.values()][0].t[0])) === heldBefore, 'what the page held before is still there');
  check(await page.evaluate(() => window.attune.model.labels.some((label) => label.text === 'while away')), 'what happened meanwhile is there');
  await page.context().close();
  proxy.stop();
}

async function slowClient(server) {
  const proxy = await new Proxy(server.port).listen();
  const fast = await open(server.url);
  const slow = await open(proxy.urlFor(server.url));
  const updates = (page) => page.evaluate(() => window.attune.drawnUpdates);
  await drawn(fast, 5);
  await drawn(slow, 5);
  proxy.hold();
  const before = await updates(fast);
  await fast.waitForFunction((n) => window.attune.drawnUpdates > n + 100, before);
  check(true, 'a client that takes nothing does not stop another one');
  const held = await updates(slow);
  const newest = await fast.evaluate(() => window.attune.model.extent.t1);
  proxy.release();
  const drawnThen = await slow.waitForFunction((t) => window.attune.model.extent.t1 >= t && window.attune.drawnUpdates, newest);
  const needed = (await drawnThen.jsonValue()) - held;
  check(needed < 20, `it catches up by ${needed} updates instead of the ${(await updates(fast)) - before} that it missed`);
  await checkCounts(slow, server, 'the client that was held back');
  await checkCounts(fast, server, 'the other client');
  await fast.context().close();
  await slow.context().close();
  proxy.stop();
}

/** Figures only: how long a sample takes to the screen, and how many frames a second are drawn. */
async function speed(server) {
  const page = await open(server.url);
  await drawn(page, 30);
  const figures = await page.evaluate(() => new Promise((resolve) => {
    const intervals = [];
    let last = performance.now();
    const step = (now) => {
      intervals.push(now - last);
      last = now;
      if (intervals.length < 180) requestAnimationFrame(step);
      else resolve({ fps: 1000 / (intervals.slice(10).reduce((a, b) => a + b, 0) / (intervals.length - 10)), ages: window.attune.ages.slice(-400) });
    };
    requestAnimationFrame(step);
  }));
  console.log(`     frames a second: ${figures.fps.toFixed(1)}; from sample to drawn frame: median ${quantile(figures.ages, 0.5).toFixed(0)} ms, p95 ${quantile(figures.ages, 0.95).toFixed(0)} ms`);
  await page.context().close();
}

const live = await DemoServer.start(binary, '--hz', '100', '--history', '120');
try {
  await firstLook(live);
  await following(live);
  await zoomAndPan(live, 'live');
  await reconnecting(live);
  await slowClient(live);
  await speed(live);
} finally {
  await live.stop();
}
const recorded = await DemoServer.start(binary, '--hz', '100', '--history', '300', '--recorded');
try {
  await zoomAndPan(recorded, 'recorded');
} finally {
  await recorded.stop();
  await browser.close();
}
console.log(process.exitCode ? 'failed' : 'passed');
