/**
 * The extension's own client of the daemon: connects when something needs it, and again when the connection was lost.
 * The page has a connection of its own.
 */
import type { Socket } from "node:net";
import { Disconnected, Peer } from "../../../../web/app/link/peer.js";
import { LineReader } from "../daemon/lines.js";

const QUIET = ["rawResponseItem/completed", "rawResponse/completed", "turn/diff/updated", "account/rateLimits/updated"];
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8000;

export interface SessionListener {
    /** Called after each handshake. */
    onReady(): void;
    onLost(): void;
    onNotification(method: string, params: Record<string, unknown>): void;
    onProblem(error: Error): void;
}

export class Session {
    private ready: Promise<Peer> | null = null;
    private socket: Socket | null = null;
    private timer: NodeJS.Timeout | undefined;
    private attempts = 0;
    private isOver = false;

    constructor(
        private readonly open: () => Promise<Socket>,
        private readonly version: string,
        private readonly listener: SessionListener,
    ) {}

    /** Asks the daemon; connects first where there is no connection. Fails with `Refusal`, `Disconnected` or `Unreachable`. */
    // The answer is of the method's own shape, which the caller names.
    async request<Answer>(method: string, params: object = {}): Promise<Answer> {
        return (await this.connected()).request(method, params) as Promise<Answer>;
    }

    /** Connects, and stays connected. */
    connect(): void {
        this.connected().catch(() => {}); // the listener is told
    }

    /** Connects at once, however long ago it was tried. */
    again(): void {
        this.attempts = 0;
        clearTimeout(this.timer);
        this.connect();
    }

    dispose(): void {
        this.isOver = true;
        clearTimeout(this.timer);
        this.socket?.destroy();
    }

    private connected(): Promise<Peer> {
        if (this.isOver) {
            return Promise.reject(new Disconnected());
        }
        clearTimeout(this.timer);
        this.ready ??= this.begin().catch((error: Error) => {
            this.ready = null;
            this.listener.onProblem(error);
            this.tryLater();
            throw error;
        });
        return this.ready;
    }

    private async begin(): Promise<Peer> {
        const socket = await this.open();
        const reader = new LineReader();
        const peer: Peer = new Peer((line: string) => void socket.write(`${line}\n`), {
            onNotification: (method: string, params: Record<string, unknown>) => this.listener.onNotification(method, params),
            onRequest: (id: string | number) => peer.decline(id), // the page answers
        });
        socket.on("data", (bytes) => reader.push(bytes).forEach((line) => peer.receive(line)));
        socket.once("close", () => {
            peer.close();
            this.lose(socket);
        });
        this.socket = socket;
        if (this.isOver) {
            socket.destroy();
        }
        await peer.request("initialize", {
            clientInfo: { name: "trimpoint-vscode", title: "trimpoint in VS Code", version: this.version },
            capabilities: { experimentalApi: true, optOutNotificationMethods: QUIET },
        });
        peer.notify("initialized");
        this.attempts = 0;
        setImmediate(() => this.listener.onReady());
        return peer;
    }

    private lose(socket: Socket): void {
        if (socket === this.socket && !this.isOver) {
            this.socket = null;
            this.ready = null;
            this.listener.onLost();
            this.tryLater();
        }
    }

    private tryLater(): void {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.connect(), Math.min(FIRST_PAUSE_MS * 2 ** this.attempts, LONGEST_PAUSE_MS));
        this.attempts += 1;
    }
}
