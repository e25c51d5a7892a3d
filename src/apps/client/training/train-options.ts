// What a training run is told, checked and with defaults.
import type { TrainingJobCreate } from "../api.ts";
import { HoneError } from "../hone-error.ts";
import { refuseUnknown } from "../unknown-options.ts";
import type { JsonObject } from "../recording/model-request.ts";
import type { RecordedTrajectory } from "../recording/recorded-trajectory.ts";
import type { Judge } from "./groups.ts";
import type { RoundReport } from "./round-report.ts";
import type { Tasks } from "./task-order.ts";
import type { TrainEvent } from "./train-event.ts";

/** What a rollout says of itself: a reward alone, or with what was measured. */
export type RolloutResult =
  | number
  | {
      /** Any finite number; with a judge 0 unless given. */
      readonly reward?: number;
      /** Measured of it; their means are the round's metrics. */
      readonly metrics?: Readonly<Record<string, number | boolean>>;
      /** Kept with it. */
      readonly metadata?: JsonObject;
    };

/** Any agent code: it does a task by the trajectory's model, and says how well it did. */
export type RolloutFunction<Task> = (
  task: Task,
  trajectory: RecordedTrajectory,
) => RolloutResult | Promise<RolloutResult>;

/** Fields of chat requests for what a rollout leaves open, such as `temperature`. */
export type RequestDefaults = JsonObject;

export type TrainingConfig = NonNullable<TrainingJobCreate["experimental_config"]>;

export interface ValidationOptions<Task> {
  /** Never trained on. */
  readonly tasks: readonly Task[];
  /** Rounds from one validation to the next; 1 unless given. There is one before the first round and one after the last. */
  readonly every?: number;
  /** Rollouts of each task; 1 unless given. */
  readonly tries?: number;
  /** In place of the run's, such as `{ temperature: 0 }`. */
  readonly request?: RequestDefaults;
  /** Stops after so many validations in a row without a new best; never unless given. */
  readonly patience?: number;
  /** By how much a reward must be above the best to be a new one; 0 unless given. */
  readonly minDelta?: number;
}

export interface TrainOptions<Task> {
  readonly tasks: Tasks<Task>;
  readonly rollout: RolloutFunction<Task>;
  /** Rollouts of each task of a round, which are compared with each other; 8 unless given, 2 at least. */
  readonly groupSize?: number;
  /** How many there are in all, those of an earlier run included; 10 unless given. */
  readonly rounds?: number;
  /** Of a list of tasks; all of them unless given. */
  readonly tasksPerRound?: number;
  /** Of the order of tasks, and of everything sampled; 1 unless given. */
  readonly seed?: number;
  /** Rollouts that run at once; 16 unless given. */
  readonly concurrency?: number;
  /** Milliseconds that a rollout may take; 600,000 unless given. */
  readonly rolloutTimeout?: number;
  /** The share of a round's rollouts that may fail, 0 to 1; 0.5 unless given. */
  readonly failuresMax?: number;
  /**
   * Settings of the training jobs, or of each round's. Without steps or a learning rate, `train` chooses both
   * (round-config.ts).
   */
  readonly config?: TrainingConfig | ((round: number) => TrainingConfig);
  readonly request?: RequestDefaults;
  /** Scores the rollouts of a task beside each other; what it gives is added to their own rewards. */
  readonly judge?: Judge<Task>;
  readonly validation?: ValidationOptions<Task>;
  /** Runs of different names count their rounds apart; a model has one without a name. */
  readonly run?: string;
  /** Whether rounds that the server knows of are gone on from; true unless given. */
  readonly resume?: boolean;
  /** Called with each round's numbers; waited for. */
  readonly onRound?: (report: RoundReport) => void | Promise<void>;
  /** Called with everything that happens. */
  readonly onEvent?: (event: TrainEvent) => void;
  /** Shows progress on the standard error output; unless given, where there is one and no `onRound`. */
  readonly display?: boolean;
  /** Milliseconds that a server which loads, restarts or is away is waited for; 600,000 unless given. */
  readonly serverTimeout?: number;
  /** Stops the run: rollouts end, a job that runs goes on by itself. `train` then throws the signal's reason. */
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

/** Every option there is. */
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

/** With every default filled in. */
export type Resolved<Task> = TrainOptions<Task> & Required<Pick<TrainOptions<Task>, keyof typeof defaults>>;

/** @throws HoneError `invalid`, naming the option, its value and its range */
export function resolveOptions<Task>(options: TrainOptions<Task>): Resolved<Task> {
  refuseUnknown(options, Object.keys(optionNames), "train");
  refuseUnknown(options.validation ?? {}, Object.keys(validationNames), "train's validation");
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  // The defaults have what is left out.
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
  // JSON has no NaN, which a text that is no number becomes.
  const shown = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  const message = `${name} is ${shown}; it has to be ${wanted}.`;
  return new HoneError({ code: "invalid", param: name, message });
}
