import { defineConfig } from 'vite';
import { uplotWithoutIntl } from './uplot_without_intl';

export default defineConfig({
  plugins: [uplotWithoutIntl()],
  build: {
    target: 'es2022',
    // Inlined files would need 'unsafe-inline' or data: in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
