// Grades one sampled answer. If the answer is invalid or a judging model fails, the reward is 0, and the grade names
// the error. Only an aborted signal throws.
import { unreachable } from "../../base/domain/assert.ts";
import { embeddingMetric, type Grader, type SingleGrader } from "../../base/domain/fine-tuning/grader.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { parseFormula } from "./formula.ts";
import { labelByModel, scoreByModel, type GradeOptions, type ModelGrade } from "./model-graders.ts";
import { similarities } from "./similarity.ts";
import { fillTemplate, TemplateFault, type TemplateInput } from "./template.ts";

/** Kinds of errors, by their names in the API. */
export const gradeErrors = [
  "formula_parse_error",
  "invalid_variable_error",
  "model_grader_parse_error",
  "model_grader_server_error",
  "sample_parse_error",
  "other_error",
] as const;
export type GradeError = (typeof gradeErrors)[number];

export interface Grade {
  readonly reward: number;
  /** Rewards of the graders of a multi-grader, by name; empty for other graders. */
  readonly subRewards: Readonly<Record<string, number>>;
  /** The first error, and its message; null if there is none. */
  readonly error: { readonly kind: GradeError; readonly message: string } | null;
  /** Number of tokens that each judging model used, by the model's name. */
  readonly tokens: Readonly<Record<string, number>>;
}

const nothing = { subRewards: {}, error: null, tokens: {} } as const;

export async function grade(grader: Grader, input: TemplateInput, options: GradeOptions): Promise<Grade> {
  if (grader.type !== "multi") return gradeBySingle(grader, input, options);
  const names = Object.keys(grader.graders);
  const grades: Grade[] = [];
  for (const name of names) grades.push(await gradeBySingle(grader.graders[name], input, options));
  const subRewards = Object.fromEntries(names.map((name, index) => [name, grades[index].reward]));
  const error = grades.find((one) => one.error !== null)?.error ?? null;
  const reward = error === null ? parseFormula(grader.calculate_output, names)(subRewards) : 0;
  const tokens = grades.map((one) => one.tokens).reduce(sumOfTokens, {});
  if (Number.isFinite(reward)) return { reward, subRewards, error, tokens };
  const message = `The formula gives ${reward}, which is no finite number.`;
  return { reward: 0, subRewards, error: { kind: "other_error", message }, tokens };
}

async function gradeBySingle(
  grader: SingleGrader,
  input: TemplateInput,
  options: GradeOptions,
): Promise<Grade> {
  try {
    const { reward, tokenCount = 0 } = await rewardOf(grader, input, options);
    const tokens = "model" in grader ? { [grader.model]: tokenCount } : {};
    return { ...nothing, reward, tokens };
  } catch (error) {
    if (options.signal.aborted) throw error;
    const kind = kindOf(error, grader);
    const message = error instanceof TemplateFault || error instanceof ServiceError ? error.message : "";
    if (message === "") throw error;
    return { ...nothing, reward: 0, error: { kind, message } };
  }
}

function kindOf(error: unknown, { type }: SingleGrader): GradeError {
  if (error instanceof TemplateFault) return error.kind;
  if (type !== "score_model" && type !== "label_model") return "other_error";
  const isUnread = error instanceof ServiceError && error.code === "unsupported";
  return isUnread ? "model_grader_parse_error" : "model_grader_server_error";
}

async function rewardOf(
  grader: SingleGrader,
  input: TemplateInput,
  options: GradeOptions,
): Promise<ModelGrade> {
  switch (grader.type) {
    case "string_check": {
      const [text, reference] = [grader.input, grader.reference].map((one) => fillTemplate(one, input));
      return { reward: stringChecks[grader.operation](text, reference) ? 1 : 0 };
    }
    case "text_similarity": {
      const [text, reference] = [grader.input, grader.reference].map((one) => fillTemplate(one, input));
      const { evaluation_metric: metric } = grader;
      if (metric === embeddingMetric) return { reward: await cosine(reference, text, options) };
      return { reward: similarities[metric](reference, text) };
    }
    case "score_model":
      return scoreByModel(grader, input, options);
    case "label_model":
      return labelByModel(grader, input, options);
    default:
      return unreachable(grader);
  }
}

/** Returns the cosine of the angle between the texts' embeddings, from −1 to 1; 0 if only one text is empty. */
async function cosine(reference: string, text: string, { embed, signal }: GradeOptions): Promise<number> {
  if (reference === text) return 1;
  if (reference === "" || text === "") return 0;
  const [first, second] = await embed([reference, text], { signal });
  return first.reduce((sum, value, index) => sum + value * second[index], 0);
}

const stringChecks: Readonly<Record<string, (text: string, reference: string) => boolean>> = {
  eq: (text, reference) => text === reference,
  ne: (text, reference) => text !== reference,
  like: (text, reference) => text.includes(reference),
  ilike: (text, reference) => text.toLowerCase().includes(reference.toLowerCase()),
};

function sumOfTokens(one: Grade["tokens"], other: Grade["tokens"]): Grade["tokens"] {
  const names = [...Object.keys(one), ...Object.keys(other)];
  return Object.fromEntries(names.map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]));
}
