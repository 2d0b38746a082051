/**
 * A list of which only the rows near the screen exist. Rows may have any height and change it.
 *
 * What is on the screen stays there when rows above it come, go or grow; at the end of the list, the end stays in sight.
 */
import { Heights } from "../model/heights.js";
import { Component, html } from "../vendor.js";

const OVERSCAN_PX = 600;
const NEAR_END_PX = 60;
const INPUT_MS = 1000; // so long after a key or the wheel may the list move by it
const ROWS_AT_ONCE = 3; // so that most steps of scrolling draw nothing anew

/**
 * @template {{key: string}} R
 * @typedef {object} ListProps
 * @property {R[]} rows
 * @property {(row: R) => any} renderRow
 * @property {(row: R) => number} estimate its height before it was seen
 * @property {string} label
 * @property {string} [jumpTo] the key of a row to bring into sight
 * @property {number} [jumpCount] changes whenever `jumpTo` is to be followed again
 * @property {number} [endCount] changes whenever the end is to come into sight
 */

/** @extends {Component<ListProps<any>, {isAtEnd: boolean, hasNews: boolean}>} */
export class List extends Component {
    constructor() {
        super();
        this.state = { isAtEnd: true, hasNews: false };
        /** The rows that exist are those from `_from` until before `_to`. */
        this._from = 0;
        this._to = 0;
        /** @type {Map<string, number>} */
        this._seen = new Map();
        this._heights = new Heights([]);
        /** @type {any[] | null} */
        this._rows = null;
        /** @type {HTMLElement | null} */
        this._scroller = null;
        /** @type {Map<Element, string>} */
        this._observed = new Map();
        /** @type {Map<string, Element>} */
        this._elements = new Map();
        /** @type {Map<string, (element: Element | null) => void>} */
        this._refs = new Map();
        /** @type {{key: string, offset: number} | null} what is to stay where it is on the screen */
        this._anchor = null;
        this._lastTop = 0;
        this._lastHeight = 0;
        this._lastInput = -INPUT_MS;
        /** Whether something came at the end since the rows were placed. */
        this._isNews = false;
        /** @type {Set<string>} rows whose height was measured before */
        this._seenOnce = new Set();
        this._isAtEnd = true;
        this._observer = new ResizeObserver((changes) => this._measured(changes));
    }

    componentDidMount() {
        this._observer.observe(/** @type {Element} */ (this._scroller));
        if (this.props.jumpTo) {
            this._jump(this.props.jumpTo);
        } else {
            this._toEnd();
        }
        this._place();
    }

    componentWillUnmount() {
        this._observer.disconnect();
    }

    /** @param {ListProps<any>} before */
    componentDidUpdate(before) {
        if (this.props.endCount !== before.endCount) {
            this._anchor = null;
            this._toEnd();
            this._place();
        } else if (this.props.jumpCount !== before.jumpCount && this.props.jumpTo) {
            this._jump(this.props.jumpTo);
        } else if (this._anchor) {
            const { key, offset } = this._anchor;
            this._anchor = null;
            const index = this._indexOf(key);
            if (this._isAtEnd) {
                this._toEnd();
            } else if (index >= 0 && this._scroller) {
                this._scroller.scrollTop = this._heights.before(index) + offset;
            }
            this._place();
        }
    }

    render() {
        const { rows, renderRow, label } = this.props;
        if (rows !== this._rows) {
            this._takeRows(rows);
        }
        const from = Math.min(this._from, Math.max(0, rows.length - 1));
        const to = Math.min(Math.max(this._to, from), rows.length);
        const above = this._heights.before(from);
        const below = this._heights.total - this._heights.before(to);
        return html`
            <div class="list" ref=${this._takeScroller} onScroll=${this._onScroll} onWheel=${this._onInput}
                onKeyDown=${this._onInput} onPointerDown=${this._onInput} tabindex="0" role="feed" aria-label=${label}>
                <div class="list-space" style=${{ height: `${above}px` }}></div>
                ${rows.slice(from, to).map(
                    (row, offset) => html`
                        <div class="list-row" key=${row.key} ref=${this._refOf(row.key)} role="article"
                            aria-posinset=${from + offset + 1} aria-setsize=${rows.length}>
                            ${renderRow(row)}
                        </div>
                    `,
                )}
                <div class="list-space" style=${{ height: `${below}px` }}></div>
            </div>
            ${!this.state.isAtEnd &&
            html`<button class="to-end" onClick=${() => this._toEnd()} aria-label="Go to the newest">↓${this.state.hasNews && " New below"}</button>`}
        `;
    }

    _takeScroller = (/** @type {HTMLElement | null} */ element) => {
        this._scroller = element;
    };

    _onScroll = () => {
        const scroller = /** @type {HTMLElement} */ (this._scroller);
        const { scrollTop, scrollHeight } = scroller;
        const isNear = scrollHeight - scrollTop - scroller.clientHeight < NEAR_END_PX;
        // What shrinks moves the end up, and what then grows moves it away; only a person leaves it.
        const isPersons = scrollHeight === this._lastHeight || performance.now() - this._lastInput < INPUT_MS;
        this._isAtEnd = isNear || (this._isAtEnd && !(isPersons && scrollTop < this._lastTop));
        this._lastTop = scrollTop;
        this._lastHeight = scrollHeight;
        this._place();
    };

