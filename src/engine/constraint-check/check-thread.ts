// The thread that checks constraints: reads them as the engine does, and finds the tokens of a model's vocabulary that may
// come next, beside whatever the engine serves.
import { workerData } from "node:worker_threads";
import { present } from "../../domain/assert.ts";
import { systemClock } from "../../domain/clock.ts";
import type { Constraint } from "../../domain/constraint.ts";
import { unpackVocabulary, type TokenVocabulary } from "../../domain/vocabulary.ts";
import { checkConstraint } from "../../grammar/check.ts";
import { ground } from "../../grammar/ground.ts";
import { buildTokenTrie, type TokenTrie } from "../../grammar/trie/token-trie.ts";
import { serveTasks } from "../../processes/serve-tasks.ts";
import type { GrammarLimits } from "../../regex/limits.ts";

export interface CheckThreadData {
  readonly limits: GrammarLimits;
  /** By the name of the base model. */
  readonly vocabularies: ReadonlyMap<string, TokenVocabulary>;
}

export interface CheckTask {
  readonly base: string;
  readonly constraint: Constraint;
  /** As JSON. */
  readonly instances: readonly string[];
}

/** So many vocabularies stay ready to be asked; a large one takes about 60 MB. */
const readyTries = 2;

// What a constraint checker gave this thread.
const { limits, vocabularies } = workerData as CheckThreadData;
/** The one asked last is the last. */
const tries = new Map<string, TokenTrie>();

// Before the first check, whose time is counted.
ground();

serveTasks((task) => {
  // Only a constraint checker starts this thread.
  const { base, constraint, instances } = task as CheckTask;
  const means = { limits, trie: trieOf(base), clock: systemClock };
  return { result: checkConstraint(constraint, instances, means), transfer: [] };
});

function trieOf(base: string): TokenTrie {
  const vocabulary = present(vocabularies.get(base), "the vocabulary of a base model that is served");
  const trie = tries.get(base) ?? buildTokenTrie({ bytes: unpackVocabulary(vocabulary) });
  tries.delete(base);
  tries.set(base, trie);
  for (const name of tries.keys()) if (tries.size > readyTries) tries.delete(name);
  return trie;
}
