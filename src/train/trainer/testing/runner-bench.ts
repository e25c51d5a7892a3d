// For tests: runs whole jobs in real training processes, on a small model.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { pathToFileURL } from "node:url";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { foldedLine } from "../../../base/domain/text/folded-lines.ts";
import { goldenGroups } from "../../../../test/golden-trajectories.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import type { JobAssignment, JobOutcome, JobPins } from "../../../base/domain/job.ts";
import { adapterOfServer } from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import type { TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import type { BasePrecision } from "../../../base/domain/trainer/base-precision.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { type ChildJobRunner, type ChildJobRunnerOptions, createChildJobRunner } from "../child-runner.ts";
import { trainingSettings } from "../settings.ts";
import { type SeenEvents, silentReport } from "./silent-report.ts";

export const settings = trainingSettings.with({ batchTokens: 80, memoryBytes: 8e9, idleMs: 30_000 });

/** Bundled module of a training process, which loads in a third of the time; absent if the bundle may be outdated. */
const module =
  process.env["TEST_SERVER"] === undefined
    ? undefined
    : pathToFileURL(join(dirname(process.env["TEST_SERVER"]), "child-main.cjs"));

export const baseFolder = "test/fixtures/small-model";

/** Yields the groups as stored lines. Each group is so large that it is folded into several lines. */
export async function* linesOf(list: readonly TrajectoryGroup[]): AsyncGenerator<string> {
  for (const group of list) yield* foldedLine(JSON.stringify({ ...group, logs: ["x".repeat(1 << 20)] }));
}

export interface Given {
  readonly jobId?: string;
  /** Number of the version from which the job continues; 0 for the base model. */
  readonly from?: number;
  /** True to continue also from the optimizer state of version `from`. */
  readonly withState?: boolean;
  readonly baseModel?: string;
  readonly learningRate?: number;
  readonly precalculateLogprobs?: boolean;
  readonly basePrecision?: BasePrecision;
  /** Pins (values that stay the same in all attempts at a job) that replace those that the runner would compute. */
  readonly pins?: Partial<JobPins>;
}

export interface Run {
  readonly outcome: JobOutcome;
  readonly started: readonly Readonly<Record<string, number>>[];
  readonly steps: readonly Readonly<Record<string, number>>[];
}

/** A data folder, and a runner whose jobs all train on the same groups. */
export class Bench {
  readonly dataFolder = mkdtempSync(join(tmpdir(), "hone-training-"));
  readonly runner: ChildJobRunner;
  readonly #runners: ChildJobRunner[] = [];
  readonly #groups: readonly TrajectoryGroup[] | null;

  constructor(
    t: { readonly after: (cleanUp: () => Promise<void>) => void },
    groups: readonly TrajectoryGroup[] | null = goldenGroups(),
    options: Partial<ChildJobRunnerOptions> = {},
  ) {
    this.#groups = groups;
    this.runner = this.newRunner(options);
    t.after(async () => {
      for (const runner of this.#runners) await runner.stop();
      rmSync(this.dataFolder, { recursive: true });
    });
  }

  newRunner(options: Partial<ChildJobRunnerOptions> = {}): ChildJobRunner {
    const groups = this.#groups;
    const runner = createChildJobRunner({
      ...dataFolderAt(this.dataFolder),
      baseFolders: new Map([["tiny", baseFolder]]),
      trajectoryLines: async () => (groups === null ? null : linesOf(groups)),
      settings,
      version: "1.2.3",
      clock: systemClock,
      logger: silentLogger,
      ...(module && { module }),
      ...options,
    });
    this.#runners.push(runner);
    return runner;
  }

  /** Runs a job whose result becomes version `step` of the model. */
  async run(
    step: number,
    given: Given = {},
    { on = {}, runner = this.runner, signal = new AbortController().signal }: RunOptions = {},
  ): Promise<Run> {
    const started: Readonly<Record<string, number>>[] = [];
    const steps: Readonly<Record<string, number>>[] = [];
    const report = silentReport({
      started: async ({ metrics }) => void started.push(metrics),
      stepped: async ({ index, metrics }) => {
        assert.equal(index, steps.length);
        const { tokens_per_second: speed, ...others } = metrics;
        assert.ok(speed > 0);
        // Omits the speed, because it differs between attempts.
        steps.push(others);
      },
      warned: async () => undefined,
      ...on,
    });
    const assignment = await assignmentOf(runner, step, given);
    const outcome = await runner.run(assignment, report, { signal });
    await runner.discardWork(assignment.job.id);
    return { outcome, started, steps };
  }

  /** Returns the hash of each file of a version, by file name. */
  published(step: number): Record<string, string> {
    const folder = join(this.dataFolder, "adapters", "m", String(step));
    const files = ["adapter_config.json", "adapter_model.safetensors", "optimizer.safetensors"];
    assert.deepEqual(readdirSync(folder).sort(), files);
    const hashOf = (file: string): string =>
      createHash("sha256")
        .update(readFileSync(join(folder, file)))
        .digest("hex");
    return Object.fromEntries(files.map((file) => [file, hashOf(file)]));
  }
}

/** Bench that several tests share, because starting a training process takes as long as most tests. */
export const shared = new Bench({ after });

export interface RunOptions {
  readonly on?: SeenEvents;
  readonly runner?: ChildJobRunner;
  readonly signal?: AbortSignal;
}

export async function assignmentOf(
  runner: ChildJobRunner,
  step: number,
  { jobId = "job", from = 0, withState = from > 0, baseModel = "tiny", pins, ...config }: Given,
): Promise<JobAssignment> {
  const createdAt = new Date(0);
  const model = {
    id: "m",
    entity: "e",
    project: "p",
    name: "n",
    baseModel,
    adapter: adapterOfServer,
    createdAt,
  };
  const adapterFolder = from === 0 ? null : join("adapters", "m", String(from));
  const version = {
    id: "v",
    modelId: "m",
    step: from,
    adapterFolder,
    trainerState: withState && adapterFolder !== null ? join(adapterFolder, "optimizer.safetensors") : null,
    jobId: null,
    metrics: {},
    isPinned: false,
    base: null,
    adapterHash: null,
    copiedKind: null,
    createdAt,
  };
  const task = { kind: "rl", config: resolveTrainingConfig({ learningRate: 1e-3, ...config }) } as const;
  return {
    job: {
      id: jobId,
      modelId: "m",
      state: "running",
      task,
      configNotApplied: [],
      createdAt,
      startedAt: createdAt,
      endedAt: null,
      errorMessage: null,
      attemptCount: 1,
      lostCount: 0,
      restartCount: 0,
      waitingFor: null,
      warnings: [],
      progress: null,
      counts: null,
      resultStep: null,
      cancelRequested: false,
      contentHash: "",
      pins: null,
      replayOf: null,
      retryOf: null,
      comparison: null,
      dataRemovedAt: null,
    },
    model,
    from: version,
    fromKind: from === 0 ? null : "rl",
    replay: null,
    pins: {
      startStep: from,
      resultStep: step,
      seed: "seed",
      hasTrainerState: version.trainerState !== null,
      ...(await runner.pinsFor(model, version, task)),
      ...pins,
    },
  };
}

export function rejectsWith(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}
