// The newest lines of this server's log, for administrators: as pages, or as a stream of what is written.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { RecentLog } from "../../../../base/telemetry/recent-log.ts";
import { logLineSchema, logQuerySchema } from "../../../wire/logs/log-lines.ts";
import { cursorRefusal, pageAnswer, pageRequest, pageSchema } from "../../../wire/page.ts";
import { forAdministrators } from "../../credentials/for-administrators.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { endAfter, openEventStream } from "../../event-reply.ts";
import { abandonedSignal } from "../../request-scope.ts";

export function logRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { recentLog } = dependencies;
  endpoints(app, { tag: "health", scheme: "bearer" })(
    "GET /v1/preview/logs",
    {
      summary: "Read the newest lines of the log, or watch them",
      description:
        "For administrators. The server that answers has the newest 1,000 lines of its own log, up to 1 MiB, since it started; other servers on the same database have theirs. With `Accept: text/event-stream` sends the lines behind `after` or the header `Last-Event-ID`, and each further one as it is written. A cursor whose line is gone stands before the oldest line.",
      query: logQuerySchema,
      answer: "A page of them, the newest first unless asked.",
      json: pageSchema(logLineSchema),
      events: logLineSchema,
      options: forAdministrators("The log is for administrators; this key is a member's."),
    },
    ({ query, request, reply }) => {
      const { level = "debug" } = query;
      const asked = pageRequest(query, "desc");
      if ((request.headers.accept ?? "").includes("text/event-stream"))
        return watchLog({ after: asked.after, level }, { request, reply }, dependencies);
      // A cursor is refused by the promise, as it is by every other list.
      const page = Promise.resolve().then(() => recentLog.list(asked, level));
      return pageAnswer(page, (line) => line);
    },
  );
}

async function watchLog(
  { after, level }: Parameters<RecentLog["follow"]>[0],
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  dependencies: HttpDependencies,
): Promise<FastifyReply> {
  const { recentLog, logger } = dependencies;
  const signal = abandonedSignal(reply);
  const header = request.headers["last-event-id"];
  const isResumed = typeof header === "string" && header !== "";
  const lines = recentLog.follow({ after: isResumed ? header : after, level }, signal);
  const stream = openEventStream(reply, dependencies, { isNamed: false, hasIds: true });
  const sendAll = async (): Promise<void> => {
    try {
      for await (const line of lines) await stream.send(line);
    } catch (error) {
      throw cursorRefusal(error, isResumed ? ["header", "last-event-id"] : undefined);
    }
    // Ends without a word on abort; the reader must learn why.
    signal.throwIfAborted();
  };
  await endAfter(stream, sendAll, { request, logger });
  return reply;
}
