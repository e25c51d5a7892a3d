// Calls about the state of the server. A health problem is an immediate error, with the findings as its body.
import type { LogLine } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";
import type { WatchOptions } from "./follow-job.ts";

const atOnce = { retries: 0 };

/** `hone.server`; `key` and the log need a key. */
export class ServerCalls extends CallGroup {
  /** Checks that the server can serve. @throws HoneError with status 503 while it cannot */
  readonly health = this.call("GET /health", atOnce);
  /** Returns the state of each part. @throws HoneError with status 503 if one is unhealthy */
  readonly check = this.call("GET /v1/system-check", atOnce);
  /** Describes this client's key. */
  readonly key = this.call("GET /v1/preview/key");
  /** Lists the newest log lines of the server that answers, newest first by default. For administrators. */
  readonly logs = this.pages("GET /v1/preview/logs");

  async version(options?: RequestOptions): Promise<string> {
    return (await this.calls.call("GET /version", {}, options)).version;
  }

  /** Returns the number of running requests with a key. */
  async load(options?: RequestOptions): Promise<number> {
    return (await this.calls.call("GET /load", {}, options)).server_load;
  }

  /** Streams the log lines after `after`, or all kept lines, then new lines as they are written. For administrators. */
  watchLogs(
    query: Pick<QueryOf<"GET /v1/preview/logs">, "after" | "level"> = {},
    options?: Omit<WatchOptions, "after">,
  ): AsyncGenerator<LogLine> {
    return this.calls.events("GET /v1/preview/logs", { query }, options);
  }

  /** Returns the metrics in Prometheus text format. */
  metrics(options?: RequestOptions): Promise<string> {
    return this.calls.text("GET /metrics", {}, options);
  }
}
