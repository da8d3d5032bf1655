// node messages_test.mjs ATTUNE MPI_JOB [RANKS]: how the ranks of a job talk, on the page: while it runs, and in the recording, where
// the figures must be those of `attune query` and `attune report`. With RANKS a recording of so many is looked at instead.

import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { browserOrSkip, check, checkAxe, checkSaving, eventually, launchBrowser, openAtTip, recordWhole, SKIPPED, testFolder, tipAt, watchErrors } from './harness.mjs';
import { allowRoot, hasMpi, openMessages, pointOnRanks, ranksSettled, recordJob, showMessages, startJob, zoomRanks } from './messages_page.mjs';
import { findingShown, openPage } from './waits_page.mjs';

browserOrSkip();
if (!hasMpi()) {
  console.log('skipped: no Open MPI (apt install openmpi-bin)');
  process.exit(SKIPPED);
}
allowRoot();
const [attune, program, ranksText] = process.argv.slice(2);
const RANKS = 4;
const MANY = Number(ranksText ?? 0);
/** So long that the page has time for everything; it is ended when that is done. */
const SECONDS = 3000;
const LATE_SENDER = 2;
const folder = testFolder('web-messages');
const browser = await launchBrowser();

const query = (file, sql) => JSON.parse(execFileSync(attune, ['query', '--json', file, sql], { maxBuffer: 1 << 26 }));
const text = (page, selector) => page.locator(selector).first().textContent();

async function open(url, ranks) {
  const page = await openMessages(browser, url, ranks);
  return watchErrors(page);
}

