// Implements `hone schemas check`: checks JSON schemas with the limits of a server on this machine, without starting
// one.
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

/**
 * Checks a JSON schema in the same way as the field `structured_outputs.json` of a request, and checks instances
 * against the schema. All arguments are JSON texts.
 */
export type SchemaChecker = (schema: string, instances: readonly string[]) => ConstraintCheck;

/**
 * Creates a checker with the limits that a server started here would have.
 *
 * @param tokenizer folder or file of the model's tokenizer; null for a built-in vocabulary of typical size
 * @param given overrides of the limits
 * @throws ServiceError `invalid` for a configuration that such a server would refuse; errors of `vocabularyAt`
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
