// A judge's verdicts: their JSON schema, and their conversion to one number per attempt. A server may not enforce the
// schema, so a verdict is fully validated.

export type JudgeMode = "rank" | "score";

export interface VerdictForm {
  readonly schema: object;
  /** Instruction for the judge, as part of its prompt. */
  readonly instruction: string;
  /**
   * Parses a verdict. Returns a number from 0 to 1 for each attempt in the shown order, or what is wrong with the
   * verdict.
   */
  readonly read: (text: string) => readonly number[] | string;
}

/** Returns the name under which the judge sees an attempt: A, B, …, Z, A1, B1, … */
export function attemptName(index: number): string {
  const letter = String.fromCodePoint(65 + (index % 26));
  return index < 26 ? letter : `${letter}${Math.floor(index / 26)}`;
}

const scoreMax = 10;

export const verdicts: Readonly<Record<JudgeMode, (count: number) => VerdictForm>> = {
  rank: (count) => {
    const names = namesOf(count);
    return {
      schema: objectOf({
        ranking: { type: "array", items: { enum: names }, minItems: count, maxItems: count },
      }),
      instruction: `You compare attempts at one task. Name all of them, the best first: {"ranking": [${JSON.stringify(names[0])}, ...]}.`,
      read: (text) => readRanking(text, names),
    };
  },
  score: (count) => {
    const names = namesOf(count);
    const score = { type: "integer", minimum: 0, maximum: scoreMax };
    return {
      schema: objectOf({ scores: objectOf(Object.fromEntries(names.map((name) => [name, score]))) }),
      instruction: `You judge attempts at one task. Give each a whole number from 0 to ${scoreMax}: {"scores": {${JSON.stringify(names[0])}: ..., ...}}. Attempts that are as good get the same.`,
      read: (text) => readScores(text, names),
    };
  },
};

function namesOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => attemptName(index));
}

function objectOf(properties: Readonly<Record<string, object>>): object {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

function readRanking(text: string, names: readonly string[]): readonly number[] | string {
  const ranking = memberOf(text, "ranking");
  if (!Array.isArray(ranking)) return `it has no ranking: ${text.slice(0, 200)}`;
  const isOfEach = ranking.length === names.length && names.every((name) => ranking.includes(name));
  if (!isOfEach) return `its ranking does not name each attempt once: ${JSON.stringify(ranking)}`;
  // With only one attempt, it gets the best score.
  return names.map((name) => (names.length === 1 ? 1 : 1 - ranking.indexOf(name) / (names.length - 1)));
}

function readScores(text: string, names: readonly string[]): readonly number[] | string {
  const scores = memberOf(text, "scores");
  if (typeof scores !== "object" || scores === null) return `it has no scores: ${text.slice(0, 200)}`;
  const given = names.map((name) => (scores as Readonly<Record<string, unknown>>)[name]);
  const isScore = (one: unknown): one is number => typeof one === "number" && one >= 0 && one <= scoreMax;
  if (!given.every(isScore))
    return `its scores are not a number from 0 to ${scoreMax} for each: ${JSON.stringify(scores)}`;
  return given.map((score) => score / scoreMax);
}

function memberOf(text: string, name: string): unknown {
  try {
    // Some models put JSON into a code fence although they are told not to.
    const value: unknown = JSON.parse(text.replace(/^\s*```(?:json)?|```\s*$/g, ""));
    return typeof value === "object" && value !== null
      ? (value as Readonly<Record<string, unknown>>)[name]
      : undefined;
  } catch {
    return undefined;
  }
}
