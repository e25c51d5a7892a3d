// Graders that have a model judge an answer. A JSON Schema constrains the verdict, so that every model can judge.
import type { UsedModels } from "../../base/domain/fine-tuning/ask-model.ts";
import type { LabelModelGrader, ScoreModelGrader } from "../../base/domain/fine-tuning/grader.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { isJson, isJsonObject, type Json, type JsonObject } from "../../base/domain/text/json.ts";
import { fillTemplate, type TemplateInput } from "./template.ts";

export interface GradeOptions extends UsedModels {
  readonly signal: AbortSignal;
}

export interface ModelGrade {
  readonly reward: number;
  /** Tokens of the judging model's prompt and answer; absent if no model judged. */
  readonly tokenCount?: number;
}

/** Maximum length of a verdict in tokens, unless the grader sets one. */
const usualTokens = 256;

export async function scoreByModel(
  grader: ScoreModelGrader,
  input: TemplateInput,
  options: GradeOptions,
): Promise<ModelGrade> {
  const [low = 0, high = 1] = grader.range ?? [];
  const number = { type: "number", minimum: low, maximum: high };
  const { verdict, tokenCount } = await ask(grader, number, input, options);
  if (typeof verdict !== "number" || verdict < low || verdict > high)
    throw unread(`The model's score is ${JSON.stringify(verdict)}; it must be from ${low} to ${high}.`);
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

/** Asks the model, and returns the member `result` of its answer. */
async function ask(
  grader: ScoreModelGrader | LabelModelGrader,
  result: JsonObject,
  input: TemplateInput,
  { ask: askModel, signal }: GradeOptions,
): Promise<{ readonly verdict: Json | undefined; readonly tokenCount: number }> {
  const { max_completions_tokens: tokensMax = null, ...sampling } =
    grader.type === "score_model" ? (grader.sampling_params ?? {}) : {};
  const schema = {
    type: "object",
    properties: { result },
    required: ["result"],
    additionalProperties: false,
  };
  const answer = await askModel(
    {
      ...sampling,
      model: grader.model,
      messages: grader.input.map((message) => filledMessage(message, input)),
      max_tokens: tokensMax ?? usualTokens,
      response_format: { type: "json_schema", json_schema: { name: "verdict", schema, strict: true } },
    },
    { signal },
  );
  const content = answer.choices[0]?.message["content"];
  const text = typeof content === "string" ? content : "";
  if (!isJson(text)) throw unread("The model's verdict was cut off; allow more tokens.");
  // Safe cast: parsed from JSON, and the constraint allows only objects.
  const verdict = (JSON.parse(text) as JsonObject)["result"];
  return { verdict, tokenCount: answer.usage.total_tokens };
}

function filledMessage({ role, content }: JsonObject, input: TemplateInput): JsonObject {
  return { role: role === "developer" ? "system" : role, content: filledContent(content, input) };
}

/** Returns the text of a message: a text, a part with a text, or a list of both. */
function filledContent(content: Json | undefined, input: TemplateInput): string {
  if (typeof content === "string") return fillTemplate(content, input);
  if (Array.isArray(content)) return content.map((part: Json) => filledContent(part, input)).join("\n");
  const text = isJsonObject(content) ? content["text"] : null;
  return fillTemplate(typeof text === "string" ? text : "", input);
}

function unread(message: string): ServiceError {
  return new ServiceError({ code: "unsupported", message });
}
