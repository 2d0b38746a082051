/** Asks the daemon for what the page will show, while the page itself is still on its way. */
import { ahead } from "./link/ahead.js";
import { keptLogin } from "./link/login.js";
import { idInAddress } from "./store/address.js";

// A page that comes out of the browser's cache may be there before this.
if (!("ahead" in globalThis) && keptLogin() && location.protocol.startsWith("http")) {
    /** @type {any} */ (globalThis).ahead = ahead(idInAddress());
}
