// Bundles the page into `built`: one script, one for what is said before it is there, one for the colours of code, one style sheet, and what goes along with them; the same bytes each time.
// `node build.mjs --watch` builds again at each change, readable and with a source map.
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { context } from "esbuild";
import { minify } from "terser";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "built");
const SMALLEST = { module: true, ecma: 2022, compress: { ecma: 2022, passes: 3 } };
const isWatched = process.argv.includes("--watch");

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
for (const name of ["index.html", "icon.svg"]) {
    await copyFile(join(here, "app", name), join(out, name));
}
// Templates are indented as code is, and htm ignores it: a hundredth of the page.
const unindented = {
    name: "unindented",
    setup({ onLoad }) {
        onLoad({ filter: /\/app\/.*\.js$/ }, async ({ path }) => ({
            contents: (await readFile(path, "utf8")).replace(/\n[ \t]+/g, "\n").replace(/\n(?=[<`])|(?<=[>}`])\n(?=\$\{)/g, ""),
        }));
    },
};
// The page takes the lexer of marked alone; its default instance, which all of marked hangs on, would come along.
const lexerOnly = {
    name: "lexer-only",
    setup({ onLoad }) {
        onLoad({ filter: /marked\.esm\.js$/ }, async ({ path }) => {
            const text = await readFile(path, "utf8");
            const end = text.search(/var ([\w$]+)=new [\w$]+;function [\w$]+\([^)]*\)\{return \1\.parse\(/);
            const [, lexer] = /\b([\w$]+) as Lexer\b/.exec(text) ?? [];
            if (end < 0 || !lexer) {
                throw new Error("marked is not laid out as it was: see lexerOnly in build.mjs");
            }
            return { contents: `${text.slice(0, end)}export{${lexer} as Lexer}` };
        });
    },
};
// Prism is a global of a page that it colours by itself; here it is a module that only reads texts.
const prismAsModule = {
    name: "prism-as-module",
    setup({ onLoad }) {
        onLoad({ filter: /prismjs\/components\/.*\.js$/ }, async ({ path }) => ({
            contents: (path.endsWith("-core.js") ? "const window = {};" : 'import Prism from "./prism-core.js";') + (await readFile(path, "utf8")),
        }));
    },
};
const bundler = await context({
    absWorkingDir: here,
    entryPoints: ["app/early.js", "app/main.js", "app/colours.js", "app/app.css"],
    bundle: true,
    minify: !isWatched,
    mangleProps: isWatched ? undefined : /^_[a-z]/, // what our modules, and those of others, keep to themselves
    sourcemap: isWatched && "inline",
    format: "esm",
    target: "es2022",
    charset: "utf8",
    plugins: isWatched ? [prismAsModule] : [unindented, lexerOnly, prismAsModule],
    legalComments: "none",
    // Qt's script for the page in the desktop shell, which alone serves it.
    external: ["*/qwebchannel.js"],
    metafile: true,
    outdir: out,
    logLevel: "warning",
});
if (isWatched) {
    await bundler.watch();
} else {
    const { metafile } = await bundler.rebuild();
    await bundler.dispose();
    await writeFile(join(out, "licenses.txt"), await licences(Object.keys(metafile.inputs)));
    for (const name of ["main.js", "colours.js", "early.js"]) {
        const smaller = await minify(await readFile(join(out, name), "utf8"), SMALLEST); // a thirtieth less than esbuild; and nothing unsafe: signals are read for their effect
        await writeFile(join(out, name), smaller.code);
    }
    for (const name of ["main.js", "colours.js", "app.css"]) {
        await writeFile(join(out, `${name}.br`), brotliCompressSync(await readFile(join(out, name))));
    }
}

/** The licences ask to go along with the code. */
async function licences(inputs) {
    const names = new Set(
        inputs
            .filter((path) => path.startsWith("node_modules/"))
            .map((path) => path.split("/").slice(1, path.startsWith("node_modules/@") ? 3 : 2).join("/")),
    );
    const texts = [];
    for (const name of [...names].sort()) {
        const folder = join(here, "node_modules", name);
        const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
        const files = (await readdir(folder)).filter((file) => /^licen[cs]e/i.test(file));
        const text = files.length ? await readFile(join(folder, files[0]), "utf8") : "";
        texts.push(`${name} ${version} (${license})\n\n${text.trim()}\n`);
    }
    return texts.join(`\n${"-".repeat(72)}\n\n`);
}
