// Service for reward rules and for training with them: finds rules with access checks, changes them, reports their
// status, and creates jobs. Knows nothing about HTTP.
import { mayReach, reachOf, refuseOtherOwner, type Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import { isTerminal, type JobDraft, type JobStore } from "../../base/domain/job.ts";
import type { ModelStore, ModelVersion, TrainedModel } from "../../base/domain/model.ts";
import type { Page, PageRequest } from "../../base/domain/page.ts";
import { parseProjectId } from "../../base/domain/project.ts";
import type { FeedbackOutcome } from "../../base/domain/rewards/feedback-outcome.ts";
import type { PreferenceOutcome } from "../../base/domain/rewards/preference-outcome.ts";
import type {
  RuleFilter,
  RuleStore,
  AutomaticProgress,
  StoredRule,
} from "../../base/domain/rewards/stored-rule.ts";
import type { ListedSource, TrainingSourceStore } from "../../base/domain/rewards/training-source.ts";
import { notFound, quoted, ServiceError } from "../../base/domain/service-error.ts";
import {
  createFeedbackJob,
  type FeedbackJobDependencies,
  type FeedbackJobPlan,
  type FeedbackJobRequest,
  planFeedbackJob,
} from "./feedback-jobs.ts";
import { readTexts } from "./answer-texts.ts";
import { outcomeOf } from "./outcome.ts";
import {
  createPreferenceJob,
  planPreferenceJob,
  type PreferenceJobRequest,
} from "./preferences/preference-jobs.ts";
import { preferenceOutcomeOf } from "./preferences/preference-outcome.ts";
import type { RewardSettings } from "./settings.ts";
import { type AutomaticState, automaticState } from "./automatic/automatic-state.ts";
import type { SubmitJob } from "./automatic/create-automatic-job.ts";
import { type ProgressDependencies, ruleProgress } from "./automatic/rollout-queue.ts";

export interface RewardDependencies extends FeedbackJobDependencies {
  readonly rules: RuleStore;
  readonly rollouts: ProgressDependencies["rollouts"];
  readonly sources: TrainingSourceStore;
  readonly jobs: Pick<JobStore, "find">;
  readonly models: Pick<ModelStore, "newestVersion" | "find">;
  readonly clock: Clock;
  readonly settings: RewardSettings;
}

/** The fields of a reward rule that users can set. */
export type RuleContent = Pick<StoredRule, "name" | "rule" | "standing">;

/** Status and progress of an automatic rule. */
export interface RuleState extends AutomaticState {
  readonly progress: AutomaticProgress;
}

export class RewardService {
  readonly #dependencies: RewardDependencies;

  constructor(dependencies: RewardDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Stores a new reward rule.
   *
   * @throws ServiceError that names the faulty field of the rule: `invalid`, `forbidden`, `not_found` if the model does
   * not exist, `conflict` if the name is taken
   */
  async create(
    place: Pick<StoredRule, "entity" | "project">,
    content: RuleContent,
    caller: Caller,
  ): Promise<StoredRule> {
    const { rules, clock, settings } = this.#dependencies;
    const projectId = `${place.entity}/${place.project}`;
    if (parseProjectId(projectId) === null) {
      const message = `${quoted(projectId)} is not a project; it must be <entity>/<project>.`;
      throw new ServiceError({
        code: "invalid",
        faults: [{ location: ["project"], message, type: "value_error" }],
      });
    }
    const field = caller.entity === place.entity ? "project" : "entity";
    refuseOtherOwner(caller, place, `The project ${quoted(projectId)}`, field);
    await this.#checkStanding(place, content);
    const now = clock.now();
    const rule = {
      id: newUuid7(clock),
      ...place,
      ...content,
      isPaused: false,
      createdAt: now,
      updatedAt: now,
    };
    await rules.create(rule, { countMax: settings.rulesPerProject });
    return rule;
  }

  /**
   * Finds a reward rule.
   *
   * @throws ServiceError `not_found`, also if the rule belongs to an entity that the caller may not access
   */
  async find(id: string, caller: Caller): Promise<StoredRule> {
    const rule = await this.#dependencies.rules.find(id.toLowerCase());
    if (rule === null || !mayReach(caller, rule)) throw notFound("reward rule", id);
    return rule;
  }

  /**
   * Refuses a reward rule of another project, because a rule's terms refer to feedback of its own project.
   *
   * @throws ServiceError `not_found`
   */
  requireProject({ id, entity, project }: StoredRule, projectId: string): void {
    if (`${entity}/${project}` !== projectId) throw notFound(`reward rule of ${projectId}`, id);
  }

  /** Lists the reward rules that the caller may access. */
  list(filter: RuleFilter, page: PageRequest, caller: Caller): Promise<Page<StoredRule>> {
    const reach = reachOf(caller);
    const entity = reach?.entity ?? filter.entity;
    const project = reach?.project ?? filter.project;
    const isElsewhere = entity !== (filter.entity ?? entity) || project !== (filter.project ?? project);
    if (isElsewhere) return Promise.resolve({ items: [], hasMore: false });
    return this.#dependencies.rules.list({ ...filter, entity, project }, page);
  }

  /**
   * Replaces the fields of a reward rule.
   *
   * @throws ServiceError as {@link create} and {@link find}
   */
  async change(id: string, content: RuleContent, caller: Caller): Promise<StoredRule> {
    const before = await this.find(id, caller);
    await this.#checkStanding(before, content);
    const changed = { ...content, updatedAt: this.#dependencies.clock.now() };
    return found(await this.#dependencies.rules.replace(before.id, changed), id);
  }

  /**
   * Pauses or resumes a reward rule.
   *
   * @throws ServiceError `not_found`; `conflict` if the rule does not train automatically
   */
  async setPaused(id: string, isPaused: boolean, caller: Caller): Promise<StoredRule> {
    const rule = await this.find(id, caller);
    if (rule.standing === null) {
      const message = `The rule ${quoted(rule.name)} does not train automatically, so there is nothing to pause or resume.`;
      throw new ServiceError({ code: "conflict", message });
    }
    return found(
      await this.#dependencies.rules.setPaused(rule.id, isPaused, this.#dependencies.clock.now()),
      id,
    );
  }

  /**
   * Deletes a reward rule.
   *
   * @throws ServiceError `not_found`
   */
  async delete(id: string, caller: Caller): Promise<void> {
    const rule = await this.find(id, caller);
    await this.#dependencies.rules.delete(rule.id);
  }

  /** Returns the status and progress of a reward rule; null if the rule does not train automatically. */
  async stateOf({ id, standing: order, isPaused }: StoredRule): Promise<RuleState | null> {
    if (order === null) return null;
    const { jobs, clock } = this.#dependencies;
    const now = clock.now();
    const progress = await ruleProgress(this.#dependencies, id, order);
    if (progress === null) return null;
    const job = progress.lastJob === null ? null : await jobs.find(progress.lastJob.id);
    const isTraining = job !== null && !isTerminal(job.state);
    return { ...automaticState({ order, isPaused, progress, isTraining, now }), progress };
  }

  /**
   * Returns the feedback that a job would train on and the feedback it would exclude. Creates no job.
   *
   * @throws ServiceError with the codes of {@link planFeedbackJob}
   */
  async preview(request: FeedbackJobRequest): Promise<FeedbackOutcome> {
    return this.#shown(await planFeedbackJob(this.#dependencies, request));
  }

  /**
   * Creates a job from existing feedback.
   *
   * @returns the outcome, and the job's id (null if there is nothing to train on)
   * @throws ServiceError as {@link planFeedbackJob} and {@link createFeedbackJob}
   */
  async train(
    request: FeedbackJobRequest,
    identity: Pick<JobDraft, "task" | "configNotApplied" | "warnings">,
    submit: SubmitJob,
  ): Promise<{ readonly id: string | null; readonly outcome: FeedbackOutcome }> {
    const plan = await planFeedbackJob(this.#dependencies, request);
    const id = await createFeedbackJob(this.#dependencies, plan, identity, submit);
    return { id, outcome: await this.#shown(plan) };
  }

  async #shown(plan: FeedbackJobPlan): Promise<FeedbackOutcome> {
    return outcomeOf(plan, await readTexts(this.#dependencies.completions, plan.groups, plan.gathered));
  }

  /**
   * Returns the preferences that a job would train on and the answers it would exclude. Creates no job.
   *
   * @throws ServiceError with the codes of {@link planPreferenceJob}
   */
  async previewPreferences(request: PreferenceJobRequest): Promise<PreferenceOutcome> {
    return preferenceOutcomeOf(await planPreferenceJob(this.#dependencies, request));
  }

  /**
   * Creates a preference job from existing feedback.
   *
   * @returns the outcome, and the job's id (null if there is nothing to train on)
   * @throws ServiceError as {@link planPreferenceJob} and {@link createPreferenceJob}
   */
  async trainPreferences(
    request: PreferenceJobRequest,
    identity: Pick<JobDraft, "task" | "configNotApplied" | "warnings">,
    submit: SubmitJob,
  ): Promise<{ readonly id: string | null; readonly outcome: PreferenceOutcome }> {
    const plan = await planPreferenceJob(this.#dependencies, request);
    const id = await createPreferenceJob(this.#dependencies, plan, identity, submit);
    return { id, outcome: preferenceOutcomeOf(plan) };
  }

  /** Lists the feedback that a version was trained on, in the order of the groups in its job. */
  async sourcesOf({ jobId }: ModelVersion, page: PageRequest): Promise<Page<ListedSource>> {
    return this.#dependencies.sources.list(jobId ?? "", page);
  }

  async #checkStanding(
    { entity, project }: Pick<StoredRule, "entity" | "project">,
    { standing }: Pick<StoredRule, "standing">,
  ): Promise<void> {
    if (standing === null) return;
    const model = await this.#dependencies.models.find(standing.modelId);
    if (model === null || !isOfProject(model, entity, project)) {
      const message = `${entity}/${project} has no model ${quoted(standing.modelId)}; a rule trains models of its own project.`;
      const faults = [{ location: ["standing", "modelId"], message, type: "not_found" }];
      throw new ServiceError({ code: "not_found", message, faults });
    }
  }
}

function isOfProject(model: TrainedModel, entity: string, project: string): boolean {
  return model.entity === entity && model.project === project;
}

function found(rule: StoredRule | null, id: string): StoredRule {
  if (rule === null) throw notFound("reward rule", id);
  return rule;
}
