// Calls for the state of the server. Health checks are not retried: if the server is unhealthy, the call throws at
// once, and the body of the error has the findings.
import type { LogLine, ServerSummary } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";
import type { WatchOptions } from "./training/follow-job.ts";

const withoutRetries = { retries: 0 };

/** The call group `hone.server`. `key` and the calls for logs require a key. */
export class ServerCalls extends CallGroup {
  /**
   * Checks that the server can serve requests.
   *
   * @throws HoneError with status 503 if it cannot
   */
  readonly health = this.call("GET /health", withoutRetries);
  /**
   * Returns the state of each component.
   *
   * @throws HoneError with status 503 if a component is unhealthy
   */
  readonly check = this.call("GET /v1/system-check", withoutRetries);
  /** Returns a description of the key that this client uses. */
  readonly key = this.call("GET /v1/preview/key");
  /** Returns a summary of the server: its health, its base models, and the running jobs. */
  readonly summary = this.call("GET /v1/preview/summary");
  /**
   * Lists the newest log lines, newest first by default. If several servers share the address, these are the lines of
   * the server that answers. For administrators.
   */
  readonly logs = this.pages("GET /v1/preview/logs");

  async version(options?: RequestOptions): Promise<string> {
    return (await this.calls.call("GET /version", {}, options)).version;
  }

  /** Returns the number of requests that are currently running. */
  async load(options?: RequestOptions): Promise<number> {
    return (await this.calls.call("GET /load", {}, options)).server_load;
  }

  /**
   * Streams the log lines after the id `after` (by default all lines that the server still has), then new lines as
   * they are logged. For administrators.
   */
  watchLogs(
    query: Pick<QueryOf<"GET /v1/preview/logs">, "after" | "level"> = {},
    options?: Omit<WatchOptions, "after">,
  ): AsyncGenerator<LogLine> {
    return this.calls.events("GET /v1/preview/logs", { query }, options);
  }

  /** Streams the summary of the server: at once, then again after each change. */
  watchSummary(options?: Omit<WatchOptions, "after">): AsyncGenerator<ServerSummary> {
    return this.calls.events("GET /v1/preview/summary", {}, options);
  }

  /** Returns the metrics in Prometheus text format. */
  metrics(options?: RequestOptions): Promise<string> {
    return this.calls.text("GET /metrics", {}, options);
  }
}
