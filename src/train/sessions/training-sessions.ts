// Live training for clients of the Tinker API: programs own the training loop, and this server computes forward passes,
// gradients and optimizer steps in a process per model. Weights that a client saves become versions of a trained model,
// like the results of jobs. Sampling is the task of inference/chat.
import type { Caller } from "../../base/domain/access.ts";
import { type Service, serviceOf } from "../../base/domain/lifecycle.ts";
import type { TrainedModel } from "../../base/domain/model.ts";
import { allItems } from "../../base/domain/page.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import { repeatUntil } from "../../base/domain/waiting/repeat-until.ts";
import { Futures } from "./futures.ts";
import type { LiveModel } from "./live-model.ts";
import { ModelOperations } from "./model-operations.ts";
import { ModelStarts } from "./model-starts.ts";
import { OpenSessions, type Sampler, type Session } from "./open-sessions.ts";
import { parseRunId, runIdOf, runOfModel, sessionProject } from "./run-names.ts";
import { type SavedPlace, SavedWeights } from "./saved-weights.ts";
import type { SessionDependencies } from "./session-requests.ts";
import { TrainableBases } from "./trainable-bases.ts";
import { TrainingSlots } from "./training-slots.ts";

export class TrainingSessions implements Service {
  readonly futures: Futures;
  readonly sessions: OpenSessions;
  readonly saved: SavedWeights;
  readonly bases: TrainableBases;
  readonly starts: ModelStarts;
  readonly operations: ModelOperations;
  readonly #dependencies: SessionDependencies;
  readonly #slots: TrainingSlots;
  readonly #life = serviceOf("training sessions", {
    start: async (signal) => void this.#sweepUntil(signal),
    stop: () => this.#endAll(),
  });

  constructor(dependencies: SessionDependencies) {
    const { clock, settings, store, models } = dependencies;
    this.#dependencies = dependencies;
    this.futures = new Futures(clock, settings);
    this.sessions = new OpenSessions(clock, settings);
    this.saved = new SavedWeights({
      store,
      deleteVersions: (model, steps) => models.deleteVersions(model, steps),
    });
    this.#slots = new TrainingSlots(settings);
    const parts = { futures: this.futures, sessions: this.sessions, saved: this.saved };
    this.bases = new TrainableBases(dependencies);
    this.starts = new ModelStarts(dependencies, { ...parts, bases: this.bases, slots: this.#slots });
    this.operations = new ModelOperations(dependencies, {
      ...parts,
      endOfLife: (lifeMs) => this.#endOfLife(lifeMs),
    });
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  /** LoRA alpha of new adapters. */
  get loraAlpha(): number {
    return this.#dependencies.settings.loraAlpha;
  }

  get pollMs(): number {
    return this.#dependencies.settings.pollMs;
  }

  /**
   * Returns a model that the caller trains.
   *
   * @throws ServiceError `not_found` if the model's training has ended
   */
  live(modelId: string, caller: Caller): LiveModel {
    const run = parseRunId(modelId);
    const session = run === null ? null : this.sessions.find(run.sessionId, caller);
    const live = run === null ? undefined : session?.models.get(run.seqId);
    if (live === undefined) {
      const { message } = notFound("model in training", modelId);
      const cure =
        "It was unloaded, or has not been created. Create a training client from the last saved weights.";
      throw new ServiceError({ code: "not_found", message: `${message} ${cure}` });
    }
    return live;
  }

  /** Ends the training of a model. Returns the id of the future that resolves when it has ended. */
  unload(live: LiveModel, caller: Caller): string {
    const session = this.sessions.find(live.run.sessionId, caller);
    session.models.delete(live.run.seqId);
    const ended = live.end("the client unloaded it");
    const modelId = runIdOf(live.run);
    return this.futures.add(
      caller.entity,
      "train",
      ended.then(() => ({ kind: "unloaded", modelId })),
    );
  }

  /** Adds a sampler of saved weights or of a base model to a session. */
  async addSampler(
    session: Session,
    seqId: number,
    from: { readonly path: string } | { readonly baseModel: string },
    caller: Caller,
  ): Promise<Sampler> {
    if ("baseModel" in from)
      return this.sessions.addSampler(session, seqId, {
        baseName: from.baseModel,
        path: null,
        model: this.bases.baseOf(from.baseModel),
      });
    const named = await this.modelOf(from.path, caller);
    return this.sessions.addSampler(session, seqId, { ...named, path: from.path });
  }

  /** @throws ServiceError `not_found` */
  sampler(id: string, caller: Caller): { readonly session: Session; readonly sampler: Sampler } {
    const [sessionId = ""] = id.split(":");
    const session = this.sessions.find(sessionId, caller);
    const sampler = session.samplers.get(id);
    if (sampler === undefined) throw notFound("sampling session", id);
    return { session, sampler };
  }

  /** Returns the model name that chat requests give to use the saved weights at this path. */
  async modelOf(path: string, caller: Caller): Promise<Pick<Sampler, "model" | "baseName">> {
    const { model, version } = await this.saved.find(path, caller);
    return { model: `${model.id}:step${version.step}`, baseName: version.saved.baseName };
  }

  /** Returns the models of the caller's training runs, the newest first. */
  async runs({ entity, project }: Caller): Promise<readonly TrainedModel[]> {
    const filter = { entity, project: project ?? sessionProject, name: null };
    const runs: TrainedModel[] = [];
    for await (const model of allItems((page) => this.#dependencies.store.list(filter, page), "desc"))
      if (runOfModel(model) !== null) runs.push(model);
    return runs;
  }

  /** Sets the time in milliseconds after which saved weights are deleted; null to keep them. */
  async setLife(place: SavedPlace, lifeMs: number | null): Promise<void> {
    await this.saved.setExpiry(place, this.#endOfLife(lifeMs));
  }

  /** Closes a session, and ends the training of its models. */
  async close(session: Session, reason: string): Promise<void> {
    await Promise.all(this.sessions.close(session).map((live) => live.end(reason)));
  }

  #endOfLife(lifeMs: number | null): Date | null {
    return lifeMs === null ? null : new Date(this.#dependencies.clock.now().getTime() + lifeMs);
  }

  #sweepUntil(signal: AbortSignal): Promise<void> {
    const { clock, settings, logger } = this.#dependencies;
    const onFault = (error: unknown): void => logger.warn({ err: error }, "sessions could not be swept");
    const repetition = { clock, pauseMs: settings.sweepMs, onFault, pausesFirst: true };
    return repeatUntil(signal, repetition, () => this.sweep());
  }

  /** Ends silent sessions and idle models, and deletes expired versions. Called periodically. */
  async sweep(): Promise<void> {
    const { clock, settings } = this.#dependencies;
    const trainingMs = this.#slots.isAwaited ? settings.awaitedSessionMs : settings.sessionMs;
    for (const session of this.sessions.silent({ trainingMs }))
      await this.close(session, "its program sends no heartbeats");
    for (const { models } of this.sessions.all())
      for (const [seqId, live] of models) {
        live.sweep();
        if (live.idleMs <= settings.idleMs && !live.isGone) continue;
        models.delete(seqId);
        await live.end(`it had no operation for ${settings.idleMs / 60_000} minutes`);
      }
    await this.#makeRoom();
    this.futures.sweep();
    await this.saved.deleteExpired(clock.now());
  }

  /** If a model waits for a slot, the model that has had no work for the longest time leaves its slot. */
  async #makeRoom(): Promise<void> {
    const { settings, logger } = this.#dependencies;
    const idle = this.sessions
      .all()
      .flatMap(({ models }) => [...models.values()])
      .filter((live) => live.canPark && live.idleMs >= settings.parkMs)
      .filter(({ model: { entity } }) => this.#slots.isAwaitedFrom(entity))
      .sort((one, other) => other.idleMs - one.idleMs);
    if (idle.length === 0) return;
    const warn = (error: unknown): void => logger.warn({ err: error }, "a model could not leave its slot");
    await this.operations.park(idle[0]).catch(warn);
  }

  async #endAll(): Promise<void> {
    await Promise.all(this.sessions.all().map((session) => this.close(session, "the server is stopping")));
  }
}
