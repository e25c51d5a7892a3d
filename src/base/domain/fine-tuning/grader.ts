// Graders, which give a sampled answer a reward, with the field names of OpenAI's API.
import type { JsonObject } from "../text/json.ts";

export interface StringCheckGrader {
  readonly type: "string_check";
  readonly name?: string | null;
  readonly input: string;
  readonly reference: string;
  readonly operation: "eq" | "ne" | "like" | "ilike";
}

export const similarityMetrics = [
  "fuzzy_match",
  "bleu",
  "gleu",
  "rouge_1",
  "rouge_2",
  "rouge_3",
  "rouge_4",
  "rouge_5",
  "rouge_l",
] as const;
export type SimilarityMetric = (typeof similarityMetrics)[number];

/** Metric that compares the embeddings of two texts. */
export const embeddingMetric = "cosine";

export interface TextSimilarityGrader {
  readonly type: "text_similarity";
  readonly name?: string | null;
  readonly input: string;
  readonly reference: string;
  readonly evaluation_metric: SimilarityMetric | typeof embeddingMetric;
}

interface ModelGrader {
  readonly name?: string | null;
  /** Model that judges, by any name that a chat request may use. */
  readonly model: string;
  /** Messages of the chat request, with templates in their texts. */
  readonly input: readonly JsonObject[];
}

export interface ScoreModelGrader extends ModelGrader {
  readonly type: "score_model";
  /** Lowest and highest score; 0 and 1 if absent. */
  readonly range?: readonly number[] | null;
  readonly sampling_params?: JsonObject | null;
}

export interface LabelModelGrader extends ModelGrader {
  readonly type: "label_model";
  readonly labels: readonly string[];
  /** Labels that earn the reward 1; all others earn 0. */
  readonly passing_labels: readonly string[];
}

export type SingleGrader = StringCheckGrader | TextSimilarityGrader | ScoreModelGrader | LabelModelGrader;

export interface MultiGrader {
  readonly type: "multi";
  readonly name?: string | null;
  /** Graders by the names that the formula uses. */
  readonly graders: Readonly<Record<string, SingleGrader>>;
  /** Formula of the reward. */
  readonly calculate_output: string;
}

export type Grader = SingleGrader | MultiGrader;

function singlesOf(grader: Grader): readonly SingleGrader[] {
  return grader.type === "multi" ? Object.values(grader.graders) : [grader];
}

/** Returns the names of all models that a grader asks. */
export function modelsOf(grader: Grader): readonly string[] {
  return singlesOf(grader).flatMap((one) => ("model" in one ? [one.model] : []));
}

/** True if a grader needs embeddings. */
export function needsEmbeddings(grader: Grader): boolean {
  return singlesOf(grader).some(
    (one) => one.type === "text_similarity" && one.evaluation_metric === embeddingMetric,
  );
}
