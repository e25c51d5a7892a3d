// Test process that prepares a supervised job of 6 million tokens up to its first step, and estimates how much memory
// the steps need. Exits with success if its heap suffices.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { projectionNames } from "../../../base/domain/model.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ExampleConversation } from "../../../base/domain/supervised/conversation.ts";
import { resolveSupervisedConfig } from "../../../base/domain/supervised/supervised-config.ts";
import { weightsInMemory } from "../../../inference/architectures/testing/weights-in-memory.ts";
import { tinyConfig, tinyLora, tinyWeights } from "../contract/tiny-model.ts";
import { EmbeddedTrainers } from "../embedded/embedded-trainer.ts";
import type { WorkLines } from "../prepared/token-file.ts";
import type { TrainingJobDependencies } from "../run-training-job.ts";
import { runJob } from "./run-job.ts";
import { silentReport } from "./silent-report.ts";

const conversations = { count: 15_000, tokens: 400 };

const lines: WorkLines<ExampleConversation> = {
  count: conversations.count,
  from: async function* (index) {
    for (let line = index; line < conversations.count; line++) {
      const messages = [
        { role: "user", content: "" },
        { role: "assistant", content: "" },
      ];
      yield { messages, tools: null, extra: {} };
    }
  },
};

const unused = (): never => {
  throw new Error("nothing is recorded");
};

/** A tokenizer that makes half of each conversation's tokens trained tokens. */
const tokenizer: TrainingJobDependencies["tokenizer"] = {
  vocabularySize: tinyConfig.vocabularySize,
  encode: unused,
  renderPrompt: unused,
  idOfToken: unused,
  renderTurn: () => {
    const half = Array.from({ length: conversations.tokens / 2 }, (_, index) => index % 8);
    return { promptTokenIds: half, answerTokenIds: half };
  },
};

const dataFolder = mkdtempSync(join(tmpdir(), "hone-prepare-much-"));
const { artifacts } = dataFolderAt(dataFolder);
const trainers = new EmbeddedTrainers({
  config: { ...tinyConfig, contextLength: 512 },
  readWeights: () => weightsInMemory(tinyConfig, tinyWeights),
  lora: { ...tinyLora, targets: projectionNames },
  baseModelName: "tiny",
  artifacts,
  sequenceLengthMax: 512,
  microbatchTokens: 2048,
  sharesPrefixes: true,
  threads: 1,
});
const enough = new ServiceError({ code: "cancelled", message: "The steps are not wanted." });
try {
  await runJob({
    trainers,
    artifacts,
    tokenizer,
    clock: systemClock,
    report: silentReport({ started: () => Promise.reject(enough) }),
    lines,
    task: { kind: "sft", config: resolveSupervisedConfig({ batchSize: 8 }) },
    dataFolder,
  });
} catch (error) {
  if (error !== enough) throw error;
} finally {
  rmSync(dataFolder, { recursive: true });
}
