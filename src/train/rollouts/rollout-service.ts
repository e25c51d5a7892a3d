// Creates, finds and ends rollouts, and decides which calls they accept. Knows nothing of HTTP; `api/http`
// authenticates.
import { isDeepStrictEqual } from "node:util";
import type { Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { ModelStore, TrainedModel } from "../../base/domain/model.ts";
import type { Page, PageRequest } from "../../base/domain/page.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import type { CompletionKey } from "../../base/domain/recordings/completion-key.ts";
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import type {
  NewRollout,
  Rollout,
  RolloutFilter,
  RolloutOutcome,
  RolloutPass,
  RolloutStore,
} from "../../base/domain/rollouts/rollout.ts";
import { invalid, notFound, quoted, ServiceError } from "../../base/domain/service-error.ts";
import type { Trajectory } from "../../base/domain/trajectory.ts";
import { FailedAttempts } from "./failed-attempts.ts";
import { isLeftOut, type LinkedRollout, readRollout } from "./rollout-answers.ts";
import { createRolloutJob, type RolloutJobRequest, type SubmitJob } from "./rollout-jobs.ts";
import type { RunningCalls } from "./running-calls.ts";
import { rolloutTrajectories } from "./rollout-trajectories.ts";
import type { RolloutSettings } from "./settings.ts";

export interface RolloutDependencies {
  readonly rollouts: RolloutStore;
  readonly completions: Pick<CompletionStore, "list" | "find" | "markUndelivered">;
  readonly models: Pick<ModelStore, "newestVersion" | "findVersion">;
  readonly clock: Clock;
  readonly settings: RolloutSettings;
  /** Running calls on this server, which end with their rollout. */
  readonly running: RunningCalls;
  /** True if this server records no calls, so that rollouts would be empty. */
  readonly isRecordingOff: boolean;
}

/** Request for a new rollout. */
export interface RolloutRequest extends Pick<
  NewRollout,
  "group" | "split" | "task" | "metadata" | "secretHash"
> {
  /** Version to pin; null for the newest. */
  readonly version: number | null;
  /**
   * True if each call is answered by the version that is newest at the time, so that the rollout is not pinned to one.
   */
  readonly followsVersions: boolean;
  /** Time in seconds after which the rollout expires. */
  readonly expiresSeconds: number;
}

/** Calls of a rollout in the form for training. */
export interface RolloutTrajectories {
  readonly trajectories: readonly Trajectory[];
  /** Number of calls that were too large to be recorded with their tokens, and are in no trajectory. */
  readonly callsWithoutTokens: number;
}

const noOutcome: RolloutOutcome = { reward: 0, metrics: {}, callRewards: {} };

export class RolloutService {
  /** Attempts at calls that failed on this server. */
  readonly failedAttempts = new FailedAttempts();
  readonly #dependencies: RolloutDependencies;

  constructor(dependencies: RolloutDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Creates a rollout of a model that the caller may access.
   *
   * @throws ServiceError `unsupported` if this server records no calls; `not_found` for an unknown version; `invalid`
   * for a version together with `followsVersions`; `overloaded` if the entity has too many open rollouts
   */
  async create(model: TrainedModel, request: RolloutRequest, caller: Caller): Promise<Rollout> {
    const { rollouts, models, clock, settings, isRecordingOff } = this.#dependencies;
    if (isRecordingOff) throw recordingOff();
    const { version, followsVersions, expiresSeconds, ...about } = request;
    if (version !== null && followsVersions)
      throw invalid(
        "A rollout of one version cannot follow new ones. Send `version` or `follow_new_versions`.",
      );
    const found =
      version === null ? await models.newestVersion(model.id) : await models.findVersion(model.id, version);
    if (found === null) throw notFound("version", String(version ?? "newest"));
    const createdAt = clock.now();
    const rollout: NewRollout = {
      ...about,
      id: newUuid7(clock),
      modelId: model.id,
      entity: model.entity,
      step: found.step,
      pinnedStep: followsVersions ? null : found.step,
      keyId: caller.keyId,
      owner: caller.owner,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + expiresSeconds * 1000),
    };
    await rollouts.create(rollout, { openMax: settings.openPerEntity });
    return this.find(model, rollout.id);
  }

  /**
   * Finds a rollout of a model.
   *
   * @throws ServiceError `not_found`
   */
  async find(model: Pick<TrainedModel, "id">, id: string): Promise<Rollout> {
    const rollout = await this.#dependencies.rollouts.find(id.toLowerCase(), this.#dependencies.clock.now());
    if (rollout?.modelId !== model.id) throw notFound("rollout", id);
    return rollout;
  }

  /** Finds the rollout to which a key belongs, even if it has ended; null if there is none. */
  findByKey(secretHash: string): Promise<Rollout | null> {
    return this.#dependencies.rollouts.findByHash(secretHash, this.#dependencies.clock.now());
  }

  list(filter: RolloutFilter, page: PageRequest): Promise<Page<Rollout>> {
    return this.#dependencies.rollouts.list(filter, page, this.#dependencies.clock.now());
  }

  /** Reads the calls of a rollout, linked to sequences. */
  read({ id }: Rollout): Promise<LinkedRollout> {
    return readRollout(this.#dependencies.completions, id);
  }

  /** Reads the calls of a rollout as trajectories for training. Unless the rollout is finished, the reward is 0. */
  async trajectories(rollout: Rollout): Promise<RolloutTrajectories> {
    const linked = await this.read(rollout);
    const { outcome } = rollout;
    const callsWithoutTokens = linked.calls.filter((call) => !call.isWhole && !isLeftOut(call)).length;
    const trajectories = rolloutTrajectories(rollout, linked, outcome ?? noOutcome);
    return { trajectories, callsWithoutTokens };
  }

  /**
   * Refuses a further call of a rollout that has reached a limit.
   *
   * @throws ServiceError `unsupported`
   */
  refuseFull({ callCount, tokenCount }: Rollout): void {
    const { callsMax, tokensMax } = this.#dependencies.settings;
    const isFull = callCount >= callsMax;
    if (!isFull && tokenCount < tokensMax) return;
    const [count, what, max] = isFull ? [callCount, "calls", callsMax] : [tokenCount, "tokens", tokensMax];
    const message = `This rollout has ${count} ${what}, and may have ${max}. Finish it and create another.`;
    throw new ServiceError({ code: "unsupported", message });
  }

  /**
   * Finishes a rollout. Finishing it again with the same outcome changes nothing.
   *
   * @throws ServiceError `conflict` if the rollout was cancelled, was finished with another outcome, or a job trains on
   * it; `invalid` for a reward of a call that the rollout does not have
   */
  async finish(model: TrainedModel, id: string, outcome: RolloutOutcome): Promise<Rollout> {
    const before = await this.find(model, id);
    if (before.state === "open" || before.state === "expired") await this.#requireCalls(before, outcome);
    await this.#end(before.id, outcome);
    const ended = await this.find(model, id);
    if (ended.state === "finished" && isDeepStrictEqual(ended.outcome, outcome)) return ended;
    throw new ServiceError({ code: "conflict", message: whyNotFinished(ended) });
  }

  /**
   * Cancels an open rollout, so that no job trains on it. Cancelling it again changes nothing.
   *
   * @throws ServiceError `conflict` if the rollout was finished, or a job trains on it
   */
  async cancel(model: TrainedModel, id: string): Promise<Rollout> {
    await this.#end((await this.find(model, id)).id, null);
    const ended = await this.find(model, id);
    if (ended.state === "cancelled") return ended;
    throw new ServiceError({ code: "conflict", message: whyNotFinished(ended) });
  }

  /** Creates a job that trains on rollouts; see {@link createRolloutJob}. */
  train(
    request: RolloutJobRequest,
    identity: Parameters<typeof createRolloutJob>[2],
    submit: SubmitJob,
  ): Promise<string | null> {
    return createRolloutJob(this.#dependencies, request, identity, submit);
  }

  /** Deletes rollouts that ended longer ago than the setting allows. */
  async deleteOld(): Promise<void> {
    const { rollouts, clock, settings } = this.#dependencies;
    const { keptDays, deletedAtOnce: limit } = settings;
    if (keptDays === 0) return;
    const before = new Date(clock.now().getTime() - keptDays * 86_400_000);
    while ((await rollouts.deleteEnded(before, limit)) === limit);
  }

  /** Adds a running call of a rollout; see {@link RunningCalls.enter}. */
  enterCall({ id }: RolloutPass): ReturnType<RunningCalls["enter"]> {
    return this.#dependencies.running.enter(id);
  }

  /** Leaves recorded calls out of training, because their clients did not receive the answers. */
  async leaveOut(keys: readonly CompletionKey[]): Promise<void> {
    for (const key of keys) await this.#dependencies.completions.markUndelivered(key);
  }

  async #end(id: string, outcome: RolloutOutcome | null): Promise<void> {
    const { rollouts, clock, running } = this.#dependencies;
    await rollouts.end(id, { at: clock.now(), outcome });
    await running.abortEnded(id);
  }

  async #requireCalls(rollout: Rollout, { callRewards }: RolloutOutcome): Promise<void> {
    const named = Object.keys(callRewards);
    if (named.length === 0) return;
    const { calls } = await this.read(rollout);
    const known = new Set(calls.filter((call) => !isLeftOut(call)).map(({ requestId }) => requestId));
    const strange = named.find((requestId) => !known.has(requestId));
    if (strange === undefined) return;
    const isKnown = calls.some(({ requestId }) => requestId === strange);
    const message = isKnown
      ? `The client did not receive the answer of the call ${quoted(strange)}, so no job trains on it. Leave out its reward.`
      : `The rollout has no call ${quoted(strange)}. Use the \`request_id\` of one of its calls.`;
    const faults = [{ location: ["callRewards"], message, type: "value_error" }];
    throw new ServiceError({ code: "invalid", message, faults });
  }
}

function whyNotFinished({ state, jobId, outcome, endedAt }: Rollout): string {
  if (state === "finished")
    return `This rollout was finished at ${endedAt?.toISOString()} with the reward ${outcome?.reward}; that cannot be changed.`;
  if (jobId !== null) return `This rollout expired, and the job ${jobId} trains on it already.`;
  return `This rollout was ${state} at ${endedAt?.toISOString()}, and cannot be finished or cancelled anymore.`;
}

function recordingOff(): ServiceError {
  const message = "This server records no calls (recordings.record is off), so it has no rollouts.";
  return new ServiceError({ code: "unsupported", message });
}
