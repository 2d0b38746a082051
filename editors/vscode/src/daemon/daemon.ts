/** Where the daemon is, and how it is started: the `trimpoint` program knows both, so it is asked. */
import { execFile } from "node:child_process";
import { access, constants, stat } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { homedir } from "node:os";
import { LineReader } from "./lines.js";
import { findProgram, ownEnvironment, type Places } from "./program.js";

const START_MS = 60_000;

export interface Log {
    info(text: string): void;
    warn(text: string): void;
}

/** Thrown when there is no daemon, and none could be started. */
export class Unreachable extends Error {
    constructor(
        message: string,
        readonly isMissing: boolean,
    ) {
        super(message);
    }
}

export class Daemon {
    private socketPath: string | null = null;
    private starting: Promise<void> | null = null;

    constructor(
        private readonly places: () => Places,
        private readonly log: Log,
    ) {}

    /** Returns a connection, to a daemon that is started if none runs; throws `Unreachable`. */
    async connect(): Promise<Socket> {
        const socket = await this.reached();
        const codexHome = process.env["CODEX_HOME"];
        if (codexHome) {
            await useProfile(socket, codexHome);
        }
        return socket;
    }

    private async reached(): Promise<Socket> {
        if (this.socketPath !== null) {
            try {
                return await opened(this.socketPath);
            } catch {
                this.socketPath = null; // another program may have another socket
            }
        }
        const program = await this.program();
        const path = (await this.run(program, "config", "socket")).trim();
        const socket = await opened(path).catch(async () => {
            this.starting ??= this.start(program).finally(() => {
                this.starting = null;
            });
            await this.starting;
            return opened(path).catch((error: Error) => {
                throw new Unreachable(`The daemon was started, and does not answer: ${error.message}`, false);
            });
        });
        this.socketPath = path;
        return socket;
    }

    /** Returns the path of the program; throws `Unreachable`. */
    async program(): Promise<string> {
        const places = this.places();
        const program = await findProgram(places, isProgram);
        if (program === null) {
            throw new Unreachable(places.setting ? `There is no program at ${places.setting} (setting trimpoint.path).` : "The trimpoint program was not found.", true);
        }
        return program;
    }

    /** Any command that needs a daemon starts one; this is the smallest. */
    private async start(program: string): Promise<void> {
        this.log.info(`No daemon answers; ${program} starts one.`);
        await this.run(program, "probe", "sidecar/status");
    }

    private run(program: string, ...words: string[]): Promise<string> {
        const options = { cwd: homedir(), env: ownEnvironment(process.env), timeout: START_MS };
        return new Promise((resolve, reject) => {
            execFile(program, words, options, (error, out, said) => {
                if (error) {
                    const reason = said.trim().replace(/^✗ /, "") || error.message;
                    this.log.warn(`${program} ${words.join(" ")}: ${reason}`);
                    reject(new Unreachable(reason, false));
                } else {
                    resolve(out);
                }
            });
        });
    }
}

/** Asks for the Codex of another home than the daemon's own; nothing else is said on the connection before the answer. */
function useProfile(socket: Socket, codexHome: string): Promise<void> {
    const reader = new LineReader();
    return new Promise((resolve, reject) => {
        const settle = (problem: string | undefined) => {
            socket.off("data", onData).off("close", onClose);
            if (problem === undefined) {
                resolve();
            } else {
                socket.destroy();
                reject(new Unreachable(problem, false));
            }
        };
        const onData = (bytes: Buffer) => {
            const [line] = reader.push(bytes);
            if (line !== undefined) {
                settle((JSON.parse(line) as { error?: { message: string } }).error?.message);
            }
        };
        const onClose = () => settle("The daemon has closed the connection.");
        socket.on("data", onData).once("close", onClose);
        socket.write(`${JSON.stringify({ id: 0, method: "sidecar/useProfile", params: { codexHome } })}\n`);
    });
}

function opened(path: string): Promise<Socket> {
    return new Promise((resolve, reject) => {
        const socket = connect(path);
        socket.once("error", reject);
        socket.once("connect", () => {
            socket.off("error", reject);
            socket.on("error", () => {}); // its end says it
            resolve(socket);
        });
    });
}

async function isProgram(path: string): Promise<boolean> {
    try {
        await access(path, constants.X_OK);
        return (await stat(path)).isFile();
    } catch {
        return false;
    }
}
