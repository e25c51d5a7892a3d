// Runs the automatic training rules that the database assigns to this server. No other server runs these rules. A rule
// reads new feedback, or counts finished rollouts, and creates a job once there are enough of them and the rule's
// limits allow it.
import type { Condition } from "../../../base/domain/feedback-query/condition.ts";
import type { JobStore } from "../../../base/domain/job.ts";
import { isTerminal } from "../../../base/domain/job.ts";
import type { Service } from "../../../base/domain/lifecycle.ts";
import type { ModelStore } from "../../../base/domain/model.ts";
import type {
  AutomaticProgress,
  RuleStore,
  AutomaticOrder,
  StoredRule,
} from "../../../base/domain/rewards/stored-rule.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import { oldestStep } from "../../../base/domain/version-age.ts";
import { repeatingService } from "../../../base/domain/waiting/repeat-until.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import { ruleCondition } from "../rule-condition.ts";
import type { RewardSettings } from "../settings.ts";
import { readNewFeedback, type AutomaticTask } from "./read-new-feedback.ts";
import type { RolloutJobDependencies } from "../../rollouts/rollout-jobs.ts";
import { automaticState } from "./automatic-state.ts";
import { createAutomaticJob, type TrainDependencies } from "./create-automatic-job.ts";
import { createQueuedJob, type ProgressDependencies, ruleProgress } from "./rollout-queue.ts";

export interface AutomaticDependencies extends TrainDependencies {
  readonly rules: RuleStore;
  readonly jobs: Pick<JobStore, "find">;
  readonly models: Pick<ModelStore, "newestVersion">;
  /** Dependencies of rules that train on rollouts. */
  readonly queue: RolloutJobDependencies & ProgressDependencies;
  /**
   * Parses the feedback filter of a rule.
   *
   * @throws ServiceError if the filter is no longer valid
   */
  readonly conditionOf: (filter: JsonObject | null) => Condition;
  /** Returns the id of this server in the database, which changes if its lease is lost. */
  readonly owner: () => string;
  readonly settings: RewardSettings;
  readonly logger: Logger;
}

/** Maximum number of feedback pages that a rule reads in one round, so that other rules get their turn. */
const pagesMax = 10;

export class AutomaticRules implements Service {
  readonly #dependencies: AutomaticDependencies;
  readonly #life: Service;

