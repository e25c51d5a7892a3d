// Newest lines of this server's log, for administrators, as pages or as a stream.
import type { FastifyInstance } from "fastify";
import type { LogLine } from "../../../../base/domain/logs/log-line.ts";
import { logLineSchema, logQuerySchema } from "../../../wire/logs/log-lines.ts";
import { pageRequest, pageSchema } from "../../../wire/page.ts";
import { adminOnly } from "../../credentials/admin-only.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { pageOrEvents, type WatchedList } from "../../event-reply.ts";

export function logRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { recentLog } = dependencies;
  endpoints(app, { tag: "health", scheme: "bearer" })(
    "GET /v1/preview/logs",
    {
      summary: "Read the newest log lines, or follow the log",
      description:
        "Requires an admin key. Each server keeps the newest 1,000 lines of its log since its start, at most 1 MiB. Servers that share a database keep separate logs. With `Accept: text/event-stream` the server sends the lines after the cursor in `after` or the header `Last-Event-ID`, then each new line as it is written. If the cursor's line is no longer kept, the answer begins with the oldest line.",
      query: logQuerySchema,
      answer: "A page of lines, newest first by default.",
      json: pageSchema(logLineSchema),
      events: logLineSchema,
      options: adminOnly("The log is for administrators; this key is a member's."),
    },
    ({ query: { level = "debug", ...query }, request, reply }) => {
      const lines: WatchedList<LogLine> = {
        list: async (asked) => recentLog.list(asked, level),
        watch: (after, signal) => recentLog.follow({ after, level }, signal),
        body: (line) => line,
      };
      return pageOrEvents(lines, pageRequest(query, "desc"), { request, reply }, dependencies);
    },
  );
}
