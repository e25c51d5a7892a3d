// Checks of a chat request that a schema cannot express: contradictions between fields, and the contents of lists and
// objects. This module does not check that the model supports the fields.
import { textMemberOf } from "../../../base/domain/content-part.ts";
import { checkCalls } from "./chat-calls.ts";
import type { Fields } from "../fields/field.ts";
import { checkConstraint } from "./chat-constraint.ts";
import { checkTokenLimit } from "./chat-limits.ts";
import { generationFields } from "./chat-request.ts";
import { checkPassing } from "../transfer/passing-params.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";

type Body = Readonly<Record<string, unknown>>;

/** Adds a fault for every contradiction between fields. The body is unchecked, so any member may have any type. */
export function checkCombinations(body: Body, findings: Findings): void {
  checkConversation(body, findings);
  const topLogprobs = body["top_logprobs"];
  if (typeof topLogprobs === "number" && topLogprobs > 0 && body["logprobs"] !== true) {
    valueError(findings, "when using `top_logprobs`, `logprobs` must be set to true.");
  }
  for (const field of ["max_completion_tokens", "max_tokens"]) checkTokenLimit(body[field], field, findings);
  checkGeneration(body, body["max_completion_tokens"] ?? body["max_tokens"], findings);
  checkCalls(body, findings);
}

/** Checks the fields that chat requests and text completions have in common. */
export function checkGeneration(body: Body, maxTokens: unknown, findings: Findings): void {
  if (
    isObject(body["stream_options"]) &&
    Object.keys(body["stream_options"]).length > 0 &&
    body["stream"] !== true
  ) {
    valueError(findings, "Stream options can only be defined when `stream=True`.");
  }
  const { prompt_logprobs: promptLogprobs, min_tokens: minTokens } = body;
  if (typeof promptLogprobs === "number" && body["stream"] === true) {
    valueError(findings, "`prompt_logprobs` are not available when `stream=True`.");
  }
  for (const field of ["top_logprobs", "prompt_logprobs"]) {
    if (body[field] === -1) valueError(findings, wholeVocabulary, field);
  }
  if (
    typeof minTokens === "number" &&
    typeof maxTokens === "number" &&
    maxTokens !== -1 &&
    minTokens > maxTokens
  ) {
    valueError(
      findings,
      `min_tokens must be less than or equal to max_tokens=${maxTokens}, got ${minTokens}.`,
    );
  }
  checkBeams(body, findings);
  checkStop(body["stop"], findings);
  checkLists(body, findings);
  checkConstraint(body, findings);
  checkPassing(body, findings);
}

const wholeVocabulary =
  "-1 asks for every token of the vocabulary; at most 20 alternatives are given, so send 0 to 20.";

/** Checks the fields that describe the messages and how a chat template renders them. */
export function checkConversation(body: Body, findings: Findings): void {
  if (body["continue_final_message"] === true && body["add_generation_prompt"] === true) {
    valueError(findings, "Cannot set both `continue_final_message` and `add_generation_prompt` to True.");
  }
  checkTextParts(body["messages"], findings);
  checkTemplateArguments(body["chat_template_kwargs"], findings);
}

function valueError(findings: Findings, message: string, ...below: readonly string[]): void {
  report(findings, "value_error", `Value error, ${message}`, ...below);
}

/**
 * Checks the fields of beam search. It refuses sampling options, because a beam search does not sample: it compares
 * answers by the model's own probabilities.
 */
function checkBeams(body: Body, findings: Findings): void {
  if (body["use_beam_search"] !== true) {
    const penalty = body["length_penalty"];
    if (typeof penalty === "number" && penalty !== 1) {
      valueError(
        findings,
        "length_penalty weighs the answers of beam search: set use_beam_search to true, or leave it out.",
        "length_penalty",
      );
    }
    return;
  }
  const fields: Fields = generationFields;
  for (const [field, { allowedWithBeams }] of Object.entries(fields)) {
    const value = body[field] ?? null;
    if (value === null || allowedWithBeams === undefined || allowedWithBeams(value)) continue;
    const message =
      field === "stop"
        ? "stop texts cannot end the answers of beam search; leave stop out, or use stop_token_ids or structured_outputs."
        : `${field} cannot change a beam search, which compares answers by the model's own probabilities; leave it out or at its default.`;
    valueError(findings, message, field);
  }
}

/** Adds a fault for each text part that has no text. */
function checkTextParts(messages: unknown, findings: Findings): void {
  if (!Array.isArray(messages)) return;
  messages.forEach((message: unknown, messageIndex) => {
    if (!isObject(message) || !Array.isArray(message["content"])) return;
    message["content"].forEach((part: unknown, partIndex) => {
      if (!isObject(part)) return;
      const member = textMemberOf(part["type"]);
      if (member === null || typeof part[member] === "string") return;
      const place = ["messages", String(messageIndex), "content", String(partIndex), member];
      if (part[member] === undefined) report(findings, "missing", "Field required", ...place);
      else report(findings, "string_type", "Input should be a valid string", ...place);
    });
  });
}

function checkStop(stop: unknown, findings: Findings): void {
  const message = "stop cannot contain an empty string.";
  if (stop === "") valueError(findings, message, "stop");
  if (!Array.isArray(stop)) return;
  stop.forEach((text, index) => {
    if (text === "") valueError(findings, message, "stop", String(index));
  });
}

/**
 * Names that `chat_template_kwargs` must not contain, because they are parameters of the rendering function in
 * Transformers and not variables of a template. Each name has the advice for its error message.
 */
const otherArguments: Readonly<Record<string, string>> = {
  chat_template: "send chat_template as a field of the request",
  tokenize: "a prompt is always tokenized; leave it out",
};

function checkTemplateArguments(given: unknown, findings: Findings): void {
  if (!isObject(given)) return;
  for (const [name, cure] of Object.entries(otherArguments)) {
    if (!Object.hasOwn(given, name)) continue;
    valueError(
      findings,
      `${name} is not a variable of a chat template: ${cure}.`,
      "chat_template_kwargs",
      name,
    );
  }
}

function checkLists(body: Body, findings: Findings): void {
  if (isObject(body["logit_bias"])) {
    for (const key of Object.keys(body["logit_bias"])) {
      if (!/^\d+$/.test(key)) {
        valueError(findings, 'the keys of logit_bias must be token ids, such as "42".', "logit_bias", key);
      }
    }
  }
  if (Array.isArray(body["bad_words"])) {
    body["bad_words"].forEach((word: unknown, index) => {
      if (typeof word !== "string" || word.trim() !== "") return;
      valueError(findings, "bad_words cannot contain an empty or blank text.", "bad_words", String(index));
    });
  }
  if (body["truncate_prompt_tokens"] === 0) {
    valueError(
      findings,
      "truncate_prompt_tokens must be an integer >= 1 or -1, got 0",
      "truncate_prompt_tokens",
    );
  }
  if (Array.isArray(body["allowed_token_ids"]) && body["allowed_token_ids"].length === 0) {
    valueError(findings, "allowed_token_ids is not None and empty!", "allowed_token_ids");
  }
  if (isObject(body["vendor_xargs"]) && isObject(body["vllm_xargs"])) {
    if (JSON.stringify(body["vendor_xargs"]) !== JSON.stringify(body["vllm_xargs"])) {
      valueError(
        findings,
        "vendor_xargs and vllm_xargs are two spellings of one field; give one.",
        "vllm_xargs",
      );
    }
  }
}
