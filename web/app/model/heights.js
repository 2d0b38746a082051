/**
 * Heights of many rows, with their sums: a Fenwick tree. Changing one and finding a place take log n steps. Pure.
 */
export class Heights {
    /** @param {number[]} heights */
    constructor(heights) {
        this.length = heights.length;
        this._heights = Float64Array.from(heights);
        this._tree = new Float64Array(this.length + 1);
        for (let index = 1; index <= this.length; index += 1) {
            this._tree[index] += this._heights[index - 1];
            const parent = index + (index & -index);
            if (parent <= this.length) {
                this._tree[parent] += this._tree[index];
            }
        }
    }

    get total() {
        return this.before(this.length);
    }

    /** @param {number} index */
    at(index) {
        return this._heights[index];
    }

    /**
     * Sets one height; returns by how much it grew.
     * @param {number} index
     * @param {number} height
     */
    set(index, height) {
        const grown = height - this._heights[index];
        this._heights[index] = height;
        for (let at = index + 1; at <= this.length; at += at & -at) {
            this._tree[at] += grown;
        }
        return grown;
    }

    /**
     * Returns where a row begins: the sum of the heights before it.
     * @param {number} index
     */
    before(index) {
        let sum = 0;
        for (let at = index; at > 0; at -= at & -at) {
            sum += this._tree[at];
        }
        return sum;
    }

    /**
     * Returns the row at a place; the first or the last one beyond the ends, -1 where there is none.
     * @param {number} offset
     */
    find(offset) {
        let at = 0;
        let rest = Math.max(0, offset);
        for (let step = 2 ** Math.floor(Math.log2(this.length || 1)); step >= 1; step /= 2) {
            const next = at + step;
            if (next <= this.length && this._tree[next] <= rest) {
                at = next;
                rest -= this._tree[next];
            }
        }
        return Math.min(at, this.length - 1);
    }
}
