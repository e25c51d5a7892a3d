// Code of a session's thread. It opens the session, then answers requests one at a time, in order. It posts each answer
// to a separate port, and announces it on the parent port, so that the main thread takes the answer when it has time.
import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import type { QueryResult } from "kysely";
import { present } from "../../../base/domain/assert.ts";
import { SqliteSession, type SessionOptions, type SessionRequest } from "./session.ts";

export type ThreadRequest = { readonly kind: "open"; readonly options: SessionOptions } | SessionRequest;

/** A result, or an error as plain data. Sending an error between threads would lose its class and code. */
export type ThreadAnswer =
  | { readonly result: QueryResult<unknown> }
  | { readonly error: { readonly message: string; readonly code: string | null } };

const port = present(parentPort, "the port of a worker's parent");
// Safe cast: only a session link starts this thread, and it passes a port.
const answers = workerData as MessagePort;
let session: SqliteSession | null = null;

port.on("message", (request: ThreadRequest) => {
  answers.postMessage(answerTo(request), []);
  port.postMessage(null, []);
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
