// Cost limits for compiling a constraint and computing its masks, and the error for refused constraints. Limits count
// steps instead of time, so a given constraint is either always served or always refused.
import type { Refusal, RefusalKind } from "../../../base/domain/constraint.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

export interface GrammarLimits {
  /** Maximum size in bytes of the schema, pattern, choices or grammar. */
  readonly sourceBytes: number;
  /** Maximum nesting depth of a pattern, schema or grammar. */
  readonly nesting: number;
  /** Maximum steps for compiling a constraint; a step takes about a microsecond. */
  readonly compileSteps: number;
  /** Maximum steps for computing one mask, or for accepting one token. */
  readonly maskSteps: number;
  /** Maximum number of distinct expressions, of lexer states and of parser states, counted separately. */
  readonly states: number;
  /** Maximum number of alternatives that the combination keywords at one location of a schema may produce. */
  readonly alternatives: number;
  /** Maximum size of the cached masks of one constraint, in bytes. */
  readonly cachedMaskBytes: number;
  /** True to refuse unknown formats, false to ignore them. */
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

/** Limits for constraints that do not come from a request. */
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

/** A refused constraint. The message names the reason, the location in the constraint, and an alternative. */
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
 * @param keyword keyword of the constraint that was being read when the limit was exceeded
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

/** Reads a part of a constraint. If this exceeds a limit, adds the innermost location to the refusal. */
export function readAt<T>(
  limits: GrammarLimits,
  { place, keyword }: { readonly place: string; readonly keyword?: string },
  read: () => T,
): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConstraintRefusal) || error.kind !== "limit" || error.place !== "") throw error;
    // Safe cast: when a limit is exceeded, the error's subject is the limit's name.
    const limit = error.subject as CountedLimit;
    throw limitExceeded(limit, limits[limit], place, keyword);
  }
}

/** Runs recursive code, and reports a stack overflow as a refusal. */
export function withinStack<T>(limits: GrammarLimits, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof RangeError ? limitExceeded("nesting", limits.nesting) : error;
  }
}

/** Counts the steps of one compilation or one mask. Throws a refusal when the limit is exceeded. */
export class StepBudget {
  #left: number;
  #limit: "compileSteps" | "maskSteps";
  readonly #limits: GrammarLimits;

  constructor(limits: GrammarLimits) {
    this.#limits = limits;
    this.#limit = "compileSteps";
    this.#left = limits.compileSteps;
  }

  /** Starts counting anew, with an allowance of `times` the limit. */
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
