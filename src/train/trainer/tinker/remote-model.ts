// A model that a server is training. Numbers the model's operations, submits them in order, and waits for their
// results.
import { ServiceError, notFound } from "../../../base/domain/service-error.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import type { OptimizerStep } from "../trainer.ts";
import { chunksOf } from "./chunks.ts";
import type { TinkerConnection } from "./http/connection.ts";
import { ForgottenFuture, type FutureOptions, type Futures, requestIdOf } from "./http/futures.ts";
import { garbled, isGone, jsonOf, reasonOf, refusalOf, type Reply } from "./http/refusals.ts";
import type { ServerKind } from "./server-kinds.ts";
import type { TinkerSession } from "./http/session.ts";
import type { NegotiatedEncoding } from "./negotiated-encoding.ts";
import type { Datum, EncodedRequest, LossName } from "./wire/encoding.ts";
import { logprobsOfJson } from "./wire/json-encoding.ts";
import { logprobsOfProtobuf } from "./wire/protobuf-encoding.ts";
import { jsonType } from "./wire/encoding.ts";

/** Objects that all models on one server share. */
export interface TinkerService {
  readonly connection: TinkerConnection;
  readonly futures: Futures;
  readonly encoding: NegotiatedEncoding;
  readonly kind: ServerKind;
  readonly clock: Clock;
}

export interface NewModel {
  /** Name of the base model on the server. */
  readonly base: string;
  readonly rank: number;
  /** Seed of the new adapter: an integer of at least 0 and less than 2^31. */
  readonly seed: number;
}

export class RemoteModel {
  readonly id: string;
  readonly #service: TinkerService;
  readonly #session: TinkerSession;
  #seqId = 0;
  /**
   * Resolves when the latest operation is submitted. Operations are submitted one after the other, because some servers
   * execute them in the order of arrival.
   */
  #submitted: Promise<unknown> = Promise.resolve();

  private constructor(id: string, service: TinkerService, session: TinkerSession) {
    this.id = id;
    this.#service = service;
    this.#session = session;
  }

  /**
   * Creates a model with a new adapter, which does not change the base model's output yet. If the request is retried,
   * the server may create a second model; both end with the session.
   *
   * @param count number of models that the session has created before
   */
  static async create(
    service: TinkerService,
    session: TinkerSession,
    { base, rank, seed }: NewModel,
    { count, signal }: { readonly count: number; readonly signal: AbortSignal },
  ): Promise<RemoteModel> {
    const what = "create_model";
    const json = {
      type: what,
      session_id: session.id,
      model_seq_id: count,
      base_model: base,
      lora_config: { rank, seed, train_mlp: true, train_attn: true, train_unembed: false },
      user_metadata: {},
    };
    const reply = await service.connection.ask({ path: what, json }, { isRepeatable: true, signal });
    requireAccepted(reply, what);
    const result = await service.futures.result(requestIdOf(reply, what), { what, signal });
    // Servers return the model's id in the result, or else in the answer with which they accept the operation.
    const id = jsonOf(result, what)["model_id"] ?? jsonOf(reply, what)["model_id"];
    if (typeof id !== "string") throw garbled(what, "no model_id");
    return new RemoteModel(id, service, session);
  }

