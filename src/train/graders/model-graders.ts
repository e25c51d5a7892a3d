// Graders that let a model judge an answer. A JSON Schema constrains the verdict, so that every model can judge.
import type { UsedModels } from "../../base/domain/fine-tuning/ask-model.ts";
import type { LabelModelGrader, ScoreModelGrader } from "../../base/domain/fine-tuning/grader.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/domain/text/json.ts";
import { askVerdict, unreadVerdict } from "./ask-verdict.ts";
import { fillTemplate, type TemplateInput } from "./template.ts";

export interface GradeOptions extends UsedModels {
  readonly signal: AbortSignal;
}

export interface ModelGrade {
  readonly reward: number;
  /** Number of tokens in the judging model's prompt and answer; absent if no model judged. */
  readonly tokenCount?: number;
}

export async function scoreByModel(
  grader: ScoreModelGrader,
  input: TemplateInput,
  options: GradeOptions,
): Promise<ModelGrade> {
  const [low = 0, high = 1] = grader.range ?? [];
  const number = { type: "number", minimum: low, maximum: high };
  const { verdict, tokenCount } = await ask(grader, number, input, options);
  if (typeof verdict !== "number" || verdict < low || verdict > high)
    throw unreadVerdict(
      `The model's score is ${JSON.stringify(verdict)}; it must be from ${low} to ${high}.`,
    );
  return { reward: verdict, tokenCount };
}

export async function labelByModel(
  grader: LabelModelGrader,
  input: TemplateInput,
  options: GradeOptions,
): Promise<ModelGrade> {
  const { verdict, tokenCount } = await ask(grader, { enum: [...grader.labels] }, input, options);
  return { reward: grader.passing_labels.some((label) => label === verdict) ? 1 : 0, tokenCount };
}

async function ask(
  grader: ScoreModelGrader | LabelModelGrader,
  result: JsonObject,
  input: TemplateInput,
  options: GradeOptions,
): Promise<{ readonly verdict: Json | undefined; readonly tokenCount: number }> {
  const { max_completions_tokens: tokensMax = null, ...more } =
    grader.type === "score_model" ? (grader.sampling_params ?? {}) : {};
  const messages = grader.input.map((message) => filledMessage(message, input));
  const limits = tokensMax === null ? {} : { tokensMax: Number(tokensMax) };
  return askVerdict({ model: grader.model, messages, result, more, ...limits }, options);
}

function filledMessage({ role, content }: JsonObject, input: TemplateInput): JsonObject {
  return { role: role === "developer" ? "system" : role, content: filledContent(content, input) };
}

/**
 * Returns the text of a message, with its templates filled. The content is a string, a part with a text, or a list of
 * both.
 */
function filledContent(content: Json | undefined, input: TemplateInput): string {
  if (typeof content === "string") return fillTemplate(content, input);
  if (Array.isArray(content)) return content.map((part: Json) => filledContent(part, input)).join("\n");
  const text = isJsonObject(content) ? content["text"] : null;
  return fillTemplate(typeof text === "string" ? text : "", input);
}
