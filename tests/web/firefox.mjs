// Firefox under the tests: the distribution's own, which Playwright drives by WebDriver BiDi. What it has no words for there is done here.

import { renameSync } from 'node:fs';
import path from 'node:path';

/** Without a screen Firefox takes the machine for one without a mouse: it has one that points (2, 4: finely, and hovers). */
const MOUSE = 6;
const PREFERENCES = {
  'dom.w3c_touch_events.enabled': 1,
  // The list of downloads would take the keyboard.
  'browser.download.alwaysOpenPanel': false,
  'ui.primaryPointerCapabilities': MOUSE,
  'ui.allPointerCapabilities': MOUSE,
};

export function launchFirefox(firefox, executablePath, timeout) {
  return firefox.launch({ channel: 'moz-firefox', executablePath, timeout, firefoxUserPrefs: PREFERENCES });
}

/** @param options of Playwright, some of which only Chromium knows */
export async function firefoxContext(browser, { colorScheme, bypassCSP, hasTouch, isMobile, ...options }) {
  const context = await browser.newContext(options);
  context.on('page', tellDownloads);
  // No command sets what the system prefers: the page's own choice is made beforehand.
  if (colorScheme) {
    await context.addInitScript((theme) => {
      try {
        localStorage.setItem('attune-theme', theme);
      } catch {
        // A page without a place has no storage.
      }
    }, colorScheme);
  }
  return context;
}

const sessionOf = (page) => page._connection.toImpl(page).delegate._session;

/** A command of WebDriver BiDi to a page, where Playwright has none. */
export function bidi(page, method, parameters) {
  const session = sessionOf(page);
  return session.send(method, { context: session.sessionId, ...parameters });
}

/** One or two fingers on the page, each from the first point of its path to the last one. */
export function moveFingers(page, ...paths) {
  const actions = paths.map(([[x0, y0], [x1, y1]], id) => ({
    type: 'pointer', id: `finger ${id}`, parameters: { pointerType: 'touch' },
    actions: [{ type: 'pointerMove', x: Math.round(x0), y: Math.round(y0) }, { type: 'pointerDown', button: 0 }, { type: 'pointerMove', x: Math.round(x1), y: Math.round(y1), duration: 150 }, { type: 'pointerUp', button: 0 }],
  }));
  return bidi(page, 'input.performActions', { actions });
}

/** What a script of the page saves is no navigation: Playwright knows those downloads alone that have one, and files by the name that was asked for. */
function tellDownloads(page) {
  const session = sessionOf(page);
  const names = new Map();
  const retell = (event, what) => {
    if (!what.navigation) session.emit(event, { ...what, navigation: what.url });
  };
  session.on('browsingContext.downloadWillBegin', (what) => {
    names.set(what.url, what.suggestedFilename);
    retell('browsingContext.downloadWillBegin', what);
  });
  session.on('browsingContext.downloadEnd', (what) => {
    const name = names.get(what.url);
    if (what.filepath && name && path.basename(what.filepath) !== name) renameSync(what.filepath, path.join(path.dirname(what.filepath), name));
    retell('browsingContext.downloadEnd', what);
  });
}