  /** Computes the log-probability of each target token. */
  async forward(data: readonly Datum[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    return await this.#compute(data, { loss: "cross_entropy", isForwardOnly: true }, signal);
  }

  /**
   * Adds to the gradient that the server accumulates, and returns the log-probability of each target token. If the call
   * fails, a part of the gradient may have been added.
   */
  async forwardBackward(data: readonly Datum[], loss: LossName): Promise<readonly Float32Array[]> {
    return await this.#compute(data, { loss, isForwardOnly: false });
  }

  /**
   * Takes an optimizer step with the accumulated gradient.
   *
   * @returns the server's metrics, under the server's own names
   */
  async optimStep(step: OptimizerStep): Promise<Readonly<Record<string, unknown>>> {
    const what = "optim_step";
    const hasDecay = !this.#service.kind.fixedInStep.includes("weightDecay");
    const adam_params = {
      learning_rate: step.learningRate,
      beta1: step.beta1,
      beta2: step.beta2,
      eps: step.epsilon,
      weight_decay: hasDecay ? step.weightDecay : 0,
      grad_clip_norm: step.gradientNormMax,
    };
    const result = await this.#operate(what, { adam_params });
    return (jsonOf(result, what)["metrics"] ?? {}) as Readonly<Record<string, unknown>>;
  }

  /**
   * Saves the adapter and the optimizer under a name that must be unique per model.
   *
   * @returns the address of the state, `tinker://<model>/weights/<name>`
   */
  async saveState(name: string): Promise<string> {
    await this.#save("save_weights", name, "training");
    return `tinker://${this.id}/weights/${name}`;
  }

  /** Saves only the adapter, so that `export-adapter.ts` can export it. */
  async saveAdapter(name: string): Promise<void> {
    await this.#save("save_weights_for_sampler", name, "sampler");
  }

  /**
   * Loads a saved state. Must be the model's first operation.
   *
   * @throws ServiceError `not_found` if the state does not exist
   */
  async load(
    path: string,
    { optimizer, signal }: { readonly optimizer: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const what = "load_weights";
    const seq_id = (this.#seqId += 1);
    const json = { type: what, model_id: this.id, seq_id, path, optimizer };
    const reply = await this.#service.connection.ask({ path: what, json }, { isRepeatable: false, signal });
    if (isGone(reply)) throw notFound("trainer's state", path);
    requireAccepted(reply, what);
    await this.#service.futures.result(requestIdOf(reply, what), { what, signal });
  }

  /** Frees the model's memory on the server. Ignores failures, because the model ends with the session anyway. */
  async unload(): Promise<void> {
    const json = { type: "unload_model", model_id: this.id };
    await this.#service.connection.once({ path: "unload_model", json }).catch(() => undefined);
  }

  /** Sends the data in as many requests as necessary, and waits for all of them, even if one fails. */
  async #compute(
    data: readonly Datum[],
    { loss, isForwardOnly }: { readonly loss: LossName; readonly isForwardOnly: boolean },
    signal?: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    const { encoding } = this.#service;
    const what = isForwardOnly ? "forward" : "forward_backward";
    const results: Promise<readonly Float32Array[]>[] = [];
    const resultOf = async (chunk: readonly Datum[]): Promise<readonly Float32Array[]> => {
      const accepted = await this.#submit(what, chunk, { loss, isForwardOnly, signal });
      const options = { what, accept: encoding.current.accept, signal };
      return logprobsOf(await this.#resultOf(accepted, options), chunk, what);
    };
    for (const chunk of chunksOf(data, encoding.current)) results.push(resultOf(chunk));
    const settled = await Promise.allSettled(results);
    const failed = settled.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return (await Promise.all(results)).flat();
  }

  #submit(
    what: string,
    chunk: readonly Datum[],
    options: {
      readonly loss: LossName;
      readonly isForwardOnly: boolean;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<Accepted> {
    const { encoding } = this.#service;
    return this.#inOrder(what, options.signal, (seqId) =>
      encoding.encode({ modelId: this.id, seqId, ...options }, chunk),
    );
  }

  /** Runs an operation whose request has a JSON body, and waits for its result. */
  async #operate(what: string, fields: Readonly<Record<string, unknown>>): Promise<Reply> {
    const accepted = await this.#inOrder(what, undefined, (seq_id) => ({
      path: what,
      contentType: jsonType,
      body: Buffer.from(JSON.stringify({ type: what, model_id: this.id, seq_id, ...fields })),
    }));
    return await this.#resultOf(accepted, { what });
  }

  /**
   * Waits for the result of an accepted operation. If the server has forgotten the operation, submits it again,
   * provided that the server deduplicates operations.
   */
  async #resultOf({ reply, encoded }: Accepted, options: FutureOptions): Promise<Reply> {
    const { connection, futures, kind } = this.#service;
    const { what, signal } = options;
    let promise = reply;
    for (let left = kind.isRepeatSafe ? forgottenMax : 0; ; left--) {
      try {
        return await futures.result(requestIdOf(promise, what), options);
      } catch (error) {
        if (!(error instanceof ForgottenFuture) || left === 0) throw error;
      }
      promise = await connection.ask({ path: encoded.path, encoded }, { isRepeatable: true, signal });
      requireAccepted(promise, what);
    }
  }

  /**
   * Submits an operation after the server has accepted the previous one. If there is no answer and repeating is safe,
   * sends the same bytes again.
   */
  #inOrder(
    what: string,
    signal: AbortSignal | undefined,
    encode: (seqId: number) => EncodedRequest,
  ): Promise<Accepted> {
    const submit = async (): Promise<Accepted> => {
      this.#session.requireThere();
      const { connection, kind, encoding } = this.#service;
      const seqId = (this.#seqId += 1);
      for (;;) {
        const encoded = encode(seqId);
        const reply = await connection.ask(
          { path: encoded.path, encoded },
          { isRepeatable: kind.isRepeatSafe, signal },
        );
        if (encoding.shouldRetry(reply, encoded)) continue;
        requireAccepted(reply, what);
        return { reply, encoded };
      }
    };
    const submitting = this.#submitted.then(submit);
    this.#submitted = submitting.catch(() => undefined);
    return submitting;
  }

  /**
   * Saves a state or an adapter. If the server may have accepted an earlier try of the request, does not save again,
   * but waits until the server lists the name as saved.
   */
  async #save(what: "save_weights" | "save_weights_for_sampler", name: string, kind: string): Promise<void> {
    this.#session.requireThere();
    const seq_id = (this.#seqId += 1);
    const json = { type: what, model_id: this.id, seq_id, path: name };
    const reply = await this.#service.connection.ask({ path: what, json }, { isRepeatable: true });
    if (reply.status === 409 || reply.status === 425) return await this.#awaitSaved(what, name, kind);
    requireAccepted(reply, what);
    try {
      await this.#service.futures.result(requestIdOf(reply, what), { what });
    } catch (error) {
      if (!(error instanceof ForgottenFuture)) throw error;
      await this.#awaitSaved(what, name, kind);
    }
  }

  async #awaitSaved(what: string, name: string, kind: string): Promise<void> {
    const { connection, clock } = this.#service;
    const endMs = clock.monotonicMs() + savedMs;
    while (clock.monotonicMs() < endMs) {
      const reply = await connection.ask(
        { method: "GET", path: `training_runs/${this.id}/checkpoints` },
        { isRepeatable: true },
      );
      if (reply.status !== 200) throw refusalOf(reply, what);
      const saved = jsonOf(reply, what)["checkpoints"];
      if (Array.isArray(saved) && saved.some((each) => isSaved(each, name, kind))) return;
      await clock.sleep(savedPauseMs);
    }
    throw new ServiceError({
      code: "unavailable",
      message: `The trainer has not finished ${what} of ${name} within ${savedMs / 1000} s.`,
    });
  }
}

