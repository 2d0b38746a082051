/**
 * Keeps what cannot be drawn from taking the rest of the page with it.
 */
import { Component, html } from "../vendor.js";

/** Draws its children, and says so where that fails. It tries again when `of` is another object.
 * @extends {Component<{of?: unknown, what: string, children?: any}, {error: unknown}>}
 */
export class Boundary extends Component {
    constructor() {
        super();
        /** @type {{error: unknown}} */
        this.state = { error: null };
    }

    /** @param {Error} error */
    static getDerivedStateFromError(error) {
        return { error };
    }

    /** @param {Error} error */
    componentDidCatch(error) {
        console.warn(`${this.props.what} cannot be drawn:`, error);
    }

    /** @param {{of?: unknown}} next */
    componentWillReceiveProps(next) {
        if (this.state.error && next.of !== this.props.of) {
            this.setState({ error: null });
        }
    }

    render() {
        const { what, children } = this.props;
        const { error } = this.state;
        return error ? html`<p class="problem" role="note">${what} cannot be drawn: ${String(error)}</p>` : children;
    }
}
