// Body of a request for embeddings, as in OpenAI's API.
import { Type } from "typebox";
import type { EmbeddedInput, EmbeddingRequest } from "../../../base/domain/text/embedding.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { readForm, type BodyForm } from "../body.ts";
import { requestFields } from "../chat/fields/request-fields.ts";
import { nullable } from "../nullable.ts";
import type { FieldPaths } from "../field-paths.ts";

/** Maximum number of inputs, as in OpenAI's API. */
const inputsMax = 2048;

const tokenId = Type.Integer({ minimum: 0, title: "int" });
const inputSchema = Type.Union(
  [
    Type.String({ title: "str" }),
    Type.Array(
      Type.Union([Type.String({ title: "str" }), tokenId, Type.Array(tokenId, { title: "list[int]" })]),
      { title: "list", minItems: 1 },
    ),
  ],
  {
    description:
      "Input to embed: a string, a list of strings, token ids, or a list of lists of token ids. The tokenizer adds its special tokens to strings; no chat template applies. If one input fails, the request fails.",
    "x-range": `at most ${inputsMax} inputs, none empty or longer than the model's context, and 300000 tokens in total`,
    examples: [["The cat sat on the mat.", "A dog barked."]],
  },
);

export const embeddingSchema = Type.Object(
  {
    model: requestFields.model.schema,
    input: inputSchema,
    dimensions: nullable(Type.Integer({ minimum: 1 }), {
      description:
        "Number of dimensions to return: each embedding is cut to this many leading values and rescaled to length 1. If a model was trained for this (Matryoshka), shorter embeddings are almost as good; with other models, they may be much worse.",
      "x-default": "the model's full width",
      "x-range": "at most the model's width",
      examples: [64],
    }),
    encoding_format: nullable(Type.Enum(["float", "base64"]), {
      description: "Format of embeddings: a list of numbers, or little-endian 32-bit floats in base64.",
      default: "float",
      examples: ["base64"],
    }),
    user: requestFields.user.schema,
  },
  { title: "EmbeddingRequest" },
);

export const embeddingForm: BodyForm<typeof embeddingSchema> = { schema: embeddingSchema, more: checkInputs };

export interface ReadEmbedding {
  readonly request: EmbeddingRequest;
  readonly encoding: "float" | "base64";
  /** True if the body has a list of inputs. The path of a fault then has the index of an input. */
  readonly isList: boolean;
  readonly ignored: readonly string[];
}

/**
 * Reads a request for embeddings.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readEmbedding(value: unknown): ReadEmbedding {
  refuseManyInputs(value);
  const { value: body, ignored } = readForm(embeddingForm, value);
  const { inputs, isList } = inputsOf(body.input);
  const request = { model: body.model ?? null, inputs, dimensions: body.dimensions ?? null };
  return { request, encoding: body.encoding_format ?? "float", isList, ignored };
}

/** Returns the paths in the body for an error about the whole request, or about the input with the index `input`. */
export function embeddingPaths(isList: boolean, input: number | null): FieldPaths {
  const place = ["body", "input", ...(isList && input !== null ? [String(input)] : [])];
  return {
    model: ["body", "model"],
    dimensions: ["body", "dimensions"],
    inputs: ["body", "input"],
    "prompt.text": place,
    "prompt.tokenIds": place,
  };
}

/** Refuses a body with too many inputs, before other code iterates over them. */
function refuseManyInputs(body: unknown): void {
  const input = isObject(body) ? body["input"] : null;
  if (!Array.isArray(input) || input.length <= inputsMax || typeof input[0] === "number") return;
  const message = `There are ${input.length} inputs; at most ${inputsMax} are allowed. Send them in several requests.`;
  throw new ServiceError({
    code: "invalid",
    faults: [{ location: ["body", "input"], message, type: "too_long" }],
  });
}

/** Adds faults if a list has inputs of different kinds, or an input that is an empty list. */
function checkInputs({ input }: Readonly<Record<string, unknown>>, findings: Findings): void {
  if (!Array.isArray(input)) return;
  const kinds = new Set(input.map((item) => (Array.isArray(item) ? "list" : typeof item)));
  if (kinds.size > 1) {
    const message =
      "A list of inputs holds texts, token ids of one input, or lists of token ids, not several of these.";
    report(findings, "value_error", `Value error, ${message}`, "input");
  }
  input.forEach((item, index) => {
    if (!Array.isArray(item) || item.length > 0) return;
    report(findings, "too_short", "The input is empty; send at least one token id.", "input", String(index));
  });
}

type Inputs = string | readonly (string | number | readonly number[])[];

function inputsOf(input: Inputs): Pick<EmbeddingRequest, "inputs"> & Pick<ReadEmbedding, "isList"> {
  const inputOf = (item: string | readonly number[]): EmbeddedInput =>
    typeof item === "string" ? { kind: "text", text: item } : { kind: "tokens", tokenIds: item };
  if (typeof input === "string") return { inputs: [inputOf(input)], isList: false };
  // Safe cast: `checkInputs` has checked that all items are of one kind.
  if (typeof input[0] === "number") return { inputs: [inputOf(input as readonly number[])], isList: false };
  return { inputs: (input as readonly (string | readonly number[])[]).map(inputOf), isList: true };
}
