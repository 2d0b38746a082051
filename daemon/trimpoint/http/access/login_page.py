"""The page that logs a browser in with the code of its address, or says how to log in."""

import base64
import hashlib

from trimpoint.http.exchange import Request, Response

PATH = "/login"
_STYLE = (
    ":root{color-scheme:light dark;--text:#1c1c21;--quiet:#60626c;--line:#e7e7ec;--tint:#f3f3f5;"
    "background:#f8f8f9;color:var(--text)}@media(prefers-color-scheme:dark){:root{--text:#e7e7ec;"
    "--quiet:#a0a2ad;--line:#26262c;--tint:#1e1e23;background:#101013}}"
    "body{font:.9375rem/1.6 Inter,system-ui,sans-serif;min-height:100vh;margin:0;display:grid;"
    "place-items:center}main{box-sizing:border-box;max-width:30rem;margin:1rem;padding:2rem;"
    "background:light-dark(#fff,#141417);border:1px solid var(--line);border-radius:14px}"
    "[hidden]{display:none}"
    "h1{font-size:1.125rem;margin:0 0 .75rem}p{margin:.75rem 0 0}.quiet{color:var(--quiet)}"
    ".brand{margin:0 0 1.5rem;font-weight:600}code{font:.9em ui-monospace,monospace;"
    "background:var(--tint);border-radius:5px;padding:.15em .4em}"
)
# The login is kept where no other origin reads it, not in a cookie, which browsers send to every
# port of the machine.
_SCRIPT = """
const [main, why] = [document.querySelector("main"), document.querySelector("#why")];
const say = (...words) => { why.textContent = words.join(" "); why.hidden = main.hidden = false; };
const logIn = async (code, place) => {
    const body = JSON.stringify({ code });
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch("/login", { method: "POST", headers, body });
    const told = await answer.json();
    if (!answer.ok) {
        say(told.detail, told.hint ?? "");
        return;
    }
    localStorage.setItem("trimpoint-login", told.login);
    location.replace(place ? `/#${place}` : "/");
};
const begin = () => {
    const [, code, place] = /^#code=([^/]+)(.*)$/.exec(location.hash) ?? [];
    main.hidden = Boolean(code);
    if (code) {
        history.replaceState(null, "", "/login");
        logIn(code, place).catch((error) => say("The login failed:", error.message));
    }
};
addEventListener("hashchange", begin);
begin();
"""


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_POLICY = (
    f"default-src 'none'; style-src {_digest(_STYLE)}; script-src {_digest(_SCRIPT)}; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>trimpoint: log in</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>
<body><main hidden><p class="brand">trimpoint</p><h1>This browser is not logged in</h1>
<p id="why" hidden></p>
<p>Type <code>trimpoint open</code> in a terminal on the machine where trimpoint runs: it opens
this page with a new login.</p>
<p class="quiet">A login ends after 30 days; an address that logs in works once, within two
minutes.</p>
</main><script>{_SCRIPT}</script></body></html>
""".encode()


def login_page(request: Request) -> Response | None:
    """Returns the page if it is asked for, or None."""
    if request.path != PATH or request.method not in ("GET", "HEAD"):
        return None
    policy = ("Content-Security-Policy", _POLICY)
    return Response(200, _PAGE, "text/html; charset=utf-8", (policy,))
