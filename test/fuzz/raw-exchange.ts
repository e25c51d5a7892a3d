// Sends bytes to a server unchanged and reads the answer. `fetch` would refuse or modify some of the bytes.
import { connect } from "node:net";

export interface RawAnswer {
  readonly status: number;
  /** Headers by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface ExchangeOptions {
  readonly port: number;
  readonly method: string;
  /** True to close the client's side of the connection after the last byte. */
  readonly endsEarly: boolean;
  /** Milliseconds from the last byte until the client disconnects; null or absent to wait for the answer. */
  readonly leavesAfterMs?: number | null;
  readonly deadlineMs: number;
}

/** Reason for a missing answer. `broken off` means that the head, and perhaps part of the body, arrived. */
export type NoAnswer = "closed" | "broken off" | "left" | "no answer";

/** Returns the first answer that is not interim (1xx), or the reason why there is none. */
export function exchange(bytes: Buffer, options: ExchangeOptions): Promise<RawAnswer | NoAnswer> {
  return new Promise((resolve) => {
    const socket = connect({ port: options.port, host: "127.0.0.1", allowHalfOpen: true });
    const pieces: Buffer[] = [];
    const settle = (answer: RawAnswer | NoAnswer): void => {
      clearTimeout(deadline);
      socket.destroy();
      resolve(answer);
    };
    const deadline = setTimeout(() => settle("no answer"), options.deadlineMs);
    const take = (isEnd: boolean): void => {
      const received = Buffer.concat(pieces);
      const answer = answerIn(received, { isEnd, isHead: options.method === "HEAD" });
      if (answer !== null) settle(answer);
      else if (isEnd) settle(hasBegun(received) ? "broken off" : "closed");
    };
    socket.on("data", (piece) => {
      pieces.push(piece);
      take(false);
    });
    socket.once("end", () => take(true));
    // A server that refuses a body may reset the connection after its answer. The bytes that have arrived still count.
    socket.once("error", () => take(true));
    const { leavesAfterMs = null } = options;
    const onSent = (): void => {
      if (leavesAfterMs !== null) setTimeout(() => settle("left"), leavesAfterMs);
    };
    if (options.endsEarly) socket.end(bytes, onSent);
    else socket.write(bytes, onSent);
  });
}

/** True if the head of the final answer has arrived. */
function hasBegun(bytes: Buffer): boolean {
  return /(?:^|\r\n\r\n)HTTP\/1\.[01] [2-5][^]*\r\n\r\n/.test(bytes.toString("latin1"));
}

/** Returns the answer; null while it is incomplete. */
function answerIn(
  bytes: Buffer,
  { isEnd, isHead }: { readonly isEnd: boolean; readonly isHead: boolean },
): RawAnswer | null {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return null;
  const rest = bytes.subarray(headEnd + 4);
  const [statusLine = "", ...lines] = bytes.subarray(0, headEnd).toString("latin1").split("\r\n");
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1] ?? Number.NaN);
  if (status >= 100 && status < 200) return answerIn(rest, { isEnd, isHead });
  const headers = new Map(lines.map((line) => headerOf(line)));
  const body = isHead || status === 204 || status === 304 ? Buffer.alloc(0) : bodyIn(rest, headers, isEnd);
  return body === null ? null : { status, headers, body };
}

function headerOf(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

function bodyIn(rest: Buffer, headers: ReadonlyMap<string, string>, isEnd: boolean): Buffer | null {
  if (headers.get("transfer-encoding") === "chunked") return unchunked(rest);
  const length = headers.get("content-length");
  if (length === undefined) return isEnd ? rest : null;
  return rest.length >= Number(length) ? rest.subarray(0, Number(length)) : null;
}

function unchunked(bytes: Buffer): Buffer | null {
  const pieces: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd === -1) return null;
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString("latin1"), 16);
    if (size === 0) return Buffer.concat(pieces);
    if (bytes.length < lineEnd + size + 4) return null;
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + size + 4;
  }
}
