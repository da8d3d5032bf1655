// node states_test.mjs ATTUNE FOLDER [--full]: report, JSON, SQL, page and Perfetto say the same of what threads did with their time, on
// recordings of programs with every state. FOLDER has the programs of the tests (build/release). What may differ is what each view rounds.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { check, browserOrSkip, eventually, launchBrowser, newContext, recordWhole, testFolder, watchErrors } from './harness.mjs';
import { allowRoot, hasMpi, MPIRUN, recordJob } from './messages_page.mjs';
import { statesOf } from './perfetto.mjs';

browserOrSkip();
const [attune, build] = process.argv.slice(2);
const isFull = process.argv.includes('--full');
const folder = testFolder('web-states');
allowRoot();
const PROGRAM = { states: path.join(build, 'bin/states'), threads: path.join(build, 'bin/many_threads'), openmp: path.join(build, 'tests/e2e/crowd'), mpi: path.join(build, 'tests/web/mpi_job'), mix: path.join(build, 'tests/e2e/mpi_mix_openmpi') };
/** Nanoseconds that are lost where doubles of seconds become integers, or integers are written as such. */
const NS = 2e-9;
/** Shares of the server's answers have 24 bits. */
const SHARE = 2 ** -24;
/** Names of the page for lines of an account that are called otherwise there. */
const ON_PAGE = { 'queued': 'runnable, no CPU', 'queued_program': 'runnable, no CPU', 'queued_others': 'runnable, no CPU', 'queued_wake': 'runnable, no CPU', 'OpenMP task wait': 'OpenMP', 'OpenMP ordered': 'OpenMP', 'once': 'initialiser', 'call': 'another system call' };
const STATE = { 'MPI': 'mpi', 'thread creation': 'create', 'OpenMP task wait': 'openmp', 'OpenMP ordered': 'openmp' };

/** What tests/web/states.c does, as the scheduler's switches show it. */
const EVERY = ['running', 'lock', 'condition', 'barrier', 'semaphore', 'join', 'futex', 'sleep', 'poll', 'pipe', 'socket', 'device', 'event', 'file', 'child', 'signal', 'stopped', 'call'];

