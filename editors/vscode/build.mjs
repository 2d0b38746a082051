// Bundles the extension into `built`, and puts the page of `web/built` beside it; the same bytes each time.
// `node build.mjs --tests` bundles the tests too; `--watch` builds again at each change, readable and with a source map.
import { copyFile, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "built");
const testsOut = join(here, "node_modules", ".trimpoint-tests");
const page = join(here, "..", "..", "web", "built");
const isWatched = process.argv.includes("--watch");
const options = {
    absWorkingDir: here,
    bundle: true,
    platform: "node",
    target: "node20",
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
};

if (process.argv.includes("--tests")) {
    await rm(testsOut, { recursive: true, force: true });
    const tests = (await readdir(join(here, "tests"))).filter((name) => name.endsWith(".test.ts"));
    await build({
        ...options, entryPoints: tests.map((name) => `tests/${name}`), outdir: testsOut, format: "esm",
        outExtension: { ".js": ".mjs" },
    });
} else {
    await rm(out, { recursive: true, force: true });
    await mkdir(join(out, "page"), { recursive: true });
    for (const name of ["main.js", "colours.js", "app.css", "licenses.txt"]) {
        await copyFile(join(page, name), join(out, "page", name));
    }
    const extension = {
        ...options, entryPoints: ["src/extension.ts"], outfile: join(out, "extension.cjs"), format: "cjs", external: ["vscode"],
        minify: !isWatched, sourcemap: isWatched && "inline",
    };
    await (isWatched ? (await context(extension)).watch() : build(extension));
}
