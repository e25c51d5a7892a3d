// Options of a training run: their types, validation and defaults.
import type { TrainingJobCreate } from "../api.ts";
import { HoneError } from "../hone-error.ts";
import { refuseUnknown } from "../unknown-options.ts";
import type { JsonObject } from "../recording/trajectory-fetch.ts";
import type { RecordedTrajectory } from "../recording/recorded-trajectory.ts";
import type { Judge } from "./groups.ts";
import type { RoundReport } from "./round-report.ts";
import type { Tasks } from "./task-order.ts";
import type { TrainEvent } from "./train-event.ts";

/** Result of a rollout: a reward, optionally with further measurements. */
export type RolloutResult =
  | number
  | {
      /** Any finite number. With a judge, it may be omitted and is then 0. */
      readonly reward?: number;
      /** Measurements of this rollout. Their means become metrics of the round. */
      readonly metrics?: Readonly<Record<string, number | boolean>>;
      /** Metadata stored with the trajectory. */
      readonly metadata?: JsonObject;
    };

/** Any agent code. It performs a task with the trajectory's model, and returns a reward. */
export type RolloutFunction<Task> = (
  task: Task,
  trajectory: RecordedTrajectory,
) => RolloutResult | Promise<RolloutResult>;

/** Default fields of a rollout's chat requests, such as `temperature`. */
export type RequestDefaults = JsonObject;

export type TrainingConfig = NonNullable<TrainingJobCreate["experimental_config"]>;

export interface ValidationOptions<Task> {
  /** Validation tasks. Their rollouts are not trained on. */
  readonly tasks: readonly Task[];
  /**
   * Number of rounds between validations; default 1. The run also validates before the first round and after the last.
   */
  readonly every?: number;
  /** Number of rollouts per task; default 1. */
  readonly tries?: number;
  /** Default request fields for validation, such as `{ temperature: 0 }`. They override the run's `request`. */
  readonly request?: RequestDefaults;
  /** Number of consecutive validations without a new best after which the run stops; default: unlimited. */
  readonly patience?: number;
  /** Minimum improvement over the best reward; default 0. */
  readonly minDelta?: number;
}

export interface TrainOptions<Task> {
  readonly tasks: Tasks<Task>;
  readonly rollout: RolloutFunction<Task>;
  /** Number of rollouts per task in a round, whose rewards are compared with each other; default 8, minimum 2. */
  readonly groupSize?: number;
  /** Total number of rounds, including those of an earlier run that is resumed; default 10. */
  readonly rounds?: number;
  /** Number of tasks that a round takes from a list; default: all. */
  readonly tasksPerRound?: number;
  /** Seed for the order of tasks and for all sampling; default 1. */
  readonly seed?: number;
  /** Maximum number of concurrent rollouts; default 16. */
  readonly concurrency?: number;
  /** Timeout of a rollout in milliseconds; default 600,000. */
  readonly rolloutTimeout?: number;
  /** Maximum share of a round's rollouts that may fail, from 0 to 1; default 0.5. */
  readonly failuresMax?: number;
  /**
   * Settings of training jobs, or a function that returns them for a round. If they contain neither steps nor a
   * learning rate, `train` chooses both (round-config.ts).
   */
  readonly config?: TrainingConfig | ((round: number) => TrainingConfig);
  readonly request?: RequestDefaults;
  /** Scores a task's rollouts by comparing them. The scores are added to the rewards. */
  readonly judge?: Judge<Task>;
  readonly validation?: ValidationOptions<Task>;
  /** Name of the run. Each run counts its rounds separately; all calls without a name belong to the same run. */
  readonly run?: string;
  /** Resumes after the rounds that the server has already stored; default true. */
  readonly resume?: boolean;
  /** Called with each round's report. The run waits until the returned promise resolves. */
  readonly onRound?: (report: RoundReport) => void | Promise<void>;
  /** Called with every event. */
  readonly onEvent?: (event: TrainEvent) => void;
  /** Shows progress on standard error. Default: true if standard error exists and `onRound` is not set. */
  readonly display?: boolean;
  /** Maximum time in milliseconds to wait for a server that is loading, restarting or unreachable; default 600,000. */
  readonly serverTimeout?: number;
  /**
   * Stops the run when it aborts: rollouts end, and a job that was created continues on the server. `train` then
   * throws the signal's reason.
   */
  readonly signal?: AbortSignal;
}

