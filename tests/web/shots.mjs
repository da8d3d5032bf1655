// What the scripts of pictures share: how they are called, a browser and a scratch folder while they are made, and the pictures.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { launchBrowser } from './harness.mjs';

export const SIZE = { width: 1440, height: 920 };

/** node SCRIPT BINARY_DIR FOLDER [ONE] @param one its name, where a script may make the pictures of one thing alone @return both folders, the binary of attune, and ONE */
export function shotArguments(one = '') {
  if (process.argv.length < 4 || process.argv.length > (one ? 5 : 4)) {
    console.error(`usage: node ${path.basename(process.argv[1])} BINARY_DIR FOLDER ${one && `[${one}]`}`);
    process.exit(2);
  }
  const [binaries, folder] = process.argv.slice(2, 4).map((argument) => path.resolve(argument));
  mkdirSync(folder, { recursive: true });
  return { binaries, folder, attune: path.join(binaries, 'attune'), only: process.argv[4] };
}

/** A picture of all that was drawn. */
export async function shoot(page, folder, name) {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}

/** @param take gets a browser, and a folder for recordings; both are gone afterwards */
export async function takeShots(take) {
  const scratch = mkdtempSync(path.join(tmpdir(), 'attune-shots-'));
  const browser = await launchBrowser();
  try {
    await take(browser, scratch);
  } finally {
    await browser.close();
    rmSync(scratch, { recursive: true });
  }
}
