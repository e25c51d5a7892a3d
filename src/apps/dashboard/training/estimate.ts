// Estimates the tokens of a file of training data, and the time of its training.
import type { Hone } from "../../client/hone.ts";
import { type FileKind, shownMessages, type TrainingRow } from "./training-rows.ts";

export interface Estimate {
  /** Number of tokens of all rows, in one pass. */
  readonly tokens: number;
  /** True if the number was extrapolated from a sample of the rows. */
  readonly isSampled: boolean;
  /** Seconds of one pass at the speed of the model's last job; null if the model has not been trained. */
  readonly seconds: number | null;
}

/** Maximum number of rows that are tokenized. */
const sampleMax = 16;

export async function estimate(
  hone: Hone,
  modelId: string,
  data: { readonly rows: readonly TrainingRow[]; readonly kind: FileKind },
  signal: AbortSignal,
): Promise<Estimate> {
  const { rows, kind } = data;
  const distance = Math.max(1, Math.floor(rows.length / sampleMax));
  const sample = rows.filter((_, index) => index % distance === 0).slice(0, sampleMax);
  const counts = await Promise.all(
    sample.map(async (row) => {
      const prompt = shownMessages(row, kind)
        .map(({ text }) => text)
        .join("\n");
      return (await hone.texts.tokenize({ model: modelId, prompt }, { signal })).count;
    }),
  );
  const counted = counts.reduce((sum, count) => sum + count, 0);
  const tokens = sample.length === 0 ? 0 : Math.round((counted / sample.length) * rows.length);
  const speed = await lastSpeed(hone, modelId, signal);
  return { tokens, isSampled: sample.length < rows.length, seconds: speed === null ? null : tokens / speed };
}

/** Returns the tokens per second of the model's last training; null if it has not been trained. */
async function lastSpeed(hone: Hone, modelId: string, signal: AbortSignal): Promise<number | null> {
  const { data } = await hone.checkpoints.list(modelId, { order: "desc", limit: 1 }, { signal }).first();
  const speed = data[0]?.metrics["throughput/trainer_tokens_per_second"];
  return speed === undefined || speed <= 0 ? null : speed;
}
