// Asks a running server for answers that are held to schemas, and judges each that came to its end: it must be JSON, and
// valid by a validator that is not ours.
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
  /** Longer than it may be. */
  | { readonly kind: "cut" }
  /** The schema is not served; the reason. */
  | { readonly kind: "refused"; readonly reason: string }
  /** A defect. */
  | { readonly kind: "invalid"; readonly content: string; readonly fault: string };

/** @param more extra fields of the body */
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

/** Returns the error of a text that should be JSON under a schema; null if there is none. */
function faultOf(schema: Json, text: string): string | null {
  const ajv = new Ajv2020({ strict: false, allowUnionTypes: true });
  addFormats.default(ajv);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return String(error);
  }
  // A schema is an object or a boolean.
  return ajv.validate(schema as object | boolean, value) ? null : ajv.errorsText();
}
