// Checks that no dead ends exist: a random text under a schema's masks can always continue or end, and another
// validator (ajv) finds each finished text valid.
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
  /**
   * Number of finished texts that ajv found valid. Not counted: texts with numbers that JavaScript rounds, and schemas
   * on which ajv fails.
   */
  readonly judged: number;
  /** Number of texts cut at the maximum length; each could have continued. */
  readonly cut: number;
}

const walkedTokensMax = 80;

/**
 * Generates random texts under a schema.
 *
 * @throws at a dead end, and at a finished text that ajv finds invalid
 * @throws ConstraintRefusal if the schema is refused
 */
export function checkWalks(
  schema: Json,
  trie: TokenTrie,
  { random, walkCount }: { readonly random: Random; readonly walkCount: number },
): WalkCounts {
  const constraint = new CompiledConstraint(readLanguage(jsonSchema(schema), defaultGrammarLimits), trie);
  // Safe cast: ajv accepts the same schemas, which are objects or booleans.
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

/**
 * Returns ajv's verdict; null if ajv fails, since for some uses of `items` its generated code reads an undeclared
 * variable.
 */
function verdictOf(validate: ValidateFunction, value: unknown): boolean | null {
  try {
    return validate(value);
  } catch (error) {
    if (error instanceof ReferenceError) return null;
    throw error;
  }
}

/** True if JavaScript reads each number in the text exactly; doubles hold 15 digits. */
function isReadExactly(text: string): boolean {
  const withoutStrings = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, "");
  const numbers = withoutStrings.match(/[\d.]+(?:[eE][-+]?\d+)?/g) ?? [];
  return numbers.every(
    (number) => number.replaceAll(/\D/g, "").length <= 15 && !/[eE][-+]?\d{3}/.test(number),
  );
}
