// Options of a training run: their types, checks and defaults.
import type { TrainingJobCreate } from "../api.ts";
import { HoneError } from "../hone-error.ts";
import { refuseUnknown } from "../unknown-options.ts";
import type { JsonObject } from "../recording/model-request.ts";
import type { RecordedTrajectory } from "../recording/recorded-trajectory.ts";
import type { Judge } from "./groups.ts";
import type { RoundReport } from "./round-report.ts";
import type { Tasks } from "./task-order.ts";
import type { TrainEvent } from "./train-event.ts";

/** Result of a rollout: a reward, optionally with measurements. */
export type RolloutResult =
  | number
  | {
      /** Any finite number; default 0 with a judge. */
      readonly reward?: number;
      /** Measurements; the round's metrics are their means. */
      readonly metrics?: Readonly<Record<string, number | boolean>>;
      /** Stored with the trajectory. */
      readonly metadata?: JsonObject;
    };

/** Any agent code: does a task with the trajectory's model, and returns a reward. */
export type RolloutFunction<Task> = (
  task: Task,
  trajectory: RecordedTrajectory,
) => RolloutResult | Promise<RolloutResult>;

/** Default fields of a rollout's chat requests, such as `temperature`. */
export type RequestDefaults = JsonObject;

export type TrainingConfig = NonNullable<TrainingJobCreate["experimental_config"]>;

export interface ValidationOptions<Task> {
  /** Tasks that are never trained on. */
  readonly tasks: readonly Task[];
  /** Rounds between validations; default 1. The run also validates before the first round and after the last. */
  readonly every?: number;
  /** Rollouts per task; default 1. */
  readonly tries?: number;
  /** Default request fields in place of the run's, such as `{ temperature: 0 }`. */
  readonly request?: RequestDefaults;
  /** Number of consecutive validations without a new best before the run stops; default: unlimited. */
  readonly patience?: number;
  /** Minimum improvement over the best reward; default 0. */
  readonly minDelta?: number;
}

export interface TrainOptions<Task> {
  readonly tasks: Tasks<Task>;
  readonly rollout: RolloutFunction<Task>;
  /** Rollouts per task in a round, which are compared with each other; default 8, minimum 2. */
  readonly groupSize?: number;
  /** Total number of rounds, including those of an earlier run; default 10. */
  readonly rounds?: number;
  /** Number of tasks per round from a list; default: all. */
  readonly tasksPerRound?: number;
  /** Seed of the task order and of all sampling; default 1. */
  readonly seed?: number;
  /** Maximum number of concurrent rollouts; default 16. */
  readonly concurrency?: number;
  /** Timeout of a rollout in milliseconds; default 600,000. */
  readonly rolloutTimeout?: number;
  /** Maximum share of failed rollouts in a round, 0 to 1; default 0.5. */
  readonly failuresMax?: number;
  /**
   * Settings of training jobs, or a function of the round. Without steps or a learning rate, `train` chooses both
   * (round-config.ts).
   */
  readonly config?: TrainingConfig | ((round: number) => TrainingConfig);
  readonly request?: RequestDefaults;
  /** Scores the rollouts of a task by comparison; the scores are added to their rewards. */
  readonly judge?: Judge<Task>;
  readonly validation?: ValidationOptions<Task>;
  /** Name of the run. Runs with different names count rounds separately; a model has one run without a name. */
  readonly run?: string;
  /** Continues after the rounds that the server knows; default true. */
  readonly resume?: boolean;
  /** Called with each round's numbers; the run waits for it. */
  readonly onRound?: (report: RoundReport) => void | Promise<void>;
  /** Called with every event. */
  readonly onEvent?: (event: TrainEvent) => void;
  /** Shows progress on standard error; default: if there is one and `onRound` is not set. */
  readonly display?: boolean;
  /** Maximum wait in milliseconds for a server that is loading, restarting or unreachable; default 600,000. */
  readonly serverTimeout?: number;
  /** Stops the run: rollouts end, and a running job continues on the server. `train` then throws the signal's reason. */
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

/** All options. */
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

/** Options with all defaults. */
export type Resolved<Task> = TrainOptions<Task> & Required<Pick<TrainOptions<Task>, keyof typeof defaults>>;

/** @throws HoneError `invalid` that names the option, its value and its range */
export function resolveOptions<Task>(options: TrainOptions<Task>): Resolved<Task> {
  refuseUnknown(options, Object.keys(optionNames), "train");
  refuseUnknown(options.validation ?? {}, Object.keys(validationNames), "train's validation");
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  // Safe cast: the defaults supply omitted options.
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
  // JSON writes NaN as null.
  const shown = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  const message = `${name} is ${shown}; it must be ${wanted}.`;
  return new HoneError({ code: "invalid", param: name, message });
}
