// Replies with an event stream. It takes over the response from the web framework. An error that occurs during the
// stream becomes the last event.
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../base/domain/clock.ts";
import type { Page, PageRequest } from "../../base/domain/page.ts";
import { waitOver } from "../../base/domain/waiting/wait-over.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import { type PageBody, pageBody } from "../wire/page.ts";
import { locate } from "../wire/field-paths.ts";
import { errorAnswerFor } from "./anthropic/dialect.ts";
import { failureFields, type ErrorBody } from "./errors.ts";
import { abandonedSignal } from "./request-scope.ts";
import type { HttpSettings } from "./settings.ts";
import {
  EventStream,
  type EventStreamOptions,
  IdleStreamError,
  eventStreamHeaders,
  linesType,
} from "./sse.ts";

/**
 * Sends the headers of an event stream with status 200. An error that occurs later can no longer change this status.
 *
 * @param form options for streams with named events, ids, lines, or a keep-alive event
 */
export function openEventStream(
  reply: FastifyReply,
  { clock, settings }: { readonly clock: Clock; readonly settings: HttpSettings },
  form: Pick<EventStreamOptions, "isNamed" | "hasIds" | "isLines" | "keepAliveEvent"> = { isNamed: false },
): EventStream {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    ...eventStreamHeaders,
    ...(form.isLines === true ? { "content-type": linesType } : {}),
  });
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
 * Waits for a result that may still determine the answer's status, but no longer than a connection may stay silent.
 * After that, the stream begins, and an error becomes an event.
 *
 * @throws errors of `first` within that time
 */
export async function waitBeforeStreaming(
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

/** The request and the log of a stream, and the format of its error events. */
export interface Sending {
  readonly request: FastifyRequest;
  readonly logger: Logger;
  /** Returns the events to send for an error during the stream; by default one event with the common error body. */
  readonly failure?: (body: ErrorBody) => readonly object[];
}

/**
 * Runs `sendAll` and ends the stream. If `sendAll` fails, its error becomes the last event. `sendAll` also fails if the
 * client stops reading, which stops the source of the events.
 */
export async function finishStream(
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

/** A list that a client can read in pages or watch. */
export interface WatchedList<Item> {
  readonly list: (asked: PageRequest) => Promise<Page<Item>>;
  /** Yields the items after the cursor `after`, then new items as they are added. Ends when the signal aborts. */
  readonly watch: (after: string | null, signal: AbortSignal) => AsyncIterable<Item>;
  readonly body: (item: Item) => object;
}

/**
 * Answers with a page of the list. If the client accepts events, answers instead with a stream that sends each item,
 * with its id, as it is added.
 */
export async function pageOrEvents<Item extends { readonly id: string }>(
  { list, watch, body }: WatchedList<Item>,
  asked: PageRequest,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  dependencies: { readonly clock: Clock; readonly settings: HttpSettings; readonly logger: Logger },
): Promise<PageBody | FastifyReply> {
  if (!(request.headers.accept ?? "").includes("text/event-stream")) return pageBody(await list(asked), body);
  const signal = abandonedSignal(reply);
  const header = request.headers["last-event-id"];
  // A browser that reconnects repeats the URL with its old cursor. The header Last-Event-ID has the newer cursor, so it
  // takes precedence.
  const isResumed = typeof header === "string" && header !== "";
  const items = watch(isResumed ? header : asked.after, signal);
  const stream = openEventStream(reply, dependencies, { isNamed: false, hasIds: true });
  const sendAll = async (): Promise<void> => {
    try {
      for await (const item of items) await stream.send(body(item));
    } catch (error) {
      throw locate(error, { after: isResumed ? ["header", "last-event-id"] : ["query", "after"] });
    }
    // When the signal aborts, `watch` ends without an error. Throwing here keeps the client from taking that for the
    // end of the list.
    signal.throwIfAborted();
  };
  await finishStream(stream, sendAll, { request, logger: dependencies.logger });
  return reply;
}

/** Returns the error body to send as an event. Logs faults of the server, unless the client has disconnected. */
function streamFailure(
  error: unknown,
  { isClosed }: EventStream,
  request: FastifyRequest,
  logger: Logger,
): ErrorBody {
  const answer = errorAnswerFor(error, request);
  const fields = { requestId: request.id, ...failureFields(error, answer) };
  if (answer.status >= 500 && !isClosed) logger.error(fields, "stream failed");
  return answer.body;
}
