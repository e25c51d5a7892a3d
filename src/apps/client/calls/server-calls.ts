// How the server is. What is not well is an error at once, with what was found as its body.
import type { Health, LogLine, OwnKey, SystemCheck } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Pages } from "../pages.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";
import type { WatchOptions } from "./follow-job.ts";

const atOnce = { retries: 0 };

/** `hone.server`; `key` and the log need a key. */
export class ServerCalls extends CallGroup {
  /** Whether it can serve. @throws HoneError with status 503 while it cannot */
  health(options?: RequestOptions): Promise<Health> {
    return this.calls.value("GET /health", {}, { ...atOnce, ...options });
  }

  /** How each part of it is. @throws HoneError with status 503 where one is not well */
  check(options?: RequestOptions): Promise<SystemCheck> {
    return this.calls.value("GET /v1/system-check", {}, { ...atOnce, ...options });
  }

  /** Whose key this client has. */
  key(options?: RequestOptions): Promise<OwnKey> {
    return this.calls.value("GET /v1/preview/key", {}, options);
  }

  async version(options?: RequestOptions): Promise<string> {
    return (await this.calls.value("GET /version", {}, options)).version;
  }

  /** How many requests with a key are being answered. */
  async load(options?: RequestOptions): Promise<number> {
    return (await this.calls.value("GET /load", {}, options)).server_load;
  }

  /** The newest lines of the log of the server that answers, the newest first unless asked. For administrators. */
  logs(query: QueryOf<"GET /v1/preview/logs"> = {}, options?: RequestOptions): Pages<LogLine> {
    return this.calls.pages("GET /v1/preview/logs", { query }, options);
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
