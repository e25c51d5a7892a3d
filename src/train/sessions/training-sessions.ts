// Live training for clients of the Tinker API: programs own the training loop, and this server computes forward passes,
// gradients and optimizer steps in a process per model. Weights that a client saves are versions of a trained model,
// as those of jobs are. Sampling is the task of inference/chat.
import type { Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { type Service, serviceOf } from "../../base/domain/lifecycle.ts";
import type {
  AdapterWish,
  ModelStore,
  ModelVersion,
  SavedName,
  TrainedModel,
} from "../../base/domain/model.ts";
import { present } from "../../base/domain/assert.ts";
import { allItems } from "../../base/domain/page.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import { ownState, type TrainerProfile } from "../../base/domain/trainer/profile.ts";
import { repeatUntil } from "../../base/domain/waiting/repeat-until.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import { adapterSeal } from "../../inference/architectures/hashes/adapter-hash.ts";
import type { ModelService } from "../../inference/models/registry/model-service.ts";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import type { ServerFolder } from "../../store/artifacts/server-folder.ts";
import type { OptimizerStep, TrainerStart } from "../trainer/trainer.ts";
import { Futures } from "./futures.ts";
import { LiveModel, type LiveModelOptions } from "./live-model.ts";
import { type Creation, OpenSessions, type Sampler, type Session } from "./open-sessions.ts";
import type { Submission } from "./ordered-operations.ts";
import type { SessionLoss } from "./process/losses.ts";
import type { SessionDatum } from "./process/protocol.ts";
import type { LiveProcess } from "./process/start-process.ts";
import type { SessionResult } from "./results.ts";
import {
  modelNameOf,
  parseRunId,
  pathOf,
  type RunKey,
  runIdOf,
  runOfModel,
  type SavedKind,
  savedIdOf,
  sessionProject,
} from "./run-names.ts";
import { type SavedPlace, SavedWeights } from "./saved-weights.ts";
import { saveVersion, type VersionWish } from "./save-version.ts";
import type { SessionSettings } from "./settings.ts";
import { TrainingSlots } from "./training-slots.ts";

export interface SessionDependencies {
  readonly store: ModelStore;
  readonly models: Pick<ModelService, "register" | "deleteVersions">;
  readonly artifacts: Pick<ArtifactStore, "put" | "path">;
  readonly folder: Pick<ServerFolder, "withScratch">;
  /** Names of the base models. */
  readonly bases: readonly string[];
  /** Refuses a base model on which no live model can be trained. */
  readonly requireLive: (baseModel: string) => void;
  /** Profile of the trainer in the processes. */
  readonly trainer: TrainerProfile;
  readonly startProcess: (model: TrainedModel, signal: AbortSignal) => Promise<LiveProcess>;
  /** Loads a new version in the base's engine ahead of time. */
  readonly prepareVersion: (version: ModelVersion, baseModel: string) => Promise<void>;
  /** Called when a model has a new version. */
  readonly onNewVersion: (modelId: string) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: SessionSettings;
}

/** A request to start a model: a new adapter, or saved weights. */
export interface ModelRequest {
  readonly seqId: number;
  readonly fingerprint: string;
  /** Base model and shape of the adapter; null for those of the saved weights. */
  readonly fresh: {
    /** The client's name for the base model. */
    readonly baseName: string;
    readonly adapter: AdapterWish;
    readonly seed: string;
  } | null;
  /** Weights to start from; null for a new adapter. */
  readonly from: { readonly path: string; readonly keepsOptimizer: boolean } | null;
}

/** A request to save weights. */
export interface SaveRequest {
  readonly kind: SavedKind;
  /** Name of the weights; null to save for the given sampling client only. */
  readonly name: string | null;
  readonly samplerSeqId: number | null;
  readonly lifeMs: number | null;
  readonly overwrites: boolean;
  readonly metadata: SavedName["metadata"];
}

export class TrainingSessions implements Service {
  readonly futures: Futures;
  readonly sessions: OpenSessions;
  readonly saved: SavedWeights;
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
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  /** True if clients can train models over a base model. */
  isTrainable(baseModel: string): boolean {
    if (this.#dependencies.settings.modelsMax === 0) return false;
    try {
      this.#dependencies.requireLive(baseModel);
      return true;
    } catch {
      // The error says why; a request to train reports it.
      return false;
    }
  }

  /**
   * Returns the name of a base model on this server. A client may put the name of its owner on the hub before it, as in
   * `Qwen/Qwen3-0.6B`.
   */
  baseOf(baseName: string): string {
    const { bases } = this.#dependencies;
    const last = baseName.slice(baseName.lastIndexOf("/") + 1);
    return !bases.includes(baseName) && bases.includes(last) ? last : baseName;
  }

  /** LoRA alpha of new adapters. */
  get loraAlpha(): number {
    return this.#dependencies.settings.loraAlpha;
  }

  get pollMs(): number {
    return this.#dependencies.settings.pollMs;
  }

  /** Starts to train a model. Returns the future of its creation; for a repeated request, that of the first one. */
  async create(session: Session, request: ModelRequest, caller: Caller): Promise<string> {
    const { seqId, fingerprint, from } = request;
    const earlier = session.creations.get(seqId);
    if (earlier !== undefined) return repeated(earlier, fingerprint);
    this.futures.requireRoom(caller.entity);
    const source = from === null ? null : await this.saved.find(from.path, caller);
    const { baseName, adapter } = request.fresh ?? sourceShape(present(source, "weights to start from"));
    const baseModel = this.baseOf(baseName);
    this.#dependencies.requireLive(baseModel);
    const run = { sessionId: session.id, seqId };
    const start = await this.#startOf(request, source);
    const slot = this.#slots.request(caller.entity);
    const begun = this.#begin(session, { run, start, slot, baseName, baseModel, adapter }, caller);
    begun.catch(() => slot.leave());
    const modelId = runIdOf(run);
    const result = begun.then((): SessionResult =>
      from === null ? { kind: "created", modelId } : { kind: "loaded", modelId, path: from.path },
    );
    const future = this.futures.add(caller.entity, "train", result, () => slot.reason());
    session.creations.set(seqId, { future, fingerprint });
    return future;
  }

  /**
   * Returns a model that the caller trains.
   *
   * @throws ServiceError `not_found` if nobody trains it any more
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

  compute(
    live: LiveModel,
    submission: Submission,
    given: {
      readonly data: readonly SessionDatum[];
      readonly loss: SessionLoss;
      readonly isForwardOnly: boolean;
    },
  ): string {
    return this.#submit(live, submission, async (process) => ({
      kind: "computed",
      computed: await process.call("compute", given),
    }));
  }

  step(live: LiveModel, submission: Submission, step: OptimizerStep): string {
    return this.#submit(live, submission, async (process) => ({
      kind: "stepped",
      metrics: await process.call("step", { step }),
    }));
  }

  /** Saves the weights as a version. A saved version is on disk before the future has its result. */
  save(live: LiveModel, submission: Submission, request: SaveRequest): string {
    return this.#submit(live, submission, async (process) => {
      const { kind, name, samplerSeqId } = request;
      const id = name === null ? null : savedIdOf({ kind, name });
      const earlier = id === null ? null : await this.saved.findIn(live.model, id);
      if (earlier !== null && !request.overwrites) throw exists(pathOf(live.run, earlier.saved.id));
      const version = await this.#saveVersion(live, process, {
        saved: id === null ? null : this.#savedName(id, live.baseName, request),
        hasState: kind === "weights",
      });
      if (earlier !== null) await this.saved.delete(live.model, earlier);
      const path = id === null ? null : pathOf(live.run, id);
      if (kind === "weights") return { kind: "saved", path: path ?? "" };
      const sampler = samplerSeqId === null ? null : this.#addSampler(live, samplerSeqId, version);
      return { kind: "saved-for-sampling", path, samplerId: sampler?.id ?? null };
    });
  }

  /** Loads saved weights into a model, in place of those that it has. */
  async load(
    live: LiveModel,
    submission: Submission,
    from: { readonly path: string; readonly keepsOptimizer: boolean },
    caller: Caller,
  ): Promise<string> {
    const source = await this.saved.find(from.path, caller);
    const start = await this.#startOf({ fresh: null, from }, source);
    if (source.model.baseModel !== live.model.baseModel) throw otherBase(source.model, live.model);
    return this.#submit(live, submission, async (process) => {
      await process.call("open", { start });
      return { kind: "loaded", modelId: runIdOf(live.run), path: from.path };
    });
  }

  /** Ends the training of a model. Returns the future of its end. */
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
        model: this.baseOf(from.baseModel),
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

  /** Returns the name of saved weights in chat requests. */
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

  async #begin(
    session: Session,
    {
      run,
      start,
      slot,
      baseName,
      ...shape
    }: Pick<LiveModelOptions, "run" | "start" | "slot" | "baseName"> &
      Pick<TrainedModel, "baseModel" | "adapter">,
    caller: Caller,
  ): Promise<void> {
    const { startProcess, clock, settings } = this.#dependencies;
    const model = await this.#register(run, shape, caller);
    const live = new LiveModel({ run, model, baseName, start, slot, startProcess, clock, settings });
    session.models.set(run.seqId, live);
    await live.ready;
  }

  #submit(
    live: LiveModel,
    submission: Submission,
    operate: (process: LiveProcess) => Promise<SessionResult>,
  ): string {
    const { entity } = live.model;
    this.futures.requireRoom(entity);
    return live.submit(submission, operate, (result) =>
      this.futures.add(entity, "train", result, () => live.waitReason()),
    );
  }

  #register(
    run: RunKey,
    { baseModel, adapter }: { readonly baseModel: string; readonly adapter: AdapterWish },
    caller: Caller,
  ): Promise<TrainedModel> {
    const { entity, project } = caller;
    const named = { entity, project: project ?? sessionProject, name: modelNameOf(run) };
    const registration = { ...named, baseModel, adapter, from: null, returnExisting: true };
    return this.#dependencies.models.register(registration, caller);
  }

  async #startOf(
    { fresh, from }: Pick<ModelRequest, "fresh" | "from">,
    source: SavedPlace | null,
  ): Promise<TrainerStart> {
    if (source === null || from === null) return { kind: "new", seed: fresh?.seed ?? "" };
    const { adapterFolder, adapterHash, trainerState } = source.version;
    const state = ownState(this.#dependencies.trainer, trainerState);
    if (state !== null) return { kind: "state", state, keepsOptimizer: from.keepsOptimizer };
    if (from.keepsOptimizer) throw withoutOptimizer(from.path);
    const { artifacts } = this.#dependencies;
    return { kind: "adapter", folder: await artifacts.path(adapterFolder ?? "", adapterSeal(adapterHash)) };
  }

  #savedName(id: string, baseName: string, { lifeMs, metadata }: SaveRequest): SavedName {
    return { id, baseName, metadata, expiresAt: this.#endOfLife(lifeMs) };
  }

  #endOfLife(lifeMs: number | null): Date | null {
    return lifeMs === null ? null : new Date(this.#dependencies.clock.now().getTime() + lifeMs);
  }

  async #saveVersion(live: LiveModel, process: LiveProcess, wish: VersionWish): Promise<ModelVersion> {
    const { model } = live;
    const { prepareVersion, onNewVersion, logger, settings } = this.#dependencies;
    const version = await saveVersion(this.#dependencies, process, model, wish);
    const warn = (what: string) => (error: unknown) =>
      logger.warn({ err: error, modelId: model.id, step: version.step }, what);
    // The version is already stored, so later failures are only logged.
    if (!wish.hasState)
      await prepareVersion(version, model.baseModel).catch(warn("a saved version could not be loaded yet"));
    if (wish.saved === null)
      await this.saved
        .deleteUnnamed(model, settings.unnamedKept)
        .catch(warn("older versions without a name could not be deleted"));
    await onNewVersion(model.id).catch(warn("older versions could not be deleted"));
    return version;
  }

  #addSampler({ run, model, baseName }: LiveModel, seqId: number, { step }: ModelVersion): Sampler {
    const session = this.sessions.all().find(({ id }) => id === run.sessionId);
    if (session === undefined) throw notFound("session", run.sessionId);
    const about = { baseName, path: null, model: `${model.id}:step${step}` };
    return this.sessions.addSampler(session, seqId, about);
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
    for (const session of this.sessions.silent())
      await this.close(session, "its program sends no heartbeats");
    for (const { models } of this.sessions.all())
      for (const [seqId, live] of models) {
        live.sweep();
        if (live.idleMs <= settings.idleMs && !live.isGone) continue;
        models.delete(seqId);
        await live.end(`it had no operation for ${settings.idleMs / 60_000} minutes`);
      }
    this.futures.sweep();
    await this.saved.deleteExpired(clock.now());
  }

  async #endAll(): Promise<void> {
    await Promise.all(this.sessions.all().map((session) => this.close(session, "the server is stopping")));
  }
}

function repeated(earlier: Creation, fingerprint: string): string {
  if (earlier.fingerprint === fingerprint) return earlier.future;
  throw new ServiceError({
    code: "conflict",
    message: "The session has created another model with this model_seq_id; give each model the next number.",
  });
}

function sourceShape({
  model,
  version,
}: SavedPlace): Pick<LiveModelOptions, "baseName"> & Pick<TrainedModel, "adapter"> {
  return { baseName: version.saved.baseName, adapter: model.adapter };
}

function exists(path: string): ServiceError {
  return new ServiceError({
    code: "conflict",
    message: `${path} exists; choose another name, or set overwrite.`,
  });
}

function otherBase(source: TrainedModel, model: TrainedModel): ServiceError {
  return new ServiceError({
    code: "invalid",
    message: `The weights are of the base model ${source.baseModel}; the model in training is of ${model.baseModel}.`,
  });
}

function withoutOptimizer(path: string): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message: `${path} has no state of the optimizer, because it was saved for sampling. Load it without the optimizer, or load weights that save_state saved.`,
  });
}
