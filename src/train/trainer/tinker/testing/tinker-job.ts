// For tests: runs a job of three steps with a stub server, on the tiny model of the trainer contract. Retries the job
// like the queue until it ends.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { groupOf, trajectoryOf } from "../../../../../test/golden-trajectories.ts";
import { dataFolderAt } from "../../../../store/artifacts/testing/data-folder.ts";
import { systemClock } from "../../../../base/domain/clock.ts";
import type { JobOutcome } from "../../../../base/domain/job.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { resolveTrainingConfig } from "../../../../base/domain/training-config.ts";
import type { LoraAdapter } from "../../../../inference/architectures/lora.ts";
import { readLoraAdapter } from "../../../../inference/architectures/peft-folder.ts";
import { tinyBatch, tinyConfig } from "../../contract/tiny-model.ts";
import type { TrainingJobDependencies } from "../../run-training-job.ts";
import type { StartVersion } from "../../training-run.ts";
import { pinnedSettings, trainingSettings } from "../../settings.ts";
import { linesOf } from "../../testing/lines-of.ts";
import { runJob } from "../../testing/run-job.ts";
import { silentReport } from "../../testing/silent-report.ts";
import type { TrainerProvider } from "../../trainer.ts";

/** A tokenizer that must not be called: each trajectory contains its tokens, so no text is rendered or encoded. */
const tokenizer: TrainingJobDependencies["tokenizer"] = {
  vocabularySize: tinyConfig.vocabularySize,
  encode: () => assert.fail("nothing to encode"),
  renderPrompt: () => assert.fail("nothing to render"),
  renderTurn: () => assert.fail("nothing to render"),
  idOfToken: () => null,
};

const trajectories = tinyBatch().map((sequence, index) =>
  trajectoryOf({
    token_ids: [...sequence.tokenIds],
    assistant_mask: [...sequence.mask],
    old_logprobs: [...sequence.oldLogprobs].map((value) => (Number.isNaN(value) ? null : value)),
    group: sequence.group,
    reward: index,
  }),
);
const groups = [groupOf(trajectories.slice(0, 3)), groupOf(trajectories.slice(3))];

export interface TinkerJob {
  readonly outcome: JobOutcome;
  readonly adapter: LoraAdapter;
  /** The errors that ended lost attempts. */
  readonly losses: readonly ServiceError[];
  readonly warnings: readonly string[];
  /** Indices of the reported steps. A step that another attempt repeats appears again. */
  readonly steps: readonly number[];
}

export interface TinkerJobOptions {
  readonly dataFolder: string;
  /** Number of the version that the job makes. */
  readonly version?: number;
  readonly from?: StartVersion | null;
  readonly attemptsMax?: number;
}

/**
 * Runs a job, with as many attempts as needed, until it ends.
 *
 * @param trainersOf returns new trainers for each attempt, because each attempt runs in a new process
 */
export async function runTinkerJob(
  trainersOf: () => TrainerProvider,
  { dataFolder, version = 1, from = null, attemptsMax = 5 }: TinkerJobOptions,
): Promise<TinkerJob> {
  const { artifacts } = dataFolderAt(dataFolder);
  const losses: ServiceError[] = [];
  const warnings: string[] = [];
  const steps: number[] = [];
  const report = silentReport({
    stepped: async ({ index }) => void steps.push(index),
    warned: async ({ warning }) => void warnings.push(warning),
  });
  const adapterFolder = `adapters/m/${version}`;
  const runKey = `jobs/job-${version}`;
  for (;;) {
    try {
      const outcome = await runJob(
        {
          trainers: trainersOf(),
          artifacts,
          tokenizer,
          report,
          clock: systemClock,
          lines: linesOf(groups),
          task: { kind: "rl", config: resolveTrainingConfig({ learningRate: 0.01 }) },
          dataFolder,
        },
        {
          startStep: version - 1,
          settings: { ...pinnedSettings(trainingSettings.with()), batchTokens: 12, baseComparisonShare: 0.5 },
          from,
          fromKind: from === null ? null : "rl",
          adapterFolder,
          runKey,
          snapshotShare: 1,
        },
      );
      assert.deepEqual(readdirSync(join(dataFolder, "adapters/m")).length, version);
      return {
        outcome,
        adapter: readLoraAdapter(join(dataFolder, adapterFolder), tinyConfig),
        losses,
        warnings,
        steps,
      };
    } catch (error) {
      if (
        !(error instanceof ServiceError) ||
        error.code !== "unavailable" ||
        losses.length + 1 >= attemptsMax
      )
        throw error;
      losses.push(error);
    }
  }
}
