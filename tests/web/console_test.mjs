// node console_test.mjs ATTUNE SOLVER: the console on the page, from choosing a program to comparing two runs; what it has started
// outlives the server, and the next server finds it.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { browserOrSkip, check, checkAxe, launchBrowser, newContext, testFolder, watchErrors } from './harness.mjs';

browserOrSkip();
const [attune, solver] = process.argv.slice(2);
const folder = testFolder('web-console');
const runs = path.join(folder, 'runs');
writeFileSync(path.join(folder, 'count.sh'), '#!/bin/sh\ni=0\nwhile [ $i -lt ${1:-20000} ]; do i=$((i + 1)); echo "step $i of $NAME in $(pwd)"; sleep 0.05; done\n', { mode: 0o755 });
const browser = await launchBrowser();

function start() {
  return Session.start(attune, 'live', '-s', 'cpu:sum', '-i', '100ms', '--allow-run', '--runs', runs);
}

async function openConsole(url) {
  const page = await (await newContext(browser)).newPage();
  watchErrors(page);
  await page.goto(url);
  await page.getByRole('button', { name: 'Console: run programs (C)' }).click();
  await page.waitForSelector('.console');
  // The last part of the form, which comes with the server's answer.
  await page.getByLabel('Level', { exact: true }).waitFor();
  return page;
}

const row = (page, run) => page.locator(`.run[data-run="${run}"]`);
const stateText = (page, run, text) => page.waitForFunction(([number, wanted]) => document.querySelector(`.run[data-run="${number}"] .run-state`)?.textContent === wanted, [run, text]);
const outputHas = (page, text) => page.waitForFunction((wanted) => document.querySelector('.console-text').textContent.includes(wanted), text);
const click = (page, run, name) => row(page, run).getByRole('button', { name, exact: true }).click();
const fill = (page, label, text) => page.getByLabel(label, { exact: true }).fill(text);
const alive = (pid) => spawnSync('kill', ['-0', String(pid)]).status === 0;
const pidOf = (run) => Number(readFileSync(path.join(runs, String(run).padStart(4, '0'), 'program.pid'), 'ascii').split(' ')[0]);

async function refusals(page) {
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForFunction(() => document.querySelector('.console-problem').textContent === 'Say which program is to be run.');
  const told = await page.evaluate(() => {
    const { top, bottom } = document.querySelector('.console-problem').getBoundingClientRect();
    return { isSeen: top >= 0 && bottom <= innerHeight, field: document.activeElement.getAttribute('aria-label'), invalid: document.activeElement.getAttribute('aria-invalid') };
  });
  await checkAxe(page, 'the console with a problem');
  check(told.isSeen && told.field === 'Program' && told.invalid === 'true', `without a program nothing is run; the form says so in sight, and asks for it: ${JSON.stringify(told)}`);
  await fill(page, 'Program', './count.sh');
  await fill(page, 'Folder', folder);
  await fill(page, 'Interval', '10');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForFunction(() => /run\.toml:\d+:\d+: \[observe\] interval/.test(document.querySelector('.console-problem').textContent));
  check(!existsSync(runs), 'what the file could not say is refused with line and column, before anything is made');
  await fill(page, 'Interval', '');
}

/** A program is chosen, run, read and stopped. */
async function runAndStop(page) {
  await fill(page, 'Arguments', '5');
  await fill(page, 'Environment', 'NAME=first');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await stateText(page, 1, 'ended');
  await outputHas(page, `step 5 of first in ${folder}`);
  check(true, 'a program is chosen and run; it ends, and its output is there to its last line');

  await fill(page, 'Arguments', '');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await stateText(page, 2, 'runs');
  await outputHas(page, 'step 8 of first');
  const seen = (await page.locator('.console-text').textContent()).length;
  await page.waitForFunction((length) => document.querySelector('.console-text').textContent.length > length, seen);
  check(true, 'the output of one that runs grows');
  await click(page, 2, 'Stop');
  await stateText(page, 2, 'stopped: SIGTERM');
  check(!alive(pidOf(2)), 'stop ends it');
  check((await row(page, 2).getByRole('button', { name: 'Stop' }).isHidden()), 'what has ended cannot be stopped');
}

