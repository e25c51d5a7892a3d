// Reads the bodies of requests: small ones at once, large ones in a worker, so that parsing and checking one holds up no
// other request. Very large ones have a worker of their own, and do not hold up the large.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { WorkerPool } from "../../../base/processes/worker-pool.ts";
import { requestIdOf } from "../request-life.ts";
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

// Bodies whose senders wait to be asked for them (`Expect: 100-continue`): asked for once nothing speaks against the
// request that can be known without its body, so that what is refused is never sent.
const waiting = new WeakSet<IncomingMessage>();

/** Has requests handled without asking for their bodies, which Node would do by itself. */
export function leaveBodiesUnasked({ server }: FastifyInstance): void {
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request);
    server.emit("request", request, response);
  });
}

/** Asks the client for the body, before its first byte is read; does nothing where the client does not wait. */
export function askForBody({ raw, response }: FastifyRequest): void {
  if (waiting.delete(raw)) response.writeContinue();
}

/** Up to here a body is read in less time than a worker takes to answer. */
const smallBytesMax = 1 << 17;
const largeBytesMax = 1 << 24;

const poolOptions = {
  module: bodyTaskModule,
  workerCount: 1,
  stageMs: [120_000],
  memoryMebibytes: 2048,
};

/** Marks a route whose handler reads its body with a {@link BodyReader}. */
export const readApart = { config: { readsApart: true } } as const;

/** A body that a {@link BodyReader} reads, and what an endpoint's handler gets of it. */
export interface ApartForm<Value extends Ignoring = Ignoring> extends BodyForm<ObjectSchema> {
  readonly read: (request: FastifyRequest) => Promise<Value>;
}

interface Ignoring {
  readonly ignored: readonly string[];
}

export function isApartForm(form: BodyForm<ObjectSchema>): form is ApartForm {
  return "read" in form;
}

type FormKind = {
  [Kind in BodyKind]: BodyTasks[Kind]["result"] extends Ignoring ? Kind : never;
}[BodyKind];

export class BodyReader {
  readonly #limits: BodyLimits;
  readonly #large = new WorkerPool<BodyTasks>(poolOptions);
  /** What such a body left in the worker's memory is not kept for the next. */
  readonly #veryLarge = new WorkerPool<BodyTasks>({ ...poolOptions, endsWhenIdle: true });

  constructor(settings: HttpSettings) {
    this.#limits = bodyLimits(settings);
  }

  /**
   * Reads a body as the kind it is; its pieces are given away.
   *
   * @param body as the routes that are {@link readApart} get it
   * @throws ServiceError what is wrong with it; `too_large` where it takes more memory to read than there is
   */
  async read<Kind extends BodyKind>(
    kind: Kind,
    request: Pick<FastifyRequest, "body" | "caller" | "id" | "headers">,
    context: KindContext = {},
  ): Promise<BodyTasks[Kind]["result"]> {
    // A request without a content type has none.
    const { pieces, byteCount } = (request.body ?? { pieces: [], byteCount: 0 }) as GatheredBody;
    const sender = { caller: request.caller, requestId: requestIdOf(request) };
    const body: SentBody = { pieces, limits: this.#limits, sender, context };
    if (byteCount <= smallBytesMax) return bodyTasks[kind](body);
    const pool = byteCount <= largeBytesMax ? this.#large : this.#veryLarge;
    // Entities take turns, so that nobody's one body waits for another's many.
    const client = request.caller.entity;
    return pool.run(kind, body, { client, transfer: pieces.map((piece) => piece.buffer) });
  }

  /** The body of an endpoint. @param contextOf what bodies of its kind are read with besides */
  form<Kind extends FormKind>(
    kind: Kind,
    { schema }: BodyForm<ObjectSchema>,
    contextOf?: (request: FastifyRequest) => KindContext,
  ): ApartForm<BodyTasks[Kind]["result"]> {
    return { schema, read: (request) => this.read(kind, request, contextOf?.(request)) };
  }

  async close(): Promise<void> {
    await Promise.all([this.#large.close(), this.#veryLarge.close()]);
  }
}
