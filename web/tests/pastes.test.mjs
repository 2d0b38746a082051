// Long texts that are pasted stand as a word in the box, and are sent whole.
import assert from "node:assert/strict";
import { test } from "node:test";
import { acknowledged, EMPTY, putBack, submitted, unsent } from "../app/model/draft.js";
import { folded, isLong, standing, unfolded } from "../app/model/pastes.js";

const LOG = "line\n".repeat(10_000);

test("only what is long is folded", () => {
    assert.equal(isLong(LOG), true);
    assert.equal(isLong("x".repeat(4001)), true);
    assert.equal(isLong("line\n".repeat(39)), false);
    assert.equal(isLong("a word"), false);
});

test("each has a word of its own, and what is like a word and is none stays", () => {
    const one = folded(LOG, []);
    const two = folded(LOG.replace("line", "LINE"), [one]);
    const three = folded("x".repeat(5000), [one, two]);
    assert.deepEqual([one, two, three].map(({ word }) => word), ["[pasted 10,000 lines]", "[pasted 10,000 lines, 2]", "[pasted 5,000 characters]"]);
    const typed = `a ${two.word} b ${one.word} [pasted 3 lines] ${three.word}`;
    assert.equal(unfolded(typed, [one, two, three]), `a ${two.text} b ${one.text} [pasted 3 lines] ${three.text}`);
    assert.deepEqual(standing("b [pasted 10,000 lines, 2]", [one, two]), [two]);
    assert.deepEqual(unfolded("$& [pasted 10,000 lines]", [{ ...one, text: "$1 $&" }]), "$& $1 $&");
});

test("a prompt is sent with the whole text, and goes from the box when the daemon has it", () => {
    const paste = folded(LOG, []);
    const draft = submitted({ ...EMPTY, text: `Read ${paste.word}`, pastes: [paste] }, "1", "prompt");
    const [sent] = draft.sending;
    assert.equal(sent.text, `Read ${LOG}`);
    assert.equal(unsent(draft), "");
    const later = { ...draft, text: `${draft.text} and this` };
    assert.equal(unsent(later), "and this");
    assert.deepEqual(acknowledged(later, sent), { ...EMPTY, text: "and this" });
    assert.deepEqual(putBack(draft, sent), { ...draft, sending: [] });
    assert.equal(unfolded(putBack(draft, sent).text, putBack(draft, sent).pastes), `Read ${LOG}`);
});

test("what comes back when the box is empty comes back whole", () => {
    const paste = folded(LOG, []);
    const draft = submitted({ ...EMPTY, text: paste.word, pastes: [paste] }, "1", "prompt");
    assert.equal(putBack(acknowledged(draft, draft.sending[0]), draft.sending[0]).text, LOG);
});
