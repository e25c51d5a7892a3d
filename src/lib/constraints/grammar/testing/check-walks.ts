// Whatever masks allow leads somewhere: random texts under a schema's masks, each of which goes on or ends, and which
// another validator finds valid once they end.
import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Random } from "../../../../base/domain/random.ts";
import type { Json } from "../../../../base/domain/text/json.ts";
import { defaultGrammarLimits } from "../../regex/limits.ts";
import { readLanguage } from "../language.ts";
import { CompiledConstraint } from "../matcher.ts";
import type { TokenTrie } from "../trie/token-trie.ts";
import { jsonSchema } from "./make-constraints.ts";
import { randomWalk } from "./walk.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: true, allErrors: false });
addFormats.default(ajv);

export interface WalkCounts {
  readonly finished: number;
  /** Finished ones that ajv found valid; it cannot judge numbers that JavaScript rounds, nor where it breaks. */
  readonly judged: number;
  /** Walks that were cut at their length; each could have gone on. */
  readonly cut: number;
}

const walkedTokensMax = 80;

/**
 * Walks random texts under a schema.
 *
 * @throws where no token is allowed although the text may not end, and at a finished text that ajv finds invalid
 * @throws ConstraintRefusal for a schema that is not served
 */
export function checkWalks(
  schema: Json,
  trie: TokenTrie,
  { random, walkCount }: { readonly random: Random; readonly walkCount: number },
): WalkCounts {
  const constraint = new CompiledConstraint(readLanguage(jsonSchema(schema), defaultGrammarLimits), trie);
  // A schema is an object or a boolean, which is what ajv takes.
  const validate = ajv.compile(schema as object | boolean);
  let [finished, judged] = [0, 0];
  for (let walk = 0; walk < walkCount; walk++) {
    const { text, isFinished } = randomWalk(constraint, () => random.uniform(), walkedTokensMax);
    if (!isFinished) continue;
    finished += 1;
    const spelled = new TextDecoder("utf-8", { fatal: true }).decode(text);
    if (!isReadExactly(spelled)) continue;
    const isValid = verdictOf(validate, JSON.parse(spelled));
    if (isValid === null) continue;
    judged += 1;
    assert.ok(isValid, JSON.stringify({ schema, spelled, errors: validate.errors }));
  }
  return { finished, judged, cut: walkCount - finished };
}

/** Null where ajv breaks: the code that it writes for some uses of `items` reads a variable that it never declared. */
function verdictOf(validate: ValidateFunction, value: unknown): boolean | null {
  try {
    return validate(value);
  } catch (error) {
    if (error instanceof ReferenceError) return null;
    throw error;
  }
}

/** Whether JavaScript reads every number of the text as it is written: doubles hold 15 digits. */
function isReadExactly(text: string): boolean {
  const withoutStrings = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, "");
  const numbers = withoutStrings.match(/[\d.]+(?:[eE][-+]?\d+)?/g) ?? [];
  return numbers.every(
    (number) => number.replaceAll(/\D/g, "").length <= 15 && !/[eE][-+]?\d{3}/.test(number),
  );
}
