// node screenshots.mjs DEMO_SERVER FOLDER: the pictures of docs/live.md.

import path from 'node:path';
import { CONTEXT, DemoServer, drawn, launchBrowser } from './harness.mjs';

const [, , binary, folder] = process.argv;
const server = await DemoServer.start(binary, '--hz', '100', '--history', '180');
const browser = await launchBrowser();
try {
  for (const [name, colorScheme, whole] of [['live-dark', 'dark', false], ['live-light', 'light', true]]) {
    const page = await (await browser.newContext({ ...CONTEXT, colorScheme })).newPage();
    await page.goto(server.url);
    await drawn(page, 20);
    if (whole) await page.keyboard.press('a');
    const box = await page.locator('.u-over').first().boundingBox();
    await page.mouse.move(box.x + box.width * 0.62, box.y + 60);
    await page.waitForFunction(() => !window.attune.view.needsRequest() && window.attune.lastDrawnView === window.attune.lastRequestedView);
    await page.screenshot({ path: path.join(folder, `${name}.png`) });
    await page.context().close();
  }
} finally {
  await browser.close();
  await server.stop();
}
