// The thread of one session: opens it, then answers requests one at a time, in the order they came.
import { parentPort } from "node:worker_threads";
import type { QueryResult } from "kysely";
import { present } from "../../domain/assert.ts";
import { SqliteSession, type SessionOptions, type SessionRequest } from "./session.ts";

export type ThreadRequest = { readonly kind: "open"; readonly options: SessionOptions } | SessionRequest;

/** A result, or an error as plain data: neither classes nor codes of errors pass between threads. */
export type ThreadAnswer =
  | { readonly result: QueryResult<unknown> }
  | { readonly error: { readonly message: string; readonly code: string | null } };

const port = present(parentPort, "the port of a worker's parent");
let session: SqliteSession | null = null;

port.on("message", (request: ThreadRequest) => {
  port.postMessage(answerTo(request), []);
  if (request.kind === "close") port.close();
});

function answerTo(request: ThreadRequest): ThreadAnswer {
  try {
    if (request.kind !== "open") return { result: present(session, "the open session").answer(request) };
    session = new SqliteSession(request.options);
    return { result: { rows: [] } };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    return { error: { message: error.message, code: "code" in error ? String(error.code) : null } };
  }
}
