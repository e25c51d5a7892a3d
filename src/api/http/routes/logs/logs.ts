// The newest lines of this server's log, for administrators: as pages, or as a stream of what is written.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { requireAdministrator } from "../../credentials/require-administrator.ts";
import { logLineSchema, logPageSchema, logQuerySchema } from "../../../wire/logs/log-lines.ts";
import { cursorRefusal, pageAnswer, pageRequest } from "../../../wire/page.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { endAfter, openEventStream } from "../../event-reply.ts";
import { readQuery } from "../../input/query.ts";
import { abandonedSignal } from "../../request-scope.ts";

export function logRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  app.get(
    "/v1/preview/logs",
    {
      onRequest: async (request) => refuseMember(request),
      schema: {
        summary: "Read the newest lines of the log, or watch them",
        description:
          "For administrators. The server that answers has the newest 1,000 lines of its own log, up to 1 MiB, since it started; other servers on the same database have theirs. With `Accept: text/event-stream` sends the lines behind `after` or the header `Last-Event-ID`, and each further one as it is written. A cursor whose line is gone stands before the oldest line.",
        querystring: logQuerySchema,
        response: answered("A page of them, the newest first unless asked.", {
          json: logPageSchema,
          events: logLineSchema,
        }),
        tags: ["health"],
        security: [{ bearer: [] }],
      },
    },
    (request, reply) => answerLog(request, reply, dependencies),
  );
}

async function answerLog(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
): Promise<unknown> {
  const { recentLog, logger } = dependencies;
  const query = readQuery(logQuerySchema, request, reply);
  const level = query.level ?? "debug";
  const asked = pageRequest(query, "desc");
  if (!(request.headers.accept ?? "").includes("text/event-stream"))
    return pageAnswer(
      // A cursor is refused by the promise, as it is by every other list.
      Promise.resolve().then(() => recentLog.list(asked, level)),
      (line) => line,
    );
  const signal = abandonedSignal(reply);
  const header = request.headers["last-event-id"];
  const isResumed = typeof header === "string" && header !== "";
  const lines = recentLog.follow({ after: isResumed ? header : asked.after, level }, signal);
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

function refuseMember(request: FastifyRequest): void {
  requireAdministrator(request, "The log is for administrators; this key is a member's.");
}
