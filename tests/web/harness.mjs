// What the browser tests and the screenshot script share: the demo server, a browser, and a proxy that can fail. ATTUNE_BROWSER=firefox
// runs the same tests in Firefox (firefox.mjs).

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

import { firefoxContext, launchFirefox, moveFingers } from './firefox.mjs';

/** ctest's SKIP_RETURN_CODE. */
export const SKIPPED = 77;
/** Ends what hangs, and says nothing of speed: longer than anything takes where there is hardly a CPU for it. */
export const PATIENCE_MS = 300_000;
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const require = createRequire(path.join(root, 'web/package.json'));

/** A new folder, in which sessions that are started from now on also have what they keep while they run. */
export function testFolder(name) {
  const folder = mkdtempSync(path.join(tmpdir(), `attune-${name}-`));
  process.env.XDG_RUNTIME_DIR = path.join(folder, 'runtime');
  mkdirSync(process.env.XDG_RUNTIME_DIR, { mode: 0o700 });
  return folder;
}

const isThere = (file) => file && existsSync(file);

export function findChromium() {
  return [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(isThere);
}

const BROWSERS = {
  chromium: { find: findChromium, missing: 'no Chromium (apt install chromium, or set CHROMIUM to its path)' },
  firefox: { find: () => [process.env.FIREFOX, '/usr/bin/firefox-esr', '/usr/bin/firefox'].find(isThere), missing: 'no Firefox (apt install firefox-esr, or set FIREFOX to its path)' },
};
const browserName = process.env.ATTUNE_BROWSER || 'chromium';
if (!(browserName in BROWSERS)) throw new Error(`ATTUNE_BROWSER is ${browserName}: there are ${Object.keys(BROWSERS).join(' and ')}`);
export const isFirefox = browserName === 'firefox';

/** @return path of the browser of the tests */
export function browserOrSkip() {
  const { find, missing } = BROWSERS[browserName];
  const found = find();
  if (found) return found;
  console.log(`skipped: ${missing}`);
  process.exit(SKIPPED);
}

export async function launchBrowser() {
  const executablePath = browserOrSkip();
  const { chromium, firefox } = require('playwright-core');
  if (isFirefox) return launchFirefox(firefox, executablePath, PATIENCE_MS);
  // A sandbox needs user namespaces, which containers and root do not have.
  return chromium.launch({ executablePath, args: ['--no-sandbox'], timeout: PATIENCE_MS });
}

/** What the browser of this run lacks is left out by name. @return whether it does */
export function lacks(what, why) {
  if (!isFirefox) return false;
  console.log(`     not in Firefox: ${what}: ${why}`);
  return true;
}

/** A context whose pages wait for as long as anything takes. @param options beside CONTEXT's */
export async function newContext(browser, options = {}) {
  const context = await (isFirefox ? firefoxContext : chromiumContext)(browser, { ...CONTEXT, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  context.setDefaultNavigationTimeout(PATIENCE_MS);
  return context;
}

function chromiumContext(browser, options) {
  return browser.newContext(options);
}

/** The page's content security policy forbids the evaluation of text, by which Playwright polls. */
export const CONTEXT = { viewport: { width: 1440, height: 920 }, bypassCSP: true };

export class DemoServer {
  static async start(binary, ...options) {
    const server = new DemoServer();
    server.process = spawn(binary, options, { stdio: ['pipe', 'pipe', 'inherit'] });
    server.lines = createInterface({ input: server.process.stdout });
    [server.url] = await once(server.lines, 'line');
    server.port = Number(new URL(server.url).port);
    return server;
  }

  async ask(command) {
    const answer = once(this.lines, 'line');
    this.process.stdin.write(`${command}\n`);
    const [line] = await answer;
    return line.split(' ').slice(1).map(Number);
  }

  tell(command) {
    this.process.stdin.write(`${command}\n`);
  }

  async stop() {
    this.process.stdin.end();
    await once(this.process, 'exit');
  }
}

/** A TCP relay in front of the server: it can cut all connections, refuse new ones, and hold back what the client gets. */
export class Proxy {
  constructor(port) {
    this.target = port;
    this.accepting = true;
    this.holds = false;
    this.pairs = new Set();
    this.server = net.createServer((client) => this.relay(client));
  }

  async listen() {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = this.server.address().port;
    return this;
  }

  urlFor(url) {
    return url.replace(/:\d+\//, `:${this.port}/`);
  }

  cut() {
    for (const [client, upstream] of this.pairs) {
      client.destroy();
      upstream.destroy();
    }
    this.pairs.clear();
  }

  /** The client's side of a network that delivers nothing, and then everything. */
  hold() {
    this.holds = true;
    for (const [client, upstream] of this.pairs) upstream.unpipe(client);
  }

  release() {
    this.holds = false;
    for (const [client, upstream] of this.pairs) upstream.pipe(client);
  }

  stop() {
    this.cut();
    this.server.close();
  }

  relay(client) {
    if (!this.accepting) {
      client.destroy();
      return;
    }
    const upstream = net.connect(this.target, '127.0.0.1');
    this.pairs.add([client, upstream]);
    for (const socket of [client, upstream]) socket.on('error', () => {});
    client.pipe(upstream);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    if (!this.holds) upstream.pipe(client); // piped twice, it would give all of it twice
  }
}

/** The value below which the share `p` of the numbers lies. */
export function quantile(numbers, p) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * p) - 1)];
}

