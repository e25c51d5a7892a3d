// What a chat request may not combine (422), and which known options this server cannot honour (400). A known option
// is refused by name, never ignored; one that is set to its default asks for nothing and passes.
import { textMemberOf } from "../../domain/content-part.ts";
import { ServiceError, type Fault } from "../../domain/service-error.ts";
import { isObject, report, type Findings } from "../input/validation.ts";
import type { ChatRequestBody } from "./chat-request.ts";

type Body = Readonly<Record<string, unknown>>;

/** Adds a fault for every pair of fields that contradict each other; looks at raw values, whatever their types. */
export function checkCombinations(body: Body, findings: Findings): void {
  if (body["continue_final_message"] === true && body["add_generation_prompt"] === true) {
    valueError(findings, "Cannot set both `continue_final_message` and `add_generation_prompt` to True.");
  }
  const topLogprobs = body["top_logprobs"];
  if (typeof topLogprobs === "number" && topLogprobs > 0 && body["logprobs"] !== true) {
    valueError(findings, "when using `top_logprobs`, `logprobs` must be set to true.");
  }
  if (
    isObject(body["stream_options"]) &&
    Object.keys(body["stream_options"]).length > 0 &&
    body["stream"] !== true
  ) {
    valueError(findings, "Stream options can only be defined when `stream=True`.");
  }
  const { prompt_logprobs: promptLogprobs, min_tokens: minTokens } = body;
  if (typeof promptLogprobs === "number" && promptLogprobs > 0 && body["stream"] === true) {
    valueError(findings, "`prompt_logprobs` are not available when `stream=True`.");
  }
  const maxTokens = body["max_completion_tokens"] ?? body["max_tokens"];
  if (typeof minTokens === "number" && typeof maxTokens === "number" && minTokens > maxTokens) {
    valueError(
      findings,
      `min_tokens must be less than or equal to max_tokens=${maxTokens}, got ${minTokens}.`,
    );
  }
  checkStop(body["stop"], findings);
  checkLists(body, findings);
  checkConstraints(body, findings);
}

function valueError(findings: Findings, message: string, ...below: readonly string[]): void {
  report(findings, "value_error", `Value error, ${message}`, ...below);
}

function checkStop(stop: unknown, findings: Findings): void {
  const message = "stop cannot contain an empty string.";
  if (stop === "") valueError(findings, message, "stop");
  if (!Array.isArray(stop)) return;
  stop.forEach((text, index) => {
    if (text === "") valueError(findings, message, "stop", String(index));
  });
}

function checkLists(body: Body, findings: Findings): void {
  if (isObject(body["logit_bias"])) {
    for (const key of Object.keys(body["logit_bias"])) {
      if (!/^\d+$/.test(key)) {
        valueError(findings, 'the keys of logit_bias must be token ids, such as "42".', "logit_bias", key);
      }
    }
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

const constraintNames = ["json", "regex", "choice", "grammar", "json_object", "structural_tag"] as const;

/** At most one constraint in all, over `structured_outputs` and `response_format`. */
function checkConstraints(body: Body, findings: Findings): void {
  const { structured_outputs: outputs, response_format: format } = body;
  const given: string[] = isObject(outputs)
    ? constraintNames.filter(
        (name) => outputs[name] !== undefined && outputs[name] !== null && outputs[name] !== false,
      )
    : [];
  if (isObject(format) && format["type"] !== "text") given.push("response_format");
  if (given.length > 1) {
    const message = `You can only use one kind of structured outputs constraint but multiple are specified: ${given.join(", ")}.`;
    valueError(
      findings,
      message,
      given.length === 2 && given[1] === "response_format" ? "response_format" : "structured_outputs",
    );
  }
  if (isObject(outputs) && Array.isArray(outputs["choice"]) && outputs["choice"].length === 0) {
    valueError(findings, "Choice '[]' cannot be an empty list", "structured_outputs", "choice");
  }
  if (isObject(format) && format["type"] === "json_schema" && (format["json_schema"] ?? null) === null) {
    valueError(
      findings,
      "When response_format type is 'json_schema', the 'json_schema' field must be provided.",
      "response_format",
    );
  }
}

/** Which values of a field ask for nothing; null always does. */
type AsksNothing = (value: unknown) => boolean;

const is =
  (...values: readonly unknown[]): AsksNothing =>
  (value) =>
    values.includes(value);
const isEmptyList: AsksNothing = (value) => Array.isArray(value) && value.length === 0;
const isEmptyObject: AsksNothing = (value) => isObject(value) && Object.keys(value).length === 0;
const isUnset: AsksNothing = () => false;

/** Fields that are known and not served yet, with the values at which they ask for nothing. */
const notServed: { readonly [Field in keyof ChatRequestBody]?: AsksNothing } = {
  frequency_penalty: is(0),
  presence_penalty: is(0),
  repetition_penalty: is(1),
  min_p: is(0),
  logit_bias: isEmptyObject,
  response_format: (value) => isObject(value) && value["type"] === "text",
  reasoning_effort: isUnset,
  include_reasoning: is(true),
  use_beam_search: is(false),
  length_penalty: is(1),
  stop_token_ids: isEmptyList,
  include_stop_str_in_output: is(false),
  ignore_eos: is(false),
  min_tokens: is(0),
  skip_special_tokens: is(true),
  spaces_between_special_tokens: is(true),
  truncate_prompt_tokens: isUnset,
  prompt_logprobs: isUnset,
  allowed_token_ids: isUnset,
  bad_words: isEmptyList,
  echo: is(false),
  add_special_tokens: is(false),
  documents: isEmptyList,
  chat_template: isUnset,
  chat_template_kwargs: isEmptyObject,
  structured_outputs: asksNoConstraint,
  logits_processors: isEmptyList,
  cache_salt: isUnset,
  kv_transfer_params: isEmptyObject,
  vendor_xargs: isEmptyObject,
  vllm_xargs: isEmptyObject,
};

function asksNoConstraint(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((member) => member === null || member === false);
}

/**
 * Refuses what is well formed and cannot be done here: options that are not served, a priority, media.
 *
 * @throws ServiceError `unsupported` naming every such field
 */
export function refuseUnserved(body: ChatRequestBody): void {
  const faults: Fault[] = [];
  for (const [field, asksNothing] of Object.entries(notServed)) {
    const value = body[field as keyof ChatRequestBody];
    if (value === undefined || value === null || asksNothing(value)) continue;
    faults.push(fault(`${field} is not supported by this server; leave it out or at its default.`, field));
  }
  if ((body.priority ?? 0) !== 0) {
    const message = `Got priority ${body.priority} but Priority scheduling is not enabled; send 0 or leave it out.`;
    faults.push(fault(message, "priority"));
  }
  faults.push(...mediaFaults(body));
  if (faults.length > 0) {
    throw new ServiceError({
      code: "unsupported",
      message: faults.map(({ message }) => message).join(" "),
      faults,
    });
  }
}

function fault(message: string, ...below: readonly string[]): Fault {
  return { location: ["body", ...below], message, type: "unsupported" };
}

function mediaFaults(body: ChatRequestBody): readonly Fault[] {
  return body.messages.flatMap(({ content }, message) =>
    (Array.isArray(content) ? content : []).flatMap((part, index) => {
      if (typeof part === "string" || textMemberOf(part.type) !== null) return [];
      const words = `This model reads text only; a content part of type ${JSON.stringify(part.type)} cannot be shown to it.`;
      return [fault(words, "messages", String(message), "content", String(index))];
    }),
  );
}
