// What the test of messages and their pictures share: a job of MPI under attune, and how to get around on the page.

import { execFileSync } from 'node:child_process';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { openPage } from './waits_page.mjs';

/** mpirun of Open MPI, as root too, with more ranks than CPUs. */
export const MPIRUN = ['mpirun.openmpi', '--oversubscribe'];

export function hasMpi() {
  try {
    execFileSync(MPIRUN[0], ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export function allowRoot() {
  process.env.OMPI_ALLOW_RUN_AS_ROOT = process.env.OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = '1';
}

/** A live session of mpi_job. @param program its path, or its name where that is in the PATH */
export function startJob(attune, program, ranks, seconds, file, ...options) {
  return Session.start(attune, 'live', '-o', file, ...options, '--', ...MPIRUN, '-n', String(ranks), program, String(seconds));
}

/** A recording of mpi_job. @param rounds that it makes @param rest, late in us, in each */
export function recordJob(attune, program, ranks, rounds, file, rest = 100, late = 500) {
  execFileSync(attune, ['run', '-q', '-o', file, '--', ...MPIRUN, '-n', String(ranks), program, '300', String(rest), String(late), String(rounds)], { stdio: 'ignore', cwd: path.dirname(file) });
}

/** A page with the messages of this many ranks. */
export async function openMessages(browser, url, ranks, context = {}) {
  const page = await openPage(browser, url, context);
  await page.waitForFunction(() => window.attune?.waits);
  await showMessages(page, 'Task graph');
  await page.waitForFunction((count) => window.attune.waits.documents.get('messages')?.ranks.length === count && document.querySelectorAll('.task-node').length === count, ranks);
  return page;
}

/** @param view "Matrix", "Rank table", ... */
export async function showMessages(page, view) {
  await page.getByRole('tab', { name: 'Messages', exact: true }).click();
  await page.getByRole('tab', { name: view, exact: true }).click();
}

/** Until the timeline of what is on screen has come. */
export async function ranksSettled(page) {
  await page.waitForFunction(() => window.attune.waits.timeline.settled);
}

/** Shows about so many rounds in the middle of all messages, of which each call is told. */
export async function zoomRanks(page, rounds) {
  await page.waitForFunction(() => window.attune.waits.documents.get('messages')?.collectives.length > 0);
  await page.evaluate(() => window.attune.show({ t0: window.attune.model.extent.t0, t1: window.attune.model.extent.t1 }));
  await ranksSettled(page);
  await page.evaluate((wanted) => {
    const { ranks: timeline } = window.attune.waits.timeline.shown;
    const times = [...timeline.sums.bucket].map((bucket) => timeline.t0 + bucket * timeline.width).concat([...timeline.spans.values()].flat().map((span) => span.t0)).sort((a, b) => a - b);
    const from = times[times.length >> 1];
    const made = Math.max(...window.attune.waits.documents.get('messages').collectives.map((row) => row.operations));
    window.attune.show({ t0: from, t1: from + (wanted * (times.at(-1) - times[0])) / made });
  }, rounds);
  await ranksSettled(page);
}

/** Where something of the timeline is, as a point on the page: the longest span of a state that is in sight, or the first arrow; null: nowhere. */
export async function pointOnRanks(page, what) {
  const at = await page.evaluate((wanted) => {
    const { view, waits } = window.attune;
    const { ranks: timeline, rows: all, inSight } = waits.timeline.shown;
    const rows = all.filter((row) => row.rank);
    const { t0, t1 } = view.range;
    const box = document.querySelector('.timeline .threads-over').getBoundingClientRect();
    const scrolled = document.querySelector('.timeline .threads-scroller').scrollTop;
    const x = (t) => box.left + ((t - t0) / (t1 - t0)) * box.width;
    const y = (rank) => {
      const { top, height } = rows.find((row) => row.rank.id === rank);
      return box.top + top - scrolled + height / 2;
    };
    if (wanted === 'arrow') {
      // Far enough from the bars, which lie on top.
      const arrow = inSight.find((one) => Math.abs(y(one.from) - y(one.to)) > 40 && one.t0 > t0 && one.t1 < t1);
      return arrow ? { x: (x(arrow.t0) + x(arrow.t1)) / 2, y: (y(arrow.from) + y(arrow.to)) / 2 } : null;
    }
    const length = ({ span }) => (span ? span.t1 - span.t0 : 0);
    const longest = rows.filter(({ top, height }) => top >= scrolled && top + height <= scrolled + box.height).map(({ rank: { id } }) => ({ id, span: (timeline.spans.get(id) ?? []).filter((one) => one.state === wanted && one.t0 > t0 && one.t1 < t1).sort((a, b) => b.t1 - b.t0 - (a.t1 - a.t0))[0] }))
      .sort((a, b) => length(b) - length(a))[0];
    return longest && length(longest) > (t1 - t0) / 400 ? { x: x((longest.span.t0 + longest.span.t1) / 2), y: y(longest.id) } : null;
  }, what);
  return at;
}
