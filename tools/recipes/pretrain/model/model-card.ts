// Writes the model card by filling a run's measurements and cost into the template model-card.md.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Cost } from "../checkpoint.ts";
import { accuracyTable, type Evaluation } from "../measuring/evaluation.ts";
import { type Recipe, stepCountOf } from "../recipe.ts";

/** Path of the template in the repository; it has a placeholder for each value. */
const template = "tools/recipes/pretrain/model/model-card.md";

/** Writes README.md into the model folder. */
export function writeCard(
  folder: string,
  run: { readonly recipe: Recipe; readonly cost: Cost; readonly evaluation: Evaluation },
): void {
  const text = readFileSync(template, "utf8");
  const measured = putBetween(text, "accuracy", accuracyTable(run.evaluation.kinds));
  writeFileSync(join(folder, "README.md"), putBetween(measured, "run", runText(run)));
}

/**
 * Returns the text with the content between `<!-- name -->` and the next `<!-- end -->` replaced.
 *
 * @throws Error if the text contains no such placeholder
 */
export function putBetween(text: string, name: string, content: string): string {
  const place = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- end -->)`);
  if (!place.test(text)) throw new Error(`The card has no placeholder <!-- ${name} --> ... <!-- end -->.`);
  return text.replace(place, (_all, before: string, after: string) => `${before}${content}\n${after}`);
}

/** Returns the description of the training data and the cost of the run. */
function runText({ recipe, cost }: { readonly recipe: Recipe; readonly cost: Cost }): string {
  const { rowCount, length, workers, tokenCount, learningRate, fallingPart } = recipe;
  const pieces = cost.pieces === 1 ? "one piece" : `${cost.pieces} pieces`;
  return [
    `The weights here saw ${(tokenCount / 1e6).toFixed(0)} million tokens in ${stepCountOf(recipe)} steps of ${rowCount} rows of ${length}, at a`,
    `learning rate of ${learningRate} that falls to zero over the last ${Math.round(fallingPart * 100)} %. That took ${minutes(cost.wallSeconds)} minutes in ${pieces} with ${workers} threads,`,
    `${minutes(cost.processorSeconds)} minutes of processor time, and at most ${(cost.memoryBytes / 2 ** 30).toFixed(1)} GiB of memory.`,
  ].join("\n");
}

function minutes(seconds: number): string {
  return (seconds / 60).toFixed(0);
}
