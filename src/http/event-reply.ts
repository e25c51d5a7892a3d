// A reply that is a stream of events: takes the response from the framework, sends what comes, and sends an error
// that happens on the way as one last event.
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../telemetry/logger.ts";
import { errorAnswer, type ErrorBody } from "./errors.ts";
import type { HttpSettings } from "./settings.ts";
import { EventStream, type EventStreamOptions, IdleStreamError, eventStreamHeaders } from "./sse.ts";

/**
 * Sends the headers; from here on the status is 200 whatever happens.
 *
 * @param form of a stream whose events are named by their type, or bring their ids
 */
export function openEventStream(
  reply: FastifyReply,
  { clock, settings }: { readonly clock: Clock; readonly settings: HttpSettings },
  form: Pick<EventStreamOptions, "isNamed" | "hasIds"> = { isNamed: false },
): EventStream {
  reply.hijack();
  reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...eventStreamHeaders });
  reply.raw.flushHeaders();
  return new EventStream(reply.raw, {
    ...form,
    clock,
    idleMs: settings.idleStreamSeconds * 1000,
    keepAliveMs: settings.keepAliveSeconds * 1000,
  });
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
    waited.abort();
  }
}

/**
 * Sends every event, and what ends the stream. What the events throw becomes one event with the error body; a client
 * that went away or reads nothing ends the sending, and with it whatever produces the events.
 */
export async function sendAll(
  stream: EventStream,
  events: AsyncIterable<object>,
  request: FastifyRequest,
  logger: Logger,
): Promise<void> {
  try {
    await sendEvents(stream, events, request, logger);
    await stream.done();
  } catch (error) {
    if (!(error instanceof IdleStreamError)) throw error;
    logger.warn({ requestId: request.id, err: error }, "stream ended: its client reads nothing");
  }
}

async function sendEvents(
  stream: EventStream,
  events: AsyncIterable<object>,
  request: FastifyRequest,
  logger: Logger,
): Promise<void> {
  try {
    for await (const event of events) await stream.send(event);
  } catch (error) {
    if (error instanceof IdleStreamError) throw error;
    await stream.send(streamFailure(error, stream, request, logger));
  }
}

/** The body for what went wrong in a stream; what is the server's fault is logged, unless the client went away. */
export function streamFailure(
  error: unknown,
  { isClosed }: EventStream,
  request: FastifyRequest,
  logger: Logger,
): ErrorBody {
  const { status, body, answerFailure } = errorAnswer(error, request.id);
  if (status >= 500 && !isClosed)
    logger.error({ requestId: request.id, err: error, answerFailure }, "stream failed");
  return body;
}