  constructor(dependencies: AutomaticDependencies) {
    this.#dependencies = dependencies;
    const { clock, settings, logger } = dependencies;
    const onFault = (error: unknown): void =>
      logger.warn({ err: error }, "automatic rules could not be processed; trying again");
    const repetition = { clock, pauseMs: settings.lookSeconds * 1000, onFault };
    this.#life = repeatingService("automatic rules", repetition, (signal) => this.look(signal));
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  /** Stops the rounds. Resolves when the current round has ended. */
  stop(): Promise<void> {
    return this.#life.stop();
  }

  /**
   * Runs one round: each of this server's rules reads new feedback, and creates a job if the rule's limits allow one.
   */
  async look(signal: AbortSignal): Promise<void> {
    const { rules, owner, logger } = this.#dependencies;
    const server = owner();
    for (const rule of await rules.claim(server)) {
      if (signal.aborted) return;
      if (rule.standing === null) continue;
      const hold = { ruleId: rule.id, owner: server, updatedAt: rule.updatedAt };
      try {
        await this.#runRule(rule, rule.standing, hold, signal);
      } catch (error) {
        const message =
          error instanceof ServiceError ? error.message : "An internal error; see the server's log.";
        logger.warn({ err: error, ruleId: rule.id }, "an automatic rule failed; trying again");
        await rules.setFault(hold, message);
      }
    }
  }

  async #runRule(
    stored: StoredRule,
    order: AutomaticOrder,
    hold: AutomaticTask["hold"],
    signal: AbortSignal,
  ): Promise<void> {
    const { rules, clock, models, queue, conditionOf } = this.#dependencies;
    const progressNow = (): Promise<AutomaticProgress | null> => ruleProgress(queue, stored.id, order);
    await rules.releaseFailed(hold);
    const [newest, before] = await Promise.all([models.newestVersion(order.modelId), progressNow()]);
    // No newest version means that the model was deleted. No progress means that the rule was deleted.
    if (newest === null || before === null) return;
    if (await this.#pausesFor(stored, hold, before)) return;
    const create = async (
      progress: AutomaticProgress,
      train: (tokensMax: number) => Promise<string | null>,
    ) => {
      const isTraining = await this.#isTraining(progress);
      const state = automaticState({ order, isPaused: false, progress, isTraining, now: clock.now() });
      if (state.kind !== "ready") return;
      const tokensMax = order.tokensPerDay === null ? Infinity : order.tokensPerDay - state.tokenCount;
      await this.#train(hold, () => train(tokensMax));
    };
    const { submit } = this.#dependencies;
    if (order.rollouts !== null)
      return create(before, (tokensMax) => createQueuedJob({ ...queue, submit }, hold, order, tokensMax));
    const span = { since: order.since, until: null };
    const task: AutomaticTask = {
      hold,
      rule: stored.rule,
      model: { id: order.modelId, projectId: `${stored.entity}/${stored.project}` },
      stepMin: oldestStep(newest.step, order.versionAgeMax),
      condition: ruleCondition(stored.rule, conditionOf(order.filter), span),
      cursor: before.cursor,
    };
    const read = await this.#read(task, signal);
    const progress = read === null ? null : await progressNow();
    if (progress === null || signal.aborted) return;
    await create(progress, (tokensMax) =>
      createAutomaticJob(this.#dependencies, { ...task, cursor: progress.cursor }, order, { tokensMax }),
    );
  }

  /**
   * Reads new feedback for a rule.
   *
   * @returns null if the rule no longer belongs to this server
   */
  async #read(task: AutomaticTask, signal: AbortSignal): Promise<true | null> {
    let { cursor } = task;
    for (let page = 0; page < pagesMax && !signal.aborted; page++) {
      const read = await readNewFeedback(this.#dependencies, { ...task, cursor });
      if (read === null) return null;
      ({ cursor } = read);
      if (!read.hasMore) break;
    }
    return true;
  }

  async #train({ ruleId }: AutomaticTask["hold"], create: () => Promise<string | null>): Promise<void> {
    try {
      const jobId = await create();
      if (jobId !== null)
        this.#dependencies.logger.info({ ruleId, jobId }, "an automatic rule created a job");
    } catch (error) {
      // A conflict means that another job was created from some of this data. The next round works with the remaining
      // data.
      if (!(error instanceof ServiceError) || error.code !== "conflict") throw error;
    }
  }

  /**
   * Pauses a rule if its latest jobs all failed, because further jobs would probably fail too. Returns true if it is
   * paused.
   */
  async #pausesFor(
    { updatedAt }: StoredRule,
    hold: AutomaticTask["hold"],
    { jobs }: AutomaticProgress,
  ): Promise<boolean> {
    const { failuresMax } = this.#dependencies.settings;
    const newest = jobs.filter(({ createdAt }) => createdAt >= updatedAt).slice(0, failuresMax);
    if (newest.length < failuresMax) return false;
    const found = await Promise.all(newest.map(({ id }) => this.#dependencies.jobs.find(id)));
    if (!found.every((job) => job?.state === "failed")) return false;
    const fault = `Its last ${failuresMax} jobs failed: ${found[0]?.errorMessage ?? ""}`;
    await this.#dependencies.rules.setFault(hold, fault, { pauses: true });
    return true;
  }

  async #isTraining({ lastJob }: AutomaticProgress): Promise<boolean> {
    const job = lastJob === null ? null : await this.#dependencies.jobs.find(lastJob.id);
    return job !== null && !isTerminal(job.state);
  }
}