async function killed(page) {
  writeFileSync(path.join(folder, 'stubborn.sh'), '#!/bin/sh\ntrap "" TERM\necho begun\nsleep 1000 &\nwhile :; do sleep 0.1; done\n', { mode: 0o755 });
  await fill(page, 'Program', './stubborn.sh');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await outputHas(page, 'begun');
  await click(page, 3, 'Stop');
  await stateText(page, 3, 'stopping');
  check(alive(pidOf(3)), 'a program may not want to end');
  await click(page, 3, 'Kill');
  await stateText(page, 3, 'stopped: SIGKILL');
  const group = spawnSync('pgrep', ['-f', 'sleep 1000'], { encoding: 'utf8' }).stdout.split('\n').filter((pid) => pid && readable(pid).includes(folder));
  check(group.length === 0, 'then it is killed, with what it started');

  await fill(page, 'Program', './nothing.sh');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await stateText(page, 4, 'not started');
  await outputHas(page, "cannot run './nothing.sh'");
  check(true, 'why a program could not be started is in the output');
}

function readable(pid) {
  const cwd = spawnSync('readlink', [`/proc/${pid}/cwd`], { encoding: 'utf8' });
  return cwd.stdout ?? '';
}

/** Run again with other arguments, and compared. */
async function compared(page) {
  await fill(page, 'Program', solver);
  await fill(page, 'Arguments', '1');
  await fill(page, 'Environment', '');
  await page.getByLabel('Level', { exact: true }).selectOption('blame');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await stateText(page, 5, 'ended');
  await fill(page, 'Program', 'something else');
  await click(page, 5, 'Again');
  await page.waitForFunction((program) => [...document.querySelectorAll('.console-form input')][0].value === program, solver);
  check((await page.getByLabel('Level', { exact: true }).inputValue()) === 'blame', 'a run comes back into the form as it was');
  await fill(page, 'Arguments', '2');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await stateText(page, 6, 'ended');
  for (const run of [6, 5]) await row(page, run).getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.waitForSelector('.compare');
  const names = await page.locator('.compare-names').textContent();
  check(/run 5 · solver 1.*run 6 · solver 2/.test(names), `two runs are compared, the earlier one first: ${names}`);
  check(await page.locator('.console').isHidden(), 'the console makes room for it');
  const figures = await page.locator('.compare-figure').count();
  check(figures > 0, `with ${figures} figures of the runs`);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('.compare') && window.attune.model.title.startsWith('run 5'));
  await page.getByRole('button', { name: 'Back' }).click();
  await page.waitForFunction(() => !window.attune.model.title.startsWith('run') && window.attune.model.canRun);
  check(true, 'and back to what the server shows');
}

async function file(page) {
  await page.getByRole('button', { name: 'Console: run programs (C)' }).click();
  await click(page, 6, 'Again');
  await page.waitForFunction(() => [...document.querySelectorAll('.console-form input')][1].value === '2');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as a file' }).click()]);
  const saved = path.join(folder, 'saved.toml');
  await download.saveAs(saved);
  const again = spawnSync(attune, ['run', '-q', '--console-file', saved, '-o', path.join(folder, 'again.attune')], { encoding: 'utf8' });
  check(again.status === 0, `what the form saves is run by attune run --console-file: ${readFileSync(saved, 'utf8').split('\n')[0]} ${again.stderr}`);
  writeFileSync(saved, 'program = "from-a-file"\narguments = ["a b"]\n[mpi]\nranks = 3\nimplementation = "mpich"\n[observe]\nmax-size = "1GB"\n');
  await page.getByLabel('Console file to load').setInputFiles(saved);
  await page.waitForFunction(() => [...document.querySelectorAll('.console-form input')][0].value === 'from-a-file');
  check((await page.getByLabel('Arguments', { exact: true }).inputValue()) === "'a b'" && (await page.getByLabel('Ranks', { exact: true }).inputValue()) === '3' && (await page.locator('.console-rest').textContent()).includes('max-size 1GB'), 'and a file is loaded into the form');
  writeFileSync(saved, 'program = "a"\nprogramm = "b"\n');
  await page.getByLabel('Console file to load').setInputFiles(saved);
  await page.waitForFunction(() => document.querySelector('.console-problem').textContent.includes('run.toml:2:1: the file has the unknown key'));
  check(true, 'one with a mistake is refused with its place');
}