const run = (...words) => execFileSync(attune, words, { maxBuffer: 1 << 28, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

// ---- recordings ---------------------------------------------------------------------------------------------------------

const fileOf = (name) => path.join(folder, `${name}.attune`);

/** @return the file, or null where this cannot be recorded here @param record writes the file, whatever the program ends with */
function recorded(name, record) {
  const file = fileOf(name);
  recordWhole(attune, file, () => record(file));
  return existsSync(file) ? file : null;
}

const plain = (name, program, ...options) => recorded(name, (file) => spawnSync(attune, ['record', '-q', ...options, '-o', file, '--', ...program], { stdio: 'ignore' }));

/** Without the scheduler's switches, as root who becomes an ordinary user; else as the one who runs this. */
function asUser() {
  if (process.getuid() !== 0) return plain('user', [PROGRAM.states]);
  const own = path.join(folder, 'user');
  mkdirSync(own, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o711);
  chownSync(own, 65534, 65534);
  const user = ['--reuid=65534', '--regid=65534', '--clear-groups', '--inh-caps=-all'];
  if (spawnSync('setpriv', [...user, attune, '--version']).status !== 0) return null; // the build folder is not for everybody
  return recorded('user/user', (file) => spawnSync('setpriv', [...user, attune, 'record', '-q', '-o', file, '--', PROGRAM.states], { stdio: 'ignore', env: { ...process.env, XDG_RUNTIME_DIR: own } }));
}

const job = () => (hasMpi() && existsSync(PROGRAM.mpi) ? recorded('job', (file) => recordJob(attune, PROGRAM.mpi, 3, 150, file)) : null);

/** Two ranks, each on a host of its own: they have other names, and other sessions. */
function merged() {
  if (!hasMpi() || !existsSync(PROGRAM.mix) || spawnSync('unshare', ['--uts', 'true']).status !== 0) return null;
  const rank = path.join(folder, 'rank.sh');
  writeFileSync(rank, `#!/bin/sh
hostname "node$OMPI_COMM_WORLD_RANK"
export XDG_RUNTIME_DIR="${folder}/runtime-$OMPI_COMM_WORLD_RANK"
mkdir -p -m 700 "$XDG_RUNTIME_DIR"
exec "${attune}" run -q -f -o "${folder}/host-$OMPI_COMM_WORLD_RANK.attune" -- "${PROGRAM.mix}"
`, { mode: 0o755 });
  return recorded('merged', (file) => {
    spawnSync(MPIRUN[0], [...MPIRUN.slice(1), '-n', '2', 'unshare', '--uts', rank], { stdio: 'ignore' });
    spawnSync(attune, ['merge', '-o', file, ...[0, 1].map((i) => path.join(folder, `host-${i}.attune`))], { stdio: 'ignore' });
  });
}

/** As a session leaves it that was killed. */
function truncated(whole) {
  const file = fileOf('truncated');
  copyFileSync(whole, file);
  truncateSync(file, Math.round(statSync(whole).size * 0.7));
  return file;
}

const PYTHON = `
import threading, time
lock = threading.Lock()
def work():
    for _ in range(40):
        with lock: time.sleep(0.002)
        sum(range(40000))
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
`;

/** A real program, which reads a file and writes another one. */
function compressor() {
  const [input, output] = [path.join(folder, 'text'), path.join(folder, 'text.xz')];
  writeFileSync(input, Array.from({ length: 1 << 17 }, (_, i) => `line ${i} ${(i * 7919) % 10007}\n`).join(''));
  const by = ['pigz', 'xz', 'gzip'].find((name) => spawnSync(name, ['--version']).status === 0);
  return by ? plain(by, ['sh', '-c', `${by} -c ${input} >${output}`]) : null;
}

function recordings() {
  const few = { 'every state': () => plain('states', [PROGRAM.states]), 'by an ordinary user': asUser, 'several ranks': job };
  const more = {
    'without hooks': () => plain('off', [PROGRAM.states], '--level', 'off'),
    'with a trace': () => plain('trace', [PROGRAM.states], '--level', 'trace'),
    '64 threads': () => plain('threads', [PROGRAM.threads, '2'], '--level', 'blame'),
    'a truncated file': () => truncated(fileOf('threads')),
    'OpenMP': () => plain('openmp', [PROGRAM.openmp]),
    'several processes': () => plain('processes', ['sh', '-c', 'sleep 0.2; yes | head -c 20000000 >/dev/null; (sleep 0.1; true) & wait']),
    'a program that aborts': () => plain('abort', ['/usr/bin/python3', '-c', 'import os, time; time.sleep(0.3); os.abort()']),
    'Python': () => plain('python', ['/usr/bin/python3', '-c', PYTHON]),
    'a compressor': compressor,
    'two hosts, merged': merged,
  };
  return Object.entries(isFull ? { ...few, ...more } : few);
}

// ---- what the views say -------------------------------------------------------------------------------------------------

/** A number as it is printed, and half of its last digit, in seconds or as a share. */
function printed(text) {
  const parts = [...text.matchAll(/([\d.]+) (ns|us|µs|ms|s|min|h|%)/g)];
  const FACTOR = { 'ns': 1e-9, 'us': 1e-6, 'µs': 1e-6, 'ms': 1e-3, 's': 1, 'min': 60, 'h': 3600, '%': 0.01 };
  const last = parts.at(-1);
  if (!last) throw new Error(`no number: ${text}`);
  const value = parts.reduce((sum, [, number, unit]) => sum + Number(number) * FACTOR[unit], 0);
  // The digits of a whole number of three may be zeros that are none: 120 ms. Minutes and hours are cut.
  const step = (10 ** -(last[1].split('.')[1]?.length ?? 0)) * FACTOR[last[2]];
  return { value, half: parts.length > 1 ? step : step / 2 };
}

const isSame = (text, value) => {
  const { value: shown, half } = printed(text);
  return Math.abs(shown - value) <= half * (1 + 1e-6) + NS;
};

class Differences {
  constructor(view) {
    [this.view, this.compared, this.found] = [view, 0, []];
  }

  expect(condition, text) {
    this.compared++;
    if (!condition) this.found.push(text);
  }

  near(value, wanted, tolerance, text) {
    this.expect(Math.abs(value - wanted) <= tolerance, `${text}: ${value}, and not ${wanted}`);
  }

  report(name) {
    check(this.compared > 0 && this.found.length === 0, `${name}: ${this.view} has the same ${this.compared} values${this.found.length === 0 ? '' : `, but for ${this.found.length}: ${this.found.slice(0, 5).join('; ')}`}`);
  }
}

const nameOf = ({ tid, name }) => `${tid} ${name}`;
const sum = (values) => values.reduce((all, value) => all + value, 0);
const isActive = (line) => line === 'running' || line.startsWith('queued');

/** The table "Where the time went", and its heading. */
function compareText(file, account) {
  const text = new Differences('the report');
  const lines = run('report', file, 'account', '--top', '100000').split('\n');
  const at = lines.findIndex((line) => line.includes('Where the time went'));
  const rows = lines.slice(at + 2).flatMap((line) => line.match(/^ *([\d.]+ \S+(?: \d+ \S+)?) {2,}([\d.]+ %) {2,}([\d.]+ %) {2,}(?:([\d.]+ %) {2,})?(\S.*?) {2,}(\d+|\?)(?: \(.*\))?$/) ?? []).reduce((all, cell, i) => (i % 7 === 0 ? all.push([cell]) : all.at(-1).push(cell), all), []);
  text.expect(rows.length === account.threads.length, `${rows.length} rows of ${account.threads.length} threads`);
  for (const [i, [, life, running, queued, alone, asleep, tid]] of rows.entries()) {
    const thread = account.threads[i];
    const share = (seconds) => seconds / thread.life_seconds;
    const who = nameOf(thread);
    text.expect(tid === String(thread.tid ?? '?'), `row ${i} is of ${tid}, and not of ${who}`);
    text.expect(isSame(life, thread.life_seconds), `${who} lives ${life}, and not ${thread.life_seconds} s`);
    text.expect(isSame(running, share(thread.seconds.running ?? 0)), `${who} runs ${running}, and not ${share(thread.seconds.running ?? 0)}`);
    text.expect(isSame(queued, share(sum(Object.keys(thread.seconds).filter((line) => line.startsWith('queued')).map((line) => thread.seconds[line])))), `${who} is queued ${queued}`);
    if (account.exact) text.expect(isSame(alone, share(thread.alone_seconds)), `${who} is alone ${alone}, and not ${share(thread.alone_seconds)}`);
    const sleeps = Object.entries(thread.seconds).filter(([line, seconds]) => !isActive(line) && share(seconds) >= 0.01).sort((a, b) => b[1] - a[1]).slice(0, 3);
    if (share(thread.unknown_seconds) >= 0.01) sleeps.push(['not known', thread.unknown_seconds]);
    const told = asleep === '-' ? [] : asleep.split(', ').map((one) => one.match(/^(.+) ([\d.]+ %)$/));
    text.expect(told.map((one) => one?.[1]).join() === sleeps.map(([line]) => line).join(), `${who} sleeps for ${asleep}, and not ${JSON.stringify(sleeps)}`);
    for (const [k, one] of told.entries()) if (one && sleeps[k]) text.expect(isSame(one[2], share(sleeps[k][1])), `${who}: ${one[0]}, and not ${share(sleeps[k][1])}`);
  }
  const capacity = account.cpus * account.wall_seconds;
  for (const [key, word] of [['program', 'the program'], ['others', 'others'], ['idle', 'idle']]) {
    if (account[`${key}_seconds`] === null) continue;
    const told = lines[at].match(new RegExp(`${word} ([\\d.]+ %)`))?.[1] ?? '';
    text.expect(told !== '' && isSame(told, account[`${key}_seconds`] / capacity), `${word}: ${told}, and not ${account[`${key}_seconds`] / capacity}`);
  }
  return text;
}

function compareSql(file, account) {
  const sql = new Differences('SQL');
  const ask = (query) => JSON.parse(run('query', '--json', file, query));
  const rows = ask('select thread, state, ns from account');
  const told = new Map(rows.map(({ thread, state, ns }) => [`${thread} ${state}`, ns * 1e-9]));
  sql.expect(told.size === rows.length, 'a state has several rows');
  const wanted = account.threads.flatMap(({ id, seconds, unknown_seconds: unknown }) => [...Object.entries(seconds), ['unknown', unknown]].map(([line, s]) => [`${id} ${line}`, s]));
  wanted.push(['null program', account.program_seconds], ...['others', 'idle', 'unknown'].map((key) => [`null ${key}`, account[`${key}_seconds`] ?? 0]));
  for (const [key, seconds] of wanted) sql.near(told.get(key) ?? 0, seconds, NS, key);
  for (const key of told.keys()) sql.expect(wanted.some(([one]) => one === key), `${key} is in SQL alone`);
  // The process as a whole.
  for (const { process, ns } of ask('select process, sum(ns) as ns from account where thread is not null group by 1')) {
    const pid = ask(`select os_id from elements where id = ${process}`)[0].os_id;
    const threads = account.threads.filter((thread) => thread.pid === pid);
    const all = sum(threads.map(({ life_seconds: life }) => life));
    if (ask(`select count(*) as n from elements where kind = 'process' and os_id = ${pid}`)[0].n === 1) sql.near(ns * 1e-9, all, NS * 20 * threads.length, `process ${pid}`);
  }
  // What the account is made of: only calls of futex are divided by what they are for.
  if (!account.exact) return sql;
  const raw = new Map(ask('select element, state, sum(ns) as ns from state_times group by 1, 2').map(({ element, state, ns }) => [`${element} ${state}`, ns * 1e-9]));
  const states = ['running', 'queued_program', 'queued_others', 'queued_wake', 'sleep', 'poll', 'pipe', 'socket', 'device', 'file', 'event', 'child', 'signal', 'memory', 'stopped', 'call'];
  for (const { id, seconds } of account.threads) {
    for (const state of states) sql.near(raw.get(`${id} ${state}`) ?? 0, seconds[state] ?? 0, NS, `state_times of ${id}, ${state}`);
    const divided = sum(Object.entries(seconds).filter(([line]) => !states.includes(line)).map(([, s]) => s));
    sql.near(raw.get(`${id} futex`) ?? 0, divided, NS, `state_times of ${id}, futex`);
  }
  return sql;
}

function comparePerfetto(file, account) {
  const perfetto = new Differences('Perfetto');
  const trace = path.join(folder, 'states.pftrace');
  run('export', file, '--to', 'perfetto', '--force', '-o', trace);
  const threads = statesOf(new Uint8Array(readFileSync(trace)));
  for (const thread of account.threads) {
    const told = threads.get(thread.id);
    const lines = Object.entries(thread.seconds).filter(([, seconds]) => seconds >= 1e-9);
    perfetto.expect(told !== undefined || lines.length === 0, `${nameOf(thread)} has no states`);
    if (told === undefined) continue;
    // With several hosts the trace's numbers of threads are larger.
    perfetto.expect(thread.tid === null || told.tid % (1 << 22) === thread.tid, `the track of ${nameOf(thread)} is ${told.tid}`);
    for (const [line, seconds] of lines) perfetto.near(told.seconds[line] ?? 0, seconds, NS, `${nameOf(thread)}, ${line}`);
    for (const line of Object.keys(told.seconds)) perfetto.expect(line in thread.seconds, `${nameOf(thread)} has ${line} there alone`);
  }
  perfetto.expect(threads.size <= account.threads.length, `${threads.size} threads of ${account.threads.length}`);
  return perfetto;
}

// ---- the page -----------------------------------------------------------------------------------------------------------

/** The timeline of all threads, over all of the time. */
async function openTimeline(browser, url, threads) {
  const page = watchErrors(await (await newContext(browser, { viewport: { width: 1600, height: Math.min(6000, 900 + 40 * threads) } })).newPage());
  await page.goto(url);
  await page.waitForFunction(() => window.attune?.waits?.documents.get('waits'));
  await page.getByRole('tab', { name: 'Timeline', exact: true }).click();
  const each = page.locator('.timeline .segment', { hasText: 'Threads' });
  if (await each.isVisible()) await each.click();
  await page.evaluate(() => window.attune.show({ ...window.attune.model.extent }));
  await page.waitForFunction(() => {
    const { view, model, waits } = window.attune;
    return waits.timeline.settled && view.range.t0 <= model.extent.t0 && view.range.t1 >= model.extent.t1;
  });
  await framesDrawn(page);
  return page;
}

/** Sums of an account's lines, by the names or the states of the page. */
function byState(seconds, of) {
  const sums = new Map();
  for (const [line, s] of Object.entries(seconds)) sums.set(of(line), (sums.get(of(line)) ?? 0) + s);
  return sums;
}
const stateOf = (line) => (line.startsWith('queued') ? 'queued' : (STATE[line] ?? line));

/** What is drawn, by thread and state: sums of the picture's columns, in seconds, with those of the document before the recording began. */
function drawnSums(page) {
  return page.evaluate(() => {
    const { timeline } = window.attune.waits;
    const { rows, sums, timeline: waits } = timeline.shown;
    const account = window.attune.waits.documents.get('waits').account;
    const before = new Map((account?.parts.threads ?? []).map(({ id, lines }) => [id, Object.fromEntries(lines.map(({ state, before_ns: ns }) => [state, ns / 1e9]))]));
    const bars = rows.filter((row) => (row.kind === 'thread' || row.kind === 'group') && row.thread && !row.rank);
    return { single: waits.single, drawn: bars.map(({ thread }) => ({ id: thread.id, sums: Object.fromEntries([...(sums.get(thread.id) ?? [])].map(([state, ns]) => [state, ns / 1e9])), before: before.get(thread.id) ?? {} })) };
  });
}

const framesDrawn = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

/** Where a state has a thread for all of some pixels, and the colour that is there: beside single waits, and without what lies over rows. */
async function pixels(page) {
  for (const name of ['messages', 'collective']) {
    const entry = page.locator('.timeline button.legend-entry:not(.off)').filter({ hasText: new RegExp(`^${name}$`) });
    if (await entry.isVisible()) await entry.click();
  }
  await framesDrawn(page);
  return page.evaluate(() => {
    const { view, waits, model } = window.attune;
    const { rows, accounts, gutter, timeline } = waits.timeline.shown;
    const margin = (2 * (view.range.t1 - view.range.t0)) / document.querySelector('.threads-over').clientWidth;
    const isCovered = (thread, t) => (timeline.spans.get(thread) ?? []).some((span) => span.t0 - margin < t && t < span.t1 + margin);
    const canvas = document.querySelector('.timeline canvas');
    const context = canvas.getContext('2d');
    const [scale, plot] = [canvas.width / canvas.clientWidth, canvas.clientWidth - gutter - 8];
    const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const colorOf = (state) => css(state === 'running' || state === 'queued' ? `--${state}` : `--wait-${state}`);
    const found = new Map();
    for (const row of rows) {
      if (!row.thread || row.rank || !['thread', 'group'].includes(row.kind)) continue;
      const stretches = accounts.stretches(row.thread.id, model.extent.t0, model.extent.t1);
      const wholes = stretches.map(({ t0, t1, states }) => states.find(([, ns]) => ns > 0.999 * Math.max(t1 - t0, states.reduce((all, state) => all + state[1], 0))));
      for (const [i, { t0, t1 }] of stretches.entries()) {
        const whole = wholes[i];
        // A column of pixels may have several parts.
        if (!whole || [-2, -1, 1, 2].some((k) => wholes[i + k]?.[0] !== whole[0] || Math.abs(stretches[i + k].t0 - t0) > 2.5 * (t1 - t0))) continue;
        if ((found.get(whole[0])?.length ?? 0) >= 3 || isCovered(row.thread.id, (t0 + t1) / 2)) continue;
        const x = gutter + (((t0 + t1) / 2 - view.range.t0) / (view.range.t1 - view.range.t0)) * plot;
        const y = 24 + row.top + row.height / 2;
        if (y > canvas.clientHeight) continue;
        const { data } = context.getImageData(Math.floor(x * scale), Math.round(y * scale), 1, 1);
        const color = `#${[...data].slice(0, 3).map((one) => one.toString(16).padStart(2, '0')).join('')}`;
        found.set(whole[0], [...(found.get(whole[0]) ?? []), { thread: row.thread.id, color, wanted: colorOf(whole[0]) }]);
      }
    }
    return [...found];
  });
}

/** The tips of some threads: the last line is of all of their time. */
async function tips(page, limit) {
  const rows = await page.evaluate((most) => {
    const { view, waits } = window.attune;
    const { rows: all } = waits.timeline.shown;
    const box = document.querySelector('.timeline .threads-over').getBoundingClientRect();
    const of = all.filter((row) => (row.kind === 'thread' || row.kind === 'group') && row.thread && !row.rank && row.top + row.height < box.height);
    return of.filter((_, i) => i % Math.ceil(of.length / most) === 0).map((row) => {
      const { t0, t1 } = view.range;
      const [from, to] = [Number.isNaN(row.thread.start) ? t0 : row.thread.start, Number.isNaN(row.thread.end) ? t1 : row.thread.end];
      return { id: row.thread.id, x: box.left + (((Math.max(from, t0) + Math.min(to, t1)) / 2 - t0) / (t1 - t0)) * box.width, y: box.top + row.top + row.height / 2 };
    });
  }, limit);
  const told = [];
  for (const { id, x, y } of rows) {
    const look = async () => {
      await page.mouse.move(2, 2);
      await page.mouse.move(x, y);
      return page.evaluate(() => document.querySelector('.threads-tip:not([hidden]) .in-all')?.textContent ?? '');
    };
    told.push({ id, text: await eventually(look, (text) => text !== '', 5000) });
  }
  return told;
}

async function comparePage(browser, url, account) {
  const [page, timeline, shown] = [await openTimeline(browser, url, account.threads.length), new Differences('the timeline'), new Differences('what the page writes')];
  const { account: document, balance } = await page.evaluate(() => window.attune.waits.documents.get('waits'));
  const told = account.threads.slice(0, 500);
  timeline.expect(JSON.stringify(document.threads) === JSON.stringify(told), 'the document of the page is not the report’s account');
  for (const { id, lines } of document.parts.threads) {
    const { seconds } = account.threads.find((thread) => thread.id === id);
    const placed = Object.fromEntries(lines.map(({ state, before_ns: before, ns }) => [state, (before + sum(ns)) * 1e-9]));
    for (const [line, s] of Object.entries(seconds)) timeline.near(placed[line] ?? 0, s, NS, `parts of ${id}, ${line}`);
  }
  const { single, drawn } = await drawnSums(page);
  for (const { id, sums, before } of drawn) {
    const thread = account.threads.find((one) => one.id === id);
    if (!thread) continue;
    for (const [state, s] of byState(thread.seconds, stateOf)) {
      // Waits that are drawn one by one are no part of the picture.
      if (single && state !== 'running' && state !== 'queued') continue;
      timeline.near((sums[state] ?? 0) + (byState(before, stateOf).get(state) ?? 0), s, SHARE * (s + 1), `${nameOf(thread)} as drawn, ${state}`);
    }
    for (const state of Object.keys(sums)) timeline.expect(state === 'mpi' || [...byState(thread.seconds, stateOf).keys()].includes(state), `${nameOf(thread)} has ${state} on the timeline alone`);
  }
  for (const [state, of] of await pixels(page)) for (const { thread, color, wanted } of of) shown.expect(color === wanted, `${thread} in ${state} is ${color}, and not ${wanted}`);
  for (const { id, text } of await tips(page, 8)) {
    const thread = account.threads.find((one) => one.id === id);
    if (!thread) continue;
    const names = byState({ ...thread.seconds, 'not known': thread.unknown_seconds }, (line) => ON_PAGE[line] ?? line);
    const parts = text.replace(/^In all: /, '').split('; ').map((one) => one.match(/^([\d.]+ %) (.+)$/) ?? one.match(/^of (.+)$/));
    shown.expect(parts.at(-1)?.length === 2 && isSame(parts.at(-1)[1], thread.life_seconds), `${nameOf(thread)}: ${text}, and not ${thread.life_seconds} s`);
    const written = new Map(parts.filter((one) => one?.length === 3).map(([, share, name]) => [name, share]));
    for (const [name, s] of names) {
      const share = s / thread.life_seconds;
      const isThere = written.has(name);
      shown.expect(isThere ? isSame(written.get(name), share) : share <= 0.0005, `${nameOf(thread)}, ${name}: ${written.get(name)}, and not ${share}`);
    }
  }
  const capacity = account.cpus * account.wall_seconds;
  const bar = await page.evaluate(() => ({ text: document.querySelector('.balance-text')?.textContent ?? '', widths: Object.fromEntries([...document.querySelectorAll('.balance i')].map((part) => [part.className, part.style.width])) }));
  for (const key of ['program', 'others', 'idle']) {
    const seconds = account[`${key}_seconds`];
    if (seconds === null || balance === null) continue;
    shown.near(balance[key], seconds / capacity, 1e-12, `the balance’s ${key}`);
    shown.expect(isSame(bar.text.match(new RegExp(`${key} (\\d+ %)`))?.[1] ?? 'none 0 %', seconds / capacity), `${bar.text}: ${key} is ${seconds / capacity}`);
    shown.near(parseFloat(bar.widths[key] ?? 'NaN') / 100, Math.max(0, Math.min(1, seconds / capacity)), 0.0005 + 1e-9, `the bar’s ${key}`);
  }
  await page.context().close();
  return [timeline, shown];
}

const browser = await launchBrowser();
const states = new Map();
let isExact = false;
try {
  for (const [name, record] of recordings()) {
    const file = record();
    if (file === null) {
      console.log(`skip ${name}: cannot be recorded here`);
      continue;
    }
    const { account } = JSON.parse(run('report', '--json', file));
    check(account !== null && account.threads.length > 0, `${name}: ${account?.threads.length} threads, ${account?.exact ? 'with' : 'without'} the scheduler’s switches`);
    if (account === null) continue;
    isExact ||= account.exact;
    for (const { seconds } of account.threads) for (const [line, s] of Object.entries(seconds)) states.set(line, Math.max(states.get(line) ?? 0, s));
    for (const view of [compareText, compareSql, comparePerfetto]) view(file, account).report(name);
    const session = await Session.start(attune, 'view', file);
    try {
      for (const view of await comparePage(browser, session.url, account)) view.report(name);
    } finally {
      await session.stop();
    }
  }
  const missing = isExact ? EVERY.filter((line) => !states.has(line)) : [];
  check(missing.length === 0, `states: ${[...states.keys()].sort().join(', ')}${missing.length === 0 ? '' : `, but not ${missing.join(', ')}`}`);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(process.exitCode ? 'failed' : 'passed');
