// Evaluates a model folder, and formats the results as in the model card. This module writes no files.
import { readModelConfig } from "../../../../src/inference/architectures/config/read-config.ts";
import { readModelWeights } from "../../../../src/inference/architectures/weights.ts";
import { loadTokenizer } from "../../../../src/lib/tokenizer/tokenizer.ts";
import {
  type DemoStart,
  type KindAccuracy,
  measureAccuracy,
  measureDemoStart,
  type Score,
} from "./accuracy.ts";
import { createGenerator } from "./generate.ts";

export interface Evaluation {
  readonly kinds: readonly KindAccuracy[];
  readonly demo: DemoStart;
}

export interface EvaluationOptions {
  /** Number of questions per kind: `count` with held-out wordings, and `count` with held-out contents. */
  readonly count: number;
  /** Seed that selects the questions. */
  readonly seed: string;
  readonly threads: number;
}

/**
 * Measures greedy accuracy on held-out questions of each kind, and the model's performance on the demo's task before
 * training.
 */
export async function evaluate(modelFolder: string, options: EvaluationOptions): Promise<Evaluation> {
  const config = readModelConfig(modelFolder);
  const tokenizer = await loadTokenizer(modelFolder);
  const weights = readModelWeights(modelFolder, config, { cacheFolder: null });
  const generator = await createGenerator(config, weights, { threads: options.threads });
  const model = { tokenizer, generator };
  const kinds = await measureAccuracy(model, options);
  const demo = await measureDemoStart(model, { seeds: 5, samplesPerPrompt: 16 });
  await generator.close();
  return { kinds, demo };
}

export const ofPrompts = ({ prompts }: KindAccuracy): Score => prompts;
export const ofContents = ({ contents }: KindAccuracy): Score | null => contents;

/**
 * Returns the mean score over the kinds that have one. Excludes the kind "other", which accepts nearly every answer.
 */
export function meanAccuracy(
  kinds: readonly KindAccuracy[],
  scoreOf: (kind: KindAccuracy) => Score | null,
): number {
  const scores = kinds.filter(({ kind }) => kind !== "other").flatMap((kind) => scoreOf(kind) ?? []);
  return scores.reduce((sum, score) => sum + rate(score), 0) / scores.length;
}

const rate = ({ right, count }: Score): number => right / count;

/** Returns a Markdown table with one row per kind. */
export function accuracyTable(kinds: readonly KindAccuracy[]): string {
  const rows = kinds.map(({ kind, prompts, heldOut, contents }) => {
    const unseen = contents === null ? "" : rate(contents).toFixed(3);
    return `| ${kind} | ${rate(prompts).toFixed(3)} | ${unseen} | ${heldOut ?? "none: an unseen fact cannot be known"} |`;
  });
  const means = [meanAccuracy(kinds, ofPrompts), meanAccuracy(kinds, ofContents)];
  return [
    "| kind | unseen prompts | unseen contents | held-out contents |",
    "|---|---|---|---|",
    ...rows,
    `| mean without other | ${means.map((mean) => mean.toFixed(3)).join(" | ")} | |`,
  ].join("\n");
}
