// Trainers that use a Tinker API server. Each run has its own session on the server, with the model in training and, if
// needed, a second model that serves as the base model. To continue from a state, a run loads it into a new model.
import { createHash } from "node:crypto";
import type { Clock } from "../../../base/domain/clock.ts";
import { ServiceError, notFound } from "../../../base/domain/service-error.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { throwIfAborted } from "../serial-calls.ts";
import type { Trainer, TrainerCall, TrainerProvider, TrainerStart } from "../trainer.ts";
import { type ConnectionLimits, TinkerConnection } from "./http/connection.ts";
import { exportAdapter } from "./export-adapter.ts";
import { type FutureLimits, Futures } from "./http/futures.ts";
import { tinkerProfile } from "./profile.ts";
import { isGone, jsonOf, reasonOf, refusalOf } from "./http/refusals.ts";
import { RemoteModel, type TinkerService } from "./remote-model.ts";
import { NegotiatedEncoding } from "./negotiated-encoding.ts";
import { serverKinds } from "./server-kinds.ts";
import { TinkerSession } from "./http/session.ts";
import { discardOthers, discardState, parseState } from "./states.ts";
import { TinkerTrainer } from "./tinker-trainer.ts";
import { remoteBaseName, type TrainerAddress } from "./trainer-address.ts";

export interface TinkerTrainersOptions {
  readonly address: TrainerAddress;
  /** API key that is sent with each request. Servers that require no key accept any. */
  readonly apiKey: string;
  readonly config: ModelConfig;
  /** Name of the base model and hex SHA-256 of its weights. Both are recorded in the exported adapter. */
  readonly baseModelName: string;
  readonly baseWeights?: string;
  /** Rank of new adapters. The server decides their scale. */
  readonly rank: number;
  readonly sequenceLengthMax: number;
  readonly clock: Clock;
  /** Called after each response from the server. */
  readonly onHeartbeat?: () => void;
  readonly connectionLimits?: Partial<ConnectionLimits>;
  readonly futureLimits?: Partial<FutureLimits>;
}

export class TinkerTrainers implements TrainerProvider {
  readonly profile: TrainerProvider["profile"];
  readonly sequenceLengthMax: number;
  readonly #options: TinkerTrainersOptions;
  readonly #service: TinkerService;
  /** The open trainer of each run, by the run's id. */
  readonly #runs = new Map<string, Trainer>();

  constructor(options: TinkerTrainersOptions) {
    const { address, apiKey, clock, onHeartbeat } = options;
    this.#options = options;
    this.profile = tinkerProfile(address);
    this.sequenceLengthMax = options.sequenceLengthMax;
    const kind = serverKinds[address.kind];
    const connection = new TinkerConnection({
      url: address.url,
      apiKey,
      clock,
      limits: options.connectionLimits ?? {},
    });
    const futures = new Futures(connection, {
      clock,
      limits: options.futureLimits ?? {},
      ...(onHeartbeat === undefined ? {} : { onHeartbeat }),
    });
    this.#service = { connection, futures, encoding: new NegotiatedEncoding(kind), kind, clock };
  }

  async open(start: TrainerStart, run: TrainerCall): Promise<Trainer> {
    throwIfAborted(run.signal);
    if (start.kind === "adapter")
      throw new ServiceError({
        code: "unsupported",
        message: "The trainer takes no adapters: it continues only from states that it saved.",
      });
    // Closes the run's earlier trainer in this process. If another process opened one and died, its models end with
    // their session.
    await this.#runs.get(run.id)?.close();
    const session = await TinkerSession.open(this.#service.connection, {
      run: run.id,
      clock: this.#service.clock,
      signal: run.signal,
    });
    try {
      const trainer = await this.#openIn(session, start, run);
      this.#runs.set(run.id, trainer);
      return trainer;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  async discard(state: string): Promise<void> {
    await discardState(this.#service.connection, state);
  }

  async #openIn(
    session: TinkerSession,
    start: Exclude<TrainerStart, { kind: "adapter" }>,
    { id, signal }: TrainerCall,
  ): Promise<Trainer> {
    const models: RemoteModel[] = [];
    const create = async (rank: number, seed: number, ofSignal: AbortSignal): Promise<RemoteModel> => {
      const { address, baseModelName } = this.#options;
      const base = remoteBaseName(address, baseModelName);
      const options = { count: models.length, signal: ofSignal };
      const made = await RemoteModel.create(this.#service, session, { base, rank, seed }, options);
      models.push(made);
      return made;
    };
    const rank = start.kind === "new" ? this.#options.rank : await this.#rankOf(start.state, signal);
    const model = await create(rank, seedOf(start.kind === "new" ? start.seed : id), signal);
    if (start.kind === "state") {
      await model.load(start.state, { optimizer: start.keepsOptimizer, signal });
      await discardOthers(this.#service.connection, start.state);
    }
    const { config, baseModelName, baseWeights, address } = this.#options;
    return new TinkerTrainer({
      service: this.#service,
      model,
      limits: this,
      openBase: (ofSignal) => create(rank, seedOf(`base of ${id}`), ofSignal),
      exportTo: (folder, name) =>
        exportAdapter(this.#service, model, name, {
          folder,
          adapters: address.adapters,
          config,
          baseModelName,
          ...(baseWeights === undefined ? {} : { baseWeights }),
        }),
      discard: (state) => this.discard(state),
      end: async () => {
        await Promise.all(models.map((each) => each.unload()));
        session.close();
      },
    });
  }

  /** Asks the server for the rank of a state's adapter. A model that loads the state must have the same rank. */
  async #rankOf(state: string, signal: AbortSignal): Promise<number> {
    const path = "weights_info";
    const { connection } = this.#service;
    parseState(state);
    const reply = await connection.ask(
      { path, json: { tinker_path: state } },
      { isRepeatable: true, signal },
    );
    // This server does not offer the call, so the rank is unknown. The server refuses a missing state later, when the
    // state is loaded.
    if (reply.status === 404 && reasonOf(reply) === "Not Found") return this.#options.rank;
    if (isGone(reply)) throw notFound("trainer's state", state);
    if (reply.status !== 200) throw refusalOf(reply, path);
    const { lora_rank: rank } = jsonOf(reply, path);
    return typeof rank === "number" && Number.isSafeInteger(rank) && rank > 0 ? rank : this.#options.rank;
  }
}

/** Derives an integer seed from a text, because servers accept only integers. */
export function seedOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE() >>> 1;
}