/** The bytes from one rank to another, as the page has them. */
const matrixOf = (page) => page.evaluate(() => {
  const { ranks, pairs } = window.attune.waits.documents.get('messages');
  const number = new Map(ranks.map((rank) => [rank.id, rank.rank]));
  return pairs.map((pair) => [number.get(pair.source), number.get(pair.destination), pair.count, pair.bytes]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
});

async function taskGraph(page, what, ranks) {
  await showMessages(page, 'Task graph');
  // A ring, and both neighbours.
  const pairs = new Set(Array.from({ length: ranks }, (_, i) => [`${i} ${(i + 1) % ranks}`, ...(i > 0 ? [`${i} ${i - 1}`] : []), ...(i + 1 < ranks ? [`${i} ${i + 1}`] : [])]).flat()).size;
  await page.waitForFunction((count) => document.querySelectorAll('.task-edge').length === count, pairs);
  check(true, `${what}: the task graph has ${ranks} ranks and the ${pairs} pairs that exchange messages`);
  const rows = async (which) => Number(/\d+$/.exec(await page.locator('.message-details .segment').nth(which).textContent())[0]);
  const all = await rows(0);
  const node = page.locator('.task-node[aria-label^="rank 2:"]');
  await node.focus();
  await page.keyboard.press('Enter');
  const some = await rows(0);
  check(some > 0 && some < all && (await text(page, '.message-heading')).includes('of rank 2: sends'), `${what}: a key chooses a rank, and its ${some} of ${all} pairs`);
  await page.locator('.task-edge[aria-label^="rank 0 → rank 1"] .task-hit').dispatchEvent('click');
  check((await text(page, '.message-heading')).startsWith('of rank 0 → rank 1:'), `${what}: an edge can be chosen`);
  const places = page.locator('.message-details .table:not([hidden]) .table-rows .table-row:not([hidden])');
  const hasBoth = (rows) => rows.some((row) => /sender.*MPI_Send.*pass_round \(mpi_job\.c:\d+\)/.test(row)) && rows.some((row) => /receiver.*MPI_Irecv.*exchange_halo/.test(row));
  check(hasBoth(await eventually(() => places.allTextContents(), hasBoth)), `${what}: with its places in the code`);
  await places.filter({ hasText: 'MPI_Send' }).first().dispatchEvent('click');
  await page.waitForSelector('.source .line.current');
  check((await page.locator('.source .line.current').textContent()).includes('MPI_Send(out, bytes'), `${what}: of which the source is shown`);
  await page.keyboard.press('Escape');
  check(await page.locator('.source').isHidden(), `${what}: Escape closes it`);
  await page.keyboard.press('Escape');
  check((await rows(0)) === all, `${what}: then it takes the choice back`);
  const at = () => page.locator('.task-node circle').evaluateAll((all) => all.map((circle) => [Number(circle.getAttribute('cx')), Number(circle.getAttribute('cy'))]));
  const free = await at();
  await page.getByLabel('Layout of the task graph').selectOption('machine');
  await page.waitForFunction(() => document.querySelectorAll('.machine-box').length > 0);
  const boxes = await page.locator('.machine-box').evaluateAll((all) => all.map((box) => ['x', 'y', 'width', 'height'].map((name) => Number(box.getAttribute(name)))));
  const placed = await at();
  check(placed.every(([x, y]) => boxes.some(([left, top, width, height]) => x > left && x < left + width && y > top && y < top + height)) && JSON.stringify(free) !== JSON.stringify(placed), `${what}: on the machine each rank lies in a box, of ${boxes.length}`);
  await page.getByLabel('Layout of the task graph').selectOption('free');
  await page.getByLabel('Filter messages').fill('exchange_halo 3');
  await page.waitForFunction((count) => document.querySelectorAll('.task-node').length === count, ranks === 4 ? 2 : 3);
  check(true, `${what}: the filter knows places and ranks`);
  await page.getByLabel('Filter messages').fill('');
}

async function matrix(page, what, ranks) {
  await showMessages(page, 'Matrix');
  await page.waitForFunction((count) => window.attune.waits.messages.matrix.shown.matrix?.ranks.length === count && document.querySelector('.matrix canvas').width > 0, ranks);
  const { cell, left, top, count } = await page.evaluate(() => {
    const { cell, left, top, matrix } = window.attune.waits.messages.matrix.shown;
    return { cell, left, top, count: matrix.ranks.length };
  });
  const canvas = await page.locator('.matrix canvas').boundingBox();
  check(cell >= 7 && canvas.width >= left + count * cell, `${what}: a cell of the matrix of ${count} ranks is ${cell} pixels wide`);
  await page.mouse.move(canvas.x + left + 1.5 * cell, canvas.y + top + 0.5 * cell);
  check(/^rank 0 → rank 1: .* in [\d ]+ messages/.test(await text(page, '.matrix-status')), `${what}: the pointer says who sends what: ${await text(page, '.matrix-status')}`);
  await page.mouse.click(canvas.x + left + 1.5 * cell, canvas.y + top + 0.5 * cell);
  check((await text(page, '.message-heading')).startsWith('of rank 0 → rank 1:'), `${what}: a click chooses the pair`);
  await page.locator('.matrix canvas').focus();
  await page.keyboard.press('ArrowDown');
  check(/^rank 1 → rank 1: nothing/.test(await text(page, '.matrix-status')), `${what}: keys move, and nothing was sent there`);
  await page.keyboard.press('Escape');
}

async function tables(page, what, ranks) {
  await showMessages(page, 'Rank table');
  const rows = page.locator('.rank-table .table-rows .table-row:not([hidden])');
  const hasRanks = (of) => of.length >= Math.min(ranks, 8) && of[0].startsWith('rank 0');
  const shown = await eventually(() => rows.allTextContents(), hasRanks);
  check(hasRanks(shown), `${what}: each rank has a row: ${shown.join(' | ').slice(0, 200)}`);
  const [parallel] = await eventually(() => page.locator('.tile b').allTextContents(), ([share]) => parseFloat(share) > 0);
  check(parseFloat(parallel) > 0 && parseFloat(parallel) <= 100, `${what}: with the parallel efficiency, ${parallel}`);
  await showMessages(page, 'Collectives');
  const hasBoth = (of) => ['MPI_Bcast', 'MPI_Allreduce'].every((name) => of.some((row) => row.startsWith(`${name}MPI_COMM_WORLD`)));
  const operations = await eventually(() => page.locator('.collective-table .table-rows .table-row:not([hidden])').allTextContents(), hasBoth);
  check(hasBoth(operations), `${what}: collective operations: ${operations.length}`);
  await showMessages(page, 'Sizes');
  const hasSize = (of) => of.some((row) => row.startsWith('4 KiB – 8 KiB'));
  check(hasSize(await eventually(() => page.locator('.size-row[role=row]').allTextContents(), hasSize)), `${what}: messages by their size`);
}

/** Where somebody waits for a sender; shows such a part if none is in sight: on a busy machine some rounds have none that can be pointed at. */
async function onLateSender(page) {
  for (const rounds of [0, 8, 16, 32, 64, 128, 4]) {
    if (rounds > 0) await zoomRanks(page, rounds);
    const point = await pointOnRanks(page, LATE_SENDER);
    if (point) return point;
  }
  return null;
}

async function timeline(page, what, ranks) {
  await page.getByRole('tab', { name: 'Timeline', exact: true }).click();
  await ranksSettled(page);
  const rows = await eventually(() => page.evaluate(() => window.attune.waits.timeline.shown.rows.filter((row) => row.rank).length), (count) => count === ranks);
  check(rows === ranks, `${what}: ${rows} ranks have a row`);
  await onLateSender(page);
  const seen = await page.evaluate(() => {
    const { ranks: timeline, meetings, rows: all } = window.attune.waits.timeline.shown;
    const count = all.filter((row) => row.rank).length;
    return { arrows: timeline.arrows.length, meetings: meetings.length, whole: meetings.filter((meeting) => meeting.parts.length === count).length, backwards: timeline.arrows.filter((arrow) => arrow.t1 < arrow.t0).length };
  });
  check(seen.arrows > ranks && seen.meetings > 0 && seen.whole > 0, `${what}: zoomed in there are ${seen.arrows} messages and ${seen.meetings} collective operations`);
  check(seen.backwards === 0, `${what}: none of them arrives before it was sent`);
  const late = /^rank \d+waits .* for a message that is not sent yet, by MPI_\w+at (pass_round|exchange_halo) \(mpi_job\.c:\d+\)$/;
  const { text: waits } = await openAtTip(page, () => onLateSender(page), '.timeline .threads-tip', late, '.source .line.current');
  check(late.test(waits), `${what}: the tooltip says what a rank waits for: ${waits}`);
  check((await page.locator('.source .line.current').textContent()).includes('MPI_'), `${what}: a click shows the source`);
  await page.keyboard.press('Escape');
  if (ranks <= 8) {
    const arrow = /^rank \d → rank \d[\d.]+ (Ki)?B, tag [12], MPI_COMM_WORLDthere after .*sent at /;
    const { text: message } = await tipAt(page, () => pointOnRanks(page, 'arrow'), '.timeline .threads-tip', arrow);
    check(arrow.test(message), `${what}: and what a message is: ${message}`);
  }
  const length = await page.evaluate(() => window.attune.view.length);
  await page.mouse.wheel(0, -400);
  await page.waitForFunction((before) => window.attune.view.length < before * 0.9, length);
  await ranksSettled(page);
  check(true, `${what}: the wheel zooms`);
  await page.getByLabel('Filter rows').fill('1');
  await page.waitForFunction(() => window.attune.waits.timeline.shown.rows.filter((row) => row.rank).length === 1);
  await page.getByLabel('Filter rows').fill('');
  await page.waitForFunction((count) => window.attune.waits.timeline.shown.rows.filter((row) => row.rank).length === count, ranks);
  check(true, `${what}: ranks are filtered by their number`);
}

/** The other views are looked at by axe and saved as files, once. */
async function looks(page, what) {
  for (const view of ['Task graph', 'Matrix', 'Rank table', 'Collectives', 'Sizes']) {
    await showMessages(page, view);
    await checkAxe(page, `${what}, ${view}`);
    await checkSaving(page, `${what}, ${view}`, '.waits');
  }
  await page.getByRole('tab', { name: 'Timeline', exact: true }).click();
  await ranksSettled(page);
  await checkAxe(page, `${what}, Timeline`);
  const room = await page.evaluate(() => {
    const scroller = document.querySelector('.timeline .threads-scroller');
    const { rows } = window.attune.waits.timeline.shown;
    return { rows: rows.length, used: (rows.at(-1).top + rows.at(-1).height) / scroller.clientHeight, height: Math.min(...rows.filter((row) => row.rank).map((row) => row.height)) };
  });
  check(room.used > 0.7 || room.height >= 51, `${what}: few ranks use the room that there is: ${JSON.stringify(room)}`);
}

async function everything(page, what, ranks) {
  await taskGraph(page, what, ranks);
  await matrix(page, what, ranks);
  await tables(page, what, ranks);
  await timeline(page, what, ranks);
}

/** A finding of messages comes with the others, and leads to when its ranks waited. */
async function findings() {
  const file = path.join(folder, 'late.attune');
  recordJob(attune, program, 2, 40, file, 100, 100_000);
  const session = await Session.start(attune, 'view', file);
  const what = 'a late rank';
  try {
    const page = await open(session.url, 2);
    const line = page.locator('.finding', { hasText: /late-sender/ }).first();
    await findingShown(page, 'late-sender');
    check((await line.textContent()).includes('pass_round (mpi_job.c'), `${what}: is a finding, with its place: ${await line.textContent()}`);
    await line.click();
    await page.getByRole('button', { name: 'On the timeline' }).click();
    await page.waitForFunction(() => window.attune.waits.workspace === 'timeline' && window.attune.waits.timeline.shown.rows.filter((row) => row.rank).length === 2);
    check((await page.locator('.timeline .only').textContent()) === 'only 2 ranks', `${what}: leads to the timeline of its ranks`);
    await page.context().close();
  } finally {
    await session.stop();
  }
}

async function whileItRuns() {
  const session = await startJob(attune, program, RANKS, SECONDS, path.join(folder, 'live.attune'));
  try {
    const page = await open(session.url, RANKS);
    await everything(page, 'live', RANKS);
    await showMessages(page, 'Matrix');
    const before = await matrixOf(page);
    await page.waitForFunction((bytes) => window.attune.waits.documents.get('messages').pairs.reduce((sum, pair) => sum + pair.bytes, 0) > bytes, before.reduce((sum, pair) => sum + pair[3], 0));
    check(true, 'live: what was sent grows while the program runs');
    await page.getByRole('tab', { name: 'Timeline', exact: true }).click();
    const end = await page.evaluate(() => {
      window.attune.follow();
      return window.attune.waits.timeline.shown.ranks.t1;
    });
    await page.waitForFunction((t) => window.attune.waits.timeline.shown.ranks.t1 > t + 2e9, end);
    check(true, 'live: the timeline follows');
    await page.context().close();
  } finally {
    await session.stop();
  }
}

/** The sums of the whole time's states are those of the tables. */
async function sums(page, file, what, ranks) {
  await page.getByRole('tab', { name: 'Timeline', exact: true }).click();
  await page.evaluate(() => {
    const { t0, t1 } = window.attune.model.extent;
    window.attune.show({ t0, t1 });
  });
  await ranksSettled(page);
  const shown = await page.evaluate(() => {
    const { ranks: timeline } = window.attune.waits.timeline.shown;
    const totals = {};
    timeline.sums.state.forEach((state, row) => (totals[state] = (totals[state] ?? 0) + timeline.sums.share[row] * timeline.width));
    // Of single calls waiting is a part of them.
    for (const spans of timeline.spans.values()) for (const { state, t0, t1 } of spans) totals[state] = (totals[state] ?? 0) + t1 - t0;
    if (timeline.single) totals[4] -= totals[5];
    return { single: timeline.single, ...totals };
  });
  check(ranks > 8 || !shown.single, `${what}: all of it is too much to tell each call apart`);
  const [{ ns }] = query(file, 'select sum(t_ns - wait_ns) as ns from collectives');
  const drawn = shown[4] + shown[5];
  check(Math.abs(drawn - ns) < 0.03 * ns, `${what}: ranks are in collective operations for ${(ns / 1e9).toFixed(3)} s, the timeline shows ${(drawn / 1e9).toFixed(3)} s`);
  const report = JSON.parse(execFileSync(attune, ['report', '--json', file], { maxBuffer: 1 << 26 })).messages;
  const waited = report.ranks.reduce((sum, rank) => sum + rank.collective_waited_ns, 0);
  check(Math.abs(shown[5] - waited) < 0.03 * waited, `${what}: of it waiting for ${(waited / 1e9).toFixed(3)} s, the timeline shows ${(shown[5] / 1e9).toFixed(3)} s`);
}

async function recorded(ranks, rounds) {
  const file = path.join(folder, 'job.attune');
  recordWhole(attune, file, () => recordJob(attune, program, ranks, rounds, file));
  const session = await Session.start(attune, 'view', file);
  const what = `recorded, ${ranks} ranks`;
  try {
    const page = await open(session.url, ranks);
    const rows = query(file, 'select s.os_id as source, d.os_id as destination, count(*) as n, sum(bytes) as bytes from messages join elements s on s.id = rank join elements d on d.id = peer where messages.kind = \'sent\' group by 1, 2 order by 1, 2');
    const wanted = rows.map((row) => [row.source, row.destination, row.n, row.bytes]);
    check(wanted.length > ranks && JSON.stringify(await matrixOf(page)) === JSON.stringify(wanted), `${what}: the matrix has the messages and bytes of attune query, of ${wanted.length} pairs`);
    const report = JSON.parse(execFileSync(attune, ['report', '--json', file], { maxBuffer: 1 << 28 })).messages;
    const shown = await page.evaluate(() => window.attune.waits.documents.get('messages'));
    for (const part of ['ranks', 'pairs', 'collectives', 'sizes', 'efficiency']) check(JSON.stringify(shown[part]) === JSON.stringify(report[part]), `${what}: ${part} are those of attune report`);
    check(report.unmatched_sent + report.unmatched_received === 0, `${what}: each message has its other side`);
    await everything(page, what, ranks);
    if (ranks <= 8) await looks(page, what);
    await sums(page, file, what, ranks);
    await page.context().close();
  } finally {
    await session.stop();
  }
}

/** A program without MPI: what to do is said. */
async function without() {
  const file = path.join(folder, 'none.attune');
  execFileSync(attune, ['run', '-q', '-o', file, '--', 'sh', '-c', 'sleep 0.3'], { stdio: 'ignore' });
  const session = await Session.start(attune, 'view', file);
  try {
    const page = await openPage(browser, session.url);
    await page.getByRole('tab', { name: 'Messages', exact: true }).click();
    const empty = page.locator('.no-messages:visible');
    await empty.waitFor();
    check((await empty.textContent()).includes('attune live -- mpirun -n 4 ./program'), 'without MPI: the page says what to do');
    await page.context().close();
  } finally {
    await session.stop();
  }
}

/** Processes with a pipe between them are no ranks, and what they write are no messages. */
async function processes() {
  const file = path.join(folder, 'pipe.attune');
  execFileSync(attune, ['run', '-q', '-o', file, '--', 'sh', '-c', 'dd if=/dev/zero bs=4096 count=500 2>/dev/null | dd of=/dev/null bs=4096 2>/dev/null'], { stdio: 'ignore' });
  const session = await Session.start(attune, 'view', file);
  try {
    const page = await openPage(browser, session.url);
    await page.getByRole('tab', { name: 'Messages', exact: true }).click();
    await page.waitForFunction(() => window.attune.waits.documents.get('messages')?.ranks.length > 1);
    const summary = await text(page, '.messages .waits-summary');
    const shown = await page.evaluate(() => window.attune.waits.documents.get('messages'));
    const writes = shown.pairs.reduce((sum, pair) => sum + pair.count, 0);
    check(/^\d+ processes · [\d ]+ writes, /.test(summary) && !/rank|message/.test(summary) && Number(/· ([\d ]+) writes/.exec(summary)[1].replaceAll(' ', '')) === writes, `processes: ${summary}`);
    const views = await page.locator('.messages [role=tab]').locator('visible=true').allTextContents();
    check(views.includes('Processes') && !views.includes('Rank table') && !views.includes('Collectives'), `processes: the views are ${views.join(', ')}`);
    await page.getByRole('tab', { name: 'Processes', exact: true }).click();
    const head = await page.locator('.rank-table .table-row.head').textContent();
    check(head.startsWith('Process'), `processes: the table is of them: ${head}`);
    await checkAxe(page, 'processes');
    await page.context().close();
  } finally {
    await session.stop();
  }
}

try {
  if (MANY > 0) {
    await recorded(MANY, 40);
  } else {
    await whileItRuns();
    await recorded(RANKS, 1200);
    await findings();
    await without();
    await processes();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(process.exitCode ? 'failed' : 'passed');
