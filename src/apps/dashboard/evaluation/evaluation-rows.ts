// Compares versions by their rewards, or by another metric, for the same prompts. Has no side effects.
import type { TrajectoryOutline } from "../../client/api.ts";
import { costSum } from "../../client/cost-text.ts";

/** Trajectories of one version for one prompt. */
export interface EvaluationCell {
  /** Mean of the measure: the reward or a metric. */
  readonly mean: number;
  /** The trajectories that have the measure. */
  readonly outlines: readonly TrajectoryOutline[];
}

export interface EvaluationRow {
  /** Beginning of the prompt. */
  readonly prompt: string;
  /** A cell for each version; null if the version has no trajectory for the prompt. */
  readonly cells: readonly (EvaluationCell | null)[];
  /** Mean of the last version minus mean of the first; null if one of them is unknown. */
  readonly difference: number | null;
}

/** Orders of the rows, with their titles. */
export const rowOrders = { change: "largest change", loss: "largest loss", gain: "largest gain" } as const;
export type RowOrder = keyof typeof rowOrders;

const rankOf: { readonly [O in RowOrder]: (difference: number) => number } = {
  change: (difference) => -Math.abs(difference),
  loss: (difference) => difference,
  gain: (difference) => -difference,
};

/** Measure of the reward; every other measure is the name of a metric. */
export const rewardMeasure = "reward";

/** Returns the reward, and the metrics of the trajectories. */
export function measuresOf(versions: readonly (readonly TrajectoryOutline[])[]): readonly string[] {
  const names = versions.flat().flatMap(({ metrics }) => Object.keys(metrics));
  return [...new Set([rewardMeasure, ...names.toSorted()])];
}

/**
 * @param versions trajectories of each version, which may have several for a prompt
 * @param measure quantity to compare; a boolean metric counts as 1 or 0
 */
export function evaluationRows(
  versions: readonly (readonly TrajectoryOutline[])[],
  order: RowOrder,
  measure: string = rewardMeasure,
): readonly EvaluationRow[] {
  const byPrompt = versions.map((outlines) => {
    const found = new Map<string, readonly TrajectoryOutline[]>();
    for (const outline of outlines)
      found.set(outline.prompt, [...(found.get(outline.prompt) ?? []), outline]);
    return found;
  });
  const prompts = [...new Set(byPrompt.flatMap((found) => [...found.keys()]))];
  const rank = ({ difference }: EvaluationRow): number =>
    difference === null ? Infinity : rankOf[order](difference);
  return prompts
    .map((prompt) => {
      const cells = byPrompt.map((found) => cellOf(found.get(prompt) ?? [], measure));
      const [first, last] = [cells[0] ?? null, cells.at(-1) ?? null];
      const difference = first === null || last === null ? null : last.mean - first.mean;
      return { prompt, cells, difference };
    })
    .toSorted((one, other) => (rank(one) === rank(other) ? 0 : rank(one) - rank(other)));
}

function cellOf(outlines: readonly TrajectoryOutline[], measure: string): EvaluationCell | null {
  const valueOf = ({ reward, metrics }: TrajectoryOutline): number =>
    measure === rewardMeasure ? reward : Number(metrics[measure] ?? NaN);
  const measured = outlines.filter((outline) => !Number.isNaN(valueOf(outline)));
  if (measured.length === 0) return null;
  const sum = measured.reduce((total, outline) => total + valueOf(outline), 0);
  return { mean: sum / measured.length, outlines: measured };
}

/** Returns the rows of a file with the means, the numbers of trajectories, and the differences. */
export function evaluationFile(
  rows: readonly EvaluationRow[],
  versions: readonly number[],
  measure: string,
): readonly object[] {
  return rows.map(({ prompt, cells, difference }) => ({
    prompt,
    ...Object.fromEntries(
      cells.flatMap((cell, index) => [
        [`${measure} of version ${versions[index]}`, cell?.mean ?? null],
        [`trajectories of version ${versions[index]}`, cell?.outlines.length ?? 0],
      ]),
    ),
    difference,
  }));
}

export interface EvaluationSummary {
  /** Mean of each version, over the prompts that all versions answered; NaN if there are no such prompts. */
  readonly means: readonly number[];
  readonly sharedCount: number;
  /** Numbers of prompts on which the last version is better than the first, worse, and equal. */
  readonly better: number;
  readonly worse: number;
  readonly equal: number;
}

export function evaluationSummary(rows: readonly EvaluationRow[]): EvaluationSummary {
  const shared = rows.filter(({ cells }) => cells.every((cell) => cell !== null));
  const width = rows[0]?.cells.length ?? 0;
  const meanOf = (column: number): number =>
    shared.reduce((sum, { cells }) => sum + (cells[column]?.mean ?? 0), 0) / shared.length;
  const countOf = (sign: number): number =>
    rows.filter(({ difference }) => difference !== null && Math.sign(difference) === sign).length;
  return {
    means: Array.from({ length: width }, (_, column) => meanOf(column)),
    sharedCount: shared.length,
    better: countOf(1),
    worse: countOf(-1),
    equal: countOf(0),
  };
}

/** Returns the mean cost of each version's trajectories whose cost is known. */
export function meanCosts(
  rows: readonly EvaluationRow[],
): readonly Pick<TrajectoryOutline, "cost" | "currency">[] {
  return (rows[0]?.cells ?? []).map((_, column) => {
    const known = rows
      .flatMap(({ cells }) => cells[column]?.outlines ?? [])
      .filter(({ cost }) => cost !== null);
    const { cost, currency } = costSum(known);
    return { cost: cost === null ? null : cost / known.length, currency };
  });
}

/** Number of answers of a version to a prompt below which their mean is mostly chance. */
export const answersWanted = 4;

/** True if most of the means are over fewer answers than wanted. */
export function hasFewAnswers(rows: readonly EvaluationRow[]): boolean {
  const cells = rows.flatMap(({ cells: found }) => found.filter((cell) => cell !== null));
  return cells.filter(({ outlines }) => outlines.length < answersWanted).length > cells.length / 2;
}
