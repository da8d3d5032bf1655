// What the page's benchmarks share: sessions of attune to look at, pages that show them, and how figures are printed.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { CONTEXT, drawn } from '../../tests/web/harness.mjs';

/** A process of attune that serves a page. */
export class Session {
  /** @param args of attune, as in `live -i 1kHz` */
  static async start(binary, ...args) {
    const session = new Session();
    session.process = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    session.ended = once(session.process, 'exit');
    session.url = await new Promise((resolve, reject) => {
      for (const stream of [session.process.stdout, session.process.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          const url = /https?:\S+/.exec(line);
          if (url) resolve(url[0]);
        });
      }
      session.process.on('exit', () => reject(new Error(`attune ${args.join(' ')} ended without an address`)));
    });
    session.port = Number(new URL(session.url).port);
    return session;
  }

  async stop() {
    this.process.kill('SIGINT');
    await this.ended;
  }
}

/** A page that shows the first `count` series of these sensors. */
export async function openPage(browser, url, sensors, count) {
  const page = await (await browser.newContext(CONTEXT)).newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(url);
  await drawn(page);
  await page.evaluate(([names, wanted]) => {
    const { attune } = window;
    attune.selected.clear();
    const known = [...attune.model.series.values()].filter((series) => names.includes(series.sensor));
    for (const series of known.slice(0, wanted)) attune.selected.add(series.id);
    attune.selectionChanged();
  }, [sensors, count]);
  await page.waitForFunction(() => [...window.attune.selected].every((id) => window.attune.model.points.get(id)?.length > 1));
  return page;
}

/** Series whose count on the page differs from the recording's, for what the page held at the end. */
export function wrongCounts(binary, file, held) {
  const sql = held.map(({ id, first, last }) => `select count(*) as n from samples where series = ${id} and t_ns >= ${first} and t_ns < ${last}`).join(' union all ');
  const rows = JSON.parse(execFileSync(binary, ['query', '--json', file, sql], { maxBuffer: 1 << 26 }));
  return held.filter((series, i) => rows[i].n !== series.count);
}

/** Of every series that the page holds: the samples that its points stand for, but for the last one, which may still grow. */
export function heldCounts(page) {
  return page.evaluate(() => {
    const { model } = window.attune;
    return [...model.points].filter(([, points]) => points.length > 1).map(([id, points]) => {
      let count = 0;
      for (let i = 0; i < points.length - 1; i++) count += points.count[i];
      const at = (t) => String(model.origin + BigInt(Math.round(t)));
      return { id, first: at(points.t[0]), last: at(points.t[points.length - 1]), count };
    });
  });
}

/** Frames a second that the browser really draws while the page follows. */
export function framesPerSecond(page, seconds) {
  return page.evaluate((length) => new Promise((resolve) => {
    let frames = -1;
    let begin = 0;
    const step = (now) => {
      if (frames++ < 0) begin = now;
      if (now - begin < length * 1000) requestAnimationFrame(step);
      else resolve((frames * 1000) / (now - begin));
    };
    requestAnimationFrame(step);
  }), seconds);
}

/** From the newest sample to the frame after the one that drew it, for every update that brought newer ones. */
export function agesMs(page, seconds) {
  return page.evaluate((length) => new Promise((resolve) => {
    const { attune } = window;
    const ages = [];
    const begin = performance.now();
    let updates = attune.drawnUpdates;
    let newest = attune.model.extent.t1;
    let drawnNewest = NaN;
    const step = (now) => {
      if (!Number.isNaN(drawnNewest)) ages.push(Date.now() - attune.model.wallMs(drawnNewest));
      drawnNewest = NaN;
      if (attune.drawnUpdates !== updates && attune.model.extent.t1 > newest) {
        newest = attune.model.extent.t1;
        drawnNewest = newest;
      }
      updates = attune.drawnUpdates;
      if (now - begin < length * 1000) requestAnimationFrame(step);
      else resolve(ages);
    };
    requestAnimationFrame(step);
  }), seconds);
}

const round = (value) => Math.round(value * 100) / 100;

export function report(figure, value, unit, limit, better, note) {
  console.log(JSON.stringify({ figure, value: round(value), unit, limit, better, note }));
}

export function reportUnavailable(figure, reason) {
  console.log(JSON.stringify({ figure, unavailable: reason }));
}
