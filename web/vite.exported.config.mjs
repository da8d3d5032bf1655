// The page as one HTML file, into which attune export writes the answers (src/live/exported_page.h).

import { createHash } from 'node:crypto';
import { defineConfig } from 'vite';
import { uplotWithoutIntl } from './uplot_without_intl';

/** Puts all scripts and styles into the page, which may then load nothing at all. */
function inOneFile() {
  return {
    name: 'in-one-file',
    enforce: 'post',
    // Last: until then dynamic imports are not resolved.
    generateBundle: { order: 'post', handler(_options, bundle) {
      const files = Object.values(bundle);
      const page = files.find((file) => file.fileName.endsWith('.html'));
      const scripts = files.filter((file) => file.type === 'chunk').map((file) => file.code);
      const styles = files.filter((file) => file.fileName.endsWith('.css')).map((file) => file.source);
      const icon = files.find((file) => file.fileName.endsWith('.svg'));
      if (!page || !icon || scripts.length !== 1 || files.length !== 3 + styles.length) throw new Error(`the page is more than one file: ${Object.keys(bundle).join(', ')}`);
      // A closing tag in a text would end the script.
      const script = scripts[0].replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
      const hash = createHash('sha256').update(script).digest('base64');
      const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data: blob:`;
      const html = page.source
        .replace(/<script type="module"[^>]*><\/script>/, '').replace(/<link rel="stylesheet"[^>]*>/g, '')
        .replace(/<link rel="icon"[^>]*>/, () => `<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon.source)}" />`)
        .replace('<head>', () => `<head>\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`)
        .replace('</head>', () => `<style>${styles.join('')}</style></head>`)
        .replace('</body>', () => `<script type="module">${script}</script></body>`);
      for (const name of Object.keys(bundle)) delete bundle[name];
      bundle[page.fileName] = { ...page, source: html };
    } },
  };
}

export default defineConfig({
  plugins: [uplotWithoutIntl(), inOneFile()],
  build: {
    target: 'es2022',
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: { input: 'exported.html', output: { inlineDynamicImports: true } },
  },
});
