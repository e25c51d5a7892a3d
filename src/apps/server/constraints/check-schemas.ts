// What `hone schemas check` does: checks schemas as a server on this machine would, without one.
import { systemClock } from "../../../base/domain/clock.ts";
import type { ConstraintCheck } from "../../../base/domain/constraint.ts";
import { unpackVocabulary } from "../../../base/domain/vocabulary.ts";
import { checkConstraint } from "../../../lib/constraints/grammar/check.ts";
import {
  constraintSettings,
  type ConstraintSettings,
} from "../../../inference/engine/token-masks/settings.ts";
import { buildTokenTrie } from "../../../lib/constraints/grammar/trie/token-trie.ts";
import { readConfig } from "../config.ts";
import { largeVocabulary, vocabularyAt } from "./vocabularies.ts";

/** Checks schemas as `structured_outputs` with nothing but `json` asks for them; both are JSON as texts. */
export type SchemaChecker = (schema: string, instances: readonly string[]) => ConstraintCheck;

/**
 * A checker with the limits that a server started here would have.
 *
 * @param tokenizer the folder or file of the tokenizer with whose tokens answers are written; null for a vocabulary as
 *   large as those of today's models
 * @param given in place of those limits
 * @throws ServiceError `invalid` for a configuration that such a server would refuse; what `vocabularyAt` throws
 */
export async function createSchemaChecker(
  tokenizer: string | null,
  given: Partial<ConstraintSettings> = {},
): Promise<SchemaChecker> {
  const limits = constraintSettings.with({ ...readConfig({}).constraints, ...given });
  const vocabulary = tokenizer === null ? await largeVocabulary() : await vocabularyAt(tokenizer);
  const trie = buildTokenTrie({ bytes: unpackVocabulary(vocabulary) });
  return (schema, instances) => {
    const constraint = {
      kind: "json-schema",
      schema,
      allowsAnyWhitespace: true,
      whitespacePattern: null,
      allowsAdditionalProperties: true,
    } as const;
    return checkConstraint(constraint, instances, { limits, trie, clock: systemClock });
  };
}
