// The colours of languages: a file of its own, which is loaded when there is code to show.
import { createLowlight } from "lowlight";
import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import typescript from "highlight.js/lib/languages/typescript";
import sql from "highlight.js/lib/languages/sql";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

// The grammar of TypeScript has all of JavaScript's in it.
export const lowlight = createLowlight({
    bash, cpp, diff, go, ini, java, javascript: typescript, json, python, rust, sql,
    typescript, xml, yaml,
});
// Near enough, and each grammar of its own would have to be sent.
lowlight.registerAlias({ bash: ["console", "dockerfile", "shell"], cpp: ["c", "h"], javascript: ["js", "jsx", "mjs", "cjs"] });
