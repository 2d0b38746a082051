/** The documents that the webviews show. */

export interface PageFiles {
    readonly script: string;
    readonly styles: readonly string[];
    /** what the editor serves its files from */
    readonly source: string;
}

/** Returns the page. Only the script with the nonce runs, and what it imports; nothing but the editor's own files is loaded. */
export function pageDocument({ script, styles, source }: PageFiles, nonce: string, address: string, home: "view" | "tab"): string {
    const policy = [
        "default-src 'none'", `script-src 'nonce-${nonce}'`, `style-src ${source}`, `img-src ${source} data:`, "base-uri 'none'", "form-action 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].join("; ");
    return `<!doctype html>
<html lang="en">
    <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="${policy}">
        <title>trimpoint</title>
        ${styles.map((style) => `<link rel="stylesheet" href="${escaped(style)}">`).join("\n        ")}
    </head>
    <body data-address="${escaped(address)}" data-home="${home}">
        <div id="app"></div>
        <script type="module" nonce="${nonce}" src="${escaped(script)}"></script>
    </body>
</html>`;
}

/** Returns what stands in the page's place where there is no program. */
export function missingDocument({ styles, source }: PageFiles, problem: string, home: "view" | "tab"): string {
    return `<!doctype html>
<html lang="en">
    <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${source}">
        ${styles.map((style) => `<link rel="stylesheet" href="${escaped(style)}">`).join("\n        ")}
    </head>
    <body data-home="${home}">
        <main class="missing">
            <h1>trimpoint is not here yet</h1>
            <p>${escaped(problem)} It has to be installed on the machine that this folder is on.</p>
            <p><a class="button is-main" href="command:trimpoint.install">How to install it</a></p>
            <p><a href="command:workbench.action.openSettings?%22trimpoint.path%22">Name the program</a> · <a href="command:trimpoint.retry">Try again</a></p>
        </main>
    </body>
</html>`;
}

function escaped(text: string): string {
    return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
