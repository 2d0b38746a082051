/**
 * Why a turn failed, in words. Pure.
 */

/**
 * Returns the sentence in an error; providers wrap it into JSON.
 * @param {string | null} error
 */
export function problemOf(error) {
    const text = (error ?? "").trim();
    const start = text.indexOf("{");
    if (start >= 0) {
        try {
            const { error: inner, message } = JSON.parse(text.slice(start, text.lastIndexOf("}") + 1));
            const said = inner?.message ?? message ?? (typeof inner === "string" ? inner : null);
            if (typeof said === "string" && said.trim()) {
                const before = text.slice(0, start).trim().replace(/[:,]$/, "");
                return before ? `${before}: ${said}` : said;
            }
        } catch {
            return text;
        }
    }
    return text || "The turn failed.";
}
