// Generates the request with a given seed and index, as bytes. Pure, so that each request can be reproduced.
import { seededRandom, type Random } from "../../src/base/domain/random.ts";
import { fieldsOf } from "./from-schema.ts";
import { bytesOf, type HttpMessage } from "./http-message.ts";
import { mutatedMessage } from "./mutate-http.ts";
import { mutatedJson } from "./mutate-json.ts";
import { oneOf } from "./odd-values.ts";
import type { FuzzedWorld, ValidRequest } from "./valid-request.ts";
import { validRequests } from "./valid-requests.ts";

export interface FuzzRequest {
  /** Name of the operation, and its mutations. */
  readonly what: string;
  /** Path of the data that the unmutated request reads; null if it changes data. */
  readonly reads: string | null;
  readonly method: string;
  readonly bytes: Buffer;
  /**
   * True if the body is incomplete. The client then closes its side of the connection after sending, and may not get an
   * answer.
   */
  readonly isCut: boolean;
  /** Delay in milliseconds after which the client disconnects; null if it waits for the answer. */
  readonly leavesAfterMs: number | null;
}

/** Maximum delay before the client disconnects, as a cancel button, a deadline or a proxy would make it. */
const leavingMsMax = 5;

/** Returns the request for a seed and index. It is always the same, except for the ids of the world's objects. */
export function fuzzRequest(seed: number, index: number, world: FuzzedWorld): FuzzRequest {
  const random = seededRandom("fuzz", seed, index);
  const valid = oneOf(random, validRequests(world));
  const changes: string[] = [];
  let message = messageOf(valid, world);
  if (valid.oddBody !== undefined && random.uniform() < 0.6) {
    message = { ...message, body: valid.oddBody(random) };
    changes.push("an odd body");
  } else if (valid.schema !== undefined && random.uniform() < 0.4) {
    const fields = fieldsOf(valid.schema, random);
    const body = random.uniform() < 0.7 ? { ...fields, ...Object(valid.body) } : fields;
    message = { ...message, body: Buffer.from(JSON.stringify(body)) };
    changes.push("fields of the schema");
  } else if (valid.body !== undefined && !Buffer.isBuffer(valid.body) && random.uniform() < 0.75) {
    const count = 1 + random.index(3);
    message = {
      ...message,
      body: Buffer.from(mutatedJson(valid.body, count, { random, names: valid.names })),
    };
    changes.push(`${count} in the JSON`);
  }
  if (message.body !== null && random.uniform() < 0.12) {
    message = { ...message, body: mutatedBytes(message.body, random) };
    changes.push("bytes");
  }
  while (changes.length === 0 || random.uniform() < 0.15) {
    const changed = mutatedMessage(message, { random, names: valid.names });
    message = changed.message;
    changes.push(changed.what);
  }
  const whole = bytesOf(message, random);
  const isCut = random.uniform() < 0.02;
  const bytes = isCut ? whole.subarray(0, random.index(whole.length)) : whole;
  if (isCut) changes.push("cut");
  // Sends several copies without waiting for answers in between (pipelining). Reads only the first answer, and none if
  // the client disconnects earlier.
  const count = random.uniform() < 0.03 ? 2 + random.index(3) : 1;
  if (count > 1) changes.push(`${count} at once`);
  const leavesAfterMs = random.uniform() < 0.1 ? random.index(leavingMsMax) : null;
  if (leavesAfterMs !== null) changes.push(`left after ${leavesAfterMs} ms`);
  return {
    what: `${valid.method} ${valid.path}: ${changes.join(", ")}`,
    reads: valid.method === "GET" ? valid.path : null,
    method: message.method,
    bytes: Buffer.concat(Array<Buffer>(count).fill(bytes)),
    isCut,
    leavesAfterMs,
  };
}

function messageOf(valid: ValidRequest, { apiKey }: FuzzedWorld): HttpMessage {
  const credentials = {
    Bearer: `Bearer ${apiKey}`,
    Basic: `Basic ${Buffer.from(`api:${apiKey}`).toString("base64")}`,
    none: "",
  }[valid.scheme ?? "Bearer"];
  const headers = {
    host: "127.0.0.1",
    ...(credentials === "" ? {} : { authorization: credentials }),
    ...(valid.body === undefined ? {} : { "content-type": "application/json" }),
    ...valid.headers,
  };
  return {
    method: valid.method,
    target: valid.path,
    version: "HTTP/1.1",
    headers: Object.entries(headers),
    body: bodyOf(valid),
    isChunked: false,
    lineEnd: "\r\n",
  };
}

function bodyOf({ body }: ValidRequest): Buffer | null {
  if (body === undefined) return null;
  return Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
}

/** Mutates the bytes of the body. */
function mutatedBytes(body: Buffer, random: Random): Buffer {
  const at = random.index(body.length + 1);
  const [before, after] = [body.subarray(0, at), body.subarray(at)];
  const between = (...bytes: readonly number[]): Buffer => Buffer.concat([before, Buffer.from(bytes), after]);
  return oneOf(random, [
    () => before,
    () => after,
    () => between(random.index(256)),
    () => between(0),
    () => between(0xff, 0xfe),
    () => between(0xed, 0xa0, 0x80),
    () => Buffer.concat([before, after.subarray(1)]),
    () => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]),
    () => Buffer.from(body.toString(), "utf16le"),
    () => Buffer.concat([body, body]),
    () => Buffer.concat([body, Buffer.from("\n")]),
    // Large enough that the server parses it in another thread.
    () => Buffer.concat([Buffer.alloc(140_000, " "), body]),
    () => Buffer.alloc(0),
    () => Buffer.from("[".repeat(200_000)),
  ])();
}
