// A reply that is a stream of events: takes the response from the framework, sends what comes, and sends an error
// that happens on the way as one last event.
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../base/domain/clock.ts";
import type { Page, PageRequest } from "../../base/domain/page.ts";
import { waitOver } from "../../base/domain/waiting/wait-over.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import { type PageBody, pageBody } from "../wire/page.ts";
import { locate } from "../wire/field-paths.ts";
import { errorAnswerFor } from "./anthropic/dialect.ts";
import type { ErrorBody } from "./errors.ts";
import { abandonedSignal } from "./request-scope.ts";
import type { HttpSettings } from "./settings.ts";
import { EventStream, type EventStreamOptions, IdleStreamError, eventStreamHeaders } from "./sse.ts";

/**
 * Sends the headers; from here on the status is 200 whatever happens.
 *
 * @param form of a stream whose events are named by their type, or bring their ids, or that one of them keeps alive
 */
export function openEventStream(
  reply: FastifyReply,
  { clock, settings }: { readonly clock: Clock; readonly settings: HttpSettings },
  form: Pick<EventStreamOptions, "isNamed" | "hasIds" | "keepAliveEvent"> = { isNamed: false },
): EventStream {
  reply.hijack();
  reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...eventStreamHeaders });
  const stream = new EventStream(reply.raw, {
    ...form,
    tenant: reply.request.caller.entity,
    clock,
    idleMs: settings.idleStreamSeconds * 1000,
    keepAliveMs: settings.keepAliveSeconds * 1000,
  });
  reply.raw.flushHeaders();
  return stream;
}

/**
 * Waits for what still decides about the answer's status, but no longer than a connection may be silent: then the stream has
 * to begin, and what goes wrong is an event of it.
 *
 * @throws what `first` throws in that time
 */
export async function firstOrSilence(
  first: Promise<unknown>,
  { clock, settings }: { readonly clock: Clock; readonly settings: HttpSettings },
): Promise<void> {
  const waited = new AbortController();
  const { signal } = waited;
  const silence = clock.sleep(settings.keepAliveSeconds * 1000, { signal }).catch(() => undefined);
  try {
    await Promise.race([first, silence]);
  } finally {
    waited.abort(waitOver);
  }
}

/** The limits of a stream. */
export interface Sending {
  readonly request: FastifyRequest;
  readonly logger: Logger;
  /** What is sent of what went wrong on the way; absent sends the body that errors have. */
  readonly failure?: (body: ErrorBody) => readonly object[];
}

/**
 * Ends a stream once everything was sent. What `sendAll` throws is sent as events that end it; a client that reads nothing
 * ends the sending, and with it whatever makes the events.
 */
export async function endAfter(
  stream: EventStream,
  sendAll: () => Promise<void>,
  { request, logger, failure = (body) => [body] }: Sending,
): Promise<void> {
  try {
    try {
      await sendAll();
    } catch (error) {
      if (error instanceof IdleStreamError) throw error;
      await stream.send(...failure(streamFailure(error, stream, request, logger)));
    }
    await stream.done();
  } catch (error) {
    if (!(error instanceof IdleStreamError)) throw error;
    logger.warn({ requestId: request.id, err: error }, "stream ended: its client reads nothing");
  }
}

/** A list that is read as pages, or watched. */
export interface WatchedList<Item> {
  readonly list: (asked: PageRequest) => Promise<Page<Item>>;
  /** Items after the cursor as they come; ends on abort. */
  readonly watch: (after: string | null, signal: AbortSignal) => AsyncIterable<Item>;
  readonly body: (item: Item) => object;
}

/** Answers a page or, if the client accepts events, each item as it comes, with its id. */
export async function pageOrEvents<Item extends { readonly id: string }>(
  { list, watch, body }: WatchedList<Item>,
  asked: PageRequest,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  dependencies: { readonly clock: Clock; readonly settings: HttpSettings; readonly logger: Logger },
): Promise<PageBody | FastifyReply> {
  if (!(request.headers.accept ?? "").includes("text/event-stream")) return pageBody(await list(asked), body);
  const signal = abandonedSignal(reply);
  const header = request.headers["last-event-id"];
  // A browser that reconnects by itself sends a newer cursor than that of its first request.
  const isResumed = typeof header === "string" && header !== "";
  const items = watch(isResumed ? header : asked.after, signal);
  const stream = openEventStream(reply, dependencies, { isNamed: false, hasIds: true });
  const sendAll = async (): Promise<void> => {
    try {
      for await (const item of items) await stream.send(body(item));
    } catch (error) {
      throw locate(error, { after: isResumed ? ["header", "last-event-id"] : ["query", "after"] });
    }
    // A watch ends quietly on abort; its reader must not take that for the end of the list.
    signal.throwIfAborted();
  };
  await endAfter(stream, sendAll, { request, logger: dependencies.logger });
  return reply;
}

/** The body for what went wrong in a stream; what is the server's fault is logged, unless the client went away. */
function streamFailure(
  error: unknown,
  { isClosed }: EventStream,
  request: FastifyRequest,
  logger: Logger,
): ErrorBody {
  const { status, body, answerFailure } = errorAnswerFor(error, request);
  if (status >= 500 && !isClosed)
    logger.error({ requestId: request.id, err: error, answerFailure }, "stream failed");
  return body;
}
