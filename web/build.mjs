// Builds the pages into the Python package: `npm run build`, or `make web`.
//
//     ../src/flashgrep/web/static/
//         app-HASH.js, app-HASH.css, chunk-HASH.js …   names change with their content
//         manifest.json    {"app.js": "app-HASH.js", …}: what the shell links to
//         NOTICES.txt      licences of every package that is in the bundle
//
// The same sources and lock file give the same bytes; a test compares them. A file that has these
// bytes already is left alone, so that a server that runs meanwhile always finds what it names.

import { build } from "esbuild";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "..", "src", "flashgrep", "web", "static");

const result = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx", "app.styles": "src/styles/app.css" },
  outdir: target,
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  charset: "utf8",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  jsx: "automatic",
  jsxImportSource: "preact",
  metafile: true,
  write: false,
  logLevel: "warning",
});

const manifest = {};
for (const [path, output] of Object.entries(result.metafile.outputs)) {
  if (output.entryPoint === "src/main.tsx") manifest["app.js"] = basename(path);
  if (output.entryPoint === "src/styles/app.css") manifest["app.css"] = basename(path);
}
const files = new Map(result.outputFiles.map((one) => [basename(one.path), Buffer.from(one.contents)]));
files.set("NOTICES.txt", Buffer.from(licences(Object.keys(result.metafile.inputs))));
files.set("manifest.json", Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`)); // last: it names the others

mkdirSync(target, { recursive: true });
for (const [name, data] of files) {
  const path = join(target, name);
  const isSame = existsSync(path) && readFileSync(path).equals(data);
  if (!isSame || name === "manifest.json") writeFileSync(path, data); // its time says when this was built
}
for (const name of readdirSync(target)) if (!files.has(name)) rmSync(join(target, name));
process.stdout.write(`${files.size} files in ${relative(process.cwd(), target) || "."}\n`);

/** The licences of the packages that these source files belong to. */
function licences(inputs) {
  const found = new Map();
  for (const input of inputs) {
    const match = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(input);
    if (match) found.set(match[2], join(here, match[1]));
  }
  const parts = [...found.keys()].sort().map((name) => {
    const home = found.get(name);
    const about = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
    const file = readdirSync(home).find((one) => /^licen[cs]e/i.test(one));
    const text = file ? readFileSync(join(home, file), "utf8").trim() : `Licence: ${about.license}`;
    return `${name} ${about.version}\n${"-".repeat(name.length + about.version.length + 1)}\n${text}\n`;
  });
  return `The pages contain code of these packages.\n\n${parts.join("\n\n")}`;
}
