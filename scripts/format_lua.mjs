// Formats the Lua of editors/neovim with StyLua (npm: @johnnymorganz/stylua, in .venv); with --check it only says what
// differs. `scripts/check-lua` calls it.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");
const require = createRequire(join(root, ".venv/npm/"));
const stylua = require("@johnnymorganz/stylua");
const isCheck = process.argv.includes("--check");

/** A configuration; each call of the formatter uses one up. */
function configuration() {
    const config = stylua.Config.new();
    config.column_width = 100;
    config.indent_type = stylua.IndentType.Spaces;
    config.indent_width = 2;
    return config;
}

const folder = join(root, "editors/neovim");
const differing = readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".lua"))
    .map((name) => join(folder, name))
    .filter((path) => {
        const written = readFileSync(path, "utf8");
        const formatted = stylua.formatCode(written, configuration(), undefined, stylua.OutputVerification.None);
        if (!isCheck && formatted !== written) {
            writeFileSync(path, formatted);
        }
        return formatted !== written;
    });

if (isCheck && differing.length > 0) {
    console.error(`Not formatted: ${differing.join(", ")}. Run scripts/check-lua --write.`);
    process.exit(1);
}
