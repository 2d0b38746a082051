/** Splits what a socket sends into lines of text, wherever it was cut. */
import { StringDecoder } from "node:string_decoder";

export class LineReader {
    private readonly decoder = new StringDecoder("utf8");
    private parts: string[] = [];

    /** Returns the lines that are whole with these bytes. */
    push(bytes: Buffer): string[] {
        const pieces = this.decoder.write(bytes).split("\n");
        const rest = pieces.pop() ?? "";
        if (pieces.length > 0) {
            pieces[0] = this.parts.join("") + pieces[0];
            this.parts = [];
        }
        if (rest) {
            this.parts.push(rest);
        }
        return pieces.filter(Boolean);
    }
}
