// Cost limits of compiling a constraint and computing its masks. They count steps rather than time, so that a
// constraint is always served or always refused. Also defines the error for refused constraints.
import type { Refusal, RefusalKind } from "../../../base/domain/constraint.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

export interface GrammarLimits {
  /** Size in bytes of the schema, pattern, choices or grammar. */
  readonly sourceBytes: number;
  /** Nesting depth of a pattern, schema or grammar. */
  readonly nesting: number;
  /** Steps of compiling; one takes about a microsecond. */
  readonly compileSteps: number;
  /** Steps of computing one mask, or of accepting one token. */
  readonly maskSteps: number;
  /** Number of distinct expressions, of lexer states and of parser states, each. */
  readonly states: number;
  /** Number of alternatives that combinations at one place of a schema may produce. */
  readonly alternatives: number;
  /** Bytes of cached masks per constraint. */
  readonly cachedMaskBytes: number;
  /** True to refuse unknown formats instead of ignoring them. */
  readonly strictFormats: boolean;
}

export const defaultGrammarLimits: GrammarLimits = {
  sourceBytes: 256 * 1024,
  nesting: 200,
  compileSteps: 60_000,
  maskSteps: 50_000,
  states: 60_000,
  alternatives: 1024,
  cachedMaskBytes: 16 * 1024 * 1024,
  strictFormats: false,
};

/** Limits for constraints that no request supplies. */
export const unlimitedGrammar: GrammarLimits = {
  sourceBytes: Number.POSITIVE_INFINITY,
  nesting: defaultGrammarLimits.nesting,
  compileSteps: Number.POSITIVE_INFINITY,
  maskSteps: Number.POSITIVE_INFINITY,
  states: Number.POSITIVE_INFINITY,
  alternatives: Number.POSITIVE_INFINITY,
  cachedMaskBytes: Number.POSITIVE_INFINITY,
  strictFormats: false,
};

/** A refused constraint. The message names the reason, the place, and an alternative. */
export class ConstraintRefusal extends ServiceError implements Refusal {
  readonly kind: RefusalKind;
  readonly subject: string;
  readonly place: string;

  constructor(refusal: Refusal) {
    super({
      code: refusal.kind === "not-exact" ? "unsupported" : "invalid",
      message: refusal.message,
    });
    this.name = "ConstraintRefusal";
    this.kind = refusal.kind;
    this.subject = refusal.subject;
    this.place = refusal.place;
  }
}

type CountedLimit = Exclude<keyof GrammarLimits, "strictFormats">;

/**
 * Returns the refusal of a constraint that exceeds a limit.
 *
 * @param keyword being read at the place
 */
export function limitExceeded(
  limit: CountedLimit,
  allowed: number,
  place = "",
  keyword = "",
): ConstraintRefusal {
  const where = place === "" ? "" : ` at ${place}${keyword === "" ? "" : `, in the keyword ${keyword}`}`;
  return new ConstraintRefusal({
    kind: "limit",
    subject: limit,
    place,
    message: `The constraint exceeds the limit ${limit} of ${allowed}${where}. Make it simpler.`,
  });
}

/** Reads a part of a constraint. Adds the innermost place to refusals for an exceeded limit. */
export function readAt<T>(
  limits: GrammarLimits,
  { place, keyword }: { readonly place: string; readonly keyword?: string },
  read: () => T,
): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConstraintRefusal) || error.kind !== "limit" || error.place !== "") throw error;
    // Safe cast: the subject of such a refusal is the limit's name.
    const limit = error.subject as CountedLimit;
    throw limitExceeded(limit, limits[limit], place, keyword);
  }
}

/** Runs recursive code, and turns a stack overflow into a refusal. */
export function withinStack<T>(limits: GrammarLimits, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof RangeError ? limitExceeded("nesting", limits.nesting) : error;
  }
}

/** Counts the steps of one compilation or one mask, and refuses when the limit is exceeded. */
export class StepBudget {
  #left: number;
  #limit: "compileSteps" | "maskSteps";
  readonly #limits: GrammarLimits;

  constructor(limits: GrammarLimits) {
    this.#limits = limits;
    this.#limit = "compileSteps";
    this.#left = limits.compileSteps;
  }

  /** Starts the count for another piece of work, with `times` the limit's steps. */
  restart(limit: "compileSteps" | "maskSteps", times = 1): void {
    this.#limit = limit;
    this.#left = this.#limits[limit] * times;
  }

  /** @throws ConstraintRefusal when the limit is exceeded */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw limitExceeded(this.#limit, this.#limits[this.#limit]);
  }
}