/** Firefox tells of a connection that ends as of an error. */
const ENDED = /^The connection to ws.* was interrupted/;

/** What goes wrong in a page is a failure. */
export function watchErrors(page, what = '') {
  page.on('pageerror', (error) => ENDED.test(error.message) || check(false, `${what}an error in the page: ${error.message}`));
  return page;
}

export function check(condition, text) {
  console.log(`${condition ? 'ok  ' : 'FAIL'} ${text}`);
  if (!condition) process.exitCode = 1;
}

/** What axe finds on the page that is serious or critical, in words. */
export async function axeFindings(page) {
  // As text: a script of the page would be refused by its content security policy.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(`${readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')}\n0`);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.slice(0, 6).map((node) => `${id}: ${node.target.join(' ')} ${node.html.slice(0, 90)} ${(node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? ''}`));
  });
}

/** axe finds nothing serious on the page, in both themes. */
export async function checkAxe(page, what) {
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  for (let i = 0; i < 2; i++) {
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    const found = await axeFindings(page);
    check(found.length === 0, `${what}, ${await theme()}: nothing serious is found by axe${found.map((one) => `\n     ${one}`).join('')}`);
    // Not by a click, which would close what is open beside it.
    await page.evaluate(() => document.querySelector('.tool.theme').click());
  }
}

/** Whether a file that the page saved is one of its kind with something in it. @param page reads SVG as a browser does */
async function isSaved(page, kind, bytes) {
  if (kind === 'PNG') return bytes.subarray(1, 4).toString() === 'PNG' && bytes.readUInt32BE(16) > 20 && bytes.readUInt32BE(20) > 20;
  if (kind === 'CSV') return bytes.toString().split('\r\n')[0].includes(',');
  return page.evaluate((text) => {
    const read = new DOMParser().parseFromString(text, 'image/svg+xml');
    return read.querySelector('parsererror') === null && read.documentElement.localName === 'svg' && read.documentElement.childElementCount > 1;
  }, bytes.toString());
}

/** Files that the page saves are kept for takeFile(): of downloads without a sign of a person Chromium takes but some. */
async function keepFiles(page) {
  await page.evaluate(() => {
    if (window.keptFiles) return;
    window.keptFiles = [];
    const contents = new Map();
    const createUrl = URL.createObjectURL;
    URL.createObjectURL = (content) => {
      const url = createUrl.call(URL, content);
      contents.set(url, content);
      return url;
    };
    const click = HTMLAnchorElement.prototype.click;
    HTMLAnchorElement.prototype.click = function () {
      if (this.download) window.keptFiles.push(contents.get(this.href));
      else click.call(this);
    };
  });
}

async function takeFile(page) {
  await page.waitForFunction(() => window.keptFiles.length > 0);
  const text = await page.evaluate(() => new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(window.keptFiles.shift());
  }));
  return Buffer.from(text.slice(text.indexOf(',') + 1), 'base64');
}

/** Each chart, table and drawing in sight has a list of files, and each of them is one. @param root what is looked at */
export async function checkSaving(page, what, root = 'main') {
  await keepFiles(page);
  const lists = page.locator(`${root} .save-choice select`).locator('visible=true');
  const wrong = [];
  const saved = [];
  for (let i = 0; i < (await lists.count()); i++) {
    const select = lists.nth(i);
    const label = await select.getAttribute('aria-label');
    for (const kind of (await select.locator('option').allTextContents()).slice(1)) {
      await select.selectOption(kind);
      const bytes = await takeFile(page);
      saved.push(`${label} as ${kind}`);
      if (!(await isSaved(page, kind, bytes))) wrong.push(`${label} as ${kind}`);
    }
  }
  // What is drawn small beside a number or a name is part of that.
  const without = await page.evaluate((selector) => {
    const isSeen = (one) => one.getClientRects().length > 0 && one.getBoundingClientRect().height > 60;
    const area = [...document.querySelectorAll(selector)].filter(isSeen);
    const has = (one) => one.closest('.chart, .table, .tuning, .sizes, .timeline, .flames, .compare-flames, .graph, .kernels, .messages, .waits > *, .machine-panel')?.querySelector('.save-choice') ?? null;
    return area.flatMap((one) => [...one.querySelectorAll('.table, canvas, svg:not(.icon), .boxes')]).filter((one) => isSeen(one) && has(one) === null && one.querySelector(':scope > .empty:not([hidden])') === null).map((one) => `${one.localName}.${one.getAttribute('class')}`);
  }, root);
  check(saved.length > 0 && wrong.length === 0 && without.length === 0, `${what}: saved are ${saved.join(', ')}${wrong.map((one) => `; not ${one}`).join('')}${without.map((one) => `; cannot be saved: ${one}`).join('')}`);
}

