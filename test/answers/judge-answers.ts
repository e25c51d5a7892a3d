// Requests answers from a running server, with schemas as constraints. Each finished answer must be JSON, and valid
// according to a third-party validator.
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Json } from "../../src/base/domain/text/json.ts";

export interface AskedServer {
  readonly url: string;
  readonly apiKey: string;
}

export interface Question {
  readonly schema: Json;
  readonly temperature: number;
  readonly seed: number;
}

export type Verdict =
  | { readonly kind: "valid" }
  /** The answer reached its maximum length. */
  | { readonly kind: "cut" }
  /** The server refused the schema, for this reason. */
  | { readonly kind: "refused"; readonly reason: string }
  /** A defect: the finished answer is invalid. */
  | { readonly kind: "invalid"; readonly content: string; readonly fault: string };

/** @param more additional fields of the request body */
export async function judgeAnswer(
  { url, apiKey }: AskedServer,
  { schema, temperature, seed }: Question,
  more: object = {},
): Promise<Verdict> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      messages: [{ role: "user", content: "Answer in JSON, please." }],
      temperature,
      seed,
      max_tokens: 700,
      structured_outputs: { json: schema },
      ...more,
    }),
  });
  const body = (await answer.json()) as {
    readonly error?: { readonly message: string };
    readonly choices?: readonly [
      { readonly finish_reason: string; readonly message: { readonly content: string } },
    ];
  };
  if (answer.status === 400) return { kind: "refused", reason: body.error?.message ?? "" };
  if (body.choices === undefined) throw new Error(`status ${answer.status}: ${JSON.stringify(body)}`);
  const [{ finish_reason: reason, message }] = body.choices;
  if (reason === "length") return { kind: "cut" };
  const fault = faultOf(schema, message.content);
  return fault === null ? { kind: "valid" } : { kind: "invalid", content: message.content, fault };
}

/** Returns null if the text is JSON that conforms to the schema, otherwise the error. */
function faultOf(schema: Json, text: string): string | null {
  const ajv = new Ajv2020({ strict: false, allowUnionTypes: true });
  addFormats.default(ajv);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return String(error);
  }
  // Safe cast: a schema is an object or a boolean.
  return ajv.validate(schema as object | boolean, value) ? null : ajv.errorsText();
}
