// What the test of the waits and their pictures share: a program of 64 threads under attune, and how to get around on the page.

import { Session } from '../../bench/page/session.mjs';
import { newContext } from './harness.mjs';

/** A live session of many_threads. */
export function startThreads(attune, program, seconds, file) {
  return Session.start(attune, 'live', '--level', 'blame', '-o', file, '--', program, String(seconds));
}

export async function openPage(browser, url, context = {}) {
  const page = await (await newContext(browser, context)).newPage();
  await page.goto(url);
  return page;
}

/** Until a finding is on the page: on a busy machine others may come before it. */
export function findingShown(page, finding) {
  return page.waitForFunction((text) => {
    const isThere = [...document.querySelectorAll('.finding')].some((line) => line.textContent.includes(text));
    if (!isThere) [...document.querySelectorAll('.finding-more')].find((more) => / more$/.test(more.textContent))?.click();
    return isThere;
  }, finding);
}

/** A page with its findings. @param finding the text of one of them */
export async function openWaits(browser, url, finding, context = {}) {
  const page = await openPage(browser, url, context);
  await findingShown(page, finding);
  return page;
}

export async function showWorkspace(page, name) {
  await page.getByRole('tab', { name, exact: true }).click();
  if (name === 'Graph') await page.waitForFunction(() => document.querySelectorAll('.graph .edge').length > 2);
  if (name === 'Timeline') {
    await settled(page);
    await page.waitForFunction(() => window.attune.waits.documents.get('sites') && !document.querySelector('.critical').hidden);
  }
  if (name === 'Flames') await page.waitForFunction(() => window.attune.waits.flames.shown.boxes.length > 2);
  if (name === 'Locks') await page.waitForFunction(() => document.querySelectorAll('.locks .table-rows .table-row:not([hidden])').length > 0);
}

/** Until the timeline of what is on screen has come. */
export function settled(page) {
  return page.waitForFunction(() => window.attune.waits.timeline.settled);
}

/** Shows a range of so many ns, from this share of what there is on. */
export async function zoomIn(page, length = 40e6, share = 0.5) {
  await page.evaluate(([ns, part]) => {
    const { t0, t1 } = window.attune.model.extent;
    const from = t0 + (t1 - t0) * part;
    window.attune.show({ t0: from, t1: from + ns });
  }, [length, share]);
  await page.waitForFunction(() => window.attune.waits.timeline.settled && window.attune.waits.timeline.shown.timeline.single);
}

/** The middle of a box of the flame graph, as a point on the page. @param name how it begins */
export async function flameOf(page, name) {
  const at = await page.evaluate((wanted) => {
    const { boxes, tree } = window.attune.waits.flames.shown;
    const found = boxes.filter((box) => tree.frameOf(box.node)?.name.startsWith(wanted)).sort((a, b) => b.width - a.width)[0];
    if (!found) return null;
    const canvas = document.querySelector('.flames canvas').getBoundingClientRect();
    const scrolled = document.querySelector('.flames-scroller').scrollTop;
    return { x: canvas.left + found.left + found.width / 2, y: canvas.top + found.depth * 20 - scrolled + 10 };
  }, name);
  if (!at) throw new Error(`no box of ${name} is on screen`);
  return at;
}

/** What fills the width of the flame graph; '': all of it. */
export function flameShown(page) {
  return page.evaluate(() => {
    const { tree, zoomed } = window.attune.waits.flames.shown;
    return tree.frameOf(zoomed)?.name ?? '';
  });
}

/** A moment at which a thread of this name waits, as a point on the page; null: there is none. @param longest of the wait, as a part of what is shown */
export async function waitOf(page, name, longest = Infinity) {
  const at = await page.evaluate(([wanted, most]) => {
    const { view, waits, model } = window.attune;
    const { timeline, rows } = waits.timeline.shown;
    const { t0, t1 } = view.range;
    const box = document.querySelector('.threads-over').getBoundingClientRect();
    const scrolled = document.querySelector('.threads-scroller').scrollTop;
    for (const row of rows) {
      if (!row.thread || !model.elements.get(row.thread.id).name.startsWith(wanted) || row.top - scrolled + 20 > box.height) continue;
      for (const span of timeline.spans.get(row.thread.id) ?? []) {
        const t = (Math.max(span.t0, t0) + Math.min(span.t1, t1)) / 2;
        const part = (span.t1 - span.t0) / (t1 - t0);
        if (t > t0 && t < t1 && part > 0.01 && part < most) return { x: box.left + ((t - t0) / (t1 - t0)) * box.width, y: box.top + row.top - scrolled + row.height / 2 };
      }
    }
    return null;
  }, [name, longest]);
  return at;
}

/** The middle of a time in which a thread of this name has a lock for 6 ms or longer, as a point on the page, and how long that is. */
export async function holdOf(page, name) {
  const at = await page.evaluate((wanted) => {
    const { view, waits, model } = window.attune;
    const { timeline, rows } = waits.timeline.shown;
    const { t0, t1 } = view.range;
    const over = document.querySelector('.threads-over').getBoundingClientRect();
    const scroller = document.querySelector('.threads-scroller');
    for (const row of rows) {
      if (!row.thread || !model.elements.get(row.thread.id).name.startsWith(wanted)) continue;
      const hold = (timeline.holds.get(row.thread.id) ?? []).find((one) => one.holds === 1 && one.t1 - one.t0 >= 6e6 && one.t0 > t0 && one.t1 < t1);
      if (!hold) continue;
      if (row.top < scroller.scrollTop || row.top + 40 > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = row.top - 40;
      return { x: over.left + (((hold.t0 + hold.t1) / 2 - t0) / (t1 - t0)) * over.width, y: over.top + row.top - scroller.scrollTop + row.height / 2, ms: (hold.t1 - hold.t0) / 1e6 };
    }
    return null;
  }, name);
  if (!at) throw new Error(`no lock that ${name} has is on screen`);
  return at;
}