const defaults = {
  groupSize: 8,
  rounds: 10,
  seed: 1,
  concurrency: 16,
  rolloutTimeout: 600_000,
  failuresMax: 0.5,
  resume: true,
  serverTimeout: 600_000,
} as const;

/** Names of all options. The type makes the compiler report missing ones. */
const optionNames: { readonly [Name in keyof Required<TrainOptions<unknown>>]: true } = {
  tasks: true,
  rollout: true,
  groupSize: true,
  rounds: true,
  tasksPerRound: true,
  seed: true,
  concurrency: true,
  rolloutTimeout: true,
  failuresMax: true,
  config: true,
  request: true,
  judge: true,
  validation: true,
  run: true,
  resume: true,
  onRound: true,
  onEvent: true,
  display: true,
  serverTimeout: true,
  signal: true,
};

const validationNames: { readonly [Name in keyof Required<ValidationOptions<unknown>>]: true } = {
  tasks: true,
  every: true,
  tries: true,
  request: true,
  patience: true,
  minDelta: true,
};

/** Options after defaults are applied. */
export type Resolved<Task> = TrainOptions<Task> & Required<Pick<TrainOptions<Task>, keyof typeof defaults>>;

/**
 * Applies the defaults.
 *
 * @throws HoneError `invalid` for an unknown option, or one out of range; the message has the option's name, value and
 * range
 */
export function resolveOptions<Task>(options: TrainOptions<Task>): Resolved<Task> {
  refuseUnknown(options, Object.keys(optionNames), "train");
  refuseUnknown(options.validation ?? {}, Object.keys(validationNames), "train's validation");
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  // Safe cast: the defaults supply the omitted options.
  const resolved = { ...defaults, ...given } as Resolved<Task>;
  const { tasks, validation, failuresMax } = resolved;
  wholeNumber("groupSize", resolved.groupSize, 2);
  wholeNumber("rounds", resolved.rounds, 0);
  wholeNumber("concurrency", resolved.concurrency, 1);
  wholeNumber("rolloutTimeout", resolved.rolloutTimeout, 1);
  wholeNumber("serverTimeout", resolved.serverTimeout, 0);
  wholeNumber("tasksPerRound", resolved.tasksPerRound ?? 1, 1);
  wholeNumber("seed", resolved.seed, 0);
  wholeNumber("validation.every", validation?.every ?? 1, 1);
  wholeNumber("validation.tries", validation?.tries ?? 1, 1);
  wholeNumber("validation.patience", validation?.patience ?? 1, 1);
  if (!(failuresMax >= 0 && failuresMax <= 1))
    throw invalid("failuresMax", failuresMax, "a number from 0 to 1");
  if (typeof resolved.rollout !== "function") throw invalid("rollout", resolved.rollout, "a function");
  if (typeof tasks !== "function" && tasks.length === 0) throw invalid("tasks", [], "at least one task");
  if (validation?.tasks.length === 0) throw invalid("validation.tasks", [], "at least one task");
  return resolved;
}

function wholeNumber(name: string, value: number, min: number): void {
  if (!Number.isSafeInteger(value) || value < min)
    throw invalid(name, value, `a whole number of at least ${min}`);
}

function invalid(name: string, value: unknown, wanted: string): HoneError {
  // JSON would show NaN as null.
  const shown = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  const message = `${name} is ${shown}; it must be ${wanted}.`;
  return new HoneError({ code: "invalid", param: name, message });
}
