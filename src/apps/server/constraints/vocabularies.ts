// What the tokens of a tokenizer stand for, for whoever constrains answers: a model's own, that of a folder, and a large
// one that is built where no model is at hand.
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { invalid } from "../../../base/domain/service-error.ts";
import { packVocabulary, unpackVocabulary, type TokenVocabulary } from "../../../base/domain/vocabulary.ts";
import { grownVocabulary } from "../../../lib/constraints/grammar/trie/grown-vocabulary.ts";
import {
  type Tokenizer,
  loadTokenizer,
  readJsonObject,
  createTokenizer,
} from "../../../lib/tokenizer/tokenizer.ts";
import { builtInModel } from "../package.ts";

/**
 * The text that an answer may be made of: tokens that mark structure are no text, but for what is read out of answers.
 *
 * @param markIds the tokens that are read out of answers
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

/** As many tokens as most of today's models have. */
const largeTokenCount = 128_000;

/** A vocabulary of the size and mixture of large models, the same at every call. */
export async function largeVocabulary(): Promise<TokenVocabulary> {
  const seed = unpackVocabulary(vocabularyOf(await loadTokenizer(builtInModel().folder)));
  return packVocabulary(grownVocabulary(seed, largeTokenCount));
}

/**
 * The vocabulary of a model folder, or of a tokenizer.json by itself.
 *
 * @throws ServiceError `invalid` where there is none, `unsupported` for a tokenizer that cannot be served
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
