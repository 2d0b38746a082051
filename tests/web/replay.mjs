// Folds the events of a log over a snapshot, as the page does, and prints what it then shows.
import { readFileSync } from "node:fs";

const [, , modules, log] = process.argv;
const { apply } = await import(`${modules}/model/fold.js`);
const { activeFrom, addOlder, addTurns, stateOf, statusOf } = await import(`${modules}/model/state.js`);
const { rowsOf } = await import(`${modules}/model/timeline.js`);
const { cases } = JSON.parse(readFileSync(log, "utf8"));

const shown = cases.map(({ thread, pages, timeline, events, expanded }) => {
    const state = stateOf(thread);
    for (const page of pages) {
        addTurns(state, page);
    }
    addOlder(state, timeline, true);
    for (const event of events) {
        apply(state, event);
        apply(state, event); // what comes twice counts once
    }
    return {
        stale: state.stale,
        thread: {
            name: state.name,
            archived: state.archived,
            sequence: state.sequence,
            compactionCount: state.compactionCount,
            session: state.session,
            operation: state.operation && { id: state.operation.id, kind: state.operation.kind, phase: state.operation.phase },
            queue: state.queue.map((one) => [one.id, one.input]),
            queueHold: state.queueHold,
            links: [state.parentId, state.handoffIds],
            pendingRequests: state.pendingRequests.map((one) => one.id),
            turns: state.turns.map((turn, index) => [turn.id, turn.status, turn.error, index < activeFrom(state)]),
            points: state.points.map((point) => [point.id, point.count, point.summary, statusOf(state, point)]),
        },
        timelines: expanded.map((ids) => timelineOf(state, new Set(ids))),
    };
});

/** Returns the timeline in the order and shape of the daemon's `timeline/read`. */
function timelineOf(state, expanded) {
    return rowsOf(state, expanded).flatMap((row) => {
        switch (row.kind) {
            case "turn":
                return row.entries.map((entry) => [
                    entry.kind, entry.turnId, entry.id, entry.role, entry.text, row.isTrimmed || entry.discardId !== null,
                ]);
            case "banner":
                return [["contextSummaryBanner", row.point.id, row.summary]];
            case "divider":
                return [["contextTrimPointDivider", row.point.id, row.point.count, row.isExpanded, row.point.kind]];
            default:
                return [["older"]];
        }
    });
}

process.stdout.write(JSON.stringify(shown));
