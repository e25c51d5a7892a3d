// Estimates the tokens on which a file of training data trains a model, and the time of one pass.
import type { Hone } from "../../client/hone.ts";
import type { JobSize } from "./job-estimate.tsx";
import { type FileKind, shownMessages, type TrainingRow } from "./training-rows.ts";

/** Maximum number of rows that are tokenized. */
const sampleMax = 16;

export async function estimate(
  hone: Hone,
  modelId: string,
  data: { readonly rows: readonly TrainingRow[]; readonly kind: FileKind },
  signal: AbortSignal,
): Promise<JobSize> {
  const { rows, kind } = data;
  const distance = Math.max(1, Math.floor(rows.length / sampleMax));
  const sample = rows.filter((_, index) => index % distance === 0).slice(0, sampleMax);
  const counts = await Promise.all(
    sample.map(async (row) => {
      const messages = shownMessages(row, kind);
      const countOf = async (isTrained: boolean): Promise<number> => {
        const texts = messages.filter((message) => message.isTrained === isTrained).map(({ text }) => text);
        const prompt = texts.join("\n");
        if (prompt === "") return 0;
        const { count } = await hone.texts.tokenize({ model: modelId, prompt }, { signal });
        // Each trained text ends with a token, and the texts are joined by one token less.
        return isTrained ? count + 1 : count;
      };
      return { trained: await countOf(true), others: await countOf(false) };
    }),
  );
  const ofAllRows = (counted: number): number =>
    sample.length === 0 ? 0 : Math.round((counted / sample.length) * rows.length);
  const trainedTokens = ofAllRows(counts.reduce((sum, { trained }) => sum + trained, 0));
  const tokens = trainedTokens + ofAllRows(counts.reduce((sum, { others }) => sum + others, 0));
  const speed = await lastSpeed(hone, modelId, signal);
  return {
    trainedTokens,
    isEstimate: true,
    exampleCount: rows.length,
    seconds: speed === null ? null : tokens / speed,
  };
}

/** Returns the tokens per second of the model's last training; null if it has not been trained. */
export async function lastSpeed(hone: Hone, modelId: string, signal: AbortSignal): Promise<number | null> {
  const { data } = await hone.checkpoints.list(modelId, { order: "desc", limit: 1 }, { signal }).first();
  const speed = data[0]?.metrics["throughput/trainer_tokens_per_second"];
  return speed === undefined || speed <= 0 ? null : speed;
}
