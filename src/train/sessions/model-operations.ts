// Operations on a model in training: gradients, optimizer steps, and saving and loading weights. The operations of a
// model run in the order of their numbers.
import type { Caller } from "../../base/domain/access.ts";
import { present } from "../../base/domain/assert.ts";
import type { ModelVersion, SavedName, TrainedModel } from "../../base/domain/model.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import { ownState } from "../../base/domain/trainer/profile.ts";
import type { OptimizerStep } from "../trainer/trainer.ts";
import type { Futures } from "./futures.ts";
import type { LiveModel } from "./live-model.ts";
import type { OpenSessions, Sampler } from "./open-sessions.ts";
import type { Submission } from "./ordered-operations.ts";
import type { SessionLoss } from "./process/losses.ts";
import type { SessionDatum } from "./process/protocol.ts";
import type { LiveProcess } from "./process/start-process.ts";
import type { SessionResult } from "./results.ts";
import { pathOf, runIdOf, savedIdOf } from "./run-names.ts";
import type { SavedWeights } from "./saved-weights.ts";
import { saveVersion, type VersionWish } from "./save-version.ts";
import type { SaveRequest, SessionDependencies } from "./session-requests.ts";
import { startWeights } from "./start-weights.ts";

/** Objects of the training sessions that are needed for operations on models. */
export interface OperationParts {
  readonly futures: Futures;
  readonly sessions: OpenSessions;
  readonly saved: SavedWeights;
  /** Returns the time at which saved weights are deleted. */
  readonly endOfLife: (lifeMs: number | null) => Date | null;
}

export class ModelOperations {
  readonly #dependencies: SessionDependencies;
  readonly #parts: OperationParts;

  constructor(dependencies: SessionDependencies, parts: OperationParts) {
    this.#dependencies = dependencies;
    this.#parts = parts;
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
    return this.#submit(live, submission, async (process) => {
      live.hasGradient ||= !given.isForwardOnly;
      return { kind: "computed", computed: await process.call("compute", given) };
    });
  }

  step(live: LiveModel, submission: Submission, step: OptimizerStep): string {
    return this.#submit(live, submission, async (process) => {
      const metrics = await process.call("step", { step });
      live.hasGradient = false;
      return { kind: "stepped", metrics };
    });
  }

  /** Saves the weights as a version. A saved version is on disk before the future has its result. */
  save(live: LiveModel, submission: Submission, request: SaveRequest): string {
    return this.#submit(live, submission, async (process) => {
      const { kind, name, samplerSeqId } = request;
      const id = name === null ? null : savedIdOf({ kind, name });
      const earlier = id === null ? null : await this.#parts.saved.findIn(live.model, id);
      if (earlier !== null && !request.overwrites) throw exists(pathOf(live.run, earlier.saved.id));
      const version = await this.#saveVersion(live, process, {
        saved: id === null ? null : this.#savedName(id, live.baseName, request),
        hasState: kind === "weights",
      });
      if (earlier !== null) await this.#parts.saved.delete(live.model, earlier);
      const path = id === null ? null : pathOf(live.run, id);
      if (kind !== "sampler_weights") return { kind: "saved", weights: kind, path: path ?? "" };
      const sampler = samplerSeqId === null ? null : this.#addSampler(live, samplerSeqId, version);
      return { kind: "saved-for-sampling", path, samplerId: sampler?.id ?? null };
    });
  }

  /** Replaces the weights of a model by saved weights. */
  async load(
    live: LiveModel,
    submission: Submission,
    from: { readonly path: string; readonly keepsOptimizer: boolean },
    caller: Caller,
  ): Promise<string> {
    const source = await this.#parts.saved.find(from.path, caller);
    const start = await startWeights(this.#dependencies, { fresh: null, from }, source);
    if (source.model.baseModel !== live.model.baseModel) throw otherBase(source.model, live.model);
    return this.#submit(live, submission, async (process) => {
      await process.call("open", { start });
      live.hasGradient = false;
      return { kind: "loaded", modelId: runIdOf(live.run), path: from.path };
    });
  }

  /** Saves a model that has no work as a version without a name, and ends its process until its next operation. */
  park(live: LiveModel): Promise<void> {
    return live.park(async (process) => {
      const { trainerState } = await this.#saveVersion(live, process, { saved: null, hasState: true });
      const state = ownState(this.#dependencies.trainer, trainerState);
      return { kind: "state", state: present(state, "the saved state"), keepsOptimizer: true };
    });
  }

  #submit(
    live: LiveModel,
    submission: Submission,
    operate: (process: LiveProcess) => Promise<SessionResult>,
  ): string {
    const { entity } = live.model;
    this.#parts.futures.requireRoom(entity);
    return live.submit(submission, operate, (result) =>
      this.#parts.futures.add(entity, "train", result, () => live.waitReason()),
    );
  }

  #savedName(id: string, baseName: string, { lifeMs, metadata }: SaveRequest): SavedName {
    return { id, baseName, metadata, expiresAt: this.#parts.endOfLife(lifeMs) };
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
      await this.#parts.saved
        .deleteUnnamed(model, settings.unnamedKept)
        .catch(warn("older versions without a name could not be deleted"));
    await onNewVersion(model.id).catch(warn("older versions could not be deleted"));
    return version;
  }

  #addSampler({ run, model, baseName }: LiveModel, seqId: number, { step }: ModelVersion): Sampler {
    const session = this.#parts.sessions.all().find(({ id }) => id === run.sessionId);
    if (session === undefined) throw notFound("session", run.sessionId);
    const about = { baseName, path: null, model: `${model.id}:step${step}` };
    return this.#parts.sessions.addSampler(session, seqId, about);
  }
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
