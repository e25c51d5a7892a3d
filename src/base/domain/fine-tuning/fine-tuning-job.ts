// Fine-tuning jobs in the form of OpenAI's API, and the contract of their store. A job trains a model of its own with
// one or more training jobs: supervised and DPO jobs have exactly one, reinforcement jobs one for each step.
import type { Owned } from "../keys/key-scope.ts";
import type { Page, PageRequest } from "../page.ts";
import type { JsonObject } from "../text/json.ts";
import type { ReinforcementProgress } from "./reinforcement.ts";

export type FineTuningMethodName = "supervised" | "dpo" | "reinforcement";

/** Hyperparameters in effect, by their names in the API. */
export type Hyperparameters = Readonly<Record<string, number | string>>;

/** The request that created a job, with the defaults filled in. It never changes. */
export interface FineTuningOrder {
  /** Name of the model in the request. */
  readonly model: string;
  readonly baseModel: string;
  readonly trainingFile: string;
  readonly validationFile: string | null;
  readonly suffix: string | null;
  readonly seed: number;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly method: FineTuningMethodName;
  readonly hyperparameters: Hyperparameters;
  /** Grader of a reinforcement job, as the request has it; null for other methods. */
  readonly grader: JsonObject | null;
  /** `response_format` of the answers that a reinforcement job samples; null for plain text. */
  readonly responseFormat: JsonObject | null;
  /** Number of examples in the training file. */
  readonly exampleCount: number;
  /** Key of the request, to which the job's tokens are charged, and the key's owner. */
  readonly keyId: string;
  readonly keyOwner: string;
}

/**
 * State of a reinforcement job. Supervised and DPO jobs stay `running` here, because their state is that of their
 * training job.
 */
export type FineTuningState = "queued" | "running" | "paused" | "succeeded" | "failed" | "cancelled";

export interface FineTuningJob extends Owned {
  readonly id: string;
  readonly project: string;
  /** Model that the job trains. The job is deleted with it. */
  readonly modelId: string;
  readonly order: FineTuningOrder;
  readonly state: FineTuningState;
  /** Training job of a supervised or DPO job, or of a reinforcement job's current step; null if there is none. */
  readonly trainingJobId: string | null;
  /** Progress of a reinforcement job; null for other methods. */
  readonly progress: ReinforcementProgress | null;
  /** Reason why a reinforcement job failed; null for all other jobs. */
  readonly errorMessage: string | null;
  readonly createdAt: Date;
  /** Time at which a reinforcement job ended; null if it has not ended, and for jobs of other kinds. */
  readonly endedAt: Date | null;
}

export interface FineTuningFilter {
  /** Entity and project whose jobs are selected; null to select the jobs of all entities. */
  readonly reach: Owned | null;
  /**
   * Pairs that a job's metadata must contain. An empty object matches every job; null matches jobs without metadata.
   */
  readonly metadata: Readonly<Record<string, string>> | null;
}

/** Changes of a reinforcement job by the server that runs it. */
export type FineTuningAdvance = Pick<FineTuningJob, "trainingJobId" | "progress">;

export interface FineTuningStore {
  /** Stores a job; durable when it resolves. */
  create(job: FineTuningJob): Promise<void>;
  find(id: string): Promise<FineTuningJob | null>;
  /** Returns jobs in order of creation. */
  list(filter: FineTuningFilter, page: PageRequest): Promise<Page<FineTuningJob>>;
  /**
   * Changes the state of a job if it is one of `from`. A final state ends the job.
   *
   * @param change.owner if given, changes nothing unless this server runs the job
   * @returns the job after the change; null if nothing changed
   */
  changeState(
    id: string,
    change: {
      readonly from: readonly FineTuningState[];
      readonly to: FineTuningState;
      readonly at: Date;
      readonly errorMessage?: string;
      readonly owner?: string;
    },
  ): Promise<FineTuningJob | null>;
  /**
   * Assigns jobs to the server `owner` until it runs `countMax` jobs. It gets queued jobs, and running jobs of servers
   * without a lease. Entities with fewer running jobs come first.
   *
   * @returns all jobs that the server runs
   */
  claim(owner: string, countMax: number): Promise<readonly FineTuningJob[]>;
  /** Stores progress. Returns false, and stores nothing, unless this server runs the job and its state is `running`. */
  advance(id: string, owner: string, change: FineTuningAdvance): Promise<boolean>;
}
