// Builds app/vendor.js from the lock file's packages: the same bytes each time. `node build.mjs [OUT-DIRECTORY]`.
import { readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "app");

const result = await build({
    absWorkingDir: here,
    entryPoints: ["vendor.mjs"],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    outfile: join(out, "vendor.js"),
});

// The licences ask to go along with the code.
const names = new Set(
    Object.keys(result.metafile.inputs)
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
await writeFile(join(out, "vendor.licenses.txt"), texts.join(`\n${"-".repeat(72)}\n\n`));
