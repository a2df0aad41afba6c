// Builds the page of a report from src/ into the folder that the Go package
// embeds. The same sources give the same bytes.
//
//   node build.mjs [OUTDIR]
import { build } from "esbuild";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2] ?? path.join(here, "../internal/report/html/assets"));

const common = {
  absWorkingDir: here,
  bundle: true,
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  minify: true,
  target: ["chrome109", "firefox113", "safari16.4"],
  write: false,
};

const app = await build({
  ...common,
  entryPoints: ["src/main.tsx"],
  format: "iife",
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { "process.env.NODE_ENV": '"production"' },
});
const style = await build({ ...common, entryPoints: ["src/style.css"] });

const script = app.outputFiles[0].text;
if (/<\/script|<!--/i.test(script)) throw new Error("app.js holds text that would end its script element");

await mkdir(out, { recursive: true });
await writeFile(path.join(out, "app.js"), script);
await writeFile(path.join(out, "app.css"), style.outputFiles[0].text);
await writeFile(path.join(out, "licences.txt"), await licences(app.metafile));
console.log(`app.js ${script.length} bytes, app.css ${style.outputFiles[0].text.length} bytes, in ${path.relative(process.cwd(), out)}`);

// licences holds the licence text of every package that is in the bundle.
async function licences(metafile) {
  const names = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const m = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (m) names.add(m[1]);
  }
  const parts = [];
  for (const name of [...names].sort()) {
    const dir = path.join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(path.join(dir, "package.json"), "utf8"));
    const file = (await readdir(dir)).find((f) => /^licen[sc]e/i.test(f));
    if (!file) throw new Error(`${name} has no licence file`);
    parts.push(`${name} ${version} (${license})\n\n${(await readFile(path.join(dir, file), "utf8")).trim()}\n`);
  }
  return parts.join("\n----\n\n");
}
