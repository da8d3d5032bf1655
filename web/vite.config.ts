import { defineConfig } from 'vite';

export default defineConfig({
  build: {
    target: 'es2022',
    // Inlined files would need 'unsafe-inline' or data: in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
