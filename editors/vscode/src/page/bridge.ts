/**
 * Carries the page's lines to the daemon's socket and back, by messages; `web/app/link/editor.js` has the other end.
 */
import type { Socket } from "node:net";
import type { FromEditor, ToEditor } from "../../../../web/app/link/messages.js";
import { LineReader } from "../daemon/lines.js";

export interface BridgeHost {
    /** Returns a connection to the daemon. */
    connect(): Promise<Socket>;
    post(message: FromEditor): void;
    onShown(threadId: string | null, settings: Shown["settings"]): void;
    onProblem(error: Error): void;
}

export type Shown = Extract<ToEditor, { type: "shows" }>;

/** At most one connection; the page requests another one when it has ended. */
export class Bridge {
    private socket: Socket | null = null;
    private isOpening = false;
    private isOver = false;

    constructor(private readonly host: BridgeHost) {}

    /** Takes a message of the page in; what is none is dropped. */
    take(message: ToEditor): void {
        switch (message?.type) {
            case "open":
                void this.open();
                break;
            case "send":
                if (typeof message.line === "string" && !message.line.includes("\n")) {
                    this.socket?.write(`${message.line}\n`);
                }
                break;
            case "close":
                this.socket?.destroy();
                break;
            case "shows":
                this.host.onShown(message.threadId, message.settings);
                break;
        }
    }

    /** Ends the connection; the page is gone. */
    dispose(): void {
        this.isOver = true;
        this.socket?.destroy();
    }

    private async open(): Promise<void> {
        if (this.isOpening) {
            return;
        }
        this.isOpening = true;
        const before = this.socket;
        this.socket = null;
        before?.destroy(); // the page was loaded anew
        try {
            const socket = await this.host.connect();
            if (this.isOver) {
                socket.destroy();
            } else {
                this.carry(socket);
            }
        } catch (error) {
            this.host.onProblem(error as Error);
            this.post({ type: "closed", problem: (error as Error).message });
        } finally {
            this.isOpening = false;
        }
    }

    private carry(socket: Socket): void {
        const reader = new LineReader();
        this.socket = socket;
        socket.on("data", (bytes) => {
            const lines = reader.push(bytes);
            if (socket === this.socket && lines.length > 0) {
                this.post({ type: "received", lines });
            }
        });
        socket.once("close", () => {
            if (socket === this.socket) {
                this.socket = null;
                this.post({ type: "closed", problem: "" });
            }
        });
        this.post({ type: "opened" });
    }

    private post(message: FromEditor): void {
        if (!this.isOver) {
            this.host.post(message);
        }
    }
}
