// Compresses answers with gzip if the client accepts it. Brotli would make lists only about 7 % smaller, and takes
// several megabytes of memory for each answer. Node's thread pool compresses, so the event loop continues meanwhile.
import { pipeline, type Readable } from "node:stream";
import { createGzip, gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply } from "fastify";
import { acceptedEncoding } from "../input/accepted-encoding.ts";

/** Minimum size in bytes of an answer that is compressed; a smaller one fits into one network packet anyway. */
const bytesMin = 1024;

/** Compression level: higher levels take up to twice as long for lists, and make them only 3 % smaller. */
const level = 4;

/** Matches content types that are text with repeating names; event streams are not among them. */
const compressible = /^(application\/(json|jsonl|x-ndjson)|text\/(csv|plain))\b/;

/**
 * Compresses the answers to GET requests that are sent in one piece. Answers to other methods may contain a new key,
 * whose letters would show in the length of a compressed answer that also repeats text of the request. Call this
 * function after other hooks that read or replace the payload of an answer are added.
 */
export function compressAnswers(app: FastifyInstance): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    const isWhole = typeof payload === "string" || Buffer.isBuffer(payload);
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead || !isWhole || Buffer.byteLength(payload) < bytesMin || !markCompressed(reply))
      return done(null, payload);
    gzip(payload, { level }, done);
  });
}

/** Returns the stream of an answer, compressed if the client accepts it. A failure of the source ends both streams. */
export function compressedStream(reply: FastifyReply, source: Readable): Readable {
  // If the client disconnects, `pipeline` destroys the source.
  return markCompressed(reply) ? pipeline(source, createGzip({ level }), () => undefined) : source;
}

/** Sets the headers of a compressed answer; false if the answer must be sent as it is. */
function markCompressed(reply: FastifyReply): boolean {
  // A file of a site chooses its encoding itself, and its ETag is the hash of its bytes.
  if (reply.hasHeader("content-encoding") || reply.hasHeader("etag")) return false;
  if (!compressible.test(String(reply.getHeader("content-type")))) return false;
  // Caches may store an answer that depends on Accept-Encoding only for requests with the same header.
  const vary = reply.getHeader("vary");
  reply.header("vary", vary === undefined ? "accept-encoding" : `${String(vary)}, accept-encoding`);
  const { headers } = reply.request;
  if (acceptedEncoding(headers["accept-encoding"], ["gzip"]) !== "gzip") return false;
  // A page of another site could send requests with different texts and compare the lengths of compressed answers (the
  // BREACH attack), so it gets none.
  const site = headers["sec-fetch-site"] ?? "none";
  if (site !== "same-origin" && site !== "none") return false;
  reply.header("content-encoding", "gzip").removeHeader("content-length");
  return true;
}
