// For tests: a third-party store of buckets (@20minutes/s3rver) on a free port of this machine. The proxy in front of
// it passes requests to the store, refuses them, or breaks the connection.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import { createRequire } from "node:module";
import { buffer } from "node:stream/consumers";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newUuid } from "../../../base/domain/random.ts";
import { storeEnvironment } from "../s3/bucket-client.ts";
import type { BucketPlace } from "../s3/bucket-place.ts";

/**
 * How the proxy handles a request. It passes the request to the store, returns a given response, or breaks the
 * connection before or during the response.
 */
export type Passage =
  | "through"
  | "lost"
  | "cut"
  | { readonly status: number; readonly code: string }
  /**
   * Replaces the body of the store's response by another body with the same declared length. `endless` sends a body
   * that never ends.
   */
  | { readonly body: ((stored: Buffer) => Buffer) | "endless" };

export interface BucketServer {
  /** Returns a place in the bucket with an unused prefix. */
  readonly newPlace: () => BucketPlace;
  /** Sets how the proxy handles all following requests. */
  readonly pass: (passage: (asked: { readonly method: string; readonly path: string }) => Passage) => void;
  readonly close: () => Promise<void>;
}

/** Type of the store's package, which has no type declarations of its own. */
interface Store {
  run(): Promise<{ readonly port: number }>;
  close(): Promise<void>;
}
type MakeStore = new (options: Readonly<Record<string, unknown>>) => Store;

const bucket = "of-tests";

/** Starts the store, and sets the store's credentials in the environment of this process. */
export async function startBucketServer(): Promise<BucketServer> {
  const directory = mkdtempSync(join(tmpdir(), "hone-buckets-"));
  const S3rver = createRequire(import.meta.url)("@20minutes/s3rver") as MakeStore;
  const address = "127.0.0.1";
  const store = new S3rver({
    port: 0,
    address,
    silent: true,
    // Needed because the store verifies signatures for a path without the slash after the bucket's name.
    allowMismatchedSignatures: true,
    directory,
    configureBuckets: [{ name: bucket }],
  });
  const { port } = await store.run();
  Object.assign(process.env, storeEnvironment);
  process.env["AWS_ACCESS_KEY_ID"] = "S3RVER";
  process.env["AWS_SECRET_ACCESS_KEY"] = "S3RVER";
  let passage: Parameters<BucketServer["pass"]>[0] = () => "through";
  const door = createServer((asked, answer) => {
    const how = passage({ method: asked.method ?? "", path: asked.url ?? "" });
    if (how === "lost") {
      asked.socket.destroy();
      return;
    }
    if (typeof how === "object" && "status" in how) {
      asked.resume();
      answer.writeHead(how.status, { "content-type": "application/xml" });
      answer.end(`<Error><Code>${how.code}</Code><Message>refused by a test</Message></Error>`);
      return;
    }
    const { method, url: path, headers } = asked;
    const passed = request({ host: address, port, method, path, headers }, (answered: IncomingMessage) => {
      if (typeof how === "object") {
        void answerWith(answer, answered, how.body);
        return;
      }
      answer.writeHead(answered.statusCode ?? 500, answered.headers);
      if (how === "through") {
        answered.pipe(answer);
        return;
      }
      answered.resume();
      answer.write("<");
      setImmediate(() => asked.socket.destroy());
    });
    passed.on("error", () => asked.socket.destroy());
    asked.pipe(passed);
  });
  const doorPort = await listen(door);
  return {
    newPlace: () => ({
      bucket,
      prefix: `${newUuid()}/`,
      endpoint: `http://${address}:${doorPort}`,
      isPathStyle: true,
    }),
    pass: (next) => void (passage = next),
    close: async () => {
      door.closeAllConnections();
      await new Promise((resolve) => door.close(resolve));
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function answerWith(
  answer: ServerResponse,
  answered: IncomingMessage,
  body: ((stored: Buffer) => Buffer) | "endless",
): Promise<void> {
  const stored = await buffer(answered);
  const { "content-length": _, ...headers } = answered.headers;
  answer.writeHead(answered.statusCode ?? 500, headers);
  if (body !== "endless") {
    answer.end(body(stored));
    return;
  }
  const more = Buffer.alloc(1 << 20);
  while (!answer.destroyed)
    if (!answer.write(more)) await Promise.race([once(answer, "drain"), once(answer, "close")]);
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // Safe cast: the server listens on a port, so its address is an object.
  return (server.address() as AddressInfo).port;
}
