// The body of a text completion: a prompt as text or token ids, or several, and a chat's fields for how answers are drawn
// and ended. Schema, rules and what contradicts what; what a field means is said elsewhere.
import { Type, type Static } from "typebox";
import type { ChatField } from "../../domain/chat.ts";
import { report, type Findings } from "../../validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { checkGeneration } from "../chat/chat-combinations.ts";
import { unservedConstraint } from "../chat/chat-constraint.ts";
import { generationRules, generationSchemas } from "../chat/generation-fields.ts";
import { nullable } from "../nullable.ts";

const tokenId = Type.Integer({ minimum: 0, title: "int" });
const promptSchema = Type.Union([
  Type.String({ title: "str" }),
  Type.Array(
    Type.Union([Type.String({ title: "str" }), tokenId, Type.Array(tokenId, { title: "list[int]" })]),
    { title: "list", minItems: 1 },
  ),
]);

export const completionSchema = Type.Object(
  {
    prompt: promptSchema,
    ...generationSchemas,
    max_tokens: nullable(Type.Integer({ minimum: 0 })),
    logprobs: nullable(Type.Integer({ minimum: 0, maximum: 20 })),
    echo: nullable(Type.Boolean()),
    add_special_tokens: Type.Optional(Type.Boolean()),
    best_of: nullable(Type.Integer({ minimum: 1 })),
    suffix: nullable(Type.String()),
  },
  { title: "CompletionRequest" },
);

export type CompletionBody = Static<typeof completionSchema>;

/** As OpenAI has it: a completion that says nothing is short. */
export const defaultMaxTokens = 16;

export const completionForm: BodyForm<typeof completionSchema, ChatField | "answer form"> = {
  schema: completionSchema,
  more: checkCombinations,
  moreUnserved: unservedConstraint,
  fields: {
    ...generationRules,
    prompt: "prompt.text",
    add_special_tokens: "prompt.addSpecialTokens",
    echo: "prompt.echo",
    max_tokens: "stopping.maxTokens",
    logprobs: "output.logprobs",
    // What they may hold asks for nothing.
    best_of: "accepted",
    suffix: "accepted",
  },
};

type Body = Readonly<Record<string, unknown>>;

/** Adds what the schema cannot say; looks at raw values, whatever their types. */
function checkCombinations(body: Body, findings: Findings): void {
  checkGeneration(body, body["max_tokens"] ?? defaultMaxTokens, findings);
  checkPrompts(body["prompt"], findings);
  const { suffix, best_of: bestOf, n } = body;
  if (typeof suffix === "string" && suffix !== "") {
    const message = "suffix is not supported: what comes after an answer cannot be given. Leave it out.";
    report(findings, "value_error", `Value error, ${message}`, "suffix");
  }
  const count = typeof n === "number" ? n : 1;
  if (typeof bestOf === "number" && bestOf !== count) {
    const message = `best_of is ${bestOf} and n is ${count}: every answer that is drawn is returned. Send the same number, or leave best_of out.`;
    report(findings, "value_error", `Value error, ${message}`, "best_of");
  }
}

/** The prompts of a list are of one kind, and none is without tokens. */
function checkPrompts(prompt: unknown, findings: Findings): void {
  if (!Array.isArray(prompt)) return;
  const kinds = new Set(prompt.map((item) => (Array.isArray(item) ? "list" : typeof item)));
  if (kinds.size > 1) {
    const message =
      "A list of prompts holds texts, token ids of one prompt, or lists of token ids, not several of these.";
    report(findings, "value_error", `Value error, ${message}`, "prompt");
  }
  prompt.forEach((item, index) => {
    if (!Array.isArray(item) || item.length > 0) return;
    report(
      findings,
      "too_short",
      "The prompt is empty; send at least one token id.",
      "prompt",
      String(index),
    );
  });
}