/** Records again and again until nothing was dropped: a session that gets no CPU for long finds rings full. @param record writes the file */
export function recordWhole(attune, file, record) {
  for (let tries = 0; tries < 5; tries++) {
    if (existsSync(file)) {
      const { gaps } = JSON.parse(execFileSync(attune, ['report', '--json', file], { maxBuffer: 1 << 28 }));
      if (!gaps.some((gap) => gap.reason === 'dropped')) return;
    }
    rmSync(file, { force: true });
    record();
  }
}

/** What `look` gives once it is as wanted: it is looked at again until then, and in the end taken as it is. */
export async function eventually(look, isWanted, limitMs = PATIENCE_MS) {
  const end = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (isWanted(found) || performance.now() > end) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The text of the first message of this kind that pops up: it is there for some seconds only. */
export async function toastText(page, kind = 'error') {
  const text = await page.waitForFunction((selector) => document.querySelector(selector)?.textContent, `.toast.${kind}`);
  return text.jsonValue();
}

/** @return what moves one or two fingers on the page, each along a path of two points */
export async function fingers(page) {
  if (isFirefox) return (...paths) => moveFingers(page, ...paths);
  const client = await page.context().newCDPSession(page);
  return async (...paths) => {
    const steps = 8;
    const at = (k) => paths.map(([[x0, y0], [x1, y1]], id) => ({ id, x: x0 + ((x1 - x0) * k) / steps, y: y0 + ((y1 - y0) * k) / steps }));
    await client.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(0) });
    for (let k = 1; k <= steps; k++) await client.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(k) });
    await client.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  };
}

/** Drags an element onto another one. @param from, to locators */
export async function drag(from, to) {
  if (!lacks('a drag by the mouse', 'its driver begins one, and lets nothing fall; the page gets the events')) return from.dragTo(to);
  const data = await from.evaluateHandle(() => new DataTransfer());
  for (const [target, event] of [[from, 'dragstart'], [to, 'dragover'], [to, 'drop'], [from, 'dragend']]) await target.dispatchEvent(event, { dataTransfer: data });
}

/** The text of a tooltip once it is as wanted: while a program runs, what its places are called comes after them. @param at gives where to point, or null */
export function tipAt(page, at, selector, wanted) {
  const look = async () => {
    const point = await at();
    if (!point) return { point, text: '' };
    await page.mouse.move(0, 0);
    await page.mouse.move(point.x, point.y);
    return { point, text: await page.locator(selector).first().textContent() };
  };
  return eventually(look, ({ text }) => wanted.test(text));
}

/** The same, and a click there until `opened` is shown: while a program runs, what was there may have moved on before the click. */
export function openAtTip(page, at, selector, wanted, opened) {
  const look = async () => {
    const tip = await tipAt(page, at, selector, wanted);
    if (tip.point) await page.mouse.click(tip.point.x, tip.point.y);
    const isOpen = await page.locator(opened).locator('visible=true').first().waitFor({ timeout: 5000 }).then(() => true, () => false);
    return { ...tip, isOpen };
  };
  return eventually(look, ({ isOpen }) => isOpen);
}

/** Waits until something has been drawn: of a recording that may be once and for all. */
export async function drawn(page, updates = 1) {
  await page.waitForFunction((wanted) => window.attune?.drawnUpdates >= wanted && window.attune.model.points.size > 0, updates);
}

/** Gives the page drawnAfter(act): the ms from an action until the data of the view that it asks for is drawn. */
export function addDrawnAfter(page) {
  return page.evaluate(() => {
    window.drawnAfter = (act) => new Promise((resolve) => {
      const begin = performance.now();
      const app = window.attune;
      act(app);
      const poll = () => {
        if (!app.view.needsRequest() && app.lastDrawnView === app.lastRequestedView) resolve(performance.now() - begin);
        else requestAnimationFrame(poll);
      };
      requestAnimationFrame(poll);
    });
  });
}

/** For each series on screen: the times and the count of the points that the page holds, as it would draw them. */
export function heldPoints(page) {
  return page.evaluate(() => {
    const { model } = window.attune;
    return [...model.points].filter(([, points]) => points.length > 0).map(([series, points]) => {
      let count = 0;
      // The last point may still grow on the server.
      for (let i = 0; i < points.length - 1; i++) count += points.count[i];
      return { series, first: points.t[0], last: points.t[points.length - 1], count, increasing: points.t.subarray(0, points.length).every((t, i, all) => i === 0 || t > all[i - 1]) };
    });
  });
}

/** Compares what the page holds with what the server stored, series by series. */
export async function checkCounts(page, server, what) {
  const held = await heldPoints(page);
  let wrong = 0;
  for (const { series, first, last, count, increasing } of held) {
    const [stored] = await server.ask(`count ${series} ${first} ${last}`);
    if (stored !== count || !increasing) {
      wrong++;
      console.log(`     series ${series}: the page has ${count} samples, the server ${stored}, increasing ${increasing}`);
    }
  }
  check(held.length > 0 && wrong === 0, `${what}: the counts of ${held.length} series add up to what is stored`);
}