/** A run is looked at while it goes on. */
async function looked(page) {
  await fill(page, 'Program', './count.sh');
  await fill(page, 'Arguments', '');
  await fill(page, 'Folder', folder);
  await fill(page, 'Environment', 'NAME=last');
  await page.getByLabel('Parallel by').selectOption('pthread');
  await page.getByLabel('Level', { exact: true }).selectOption('');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await outputHas(page, 'step 3 of last');
  await click(page, 7, 'Look');
  await page.waitForFunction(() => window.attune.model.title.startsWith('run 7') && window.attune.model.growing && window.attune.model.points.size > 0);
  const end = await page.evaluate(() => window.attune.model.extent.t1);
  await page.waitForFunction((before) => window.attune.model.extent.t1 > before + 1e9, end);
  check(true, 'the recording of a run is looked at while it grows');
}

/** Killing attune: the program goes on, and the next server finds it. */
async function survives(page, session) {
  const program = pidOf(7);
  const output = path.join(runs, '0007', 'output.txt');
  await page.close();
  // The server is in the session process, which the launcher has started.
  const sessions = path.join(process.env.XDG_RUNTIME_DIR, 'attune');
  const infos = readdirSync(sessions).filter((name) => name !== 'lock').map((name) => JSON.parse(readFileSync(path.join(sessions, name, 'info.json'), 'utf8')));
  const { pid } = infos.find(({ url }) => url === session.url);
  for (const one of [pid, session.process.pid]) process.kill(one, 'SIGKILL');
  await session.ended;
  const size = statSync(output).size;
  while (statSync(output).size < size + 200) await new Promise((resolve) => setTimeout(resolve, 20));
  check(alive(program), 'killing attune leaves the program running and its output growing');

  const next = await start();
  const other = await openConsole(next.url);
  await stateText(other, 7, 'runs');
  await stateText(other, 2, 'stopped: SIGTERM');
  await click(other, 7, 'Output');
  await outputHas(other, 'of last');
  await checkAxe(other, 'the console with runs and output');
  check(true, 'another server finds the runs that there were, and the one that goes on');

  // attune run itself is killed: the program still goes on, and how it ends is known.
  const { launcher } = JSON.parse(readFileSync(path.join(runs, '0007', 'state.json'), 'utf8'));
  spawnSync('kill', ['-KILL', String(launcher.pid)]);
  await stateText(other, 7, 'runs, unrecorded');
  check(alive(program), 'nor does it end with attune run');
  await click(other, 7, 'Stop');
  await stateText(other, 7, 'stopped: SIGTERM');
  check(true, 'it can be stopped all the same, and how it ended is seen');
  await withoutToken(other, next);
  await next.stop();
}

/** A page that has the cookie alone may look at data, and run nothing. */
async function withoutToken(page, session) {
  const copy = await page.context().newPage();
  await copy.goto(new URL(session.url).origin);
  await copy.getByRole('button', { name: 'Console: run programs (C)' }).click();
  await copy.waitForSelector('.console-locked:not([hidden])');
  const empty = await copy.locator('.console-runs .empty').textContent();
  check(empty.includes('open the whole address that attune printed') && !empty.includes('Nothing has been run'), `where the token is missing the list says what is needed: ${empty}`);
  await copy.getByRole('button', { name: 'Run', exact: true }).click();
  check((await copy.locator('.console-problem').textContent()).includes('a page that has the token'), 'so does Run with an empty form');
  await copy.getByLabel('Program', { exact: true }).fill('true');
  await copy.getByRole('button', { name: 'Run', exact: true }).click();
  await copy.waitForFunction(() => document.querySelector('.console-problem').textContent.includes('a page that has the token'));
  check((await copy.locator('.run').count()) === 0 && !existsSync(path.join(runs, '0008')), 'a page without the token sees no runs and starts none');
}

const session = await start();
const page = await openConsole(session.url);
await refusals(page);
await runAndStop(page);
await killed(page);
await compared(page);
await file(page);
await looked(page);
await survives(page, session);

const off = await Session.start(attune, 'live', '-s', 'cpu:sum');
const plain = await (await newContext(browser)).newPage();
await plain.goto(off.url);
await plain.waitForFunction(() => window.attune.model.title !== '');
check(await plain.getByRole('button', { name: 'Console: run programs (C)' }).isHidden(), 'without --allow-run there is no console');
await off.stop();
await browser.close();
rmSync(folder, { recursive: true, force: true });
