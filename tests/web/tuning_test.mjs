// node tuning_test.mjs ATTUNE OWN_KNOB: knobs that are tried and taken back by clicks, on the page of a program that is tuned. Whether
// a value is kept is the guard's to say; here it is what is asked for, and by whom.

import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';

import { Session } from '../../bench/page/session.mjs';
import { browserOrSkip, check, checkAxe, checkSaving, eventually, launchBrowser, testFolder, watchErrors } from './harness.mjs';
import { openPage } from './waits_page.mjs';

browserOrSkip();
const [attune, program] = process.argv.slice(2);
/** So long that the page has time for everything; it is ended when that is done. */
const SECONDS = '3000';
const folder = testFolder('web-tuning');
process.env.XDG_STATE_HOME = path.join(folder, 'state');
const browser = await launchBrowser();

async function openTuning(url) {
  const page = watchErrors(await openPage(browser, url));
  await page.getByRole('tab', { name: 'Tuning', exact: true }).click();
  return page;
}

/** @param may whether the page may turn knobs */
async function start(may) {
  const file = path.join(folder, may ? 'may.attune' : 'may-not.attune');
  return Session.start(attune, 'tune', '--live', ...(may ? ['--allow-tune'] : []), '--never', 'search', '-o', file, '--', program, SECONDS);
}

async function asks() {
  const session = await start(true);
  try {
    const page = await openTuning(session.url);
    const toast = (text) => page.locator('.toast', { hasText: text }).first().waitFor();
    await page.locator('.tuning-form').waitFor();
    const ask = async (knob, value) => {
      await page.getByLabel('Knob', { exact: true }).fill(knob);
      await page.getByLabel('Value', { exact: true }).fill(value);
      await page.locator('.tuning-form button').click();
    };
    await ask('queue.bach', '32');
    await toast("there is no knob 'queue.bach'");
    check(true, 'a knob that there is not is refused, with the nearest one');
    await ask('queue.batch', '1000');
    await toast('1 to 256');
    check(true, 'a value out of range is refused');
    await ask('queue.batch', '64');
    await toast('queue.batch = 64 is tried next');
    const row = page.locator('.tuning tbody tr', { hasText: 'queue.batch' }).first();
    await row.waitFor();
    check((await row.textContent()).includes('it was asked for'), 'what was asked for is on trial');
    const button = row.locator('button');
    await button.waitFor();
    const kept = (await row.getAttribute('class')) === 'kept';
    check((await button.textContent()) === (kept ? 'Take back' : 'Try'), `after the trial, which ended as ${await row.getAttribute('class')}, the click is ${await button.textContent()}`);
    await button.click();
    await toast(kept ? 'queue.batch is taken back' : 'queue.batch = 64 is tried next');
    await page.locator('.tuning tbody tr', { hasText: 'queue.batch' }).nth(1).waitFor();
    check(true, 'a click asks for the next step, which is a decision, too');
    await checkAxe(page, 'tuning');
    await checkSaving(page, 'tuning', '.tuning');
    // A page that has only the cookie may look.
    const other = await page.context().newPage();
    await other.goto(session.url.replace(/#.*/, ''));
    await other.getByRole('tab', { name: 'Tuning', exact: true }).click();
    await other.locator('.tuning tbody tr').first().waitFor();
    const [knob, value] = ['Knob', 'Value'].map((label) => other.getByLabel(label, { exact: true }));
    await knob.fill('queue.batch');
    await value.fill('32');
    await other.locator('.tuning-form button').click();
    await other.locator('.toast', { hasText: 'has not shown the server' }).first().waitFor();
    check(true, 'a page without the token turns nothing');
    await page.context().close();
  } finally {
    await session.stop();
  }
  const rows = JSON.parse(execFileSync(attune, ['query', '--json', path.join(folder, 'may.attune'), "select knob, tunlet from decisions where tunlet = 'by hand'"]));
  check(rows.length >= 2 && rows.every((row) => row.knob === 'queue.batch'), `the recording has ${rows.length} steps that were asked for`);
}

async function asksInVain() {
  const session = await start(false);
  try {
    const page = await openTuning(session.url);
    await page.locator('.tuning').waitFor();
    check(!(await page.locator('.tuning-form').isVisible()), 'without --allow-tune nothing can be asked for');
    await page.context().close();
  } finally {
    await session.stop();
  }
}

try {
  await asks();
  await asksInVain();
  console.log('passed');
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