/** The server's answer to an operation that it accepted, and the request with which the operation was submitted. */
interface Accepted {
  readonly reply: Reply;
  readonly encoded: EncodedRequest;
}

/** Maximum number of times that one operation is submitted again after the server has forgotten it. */
const forgottenMax = 2;

/** Maximum time in milliseconds to wait for a state that the server may be saving because of an earlier try. */
const savedMs = 600_000;
const savedPauseMs = 1000;

function isSaved(saved: unknown, name: string, kind: string): boolean {
  const { checkpoint_id: id, checkpoint_type: type } = saved as Readonly<Record<string, unknown>>;
  return typeof id === "string" && id.split("/").at(-1) === name && (type === undefined || type === kind);
}

function requireAccepted(reply: Reply, what: string): void {
  if (reply.status >= 200 && reply.status < 300) return;
  if (reply.status === 409)
    throw new ServiceError({
      code: "unavailable",
      message: `The trainer refused ${what}: ${reasonOf(reply)}.`,
    });
  throw refusalOf(reply, what);
}

/**
 * Largest accepted log-probability, in nats. It is above 0, because rounding can make a log-probability slightly
 * positive.
 */
const roundedMax = 1e-3;

function logprobsOf(reply: Reply, data: readonly Datum[], what: string): readonly Float32Array[] {
  let arrays: readonly Float32Array[];
  try {
    arrays =
      reply.contentType === jsonType ? logprobsOfJson(jsonOf(reply, what)) : logprobsOfProtobuf(reply.body);
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw garbled(
      what,
      `an unreadable result (${cause instanceof Error ? cause.message : String(cause)})`,
      cause,
    );
  }
  if (arrays.length !== data.length)
    throw garbled(what, `log-probabilities of ${arrays.length} sequences, where ${data.length} were sent`);
  for (const [index, { targets }] of data.entries()) {
    if (arrays[index].length !== targets.length)
      throw garbled(
        what,
        `${arrays[index].length} log-probabilities of a sequence of ${targets.length} targets`,
      );
    // Accepts NaN, which means that the model has diverged. Computing the loss reports that.
    const impossible = arrays[index].find((logprob) => logprob > roundedMax);
    if (impossible !== undefined) throw garbled(what, `a log-probability of ${impossible}`);
  }
  return arrays;
}
