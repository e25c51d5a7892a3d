// Vocabularies for constrained generation: the vocabulary of a served model or of a model folder, or a large built-in
// one.
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { invalid } from "../../../base/domain/service-error.ts";
import { packVocabulary, unpackVocabulary, type TokenVocabulary } from "../../../base/domain/vocabulary.ts";
import { syntheticVocabulary } from "../../../lib/constraints/grammar/trie/synthetic-vocabulary.ts";
import {
  type Tokenizer,
  loadTokenizer,
  readJsonObject,
  createTokenizer,
} from "../../../lib/tokenizer/tokenizer.ts";
import { builtInModel } from "../package.ts";

/**
 * Returns the text of each token that answers may contain. Special tokens have no text, except those in `markIds`.
 *
 * @param markIds special tokens that the parsers of answers need, such as the start of a tool call
 */
export function vocabularyOf(
  tokenizer: Tokenizer,
  markIds: ReadonlySet<number> = new Set(),
): TokenVocabulary {
  return packVocabulary(
    Array.from({ length: tokenizer.vocabularySize }, (_, id) =>
      tokenizer.isSpecial(id) && !markIds.has(id) ? null : tokenizer.tokenBytes(id),
    ),
  );
}

/** Typical vocabulary size of current models. */
const largeTokenCount = 128_000;

/**
 * Returns a synthetic vocabulary with the size and the mixture of tokens of a large model. It is the same at each
 * call.
 */
export async function largeVocabulary(): Promise<TokenVocabulary> {
  const seed = unpackVocabulary(vocabularyOf(await loadTokenizer(builtInModel().folder)));
  return packVocabulary(syntheticVocabulary(seed, largeTokenCount));
}

/**
 * Returns the vocabulary of a model folder, or of a single tokenizer.json.
 *
 * @throws ServiceError `invalid` if the path is neither, `unsupported` for a tokenizer that cannot be served
 */
export async function vocabularyAt(path: string): Promise<TokenVocabulary> {
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory() === true) return vocabularyOf(await loadTokenizer(path));
  const tokenizer = found === null ? null : await readJsonObject(dirname(path), basename(path));
  if (tokenizer === null) {
    const message = `${path} is neither a model folder nor a tokenizer.json.`;
    throw invalid(message);
  }
  return vocabularyOf(createTokenizer({ tokenizer, config: {} }));
}
