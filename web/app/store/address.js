/**
 * What the address of the page names: a thread, or the folder in which the page was opened.
 */

export function idInAddress() {
    const found = /^#\/thread\/([\w-]+)$/.exec(location.hash);
    return found && found[1];
}

export function folderInAddress() {
    const found = /^#\/in\/(.+)$/.exec(location.hash);
    return found && decodeURIComponent(found[1]);
}
