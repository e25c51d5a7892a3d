// For tests: runs jobs with a trainer that records its calls.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { groupOf, trajectoryOf } from "../../../../test/golden-trajectories.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import type { JobOutcome } from "../../../base/domain/job.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import type { TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import { tinyBatch, tinyConfig, tinyLora, tinyWeights } from "../contract/tiny-model.ts";
import type { TrainingJobDependencies } from "../run-training-job.ts";
import { pinnedSettings, trainingSettings } from "../settings.ts";
import type { TrainerProvider } from "../trainer.ts";
import { NaiveTrainers } from "./naive-trainer.ts";
import { RecordingTrainers } from "./recording-trainers.ts";
import { linesOf } from "./lines-of.ts";
import { type JobInput, runJob } from "./run-job.ts";
import { type SeenEvents, silentReport } from "./silent-report.ts";

/** A tokenizer that must not be called: each trajectory contains its tokens, so no text is rendered or encoded. */
export const tokenizer: TrainingJobDependencies["tokenizer"] = {
  vocabularySize: tinyConfig.vocabularySize,
  encode: () => assert.fail("nothing to encode"),
  renderPrompt: () => assert.fail("nothing to render"),
  renderTurn: () => assert.fail("nothing to render"),
  idOfToken: () => null,
};

/**
 * Returns two groups with the sequences of the trainer contract. They make three steps if a batch has 12 computed
 * tokens.
 */
export function someGroups(): readonly TrajectoryGroup[] {
  const trajectories = tinyBatch().map((sequence, index) =>
    trajectoryOf({
      token_ids: [...sequence.tokenIds],
      assistant_mask: [...sequence.mask],
      old_logprobs: [...sequence.oldLogprobs].map((value) => (Number.isNaN(value) ? null : value)),
      group: sequence.group,
      reward: index,
    }),
  );
  return [groupOf(trajectories.slice(0, 3)), groupOf(trajectories.slice(3))];
}

export interface Given {
  readonly groups?: readonly TrajectoryGroup[];
  readonly config?: Parameters<typeof resolveTrainingConfig>[0];
  readonly input?: JobInput;
  readonly on?: SeenEvents;
}

/** Settings with which `someGroups` makes three steps and no row is compared with the base model. */
export const few = { batchTokens: 12, baseComparisonShare: 0 };

export const run = { id: "check", signal: new AbortController().signal };

/** A data folder, a trainer that records its calls, and the events that a job reported. */
export class Bench {
  readonly dataFolder = mkdtempSync(join(tmpdir(), "hone-job-"));
  readonly trainers: RecordingTrainers;
  readonly started: Readonly<Record<string, number>>[] = [];
  readonly steps: Readonly<Record<string, number>>[] = [];
  readonly warnings: string[] = [];

  constructor(t: TestContext, make: (naive: NaiveTrainers) => TrainerProvider = (naive) => naive) {
    t.after(() => rmSync(this.dataFolder, { recursive: true }));
    const options = { config: tinyConfig, weights: tinyWeights, lora: tinyLora, sequenceLengthMax: 10 };
    this.trainers = new RecordingTrainers(
      make(new NaiveTrainers({ ...options, dataFolder: this.dataFolder })),
    );
  }

  run({ groups = someGroups(), config = {}, input = {}, on = {} }: Given = {}): Promise<JobOutcome> {
    const report = silentReport({
      started: async ({ metrics }) => void this.started.push(metrics),
      stepped: async ({ index, metrics }) => {
        assert.equal(index, this.steps.length);
        this.steps.push(metrics);
      },
      warned: async ({ warning }) => void this.warnings.push(warning),
      ...on,
    });
    const { artifacts } = dataFolderAt(this.dataFolder);
    return runJob(
      {
        trainers: this.trainers,
        artifacts,
        tokenizer,
        report,
        clock: new FakeClock(),
        lines: linesOf(groups),
        task: { kind: "rl", config: resolveTrainingConfig({ learningRate: 0.01, ...config }) },
        dataFolder: this.dataFolder,
      },
      { settings: { ...pinnedSettings(trainingSettings.with()), ...few }, ...input },
    );
  }

  get kinds(): readonly string[] {
    return this.trainers.calls.map(({ kind }) => kind);
  }

  /**
   * Names of the entries in two folders: that of the model's versions, and the work folder with incomplete versions.
   */
  get published(): readonly string[] {
    const folders = ["adapters/m", "work/server"].map((name) => join(this.dataFolder, name));
    return folders.flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []));
  }

  stateBytes(): Buffer {
    return readFileSync(join(this.dataFolder, "adapters/m/1/naive-state.json"));
  }

  bytes(adapterFolder = "adapters/m/1"): Buffer {
    return readFileSync(join(this.dataFolder, adapterFolder, "adapter_model.safetensors"));
  }
}

export function rejectsWith(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

export const death = new Error("the process died");

/** Returns report handlers that simulate the process's death at the n-th report of the given kind, counted from 1. */
export function atReport(name: "stepped" | "saved", wanted: number): SeenEvents {
  let count = 0;
  const die = async (): Promise<void> => {
    if (++count === wanted) throw death;
  };
  // Does not count the first `saved` report, which has step count 0 because no state has been saved yet.
  return name === "stepped"
    ? { stepped: die }
    : { saved: ({ stepCount }) => (stepCount > 0 ? die() : Promise.resolve()) };
}

export const compared = { ...pinnedSettings(trainingSettings.with()), ...few, baseComparisonShare: 0.5 };
