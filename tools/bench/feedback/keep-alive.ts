// A keep-alive connection that sends one request at a time; the caller builds the bytes. A request costs only
// microseconds, so a client on the server's own machine hardly disturbs the measurement. Parses responses only in the
// form in which Hone sends them.
import { connect, type Socket } from "node:net";

export interface Answer {
  readonly status: number;
  /** Body as received. If the server sends the body in chunks, it still contains the chunk headers. */
  readonly body: string;
}

export interface RequestOptions {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly authorization: string;
  /** Size of the JSON body in bytes. */
  readonly bodyBytes?: number;
}

/** Returns the head of a request; the caller sends the body after it. */
export function headOf({ method, path, authorization, bodyBytes }: RequestOptions): string {
  const lines = [`${method} ${path} HTTP/1.1`, "host: bench", `authorization: ${authorization}`];
  if (bodyBytes !== undefined) lines.push("content-type: application/json", `content-length: ${bodyBytes}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

export class KeepAliveConnection {
  readonly #socket: Socket;
  #pieces: Buffer[] = [];
  #settle: { readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void } | null =
    null;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on("data", (piece) => this.#take(piece));
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("The server closed the connection.")));
  }

  /** @throws Error if the connection ends before the response is complete */
  ask(head: string, body?: Uint8Array): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      if (body === undefined) this.#socket.write(head);
      else {
        this.#socket.cork();
        this.#socket.write(head);
        this.#socket.write(body);
        this.#socket.uncork();
      }
    });
  }

  close(): void {
    this.#settle = null;
    this.#socket.destroy();
  }

  #take(piece: Buffer): void {
    this.#pieces.push(piece);
    const answer = answerIn(this.#pieces);
    if (answer === null) return;
    this.#pieces = [];
    const settle = this.#settle;
    this.#settle = null;
    settle?.resolve(answer);
  }

  #fail(error: Error): void {
    this.#settle?.reject(error);
    this.#settle = null;
  }
}

const lastChunk = "0\r\n\r\n";

/**
 * Returns the response if it is complete, otherwise null. Compact JSON contains no line breaks, so the body cannot
 * contain text that looks like the last chunk.
 */
function answerIn(pieces: Buffer[]): Answer | null {
  if (
    pieces.length > 1 &&
    isChunked(pieces[0]) &&
    !pieces[pieces.length - 1].toString("latin1").endsWith("\r\n")
  )
    return null;
  const text = (pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)).toString("latin1");
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return null;
  const head = text.slice(0, headEnd);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  const isWhole =
    length === undefined
      ? text.endsWith(lastChunk, text.length) && text.length >= headEnd + 4 + lastChunk.length
      : text.length >= headEnd + 4 + Number(length);
  return isWhole ? { status: Number(text.slice(9, 12)), body: text.slice(headEnd + 4) } : null;
}

function isChunked(first: Buffer): boolean {
  return first.includes("transfer-encoding: chunked");
}
