// uPlot makes formats of numbers and of the local time zone while it is loaded, which takes 15 ms; charts here have their own axes
// (src/charts/axes.ts) and use none of them.

import type { Plugin } from 'vite';

const REPLACED = [
  ["new Intl.NumberFormat(domEnv ? nav.language : 'en-US')", '{ format: String }'],
  ['new Intl.DateTimeFormat().resolvedOptions().timeZone', "''"],
] as const;

export function uplotWithoutIntl(): Plugin {
  return {
    name: 'uplot-without-intl',
    transform(code: string, id: string) {
      if (!/uPlot\.esm\.js/.test(id)) return null;
      for (const [from, to] of REPLACED) {
        if (!code.includes(from)) throw new Error(`${id} does not have ${from} any more`);
        code = code.replace(from, to);
      }
      return { code, map: null };
    },
  };
}
