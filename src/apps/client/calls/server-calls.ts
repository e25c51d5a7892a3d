// How the server is. What is not well is an error at once, with what was found as its body.
import type { LogLine } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";
import type { WatchOptions } from "./follow-job.ts";

const atOnce = { retries: 0 };

/** `hone.server`; `key` and the log need a key. */
export class ServerCalls extends CallGroup {
  /** Whether it can serve. @throws HoneError with status 503 while it cannot */
  readonly health = this.call("GET /health", atOnce);
  /** How each part of it is. @throws HoneError with status 503 where one is not well */
  readonly check = this.call("GET /v1/system-check", atOnce);
  /** Whose key this client has. */
  readonly key = this.call("GET /v1/preview/key");
  /** The newest lines of the log of the server that answers, the newest first unless asked. For administrators. */
  readonly logs = this.pages("GET /v1/preview/logs");

  async version(options?: RequestOptions): Promise<string> {
    return (await this.calls.call("GET /version", {}, options)).version;
  }

  /** How many requests with a key are being answered. */
  async load(options?: RequestOptions): Promise<number> {
    return (await this.calls.call("GET /load", {}, options)).server_load;
  }

  /** The lines behind `after`, or all that are kept, and each further one as it is written. For administrators. */
  watchLogs(
    query: Pick<QueryOf<"GET /v1/preview/logs">, "after" | "level"> = {},
    options?: Omit<WatchOptions, "after">,
  ): AsyncGenerator<LogLine> {
    return this.calls.events("GET /v1/preview/logs", { query }, options);
  }

  /** In Prometheus' text form. */
  metrics(options?: RequestOptions): Promise<string> {
    return this.calls.text("GET /metrics", {}, options);
  }
}
