// Writes the answer to a request for embeddings, as in OpenAI's API.
import { Type } from "typebox";
import type { Embeddings } from "../../../base/domain/text/embedding.ts";
import { JsonText, type TakeBytes } from "../json-text.ts";
import type { ReadEmbedding } from "./embedding-request.ts";

export const embeddingsSchema = Type.Object(
  {
    object: Type.Literal("list"),
    data: Type.Array(
      Type.Object({
        object: Type.Literal("embedding"),
        index: Type.Integer({ minimum: 0, description: "Index of the input." }),
        embedding: Type.Union([Type.Array(Type.Number()), Type.String()], {
          description:
            "Vector of length 1, as a list of numbers, or as base64 with `encoding_format` `base64`.",
        }),
      }),
      { description: "One embedding per input, in the order of the inputs." },
    ),
    model: Type.String({ description: "The requested model name." }),
    usage: Type.Object({
      prompt_tokens: Type.Integer({ minimum: 0, description: "Number of tokens of all inputs." }),
      total_tokens: Type.Integer({
        minimum: 0,
        description: "The same as prompt_tokens, because embeddings generate no tokens.",
      }),
    }),
  },
  { title: "Embeddings" },
);

/**
 * Returns the answer to a request for embeddings.
 *
 * @param take called with the number of bytes that the answer adds in memory; its errors are not caught
 */
export function embeddingsBody(
  { model, embeddings, tokenCount }: Embeddings,
  { encoding }: Pick<ReadEmbedding, "encoding">,
  take: TakeBytes,
): object {
  const data = embeddings.map((values, index) => {
    take(values.byteLength);
    const text = encoding === "base64" ? () => JSON.stringify(base64Of(values)) : () => vectorText(values);
    return { object: "embedding", index, embedding: new JsonText(text) };
  });
  return { object: "list", data, model, usage: { prompt_tokens: tokenCount, total_tokens: tokenCount } };
}

/**
 * Returns a vector as JSON, with nine significant digits. They distinguish all 32-bit floats, and further digits carry
 * no information.
 */
export function vectorText(values: Float32Array): string {
  return `[${Array.from(values, (value) => Number(value.toPrecision(9))).join(",")}]`;
}

function base64Of(values: Float32Array): string {
  const bytes = Buffer.alloc(values.byteLength);
  values.forEach((value, index) => bytes.writeFloatLE(value, index * Float32Array.BYTES_PER_ELEMENT));
  return bytes.toString("base64");
}
