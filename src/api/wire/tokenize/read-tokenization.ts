// Reads the bodies of requests to tokenize a prompt, and of requests to detokenize token ids.
import type { DetokenizeRequest, TokenizeRequest } from "../../../base/domain/chat.ts";
import { report, type Findings } from "../../../base/validation/findings.ts";
import { readForm, type BodyForm } from "../body.ts";
import { checkConversation } from "../chat/chat-combinations.ts";
import { fieldPathsOf, readConversation } from "../chat/read-chat-request.ts";
import { refuseBeyondLimits, type ChatLimits } from "../chat/chat-limits.ts";
import { conversationFields } from "../chat/fields/conversation-fields.ts";
import type { FieldPaths } from "../field-paths.ts";
import { detokenizeSchema, renderingFields, tokenizeSchema } from "./tokenize-schemas.ts";

export interface ReadTokenization {
  readonly request: TokenizeRequest;
  readonly ignored: readonly string[];
}

export interface ReadDetokenization {
  readonly request: DetokenizeRequest;
  readonly ignored: readonly string[];
}

export const tokenizeForm: BodyForm<typeof tokenizeSchema> = {
  schema: tokenizeSchema,
  more: (body, findings) => {
    checkConversation(body, findings);
    checkKind(body, findings);
  },
};

export const detokenizeForm: BodyForm<typeof detokenizeSchema> = { schema: detokenizeSchema };

/** Location in the request of each field of the domain request. */
export const tokenizationPaths: FieldPaths = {
  ...fieldPathsOf(conversationFields, {}),
  "prompt.text": ["body", "prompt"],
  "prompt.tokenIds": ["body", "tokens"],
};

/**
 * Reads a request to tokenize a prompt.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readTokenization(value: unknown, limits: ChatLimits): ReadTokenization {
  refuseBeyondLimits(value, limits);
  const { value: body, ignored } = readForm(tokenizeForm, value);
  const { model = null, prompt = null, messages = [], add_special_tokens: addSpecialTokens } = body;
  const text = { addSpecialTokens: addSpecialTokens ?? true, truncation: null, echo: false };
  const request = {
    model,
    prompt:
      prompt === null
        ? readConversation({ ...body, messages })
        : ({ kind: "text", text: prompt, ...text } as const),
    wantsTexts: body.return_token_strs ?? false,
  };
  return { request, ignored };
}

/**
 * Reads a request to convert token ids to text.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readDetokenization(value: unknown): ReadDetokenization {
  const { value: body, ignored } = readForm(detokenizeForm, value);
  return { request: { model: body.model ?? null, tokenIds: body.tokens }, ignored };
}

/**
 * Adds faults if the body has both a prompt and messages, or neither. Also adds faults for options that a prompt cannot
 * have.
 */
function checkKind(body: Readonly<Record<string, unknown>>, findings: Findings): void {
  const isSent = (name: string): boolean => (body[name] ?? null) !== null;
  const fault = (message: string, ...below: readonly string[]): void =>
    report(findings, "value_error", `Value error, ${message}`, ...below);
  if (isSent("prompt") && isSent("messages")) fault("prompt and messages are alternatives; give one.");
  else if (isSent("prompt")) {
    for (const name of Object.keys(renderingFields).filter(isSent))
      fault(`${name} applies to messages, and the request has a prompt.`, name);
  } else if (!isSent("messages")) report(findings, "missing", "Field required: prompt or messages", "prompt");
}
