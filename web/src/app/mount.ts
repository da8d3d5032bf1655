// The page in its document.

import type { ConnectionHandlers, Transport } from '../session/connection';
import { App } from './app';
import { el } from './dom';

declare global {
  interface Window {
    /** For the browser tests and the console. */
    attune: App;
  }
}

export function mount(connect?: (handlers: ConnectionHandlers) => Transport): App {
  const root = document.getElementById('app') ?? document.body.appendChild(el('div'));
  const app = new App(root, connect);
  void app.start();
  return app;
}