    _onInput = () => {
        this._lastInput = performance.now();
    };

    /** @param {any[]} rows */
    _takeRows(rows) {
        const before = this._rows ?? [];
        this._rows = rows;
        if (rows.length === before.length && rows.every((row, index) => row.key === before[index].key)) {
            return; // every row is where it was
        }
        this._isNews ||= before.length > 0 && rows.at(-1)?.key !== before.at(-1)?.key;
        this._shift(before);
        const top = this._scroller?.scrollTop ?? 0;
        for (let index = Math.max(0, this._heights.find(top)); index < before.length; index += 1) {
            if (this._indexOf(before[index].key) >= 0) {
                this._anchor = { key: before[index].key, offset: top - this._heights.before(index) };
                break;
            }
        }
        this._heights = new Heights(rows.map((row) => this._seen.get(row.key) ?? this.props.estimate(row)));
    }

    /**
     * Has the same rows exist as before, where they are now: those on the screen must not be made anew.
     * @param {any[]} before
     */
    _shift(before) {
        const rows = this._rows ?? [];
        const last = before[Math.min(this._to, before.length) - 1]?.key;
        const fromEnd = rows.length - (before.length - Math.min(this._to, before.length)) - 1;
        const now = rows[fromEnd]?.key === last ? fromEnd : rows.findIndex((row) => row.key === last);
        if (now >= 0) {
            const size = this._to - this._from;
            this._to = now + 1;
            this._from = Math.max(0, this._to - size);
        }
    }

    /**
     * Returns where a row is, -1 where it is not.
     * @param {string} key
     */
    _indexOf(key) {
        const rows = this._rows ?? [];
        for (let index = this._from; index < Math.min(this._to, rows.length); index += 1) {
            if (rows[index].key === key) {
                return index; // it is nearly always one of those that exist
            }
        }
        return rows.findIndex((row) => row.key === key);
    }

    /** @param {string} key */
    _refOf(key) {
        let ref = this._refs.get(key);
        if (!ref) {
            ref = (element) => this._observe(key, element);
            this._refs.set(key, ref);
        }
        return ref;
    }

    /**
     * @param {string} key
     * @param {Element | null} element
     */
    _observe(key, element) {
        const before = this._elements.get(key);
        if (before && before !== element) {
            this._observer.unobserve(before);
            this._observed.delete(before);
            this._elements.delete(key);
        }
        if (element) {
            this._elements.set(key, element);
            this._observed.set(element, key);
            this._observer.observe(element);
        } else {
            this._refs.delete(key);
        }
    }

    /** @param {ResizeObserverEntry[]} changes */
    _measured(changes) {
        const scroller = this._scroller;
        if (!scroller) {
            return;
        }
        let grownAbove = 0;
        let hasGrown = false;
        for (const { target, borderBoxSize } of changes) {
            const key = this._observed.get(target);
            const index = key === undefined ? -1 : this._indexOf(key);
            const height = borderBoxSize[0].blockSize;
            if (key === undefined || index < 0 || height === 0 || this._heights.at(index) === height) {
                continue;
            }
            const isAbove = this._heights.before(index) + this._heights.at(index) <= scroller.scrollTop;
            this._seen.set(key, height);
            const grown = this._heights.set(index, height);
            this._isNews ||= grown > 0 && this._seenOnce.has(key) && index === this._heights.length - 1;
            this._seenOnce.add(key);
            grownAbove += isAbove ? grown : 0;
            hasGrown = true;
        }
        if (hasGrown) {
            this.forceUpdate(() => {
                if (this._isAtEnd) {
                    this._toEnd();
                } else if (grownAbove) {
                    scroller.scrollTop += grownAbove;
                }
                this._place();
            });
        } else {
            if (this._isAtEnd) {
                this._toEnd(); // the window was resized
            }
            this._place();
        }
    }

    /** Decides which rows exist. */
    _place() {
        const scroller = this._scroller;
        if (!scroller) {
            return;
        }
        const first = Math.max(0, this._heights.find(scroller.scrollTop - OVERSCAN_PX));
        const last = this._heights.find(scroller.scrollTop + scroller.clientHeight + OVERSCAN_PX);
        const from = first - (first % ROWS_AT_ONCE);
        const to = Math.min(last - (last % ROWS_AT_ONCE) + ROWS_AT_ONCE, this._heights.length);
        const isAtEnd = this._isAtEnd || this._heights.total <= scroller.clientHeight;
        const hasNews = !isAtEnd && (this.state.hasNews || this._isNews);
        this._isNews = false;
        if (from !== this._from || to !== this._to || isAtEnd !== this.state.isAtEnd || hasNews !== this.state.hasNews) {
            this._from = from;
            this._to = to;
            this.setState({ isAtEnd, hasNews });
        }
    }

    _toEnd() {
        this._isAtEnd = true;
        if (this._scroller) {
            this._scroller.scrollTop = this._scroller.scrollHeight;
        }
    }

    /** @param {string} key */
    _jump(key) {
        const index = this._indexOf(key);
        if (index < 0 || !this._scroller) {
            return;
        }
        this._isAtEnd = false;
        this._anchor = null;
        this._scroller.scrollTop = Math.max(0, this._heights.before(index) - 80);
        this._place();
    }
}
