// Reads `%regex {"substring_words": "a text"}`: any run of the words of a text, or of its characters, or of given chunks.
import { isExactObject, type ExactJson } from "../../../domain/text/exact-json.ts";
import type { Reader } from "../../../regex/reader.ts";
import type { GrammarNode } from "../grammar-text.ts";
import { readJson } from "./read-literal.ts";

/** Letters and digits, blanks, and everything else, each as long as it goes on. */
const words = /[\p{Alphabetic}\p{N}_]+|\p{White_Space}+|[^\p{Alphabetic}\p{N}_\p{White_Space}]+/gu;

/** @param position where `%regex` stands, which was read */
export function readSubstring(reader: Reader, position: number): GrammarNode {
  const value = readJson(reader, position);
  const chunks = isExactObject(value) ? chunksOf(value) : null;
  if (chunks !== null) return { kind: "substring", chunks };
  throw reader.notExact(
    "a %regex of another kind",
    position,
    'Served are {"substring_words": "a text"}, substring_chars, and substring_chunks with a list of texts',
  );
}

function chunksOf(value: Readonly<Record<string, ExactJson>>): readonly string[] | null {
  const [[name, content] = [], ...rest] = Object.entries(value);
  if (value["type"] === "substring" && rest.length === 1) return textsOf(value["chunks"]);
  if (rest.length > 0) return null;
  if (name === "substring_chunks") return textsOf(content);
  if (typeof content !== "string") return null;
  if (name === "substring_chars") return Array.from(content);
  return name === "substring_words" ? (content.match(words) ?? []) : null;
}

function textsOf(value: ExactJson | undefined): readonly string[] | null {
  if (!Array.isArray(value)) return null;
  const texts = value.filter((one): one is string => typeof one === "string");
  return texts.length === value.length ? texts : null;
}
