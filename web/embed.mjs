// node embed.mjs DIST EXPORTED.html OUT.cpp: writes the built page as C++ (src/live/assets.h), compressed once here and never again, and
// the page of exported recordings, as it is.

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
};

function* files(folder, prefix) {
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* files(path, posix.join(prefix, name));
    else yield [posix.join(prefix, name), readFileSync(path)];
  }
}

function arrayOf(name, bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 40) lines.push('    ' + [...bytes.subarray(at, at + 40)].join(',') + ',');
  return `constexpr unsigned char ${name}[] = {\n${lines.join('\n')}\n};`;
}

const [, , dist, exported, out] = process.argv;
const entries = [];
const arrays = [];
for (const [path, bytes] of files(dist, '/')) {
  const type = TYPES[extname(path)];
  if (!type) throw new Error(`${path}: embed.mjs knows no content type for it`);
  arrays.push(arrayOf(`kFile${entries.length}`, gzipSync(bytes, { level: 9 })));
  entries.push(`      {"${path}", "${type}", View(kFile${entries.length}), true},`);
}
if (entries.length === 0) throw new Error(`${dist}: no files`);
arrays.push(arrayOf('kExportedPage', readFileSync(exported)));

writeFileSync(out, `// Made by web/embed.mjs.

#include "live/assets.h"

namespace attune::live {
namespace {

${arrays.join('\n')}

template <size_t kBytes>
std::string_view View(const unsigned char (&bytes)[kBytes]) {
  return {reinterpret_cast<const char*>(bytes), kBytes};
}

}  // namespace

std::span<const Asset> Assets() {
  static const Asset kAssets[] = {
${entries.join('\n')}
  };
  return kAssets;
}

std::string_view ExportedPage() { return View(kExportedPage); }

}  // namespace attune::live
`);
