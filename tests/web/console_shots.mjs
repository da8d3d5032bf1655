// node console_shots.mjs BINARY_DIR FOLDER: the pictures of docs/console.md, made by ./dev screenshots: real runs.

import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { check, CONTEXT, launchBrowser, testFolder, watchErrors } from './harness.mjs';
import { shotArguments } from './shots.mjs';

const { binaries, folder, attune } = shotArguments();
const scratch = testFolder('shots');
const session = await Session.start(attune, 'live', '-s', 'cpu', '--allow-run', '--runs', path.join(scratch, 'runs'));
const browser = await launchBrowser();
const page = await (await browser.newContext({ ...CONTEXT, colorScheme: 'dark' })).newPage();
page.setDefaultTimeout(60_000);
watchErrors(page);
await page.goto(session.url);
await page.getByRole('button', { name: 'Console: run programs (C)' }).click();

async function run(number, state, fields) {
  for (const [label, text] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForFunction(([which, wanted]) => document.querySelector(`.run[data-run="${which}"] .run-state`)?.textContent === wanted, [number, state]);
}

const solver = path.join(binaries, 'solver');
await page.getByLabel('Level', { exact: true }).selectOption('blame');
await run(1, 'ended', { Program: 'git', Arguments: 'log --oneline -12', Folder: process.cwd(), Sensors: 'cpu:sum, thread' });
await run(2, 'exit code 2', { Program: 'ls', Arguments: '-l "no such folder"', Folder: tmpdir() });
await page.getByLabel('Parallel by').selectOption('openmp');
await run(3, 'ended', { Program: solver, Arguments: '3', Environment: 'OMP_PROC_BIND=close' });
await page.getByLabel('Parallel by').selectOption('mpi');
await run(4, 'runs', { Program: 'sh', Arguments: `-c 'for i in 1 2 3 4 5 6 7 8; do echo "rank $OMPI_COMM_WORLD_RANK: step $i of 8"; sleep 0.3; done; exec sleep 100'`, Environment: 'OMPI_ALLOW_RUN_AS_ROOT=1\nOMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1' });
await page.waitForFunction(() => document.querySelector('.console-text').textContent.includes('step 8 of 8'));
await page.screenshot({ path: path.join(folder, 'console.png') });
await page.locator('.run[data-run="4"]').getByRole('button', { name: 'Stop', exact: true }).click();
await page.locator('.run[data-run="3"]').getByRole('button', { name: 'Again', exact: true }).click();
await page.waitForFunction((program) => [...document.querySelectorAll('.console-form input')][0].value === program, solver);
await run(5, 'ended', { Arguments: '6' });
for (const number of [3, 5]) await page.locator(`.run[data-run="${number}"]`).getByRole('checkbox').check();
await page.getByRole('button', { name: 'Compare', exact: true }).click();
await page.waitForSelector('.compare-figure');
check(/run 3 · solver 3.*run 5 · solver 6/.test(await page.locator('.compare-names').textContent()), 'console-compare: two runs are compared');
await page.waitForFunction(() => window.attune.comparing.comparison !== null);
await page.screenshot({ path: path.join(folder, 'console-compare.png') });
await browser.close();
await session.stop();
rmSync(scratch, { recursive: true, force: true });
