// For tests: a WebSocket server on the loopback address. It supports only text messages of one frame each (RFC 6455).
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/** One connection, as the server sees it. */
export interface ServedSocket {
  send(text: string): void;
  /** Closes the connection as a server that ends normally does. */
  close(): void;
  /** Breaks the connection without a close frame. */
  cut(): void;
}

export interface Listener {
  /** Called when the connection is open. */
  opened?(socket: ServedSocket): void;
  received(text: string, socket: ServedSocket): void;
}

export interface SocketServer {
  /** Base URL with the scheme `http`. */
  readonly url: string;
  /** Paths of the connections so far. */
  readonly paths: readonly string[];
  close(): Promise<void>;
}

/** Starts a server that makes a listener for each connection, and answers GET requests with `pages`. */
export async function startSocketServer(
  connect: () => Listener,
  pages: Readonly<Record<string, string>> = {},
): Promise<SocketServer> {
  const paths: string[] = [];
  const open = new Set<Duplex>();
  const server = createServer(({ url = "" }, answer) => {
    const page = pages[url];
    answer.writeHead(page === undefined ? 404 : 200).end(page ?? "no such page");
  });
  server.on("upgrade", (request: IncomingMessage, stream: Duplex) => {
    paths.push(request.url ?? "");
    open.add(stream);
    stream.on("error", () => stream.destroy()).on("close", () => open.delete(stream));
    stream.write(handshake(request.headers["sec-websocket-key"] ?? ""));
    const socket: ServedSocket = {
      send: (text) => stream.write(frame(opcodes.text, Buffer.from(text))),
      close: () => stream.end(frame(opcodes.close, Buffer.from([0x03, 0xe8]))),
      cut: () => stream.destroy(),
    };
    const listener = connect();
    listener.opened?.(socket);
    let bytes = Buffer.alloc(0);
    stream.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (let read = readFrame(bytes); read !== null; read = readFrame(bytes)) {
        bytes = bytes.subarray(read.length);
        if (read.opcode === opcodes.close) socket.close();
        else listener.received(read.payload.toString(), socket);
      }
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  // Safe cast: the server listens on a port.
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const stream of open) stream.destroy();
    await new Promise((closed) => server.close(closed));
  };
  return { url: `http://127.0.0.1:${port}`, paths, close };
}

const opcodes = { text: 0x1, close: 0x8 };

function handshake(key: string): string {
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const lines = ["Upgrade: websocket", "Connection: Upgrade", `Sec-WebSocket-Accept: ${accept}`];
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`;
}

function frame(opcode: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(payload.length < 126 ? 2 : 10);
  head[0] = 0x80 | opcode;
  head[1] = payload.length < 126 ? payload.length : 127;
  if (payload.length >= 126) head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}

/** Reads a client's frame, which is masked; null if it is incomplete. */
function readFrame(
  bytes: Buffer,
): { readonly opcode: number; readonly payload: Buffer; readonly length: number } | null {
  if (bytes.length < 2) return null;
  const short = (bytes[1] ?? 0) & 0x7f;
  const wide = short === 126 ? 2 : short === 127 ? 8 : 0;
  const start = 2 + wide + 4;
  if (bytes.length < start) return null;
  const size = wide === 0 ? short : Number(BigInt(`0x${bytes.subarray(2, 2 + wide).toString("hex")}`));
  if (bytes.length < start + size) return null;
  const mask = bytes.subarray(start - 4, start);
  const payload = bytes.subarray(start, start + size).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  return { opcode: (bytes[0] ?? 0) & 0x0f, payload: Buffer.from(payload), length: start + size };
}
