// Entry point of the thread that checks constraints outside of the serving engine. Parses a constraint as the engine
// does, and finds the tokens of a model's vocabulary that may come next.
import { systemClock } from "../../../base/domain/clock.ts";
import type { Constraint, ConstraintCheck } from "../../../base/domain/constraint.ts";
import { unpackVocabulary, type TokenVocabulary } from "../../../base/domain/vocabulary.ts";
import { checkConstraint } from "../../../lib/constraints/grammar/check.ts";
import { constraintBase } from "../../../lib/constraints/grammar/constraint-base.ts";
import { buildTokenTrie, type TokenTrie } from "../../../lib/constraints/grammar/trie/token-trie.ts";
import type { TaskHandlers } from "../../../base/processes/tasks.ts";
import type { GrammarLimits } from "../../../lib/constraints/regex/limits.ts";

/** Parameters with which the thread starts. */
export interface CheckThreadData {
  readonly limits: GrammarLimits;
}

export interface CheckTasks {
  readonly check: {
    readonly task: {
      /** Name of the base model whose vocabulary the check uses. */
      readonly base: string;
      readonly vocabulary: TokenVocabulary;
      readonly constraint: Constraint;
      /** JSON texts to check against the constraint. */
      readonly instances: readonly string[];
    };
    readonly result: ConstraintCheck;
  };
}

/** Number of vocabularies kept in memory; a large one takes about 60 MB. */
const readyVocabularyCount = 2;

export function openTasks({ limits }: CheckThreadData): TaskHandlers<CheckTasks> {
  // Builds the data that all constraints share now, because the first check has a time limit.
  constraintBase();
  /** Vocabularies as prefix trees, by base model; the most recently used last. */
  const tries = new Map<string, TokenTrie>();
  const trieOf = (base: string, vocabulary: TokenVocabulary): TokenTrie => {
    const trie = tries.get(base) ?? buildTokenTrie({ bytes: unpackVocabulary(vocabulary) });
    tries.delete(base);
    tries.set(base, trie);
    for (const name of tries.keys()) if (tries.size > readyVocabularyCount) tries.delete(name);
    return trie;
  };
  return {
    check: ({ base, vocabulary, constraint, instances }) =>
      checkConstraint(constraint, instances, { limits, trie: trieOf(base, vocabulary), clock: systemClock }),
  };
}
