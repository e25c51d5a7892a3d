// Parses and checks request bodies: small ones immediately, large ones in a worker, so that they delay no other
// request. A second worker reads very large bodies, so that these do not delay the large ones.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { WorkerPool } from "../../../base/processes/worker-pool.ts";
import { requestIdOf } from "../request-lifecycle.ts";
import { bodyLimits, type HttpSettings } from "../settings.ts";
import type { BodyForm, ObjectSchema } from "../../wire/body.ts";
import type { BodyLimits } from "../../wire/body-limits.ts";
import type { GatheredBody } from "./gather-body.ts";
import {
  bodyTaskModule,
  bodyTasks,
  type BodyKind,
  type BodyTasks,
  type KindContext,
  type SentBody,
} from "../../wire/body-tasks.ts";

// Requests whose clients wait for `100 Continue` before they send the body (`Expect: 100-continue`). The server sends
// `100 Continue` after all checks that need no body, so that clients never send the body of a refused request.
const waiting = new WeakSet<IncomingMessage>();

/** Stops Node from sending `100 Continue` automatically, so that {@link askForBody} can send it later. */
export function leaveBodiesUnasked({ server }: FastifyInstance): void {
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request);
    server.emit("request", request, response);
  });
}

/** Sends `100 Continue`, before the body's first byte is read. Does nothing if the client is not waiting for it. */
export function askForBody({ raw, response }: FastifyRequest): void {
  if (waiting.delete(raw)) response.writeContinue();
}

/**
 * Maximum size in bytes of a body that the main thread reads itself. Passing such a small body to a worker would take
 * longer.
 */
const smallBytesMax = 1 << 17;
const largeBytesMax = 1 << 24;

const poolOptions = {
  module: bodyTaskModule,
  workerCount: 1,
  stageMs: [120_000],
  memoryMebibytes: 2048,
};

/** Route option for a handler that reads its body with a {@link BodyReader}. */
export const rawBody = { config: { takesRawBody: true } } as const;

/** Body that a {@link BodyReader} reads. `Value` is the type that the endpoint's handler gets. */
export interface RawBodyForm<Value extends Ignoring = Ignoring> extends BodyForm<ObjectSchema> {
  readonly read: (request: FastifyRequest) => Promise<Value>;
}

interface Ignoring {
  readonly ignored: readonly string[];
}

export function isRawBodyForm(form: BodyForm<ObjectSchema>): form is RawBodyForm {
  return "read" in form;
}

type FormKind = {
  [Kind in BodyKind]: BodyTasks[Kind]["result"] extends Ignoring ? Kind : never;
}[BodyKind];

export class BodyReader {
  readonly #limits: BodyLimits;
  readonly #large = new WorkerPool<BodyTasks>(poolOptions);
  /** Worker for very large bodies. It ends when it is idle, which frees the memory that it used for such a body. */
  readonly #veryLarge = new WorkerPool<BodyTasks>({ ...poolOptions, endsWhenIdle: true });

  constructor(settings: HttpSettings) {
    this.#limits = bodyLimits(settings);
  }

  /**
   * Reads a body as the given kind. Transfers the buffers of a large body to the worker, so that the caller can no
   * longer use them.
   *
   * @param request request of a route that is marked {@link rawBody}
   * @throws ServiceError with the body's faults; `too_large` if reading the body takes more memory than available
   */
  async read<Kind extends BodyKind>(
    kind: Kind,
    request: Pick<FastifyRequest, "body" | "caller" | "id" | "headers">,
    context: KindContext = {},
  ): Promise<BodyTasks[Kind]["result"]> {
    // Safe cast: on routes marked with {@link rawBody}, `request.body` is a gathered body. It is undefined if the
    // request has no content type.
    const { pieces, byteCount } = (request.body ?? { pieces: [], byteCount: 0 }) as GatheredBody;
    const sender = { caller: request.caller, requestId: requestIdOf(request) };
    const body: SentBody = { pieces, limits: this.#limits, sender, context };
    // A compressed body may become much larger, so a worker always decompresses it.
    const isCompressed = context.exportForm?.isCompressed === true;
    if (byteCount <= smallBytesMax && !isCompressed) return bodyTasks[kind](body);
    const pool = byteCount <= largeBytesMax ? this.#large : this.#veryLarge;
    // Entities take turns in the worker, so that many bodies of one entity do not delay the bodies of others.
    const client = request.caller.entity;
    return pool.run(kind, body, { client, transfer: pieces.map((piece) => piece.buffer) });
  }

  /**
   * Returns the option `body` of an endpoint, for bodies of the given kind.
   *
   * @param contextOf returns the reader's input besides the body
   */
  form<Kind extends FormKind>(
    kind: Kind,
    { schema }: BodyForm<ObjectSchema>,
    contextOf?: (request: FastifyRequest) => KindContext,
  ): RawBodyForm<BodyTasks[Kind]["result"]> {
    return { schema, read: (request) => this.read(kind, request, contextOf?.(request)) };
  }

  async close(): Promise<void> {
    await Promise.all([this.#large.close(), this.#veryLarge.close()]);
  }
}
